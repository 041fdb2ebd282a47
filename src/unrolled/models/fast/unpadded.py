"""The energies of an additive attention, skipping most of the padding: for searches on a CPU.

B sentences, K hypotheses of each, S source length, A attention size.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from unrolled.models.fast.squash import QUICK_TANH, quick

CACHED = 2**18
"""How many numbers stay in a core's cache from one operation to the next."""


def energies_of_sums(energy: nn.Linear, queries: Tensor, keys: Tensor, valid: Tensor) -> Tensor:
    """v^T tanh(q_k + y_j) for each hypothesis k of a sentence and each of its positions j, with v ``(1, A)``.

    ``(B K, A)``, ``(B, S, A)``, bool ``(B, S)`` -> ``(B K, S)``. Without gradients on a CPU, takes a few sentences at a
    time, whose sums stay in the cache, and returns any finite number where a position is not valid.
    """
    x, y = queries.unflatten(0, (keys.shape[0], -1)).unsqueeze(2), keys.unsqueeze(1)
    # an exported graph does not know lengths
    if not quick(energy.weight, y) or torch.compiler.is_compiling() or keys.shape[1] == 0:
        return energy(torch.tanh(x + y)).flatten(0, 1).squeeze(-1)
    # v^T tanh(q + y) = 2 v^T sigma(2 q + 2 y) - v^T 1, which is quicker where tanh is not
    hypotheses, size = x.shape[1], x.shape[3]
    scale = 1 if QUICK_TANH else 2
    scaled, offset = scale * x, (scale - 1) * energy.weight.sum()
    cache = y.new_empty(max(CACHED, hypotheses * keys.shape[1] * size))
    energies = y.new_zeros(len(keys), hypotheses, keys.shape[1])
    for first, last, length in _groups(valid, CACHED // max(1, hypotheses * size)):
        u = cache[: (last - first) * hypotheses * length * size].view(last - first, hypotheses, length, size)
        torch.add(scaled[first:last], y[first:last, :, :length], alpha=scale, out=u)
        u = u.tanh_() if QUICK_TANH else u.sigmoid_()
        products = torch.mv(u.view(-1, size), energy.weight[0]).view(u.shape[:-1])
        torch.sub(scale * products, offset, out=energies[first:last, :, :length])
    return energies.flatten(0, 1)


def _groups(valid: Tensor, most: int) -> Iterator[tuple[int, int, int]]:
    """Groups of neighbouring sentences, at most ``most`` positions each when cut to their longest sentence: (first
    sentence, last + 1, length)."""
    ends = valid * torch.arange(1, valid.shape[1] + 1, device=valid.device)
    first = longest = 0
    for number, length in enumerate(ends.amax(dim=1).tolist()):
        if number > first and (number + 1 - first) * max(longest, length) > most:
            yield first, number, longest
            first = number
            longest = 0
        longest = max(longest, length)
    if len(valid):
        yield first, len(valid), longest
