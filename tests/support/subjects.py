"""What conf/ offers, as subjects of promises: a new file is tried the day it appears."""

from dataclasses import replace
from functools import partial

from support import conf
from support.small_models import CELLS, COMBINATIONS, IDS
from unrolled.configuration.slots import instantiate
from unrolled.conformance.subject import Subject


def subject(model: str, attention: str, **options) -> Subject:
    """The choices ``model`` and ``attention`` of conf/, with other ``options`` of the model."""
    build = instantiate(conf.MODELS[model]["model"])
    return Subject(partial(build, **options), instantiate(conf.ATTENTIONS[attention]) or None)


def with_cell(model: str, attention: str, cell: str) -> Subject:
    """The same with ``cell``, where the decoder has a choice."""
    made = subject(model, attention)
    decoder = made.model.keywords["decoder"]
    if "cell" not in decoder.keywords:
        return made
    return replace(made, model=partial(made.model, decoder=partial(decoder, cell=cell)))


def with_attention(attention: partial, model: str = "cgru") -> Subject:
    """The choice ``model`` of conf/ with any attention."""
    return replace(subject(model, "bahdanau"), attention=attention)


SUBJECTS = {name: with_cell(*combination) for name, combination in zip(IDS, COMBINATIONS, strict=True)}
SUBJECTS |= {f"rnn_lm-{cell}": subject("rnn_lm", "none", cell=cell) for cell in CELLS}
FED = subject("bahdanau", "gru_att")
FED = replace(FED, model=partial(FED.model, decoder=partial(FED.model.keywords["decoder"], input_feeding=True)))
SUBJECTS["bahdanau-gru_att-input_feeding"] = FED
SUBJECTS["feedforward_lm"] = subject("feedforward_lm", "none")
