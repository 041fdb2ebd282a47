"""Running the project's scripts as a user does, for the end-to-end tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# A corpus and a model so small that a run takes seconds
TINY = [f"data.{option}" for option in ["grammar.pairs=200", "grammar.validation_pairs=12", "grammar.test_pairs=11"]]
TINY += [f"data.{option}" for option in ["grammar.max_length=9", "grammar.vocabulary_size=40", "max_tokens=200"]]
TINY_MODEL = ["model.embedding_size=8", "model.encoder_size=6", "model.decoder_size=12"]


def run_script(
    script: str, *arguments: str, cwd: Path, status: int | None = 0, text: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run src/``script`` in ``cwd``; the test fails if it does not end with ``status``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "UNROLLED_C"))}
    done = subprocess.run(
        [sys.executable, str(ROOT / "src" / script), *arguments],
        cwd=cwd,
        env=clean | {"OMP_NUM_THREADS": "1", "NETRC": os.devnull} | environment,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    if status is not None:
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


def train(cwd: Path, *arguments: str, folder: str = "run", **options) -> Path:
    """Train into ``cwd``/``folder`` and return that folder."""
    run_script("train.py", *arguments, f"hydra.run.dir={folder}", cwd=cwd, **options)
    return cwd / folder


def results(folder: Path) -> dict:
    """results.json of a run folder."""
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))
