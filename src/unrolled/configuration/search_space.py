"""The search space of sweep=optuna: the options of a command line whose values are choice(), range() or interval()."""

import math
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep, Transformer

from unrolled.errors import UserError


def search_space(arguments: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The distributions of the options that are searched, and the values of the others.

    The syntax is that of Hydra's own Optuna sweeper: ``choice(a,b)``, ``range(start,stop,step)`` with ``stop`` as one
    of the values, ``interval(low,high)``, ``int(interval(low,high))`` for whole numbers, and
    ``tag(log,interval(low,high))``. UserError: another kind of sweep.
    """
    space, fixed = {}, {}
    for override in OverridesParser.create().parse_overrides(arguments):
        name = override.get_key_element()
        if override.is_sweep_override():
            space[name] = _distribution(override)
        else:
            fixed[name] = override.get_value_element_as_str()
    return space, fixed


def _distribution(override: Override) -> Any:
    """UserError: no such sweep, or bounds that leave nothing to choose."""
    try:
        return _described(override)
    except (ValueError, ZeroDivisionError) as problem:
        raise UserError(f"{override.input_line}: {' '.join(str(problem).split())}") from problem


def _described(override: Override) -> Any:
    value: Any = override.value()
    if isinstance(value, ChoiceSweep) or (isinstance(value, RangeSweep) and value.shuffle):
        return _choices(override)
    if isinstance(value, RangeSweep):
        low, high, step = value.start, value.stop, value.step
        if low is not None and high is not None and isinstance(step, int | float):
            return _range(low, low + math.floor((high - low) / step + 1e-9) * step, step)
    if isinstance(value, IntervalSweep):
        low, high = value.start, value.end
        if low is not None and high is not None:
            return _interval(low, high, log="log" in value.tags)
    raise UserError(f"{override.input_line}: a search takes choice(...), range(...) or interval(...)")


def _range(low: Any, high: Any, step: Any) -> Any:
    from optuna.distributions import FloatDistribution, IntDistribution

    whole = all(isinstance(number, int) for number in (low, high, step))
    return (IntDistribution if whole else FloatDistribution)(low, high, step=step)


def _interval(low: Any, high: Any, *, log: bool) -> Any:
    from optuna.distributions import FloatDistribution, IntDistribution

    whole = isinstance(low, int) and isinstance(high, int)
    return (IntDistribution if whole else FloatDistribution)(low, high, log=log)


def _choices(override: Override) -> Any:
    from optuna.distributions import CategoricalDistribution

    choices: Any = list(override.sweep_iterator(transformer=Transformer.encode))
    return CategoricalDistribution(choices)
