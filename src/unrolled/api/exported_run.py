"""A trained model written as ONNX and checked, as export.py does."""

import logging
import shutil
from os import PathLike
from pathlib import Path

from unrolled.configuration.load import load_trained
from unrolled.configuration.values import resolved
from unrolled.errors import UserError
from unrolled.exported.onnx_files import DESCRIPTION, GRAPHS, STEP, check_installed, describe, write_graphs
from unrolled.exported.session import has_runtime, largest_difference
from unrolled.files import path_of, remove_if_empty
from unrolled.runs.weights import digest
from unrolled.text.tokenizer import fingerprint, save_tokenizers

log = logging.getLogger(__name__)
CLOSE = 1e-4  # what float32 explains


def exported(run_folder: str | None, output: str | PathLike[str]) -> Path:
    """The folder ``output`` with the ONNX files of a run: docs/export.md. UserError: it cannot be, or was already."""
    import torch

    folder = path_of("output", output)
    run, model, source, target = load_trained(run_folder)
    check_installed()
    if (folder / DESCRIPTION).exists():
        raise UserError(f"output={folder}: this folder already holds an exported model; name a new one")
    tokenizer, killed = folder / "tokenizer", (folder / STEP).exists()  # an export that was killed has left both
    for taken in (folder / "config.yaml", *(() if killed else (tokenizer,))):  # of a run, which this would destroy
        if taken.exists():
            raise UserError(f"output={folder}: this folder holds {taken.name} already; name a new one")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        described = write_graphs(model.eval(), folder)
        source = None if described["kind"] == "language_modeling" else source
        if has_runtime():
            with torch.inference_mode():
                words = (target.size if source is None else source.size), target.size
                difference = largest_difference(model, folder, described, words)
            log.info("onnxruntime: log-probabilities differ by at most %.1e of their size", difference)
            if not difference < CLOSE:
                raise UserError(f"run={run_folder} cannot be exported: onnxruntime is {difference:.1e} off")
        else:
            log.warning("onnxruntime is not installed, so the files were not checked")
        save_tokenizers(tokenizer, source, target)
        chosen = {name: resolved(run)[name] for name in ("choices", "model", "attention")}
        sha256 = {"weights": digest(model.state_dict()), **fingerprint(source, target)}
        describe(folder, described, source, target, {"run": chosen, "sha256": sha256})
    except BaseException:  # nobody should use these files
        for name in GRAPHS:
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(tokenizer, ignore_errors=True)
        remove_if_empty(folder)
        raise
    return folder
