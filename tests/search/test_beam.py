"""Greedy and beam search against plain loops and against enumeration of everything that can be written."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators import (
    BOS,
    EOS,
    PAD,
    Chain,
    Watched,
    every_finished,
    greedy_by_hand,
    log_probability,
)

from unrolled.errors import UserError
from unrolled.models.state import PerSentence
from unrolled.search.beam import _best, beam_search, greedy
from unrolled.search.generator import Hypothesis, select
from unrolled.search.length import GNMT, NoNormalization, PerToken
from unrolled.search.settings import BeamSearch, Greedy

SCORES = [NoNormalization(), PerToken(), PerToken(power=0.5), GNMT(), GNMT(alpha=1.3)]


def limits(*lengths):
    return torch.tensor(lengths, dtype=torch.int64)


def search(generator, *sentences, beam_size=3, max_length=7, score=PerToken(), **options):  # noqa: B008
    batch = generator.batch(*sentences)
    max_lengths = torch.full((len(batch.sentences),), max_length)
    return beam_search(generator, batch, beam_size=beam_size, max_lengths=max_lengths, score=score, **options)


# ---- the states of generators


def test_select_takes_what_belongs_to_sentences_once_for_all_their_hypotheses():
    shared, own = torch.tensor([1, 2]), torch.tensor([5, 6, 7, 8])
    state = (PerSentence((shared, (shared,))), (own,))
    moved = select(state, torch.tensor([1, 1, 3, 2]), torch.tensor([0, 1]))
    assert moved[0][0] is shared
    assert moved[1][0].tolist() == [6, 6, 8, 7]
    fewer = select(state, torch.tensor([2, 3]), torch.tensor([1]))
    assert type(fewer[0]) is PerSentence
    assert [fewer[0][0].tolist(), fewer[0][1][0].tolist(), fewer[1][0].tolist()] == [[2], [2], [7, 8]]


class SharedChain(Watched):
    """The sentence's number is kept once for all its hypotheses, as a translator's annotations do."""

    def start(self, batch):
        sentence, prefix, place = super().start(batch)
        return (PerSentence((sentence,)), prefix, place)

    def step(self, tokens, state):
        (sentence,), prefix, place = state
        every = sentence.repeat_interleave(len(tokens) // max(1, len(sentence)))
        log_probs, (_, prefix, place) = super().step(tokens, (every, prefix, place))
        return log_probs, (PerSentence((sentence,)), prefix, place)


@settings(max_examples=40)
@given(seed=st.integers(0, 999), beam=st.integers(1, 5), eos_bonus=st.floats(-1, 2))
def test_a_shared_part_changes_no_result(seed, beam, eos_bonus):
    options = {"beam_size": beam, "max_lengths": limits(7, 3, 7, 5), "score": PerToken(), "nbest": beam}
    found = []
    for kind in (Watched, SharedChain):
        generator = kind.random(4, 8, 7, seed=seed, eos_bonus=eos_bonus)
        found.append(beam_search(generator, generator.batch(), **options))
    assert found[0] == found[1]


def test_select_takes_rows_of_every_tensor_and_keeps_the_nesting():
    state = (torch.arange(3), (torch.arange(6).view(3, 2), ()), ())
    first, (second, nothing), empty = select(state, torch.tensor([2, 0, 0, 2]))
    assert first.tolist() == [2, 0, 0, 2]
    assert second.tolist() == [[4, 5], [0, 1], [0, 1], [4, 5]]
    assert nothing == empty == ()
    assert select(torch.arange(3), torch.tensor([1])).tolist() == [1]


@pytest.mark.parametrize("beam_size", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_memory_follows_its_hypothesis(beam_size, seed):
    # every word depends on the prefix in the state: were it another hypothesis's, the log-probability would be another
    generator = Watched.random(sentences=3, places=11, vocabulary=7, seed=seed)
    for sentence, hypotheses in enumerate(search(generator, beam_size=beam_size, max_length=11, nbest=beam_size)):
        for hypothesis in hypotheses:
            sequence = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            assert math.isclose(
                hypothesis.log_probability, log_probability(generator, sentence, sequence), rel_tol=1e-5
            )


def test_memory_holds_the_words_of_its_hypothesis():
    class Remembering(Chain):
        seen = ()

        def step(self, tokens, state):
            log_probs, state = super().step(tokens, state)
            _, (_, prefix), place = state
            self.seen += tuple(tuple(row[1:length]) for row, length in zip(prefix.tolist(), place.tolist()))
            return log_probs, state

    generator = Remembering.random(sentences=2, places=7, vocabulary=11, seed=5)
    finished = [h for hypotheses in search(generator, beam_size=4, nbest=4) for h in hypotheses if h.finished]
    assert max(len(hypothesis.tokens) for hypothesis in finished) > 2
    assert {tuple(hypothesis.tokens) for hypothesis in finished} <= set(generator.seen) | {()}


# ---- what is found


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("make", [Chain, Watched])
@pytest.mark.parametrize("seed", range(3))
def test_beam_as_wide_as_the_search_space_finds_the_true_best(make, score, seed):
    max_length, vocabulary = 4, 6
    generator = make.random(sentences=2, places=max_length, vocabulary=vocabulary, seed=seed)
    found = search(generator, beam_size=(vocabulary - 2) ** max_length, max_length=max_length, score=score, nbest=9)
    for sentence, hypotheses in enumerate(found):
        expected = every_finished(generator, sentence, max_length, score)
        assert [hypothesis.tokens for hypothesis in hypotheses] == [tokens for _, tokens in expected[:9]]
        for hypothesis, (value, _) in zip(hypotheses, expected):
            assert hypothesis.finished
            assert math.isclose(hypothesis.score, value, rel_tol=1e-5)


def test_whole_powers_of_lengths_do_not_overflow():
    assert PerToken(10)(torch.tensor(-30.0), torch.tensor(80)).item() == pytest.approx(-30 / 80**10)
    with pytest.raises(UserError, match="power=15"):
        PerToken(15)


@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_leaving_early_loses_nothing(score):
    # the n best do not depend on n, though with a small n sentences leave earlier
    for seed in range(5):
        generator = Watched.random(sentences=5, places=13, vocabulary=7, seed=seed, eos_bonus=1.0)
        all_of_them = search(generator, max_length=13, score=score, nbest=50)
        for count in (1, 2, 3):
            best = search(generator, max_length=13, score=score, nbest=count)
            assert best == [hypotheses[:count] for hypotheses in all_of_them]


def test_the_longer_hypothesis_wins_by_its_mean():
    # log p: "</s>" -1.0, "3 </s>" -1.2: the shorter is likelier, the longer better per token
    log_probs = torch.full((1, 2, 4, 4), -math.inf)
    log_probs[0, 0, BOS] = torch.tensor([-math.inf, -math.inf, -1.0, -0.6])
    log_probs[0, 1, 3] = torch.tensor([-math.inf, -math.inf, -0.6, -9.0])
    generator = Chain(log_probs)
    ((likelier,),) = search(generator, beam_size=2, max_length=2, score=NoNormalization())
    ((better,),) = search(generator, beam_size=2, max_length=2, score=PerToken())
    assert likelier == Hypothesis([], -1.0, -1.0, finished=True)
    assert better.tokens == [3]
    assert math.isclose(better.score, -0.6, rel_tol=1e-6)
    assert math.isclose(better.log_probability, -1.2, rel_tol=1e-6)


@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 6),
    vocabulary=st.integers(4, 9),
    max_length=st.integers(1, 8),
    eos_bonus=st.sampled_from([-3.0, 0.0, 3.0]),
    score=st.sampled_from(SCORES),
)
@settings(max_examples=60)
def test_n_best_are_sorted_different_scored_right_and_within_the_limit(
    seed, beam_size, vocabulary, max_length, eos_bonus, score
):
    generator = Watched.random(sentences=3, places=max_length, vocabulary=vocabulary, seed=seed, eos_bonus=eos_bonus)
    found = search(generator, beam_size=beam_size, max_length=max_length, score=score, nbest=beam_size)
    for sentence, hypotheses in enumerate(found):
        assert 1 <= len(hypotheses) <= beam_size
        assert hypotheses == sorted(hypotheses, key=lambda h: (not h.finished, -h.score))
        assert len({(tuple(h.tokens), h.finished) for h in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            sequence = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            assert len(sequence) <= max_length
            assert hypothesis.finished or len(sequence) == max_length
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)
            expected = torch.tensor(log_probability(generator, sentence, sequence))
            assert math.isclose(hypothesis.log_probability, float(expected), rel_tol=1e-4)
            value = float(score(expected, torch.tensor(len(sequence))))
            assert math.isclose(hypothesis.score, value, rel_tol=1e-4)


# ---- greedy


@given(seed=st.integers(0, 10_000), max_length=st.integers(0, 9), ties=st.booleans(), score=st.sampled_from(SCORES))
@settings(max_examples=60)
def test_beam_of_one_is_greedy(seed, max_length, ties, score):
    generator = Watched.random(sentences=5, places=max(max_length, 1), vocabulary=7, seed=seed, eos_bonus=0.7)
    if ties:
        generator.log_probs = generator.log_probs.round()
    batch, max_lengths = generator.batch(), limits(*[max_length] * 4, 1)
    expected = [greedy_by_hand(generator, sentence, int(limit)) for sentence, limit in enumerate(max_lengths)]
    alone = greedy(generator, batch, max_lengths=max_lengths)
    beam = beam_search(generator, batch, beam_size=1, max_lengths=max_lengths, score=score)
    assert [(h.tokens, h.finished) for h in alone] == expected
    assert [(h.tokens, h.finished) for (h,) in beam] == expected
    assert [h.log_probability for h in alone] == [h.log_probability for (h,) in beam]


# ---- sentences of a batch


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("ties", [False, True])
def test_the_company_in_the_batch_changes_nothing(beam_size, ties):
    generator = Watched.random(sentences=7, places=9, vocabulary=13, seed=3, eos_bonus=1.5)
    if ties:
        generator.log_probs = generator.log_probs.round()
    together = search(generator, beam_size=beam_size, max_length=9, nbest=beam_size)
    for sentence in range(7):
        assert search(generator, sentence, beam_size=beam_size, max_length=9, nbest=beam_size) == [together[sentence]]
    order = [4, 0, 6, 6, 1]
    mixed = search(generator, *order, beam_size=beam_size, max_length=9, nbest=beam_size)
    assert mixed == [together[sentence] for sentence in order]


def test_finished_sentences_leave_the_batch():
    # sentence b writes b words and then </s>
    log_probs = torch.full((4, 11, 5, 5), -9.0)
    log_probs[..., 4] = -0.1
    for sentence in range(4):
        log_probs[sentence, sentence, :, EOS] = -0.01
    generator = Chain(log_probs)
    found = greedy(generator, generator.batch(), max_lengths=limits(11, 11, 11, 11))
    assert [h.tokens for h in found] == [[], [4], [4, 4], [4, 4, 4]]
    assert generator.rows == [4, 3, 2, 1]
    generator.rows.clear()
    assert [h.tokens for (h,) in search(generator, max_length=11, score=NoNormalization(), beam_size=2)] == [
        h.tokens for h in found
    ]
    assert generator.rows[0] == 4
    assert generator.rows[1:] == sorted(generator.rows[1:], reverse=True)
    assert len(generator.rows) < 11


def test_each_sentence_has_its_own_limit_and_unfinished_ones_come_last():
    generator = Chain.random(sentences=3, places=5, vocabulary=7, seed=2, eos_bonus=-50.0)
    batch, max_lengths = generator.batch(), limits(2, 0, 5)
    for found in (
        greedy(generator, batch, max_lengths=max_lengths),
        [h for (h,) in beam_search(generator, batch, beam_size=3, max_lengths=max_lengths, score=PerToken())],
    ):
        assert [len(h.tokens) for h in found] == [2, 0, 5]
        assert not any(h.finished for h in found)
        assert found[1] == Hypothesis([], 0.0, 0.0, finished=False)
    (mixed,) = beam_search(
        generator, generator.batch(2), beam_size=500, max_lengths=limits(3), score=PerToken(), nbest=500
    )
    finished = [h.finished for h in mixed]
    assert True in finished
    assert False in finished
    assert finished == sorted(finished, reverse=True)
    assert mixed[0].score < mixed[-1].score  # though the unfinished are likelier


def test_no_sentence_at_all_and_only_limits_of_zero():
    generator = Chain.random(sentences=2, places=3, vocabulary=5, seed=1)
    nothing = SimpleNamespace(sentences=torch.zeros(0, dtype=torch.int64))
    assert greedy(generator, nothing, max_lengths=limits()) == []
    assert beam_search(generator, nothing, beam_size=2, max_lengths=limits(), score=PerToken()) == []
    assert [h.tokens for (h,) in search(generator, max_length=0)] == [[], []]
    assert generator.rows == []


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_generator_without_probabilities_gives_empty_unlikely_hypotheses(value):
    generator = Chain(torch.full((2, 5, 5, 5), value))
    expected = [Hypothesis([], -math.inf, -math.inf, finished=False)] * 2
    assert greedy(generator, generator.batch(), max_lengths=limits(5, 5)) == expected
    assert [h for (h,) in search(generator, max_length=5)] == expected


# ---- words


@pytest.mark.parametrize("beam_size", [1, 4])
def test_padding_and_begin_are_never_written_even_if_likeliest(beam_size):
    generator = Chain.random(sentences=2, places=5, vocabulary=5, seed=4)
    generator.log_probs[..., [PAD, BOS]] = -0.001
    for hypotheses in search(generator, beam_size=beam_size, nbest=beam_size, max_length=5):
        assert all(not {PAD, BOS} & set(h.tokens) for h in hypotheses)
    assert not {PAD, BOS} & set(greedy(generator, generator.batch(0), max_lengths=limits(5))[0].tokens)


@given(st.data())
def test_the_best_of_a_row_are_taken_as_a_stable_sort_takes_them(data):
    width = data.draw(st.integers(1, 130))
    few_values = st.sampled_from([-math.inf, -2.0, -1.5, -1.0])
    values = torch.tensor(data.draw(st.lists(st.lists(few_values, min_size=width, max_size=width), min_size=1)))
    count = data.draw(st.integers(1, 7))
    expected, places = values.sort(dim=1, descending=True, stable=True)
    best, index = _best(values, count)
    assert torch.equal(best, expected[:, :count])
    exists = best.isfinite()
    assert torch.equal(index[exists], places[:, :count][exists])


@given(
    width=st.integers(64, 700),
    count=st.integers(1, 9),
    kinds=st.sampled_from([2, 5, 10**6]),
    seed=st.integers(0, 99),
    nothing=st.floats(0, 1),
)
def test_the_best_of_a_wide_row_are_taken_so_too(width, count, kinds, seed, nothing):
    random = torch.Generator().manual_seed(seed)
    values = torch.randint(kinds, (3, width), generator=random).float()
    values[torch.rand(3, width, generator=random) < nothing] = -math.inf
    expected, places = values.sort(dim=1, descending=True, stable=True)
    best, index = _best(values, count)
    assert torch.equal(best, expected[:, :count])
    exists = best.isfinite()
    assert torch.equal(index[exists], places[:, :count][exists])


def test_equal_scores_are_ordered_by_word():
    uniform = Chain(torch.full((1, 3, 64, 64), -math.log(64)))
    (hypotheses,) = search(uniform, beam_size=5, max_length=1, nbest=5)
    assert [h.tokens for h in hypotheses] == [[], [3], [4], [5], [6]]
    (again,) = search(uniform, beam_size=5, max_length=3, nbest=5)
    assert [h.tokens for h in again] == [[], [3], [3, 3], [3, 3, 3], [3, 3, 4]]


def test_hypotheses_are_plain_python_and_no_graph_is_kept():
    weight = torch.zeros(5, requires_grad=True)

    class Learned:
        def start(self, batch):
            return (torch.zeros(2, 1),)

        def step(self, tokens, state):
            log_probs = (weight + state[0]).log_softmax(dim=1)
            assert not log_probs.requires_grad
            return log_probs, state

    for hypotheses in beam_search(Learned(), None, beam_size=2, max_lengths=limits(2, 3), score=PerToken()):
        assert all(type(word) is int for word in hypotheses[0].tokens)
        assert type(hypotheses[0].score) is type(hypotheses[0].log_probability) is float
        assert type(hypotheses[0].finished) is bool


# ---- settings


@pytest.mark.parametrize("settings_of", [Greedy, BeamSearch])
def test_settings_limit_the_length_by_the_source(settings_of):
    generator = Chain.random(sentences=3, places=23, vocabulary=7, seed=2, eos_bonus=-math.inf)
    batch = generator.batch()
    batch.source_lengths = limits(2, 3, 7)
    found = settings_of(max_length_ratio=1.5, max_length_extra=1)(generator, batch)
    assert [len(h.tokens) for h in found] == [4, 5, 11]
    found = settings_of(max_length_ratio=0.0, max_length_extra=2)(generator, batch)
    assert [len(h.tokens) for h in found] == [2, 2, 2]


def test_beam_settings_reach_the_search():
    generator = Watched.random(sentences=3, places=17, vocabulary=7, seed=2, eos_bonus=0.3)
    batch = generator.batch()
    batch.source_lengths = limits(3, 3, 3)
    settings_ = BeamSearch(beam_size=4, length_normalization=GNMT(), max_length_ratio=2.0, max_length_extra=1)
    expected = search(generator, beam_size=4, max_length=7, score=GNMT(), nbest=3)
    assert settings_.nbest(generator, batch, 3) == expected
    assert settings_(generator, batch) == [hypotheses[0] for hypotheses in expected]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: BeamSearch(beam_size=0), "search.beam_size=0"),
        (lambda: BeamSearch(max_length_ratio=-1.0), "search.max_length_ratio=-1.0"),
        (lambda: Greedy(max_length_extra=-1), "search.max_length_extra=-1"),
        (lambda: PerToken(power=-1.0), "power=-1.0"),
        (lambda: GNMT(alpha=-0.1), "alpha=-0.1"),
        (lambda: BeamSearch(weights="int4"), "search.weights=int4"),
        (lambda: Greedy(weights="int4"), "search.weights=int4"),
    ],
)
def test_impossible_settings_are_refused(make, named):
    with pytest.raises(UserError, match=named):
        make()


# ---- length normalisation


def test_normalisations_follow_their_equations():
    log_p, length = torch.tensor([-6.0, -2.5]), torch.tensor([4, 7])
    assert NoNormalization()(log_p, length).tolist() == [-6.0, -2.5]
    assert PerToken()(log_p, length).tolist() == [-1.5, pytest.approx(-2.5 / 7)]
    assert PerToken(power=0.5)(log_p, length).tolist() == pytest.approx([-6.0 / 2, -2.5 / 7**0.5])
    assert GNMT(alpha=0.6)(log_p, length).tolist() == pytest.approx([-6.0 * 6**0.6 / 9**0.6, -2.5 * 6**0.6 / 12**0.6])
    for score in SCORES:
        lengths = torch.arange(1, 50)
        attainable = score(torch.tensor(-3.0), lengths).expand(49)
        assert (attainable.diff() >= 0).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 500), beam=st.integers(1, 4), least=st.lists(st.integers(0, 7), min_size=3, max_size=3))
def test_no_hypothesis_is_shorter_than_it_may_be(seed, beam, least):
    """</s> counts; where the minimum is above the maximum, the maximum holds. Without a minimum nothing changes."""
    generator = Watched.random(3, 7, 6, seed=seed, eos_bonus=2.0)
    limits, least = torch.tensor([5, 6, 4]), torch.tensor(least)
    score = NoNormalization()
    found = beam_search(
        generator, generator.batch(), beam_size=beam, max_lengths=limits, min_lengths=least, score=score, nbest=beam
    )
    one = greedy(generator, generator.batch(), max_lengths=limits, min_lengths=least)
    for sentence, hypotheses in enumerate([*found, *([h] for h in one)]):
        row = sentence % 3
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) + hypothesis.finished >= min(int(least[row]), int(limits[row]))
            assert len(hypothesis.tokens) + hypothesis.finished <= int(limits[row])
    if beam == 1:
        assert [h.tokens for h in one] == [h[0].tokens for h in found]
    free = beam_search(generator, generator.batch(), beam_size=beam, max_lengths=limits, score=score)
    zero = torch.zeros(3, dtype=torch.int64)
    assert free == beam_search(
        generator, generator.batch(), beam_size=beam, max_lengths=limits, min_lengths=zero, score=score
    )


def test_a_wide_beam_finds_the_best_of_those_long_enough():
    generator = Chain.random(2, 4, 6, seed=8, eos_bonus=2.0)
    found = beam_search(
        generator,
        generator.batch(),
        beam_size=6**4,
        max_lengths=torch.tensor([4, 4]),
        min_lengths=torch.tensor([3, 4]),
        score=NoNormalization(),
    )
    for sentence, ((best,), least) in enumerate(zip(found, (3, 4), strict=True)):
        every = every_finished(generator, sentence, 4, NoNormalization())
        assert best.tokens == next(words for _, words in every if len(words) + 1 >= least)
