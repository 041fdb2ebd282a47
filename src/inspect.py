"""The attention of a run, or of several side by side, as one page to look at in a browser: no network, no server.

python src/inspect.py runs=RUN [output=FILE]
python src/inspect.py runs='[A,B]' [output=FILE]

A run has kept its attention at every validation in attention.jsonl. How to read the page: docs/inspect.md.

This file has the name of a module of the standard library. A script's folder stands first on Python's path, so that a
library that says `import inspect` finds this file: imported, not run, it puts the standard library's in its place.
"""

import sys

if __name__ == "inspect":
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    from sysconfig import get_path

    found = PathFinder.find_spec("inspect", [get_path("stdlib")])
    assert found is not None
    assert found.loader is not None
    sys.modules["inspect"] = module_from_spec(found)  # an import gives what stands there when it is done
    found.loader.exec_module(sys.modules["inspect"])
else:
    from pathlib import Path

    from omegaconf import DictConfig

    from unrolled.configuration import command, run_folders
    from unrolled.errors import UserError
    from unrolled.training.page import PAGE, write_page
    from unrolled.training.side_by_side import read_runs

    @command("inspect")
    def main(config: DictConfig) -> None:
        if config.runs is None:
            raise UserError("runs=... is missing: name a run folder, or several to see side by side: runs='[A,B]'")
        folders = [Path(folder) for folder in run_folders(config, "runs")]
        output = Path(config.output or (folders[0] / PAGE if len(folders) == 1 else PAGE))
        if output.is_dir():
            raise UserError(f"output={output} is a folder: name the file to write")
        write_page(output, read_runs(folders))
        sys.stdout.write(f"{output}\n")


if __name__ == "__main__":
    main()
