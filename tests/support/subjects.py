"""What conf/ offers, as subjects of promises: a new file is tried the day it appears."""

from dataclasses import replace
from functools import partial

from support import conf
from support.small_models import CELLS, COMBINATIONS, IDS, PARTS
from unrolled.configuration.slots import instantiate
from unrolled.conformance.subject import Subject
from unrolled.models.decoder import Decoder, DL4MTDecoder


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


def with_decoder(model: str, attention: str, kind: type[Decoder] | None = None, **options) -> Subject:
    """The same with a decoder of another ``kind``, or with other ``options`` of it."""
    made = subject(model, attention)
    decoder = partial(made.model.keywords["decoder"] if kind is None else kind, **options)
    return replace(made, model=partial(made.model, decoder=decoder))


def with_attention(attention: partial, model: str = "cgru") -> Subject:
    """The choice ``model`` of conf/ with any attention."""
    return replace(subject(model, "bahdanau"), attention=attention)


FEEDING = [name for name, parts in PARTS.items() if "input_feeding" in parts["decoder"].keywords]
SUBJECTS = {name: with_cell(*combination) for name, combination in zip(IDS, COMBINATIONS, strict=True)}
SUBJECTS |= {f"{model}-gru_att-input_feeding": with_decoder(model, "gru_att", input_feeding=True) for model in FEEDING}
SUBJECTS["cgru-bahdanau-dl4mt"] = with_decoder("cgru", "bahdanau", DL4MTDecoder)  # not in conf/: for imported runs
for model in sorted(conf.NEURAL & conf.LANGUAGE_MODELS):
    if "cell" in conf.MODELS[model]["model"]:
        SUBJECTS |= {f"{model}-{cell}": subject(model, "none", cell=cell) for cell in CELLS}
    else:
        SUBJECTS[model] = subject(model, "none")
