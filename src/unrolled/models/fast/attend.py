"""``attention.attend`` inside a step, forward and backward: soft-max over valid positions, weighted annotations."""

import torch
from torch import Tensor


def attend(energies: Tensor, annotations: Tensor, valid: Tensor, context: Tensor, weights: Tensor) -> None:
    """``(B, S)``, ``(B, S, C)``, bool ``(B, S)`` -> into ``context (B, C)`` and ``weights (B, S)``."""
    # alpha = softmax(e) over the valid positions
    weights.copy_(torch.softmax(energies.to(weights.dtype).masked_fill(~valid, float("-inf")), dim=1))
    # c = sum_j alpha_j h_j
    context.copy_(torch.bmm(weights.to(annotations.dtype).unsqueeze(1), annotations).squeeze(1))


def attend_backward(dcontext: Tensor, dweights: Tensor | None, weights: Tensor, annotations: Tensor) -> Tensor:
    """Gradients of context ``(B, C)`` and, from outside the step, of the weights ``(B, S)`` -> of the energies."""
    # dalpha_j = dc^T h_j + what comes from outside
    dalpha = torch.bmm(dcontext.to(annotations.dtype).unsqueeze(1), annotations.transpose(1, 2)).squeeze(1)
    dalpha = dalpha.to(weights.dtype) if dweights is None else dalpha + dweights
    # de_j = alpha_j (dalpha_j - sum_k alpha_k dalpha_k); padding has alpha = 0
    weighted = weights * dalpha
    return torch.addcmul(weighted, weights, weighted.sum(dim=1, keepdim=True), value=-1)


def annotations_gradient(dcontexts: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
    """What the contexts ask of the annotations, all steps at once: dh_j = sum_t alpha_tj dc_t.

    ``(T, B, C)``, ``(T, B, S)`` -> ``(B, S, C)``, the product in ``dtype``.
    """
    return torch.bmm(weights.to(dtype).permute(1, 2, 0), dcontexts.to(dtype).transpose(0, 1))
