"""Initial values: what reads an embedding is larger, and one matrix for embeddings and output begins as two."""

from functools import partial

import pytest
import torch
from support import conf
from support.small_models import PARTS, lm_options, options
from torch import nn

from unrolled.models.cells import CELLS
from unrolled.models.encoder import BidirectionalGRU, BidirectionalGRUResetBefore, Encoder
from unrolled.models.feedforward_lm import feedforward_lm
from unrolled.models.initialise import matrices_that_read
from unrolled.models.language_model import rnn_lm
from unrolled.models.readout import LinearReadout
from unrolled.models.translator import translator

SIZE, WORDS = 64, 300
TIEABLE = [name for name, parts in PARTS.items() if parts["readout"].func is not LinearReadout]


def translator_of(model, **more):
    attention = "bahdanau" if conf.go_together(model, "bahdanau") else "none"
    sizes = {"target_vocabulary": WORDS, "source_vocabulary": WORDS, "embedding_size": SIZE}
    return partial(translator, **options(model, attention, **sizes) | more)


def largest(matrix):
    """The largest number of a matrix, as a multiple of the largest that Glorot's rule allows."""
    return matrix.abs().max().item() / (6 / sum(matrix.shape)) ** 0.5


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
        build = translator_of(model, tied_target_embeddings=tied)
        return deviations(build, "target_embedding", "readout.output", "decoder", "readout")

    assert torch.allclose(begun(tied=True), begun(tied=False), rtol=0.05)


@pytest.mark.parametrize("cell", CELLS)
def test_a_tied_language_model_begins_as_an_untied_one(cell):
    def begun(tied):
        sizes = {"target_vocabulary": WORDS, "embedding_size": SIZE, "hidden_size": SIZE, "tied_embeddings": tied}
        return deviations(partial(rnn_lm, **lm_options(cell=cell, **sizes)), "embedding", "output", "layers.0")

    assert torch.allclose(begun(tied=True), begun(tied=False), rtol=0.05)


@pytest.mark.parametrize("model", PARTS)
def test_what_a_translator_reads_of_a_word_is_between_a_vector_of_norm_1_and_units_of_variance_1(model):
    torch.manual_seed(0)
    built = translator_of(model)()
    words = built.target_embedding.weight[4:]
    assert words.norm(dim=1).mean().item() == pytest.approx(1, rel=0.02)
    for part in (built.decoder, built.readout):
        readers = matrices_that_read(built, SIZE, [part.project])
        assert bool(readers) == (part.project(words).numel() > 0)  # not every readout reads words
        for matrix in readers:
            assert largest(matrix) == pytest.approx(SIZE**0.25, rel=0.05)


@pytest.mark.parametrize(
    ("encoder", "names"),
    [
        (BidirectionalGRU, {"gru.weight_ih_l0", "gru.weight_ih_l0_reverse"}),
        (BidirectionalGRUResetBefore, {"forward_cells.0.input.weight", "backward_cells.0.input.weight"}),
    ],
)
@pytest.mark.parametrize("layers", [1, 2])
def test_only_the_first_layer_of_an_encoder_reads_words(encoder, names, layers):
    torch.manual_seed(0)
    built = translator_of("cgru", encoder=partial(encoder), encoder_layers=layers)().encoder
    for name, matrix in built.named_parameters():
        if "weight_ih" in name or "input.weight" in name:
            assert largest(matrix) == pytest.approx(SIZE**0.25 if name in names else 1, rel=0.05), name


class OwnEncoder(Encoder):
    """Two maps that read words, one only with others; a map and a layer that read something else."""

    def __init__(self, *, embedding_size, size, layers, dropout):
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.skip = nn.Linear(embedding_size, embedding_size)
        self.window = nn.Linear(2 * embedding_size, embedding_size)
        self.last = nn.Linear(embedding_size, 2 * size)
        self.above = nn.LSTM(embedding_size, embedding_size, batch_first=True)

    def forward(self, embeddings, lengths):
        both = self.window(torch.cat([embeddings, embeddings], dim=-1)) + self.skip(self.skip(embeddings))
        return self.last(self.above(self.dropout(both))[0])


def test_what_reads_words_in_an_encoder_of_ones_own_is_found_and_draws_no_random_number():
    encoder = OwnEncoder(embedding_size=SIZE, size=8, layers=1, dropout=0.0)
    before = torch.get_rng_state()
    read = matrices_that_read(encoder, SIZE, [lambda word: encoder(word.unsqueeze(0), torch.ones(1))])
    assert torch.equal(torch.get_rng_state(), before)
    assert encoder.training
    assert {id(matrix) for matrix in read} == {id(encoder.skip.weight), id(encoder.window.weight)}
    layer = nn.LSTM(SIZE, 8, num_layers=2, bidirectional=True)
    names = {id(matrix): name for name, matrix in layer.named_parameters()}
    read = matrices_that_read(layer, SIZE, [layer])
    assert [names[id(matrix)] for matrix in read] == ["weight_ih_l0", "weight_ih_l0_reverse"]


def test_the_hidden_layer_of_a_feedforward_language_model_reads_words():
    torch.manual_seed(0)
    sizes = {"order": 3, "embedding_size": SIZE, "hidden_size": 50, "direct": True, "dropout": 0.1}
    model = feedforward_lm(source_vocabulary=None, target_vocabulary=WORDS, attention=None, **sizes)
    assert largest(model.hidden.weight) == pytest.approx(SIZE**0.25, rel=0.05)
    assert model.output.weight.std().item() == pytest.approx(model.output.in_features**-0.5, rel=0.05)
