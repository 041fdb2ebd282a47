"""The files of an exported model: start.onnx, step.onnx and model.json, which says how to use them."""

import json
import logging
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from unrolled.errors import UserError, was_interrupted
from unrolled.exported.graphs import Start, dynamic_axes, example, graphs
from unrolled.files import appearing, write_text
from unrolled.text.tokenizer import Tokenizer, WordTokenizer
from unrolled.text.tokens import BOS, EOS, PAD, UNK

DESCRIPTION = "model.json"
GRAPHS = START, STEP = "start.onnx", "step.onnx"
NEEDED = ("onnx", "onnxscript")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check_installed() -> None:
    """UserError: the packages that write ONNX are missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UserError(f"export needs {' and '.join(missing)}: pip install 'unrolled[export]'")


def write_graphs(model: nn.Module, folder: Path) -> dict[str, Any]:
    """Write the graphs of ``model``, which is in evaluation mode, on the CPU, in float32; returns how to use them.

    UserError: a model that cannot be exported.
    """
    parts, axes = graphs(model), dynamic_axes(model)
    names = [f"state_{number}" for number in range(len(parts.state))]
    handed_on = [f"next_{name}" for name, fixed in zip(names, parts.of_sentence, strict=True) if not fixed]
    described: dict[str, Any] = {"state": names, "sentence": _named(names, parts.of_sentence)}
    if parts.start is None:
        described["kind"] = "language_modeling"
        described["start"] = [
            {"shape": list(tensor.shape[1:]), "value": _only(tensor), "type": str(tensor.dtype).split(".")[1]}
            for tensor in parts.state
        ]
        outputs = ["log_probs", *handed_on]
    else:
        described["kind"] = "translation"
        described["start"] = ["source", "lengths"]
        outputs = ["log_probs", "weights", *handed_on]
        inputs = [{0: "batch", 1: "length"}, {0: "batch"}]
        _write(parts.start, example(), inputs, ["source", "lengths"], names, folder / START)
    tokens = torch.full((len(parts.state[0]),), BOS)
    before = (tokens, *parts.state)
    _write(parts.step, before, [{0: "batch"}, *axes], ["tokens", *names], outputs, folder / STEP)
    return described | {"step": ["tokens", *names], "next": outputs}


def _only(state: torch.Tensor) -> float:
    """The value that is everywhere in ``state``, which may be of no size: words before a bigram's."""
    return state.unique().item() if state.numel() else 0.0


def _named(names: list[str], chosen: list[bool]) -> list[str]:
    return [name for name, one in zip(names, chosen, strict=True) if one]


def _write(
    module: nn.Module,
    inputs: tuple[Any, ...],
    axes: list[dict[int, str]],
    input_names: list[str],
    output_names: list[str],
    path: Path,
) -> None:
    """Export ``module``, ``axes``: those of each input that are not fixed, by name."""
    dimensions = {name: torch.export.Dim(name, min=1) for name in ("batch", "length")}
    chosen = [{axis: dimensions[name] for axis, name in one.items()} for one in axes]
    shapes = tuple(chosen) if isinstance(module, Start) else (chosen[0], tuple(chosen[1:]))  # forward(tokens, *state)
    for chatter in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(chatter).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the exporter says to its developers
        try:
            program = torch.onnx.export(
                module.eval(),
                inputs,
                dynamo=True,
                dynamic_shapes=shapes,
                input_names=input_names,
                output_names=output_names,
                verbose=False,
            )
        except torch.onnx.OnnxExporterError as problem:
            if was_interrupted(problem):
                raise KeyboardInterrupt from problem
            plain = COLOURS.sub("", str(problem))
            first = next((line.strip() for line in plain.splitlines() if line.strip()), "")
            raise UserError(f"{type(module).__name__} cannot be exported; PyTorch says: {first:.200}") from problem
    assert program is not None
    expected = dict(zip(input_names, axes, strict=True))
    for value in program.model.graph.inputs:
        if value.shape is not None and any(isinstance(value.shape[axis], int) for axis in expected[str(value.name)]):
            raise UserError(
                f"{type(module).__name__} cannot be exported: PyTorch has taken the size of a batch for a constant; in "
                "a class of yours, use shape[0] instead of len()"
            )
    with appearing(path) as partial:
        program.save(partial)


def describe(
    folder: Path, described: dict[str, Any], source: Tokenizer | None, target: Tokenizer, facts: dict[str, Any]
) -> None:
    """Write model.json: the graphs' inputs and outputs, special ids, both vocabularies, and ``facts``."""
    content = {
        "special": {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK},
        **described,
        "source_vocabulary": None if source is None else _pieces(source),
        "target_vocabulary": _pieces(target),
        **facts,
    }
    write_text(folder / DESCRIPTION, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _pieces(tokenizer: Tokenizer) -> list[str]:
    """How every id is written in the tokenizer's own file."""
    ids = range(tokenizer.size)
    return WordTokenizer.pieces(tokenizer, ids) if isinstance(tokenizer, WordTokenizer) else tokenizer.pieces(ids)
