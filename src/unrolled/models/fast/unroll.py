"""Run a decoder's recurrence over all steps, and back, as one function of autograd.

Letters: B batch, T target length, S source length, C annotation size, D decoder size, P size of the input products.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unrolled.models.fast.kernel import Kernel
from unrolled.models.fast.products import product_dtype
from unrolled.models.fast.recurrence import Recurrence
from unrolled.models.known_alignment import Given


def unroll(recurrence: Recurrence, s: Tensor, x: Tensor, given: Given | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """All steps from s_0 ``(B, D)`` and the input products ``(T, B, P)``, with contexts that are ``given`` or not.

    Returns the states that the readout looks at ``(B, T, D)``, contexts ``(B, T, C)`` and weights ``(B, T, S)``.
    Gradients flow to x, s_0 and the inputs of the parts, once: a second derivative raises a RuntimeError.
    """
    inputs = (tensor for part in recurrence.parts for tensor in part.inputs)
    known, linked = (None, None) if given is None else (tensor.transpose(0, 1) for tensor in given)
    states, contexts, weights = _Unrolled.apply(  # type: ignore[no-untyped-call]
        recurrence, product_dtype(s), x.to(s.dtype), s, None if known is None else known.to(s.dtype), linked, *inputs
    )
    return states[:, recurrence.looked_at], contexts, weights


class _Unrolled(torch.autograd.Function):
    """x ``(T, B, P)``, s_0 ``(B, D)``, what is given and the parts' inputs -> s_0 ... s_T, contexts, weights.

    Of the outputs the batch comes first.
    """

    @staticmethod
    def forward(
        ctx: Any,
        recurrence: Recurrence,
        dtype: torch.dtype,
        x: Tensor,
        s: Tensor,
        given: Tensor | None,
        linked: Tensor | None,
        *inputs: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """All steps, first to last."""
        steps, batch = x.shape[:2]
        with torch.autocast(s.device.type, enabled=False):
            recurrence.load(s, dtype)
            recurrence.given, recurrence.linked = given, linked
            for kernel in (recurrence, *recurrence.parts):
                kernel.begin(steps, s)
            _, length, annotation_size = recurrence.attention.annotations.shape
            states = s.new_empty(steps + 1, *s.shape)
            contexts = s.new_empty(steps, batch, annotation_size)
            # soft-max in half precision would not sum to one
            weights = s.new_empty(steps, batch, length, dtype=torch.promote_types(s.dtype, torch.float32))
            states[0] = s
            for t in range(steps):
                recurrence.forward(t, x[t], states[t], states[t + 1], contexts[t], weights[t])
        ctx.dtype, ctx.size, ctx.plan = dtype, x.shape[2], _plan(recurrence)
        ctx.save_for_backward(states, contexts, weights, linked, *_tensors(recurrence))
        ctx.set_materialize_grads(False)
        return states.transpose(0, 1), contexts.transpose(0, 1), weights.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dstates: Tensor | None, dcontexts: Tensor | None, dweights: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        """All steps, last to first."""
        states, contexts, weights, linked, *tensors = ctx.saved_tensors
        recurrence = _rebuild(ctx.plan, tensors)
        steps, zeros = len(contexts), torch.zeros_like
        dstates = zeros(states) if dstates is None else dstates.transpose(0, 1)
        dcontexts = zeros(contexts) if dcontexts is None else dcontexts.transpose(0, 1)
        with torch.autocast(states.device.type, enabled=False):
            recurrence.load(states[0], ctx.dtype)
            recurrence.linked, recurrence.dgiven = linked, None if linked is None else torch.empty_like(contexts)
            for kernel in (recurrence, *recurrence.parts):
                kernel.begin_backward(steps, states[0])
            dx = states.new_empty(*contexts.shape[:2], ctx.size)
            ds = dstates[steps].clone()
            for t in reversed(range(steps)):
                dalpha = None if dweights is None else dweights[:, t]
                ds = recurrence.backward(t, ds, dcontexts[t], dalpha, states[t], weights[t], dx[t])
                ds.add_(dstates[t])
            gradients = recurrence.part_gradients(states[:steps], contexts, weights, dx)
        return (None, None, dx, ds, recurrence.dgiven, None, *(gradient for part in gradients for gradient in part))


# Between forward and backward autograd holds all tensors, so that it frees them when they are done with; what is left
# of a recurrence is its plan: its class, and of every part the class and how many tensors are its inputs and its kept.
_Plan = tuple[type[Recurrence], int, list[tuple[type[Kernel], int, int]]]


def _plan(recurrence: Recurrence) -> _Plan:
    parts = [(type(part), len(part.inputs), len(part.kept)) for part in recurrence.parts]
    return type(recurrence), len(recurrence.kept), parts


def _tensors(recurrence: Recurrence) -> Iterable[Tensor]:
    yield from recurrence.kept
    for part in recurrence.parts:
        yield from (*part.inputs, *part.kept)


def _rebuild(plan: _Plan, tensors: Iterable[Tensor]) -> Recurrence:
    kind, kept, part_plans = plan
    tensors, parts = iter(tensors), []
    own = tuple(islice(tensors, kept))
    for part_kind, inputs, part_kept in part_plans:
        part = part_kind(*islice(tensors, inputs))
        part.kept = tuple(islice(tensors, part_kept))
        parts.append(part)
    recurrence = kind(*parts)
    recurrence.kept = own
    return recurrence
