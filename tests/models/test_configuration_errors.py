"""What makes no sense is refused in one line that says what, where and how to mend it."""

import pytest
from support import conf
from support.small_models import ATTENDING, CELLS, PARTS, D, E, lm_options, options, some_attention

from unrolled.errors import UserError
from unrolled.models.cells import make_cell
from unrolled.models.language_model import rnn_lm
from unrolled.models.location_attention import LocationAttention
from unrolled.models.translator import translator


def refusal(build, **arguments):
    with pytest.raises(UserError) as caught:
        build(**arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ATTENDING)
def test_dot_attention_needs_equal_sizes(name):
    message = refusal(translator, **options(name, "dot", decoder_size=D, encoder_size=4))
    for word in ("attention=dot", str(D), "8", "model.decoder_size", "model.encoder_size", "attention=general"):
        assert word in message


@pytest.mark.parametrize("attention", [name for name in conf.ATTENTIONS if name != "none"])
def test_encoder_decoder_refuses_an_attention(attention):
    message = refusal(translator, **options("encoder_decoder", attention))
    for word in ("model=encoder_decoder", "attention", "model=cgru"):
        assert word in message


@pytest.mark.parametrize("name", ATTENDING)
def test_a_decoder_with_attention_needs_one(name):
    message = refusal(translator, **options(name, "none"))
    for word in ("attention=none", "attention=bahdanau", "model=encoder_decoder"):
        assert word in message


def test_filters_have_a_centre():
    message = refusal(LocationAttention, query_size=D, annotation_size=E, size=5, filters=2, kernel_size=4)
    for word in ("attention.kernel_size=4", "odd"):
        assert word in message


def test_linear_readout_cannot_be_tied():
    message = refusal(translator, **options("bahdanau", tied_target_embeddings=True))
    for word in ("model.tied_target_embeddings=true", str(E), str(D + 8), "model=cgru", "model=rnnsearch"):
        assert word in message


def test_language_model_cannot_be_tied_with_unequal_sizes():
    message = refusal(rnn_lm, **lm_options(tied_embeddings=True))
    for word in ("model.tied_embeddings=true", "model.embedding_size", str(E), "model.hidden_size", str(D)):
        assert word in message


def test_language_model_refuses_an_attention():
    message = refusal(rnn_lm, **lm_options(attention=lambda: None))
    for word in ("model=rnn_lm", "attention"):
        assert word in message


@pytest.mark.parametrize("name", PARTS)
def test_a_translator_needs_a_source(name):
    message = refusal(translator, **options(name, some_attention(name), source_vocabulary=None))
    for word in ("parallel text", "data=monolingual_text", "model=rnn_lm"):
        assert word in message


@pytest.mark.parametrize(("wrong", "near"), [("gruu", "gru"), ("lstn", "lstm"), ("than", "tanh"), ("GRU", None)])
def test_an_unknown_cell_is_refused_with_the_nearest_one(wrong, near):
    for message in (
        refusal(make_cell, name=wrong, input_size=E, hidden_size=D),
        refusal(rnn_lm, **lm_options(cell=wrong)),
        refusal(translator, **options("bahdanau", cell=wrong)),
    ):
        assert f"'{wrong}'" in message
        for word in [near] if near else CELLS:
            assert word in message
