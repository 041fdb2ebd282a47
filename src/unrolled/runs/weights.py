"""The weights of a run: the best, and the average of those kept at validations (Junczys-Dowmunt et al. 2016)."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save
from torch import Tensor, nn

from unrolled.errors import UserError
from unrolled.files import reading, write_bytes

INDEX = "kept.json"


def weights_of(folder: Path, step: int) -> Path:
    """Where the weights after ``step`` are kept."""
    return folder / f"step-{step}.safetensors"


def ranked(values: dict[int, float], mode: str) -> list[int]:
    """Steps from the best value (``mode`` min or max) to the worst, then NaN; of equal values the later step first."""
    sign = 1 if mode == "min" else -1
    return sorted(values, key=lambda step: (values[step] != values[step], sign * values[step], -step))


def read_kept(folder: Path) -> dict[str, Any]:
    """kept.json: ``monitor``, ``mode``, kept ``steps`` with their values, and those of all ``validations``.

    An older file has only the kept steps. UserError: a damaged one.
    """
    with reading(folder / INDEX):
        facts: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if facts["mode"] not in ("min", "max"):
            raise ValueError(f"mode={facts['mode']!r}")
        facts = {"validations": facts["steps"]} | facts
        numbers = {
            name: {int(step): float(value) for step, value in facts[name].items()} for name in ("steps", "validations")
        }
        return facts | numbers


def choose(folder: Path, which: str, number: int) -> list[int]:
    """The steps of the ``number`` best, or last, validations, whose weights ``folder`` keeps. UserError: not of all."""
    if not (folder / INDEX).is_file():
        raise UserError(
            f"{folder}: no weights were kept: train with callbacks.kept.{which}={number}, and until the end of an epoch"
            " at least, or with a smaller trainer.val_check_interval"
        )
    facts = read_kept(folder)
    values = facts["validations"]
    steps = (ranked(values, facts["mode"]) if which == "best" else sorted(values, reverse=True))[:number]
    kept = next((place for place, step in enumerate(steps) if step not in facts["steps"]), len(steps))
    if kept < number:
        fewer = f"give number={kept}, or " if kept else ""
        raise UserError(
            f"{folder} holds the weights of the {which} {kept} validations, not of {number}: {fewer}train with "
            f"callbacks.kept.{which}={number} or more and as many validations"
        )
    return steps


def average(paths: list[Path], like: Path | None = None) -> dict[str, Tensor]:
    """The mean of each tensor over all files, summed in float64.

    UserError: a damaged file, or one whose tensors are not those of the first, or of ``like`` if that is given.
    """
    first = read_weights(paths[0])
    expected = _kinds(read_weights(like) if like is not None else first)
    total = {name: torch.zeros_like(weight, dtype=torch.float64) for name, weight in first.items()}
    for path in paths:
        weights = read_weights(path)
        with reading(path):
            if _kinds(weights) != expected:
                raise ValueError("these are not the weights of this model")
        for name, weight in weights.items():
            total[name] += weight.double()
    return {name: (weight / len(paths)).to(first[name].dtype) for name, weight in total.items()}


def _kinds(weights: Mapping[str, Tensor]) -> dict[str, tuple[Any, ...]]:
    return {name: (weight.dtype, *weight.shape) for name, weight in weights.items()}


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file. UserError: a missing or damaged file, NaN weights."""
    if not path.exists():
        raise UserError(f"{path}: there is no such file; restore the run's own file")
    with reading(path):
        path.open("rb").close()  # safetensors calls a file that may not be read one that is not there
        facts = read_facts(path)
        weights: dict[str, Tensor] = load_file(path)
        if any(weight.isnan().any() for weight in weights.values()):
            raise ValueError("some weights are NaN")
        if DIGEST in facts and digest(weights) != facts[DIGEST]:
            raise ValueError(f"its {DIGEST} is not the one it was written with")
    return weights


FACTS, DIGEST = "unrolled", "sha256"
"""A file of weights holds facts about itself, JSON under the first name; its tensors' `digest` is under the second."""


def read_facts(path: Path) -> dict[str, str]:
    """The facts in a file of weights; none if it is not ours, or older than these facts."""
    with safe_open(path, "pt") as file:
        return dict(json.loads((file.metadata() or {}).get(FACTS, "{}")))


def digest(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        weight = weights[name].detach().cpu().contiguous()
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        digest.update(weight.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_tensors(weights: Mapping[str, Tensor], path: Path, vocabularies: Mapping[str, str] | None = None) -> None:
    """Write ``weights``, no two of which share memory, so that ``path`` is whole or not there.

    vocabularies: SHA-256 of the tokenizers that the weights go with, by "tokenizer.source" and "tokenizer.target".
    """
    facts = {DIGEST: digest(weights), **(vocabularies or {})}
    metadata = {FACTS: json.dumps(facts)}  # one entry: several would come in any order
    write_bytes(path, save(dict(weights), metadata))  # save_file would leave a file of its own behind when killed


def save_weights(model: nn.Module, path: Path, vocabularies: Mapping[str, str] | None = None) -> None:
    """Write all weights of ``model`` with `save_tensors`; tied ones once."""
    weights: dict[str, Tensor] = {}
    seen = set()
    for name, weight in model.state_dict().items():
        place = (weight.data_ptr(), weight.shape)
        if place not in seen or weight.numel() == 0:
            weights[name] = weight.contiguous()
            seen.add(place)
    save_tensors(weights, path, vocabularies)


def load_weights(model: nn.Module, folder: Path, vocabularies: Mapping[str, str] | None = None) -> None:
    """Fill ``model`` from the run ``folder``: its weights.safetensors or, while there are none, its checkpoints.

    UserError: no weights, damaged ones, those of another model, or of another vocabulary than ``vocabularies``, which
    are as in `save_tensors`; a run folder older than these facts is taken as it is.
    """
    path = folder / "weights.safetensors"
    expected = written_vocabularies(folder)
    if path.exists():
        weights = read_weights(path)
        with reading(path):
            expected |= {name: value for name, value in read_facts(path).items() if name in VOCABULARIES}
            _check_kinds(model, weights)
            load_model(model, str(path))
    else:
        checkpoints = [folder / "checkpoints" / name for name in ("best.ckpt", "last.ckpt")]
        path = next((checkpoint for checkpoint in checkpoints if checkpoint.exists()), path)
        if not path.exists():
            raise UserError(
                f"run={folder}: there are no weights (weights.safetensors or checkpoints/); train the run first"
            )
        weights = checkpoint_weights(path)
        with reading(path):
            _check_kinds(model, weights)
            model.load_state_dict(weights)
    if vocabularies is not None:
        check_vocabularies(folder, expected, vocabularies)


VOCABULARIES = ("tokenizer.source", "tokenizer.target")


def check_vocabularies(folder: Path, expected: Mapping[str, str], actual: Mapping[str, str]) -> None:
    """UserError: the tokenizers of the run ``folder`` are not those that its weights were ``expected`` to go with."""
    for name in VOCABULARIES:
        if name in expected and expected[name] != actual.get(name):
            raise UserError(
                f"{folder}/{name.replace('.', '/')}: this is not the vocabulary that the run was trained with, as its "
                "SHA-256 says; restore the run's own file"
            )


def written_vocabularies(folder: Path) -> dict[str, str]:
    """SHA-256 of the tokenizers of a run, as provenance.json has them; empty where it has none."""
    path = folder / "provenance.json"
    if not path.exists():
        return {}
    with reading(path):
        hashes = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        return {name: str(hashes[name]) for name in VOCABULARIES if name in hashes}


def checkpoint_weights(path: Path) -> dict[str, Tensor]:
    """The model's weights in a checkpoint. UserError: a damaged one, NaN weights."""
    with reading(path):
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
        weights: dict[str, Tensor] = {key.removeprefix("model."): value for key, value in state.items()}
        if any(weight.isnan().any() for weight in weights.values()):
            raise ValueError("some weights are NaN")
    return weights


def _check_kinds(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """ValueError: integers in place of floating-point numbers, or the other way round."""
    for name, weight in model.state_dict().items():
        if name in weights and weights[name].is_floating_point() != weight.is_floating_point():
            raise ValueError(f"{name} is {weights[name].dtype}, not {weight.dtype}")
