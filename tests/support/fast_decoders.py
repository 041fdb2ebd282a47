"""Decoders whose loop has a hand-written backward pass, each with each such attention; in float64."""

from functools import partial

import pytest
import torch

from support.small_models import A, D, E, randomise
from unrolled.models.attention import (
    BahdanauAttention,
    CoverageAttention,
    GeneralAttention,
    GRUAttention,
    PooledGRUAttention,
)
from unrolled.models.decoder import BahdanauDecoder, CGRUDecoder, DL4MTDecoder, RNNsearchDecoder
from unrolled.models.location_attention import LocationAttention

C, COVERAGE = 8, 2
FAST_ATTENTIONS = {
    "bahdanau": BahdanauAttention,
    "general": lambda size, **sizes: GeneralAttention(**sizes),
    "gru_att": GRUAttention,
    "gru_att_pooled": PooledGRUAttention,
    "coverage": partial(CoverageAttention, coverage_size=COVERAGE),
    "location": partial(LocationAttention, filters=2, kernel_size=3),
}
FAST_DECODERS = {
    "cgru": (CGRUDecoder, {}),
    "dl4mt": (DL4MTDecoder, {}),
    "rnnsearch": (RNNsearchDecoder, {}),
    "bahdanau-gru": (BahdanauDecoder, {"cell": "gru"}),
    "bahdanau-gru_reset_after": (BahdanauDecoder, {"cell": "gru_reset_after"}),
    "bahdanau-tanh": (BahdanauDecoder, {"cell": "tanh"}),
}
every_fast_pair = pytest.mark.parametrize(
    ("name", "attention"), [(name, attention) for name in FAST_DECODERS for attention in FAST_ATTENTIONS]
)


def build(name, attention, *, embedding=E, annotation=C, size=D, attention_size=A, seed=40):
    mechanism = FAST_ATTENTIONS[attention](query_size=size, annotation_size=annotation, size=attention_size)
    decoder, extra = FAST_DECODERS[name]
    decoder = decoder(embedding_size=embedding, annotation_size=annotation, size=size, attention=mechanism, **extra)
    return randomise(decoder.double(), seed)


def normal(*shape, seed=41):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def mask(lengths, length):
    return torch.arange(length) < torch.tensor(lengths).unsqueeze(1)
