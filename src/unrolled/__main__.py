"""The command `unrolled`, also `python -m unrolled`: unrolled train model=cgru is python src/train.py model=cgru."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import unrolled.commands
from unrolled.errors import nearest


def main() -> None:
    """`unrolled COMMAND name=value ...`."""
    command, *arguments = sys.argv[1:] or [""]
    known = commands()
    if command in ("--help", "-h"):
        sys.stdout.write(overview(known))
    elif command in known:
        sys.argv = [f"unrolled {command}", *arguments]
        run(command)
    elif not command or "=" in command or command.startswith("-"):
        refuse(f"{command or 'nothing given'}: name a command first, as in: unrolled train model=cgru")
    else:
        refuse(f"{command}: there is no such command{nearest(command.removesuffix('.py'), known)}")


def run(command: str) -> None:
    """Run the ``command`` with the arguments in sys.argv; where they ask for help, without importing it."""
    if {"--help", "-h", "--version"} & {*sys.argv[1:]}:
        from unrolled.configuration.command import status
        from unrolled.configuration.help import answered

        with status():
            answered(command, description(command))
    else:
        import_module(f"unrolled.commands.{command}").main()


def refuse(mistake: str) -> NoReturn:
    """End with one line on stderr, and status 2."""
    sys.stderr.write(f"unrolled: {mistake}\n")
    sys.exit(2)


def commands() -> list[str]:
    """The names of all commands: the files in their room."""
    (room,) = unrolled.commands.__path__
    return sorted(file.stem for file in Path(room).glob("*.py") if not file.stem.startswith("_"))


def description(command: str) -> str:
    """The docstring of a command, which is not imported for it."""
    (room,) = unrolled.commands.__path__
    return ast.get_docstring(ast.parse((Path(room) / f"{command}.py").read_text(encoding="utf-8"))) or ""


def overview(known: list[str]) -> str:
    """All commands, one line each."""
    lines = [f"  {command:<12} {description(command).splitlines()[0]}" for command in known]
    return "\n".join(["unrolled COMMAND name=value ...", "", *lines, ""])


if __name__ == "__main__":
    main()
