"""Forced decoding: how likely a generator finds given words. B sentences, T target length, V vocabulary."""

from typing import Any

import torch
from torch import Tensor

from unrolled.search.frozen_weights import inference
from unrolled.search.generator import Generator


def score(generator: Generator, batch: Any) -> list[list[float]]:
    """For each sentence of ``batch``, natural log p(y_j | y_<j) of every word and of </s>.

    Computed by ``start`` and ``step`` like search: for the same hypothesis these are the values that search adds up,
    for any generator, be it a translator, a language model or several of them.
    """
    return score_words(generator, batch, batch.target, batch.target_lengths)


@inference
def score_words(generator: Generator, batch: Any, target: Tensor, lengths: Tensor) -> list[list[float]]:
    """The same for ``target (B, T + 1)`` with ``lengths (B,)``, as in a batch: <s>, the words, </s>, padding."""
    state = generator.start(batch)
    columns = []
    for previous, following in zip(target[:, :-1].unbind(1), target[:, 1:].unbind(1), strict=True):
        log_probs, state = generator.step(previous, state)
        columns.append(log_probs.gather(1, following.unsqueeze(1)).squeeze(1).double())
    rows = torch.stack(columns, dim=1).tolist()
    return [row[: length - 1] for row, length in zip(rows, lengths.tolist(), strict=True)]
