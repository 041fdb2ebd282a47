"""The parameters of dl4mt's session 2 and of Theano-Nematus, and how each becomes one of ours.

Letters: S source words, T target words, E embedding size, H one direction of the encoder, D decoder, A attention.

Theirs multiply from the left, x W, ours from the right, W x, so every matrix is transposed. Where one of their names
holds two gates, [reset, update] side by side, and another the candidate, ours has [reset, update, candidate] in one.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from unrolled.errors import UserError
from unrolled.imported.archive import Archive, Array, check_shapes
from unrolled.text.tokens import EOS

GRU = {"W": ("E", "2{}"), "b": ("2{}",), "U": ("{}", "2{}"), "Wx": ("E", "{}"), "bx": ("{}",), "Ux": ("{}", "{}")}


def _gru(prefix: str, size: str) -> dict[str, tuple[str, ...]]:
    return {f"{prefix}_{name}": tuple(letter.format(size) for letter in shape) for name, shape in GRU.items()}


SHAPES: dict[str, tuple[str, ...]] = {
    "Wemb": ("S", "E"),
    "Wemb_dec": ("T", "E"),
    "ff_logit_W": ("E", "T"),
    "ff_logit_b": ("T",),
    "encoder_Ux": ("H", "H"),
    "encoder_r_Ux": ("H", "H"),
    "decoder_Ux": ("D", "D"),
    "decoder_b_att": ("A",),
    **_gru("encoder", "H"),
    **_gru("encoder_r", "H"),
    **_gru("decoder", "D"),
    "ff_state_W": ("2H", "D"),
    "ff_state_b": ("D",),
    "decoder_W_comb_att": ("D", "A"),
    "decoder_Wc_att": ("2H", "A"),
    "decoder_U_att": ("A", "1"),
    "decoder_U_nl": ("D", "2D"),
    "decoder_b_nl": ("2D",),
    "decoder_Ux_nl": ("D", "D"),
    "decoder_bx_nl": ("D",),
    "decoder_Wc": ("2H", "2D"),
    "decoder_Wcx": ("2H", "D"),
    "ff_logit_lstm_W": ("D", "E"),
    "ff_logit_lstm_b": ("E",),
    "ff_logit_prev_W": ("E", "E"),
    "ff_logit_prev_b": ("E",),
    "ff_logit_ctx_W": ("2H", "E"),
    "ff_logit_ctx_b": ("E",),
}
"""The shape of every parameter."""
TIED = ("Wemb_dec", "ff_logit_W")
"""Absent where Nematus ties the decoder's embeddings with the encoder's, and the output layer with these."""

NO_WEIGHTS = re.compile(r"decoder_c_(tt|att)|zipped_params|history_errs|uidx|adam_.*|special:.*")
"""What a file may have besides, which is not opened: a constant that the soft-max over positions cancels (c_tt),
dl4mt's pickled second copy, and the state of the training."""
MORE = {
    r".*_(lnb|lns|ln_b|ln_s)|.*_gamma\d?": "layer normalisation",
    r".*_wns": "weight normalisation",
    r"Wemb\d+": "factors, or several sources",
    r".*_drt_\d+.*": "deep transitions",
    r"(encoder|encoder_r|decoder)_\d+_.*": "several layers",
}
"""Parameters of models that ours cannot express, and what such models have."""
IMPOSSIBLE = -1e4
"""The output bias of <pad> and <s>, which theirs do not have: their probability is exactly 0 in every precision."""


def read_parameters(path: Path) -> tuple[dict[str, Array], dict[str, int]]:
    """The parameters in an .npz file, and the sizes S, T, E, H, D, A. UserError: not exactly those of such a model."""
    archive = Archive(path)
    names = [name for name in archive.names if not NO_WEIGHTS.fullmatch(name)]
    _check_names(path, names)
    shapes = archive.shapes(name for name in SHAPES if name in names)
    sizes = check_shapes(path, shapes, SHAPES)
    if "Wemb_dec" not in names and sizes["T"] != sizes["S"]:
        raise UserError(
            f"{path}: without Wemb_dec both sides must share one vocabulary, but theirs have "
            f"{sizes['S']} and {sizes['T']} words"
        )
    if min(sizes["S"], sizes["T"]) <= EOS:
        raise UserError(f"{path}: Wemb has the shape {shapes['Wemb']}: there are no words except the end and UNK")
    return archive.read(shapes), sizes


def _check_names(path: Path, names: Iterable[str]) -> None:
    """UserError: parameters that are missing, or that a model unlike ours has."""
    for name in names:
        if name not in SHAPES:
            what = next((what for pattern, what in MORE.items() if re.fullmatch(pattern, name)), None)
            raise UserError(
                f"{path}: {name} is a parameter of {what}, which cannot be imported"
                if what
                else f"{path}: there is a parameter {name}, which neither dl4mt's session 2 nor Theano-Nematus has"
            )
    missing = [name for name in SHAPES if name not in names and name not in TIED]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(
            f"{path}: there is no {missing[0]}{more}; give a model of dl4mt's session 2 or of Theano-Nematus"
        )


def is_tied(parameters: dict[str, Array], scale: float) -> bool:
    """Whether the output layer is the target embeddings; it is not if multiplied by a ``scale`` of its own."""
    return "ff_logit_W" not in parameters and scale == 1


def translated(parameters: dict[str, Array], scale: float) -> dict[str, Tensor]:
    """The weights of a `Translator` with `DL4MTDecoder`, `BahdanauAttention` and `DeepReadout`, by name, in float64.

    Ids: <pad> and <s> come before their words, so that theirs move up by two: 0, the end, becomes </s>, and 1, UNK,
    <unk>. The first target word has the embedding 0 before it, that of our <s>. ``scale``: of the output layer.
    """
    p = parameters
    target = p.get("Wemb_dec", p["Wemb"])
    output = p.get("ff_logit_W", target.T)
    ours = {
        "source_embedding.weight": _ids(p["Wemb"]),
        "target_embedding.weight": _ids(target),
        "decoder.initial.weight": p["ff_state_W"].T,
        "decoder.initial.bias": p["ff_state_b"],
        # e_ij = U_att^T tanh(W_comb_att^T s' + Wc_att^T h_j + b_att) + c_tt, and c_tt changes no weight
        "decoder.attention.query.weight": p["decoder_W_comb_att"].T,
        "decoder.attention.keys.weight": p["decoder_Wc_att"].T,
        "decoder.attention.keys.bias": p["decoder_b_att"],
        "decoder.attention.energy.weight": p["decoder_U_att"].T,
        # REC2: r, z = sigma(Wc c + U_nl s' + b_nl), candidate = tanh(Wcx c + r * (Ux_nl s' + bx_nl))
        "decoder.rec2.input.weight": _gates(p["decoder_Wc"], p["decoder_Wcx"]),
        "decoder.rec2.input.bias": np.concatenate([p["decoder_b_nl"], np.zeros_like(p["decoder_bx_nl"])]),
        "decoder.rec2.recurrent.weight": _gates(p["decoder_U_nl"], p["decoder_Ux_nl"]),
        "decoder.rec2.recurrent.bias": np.concatenate([np.zeros_like(p["decoder_b_nl"]), p["decoder_bx_nl"]]),
        # tanh(lstm s + prev E y + ctx c), each with a bias; their sum is one
        "readout.state.weight": p["ff_logit_lstm_W"].T,
        "readout.state.bias": p["ff_logit_lstm_b"] + p["ff_logit_prev_b"] + p["ff_logit_ctx_b"],
        "readout.embedding.weight": p["ff_logit_prev_W"].T,
        "readout.context.weight": p["ff_logit_ctx_W"].T,
        "readout.output.weight": _ids(output.T * scale),
        "readout.output.bias": np.concatenate([[IMPOSSIBLE, IMPOSSIBLE], p["ff_logit_b"]]),
    }
    # r, z = sigma(W x + b + U h), candidate = tanh(Wx x + bx + r * (Ux h)): of both directions, and REC1
    for theirs, weight, bias, recurrent in (
        ("encoder", "encoder.gru.weight_ih_l0", "encoder.gru.bias_ih_l0", "encoder.gru.weight_hh_l0"),
        (
            "encoder_r",
            "encoder.gru.weight_ih_l0_reverse",
            "encoder.gru.bias_ih_l0_reverse",
            "encoder.gru.weight_hh_l0_reverse",
        ),
        ("decoder", "decoder.rec1.input.weight", "decoder.rec1.input.bias", "decoder.rec1.recurrent.weight"),
    ):
        ours[weight] = _gates(p[f"{theirs}_W"], p[f"{theirs}_Wx"])
        ours[bias] = np.concatenate([p[f"{theirs}_b"], p[f"{theirs}_bx"]])
        ours[recurrent] = _gates(p[f"{theirs}_U"], p[f"{theirs}_Ux"])
    for suffix in ("l0", "l0_reverse"):  # nn.GRU's second bias
        ours[f"encoder.gru.bias_hh_{suffix}"] = np.zeros_like(ours[f"encoder.gru.bias_ih_{suffix}"])
    return {name: torch.from_numpy(np.ascontiguousarray(weight)) for name, weight in ours.items()}


def _gates(gates: Array, candidate: Array) -> Array:
    """``(I, 2N)``, ``(I, N)`` -> ``(3N, I)``."""
    return np.concatenate([gates, candidate], axis=1).T


def _ids(rows: Array) -> Array:
    """Their rows, one an id, below those of <pad> and <s>, which are 0."""
    return np.concatenate([np.zeros((EOS, rows.shape[1])), rows])
