"""One line for a mistake in a part of the user's own: in its YAML file, in its module, or in how both fit together."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from pkgutil import iter_modules
from traceback import walk_tb

import yaml
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import ConfigCompositionException, InstantiationException
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from unrolled.configuration.conf import CONF, further
from unrolled.errors import closest

NOT_LOCATED = r"(?s)Error locating target '([^']*)'(?:.*full_key: (\S+))?"
REFUSED = r"(?s)Target '([^']*)' is blocklisted(?:.*full_key: (\S+))?"
UNKNOWN = re.compile(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
NOT_COMPOSED = (UnicodeDecodeError, OmegaConfBaseException, ConfigCompositionException)
SEARCHED = re.compile(r"file://([^'\",\]]+)")
NO_DEFAULTS = "Invalid defaults list in"
NEEDED = re.compile(r"(\w+)(?:\.__init__)?\(\) missing \d+ required (?:keyword-only|positional) arguments?: (.+)")


def own_mistake(problem: BaseException, words: Sequence[str] = ()) -> str | None:
    """The line that tells the user what to mend, or None if ``problem`` is not of this kind.

    words: the options that were given.
    """
    if isinstance(problem, MarkedYAMLError):
        return _unreadable(problem)
    if isinstance(problem, InstantiationException):
        if match := re.match(NOT_LOCATED, str(problem)):
            return _not_imported(problem, match[1], f"{match[2]}." if match[2] else "")
        if match := re.match(REFUSED, str(problem)):
            where = f"{match[2]}." if match[2] else ""
            return f"{where}_target_: {match[1]} may not be called from a configuration: name a class of your own"
        return None if problem.__cause__ is None else own_mistake(problem.__cause__, words)
    if isinstance(problem, NOT_COMPOSED) or str(problem).startswith(NO_DEFAULTS):
        return next(filter(None, map(_unusable, _named_files(words))), None)
    return _options(problem) if isinstance(problem, TypeError) else None


def _unreadable(problem: MarkedYAMLError) -> str | None:
    """The line of a YAML file at which reading it ended."""
    mark = problem.problem_mark
    if mark is None or not Path(mark.name).is_file():
        return None
    return f"{mark.name}:{mark.line + 1}: this cannot be read as YAML: {problem.problem}"


def _unusable(path: Path) -> str | None:
    """Why Hydra cannot use a YAML file as a choice, None if it can."""
    content = path.read_bytes()
    try:
        options = yaml.safe_load(content.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        return f"{path}:{line}: this is not UTF-8: convert the file, or use ASCII"
    except MarkedYAMLError:
        return None
    if isinstance(options, list):
        return f"{path}: this is a list: give options, a line 'name: value' each"
    if isinstance(options, dict) and not isinstance(options.get("defaults", []), list):
        return f"{path}: defaults: this must be a list, such as [{options['defaults']}]"
    return None


def _named_files(words: Sequence[str]) -> Iterator[Path]:
    """The YAML files that are not in our conf/ and that ``words`` choose, before Hydra knows them."""
    given, _ = get_args_parser().parse_known_args(list(words))
    folders = [folder for _, folder in further()]
    folders += [Path(given.config_dir)] if given.config_dir else []
    for word in given.overrides:
        if word.startswith("hydra.searchpath="):
            folders += map(Path, SEARCHED.findall(word))
    for word in given.overrides:
        group, _, choices = word.lstrip("+").partition("=")
        for choice in choices.strip("[]").split(","):
            files = (folder / group / f"{choice.strip()}.yaml" for folder in folders)
            yield from (path for path in files if path.is_file())


def _not_imported(problem: InstantiationException, target: str, where: str) -> str | None:
    """Why the module of a class cannot be imported; None if it is not there, or has no such class."""
    cause = problem.__cause__ and (problem.__cause__.__cause__ or problem.__cause__.__context__)
    module = target.rpartition(".")[0]
    if cause is None or (isinstance(cause, ModuleNotFoundError) and f"{target}.".startswith(f"{cause.name}.")):
        return None
    if isinstance(cause, SyntaxError):
        return f"{where}_target_: {target}: {cause.filename}:{cause.lineno}: {cause.msg}"
    frames = list(walk_tb(cause.__traceback__))
    place = f"{frames[-1][0].f_code.co_filename}:{frames[-1][1]}: " if frames else ""
    ours = "" if place.startswith("<frozen") else place
    return f"{where}_target_: {target}: {module} cannot be imported: {ours}{type(cause).__name__}: {cause}"


def no_such_class(target: str) -> str:
    """What is missing for the class of a dotted name, which Hydra tried to import before."""
    first, *rest = target.split(".")
    if not rest or not all(word.isidentifier() for word in target.split(".")):
        return f"{target}: name a class that can be imported, as package.module.Class"
    if first not in sys.modules:
        return f"{target}: there is no module {first}: install its package, or add its folder to PYTHONPATH"
    module = first
    while f"{module}.{rest[0]}" in sys.modules:
        module = f"{module}.{rest.pop(0)}"
    there = sys.modules[module]
    offered = [name for name, value in vars(there).items() if callable(value)]
    offered += [name for _, name, _ in iter_modules(getattr(there, "__path__", ()))]
    close = closest(rest[0], offered)
    return f"{target}: {module} has no {rest[0]}" + (f"; did you mean {close}?" if close else "")


CALLERS = ("hydra.", "unrolled.models.translator", "unrolled.conformance.subject")
"""Modules that call the classes of a configuration."""


def _called_directly(problem: TypeError) -> bool:
    """Whether it was raised by the call itself, and not within what was called."""
    frames = [frame for frame, _ in walk_tb(problem.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__")).startswith(CALLERS)


def _options(problem: TypeError) -> str | None:
    """The options that a class does not know, or needs, and the file that should be mended."""
    if match := UNKNOWN.search(str(problem)):
        files = [path for path in _own_files() if re.search(rf"^\s*{match[2]}\s*:", _text(path), re.MULTILINE)]
        if files or _called_directly(problem):  # or by a class of the user's that passes on what it does not know
            return f"{f'{files[0]}: ' if files else ''}{match[1]} has no option {match[2]}: remove it"
        return None
    if _called_directly(problem) and (match := NEEDED.search(str(problem))):
        names = ", ".join(re.findall(r"'(\w+)'", match[2]))
        files = list(_own_files())
        return f"{f'{files[0]}: ' if len(files) == 1 else ''}{match[1]} needs {names}: add it"
    return None


def _own_files() -> Iterator[Path]:
    """The YAML files of the choices of this command that are not in our conf/."""
    if not HydraConfig.initialized():
        return
    runtime = HydraConfig.get().runtime
    folders = [Path(source.path) for source in runtime.config_sources if source.schema == "file"]
    for group, choice in runtime.choices.items():
        for name in [choice] if isinstance(choice, str) else choice or ():
            for folder in folders:
                path = folder / str(group) / f"{name}.yaml"
                if folder.resolve() != CONF.resolve() and path.is_file():
                    yield path


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
