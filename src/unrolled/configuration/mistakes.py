"""One line for a user's mistake: what, where, and the nearest valid choice."""

import re
from difflib import get_close_matches

from hydra.errors import HydraException, InstantiationException, MissingConfigException
from omegaconf import DictConfig
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException

from unrolled.errors import UserError


def users_mistake(problem: BaseException) -> str | None:
    """The one line that tells a user what to mend, or None if ``problem`` is not the user's."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, UserError):
            return str(cause)
        cause = cause.__cause__
    if isinstance(problem, HydraException | OmegaConfBaseException) and not isinstance(problem, InstantiationException):
        return _configuration_mistake(problem)
    return None


def _configuration_mistake(problem: Exception) -> str:
    """One line from Hydra's several, with the nearest valid choice where there is one."""
    text = str(problem)
    if isinstance(problem, MissingConfigException) and (found := re.search(r"Could not find '([^']+)/([^'/]+)'", text)):
        group, choice = found.groups()
        return f"{group}={choice}: there is no such choice{_nearest(choice, getattr(problem, 'options', None) or [])}"
    if isinstance(problem, MissingMandatoryValue):
        return f"{problem.full_key} is missing: give {problem.full_key}=..."
    if isinstance(problem, InterpolationToMissingValueError) and (found := re.search(r"value: (\S+)", text)):
        return f"{found[1]} is missing: give {found[1]}=..."
    cause = problem.__cause__
    if isinstance(cause, OmegaConfBaseException) and cause.parent_node is not None and cause.key is not None:
        keys = [str(key) for key in cause.parent_node] if isinstance(cause.parent_node, DictConfig) else []
        prefix = str(cause.full_key or cause.key).rpartition(".")[0]
        prefix = f"{prefix}." if prefix else ""
        near = _nearest(str(cause.key), keys)
        return f"{prefix}{cause.key}: there is no such option{near}"
    return " ".join(text.split())


def _nearest(word: str, choices: list[str]) -> str:
    close = get_close_matches(word, choices, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]}?"
    choices = sorted(choice for choice in choices if not choice.startswith("_"))
    return f"; there are {', '.join(choices)}" if choices else ""
