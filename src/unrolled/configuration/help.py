"""What --help and options print: the docstring of a command, and what conf/ says of its options."""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

from unrolled import __version__
from unrolled.configuration.conf import CONF
from unrolled.configuration.hints import parsed
from unrolled.configuration.meanings import Choice, Meanings, Option, meanings
from unrolled.errors import UserError, called, nearest

NARROW, WIDE = 80, 100
"""Columns of a page: those of the terminal, within these limits."""
COLUMN, LATER = 26, 38
"""Where meanings begin: on the screen of a command, whose options have short names, and in the list of all."""


def answered(command: str, doc: str) -> bool:
    """Whether the command line asks for help or the version, which is then printed. doc: the command's docstring."""
    given = sys.argv[1:]
    if "--version" in given:
        sys.stdout.write(f"unrolled {__version__}, torch {version('torch')}\n")
    elif "--help" in given or "-h" in given:
        overrides = chosen(given)
        sys.stdout.write(every_option(command, overrides) if overrides else screen(command, doc))
    else:
        return False
    return True


def chosen(arguments: Sequence[str]) -> list[str]:
    """The options among the arguments of a command, with the folder that --config-dir adds."""
    given, flags = parsed(arguments)
    if flags:
        raise UserError(f"{flags[0]}: options have no dashes: write name=value")
    return [*given.overrides, *([f"hydra.searchpath=[{given.config_dir}]"] if given.config_dir else [])]


def has_options(command: str) -> bool:
    """Whether conf/ has the options of ``command``."""
    return (CONF / f"{command}.yaml").is_file()


def screen(command: str, doc: str) -> str:
    """The help of ``command``, whose docstring is ``doc``: what it does, usage, options, groups, examples."""
    what, *paragraphs = doc.strip().split("\n\n")
    usage = [_with_commands(text) for text in paragraphs if text.startswith("Usage:")]
    examples = [_with_commands(text) for text in paragraphs if text.startswith("Examples:")]
    more = [textwrap.fill(text, _width()) for text in paragraphs if not text.startswith(("Usage:", "Examples:"))]
    options = []
    if has_options(command):
        known = meanings(command, ())
        options.append("\n".join(["Options and their defaults:", *_table(map(_option, known.of_command), COLUMN)]))
        if known.choices:
            options.append("\n".join(["Groups, as chosen:", *_table(map(_group, known.choices), COLUMN)]))
        more.append(f"All options: {_program('options')} {command} [group=choice ...]")
    return "\n\n".join([textwrap.fill(what, _width()), *usage, *options, *examples, *more]) + "\n"


def every_option(command: str, overrides: Sequence[str], parts: Sequence[str] = ()) -> str:
    """All options of ``command`` as chosen by ``overrides``, or those with one of the ``parts`` in their name.

    UserError: no name has one of them.
    """
    known = meanings(command, overrides)
    for word in parts:
        if not any(word in option.name for option in known.every):
            near = nearest(word, [option.name for option in known.every])
            near = near if "did you mean" in near else f"; {_program('options')} {command} lists them all"
            raise UserError(f"{word}: {command} has no option with this in its name{near}")
    sections = []
    for heads, options in _sections(known):
        shown = [option for option in options if not parts or any(word in option.name for word in parts)]
        if shown or not parts:
            sections.append("\n".join([*_table(heads, LATER, indent=0), *_table(map(_option, shown), LATER)]))
    return "\n\n".join(filter(None, sections)) + "\n"


def _sections(known: Meanings) -> Iterator[tuple[list[tuple[str, str]], list[Option]]]:
    """Those options that belong to no group; then for each group what is chosen, and the options of that."""
    yield [], [option for option in known.every if "." not in option.name]
    sections = [choice.section for choice in known.choices]
    sections += [option.name.partition(".")[0] for option in known.every if "." in option.name]
    for section in dict.fromkeys(sections):
        choices = [choice for choice in known.choices if choice.section == section]
        options = [option for option in known.every if option.name.startswith(f"{section}.")]
        yield [(_named(choice), choice.meaning or choice.purpose) for choice in choices], options


def _width() -> int:
    return min(max(shutil.get_terminal_size((WIDE, 0)).columns, NARROW), WIDE)


def _option(option: Option) -> tuple[str, str]:
    return option.name if option.value is None else f"{option.name}={option.value}", option.meaning


def _group(choice: Choice) -> tuple[str, str]:
    offered = ", ".join(choice.offered)
    return _named(choice), f"{choice.purpose}: {offered}" if choice.purpose else offered


def _named(choice: Choice) -> str:
    return f"{choice.group}={'null' if choice.chosen is None else choice.chosen}"


def _table(rows: Iterable[tuple[str, str]], column: int, indent: int = 2) -> Iterator[str]:
    """Lines of two columns: a name, which is never broken, and its meaning."""
    for name, meaning in rows:
        start = " " * indent + name
        lines = textwrap.wrap(meaning, _width() - column, break_long_words=False, break_on_hyphens=False)
        if lines and len(start) <= column - 2:
            start = f"{start:<{column}}{lines.pop(0)}"
        yield start
        yield from (" " * column + line for line in lines)


def _with_commands(paragraph: str) -> str:
    """A label and commands, each called as this one was, and broken where it is too long."""
    label, *lines = paragraph.splitlines()
    called = [re.sub(r"python src/(\w+)\.py", lambda match: _program(match[1]), line.strip()) for line in lines]
    return "\n".join([label, *(piece for line in called for piece in _broken(line))])


def _program(command: str) -> str:
    program = called(command)
    return f"python src/{program}" if program.endswith(".py") else program


def _broken(command: str) -> Iterator[str]:
    """The command in lines that the shell reads as one."""
    line = " "
    for word in re.findall(r"(?:'[^']*'|[^ '])+", command):
        if len(line) + len(word) + 3 > _width():
            yield f"{line} \\"
            line = " " * 5
        line += f" {word}"
    yield line
