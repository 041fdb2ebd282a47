"""A program that runs scripts in copies of itself, each as in a fresh interpreter, and tells what these imported.

Large packages are imported once, here, and put on a shelf, from which a copy that imports them takes them: what takes
seconds in a fresh interpreter takes none, and ``sys.modules`` of the copy shows what it has asked for. All of WATCHED
that is not on the shelf is imported as ever.

    python shelf.py ANSWERS < REQUESTS

A request is a line of JSON, [folder, streams, [script, argument, ...]]: the script runs in ``folder``, and finds its
stdin in the folder ``streams``, where it leaves stdout, stderr and ``modules``. Its exit status is a line of ANSWERS.
"""

import atexit
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

WATCHED = ("lightning", "torchmetrics", "wandb", "pandas", "scipy", "torch", "matplotlib", "sacrebleu", "sentencepiece")
ALWAYS = ("hydra", "numpy", "yaml")
SHELVED = ("sacrebleu", "matplotlib.figure", "torch")
TESTS = Path(__file__).resolve().parents[1]


def package_of(module: str) -> str:
    """``torch`` of ``torch.nn``."""
    return module.partition(".")[0]


class Shelf(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Whoever imports a module of a package that lies here gets the whole package."""

    def __init__(self) -> None:
        self._packages: dict[str, dict[str, ModuleType]] = {}

    def put(self, module: str) -> None:
        """Import ``module``, and take its package away again. It must not need another one of WATCHED."""
        importlib.import_module(module)
        package = package_of(module)
        assert {package_of(name) for name in sys.modules} & set(WATCHED) == {package}
        names = [name for name in sys.modules if package_of(name) == package]
        self._packages[package] = {name: sys.modules.pop(name) for name in names}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Only of a package that lies here."""
        return importlib.machinery.ModuleSpec(name, self) if name in self._packages else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module as it was, and all others of its package."""
        modules = self._packages.pop(spec.name)
        sys.modules.update(modules)
        self._spec = modules[spec.name].__spec__
        return modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed."""
        module.__spec__ = self._spec


def be(folder: Path, streams: Path, argv: list[str]) -> int:
    """Run the script in ``folder``; its exit status."""
    os.chdir(folder)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(streams / name, os.O_RDWR | os.O_CREAT), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    sys.argv = argv
    sys.path[:1] = [str(Path(argv[0]).parent), str(TESTS)]
    status = 0
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    (streams / "modules").write_text("\n".join(sys.modules))
    return status


def serve(answers: Path) -> None:
    """Answer until there are no more requests."""
    for name in ALWAYS:
        importlib.import_module(name)
    shelf = Shelf()
    for name in SHELVED:
        shelf.put(name)
    sys.meta_path.insert(0, shelf)
    with answers.open("w", buffering=1) as file:
        for line in sys.stdin:
            folder, streams, argv = json.loads(line)
            copy = os.fork()
            if copy == 0:
                status = 70
                try:
                    status = be(Path(folder), Path(streams), argv)
                finally:
                    os._exit(status)
            file.write(f"{os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])}\n")


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
