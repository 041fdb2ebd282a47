"""A search among few words: what it finds, and what it says of it."""

import pytest
import torch
from support.generators import EOS
from support.small_models import SOURCE_WORDS, TARGET_WORDS, S, batch_of, build, build_lm, words

from unrolled.data.batch import Shared
from unrolled.errors import UserError
from unrolled.search.ensemble import Ensemble, geometric_mean
from unrolled.search.forced import score_words
from unrolled.search.settings import BeamSearch, Greedy, is_exact
from unrolled.search.shortlist import Shortlist

SOURCES = words([3, S, 2], SOURCE_WORDS, seed=1)
ALL = Shortlist(torch.full((SOURCE_WORDS, 1), -1), torch.arange(TARGET_WORDS))
KINDS = [Greedy, *(lambda beam=beam, **options: BeamSearch(beam_size=beam, **options) for beam in (1, 3))]


def few(seed=1):
    random = torch.Generator().manual_seed(seed)
    return Shortlist(torch.randint(-1, TARGET_WORDS, (SOURCE_WORDS, 2), generator=random), torch.tensor([7]))


def limits(**options):
    return {"max_length_ratio": 1.0, "max_length_extra": 3, **options}


def log_probability(generator, batch, hypotheses):
    rows = [[1, *h.tokens, EOS] for h in hypotheses]
    target = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    scores = score_words(generator, batch, target, torch.tensor([len(row) for row in rows]))
    return [sum(row if h.finished else row[:-1]) for row, h in zip(scores, hypotheses, strict=True)]


def test_its_words_are_those_of_the_batch_and_the_frequent_ones():
    likely = torch.full((SOURCE_WORDS, 2), -1)
    likely[5], likely[9], likely[4] = torch.tensor([8, 6]), torch.tensor([11, -1]), torch.tensor([18, 17])
    found = Shortlist(likely, torch.tensor([12, 8])).words(torch.tensor([[5, 9, 2], [9, 2, 0]]))
    assert found.tolist() == [0, 1, 2, 3, 6, 8, 11, 12]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attention", ["bahdanau", "gru_att"])
def test_with_all_words_it_changes_nothing(kind, attention):
    model = build("cgru", attention, seed=5)
    plain, among = kind(**limits())(model, batch_of(SOURCES)), kind(**limits(shortlist=ALL))(model, batch_of(SOURCES))
    assert [h.tokens for h in among] == [h.tokens for h in plain]
    for a, b in zip(among, plain, strict=True):
        assert (a.score, a.log_probability) == pytest.approx((b.score, b.log_probability))
        assert a.finished == b.finished
    assert "forward" not in vars(model.readout.output)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_words_of_the_list_and_their_probability_among_all_words_is_known_on_demand(kind, seed):
    model, shortlist, batch = build("cgru", "gru_att", seed=seed), few(seed), batch_of(SOURCES)
    search = kind(**limits(shortlist=shortlist))
    assert not is_exact(search)
    found = search(model, batch)
    allowed = shortlist.words(batch.source).tolist()
    assert len(allowed) < TARGET_WORDS
    assert {token for h in found for token in h.tokens} <= set(allowed)
    assert any(h.tokens for h in found)
    among_all = log_probability(model, batch, found)
    assert all(few >= every for few, every in zip([h.log_probability for h in found], among_all, strict=True))
    again = [h for (h,) in search.with_forced_scores(model, batch, [[h] for h in found])]
    assert [h.tokens for h in again] == [h.tokens for h in found]
    assert [h.log_probability for h in again] == pytest.approx(among_all)


def test_an_n_best_list_is_sorted_by_its_new_scores():
    model, batch = build("cgru", "bahdanau", seed=2), batch_of(SOURCES)
    search = BeamSearch(beam_size=4, **limits(shortlist=few()))
    lists = search.with_forced_scores(model, batch, search.nbest(model, batch, 4))
    for place in range(min(map(len, lists))):
        best = [found[place] for found in lists]
        assert [h.log_probability for h in best] == pytest.approx(log_probability(model, batch, best))
        assert [h.score for h in best] == pytest.approx(
            [h.log_probability / (len(h.tokens) + h.finished) for h in best]
        )
    assert all(found == sorted(found, key=lambda h: (not h.finished, -h.score)) for found in lists)


def test_a_penalty_stays_in_the_score():
    model, batch = build("cgru", "bahdanau", seed=2), batch_of(SOURCES)
    options = limits(coverage_penalty=0.7)
    plain = BeamSearch(beam_size=3, **options)(model, batch)
    among = BeamSearch(beam_size=3, **options, shortlist=ALL)(model, batch)
    assert [h.tokens for h in among] == [h.tokens for h in plain]
    assert [h.score for h in among] == pytest.approx([h.score for h in plain])


def test_an_ensemble_searches_among_few_words_too():
    members = [build("cgru", "bahdanau", seed=seed) for seed in (1, 2)]
    batch = batch_of(SOURCES)
    together, shared = Ensemble(members, geometric_mean), Shared((batch, batch))
    for shortlist in (ALL, few()):
        search = BeamSearch(beam_size=3, **limits(shortlist=shortlist))
        lists = search.with_forced_scores(together, shared, search.nbest(together, shared, 1))
        found = [h for (h,) in lists]
        assert [h.log_probability for h in found] == pytest.approx(log_probability(together, shared, found))
    assert {token for h in found for token in h.tokens} <= set(few().words(batch.source).tolist())


def test_language_models_are_refused():
    with pytest.raises(UserError, match=r"search.shortlist and search.language_model"):
        BeamSearch(shortlist=ALL, language_model=build_lm())
    with pytest.raises(UserError, match="for translators"):
        BeamSearch(shortlist=ALL)(build_lm(), batch_of(SOURCES))
