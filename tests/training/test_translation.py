"""The objective of translators, without a trainer: which lines are scored against which, and what is refused."""

from types import SimpleNamespace

import pytest
import torch
from support.small_models import SOURCE_WORDS, TARGET_WORDS, build, words

from unrolled.data.batch import make_batch
from unrolled.errors import UserError
from unrolled.metrics.translation_scores import translation_scores
from unrolled.search.generator import Hypothesis
from unrolled.search.settings import Greedy
from unrolled.training.schedule import constant
from unrolled.training.translation import Translation

REFERENCES = ["the dog", "a small cat sleeps", "a dog"]


def translation(**changes):
    options = {
        "model": build().float(),
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        "schedule": constant,
        "label_smoothing": 0.3,
        "monitor": "val/bleu",
        "mode": "max",
        "decode": lambda ids: " ".join(map(str, ids)),
        "references": {"val": REFERENCES, "test": REFERENCES},
        "words": {"val": [([0, 1, 2], [0, 1, 2])] * 3},
        "gold": {"val": None, "test": None},
        "bleu_tokenize": "none",
        "bleu_lowercase": False,
        "validation_search": Greedy(),
        "test_search": Greedy(),
    }
    return Translation(**options | changes)


def batch(lengths, index):
    source, target = (words(lengths, vocabulary) for vocabulary in (SOURCE_WORDS, TARGET_WORDS))
    return make_batch(source, target, index)


def logged(module):
    figures = {}
    module.log = lambda name, value, **_: figures.update({name: float(value)})
    module._trainer = SimpleNamespace(world_size=1)
    return figures


def test_each_line_is_scored_against_its_own_reference_whatever_the_order_of_batches():
    said = {0: [4], 1: [5, 6], 2: [7]}
    text = {(4,): "the dog", (5, 6): "a small cat sleeps", (7,): "a cat"}

    def search(_, given):
        return [Hypothesis(said[line], 0.0, 0.0, finished=True) for line in given.index.tolist()]

    module = translation(decode=lambda ids: text[tuple(ids)], validation_search=search).eval()
    figures = logged(module)
    module.on_validation_epoch_start()
    with torch.no_grad():
        for number, index in enumerate(([2, 0], [1])):
            module.validation_step(batch([3] * len(index), index), number)
    module.on_validation_epoch_end()
    expected = translation_scores(["the dog", "a small cat sleeps", "a cat"], REFERENCES, tokenize="none")
    assert figures["val/bleu"] == pytest.approx(expected.bleu)
    assert figures["val/chrf"] == pytest.approx(expected.chrf)
    assert module.lines["val"] == [0, 1, 2]
    assert module.hypotheses["val"] == ["the dog", "a small cat sleeps", "a cat"]
    assert figures["merit"] == figures["val/bleu"]
    assert "val/ter" not in figures


def test_a_source_without_words_has_an_empty_translation_as_in_translate_py():
    def search(_, given):
        return [Hypothesis([4], 0.0, 0.0, finished=True) for _ in given.index.tolist()]

    given = batch([3, 3, 3], [0, 1, 2])
    of_pieces = [([0, 1, 2], [0, 1, 2]), ([], [0, 1, 2]), ([-1, -1, -1], [0, 1, 2])]
    module = translation(words={"val": of_pieces}, validation_search=search).eval()
    module._attended = lambda *_: None  # these sources are longer than their words say
    logged(module)
    module.on_validation_epoch_start()
    with torch.no_grad():
        module.validation_step(given, 0)
    module.on_validation_epoch_end()
    assert module.hypotheses["val"] == ["4", "", ""]


def test_error_rates_are_those_of_the_lines_where_symbols_are_known():
    def search(_, given):
        return [Hypothesis([line], 0.0, 0.0, finished=True) for line in given.index.tolist()]

    text = ["the dog", "a small cat", "a cat"]
    for symbols in ("word", None):
        module = translation(decode=lambda ids: text[ids[0]], validation_search=search, symbols=symbols).eval()
        figures = logged(module)
        module.on_validation_epoch_start()
        with torch.no_grad():
            module.validation_step(batch([3, 3, 3], [0, 1, 2]), 0)
        module.on_validation_epoch_end()
        rates = {name: value for name, value in figures.items() if name.endswith("error_rate")}
        wanted = {"val/word_error_rate": 200 / 3, "val/symbol_error_rate": 100 * 2 / 8}
        assert rates == (pytest.approx(wanted) if symbols else {})
    with pytest.raises(
        UserError, match=r"monitor=val/word_error_rate: errors in which symbols\? Give data.*another figure"
    ):
        translation(monitor="val/word_error_rate", mode="min")


def test_smoothing_is_for_training_alone():
    module, given = translation(), batch([3, 4], [0, 1])
    smoothed = module.train().loss(given)
    assert float(smoothed.objective.detach()) != float(smoothed.negative_log_likelihood)
    with torch.no_grad():
        plain = module.eval().loss(given)
    assert float(plain.objective) == float(plain.negative_log_likelihood)
    assert float(plain.negative_log_likelihood) == pytest.approx(float(smoothed.negative_log_likelihood), rel=1e-5)


def test_a_penalty_changes_the_objective_and_not_the_likelihood():
    plain, penalised, given = translation(), translation(doubly_stochastic=2.0), batch([3, 4], [0, 1])
    figures = logged(penalised)
    without, with_it = plain.train().loss(given), penalised.train().loss(given)
    assert float(with_it.negative_log_likelihood) == float(without.negative_log_likelihood)
    added = float((with_it.objective - without.objective).detach())
    assert added == pytest.approx(
        2 * figures["train/doubly_stochastic"] * given.target_out_valid.sum().item(), rel=1e-4
    )
    assert added > 0


def test_batches_without_a_source_and_aer_without_gold_are_refused():
    with pytest.raises(TypeError, match="source"):
        translation().loss(make_batch(None, [[4, 5]], [0]))
    with pytest.raises(UserError, match=r"val_alignment=FILE"):
        translation(monitor="val/aer", mode="min")
