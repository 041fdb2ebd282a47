"""Every model x attention at small different sizes, in float64, with random parameters (biases too)."""

from functools import partial
from typing import Any

import torch
from hydra.utils import get_method

from support import conf
from unrolled.conformance import cases
from unrolled.conformance.subject import randomised
from unrolled.errors import UserError
from unrolled.models import cells
from unrolled.models.language_model import rnn_lm
from unrolled.models.state import tensors_of
from unrolled.models.translator import translator

pad, words, batch_of = cases.pad, cases.words, cases.batch_of
teacher_forced, step_by_step = cases.forced, cases.stepwise
randomise = randomised
B, T, S, D, E, ENCODER = 2, 3, 5, 7, 11, 4
A, OTHER = 13, 3
SOURCE_WORDS, TARGET_WORDS = 17, 19


def flatten(state: Any) -> list[torch.Tensor]:
    """The tensors of a state."""
    return list(tensors_of(state))


def constructor(node: dict[str, Any]) -> partial:
    """The class that ``node`` of a configuration names, with its options."""
    options = {name: value for name, value in node.items() if name not in ("_target_", "_partial_")}
    return partial(get_method(node["_target_"]), **options)


def with_sizes(build: partial, size: int, other: int) -> partial:
    """``build`` with its option size = ``size``, and other sizes = ``other``."""
    sizes = [name for name in build.keywords if name.endswith("size")]
    return partial(build, **{name: size if name == "size" else other for name in sizes})


CELLS = list(cells.CELLS)
ATTENTIONS = {name: with_sizes(constructor(node), A, OTHER) for name, node in conf.ATTENTIONS.items() if node}
PARTS = {
    name: {part: constructor(config["model"][part]) for part in ("encoder", "decoder", "readout")}
    for name, config in conf.MODELS.items()
    if name not in conf.LANGUAGE_MODELS
}
"""The classes of every translator of conf/."""
WITH_CELL = [name for name, parts in PARTS.items() if "cell" in parts["decoder"].keywords]
"""The translators with a choice of the decoder's cell."""
ATTENDING = [name for name in PARTS if name not in conf.WITHOUT_ATTENTION]
"""The translators with an attention."""
# (model, attention, cell): every decoder with every attention that goes with it, WITH_CELL also with every cell
COMBINATIONS = [
    *((model, name, "gru") for model in PARTS for name in conf.ATTENTIONS if conf.go_together(model, name)),
    *((model, "gru_att", cell) for model in WITH_CELL for cell in CELLS if cell != "gru"),
]
IDS = ["-".join(combination) for combination in COMBINATIONS]


def sizes_for(attention):
    """(decoder size, encoder size): different ones, but for attentions that need D = C."""
    if attention in ATTENTIONS:
        try:
            ATTENTIONS[attention](query_size=D, annotation_size=2 * ENCODER)
        except UserError:
            return 2 * D, D
    return D, ENCODER


def start_of(attention):
    """What ``attention`` remembers before the first step."""
    decoder_size, encoder_size = sizes_for(attention)
    module = ATTENTIONS[attention](query_size=decoder_size, annotation_size=2 * encoder_size)
    annotations, valid = torch.zeros(1, S, 2 * encoder_size), torch.ones(1, S, dtype=torch.bool)
    return module.start(module.prepare(annotations, valid))


REMEMBERING = [name for name in ATTENTIONS if start_of(name) != ()]
"""The attentions with a memory."""


def some_attention(model, attention="bahdanau"):
    """``attention``, or none where ``model`` takes none."""
    return attention if model in ATTENDING else "none"


def fed(cell="gru"):
    """The Bahdanau decoder with input feeding."""
    return partial(decoder_of("bahdanau", cell), input_feeding=True)


def decoder_of(model, cell="gru"):
    """The constructor of ``model``'s decoder, with ``cell`` where there is a choice."""
    decoder = PARTS[model]["decoder"]
    return partial(decoder, cell=cell) if model in WITH_CELL else decoder


def options(model="cgru", mechanism="bahdanau", cell="gru", **changes):
    """Keyword arguments of ``translator``."""
    decoder_size, encoder_size = sizes_for(mechanism)
    return {
        "source_vocabulary": SOURCE_WORDS,
        "target_vocabulary": TARGET_WORDS,
        **PARTS[model],
        "decoder": decoder_of(model, cell),
        "attention": ATTENTIONS.get(mechanism),
        "embedding_size": E,
        "encoder_size": encoder_size,
        "encoder_layers": 1,
        "decoder_size": decoder_size,
        "embedding_dropout": 0.0,
        "annotation_dropout": 0.0,
        "readout_dropout": 0.0,
        "tied_target_embeddings": False,
        "orthogonal": False,
        **changes,
    }


def build(model="cgru", mechanism="bahdanau", cell="gru", seed=0, **changes):
    """A translator in float64 with random parameters."""
    return randomise(translator(**options(model, mechanism, cell, **changes)).double(), seed)


def lm_options(**changes):
    """Keyword arguments of ``rnn_lm``."""
    return {
        "source_vocabulary": None,
        "target_vocabulary": TARGET_WORDS,
        "attention": None,
        "cell": "gru",
        "embedding_size": E,
        "hidden_size": D,
        "layers": 2,
        "dropout": 0.0,
        "variational": False,
        "embedding_dropout": 0.0,
        "tied_embeddings": False,
        "orthogonal": False,
        **changes,
    }


def build_lm(cell="gru", seed=0, **changes):
    """A language model in float64 with random parameters."""
    return randomise(rnn_lm(**lm_options(cell=cell, **changes)).double(), seed)


def reorder(state, index):
    """Rows ``index`` of every tensor of a nested tuple."""
    return state[index] if isinstance(state, torch.Tensor) else tuple(reorder(part, index) for part in state)
