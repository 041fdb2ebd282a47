"""Language models side by side, mixed, and reading a text as one: what score.py and interpolate.py put together."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch

from unrolled.data.continuous import StreamBatch
from unrolled.data.tokenizer import BOS, EOS, SPECIALS, UNK, Tokenizer
from unrolled.errors import UserError
from unrolled.metrics.text import unknown_words
from unrolled.models.language_model import Nested
from unrolled.models.mixture import Mixture
from unrolled.training.inference import Pieces, TrainedLanguageModel, autocast


class Column(NamedTuple):
    """Whose figures stand in a column: a run, or several as one."""

    name: str
    tokenizer: Tokenizer

    def unknown(self, line: str, pieces: Pieces) -> list[int]:
        """The numbers of the words of ``line`` outside the vocabulary."""
        written = [piece for piece, _ in pieces]
        if SPECIALS[UNK] not in written:
            return []  # without cutting the line up once more
        return unknown_words(line, written, self.tokenizer.words_of_pieces(line))


class Detail(Protocol):
    """What is shown of lines; see `unrolled.training.details`."""

    def show(self, lines: Sequence[str], scored: Sequence[Sequence[Pieces]]) -> str:
        """Of ``lines``, each column's pieces of each."""

    def end(self) -> str:
        """After the last line."""


class Scorer(Protocol):
    """What gives the log-probabilities of lines."""

    def score(self, lines: Sequence[str]) -> list[Pieces]:
        """For each line every piece, </s> the last, with its natural log-probability."""


class TextScorer:
    """Scores lines as one text, as models of continuous text are trained: line after line in one row.

    The state goes on from line to line, also from call to call; every line begins with <s> as input all the same.
    """

    def __init__(self, trained: TrainedLanguageModel) -> None:
        self._trained = trained
        self._state: Nested = trained.model.zero_state(1)

    @torch.inference_mode()
    def score(self, lines: Sequence[str]) -> list[Pieces]:
        """For each line every piece with its log-probability after all lines before."""
        trained = self._trained
        encoded = trained.tokenizer.encode(lines)
        # x: <s> a b <s> c ..., y: a b </s> c </s> ...
        inputs = [token for ids in encoded for token in (BOS, *ids)]
        outputs = [token for ids in encoded for token in (*ids, EOS)]
        log_probs: list[float] = []
        for start in range(0, len(outputs), trained.max_tokens):
            some = slice(start, start + trained.max_tokens)
            read, said = (torch.tensor([tokens[some]], device=trained.device) for tokens in (inputs, outputs))
            with autocast(trained.device, trained.precision):
                words = StreamBatch(read, said, first=False)
                found, self._state = trained.model.word_log_probs(words, self._state)
            log_probs += found[0].tolist()
        pieces = iter(zip(trained.tokenizer.pieces(outputs), log_probs, strict=True))
        return [[next(pieces) for _ in range(len(ids) + 1)] for ids in encoded]


def scorer(trained: TrainedLanguageModel, context: str | None) -> Scorer:
    """That of ``context`` line or text, or of None: as the model was trained. UserError: anything else."""
    if context not in (None, "line", "text"):
        raise UserError(f"context={context} is unknown: give line or text, or leave it away: as the run was trained")
    if context is None and trained.continuous is None:
        raise UserError(f"{trained.name}: some were trained on lines, some on a text as one: give context=line or text")
    return TextScorer(trained) if context == "text" or (context is None and trained.continuous) else trained


def mixture(models: Sequence[TrainedLanguageModel], weights: Any) -> TrainedLanguageModel:
    """``models`` as one, their weights made to sum to 1. UserError: other vocabularies, weights that are none."""
    shown = f"mixture={weights}"
    if not isinstance(weights, list) or len(weights) != len(models):
        raise UserError(f"{shown}: give a weight for each of the {len(models)} runs, such as those of interpolate.py")
    if not all(isinstance(weight, int | float) and weight >= 0 for weight in weights):
        raise UserError(f"{shown}: give numbers from 0")
    if not math.isclose(sum(weights), 1, abs_tol=1e-3):
        raise UserError(f"{shown}: the weights sum to {sum(weights):g}; give weights that sum to 1")
    check_common_vocabulary(models)
    mixed = Mixture(models=[model.model for model in models], weights=[weight / sum(weights) for weight in weights])
    name = "+".join(model.name for model in models)
    trained = {model.continuous for model in models}
    return replace(
        models[0],
        model=mixed.to(models[0].device),
        name=name,
        continuous=models[0].continuous if len(trained) == 1 else None,
    )


def check_common_vocabulary(models: Sequence[TrainedLanguageModel]) -> None:
    """UserError: language models whose tokens are not the same."""
    for model in models[1:]:
        if model.tokenizer.sha256 != models[0].tokenizer.sha256:
            raise UserError(
                f"{model.name} has another vocabulary than {models[0].name}: a mixture needs one; train both on the "
                "same data with the same tokenizer=..."
            )


def short_names(runs: Sequence[str]) -> list[str]:
    """The last folder of each run, with as many before it as tell all of them apart; without white space."""
    parts = [Path(run or ".").resolve().parts for run in runs]
    depth = 1
    while len({part[-depth:] for part in parts}) < len(set(parts)):
        depth += 1
    return ["_".join("/".join(part[-depth:]).split()) for part in parts]
