"""Attention that mixes where to look with what to look for. Contract and letters are those of `attention.py`."""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus
from typing_extensions import override

from unrolled.models.attention import Attention, Nested, add
from unrolled.models.fast.squash import tanh

LEAST_DEVIATION = 0.27
"""The smallest standard deviation of the location attention, in words: the nearest word then gets all but 0.2%."""
STEEPNESS = 20.0
"""How steep stairs and gates are; they must be nearly whole numbers, as fractions of a word would add up to words."""
LEAK = 0.01
"""The slope of the mean outside the sentence."""


class ExtrapolatingLocationAttention(Attention):
    """Location and content attention, mixed by a gate (Dubois et al. 2020, section 4; Chowdhury & Caragea 2023).

    alpha_ij = m_i lambda_ij + (1 - m_i) gamma_ij, m_i = sigma(W_m s).
    Content: gamma_ij = softmax_j(v_a^T tanh(W_a s + U_a h_j)).
    Location: lambda_ij ~ exp(-(p_j - mu_i)^2 / (2 sigma_i^2)), p_j = (j - 1) / (n - 1) from 0 to 1 in n source words.
    With w_i = ReLU(W_l s) and (rho_1, rho_2, rho_3) = W_rho w_i
    mu_i = clamp(stairs(rho_1) / (n - 1) + sigma(20 (rho_2 + 1/2)) a_{i-1} + sigma(20 (rho_3 - 1/2))),
    sigma_i = (softplus(W_sigma w_i) + 0.27) / n, and a_i = sum_j lambda_ij p_j, a_0 = 0, is where it looked: mu_i is a
    whole number of words from there or, with the first gate shut or the second open, from the first or the last word.
    clamp keeps a slope of 0.01 outside 0 to 1. Our changes, so that it learns to walk and then keeps its place
    (docs/lookup.md): no GRU between s and w; steep gates that begin with a walk; a_i from lambda, not alpha; softplus
    for a ReLU; additive content attention.
    """

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.keys = nn.Linear(annotation_size, size)  # U_a and a bias
        self.energy = nn.Linear(size, 1, bias=False)  # v_a
        self.input = nn.Linear(query_size, size)  # W_l
        self.mean = nn.Linear(size, 3)  # W_rho
        self.deviation = nn.Linear(size, 1)  # W_sigma
        self.mixture = nn.Linear(query_size, 1)  # W_m

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys U_a h_j ``(B, S, A)``, p_j ``(B, S)``, n ``(B, 1)``, annotations, valid."""
        words = valid.sum(dim=1, keepdim=True).to(self.energy.weight.dtype)
        places = torch.arange(valid.shape[1], device=valid.device) / (words - 1).clamp(min=1)
        return (self.keys(annotations), places, words, annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """a_0 = 0 ``(B, 1)``."""
        _, _, words, _, _ = prepared
        return (torch.zeros_like(words),)

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """One step; the memory is the mean position a ``(N, 1)``."""
        keys, places, words, annotations, valid = prepared
        (looked_at,) = state
        # lambda_ij ~ exp(-(p_j - mu_i)^2 / (2 sigma_i^2))
        mu, deviation = self.gaussian(torch.relu(self.input(query)), looked_at, words)
        nearness = -((places.unsqueeze(1) - mu.unsqueeze(2)) ** 2) / (2 * deviation.unsqueeze(2) ** 2)
        by_location = normalised(nearness.flatten(0, 1), valid)
        # gamma_ij = softmax_j(v_a^T tanh(W_a s + U_a h_j))
        by_content = normalised(self.energy(tanh(add(self.query(query), keys))).squeeze(-1), valid)
        # alpha_ij = m_i lambda_ij + (1 - m_i) gamma_ij
        m = torch.sigmoid(self.mixture(query).to(by_location.dtype))
        weights = torch.lerp(by_content.to(m.dtype), by_location, m)
        # a_i = sum_j lambda_ij p_j
        looked_at = mean_place(by_location, places).to(looked_at.dtype)
        return average(weights, annotations), weights, (looked_at,)

    def gaussian(self, w: Tensor, looked_at: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """mu_i and sigma_i ``(B, K)`` of K hypotheses from w ``(B K, A)``, a_{i-1} ``(B K, 1)`` and n ``(B, 1)``."""
        sentences = words.shape[0]
        rho = self.mean(w).to(words.dtype).unflatten(0, (sentences, -1))
        # mu_i = clamp(stairs(rho_1) / (n - 1) + sigma(20 (rho_2 + 1/2)) a_{i-1} + sigma(20 (rho_3 - 1/2)))
        steps = soft_stairs(rho[..., 0]) / (words - 1).clamp(min=1)
        kept = torch.sigmoid(STEEPNESS * (rho[..., 1] + 0.5)) * looked_at.unflatten(0, (sentences, -1)).squeeze(-1)
        mu = steps + kept + torch.sigmoid(STEEPNESS * (rho[..., 2] - 0.5))
        inside = mu.clamp(0, 1)
        # sigma_i = (softplus(W_sigma w_i) + 0.27) / n
        deviation = softplus(self.deviation(w).to(words.dtype)).unflatten(0, (sentences, -1)).squeeze(-1)
        return inside + LEAK * (mu - inside), (deviation + LEAST_DEVIATION) / words


def normalised(energies: Tensor, valid: Tensor) -> Tensor:
    """The soft-max over the valid positions: ``(N, S)``, bool ``(B, S)`` -> weights ``(N, S)``, at least float32."""
    energies = (energies.float() if energies.dtype.itemsize < 4 else energies).unflatten(0, (valid.shape[0], -1))
    return torch.softmax(energies.masked_fill(~valid.unsqueeze(1), float("-inf")), dim=-1).flatten(0, 1)


def average(weights: Tensor, values: Tensor) -> Tensor:
    """The weighted sum of the values: ``(N, S)``, ``(B, S, X)`` -> ``(N, X)``."""
    return torch.bmm(weights.to(values.dtype).unflatten(0, (values.shape[0], -1)), values).flatten(0, 1)


def mean_place(weights: Tensor, places: Tensor) -> Tensor:
    """sum_j lambda_ij p_j: ``(N, S)``, ``(B, S)`` -> ``(N, 1)``.

    No matrix product, which autocast would compute in bfloat16: its 8 bits cannot tell the words of a long sentence
    apart.
    """
    return (weights.unflatten(0, (places.shape[0], -1)) * places.unsqueeze(1)).sum(dim=-1).flatten().unsqueeze(1)


def soft_stairs(x: Tensor) -> Tensor:
    """floor(x) + sigma(20 (x - floor(x) - 1/2)): nearly a whole number, with a gradient."""
    floor = x.detach().floor()
    return floor + torch.sigmoid(STEEPNESS * (x - floor - 0.5))
