"""Initial values: a model with one matrix for embeddings and output begins as one with two."""

from functools import partial

import pytest
import torch
from support import conf
from support.small_models import PARTS, lm_options, options

from unrolled.models.cells import CELLS
from unrolled.models.language_model import rnn_lm
from unrolled.models.readout import LinearReadout
from unrolled.models.translator import translator

SIZE, WORDS = 64, 300
TIEABLE = [name for name, parts in PARTS.items() if parts["readout"].func is not LinearReadout]


def deviations(build, embedding, output, *read_by):
    """Standard deviations of the logits of random vectors and of what is read of all words, means of ten beginnings."""
    measured = []
    for seed in range(10):
        torch.manual_seed(seed)
        model = build()
        words = model.get_submodule(embedding).weight[4:]
        logits = model.get_submodule(output)(torch.randn(100, SIZE))
        read = [model.get_submodule(name).project(words) for name in read_by]
        measured.append([values.std().item() for values in (logits, *read)])
    return torch.tensor(measured).mean(dim=0)


@pytest.mark.parametrize("model", TIEABLE)
def test_a_tied_translator_begins_as_an_untied_one(model):
    def begun(tied):
        attention = "bahdanau" if conf.go_together(model, "bahdanau") else "none"
        sizes = {"target_vocabulary": WORDS, "embedding_size": SIZE, "tied_target_embeddings": tied}
        build = partial(translator, **options(model, attention, **sizes))
        return deviations(build, "target_embedding", "readout.output", "decoder", "readout")

    assert torch.allclose(begun(tied=True), begun(tied=False), rtol=0.05)


@pytest.mark.parametrize("cell", CELLS)
def test_a_tied_language_model_begins_as_an_untied_one(cell):
    def begun(tied):
        sizes = {"target_vocabulary": WORDS, "embedding_size": SIZE, "hidden_size": SIZE, "tied_embeddings": tied}
        return deviations(partial(rnn_lm, **lm_options(cell=cell, **sizes)), "embedding", "output", "layers.0")

    assert torch.allclose(begun(tied=True), begun(tied=False), rtol=0.05)
