"""The wheel is the packages in src/ and conf/, which becomes unrolled/conf; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithConf(build_py):
    """Copies conf/ too. An editable installation reads it where it is."""

    def run(self) -> None:
        """Build, without what an earlier build has left."""
        package = Path(self.build_lib) / "unrolled"
        if not self.editable_mode:
            shutil.rmtree(package, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            shutil.copytree(Path(__file__).with_name("conf"), package / "conf")


setup(cmdclass={"build_py": WithConf})
