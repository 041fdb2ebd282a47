"""Run a recurrent cell over all steps, and back, as one function of autograd.

Letters: B batch, T steps, D state size, P size of the input products.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unrolled.models.fast.kernel import CellKernel
from unrolled.models.fast.products import product_dtype


def unroll_cell(kernel: CellKernel, s: Tensor, x: Tensor) -> Tensor:
    """All steps from s_0 ``(B, D)`` and the input products ``(T, B, P)``: the states s_1 ... s_T ``(B, T, D)``.

    Gradients flow to x, s_0 and the inputs of the kernel, once: a second derivative raises a RuntimeError.
    """
    return torch.as_tensor(
        _UnrolledCell.apply(kernel, product_dtype(s), x.to(s.dtype), s, *kernel.inputs)  # type: ignore[no-untyped-call]
    )[:, 1:]


class _UnrolledCell(torch.autograd.Function):
    """x ``(T, B, P)``, s_0 ``(B, D)`` and the kernel's inputs -> s_0 ... s_T, batch first."""

    @staticmethod
    def forward(ctx: Any, kernel: CellKernel, dtype: torch.dtype, x: Tensor, s: Tensor, *inputs: Tensor) -> Tensor:
        """All steps, first to last."""
        steps = len(x)
        with torch.autocast(s.device.type, enabled=False):
            kernel.load(s, dtype)
            kernel.begin(steps, s)
            states = s.new_empty(steps + 1, *s.shape)
            states[0] = s
            for t in range(steps):
                kernel.forward(t, x[t], states[t], states[t + 1])
        # between forward and backward autograd holds all tensors, so that it frees them when they are done with
        ctx.dtype, ctx.size, ctx.kind, ctx.inputs = dtype, x.shape[2], type(kernel), len(inputs)
        ctx.save_for_backward(states, *inputs, *kernel.kept)
        return states.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        """All steps, last to first."""
        states, *tensors = ctx.saved_tensors
        kernel = ctx.kind(*tensors[: ctx.inputs])
        kernel.kept = tuple(tensors[ctx.inputs :])
        dstates, steps = dstates.transpose(0, 1), len(states) - 1
        with torch.autocast(states.device.type, enabled=False):
            kernel.load(states[0], ctx.dtype)
            kernel.begin_backward(steps, states[0])
            dx = states.new_empty(steps, states.shape[1], ctx.size)
            ds = dstates[steps].clone()
            for t in reversed(range(steps)):
                ds = kernel.backward(t, ds, states[t], dx[t]).add_(dstates[t])
            gradients = kernel.gradients(states[:steps], dx)
        return (None, None, dx, ds, *gradients)
