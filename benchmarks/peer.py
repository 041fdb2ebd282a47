"""JoeyNMT as a contestant: a process in its own environment, handed the same batches. See peer_worker.py.

The environment: `python -m venv DIR`, then `DIR/bin/pip install -r benchmarks/joeynmt-requirements.txt`.
"""

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from operations import TRAINING, Tokens
from torch import nn

from unrolled.data.batch import Batch
from unrolled.models.translator import Translator

NAME = "joeynmt"


def applies(python: str | None, model: str, attention: str) -> bool:
    """Its model is compared with ours that attend as Bahdanau does."""
    return python is not None and model in ("cgru", "bahdanau", "rnnsearch") and attention == "bahdanau"


class JoeyNMT:
    """Its Bahdanau GRU with input feeding, of our model's sizes."""

    def __init__(self, python: str, model: Translator, *, precision: str) -> None:
        self.sizes = sizes(model)
        self._python = python
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115
        try:
            self._worker = subprocess.Popen(
                [python, str(Path(__file__).with_name("peer_worker.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                text=True,
            )
        except OSError as problem:
            self._complaints.close()
            sys.exit(f"--joeynmt {python}: {problem.strerror}")
        self._ask({**self.sizes, "bf16": precision == "bf16"})
        self.peak_mib = 0.0

    def step(self, batch: Batch) -> float:
        """Seconds of one training step."""
        answer = self._ask(
            {
                "source": [
                    row[:length].tolist() for row, length in zip(batch.source, batch.source_lengths, strict=True)
                ],
                "target": [
                    row[:length].tolist() for row, length in zip(batch.target, batch.target_lengths, strict=True)
                ],
            }
        )
        self.peak_mib = answer["peak"]
        return answer["seconds"]

    def forced_search(self, sources: list[list[int]], beam: int, length: int) -> float:
        """CPU seconds to search with every hypothesis made ``length`` tokens long; a beam of 1 is its greedy search."""
        return self._ask({"source": sources, "beam": beam, "length": length})["seconds"]

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._worker.stdin.close()
        self._worker.wait()
        self._worker.stdout.close()
        self._complaints.close()

    def _ask(self, question: dict[str, Any]) -> dict[str, float]:
        """SystemExit with what the worker said last if it fails."""
        answer = ""
        with suppress(BrokenPipeError):
            self._worker.stdin.write(json.dumps(question) + "\n")
            self._worker.stdin.flush()
            answer = self._worker.stdout.readline()
        with suppress(ValueError):
            return json.loads(answer)
        self._complaints.seek(0)
        said = [line.strip() for line in [*self._complaints, answer] if line.strip()]
        self.close()
        requirements = "its environment: benchmarks/joeynmt-requirements.txt"
        sys.exit(f"--joeynmt {self._python}: {said[-1] if said else 'ended without a word'} ({requirements})")

    def operations(self, batch: Batch) -> int:
        """Of a training step, as operations.py counts them.

        Forward: encoder 2 N_s (E + H) 3H twice; keys 2 N_s 2H D, s_0 2 B 2H D; GRU with the last attention vector fed
        in 2 N_t (E + 2D) 3D; query 2 N_t D D, energies and context 2 N_st (D + 2H); attention vector 2 N_t (D + 2H) D;
        soft-max 2 N_t D V.
        """
        n, z = Tokens.of(batch), self.sizes
        e, h, d, v = z["embedding"], z["encoder"], z["decoder"], z["target_vocabulary"]
        source = n.source * ((e + h) * 3 * h * 2 + 2 * h * d)
        target = n.target * ((e + 2 * d) * 3 * d + d * d + (d + 2 * h) * d + d * v)
        return TRAINING * 2 * (source + target + n.pairs * (d + 2 * h) + n.sentences * 2 * h * d)


def sizes(model: Translator) -> dict[str, int]:
    """Of our model."""
    embedding: nn.Embedding = model.target_embedding
    initial = model.decoder.initial
    return {
        "embedding": embedding.embedding_dim,
        "encoder": model.encoder.gru.hidden_size if hasattr(model.encoder, "gru") else initial.in_features,
        "decoder": initial.out_features,
        "source_vocabulary": model.source_embedding.num_embeddings,
        "target_vocabulary": embedding.num_embeddings,
    }
