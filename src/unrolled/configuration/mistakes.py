"""One line for a user's mistake: what is wrong, where, and the nearest valid choice."""

import errno
import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, InstantiationException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import (
    InterpolationKeyError,
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
    ValidationError,
)

from unrolled.configuration.hints import SEVERAL, no_such_choice, no_such_option, unreadable
from unrolled.errors import UserError, nearest, no_space

# errors of the system, each with the file that it is about
NOT_OURS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR}
NOT_OURS |= {errno.ENOENT, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO}
NO_CLASS = r"(?s)(?:Error locating target '([^']*)'|Expected a callable target.* of type '(\w+)')(?:.*full_key: (\S+))?"
CHOICE = re.compile(r"[\w/]+=[\w/]+")
NAMED = "a choice is a name, such as model=cgru; omit it for the default"
NO_NAME = "Config group override must be a string or a list"
ONE_OF = "Only one of --run"  # how Hydra begins to say that two of its own flags exclude each other
PLUGINS = {"joblib": "sweep", "submitit_slurm": "slurm", "submitit_local": "slurm"}  # Hydra's, and our extra for each


def users_mistake(problem: BaseException, words: Sequence[str] | None = None) -> str | None:
    """The line that tells the user what to mend, or None if ``problem`` is not the user's mistake.

    words: the options that were given; None: those of the command line.
    """
    words = sys.argv[1:] if words is None else words
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, UserError):
            return str(cause)
        cause = cause.__cause__
    if isinstance(problem, OSError) and problem.errno in NOT_OURS and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}{_other_path(problem)}"
    if isinstance(problem, TypeError | InstantiationException) and (changed := _changed(str(problem))):
        return changed
    if line := _own_mistake(problem, words):
        return line
    if isinstance(problem, InstantiationException) and (match := re.match(NO_CLASS, str(problem))):
        from unrolled.configuration.own_parts import no_such_class  # which imports what few commands need

        said = f"name a class or a function: this is of type {match[2]}" if match[2] else no_such_class(match[1])
        return f"{f'{match[3]}.' if match[3] else ''}_target_: {said}"
    if isinstance(problem, ValueError) and str(problem).startswith(NO_NAME):
        return f"{' '.join(not_named(words))}: {NAMED}"
    if isinstance(problem, ValueError) and str(problem).startswith(ONE_OF):
        return "-m, --cfg and --info exclude each other: give one of them"
    if isinstance(problem, HydraException | OmegaConfBaseException) and not isinstance(problem, InstantiationException):
        return _configuration_mistake(problem, words)
    return None


def _other_path(problem: OSError) -> str:
    """What may be done about it, if that is known."""
    if problem.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EROFS):
        return "; give another path"
    if problem.errno in (errno.EACCES, errno.EPERM) and not os.path.exists(problem.filename):
        return "; give another path, or work in another folder"
    return ""


def _own_mistake(problem: BaseException, words: Sequence[str]) -> str | None:
    from unrolled.configuration.own_parts import own_mistake  # which imports what few commands need

    return own_mistake(problem, words)


def missing_package(problem: BaseException) -> str | None:
    """The package whose absence is the cause of ``problem``, None if it is another."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and not _is_part_of_a_module(cause.name):
            advised = re.search(r"pip install (?:-U )?'?([\w-]+)|`(\w+)` nor", str(cause))  # Lightning's own
            return cause.name or (None if advised is None else advised[1] or advised[2])
        cause = cause.__cause__ or cause.__context__
    return None


def _is_part_of_a_module(name: str | None) -> bool:
    """Whether ``name`` is missing from a module or package that is there."""
    root, dot, _ = (name or "").partition(".")
    return bool(dot) and find_spec(root) is not None


def full_disk(problem: BaseException) -> str | None:
    """A line if ``problem`` means that the disk is full, else None."""
    if (cause := no_space(problem)) is None:
        return None
    where = "" if cause.filename is None else f"{cause.filename}: "
    mend = "earlier files are intact: make room, and resume the run" if _trains() else "make room, and try again"
    return f"{where}{cause.strerror}; {mend}"


def _trains() -> bool:
    """Whether this command is train.py; also where none is running, as in a notebook."""
    return not HydraConfig.initialized() or HydraConfig.get().job.config_name == "train"


def _configuration_mistake(problem: Exception, given: Sequence[str]) -> str:
    """One line instead of Hydra's several, with the nearest valid choice if there is one."""
    text = str(problem)
    if word := _removed(problem, given):
        return f"{word}: keep it: it is needed"
    if isinstance(problem, MissingConfigException) and (
        missing := re.search(r"Could not find '([^']+)/([^'/]*)'", text)
    ):
        group, choice = missing.groups()
        choices = list(getattr(problem, "options", None) or [])
        if group.partition("/")[0] == "experiment":  # whose choices lie in folders
            group, choice = "experiment", f"{group}/{choice}".partition("/")[2]
            choices += _choices(group)
        if choice in PLUGINS:
            return f'{group}={choice} is not installed: pip install "unrolled[{PLUGINS[choice]}]"'
        return f"{group}={choice}: there is no such choice{nearest(choice, sorted({*choices}))}"
    merged = re.fullmatch(r"Error merging override (.+=[\[{].*)", text)
    if merged and not isinstance(problem.__cause__, ValidationError):
        return f"{merged[1]}: this has options of its own: give them one by one, as python src/options.py shows them"
    if unknown := re.match(r"In '([^']+)': Could not load '([^']+)'", text):
        for group, _, names in (word.partition("=[") for word in given):
            choice = unknown[2].removeprefix(f"{group}/")
            if choice in re.split(r"[\],\s]+", names):
                return f"{group}={choice}: there is no such choice{nearest(choice, _choices(group))}"
        return f"{unknown[1]}.yaml: defaults: there is no {unknown[2]}: a name in the same folder, or /group: name"
    if isinstance(problem, OverrideParseException):
        return unreadable(problem.override)
    if there := re.match(r"Could not delete from config\. (?:'(\S+)' does not exist|The value of '(\S+)' is )", text):
        name = there[1] or there[2]
        word = next((word for word in given if re.match(rf"~{re.escape(name)}(=|$)", word)), f"~{name}")
        return f"{word}: there is no such option" if there[1] else f"{word}: its value is another: ~{name} removes any"
    if several := re.match(r"(?:Ambiguous value for argument|Sweep parameters) '(.+)'", text):
        from unrolled.configuration.conf import CONF  # which imports this module

        name, _, value = several[1].partition("=")
        one = (CONF / name).is_dir() and name not in SEVERAL
        return f"{several[1]}: add -m to run all of them" + ("" if one else f", or give a list: '{name}=[{value}]'")
    if isinstance(problem, MissingMandatoryValue):
        return f"{problem.full_key} is missing: give {problem.full_key}=..."
    if isinstance(problem, InterpolationToMissingValueError) and (option := re.search(r"value: (\S+)", text)):
        return f"{option[1]} is missing: give {option[1]}=..."
    if unknown := re.match(r"Could not delete '(\S+)'\.", text):
        return f"~{unknown[1]}: there is no such choice"
    if unknown := re.match(r"Unsupported interpolation type (\S+)", text):
        words = ", ".join(word for word in given if f"${{{unknown[1]}:" in word)
        return f"{words or 'an option'}: there is no resolver {unknown[1]}; ${{oc.env:NAME}} reads a variable"
    if unset := re.search(r"Environment variable '([^']+)' not found", text):
        words = ", ".join(word for word in given if f"${{oc.env:{unset[1]}" in word)
        return f"{words or 'an option'}: the environment variable {unset[1]} is not set"
    if isinstance(problem, InterpolationKeyError) and (option := re.search(r"key '([^']+)' not found", text)):
        if words := ", ".join(word for word in given if "${" + option[1] in word):
            return f"{words}: there is no {option[1]} that ${{{option[1]}}} could be: quote the value twice, or omit it"
        return f"{problem.full_key}: there is no {option[1]}; give {problem.full_key}=..."
    if inside := re.match(r"In '([\w/]+)': Could not override '([\w/]+)'", text):
        words = ", ".join(word for word in given if CHOICE.fullmatch(word))
        if inside[1] == "objective/counting":
            return f"{words}: this is trained by counting, and this command needs gradients: choose another model"
        return f"{words}: this needs {inside[1]}, which chooses {inside[2]}, and this command has no {inside[2]}"
    if absent := re.match(r"Could not override '([^']+)'\. No match in the defaults list", text):
        word = next((word for word in given if word.startswith(f"{absent[1]}=")), absent[1])
        return no_such_choice(word, absent[1])
    if doubled := re.match(r"Multiple values for (\S+)\. To override", text):
        word = next((word for word in given if word.startswith(f"+{doubled[1]}=")), doubled[1])
        return f"{word}: this is chosen already: write {word.removeprefix('+')}, without +"
    cause = problem.__cause__
    if isinstance(cause, ValidationError):  # of an option of Hydra itself, or of a launcher
        return f"{cause.full_key or cause.key}: {str(cause).splitlines()[0]}"
    if isinstance(cause, OmegaConfBaseException) and cause.parent_node is not None and cause.key is not None:
        node = cause.parent_node if isinstance(cause.parent_node, DictConfig) else DictConfig({})
        prefix = str(cause.full_key or cause.key).rpartition(".")[0]
        return no_such_option(f"{prefix}.{cause.key}" if prefix else str(cause.key), node)
    return " ".join(text.split())


def _removed(problem: Exception, given: Sequence[str]) -> str | None:
    """The option, or what contains it, that ``problem`` misses because ~ has removed it."""
    named = re.search(r"Interpolation key '([^']+)' not found", str(problem))
    cause = problem if isinstance(problem, OmegaConfBaseException) else problem.__cause__
    missing = str(named[1] if named else getattr(cause, "full_key", None) or getattr(cause, "key", None))
    words = (word for word in given if word.startswith("~"))
    return next((word for word in words if f"{missing}.".startswith(f"{word.lstrip('~').partition('=')[0]}.")), None)


def _choices(group: str) -> list[str]:
    """The choices of a group in conf/, also those in folders of it."""
    from unrolled.configuration.conf import CONF  # which imports this module

    files = sorted((CONF / group).rglob("*.yaml"))
    return [path.relative_to(CONF / group).with_suffix("").as_posix() for path in files]


def _changed(text: str) -> str | None:
    """The message for an option that a constructor does not know, added by ``+`` or meant for another choice of an
    experiment, or for one removed by ``~`` that it needs."""
    unknown = re.search(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'", text)
    needed = re.search(r"(\w+)(?:\.__init__)?\(\) missing \d+ required keyword-only arguments?: '(\w+)'", text)
    if not (unknown or needed) or not HydraConfig.initialized():
        return None
    for override in HydraConfig.get().overrides.task:
        path, _, name = override.partition("=")[0].rpartition(".")
        if unknown and path.startswith("+") and name == unknown[2]:
            return f"{path}.{name}: {unknown[1]} has no such option"
        if needed and path.startswith("~") and name == needed[2]:
            return f"{path}.{name}: {needed[1]} needs this option: keep it"
    return _of_an_experiment(*unknown.groups()) if unknown else None


def _of_an_experiment(called: str, option: str) -> str | None:
    """The message for an ``option`` that an experiment sets for another choice than the one on the command line;
    ``called``: the class of the latter."""
    from unrolled.configuration.conf import CONF  # which imports this module

    given = [override.partition("=") for override in HydraConfig.get().overrides.task]
    experiment = next((name for group, _, name in given if group == "experiment"), None)
    target = re.compile(rf"^_target_: [\w.]+\.{called}$", re.MULTILINE)
    for group, _, name in given if experiment else ():
        choice = CONF / group / f"{name}.yaml"
        if choice.is_file() and target.search(choice.read_text("utf-8")):
            return f"{group}={name} has no option {option}, which experiment={experiment} sets: add ~{group}.{option}"
    return None


def not_named(options: Sequence[str]) -> list[str]:
    """The choices among ``options`` that are numbers, true, false or null."""
    from unrolled.configuration.conf import CONF  # which imports this module

    given = (re.fullmatch(r"([\w/.]+)=(null|true|false|[\d.+-]*)", argument) for argument in options)
    return [match[0] for match in given if match and (CONF / match[1]).is_dir()]
