"""Cross-entropy of a linear map that never holds all its logits: equal to ``token_loss(output(hidden), words)``.

Letters: N words, R readout size, V vocabulary; e label smoothing. With hidden vector h_n, logits l_n = W h_n + b and
word w_n:

    L = sum_n [ log sum_v exp(l_nv) - (1 - e) l_{n w_n} - e/V sum_v l_nv ]
    dL/dl_nv = softmax(l_n)_v - (1 - e) [v = w_n] - e/V =: g_nv
    dL/dh_n = sum_v g_nv W_v,    dL/dW_v = sum_n g_nv h_n,    dL/db_v = sum_n g_nv

All of it is known as soon as a row's logits are, so the forward pass takes a few rows at a time and computes loss and
gradients before freeing their logits; the backward pass only multiplies by the incoming gradient.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from unrolled.models.fast.kernel import differentiated_once
from unrolled.models.fast.rows import MULTIPLE, rounded_up
from unrolled.training.loss import TokenLoss

CHUNK = {"cpu": 2**23, "accelerator": 2**26}
"""Logits held at a time, by device: few compared with all, but enough rows for fast matrix products."""
HALF_SCALE = 32
"""Small gradients would vanish in float16, so its products use 32 g; a power of two changes no digit."""


def linear_token_loss(hidden: Tensor, output: nn.Linear, words: Tensor, label_smoothing: float = 0.0) -> TokenLoss:
    """``token_loss(output(hidden), words, label_smoothing)`` for ``hidden (N, R)``, ``words (N,)``.

    Sums are in float32 or wider. ``objective`` can be differentiated once, with respect to ``hidden`` and the
    parameters of ``output``; ``negative_log_likelihood`` is for reporting and carries no gradient.
    """
    device, dtype = hidden.device.type, hidden.dtype
    if torch.is_autocast_enabled(device) and dtype is not torch.float64:
        dtype = torch.get_autocast_dtype(device)
    differentiable = torch.is_grad_enabled()
    objective, nll = _LinearTokenLoss.apply(  # type: ignore[no-untyped-call]
        hidden, output.weight, output.bias, words, label_smoothing, dtype, differentiable
    )
    return TokenLoss(objective, nll, words.numel())


class _LinearTokenLoss(torch.autograd.Function):
    """L, and -sum log p(w) without a gradient. Products are computed in ``dtype``, sums in float32 or wider."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        words: Tensor,
        label_smoothing: float,
        dtype: torch.dtype,
        differentiable: bool,
    ) -> tuple[Tensor, Tensor]:
        wide = dtype if dtype.itemsize >= 4 else torch.float32
        scale = HALF_SCALE if dtype is torch.float16 else 1
        inputs = (hidden, weight, bias)
        ctx.dtypes = [None if tensor is None else tensor.dtype for tensor in inputs]
        gradients = [
            _aligned(tensor, wide).zero_() if differentiable and needed and tensor is not None else None
            for tensor, needed in zip(inputs, ctx.needs_input_grad[:3], strict=True)
        ]
        d_hidden, d_weight, d_bias = gradients
        hidden, weight, bias = (None if tensor is None else tensor.to(dtype) for tensor in inputs)  # type: ignore[assignment]
        hidden = hidden if d_weight is None else _aligned(hidden, dtype).copy_(hidden)
        objective, nll = hidden.new_zeros((), dtype=wide), hidden.new_zeros((), dtype=wide)

        most = CHUNK["cpu" if hidden.device.type == "cpu" else "accelerator"]
        rows = max(1, most // len(weight))
        rows = rows if rows < MULTIPLE else rows - rows % MULTIPLE
        for start in range(0, len(words), rows):
            chunk = slice(start, start + rows)
            h, w = rounded_up(hidden[chunk]), words[chunk].unsqueeze(1)
            # l = W h + b
            logits = functional.linear(h, weight, bias)[: len(w)].to(wide)
            chunk_objective, chunk_nll, g = _loss_and_gradient(logits, w, label_smoothing)
            objective += chunk_objective
            nll += chunk_nll
            # dL/db_v = sum_n g_nv
            if d_bias is not None:
                d_bias += g.sum(dim=0)
            g = rounded_up(g.to(dtype) if scale == 1 else g.mul_(scale).to(dtype))
            # dL/dh_n = sum_v g_nv W_v
            if d_hidden is not None:
                product = torch.mm(g, weight)[: len(w)]
                d_hidden[chunk] = product if scale == 1 else product / scale
            # dL/dW_v = sum_n g_nv h_n
            if d_weight is not None and dtype is wide:
                d_weight.addmm_(g.t(), h)
            elif d_weight is not None:
                d_weight.add_(torch.mm(g.t(), h), alpha=1 / scale)

        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll)
        return objective, nll

    @staticmethod
    def backward(ctx: Any, d_objective: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        differentiated_once("linear_token_loss", "token_loss")
        gradients = (
            None if gradient is None else (gradient * d_objective).to(dtype)
            for gradient, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*gradients, None, None, None, None)


def _aligned(like: Tensor, dtype: torch.dtype) -> Tensor:
    """An empty tensor of the same shape whose rows begin at multiples of 64 bytes: otherwise, on a CPU, the product g^T
    h takes a third longer for a size such as 650. Between rows are zeros: with AMX oneDNN multiplies what is there by
    zero, which would be NaN for a NaN that was left in memory."""
    size = like.shape[-1]
    step = 64 // dtype.itemsize
    aligned = like.new_empty(*like.shape[:-1], -(-size // step) * step, dtype=dtype)
    aligned[..., size:] = 0
    return aligned[..., :size]


def _loss_and_gradient(logits: Tensor, words: Tensor, label_smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """``(N, V)``, ``(N, 1)`` -> L, -sum log p(w), and g ``(N, V)``, which overwrites the logits."""
    word_logits = logits.gather(1, words)
    mean_logits = logits.mean(dim=1, keepdim=True) if label_smoothing else word_logits
    # log sum_v exp(l_v) = m - log softmax(l)_m, m = max_v l_v, whose probability is never 0
    highest = logits.amax(dim=1, keepdim=True)
    probabilities = torch.softmax(logits, dim=1, out=logits if logits.device.type == "cpu" else None)
    log_normaliser = highest - probabilities.amax(dim=1, keepdim=True).log()
    # -log p(w) = log sum_v exp(l_v) - l_w
    nll = (log_normaliser - word_logits).sum()
    # (1 - e) (-log p(w)) + e/V sum_v (-log p(v))
    objective = (1 - label_smoothing) * nll + label_smoothing * (log_normaliser - mean_logits).sum()
    # g_v = softmax(l)_v - (1 - e) [v = w] - e/V
    g = probabilities
    g.scatter_add_(1, words, g.new_full((1, 1), label_smoothing - 1).expand_as(words))
    if label_smoothing:
        g.sub_(label_smoothing / g.shape[1])
    return objective, nll, g
