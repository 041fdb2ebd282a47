"""The promises of every attention, decoder and model, tried on one of them, as check.py does."""

import logging
from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig

from unrolled.api.records import Records
from unrolled.api.torch_settings import usual_settings
from unrolled.configuration.build import build_subject
from unrolled.configuration.composition import composing, one_line, options_of
from unrolled.configuration.own_parts import own_mistake
from unrolled.errors import UserError

log = logging.getLogger(__name__)

BROKEN = "BROKEN"
RESULTS = {True: "kept", False: BROKEN, None: "-"}
Row = dict[str, str]


class TriedPromises(Records[Row]):
    """A row for each promise: "promise", "result" (kept, BROKEN, or - where there is nothing to try), and "why"."""

    @property
    def broken(self) -> list[str]:
        """The promises that are broken."""
        return [row["promise"] for row in self if row["result"] == BROKEN]


def check(*options: str, **more: Any) -> TriedPromises:
    """Try what every attention, decoder and model promises on those that ``options`` choose: "attention=gru_att".

    options: of check.py; cost=True measures time and memory too. Takes some ten seconds. UserError: no such choice.
    """
    given = [*options, *options_of({"cost": False} | more)]
    with one_line(), composing("check", given) as config:
        return TriedPromises(rows(config))


def _check_options(subject: Any) -> None:
    """UserError: options that a class of the user's does not have, or needs. Other errors of it break its promises."""
    try:
        subject.initial()
    except TypeError as problem:
        if line := own_mistake(problem):
            raise UserError(line) from problem
    except UserError:
        raise
    except Exception as problem:
        log.debug("%s", problem)


def rows(config: DictConfig) -> Iterator[Row]:
    """The rows of `TriedPromises`, as they are found; with ``config.cost`` also the cost of a training step.

    Whenever a row is handed over, the caller's random state of torch on the CPU is as it was.
    """
    import torch

    tried = _rows(config)
    while True:
        # around each row alone: between them settings and random state are the caller's
        with usual_settings(), torch.random.fork_rng(devices=[]):
            row = next(tried, None)
        if row is None:
            return
        yield row


def _rows(config: DictConfig) -> Iterator[Row]:
    import torch

    from unrolled.conformance.cost import baseline, costs
    from unrolled.conformance.promises import outcomes
    from unrolled.conformance.subject import NothingToTry

    subject, threads = build_subject(config), torch.get_num_threads()
    _check_options(subject)
    torch.set_num_threads(1)  # fastest for tiny tensors
    try:
        for outcome in outcomes(subject):
            yield {"promise": outcome.name, "result": RESULTS[outcome.kept], "why": outcome.why}
        if config.cost:
            tried, known = costs(subject, baseline(subject))
            time, memory = tried.seconds / known.seconds, tried.mebibytes / known.mebibytes
            of_baseline = "that of cgru with bahdanau"
            yield {"promise": "time of a training step", "result": f"{time:.2f} x", "why": of_baseline}
            yield {"promise": "memory kept for its gradients", "result": f"{memory:.2f} x", "why": "the same"}
    except NothingToTry:
        pass  # a language model has nothing to be compared with
    finally:
        torch.set_num_threads(threads)
