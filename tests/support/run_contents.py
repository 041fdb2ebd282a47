"""What a run folder and the output of a script hold, and the options of the smallest runs."""

import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from support.scripts import TINY, TINY_MODEL

TINY_LM = ["model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7"]
NO_PAGES = ["~callbacks.pictures", "~callbacks.attention_record"]  # they take half of the time
PLAIN = [*TINY, *TINY_MODEL, "logger=csv", *NO_PAGES, "hydra.run.dir=run"]
RESULTS = {"status", "model", "attention", "data", "seed", "parameters", "steps", "epochs", "peak_memory_mib"}
RESULTS |= {f"val/{name}" for name in ("loss", "perplexity", "bleu", "chrf")}
RESULTS |= {f"test/{name}" for name in ("loss", "perplexity", "bleu", "chrf", "ter")}
RESULTS |= {"bleu_signature", "chrf_signature", "ter_signature"}
RESULTS |= {f"train/{name}" for name in ("target_tokens_per_second", "seconds", "cpu_seconds")}


def corpus(folder: Path, split: str, side: str) -> Path:
    """A text of the embedded corpus that a run in ``folder`` has made."""
    (path,) = folder.glob(f"**/cache/reorder/*/{split}.{side}")
    return path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def figures(stdout: str) -> dict[str, str]:
    """What a script shows: name and figure of every line."""
    return dict(line.rsplit("  ", 1) if "  " in line else (line, "") for line in stdout.splitlines())


def shown(stdout: str, name: str) -> float:
    return float({key.strip(): value for key, value in figures(stdout).items()}[name])


def sacrebleu(references: Path, hypotheses: Path, tokenize: str) -> float:
    """What the command prints."""
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        str(references),
        "-i",
        str(hypotheses),
        "-m",
        "bleu",
        "-b",
        "-w",
        "12",
    ]
    done = subprocess.run([*command, "-tok", tokenize], capture_output=True, text=True, check=True)
    return float(done.stdout)


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load_file(folder / "weights.safetensors") for folder in (one, other))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def pair(trained, split="test"):
    return [f"{side}={corpus(trained.parent, split, side)}" for side in ("source", "target")]
