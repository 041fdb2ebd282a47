"""Scores by forced decoding: those of an exact search stay as they are, others are corrected."""

from dataclasses import replace

import pytest
import torch
from support.small_models import SOURCE_WORDS, S, batch_of, build, build_lm, words

from unrolled.search.generator import Hypothesis
from unrolled.search.length import GNMT, PerToken
from unrolled.search.settings import BeamSearch, Greedy
from unrolled.text.tokens import EOS

SOURCES = words([3, S, 2], SOURCE_WORDS, seed=1)
LIMITS = {"max_length_ratio": 1.0, "max_length_extra": 3}
SEARCHES = {
    "greedy": lambda: Greedy(**LIMITS),
    "beam": lambda: BeamSearch(beam_size=4, **LIMITS),
    "GNMT": lambda: BeamSearch(beam_size=4, length_normalization=GNMT(), **LIMITS),
    "coverage penalty": lambda: BeamSearch(beam_size=4, coverage_penalty=0.7, **LIMITS),
    "language model": lambda: BeamSearch(beam_size=4, language_model=build_lm(), language_model_weight=0.5, **LIMITS),
    "both": lambda: BeamSearch(
        beam_size=4, coverage_penalty=0.7, language_model=build_lm(), language_model_weight=0.5, **LIMITS
    ),
}
every_search = pytest.mark.parametrize("kind", SEARCHES)


def trained(attention, seed):
    model = build("cgru", attention, seed=seed).eval()
    with torch.no_grad():
        model.readout.output.bias[EOS] += 1  # random parameters seldom end a sentence
    return model


def found(search, model, batch):
    return search.nbest(model, batch, 4) if isinstance(search, BeamSearch) else [[h] for h in search(model, batch)]


def close(h):
    return replace(
        h, score=pytest.approx(h.score, abs=1e-5), log_probability=pytest.approx(h.log_probability, abs=1e-5)
    )


@every_search
@pytest.mark.parametrize("attention", ["bahdanau", "gru_att"])
@pytest.mark.parametrize("seed", range(3))
def test_the_scores_of_an_exact_search_stay(kind, attention, seed):
    search, model, batch = SEARCHES[kind](), trained(attention, seed), batch_of(SOURCES)
    lists = found(search, model, batch)
    assert any(h.tokens for hypotheses in lists for h in hypotheses)
    again = search.with_forced_scores(model, batch, lists)
    for hypotheses, scored in zip(lists, again, strict=True):
        assert scored == [close(h) for h in hypotheses]


@every_search
def test_wrong_scores_are_corrected_and_the_best_comes_first(kind):
    search, model, batch = SEARCHES[kind](), trained("gru_att", 1), batch_of(SOURCES)
    lists = found(search, model, batch)
    # the same error in the sum and, per word, in the score
    wrong = [[moved(search, h, by=0.5 * (rank + 1)) for rank, h in enumerate(reversed(one))] for one in lists]
    assert wrong != lists
    for hypotheses, scored in zip(lists, search.with_forced_scores(model, batch, wrong), strict=True):
        assert scored == [close(h) for h in hypotheses]


def moved(search, h, *, by):
    """``h`` as a search would have it whose log-probability is higher ``by`` so much."""
    length = len(h.tokens) + h.finished
    per_token = {Greedy: 1.0, GNMT: (6 / (5 + length)) ** 0.6, PerToken: 1 / length}
    kind = type(getattr(search, "length_normalization", search))
    return replace(h, score=h.score + by * per_token[kind], log_probability=h.log_probability + by)


def test_where_nothing_was_found_nothing_is_scored():
    search, model, batch = Greedy(**LIMITS), build("cgru", "bahdanau").eval(), batch_of(SOURCES)
    nothing = Hypothesis([], 0.0, 0.0, finished=False)
    assert search.with_forced_scores(model, batch, [[nothing], [], [nothing]]) == [[nothing], [], [nothing]]
