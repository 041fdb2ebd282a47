"""Forced decoding: how likely a generator finds given words. B sentences, T target length, V vocabulary."""

from typing import Any

import torch

from unrolled.search.frozen_weights import inference
from unrolled.search.generator import Generator


@inference
def score(generator: Generator, batch: Any) -> list[list[float]]:
    """For each sentence of ``batch``, natural log p(y_j | y_<j) of every word and of </s>.

    Computed by ``start`` and ``step`` like search: for the same hypothesis these are the values that search adds up,
    for any generator, be it a translator, a language model or several of them.
    """
    state = generator.start(batch)
    columns = []
    for previous, following in zip(batch.target[:, :-1].unbind(1), batch.target[:, 1:].unbind(1), strict=True):
        log_probs, state = generator.step(previous, state)
        columns.append(log_probs.gather(1, following.unsqueeze(1)).squeeze(1).double())
    rows = torch.stack(columns, dim=1).tolist()
    return [row[: length - 1] for row, length in zip(rows, batch.target_lengths.tolist(), strict=True)]
