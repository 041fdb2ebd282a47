"""Several trained language models as one: its weights, its name, and which may be mixed."""

import math

import pytest
import torch

from unrolled.errors import UserError
from unrolled.inference.mixing import mixture
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.models.feedforward_lm import feedforward_lm
from unrolled.text.tokenizer import WordTokenizer


def trained(name, seed, words="abcd", continuous=False):
    torch.manual_seed(seed)
    sizes = {"source_vocabulary": None, "target_vocabulary": 4 + len(words), "embedding_size": 3, "hidden_size": 5}
    model = feedforward_lm(attention=None, order=3, direct=True, dropout=0.0, **sizes).double().eval()
    tokenizer = WordTokenizer(list(words))
    return TrainedLanguageModel(model, tokenizer, torch.device("cpu"), 99, name=name, continuous=continuous)


MODELS = [trained("one", 1), trained("other", 2)]


def test_probabilities_are_weighted_by_what_is_given_made_to_sum_to_one():
    mixed = mixture(MODELS, [0.3, 0.7005])  # interpolate.py rounds
    (both,), (one,), (other,) = (model.score(["a d a"]) for model in (mixed, *MODELS))
    for (piece, log_p), (_, first), (_, second) in zip(both, one, other, strict=True):
        expected = (0.3 * math.exp(first) + 0.7005 * math.exp(second)) / 1.0005
        assert math.exp(log_p) == pytest.approx(expected, rel=1e-6), piece
    assert mixed.name == "one+other"


@pytest.mark.parametrize(("kinds", "kind"), [([False, False], False), ([True, True], True), ([True, False], None)])
def test_a_mixture_reads_text_as_its_models_were_trained_if_they_agree(kinds, kind):
    models = [trained(str(seed), seed, continuous=continuous) for seed, continuous in enumerate(kinds)]
    assert mixture(models, [0.5, 0.5]).continuous is kind


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1], "a weight for each of the 2 runs"),
        (None, "mixture=None: give a weight"),
        ([1.5, -0.5], "give numbers that are not negative"),
        ([1, "half"], "give numbers"),
        ([0.5, 0.502], "the weights sum to 1.002"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, said):
    with pytest.raises(UserError, match=said):
        mixture(MODELS, weights)


def test_models_of_other_words_are_not_mixed():
    with pytest.raises(UserError, match="third has another vocabulary than one"):
        mixture([*MODELS, trained("third", 3, words="abcx")], [0.5, 0.25, 0.25])
