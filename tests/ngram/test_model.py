"""n-gram models against their equations in plain Python; what any history promises."""

import logging
import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support import reference_ngrams as reference

from unrolled.errors import UserError
from unrolled.ngram.additive import AddAlpha, MaximumLikelihood
from unrolled.ngram.back_off import Absolute, Katz, back_off
from unrolled.ngram.kneser_ney import KneserNey
from unrolled.ngram.model import NgramLanguageModel, ngram_lm
from unrolled.search.beam import beam_search
from unrolled.search.length import NoNormalization

PAD, BOS, EOS, UNK = range(4)
V = 11
ESTIMATORS = {
    "maximum_likelihood": (MaximumLikelihood(), reference.MaximumLikelihood),
    "add_alpha": (AddAlpha(alpha=0.3), lambda *given: reference.AddAlpha(*given, alpha=0.3)),
    "absolute": (Absolute(discount=None), reference.Absolute),
    "katz": (Katz(most=5), reference.Katz),
    "kneser_ney": (KneserNey(discounts=None), reference.KneserNey),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)

some_words = st.lists(st.integers(UNK, V - 3), max_size=6)  # V - 2 and V - 1 are seen by no training sentence
corpora = st.lists(some_words.filter(bool), min_size=1, max_size=12)
histories = st.lists(st.integers(EOS + 1, V - 1), max_size=7)


def stream(sentences):
    return torch.tensor([word for sentence in sentences for word in (BOS, *sentence, EOS)], dtype=torch.int32)


def build(sentences, order, estimator, vocabulary=V):
    model = NgramLanguageModel(vocabulary=vocabulary, order=order, estimator=estimator).double()
    model.fit(stream(sentences))
    return model


def after(model, histories):
    """p of every word after each history ``(B, V)``, and the state; all of one length."""
    state = model.zero_state(len(histories))
    for word in torch.tensor([[BOS, *history] for history in histories]).unbind(1):
        log_probs, state = model.step(word, state)
    return log_probs.exp(), state


def words(*sentences):
    longest = max(map(len, sentences))
    rows = torch.tensor([[BOS, *s, EOS] + [PAD] * (longest - len(s)) for s in sentences])
    return SimpleNamespace(target_in=rows[:, :-1], target_out=rows[:, 1:], target_out_valid=rows[:, 1:] != PAD)


def zipfian(sentences=400, seed=0):
    """Sentences with few frequent words and many rare ones, so that counts of counts are proper."""
    random = torch.Generator().manual_seed(seed)
    weights = 1 / torch.arange(1, 201, dtype=torch.float64)
    drawn = torch.multinomial(weights, sentences * 6, replacement=True, generator=random) + 3
    return drawn.view(sentences, 6).tolist()


@every_estimator
@settings(max_examples=60)
@given(corpus=corpora, order=st.integers(1, 4), history=histories)
def test_agrees_with_the_equations_and_sums_to_one_whatever_the_history(name, corpus, order, history):
    estimator, plain = ESTIMATORS[name]
    (found,), _ = after(build(corpus, order, estimator), [history])
    expected = plain(corpus, order, V).distribution(history)
    assert found[[PAD, BOS]].tolist() == [0, 0]
    assert found[2:].tolist() == pytest.approx([expected[word] for word in range(2, V)], abs=1e-10)
    assert float(found.sum()) == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("off", [0.0, 0.5])
@settings(max_examples=60)
@given(corpus=st.lists(st.lists(st.integers(UNK, 5), min_size=1, max_size=5), min_size=1, max_size=8))
def test_back_off_after_contexts_that_all_words_followed_or_that_free_nothing(off, corpus):
    """With a vocabulary so small that both happen; off = 0 discounts nothing."""

    def discounted(counts):
        return back_off(counts, lambda some, order: (some.double() - off).clamp_min(0))

    class Plain(reference.BackOff):
        def discount(self, count, length):
            return off

    for history in ([], [4], [5, 4]):
        (found,), _ = after(build(corpus, 3, discounted, 6), [history])
        expected = Plain(corpus, 3, 6).distribution(history)
        assert found[2:].tolist() == pytest.approx([expected[word] for word in range(2, 6)], abs=1e-10)
        assert float(found.sum()) == pytest.approx(1, abs=1e-10)


@every_estimator
def test_agrees_with_the_equations_on_a_text_whose_discounts_are_estimated(name, caplog):
    estimator, plain = ESTIMATORS[name]
    corpus, vocabulary = zipfian(), 206
    with caplog.at_level(logging.INFO):
        model = build(corpus, 3, estimator, vocabulary)
    assert caplog.text == "" or name == "katz"  # nothing falls back
    assert "order 2: 0.5" not in caplog.text
    assert "order 3: 0.5" not in caplog.text
    judge = plain(corpus, 3, vocabulary)
    tried = [[3, 4], [4, 3], [5, 3], [9, 3], [3, 40], [50, 51], [204, 3], [3, 204]]
    found, _ = after(model, tried)
    for row, history in zip(found, tried, strict=True):
        expected = judge.distribution(history)
        assert row[2:].tolist() == pytest.approx([expected[word] for word in range(2, vocabulary)], abs=1e-10)


def test_kneser_ney_by_hand():
    """Two sentences, a b and a c, bigrams; D = 1/2, 1, 3/2; |V| = 5: </s>, <unk>, a, b, c.

    Different words before a, b, c, </s>: 1, 1, 1, 2, of 5. lambda() = (3/2 + 1) / 5 = 1/2: p(a) = p(b) = p(c) =
    1/10 + 1/2 x 1/5 = 1/5, p(</s>) = 1/5 + 1/10, p(<unk>) = 1/10. lambda(a) = (1/2 + 1/2) / 2, lambda(<s>) = 1/2.
    """
    a, b, c = 4, 5, 6
    model = build([[a, b], [a, c]], 2, KneserNey(discounts=[0.5, 1.0, 1.5]), 7)
    found, _ = after(model, [[a], [b], [UNK]])
    assert found[0, 2:].tolist() == pytest.approx([0.15, 0.05, 0.1, 0.25 + 0.1, 0.25 + 0.1])  # </s> <unk> a b c
    assert found[1, 2:].tolist() == pytest.approx([0.5 + 0.5 * 0.3, 0.05, 0.1, 0.1, 0.1])
    assert found[2, 2:].tolist() == pytest.approx([0.3, 0.1, 0.2, 0.2, 0.2])  # as after nothing
    assert after(model, [[]])[0][0, a].item() == pytest.approx((2 - 1) / 2 + 0.5 * 0.2)


@every_estimator
@pytest.mark.parametrize("order", [1, 2, 5])
def test_given_words_are_looked_up_as_step_by_step(name, order):
    model = build([[3, 4, 5, 4], [4, 5, 4, 6], [6]], order, ESTIMATORS[name][0])
    batch = words([4, 5, 4, 6, 7, 3, 4], [], [9, 4, 5])
    found, last = model.word_log_probs(batch, model.zero_state(3))
    state = model.zero_state(3)
    for place, read in enumerate(batch.target_in.unbind(1)):
        log_probs, state = model.step(read, state)
        one = log_probs.gather(1, batch.target_out[:, place, None]).squeeze(1)
        torch.testing.assert_close(found[:, place], one.masked_fill(~batch.target_out_valid[:, place], 0.0))
    assert torch.equal(last[0], state[0])
    assert found[~batch.target_out_valid].eq(0).all()
    halves = [SimpleNamespace(**{n: v[:, part] for n, v in vars(batch).items()}) for part in (slice(3), slice(3, None))]
    first, middle = model.word_log_probs(halves[0], model.zero_state(3))
    second, _ = model.word_log_probs(halves[1], middle)
    torch.testing.assert_close(torch.cat([first, second], dim=1), found)


@every_estimator
def test_a_sentence_in_continuous_text_is_scored_as_alone(name):
    """Rows that continue after </s> with the next <s>: no n-gram goes over the border."""
    model = build([[4, 5, 4], [5, 4, 6], [6, 4]], 4, ESTIMATORS[name][0])
    alone, _ = model.word_log_probs(words([5, 4, 6]), model.zero_state(1))
    read, said = torch.tensor([[BOS, 6, 4, BOS, 5, 4, 6]]), torch.tensor([[6, 4, EOS, 5, 4, 6, EOS]])
    batch = SimpleNamespace(target_in=read, target_out=said, target_out_valid=said != PAD)
    joined, _ = model.word_log_probs(batch, model.zero_state(1))
    torch.testing.assert_close(joined[:, 3:], alone)


def test_maximum_likelihood_gives_nothing_to_what_was_not_seen():
    model = build([[4, 5], [4, 6]], 2, MaximumLikelihood())
    found, _ = after(model, [[4], [7]])
    assert found[0, [4, 5, 6]].tolist() == [0, 0.5, 0.5]
    assert found[1, 7] == 0
    log_probs, _ = model.word_log_probs(words([4, 4]), model.zero_state(1))
    assert log_probs[0].tolist() == [0.0, -math.inf, -math.inf]


def test_longer_n_grams_than_any_sentence_change_nothing():
    corpus = [[4], [5], [4]]
    for name, (estimator, _) in ESTIMATORS.items():
        if name != "kneser_ney":  # whose counts below the longest n-grams are others
            found = [after(build(corpus, order, estimator), [[4]])[0] for order in (3, 6)]
            torch.testing.assert_close(*found)


def test_before_it_is_filled_every_word_is_as_likely():
    model = NgramLanguageModel(vocabulary=V, order=3, estimator=None)
    found, _ = after(model, [[4, 5]])
    assert found[0, 2:].tolist() == pytest.approx([1 / (V - 2)] * (V - 2))
    with pytest.raises(UserError, match="estimator=null"):
        model.fit(stream([[4]]))


def test_weights_fill_a_model_of_other_counts():
    full, empty = (NgramLanguageModel(vocabulary=V, order=3, estimator=KneserNey(discounts=None)) for _ in range(2))
    full.fit(stream([[4, 5, 4], [6]]))
    empty.fit(stream([[7]]))
    empty.load_state_dict(full.state_dict())
    assert torch.equal(after(full, [[4, 5]])[0], after(empty, [[4, 5]])[0])
    assert empty.sizes() == full.sizes()


def test_a_beam_finds_the_likeliest_sentence():
    """Kneser-Ney prefers what it has read; <s>, padding and impossible words do no harm."""
    for estimator in (KneserNey(discounts=None), MaximumLikelihood()):
        model = build([[4, 5, 6]] * 3 + [[4, 7]], 3, estimator)
        (found,) = beam_search(
            model,
            SimpleNamespace(target=torch.zeros(1, 1)),
            beam_size=4,
            max_lengths=torch.tensor([8]),
            score=NoNormalization(),
        )
        assert found[0].tokens == [4, 5, 6]
        log_probs, _ = model.word_log_probs(words([4, 5, 6]), model.zero_state(1))
        assert found[0].log_probability == pytest.approx(float(log_probs.sum()), abs=1e-5)


def test_fallbacks_are_told(caplog):
    with caplog.at_level(logging.INFO):
        for name in ("absolute", "katz", "kneser_ney"):
            build([[4, 5]], 2, ESTIMATORS[name][0])
    assert caplog.text.count("order 2") >= 3
    assert "D = 0.5 is used" in caplog.text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AddAlpha(alpha=0), "alpha=0"),
        (lambda: AddAlpha(alpha="x"), "alpha=x"),
        (lambda: Absolute(discount=1), "discount=1"),
        (lambda: Katz(most=1), "most=1"),
        (lambda: KneserNey(discounts=[0.5, 1.0]), "three numbers"),
        (lambda: KneserNey(discounts=[0.5, 2.5, 1.0]), "three numbers"),
        (lambda: KneserNey(discounts=0.5), "three numbers"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"order": 0}, "order=0"), ({"order": 7}, "1 to 6"), ({"attention": object()}, "attention")],
)
def test_a_model_that_cannot_be_is_refused(changes, message):
    options = {"source_vocabulary": None, "target_vocabulary": V, "attention": None, "order": 3, "estimator": None}
    with pytest.raises(UserError, match=message):
        ngram_lm(**options | changes)
