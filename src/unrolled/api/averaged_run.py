"""A run with the average of another's weights over several validations, as average.py makes it."""

import json
from pathlib import Path

from unrolled.configuration.load import tokenizers_of
from unrolled.configuration.relocation import check_links
from unrolled.configuration.values import read_config
from unrolled.errors import POSITIVE_WHOLE, UserError, check, check_choice
from unrolled.files import write_text
from unrolled.runs.weights import average, check_vocabularies, choose, save_tensors, weights_of, written_vocabularies
from unrolled.text.tokenizer import fingerprint, save_tokenizers

AVERAGE = "average.json"
"""In the folder of an average: what it is of."""


def averaged(of_run: str | None, which: str, number: int) -> Path:
    """The folder with the mean of a run's weights over its ``number`` best validations, or the last ones.

    UserError: fewer were kept, or another value than best and last.
    """
    check_choice("which", which, ("best", "last"))
    check("number", number, POSITIVE_WHOLE)
    trained, run = read_config(of_run), Path(str(of_run))
    if (run / AVERAGE).is_file():
        raise UserError(f"run={run}: this is an average already; name the run that it is of")
    if (trained.get("objective") or {}).get("kind") == "counting":
        raise UserError(f"run={run}: a model of counts has no weights to average")
    kept = run / "checkpoints" / "kept"
    steps = choose(kept, which, number)
    folder = run / f"average-{which}-{number}"
    check_links(run, folder.name)
    tokenizers = tokenizers_of(trained, run)
    save_tokenizers(folder / "tokenizer", *tokenizers)
    vocabularies = fingerprint(*tokenizers)
    check_vocabularies(run, written_vocabularies(run), vocabularies)
    best = run / "weights.safetensors"
    weights = average([weights_of(kept, step) for step in steps], best if best.exists() else None)
    save_tensors(weights, folder / "weights.safetensors", vocabularies)
    write_text(folder / AVERAGE, json.dumps({"which": which, "steps": steps}, indent=2) + "\n")
    write_text(folder / "config.yaml", (run / "config.yaml").read_text(encoding="utf-8"))
    return folder
