"""Other toolkits as contestants: each a process in its own environment, handed the same batches.

The environments: `python -m venv DIR`, then `DIR/bin/pip install -r benchmarks/joeynmt-requirements.txt`, or what
nmtpytorch-requirements.txt says. The processes: joeynmt_worker.py, nmtpytorch_worker.py.
"""

import json
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

from operations import TRAINING, Tokens
from torch import nn

from unrolled.data.batch import Batch
from unrolled.models.translator import Translator


class Peer(ABC):
    """A toolkit's model, of our model's sizes."""

    toolkit: str
    """The option with its environment's Python, and what its files here are called after."""

    def __init__(self, python: str, model: Translator, *, precision: str) -> None:
        self.sizes = sizes(model)
        self._python = python
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115
        try:
            self._worker = subprocess.Popen(
                [python, str(Path(__file__).with_name(f"{self.toolkit}_worker.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                text=True,
            )
        except OSError as problem:
            self._complaints.close()
            sys.exit(f"--{self.toolkit} {python}: {problem.strerror}")
        self._ask({**self.sizes, "bf16": precision == "bf16", **self.options()})
        self.peak_mib = 0.0

    @property
    def name(self) -> str:
        """The name in its rows."""
        return self.toolkit

    def options(self) -> dict[str, Any]:
        """What its process is told besides the sizes."""
        return {}

    @abstractmethod
    def operations(self, batch: Batch) -> int:
        """The operations of a training step, as operations.py counts them."""

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
        requirements = f"its environment: benchmarks/{self.toolkit}-requirements.txt"
        sys.exit(f"--{self.toolkit} {self._python}: {said[-1] if said else 'ended without a word'} ({requirements})")


class JoeyNMT(Peer):
    """Its Bahdanau GRU with input feeding."""

    toolkit = "joeynmt"

    def forced_search(self, sources: list[list[int]], beam: int, length: int) -> float:
        """CPU seconds to search with every hypothesis made ``length`` tokens long; a beam of 1 is its greedy search."""
        return self._ask({"source": sources, "beam": beam, "length": length})["seconds"]

    def operations(self, batch: Batch) -> int:
        """The operations of a training step.

        Forward: encoder 2 N_s (E + H) 3H twice; keys 2 N_s 2H D, s_0 2 B 2H D; GRU with the last attention vector fed
        in 2 N_t (E + 2D) 3D; query 2 N_t D D, energies and context 2 N_st (D + 2H); attention vector 2 N_t (D + 2H) D;
        soft-max 2 N_t D V.
        """
        n, z = Tokens.of(batch), self.sizes
        e, h, d, v = z["embedding"], z["encoder"], z["decoder"], z["target_vocabulary"]
        source = n.source * ((e + h) * 3 * h * 2 + 2 * h * d)
        target = n.target * ((e + 2 * d) * 3 * d + d * d + (d + 2 * h) * d + d * v)
        return TRAINING * 2 * (source + target + n.pairs * (d + 2 * h) + n.sentences * 2 * h * d)


class NmtPyTorch(Peer):
    """Its conditional GRU; ``keys_once``: its attention projects the keys once a sentence, not at every step."""

    toolkit = "nmtpytorch"

    def __init__(self, python: str, model: Translator, *, precision: str, keys_once: bool = False) -> None:
        self._keys_once = keys_once
        super().__init__(python, model, precision=precision)

    @property
    def name(self) -> str:
        return f"{self.toolkit}_keys_once" if self._keys_once else self.toolkit

    def options(self) -> dict[str, Any]:
        return {"keys_once": self._keys_once}

    def operations(self, batch: Batch) -> int:
        """The operations of a training step; keys once, as the equations need them.

        Forward: encoder 2 N_s (E + H) 3H twice; keys 2 N_s 2H 2H, s_0 2 B 2H D; GRUs 2 N_t (E + D) 3D and 2 N_t 2D 3D;
        query 2 N_t D 2H, energies and context 2 N_st 4H, the context made as wide as the state 2 N_t 2H D; readout
        2 N_t D E, soft-max 2 N_t E V.
        """
        n, z = Tokens.of(batch), self.sizes
        e, h, d, v = z["embedding"], z["encoder"], z["decoder"], z["target_vocabulary"]
        source = n.source * ((e + h) * 3 * h * 2 + 2 * h * 2 * h)
        target = n.target * ((e + d) * 3 * d + 2 * d * 3 * d + 2 * d * 2 * h + d * e + e * v)
        return TRAINING * 2 * (source + target + n.pairs * 4 * h + n.sentences * 2 * h * d)


def peers(
    translator: Translator, model: str, attention: str, precision: str, *, joeynmt: str | None, nmtpytorch: str | None
) -> list[Peer]:
    """Those whose Python is given and whose model is like ours: one that attends as Bahdanau does."""
    taking_part: list[Peer] = []
    if attention == "bahdanau" and model in ("cgru", "bahdanau", "rnnsearch") and joeynmt:
        taking_part.append(JoeyNMT(joeynmt, translator, precision=precision))
    if attention == "bahdanau" and model == "cgru" and nmtpytorch:
        taking_part += [
            NmtPyTorch(nmtpytorch, translator, precision=precision, keys_once=once) for once in (False, True)
        ]
    return taking_part


def sizes(model: Translator) -> dict[str, int]:
    """The sizes of our model."""
    embedding: nn.Embedding = model.target_embedding
    initial = model.decoder.initial
    return {
        "embedding": embedding.embedding_dim,
        "encoder": model.encoder.gru.hidden_size if hasattr(model.encoder, "gru") else initial.in_features,
        "decoder": initial.out_features,
        "source_vocabulary": model.source_embedding.num_embeddings,
        "target_vocabulary": embedding.num_embeddings,
    }
