"""The command `unrolled`, also `python -m unrolled`: unrolled train model=cgru is python src/train.py model=cgru."""

import ast
import sys
import textwrap
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import unrolled.commands
from unrolled.errors import AS_MODULE, INSTALLED, UserError, nearest
from unrolled.training.collector import rest
from unrolled.training.threads import wait_briefly


def main() -> None:
    """`unrolled COMMAND name=value ...`."""
    command, *arguments = sys.argv[1:] or [""]
    program = AS_MODULE if Path(sys.argv[0]).name == Path(__file__).name else INSTALLED
    known = commands()
    if command in known:
        sys.argv = [f"{program} {command}", *arguments]
        run(command)
        return
    sys.argv[0] = program
    check_installed()
    from unrolled.configuration.command import status

    with status():
        if command in ("--help", "-h"):
            sys.stdout.write(overview(known))
        elif command == "--version":
            run("train")  # every command has the same
        elif command in ("--shell-completion", "-sc"):
            from unrolled.configuration.completion import complete

            complete(known, "".join(arguments))
        elif not command or "=" in command or command.startswith("-"):
            raise UserError(f"{command or 'nothing given'}: name a command first, as in: unrolled train model=cgru")
        else:
            near = nearest(command.removesuffix(".py"), [*known, "--help", "--version"])
            raise UserError(f"{command}: there is no such command{near}")


def run(command: str) -> None:
    """Run the ``command`` with the arguments in sys.argv; if they ask for help, without importing it."""
    try:
        _run(command)
    except KeyboardInterrupt:  # while modules are imported
        sys.exit(130)


def _run(command: str) -> None:
    rest()
    wait_briefly()
    check_installed()
    from unrolled.configuration.command import HELP, status

    if not HELP & {*sys.argv[1:]}:
        import_module(f"unrolled.commands.{command}").main()
        return
    from unrolled.configuration.help import answered

    with status():
        answered(command, description(command))


def check_installed() -> None:
    """End with a line, before anything is imported that would end with a traceback, where packages are missing."""
    missing = [name for name in ("torch", "lightning", "hydra", "omegaconf") if find_spec(name) is None]
    if missing:
        project = Path(__file__).resolve().parents[2]
        way = f"{sys.executable} -m pip install -e {project}"
        if not (project / "pyproject.toml").is_file():
            way = "install the wheel of unrolled again, without --no-deps"
        sys.stderr.write(
            f"{Path(sys.argv[0]).name}: {sys.executable} has no {', '.join(missing)}: {way}, or use another Python\n"
        )
        sys.exit(2)


def commands() -> list[str]:
    """The names of all commands: the files in their room."""
    (room,) = unrolled.commands.__path__
    return sorted(file.stem for file in Path(room).glob("*.py") if not file.stem.startswith("_"))


def description(command: str) -> str:
    """The docstring of a command, which is not imported for it."""
    (room,) = unrolled.commands.__path__
    return ast.get_docstring(ast.parse((Path(room) / f"{command}.py").read_text(encoding="utf-8"))) or ""


def docs() -> Path:
    """The folder of the documentation that messages name pages of: in a wheel or in the project."""
    here = Path(__file__).resolve()
    return max((here.parent / "docs", here.parents[2] / "docs"), key=Path.is_dir)


def overview(known: list[str]) -> str:
    """All commands, one line each."""
    width = max(map(len, known))
    lines = []
    for command in known:
        first, *more = textwrap.wrap(description(command).splitlines()[0], 76 - width)
        lines += [f"  {command:<{width}}  {first}", *(" " * (width + 4) + line for line in more)]
    return "\n".join(
        [
            "Recurrent attention for translation, and recurrent language models.",
            "",
            "Usage:",
            "  unrolled COMMAND [group=choice ...] [name=value ...]",
            "",
            "Commands:",
            *lines,
            "",
            "unrolled COMMAND --help shows the options of a command; unrolled options,",
            "every option of train's choices. conf/ in this folder adds choices of yours.",
            'Completion by the shell: eval "$(unrolled -sc install=bash)"',
            "The pages docs/NAME.md that messages name are in",
            f"  {docs()}",
            "",
        ]
    )


if __name__ == "__main__":
    main()
