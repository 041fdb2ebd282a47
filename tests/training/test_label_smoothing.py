"""Smoothed labels train; what is reported at evaluation is the likelihood of the words."""

import pytest
import torch
from support.small_models import build, build_lm

from unrolled.data.batch import make_batch
from unrolled.search.settings import Greedy
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.schedule import constant
from unrolled.training.translation import Translation

SHARED = {"optimizer": torch.optim.SGD, "schedule": constant, "label_smoothing": 0.3, "mode": "min"}


def translation():
    nothing = {"val": None, "test": None}
    return Translation(
        model=build("cgru", "bahdanau").float(),
        **SHARED,
        monitor="val/loss",
        doubly_stochastic=0.0,
        decode=str,
        references=nothing,
        words=nothing,
        gold=nothing,
        supervision=None,
        bleu_tokenize="none",
        bleu_lowercase=False,
        validation_search=Greedy(),
        test_search=Greedy(),
    )


def language_modeling():
    return LanguageModeling(model=build_lm("gru").float(), **SHARED, monitor="val/loss")


@pytest.mark.parametrize(("module", "source"), [(translation, [[4, 5], [6]]), (language_modeling, None)])
def test_labels_are_smoothed_in_training_alone(module, source):
    module, batch = module(), make_batch(source, [[5, 4, 6], [4]], [0, 1])
    with torch.no_grad():
        trained, evaluated = module.train().loss(batch), module.eval().loss(batch)
    assert float(evaluated.objective) == pytest.approx(float(evaluated.negative_log_likelihood))
    assert float(trained.negative_log_likelihood) == pytest.approx(float(evaluated.negative_log_likelihood))
    assert float(trained.objective) != pytest.approx(float(trained.negative_log_likelihood), rel=1e-4)
