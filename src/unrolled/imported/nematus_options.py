"""The options that Nematus writes with a model, model.npz.json: whether it is a model that we can express."""

import json
from pathlib import Path
from typing import Any

from unrolled.errors import UserError
from unrolled.files import reading

ONLY: dict[str, Any] = {
    "model_type": "rnn",
    "encoder": "gru",
    "decoder": "gru_cond",
    "enc_depth": 1,
    "dec_depth": 1,
    "enc_recurrence_transition_depth": 1,
    "dec_base_recurrence_transition_depth": 2,
    "factors": 1,
    "layer_normalisation": False,
    "weight_normalisation": False,
    "output_hidden_activation": "tanh",
}
"""What these options must be where they are given; what is absent has this value."""
RESCALED = 0.1
"""From this ``model_version`` on, Nematus rescales dropout's output in training; before, like dl4mt, in translation."""
NEMATUS_DROPOUT = ("dropout_embedding", "dropout_hidden", "dropout_source", "dropout_target")


def read_options(path: Path) -> dict[str, Any]:
    """The options in ``path``, none if there is no such file. UserError: damaged, or of a model unlike ours."""
    if not path.exists():
        return {}
    with reading(path, "put the file that Nematus wrote there back, or remove it"):
        options = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(options, dict):
            raise ValueError("these are no options")
    for name, value in ONLY.items():
        if options.get(name, value) != value:
            raise UserError(
                f"{path}: {name}={json.dumps(options[name])}: only {name}={json.dumps(value)} can be imported"
            )
    return options


def output_scale(options: dict[str, Any], use_dropout: bool | None, where: Path) -> float:
    """What dl4mt multiplies the readout's hidden layer by when it translates: 0.5 if trained with dropout, else 1.

    ``use_dropout``: dl4mt's option of this name, None for that of ``options``. UserError: an early Nematus' dropout.
    """
    chosen = bool(options.get("use_dropout", False)) if use_dropout is None else use_dropout
    if not chosen:
        return 1.0
    rates = [options[name] for name in NEMATUS_DROPOUT if name in options]
    if not rates:
        return 0.5
    if options.get("model_version", 0) < RESCALED and any(rates):
        raise UserError(
            f"{where}: a model of Nematus before model_version {RESCALED}, trained with dropout, rescales all its"
            " layers when it translates, and cannot be imported"
        )
    return 1.0
