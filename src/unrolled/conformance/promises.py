"""All promises, in the order in which they are tried, and their outcomes."""

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from unrolled.conformance.attending import (
    company_changes_nothing,
    evaluation_has_no_dropout,
    later_words_change_nothing_before,
    padding_changes_nothing,
    same_again,
    weights_sum_to_one,
)
from unrolled.conformance.learning import (
    every_option_changes_something,
    every_parameter_gets_a_gradient,
    gradients_are_right,
    resumed_training_is_the_same,
    the_same_holds_in_training,
)
from unrolled.conformance.lowered import bfloat16_is_near_float32, float64_stays_float64
from unrolled.conformance.reading import a_text_is_the_same_in_parts
from unrolled.conformance.searching import (
    beams_follow_their_hypotheses,
    greedy_is_a_beam_of_one,
    search_forced_decoding_and_loss_agree,
)
from unrolled.conformance.stepping import kernel_equals_step, state_follows_its_hypothesis, step_by_step_equals_unrolled
from unrolled.conformance.subject import Broken, NothingToTry, Subject
from unrolled.errors import UserError

Promise = Callable[[Subject], None]
"""Raises Broken where it does not hold, and NothingToTry where it is not about the subject."""

PROMISES: tuple[Promise, ...] = (
    weights_sum_to_one,
    padding_changes_nothing,
    company_changes_nothing,
    same_again,
    evaluation_has_no_dropout,
    later_words_change_nothing_before,
    step_by_step_equals_unrolled,
    a_text_is_the_same_in_parts,
    kernel_equals_step,
    state_follows_its_hypothesis,
    beams_follow_their_hypotheses,
    greedy_is_a_beam_of_one,
    search_forced_decoding_and_loss_agree,
    gradients_are_right,
    the_same_holds_in_training,
    every_parameter_gets_a_gradient,
    every_option_changes_something,
    float64_stays_float64,
    bfloat16_is_near_float32,
    resumed_training_is_the_same,
)


LIBRARIES = {"site-packages", "dist-packages"}
OURS = Path(__file__).parents[1]


class Outcome(NamedTuple):
    """The outcome of a promise."""

    promise: Promise
    kept: bool | None
    """None if there was nothing to try."""
    why: str = ""
    """The smallest case that shows that it is broken; or why there was nothing to try."""

    @property
    def name(self) -> str:
        """Such as "weights sum to one"."""
        return self.promise.__name__.replace("_", " ")


def outcomes(subject: Subject, promises: Iterable[Promise] = PROMISES) -> Iterable[Outcome]:
    """Try ``promises`` one after the other. An error of the class that is tried breaks the promise."""
    for promise in promises:
        try:
            promise(subject)
            yield Outcome(promise, True)
        except NothingToTry as reason:
            yield Outcome(promise, None, str(reason))
        except Broken as case:
            yield Outcome(promise, False, str(case))
        except UserError:
            raise
        except Exception as problem:
            place = _place(problem)
            text = " ".join(str(problem).split())
            where = f"{Path(place.filename).name}:{place.lineno}"
            yield Outcome(promise, False, f"{type(problem).__name__} in {where}: {text:.200}")


def _place(problem: Exception) -> traceback.FrameSummary:
    """The innermost line that is not in a library or in this project; if all are, the innermost."""
    frames = traceback.extract_tb(problem.__traceback__)
    paths = [(frame, Path(frame.filename)) for frame in frames]
    theirs = [frame for frame, path in paths if not (LIBRARIES & {*path.parts} or path.is_relative_to(OURS))]
    return theirs[-1] if theirs else frames[-1]
