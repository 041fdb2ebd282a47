"""The wheel is the packages in src/, with conf/ and docs/ in unrolled/; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithConfAndDocs(build_py):
    """Copies conf/ and docs/ too. An editable installation reads them where they are."""

    def run(self) -> None:
        """Build, without what an earlier build has left."""
        package = Path(self.build_lib) / "unrolled"
        if not self.editable_mode:
            shutil.rmtree(package, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            for name in ("conf", "docs"):
                shutil.copytree(
                    Path(__file__).with_name(name), package / name, ignore=shutil.ignore_patterns("*.py", "__pycache__")
                )


setup(cmdclass={"build_py": WithConfAndDocs})
