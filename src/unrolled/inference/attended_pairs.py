"""Attention weights of sentence pairs under forced decoding."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from unrolled.alignment.links import Links
from unrolled.alignment.pieces import word_weights, words_of_ids, words_of_line
from unrolled.data.loader import pair_batches
from unrolled.metrics.alignment_scores import links_from_weights
from unrolled.models.attended import attended
from unrolled.models.fast.frozen import one_thread
from unrolled.models.translator import Translator
from unrolled.text.tokenizer import Tokenizer


class AttendedPair(NamedTuple):
    """A pair as the model reads it: its pieces, with </s> last on each side, and ``weights (T, S)``, float32, CPU.

    ``memory_norms (T, S)``: the norm of the attention's memory at each source position after each step, see `attended`;
    None without a memory.
    """

    source: list[str]
    target: list[str]
    weights: Tensor
    source_words: list[int]
    """The word that each source piece belongs to, -1 for none, without </s>."""
    target_words: list[int]
    """The same for the target."""
    memory_norms: Tensor | None = None
    """``(T, S)``, see `unrolled.models.attended`."""
    memory: Tensor | None = None
    """``(T, S, X)``, the memory of each source position after each step; None without one, or if not asked for."""
    gates: dict[str, Tensor] | None = None
    """By name ``(T, S, X)``, the gates of the memory; {} without gates, None if not asked for."""


def word_links(pair: AttendedPair) -> Links:
    """Links from every target word to the source word that it attends to most."""
    weights = word_weights(pair.weights.numpy(), [*pair.source_words, -1], [*pair.target_words, -1])
    return links_from_weights(weights)


@torch.no_grad()
def attend(
    model: Translator,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[Sequence[int]] | Sequence[str],
    *,
    device: torch.device,
    max_tokens: int,
    inside: bool = False,
) -> list[AttendedPair]:
    """For each line and its translation (text or ids), the pieces and the attention weights under forced decoding.

    ``inside``: with memory and gates.
    """
    ids_of = [target_tokenizer.encode([target])[0] if isinstance(target, str) else target for target in targets]
    pairs: dict[int, AttendedPair] = {}
    for batch in pair_batches(source_tokenizer.encode(sources), ids_of, max_tokens=max_tokens):
        ids = batch.to(device)
        assert ids.source is not None
        assert ids.source_lengths is not None
        with one_thread([model]):
            matrices = attended(model, ids.source, ids.source_lengths, ids.target_in, inside=inside)
        for row, line in enumerate(ids.index.tolist()):
            source = ids.source[row, : int(ids.source_lengths[row])].tolist()
            target = ids.target_out[row, : int(ids.target_lengths[row]) - 1].tolist()
            text = targets[line]
            words = (
                words_of_line(target_tokenizer, text) if isinstance(text, str) else words_of_ids(target_tokenizer, text)
            )
            real = (row, slice(len(target)), slice(len(source)))  # without padding
            pairs[line] = AttendedPair(
                source=source_tokenizer.pieces(source),
                target=target_tokenizer.pieces(target),
                weights=matrices.weights[real].float().cpu(),
                source_words=words_of_line(source_tokenizer, sources[line]),
                target_words=words,
                memory_norms=None if matrices.memory_norms is None else matrices.memory_norms[real].cpu(),
                memory=None if matrices.memory is None else matrices.memory[real].cpu(),
                gates=None
                if matrices.gates is None
                else {name: gate[real].cpu() for name, gate in matrices.gates.items()},
            )
    return [pairs[line] for line in range(len(sources))]
