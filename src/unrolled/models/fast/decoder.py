"""``models/decoder.py`` with its backward passes: ``CGRUDecoderKernel`` is the step of ``CGRUDecoder``, and so on.

A decoder's step consists of kernels: those of its attention, its cells and its linear layers. ``backward`` mirrors
``forward``, from the last line to the first.

Letters: B batch, T target length, S source length, I input size, O output size, C annotation size, D decoder size,
P size of the input products.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.models.fast import cuda_graphs
from unrolled.models.fast.kernel import AttentionKernel, CellKernel, Kernel, differentiated_once
from unrolled.models.fast.products import Product, product_dtype, weight_gradient
from unrolled.models.known_alignment import Given

Gradients = tuple[Tensor | None, ...]


class LinearKernel(Kernel):
    """A linear map ``(B, I) -> (B, O)`` in every step. Inputs: W ``(O, I)`` and, if there is one, b ``(O,)``."""

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        weight, *bias = self.inputs
        self.bias = bias[0] if bias else None
        self.weight = weight.to(dtype)

    def begin(self, steps: int, state: Tensor) -> None:
        """Nothing to keep: x is kept by whatever computed it."""
        self.product = Product(self.weight, rows=len(state), times=steps, bias=self.bias)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.product_back = Product(self.weight.t(), rows=len(state), times=steps)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, I)`` -> ``(B, O)``."""
        # y = W x + b
        return self.product(x)

    def backward(self, dy: Tensor) -> Tensor:
        """``(B, O)`` -> ``(B, I)``."""
        # dx = W^T dy
        return self.product_back(dy)

    def gradients(self, dy: Tensor, x: Tensor) -> tuple[Tensor, ...]:
        """``(T, B, O)``, ``(T, B, I)`` -> dW = sum_t dy_t x_t^T, db = sum_t dy_t."""
        dweight = weight_gradient(dy, x, self.weight.dtype)
        return (dweight,) if self.bias is None else (dweight, dy.sum(dim=(0, 1)))


class DecoderKernel(Kernel):
    """The contract: a decoder's step made of the kernels ``parts``, in the order in which the constructor takes them.

    ``looked_at``: which of the states s_0 ... s_T the readout looks at. ``given (T, B, C)``: contexts that are not the
    attention's where ``linked (T, B, 1)`` is True, see `unrolled.models.known_alignment`; their gradients are
    ``dgiven``.
    """

    parts: tuple[Kernel, ...]
    attention: AttentionKernel
    looked_at: slice
    given: Tensor | None = None
    linked: Tensor | None = None
    dgiven: Tensor | None = None

    def __init__(self, *parts: Kernel) -> None:
        super().__init__()
        self.parts = parts

    def attend(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        """``(B, Q)`` -> c_t, given or the attention's, into ``context (B, C)``, alpha_t into ``weights (B, S)``."""
        self.attention.forward(t, query, context, weights)
        if self.given is not None and self.linked is not None:
            context.copy_(torch.where(self.linked[t], self.given[t], context))

    def attend_backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        """Gradients of c_t and alpha_t -> dquery ``(B, Q)``; a given context sends no gradient to the attention."""
        if self.linked is not None and self.dgiven is not None:
            torch.mul(dcontext, self.linked[t], out=self.dgiven[t])
            dcontext = dcontext.masked_fill(self.linked[t], 0)
        return self.attention.backward(t, dcontext, dweights, weights)

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """The inputs are those of the parts."""
        for inner in self.parts:
            inner.load(state, dtype)

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        """Input products ``(B, P)`` and s_{t-1} ``(B, D)`` -> s_t into ``out``, c and alpha into theirs."""
        raise NotImplementedError

    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        """Gradients of the outputs, s_{t-1}, alpha -> dx into ``dx (B, P)``; returns ds_{t-1}, overwrites ``ds``."""
        raise NotImplementedError

    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        """s_0 ... s_{T-1}, contexts, weights and dx, all ``(T, B, ...)`` -> the gradients of every part's inputs."""
        raise NotImplementedError


class CGRUDecoderKernel(DecoderKernel):
    """``decoder.CGRUDecoder``. Kept: s' ``(T, B, D)``."""

    looked_at = slice(1, None)

    def __init__(self, rec1: CellKernel, attention: AttentionKernel, project: LinearKernel, rec2: CellKernel) -> None:
        super().__init__(rec1, attention, project, rec2)
        self.rec1, self.attention, self.project, self.rec2 = rec1, attention, project, rec2

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        self.kept = (state.new_empty(steps, *state.shape),)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """The gradients of REC2's input products ``(T, B, 3D)``."""
        self.dproducts = state.new_empty(steps, len(state), 3 * state.shape[1])

    @override
    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        s_prime = self.kept[0][t]
        # s'_j = REC1(y_{j-1}, s_{j-1})
        self.rec1.forward(t, x, s, out=s_prime)
        # c_j = ATT(C, s'_j)
        self.attend(t, s_prime, context, weights)
        # s_j = REC2(s'_j, c_j)
        self.rec2.forward(t, self.project.forward(context), s_prime, out=out)

    @override
    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        s_prime, dproducts = self.kept[0][t], self.dproducts[t]
        # s_j = REC2(s'_j, c_j)
        ds_prime = self.rec2.backward(t, ds, s_prime, dproducts)
        dcontext = dcontext + self.project.backward(dproducts)
        # c_j = ATT(C, s'_j)
        ds_prime.add_(self.attend_backward(t, dcontext, dweights, weights))
        # s'_j = REC1(y_{j-1}, s_{j-1})
        return self.rec1.backward(t, ds_prime, s, dx)

    @override
    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        (s_primes,) = self.kept
        return (
            self.rec1.gradients(states, dx),
            self.attention.gradients(s_primes, weights),
            self.project.gradients(self.dproducts, contexts),
            self.rec2.gradients(s_primes, self.dproducts),
        )


class RNNsearchDecoderKernel(DecoderKernel):
    """``decoder.RNNsearchDecoder``."""

    looked_at = slice(None, -1)

    def __init__(self, attention: AttentionKernel, project: LinearKernel, cell: CellKernel) -> None:
        super().__init__(attention, project, cell)
        self.attention, self.project, self.cell = attention, project, cell

    def begin(self, steps: int, state: Tensor) -> None:
        """Nothing to keep."""

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """Nothing to allocate."""

    @override
    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        # c_i = ATT(s_{i-1}, h)
        self.attend(t, s, context, weights)
        # s_i = GRU(W E y + C c, s_{i-1})
        self.cell.forward(t, self.project.forward(context).add_(x), s, out=out)

    @override
    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        # s_i = GRU(W E y + C c, s_{i-1})
        ds = self.cell.backward(t, ds, s, dx)
        dcontext = dcontext + self.project.backward(dx)
        # c_i = ATT(s_{i-1}, h)
        return ds.add_(self.attend_backward(t, dcontext, dweights, weights))

    @override
    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        return (
            self.attention.gradients(states, weights),
            self.project.gradients(dx, contexts),
            self.cell.gradients(states, dx),
        )


class BahdanauDecoderKernel(DecoderKernel):
    """``decoder.BahdanauDecoder``. Kept: k ``(T, B, D)``."""

    looked_at = slice(1, None)

    def __init__(
        self, attention: AttentionKernel, combine: LinearKernel, project: LinearKernel, cell: CellKernel
    ) -> None:
        super().__init__(attention, combine, project, cell)
        self.attention, self.combine, self.project, self.cell = attention, combine, project, cell

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        self.kept = (state.new_empty(steps, *state.shape),)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """The gradients of the cell's input products ``(T, B, gates * D)``."""
        self.dproducts = state.new_empty(steps, len(state), self.cell.gates * state.shape[1])

    @override
    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        # c_i = ATT(s_{i-1}, h)
        self.attend(t, s, context, weights)
        # k = ReLU(L1_y E y + L1_c c)
        k = torch.add(x, self.combine.forward(context), out=self.kept[0][t]).relu_()
        # s_i = RNN(k, s_{i-1})
        self.cell.forward(t, self.project.forward(k), s, out=out)

    @override
    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        k, dproducts = self.kept[0][t], self.dproducts[t]
        # s_i = RNN(k, s_{i-1})
        ds = self.cell.backward(t, ds, s, dproducts)
        # k = ReLU(L1_y E y + L1_c c)
        torch.mul(self.project.backward(dproducts), k > 0, out=dx)
        dcontext = dcontext + self.combine.backward(dx)
        # c_i = ATT(s_{i-1}, h)
        return ds.add_(self.attend_backward(t, dcontext, dweights, weights))

    @override
    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        (ks,) = self.kept
        return (
            self.attention.gradients(states, weights),
            self.combine.gradients(dx, contexts),
            self.project.gradients(self.dproducts, ks),
            self.cell.gradients(states, self.dproducts),
        )


def unroll(kernel: DecoderKernel, s: Tensor, x: Tensor, given: Given | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """All steps from s_0 ``(B, D)`` and the input products ``(T, B, P)``, with or without ``given`` contexts.

    Returns the states that the readout looks at ``(B, T, D)``, contexts ``(B, T, C)`` and weights ``(B, T, S)``.
    Gradients flow to x, s_0 and the inputs of the parts, once: a second derivative raises a RuntimeError.
    """
    inputs = [tensor for inner in kernel.parts for tensor in inner.inputs]
    known, linked = (None, None) if given is None else (tensor.transpose(0, 1) for tensor in given)
    fixed = [isinstance(tensor, nn.Parameter) for tensor in inputs]
    states, contexts, weights = _UnrolledDecoder.apply(  # type: ignore[no-untyped-call]
        kernel, product_dtype(s), fixed, x.to(s.dtype), s, None if known is None else known.to(s.dtype), linked, *inputs
    )
    return states[:, kernel.looked_at], contexts, weights


class _UnrolledDecoder(torch.autograd.Function):
    """x ``(T, B, P)``, s_0 ``(B, D)``, what is given and the parts' inputs -> s_0 ... s_T, contexts, weights.

    The outputs have the batch first. ``fixed``: which of the parts' inputs are parameters.
    """

    @staticmethod
    def forward(
        ctx: Any,
        kernel: DecoderKernel,
        dtype: torch.dtype,
        fixed: list[bool],
        x: Tensor,
        s: Tensor,
        given: Tensor | None,
        linked: Tensor | None,
        *inputs: Tensor,
    ) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtype = dtype
        ctx.use = cuda_graphs.use(_loop(kernel, dtype, fixed, (x, s, given, linked, *inputs)), x.device)
        if ctx.use is None:
            results = _forward(kernel, dtype, x, s, given, linked)
            ctx.plan, ctx.size = _plan(kernel), x.shape[2]
            ctx.save_for_backward(*results, linked, *_tensors(kernel))
        else:
            results = ctx.use.results
        return tuple(result.transpose(0, 1) for result in results)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        differentiated_once("a decoder's unroll", "unroll_plainly")
        gradients = tuple(None if gradient is None else gradient.transpose(0, 1) for gradient in gradients)
        if ctx.use is not None:
            return (None, None, None, *ctx.use.backward(gradients))
        states, contexts, weights, linked, *tensors = ctx.saved_tensors
        kernel = _rebuild(ctx.plan, tensors)
        return (
            None,
            None,
            None,
            *_backward(kernel, ctx.dtype, ctx.size, (states, contexts, weights), linked, gradients),
        )


Results = tuple[Tensor, Tensor, Tensor]


def _forward(
    kernel: DecoderKernel, dtype: torch.dtype, x: Tensor, s: Tensor, given: Tensor | None, linked: Tensor | None
) -> Results:
    """All steps, first to last: s_0 ... s_T ``(T + 1, B, D)``, contexts ``(T, B, C)``, weights ``(T, B, S)``."""
    steps, batch = x.shape[:2]
    with torch.autocast(s.device.type, enabled=False):
        kernel.load(s, dtype)
        kernel.given, kernel.linked = given, linked
        for inner in (kernel, *kernel.parts):
            inner.begin(steps, s)
        _, length, annotation_size = kernel.attention.annotations.shape
        states = s.new_empty(steps + 1, *s.shape)
        contexts = s.new_empty(steps, batch, annotation_size)
        # soft-max in half precision would not sum to one
        weights = s.new_empty(steps, batch, length, dtype=torch.promote_types(s.dtype, torch.float32))
        states[0] = s
        for t in range(steps):
            kernel.forward(t, x[t], states[t], states[t + 1], contexts[t], weights[t])
    return states, contexts, weights


def _backward(
    kernel: DecoderKernel,
    dtype: torch.dtype,
    size: int,
    results: Results,
    linked: Tensor | None,
    gradients: Sequence[Tensor | None],
) -> Gradients:
    """All steps, last to first: the gradients of x, s_0, what is given and the parts' inputs, from the results'.

    ``size``: P.
    """
    states, contexts, weights = results
    dstates, dcontexts, dweights = gradients
    steps, zeros = len(contexts), torch.zeros_like
    dstates = zeros(states) if dstates is None else dstates
    dcontexts = zeros(contexts) if dcontexts is None else dcontexts
    with torch.autocast(states.device.type, enabled=False):
        kernel.load(states[0], dtype)
        kernel.linked, kernel.dgiven = linked, None if linked is None else torch.empty_like(contexts)
        for inner in (kernel, *kernel.parts):
            inner.begin_backward(steps, states[0])
        dx = states.new_empty(*contexts.shape[:2], size)
        ds = dstates[steps].clone()
        for t in reversed(range(steps)):
            dalpha = None if dweights is None else dweights[t]
            ds = kernel.backward(t, ds, dcontexts[t], dalpha, states[t], weights[t], dx[t])
            ds.add_(dstates[t])
        of_parts = kernel.part_gradients(states[:steps], contexts, weights, dx)
    return (dx, ds, kernel.dgiven, None, *(gradient for of_part in of_parts for gradient in of_part))


def _loop(
    kernel: DecoderKernel, dtype: torch.dtype, fixed: list[bool], inputs: Sequence[Tensor | None]
) -> cuda_graphs.Loop:
    """Both passes over all steps, as a function of x, s_0, what is given and the parts' inputs."""
    plan = _plan(kernel)

    def forward(inputs: list[Tensor | None]) -> tuple[Results, Any]:
        x, s, given, linked, *of_parts = inputs
        assert x is not None
        assert s is not None
        fresh = _rebuild(plan, (tensor for tensor in of_parts if tensor is not None))
        results = _forward(fresh, dtype, x, s, given, linked)
        return results, (_plan(fresh), x.shape[2], results, linked, list(_tensors(fresh)))

    def backward(kept: Any, gradients: list[Tensor]) -> Gradients:
        plan, size, results, linked, tensors = kept
        return _backward(_rebuild(plan, tensors), dtype, size, results, linked, gradients)

    return cuda_graphs.Loop((plan, dtype), inputs, [False] * 4 + fixed, forward, backward)


# Between forward and backward autograd holds all tensors, so that it can free them after use. All else that is needed
# to rebuild the kernel is its plan: its class, and for every part the class and the numbers of input and kept tensors.
_Plan = tuple[type[DecoderKernel], int, tuple[tuple[type[Kernel], int, int], ...]]


def _plan(kernel: DecoderKernel) -> _Plan:
    parts = tuple((type(inner), len(inner.inputs), len(inner.kept)) for inner in kernel.parts)
    return type(kernel), len(kernel.kept), parts


def _tensors(kernel: DecoderKernel) -> Iterable[Tensor]:
    yield from kernel.kept
    for inner in kernel.parts:
        yield from (*inner.inputs, *inner.kept)


def _rebuild(plan: _Plan, tensors: Iterable[Tensor]) -> DecoderKernel:
    kind, kept, part_plans = plan
    tensors, parts = iter(tensors), []
    of_decoder = tuple(islice(tensors, kept))
    for part_kind, inputs, part_kept in part_plans:
        inner = part_kind(*islice(tensors, inputs))
        inner.kept = tuple(islice(tensors, part_kept))
        parts.append(inner)
    kernel = kind(*parts)
    kernel.kept = of_decoder
    return kernel
