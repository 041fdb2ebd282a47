"""The decoders' steps, made of kernels, forward and backward: read ``backward`` beside ``forward``, from below.

Letters: B batch, T target length, S source length, C annotation size, D decoder size, P size of the input products.
"""

import torch
from torch import Tensor

from unrolled.models.fast.kernel import AttentionKernel, CellKernel, Kernel
from unrolled.models.fast.linear import LinearKernel

Gradients = tuple[Tensor | None, ...]


class Recurrence(Kernel):
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
        """Gradients of c_t and alpha_t -> dquery ``(B, Q)``; a given context asks nothing of the attention."""
        if self.linked is not None and self.dgiven is not None:
            torch.mul(dcontext, self.linked[t], out=self.dgiven[t])
            dcontext = dcontext.masked_fill(self.linked[t], 0)
        return self.attention.backward(t, dcontext, dweights, weights)

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """The inputs are those of the parts."""
        for part in self.parts:
            part.load(state, dtype)

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


class CGRURecurrence(Recurrence):
    """``decoder.CGRUDecoder``. Kept: s' ``(T, B, D)``."""

    looked_at = slice(1, None)

    def __init__(self, rec1: CellKernel, attention: AttentionKernel, project: LinearKernel, rec2: CellKernel) -> None:
        super().__init__(rec1, attention, project, rec2)
        self.rec1, self.attention, self.project, self.rec2 = rec1, attention, project, rec2

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.kept = (state.new_empty(steps, *state.shape),)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """The gradients of REC2's input products ``(T, B, 3D)``."""
        self.dproducts = state.new_empty(steps, len(state), 3 * state.shape[1])

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        """See the contract."""
        s_prime = self.kept[0][t]
        # s'_j = REC1(y_{j-1}, s_{j-1})
        self.rec1.forward(t, x, s, out=s_prime)
        # c_j = ATT(C, s'_j)
        self.attend(t, s_prime, context, weights)
        # s_j = REC2(s'_j, c_j)
        self.rec2.forward(t, self.project.forward(context), s_prime, out=out)

    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        """See the contract."""
        s_prime, dproducts = self.kept[0][t], self.dproducts[t]
        # s_j = REC2(s'_j, c_j)
        ds_prime = self.rec2.backward(t, ds, s_prime, dproducts)
        dcontext = dcontext + self.project.backward(dproducts)
        # c_j = ATT(C, s'_j)
        ds_prime.add_(self.attend_backward(t, dcontext, dweights, weights))
        # s'_j = REC1(y_{j-1}, s_{j-1})
        return self.rec1.backward(t, ds_prime, s, dx)

    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        """See the contract."""
        (s_primes,) = self.kept
        return (
            self.rec1.gradients(states, dx),
            self.attention.gradients(s_primes, weights),
            self.project.gradients(self.dproducts, contexts),
            self.rec2.gradients(s_primes, self.dproducts),
        )


class RNNsearchRecurrence(Recurrence):
    """``decoder.RNNsearchDecoder``."""

    looked_at = slice(None, -1)

    def __init__(self, attention: AttentionKernel, project: LinearKernel, cell: CellKernel) -> None:
        super().__init__(attention, project, cell)
        self.attention, self.project, self.cell = attention, project, cell

    def begin(self, steps: int, state: Tensor) -> None:
        """Nothing to keep."""

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """Nothing to allocate."""

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        """See the contract."""
        # c_i = ATT(s_{i-1}, h)
        self.attend(t, s, context, weights)
        # s_i = GRU(W E y + C c, s_{i-1})
        self.cell.forward(t, self.project.forward(context).add_(x), s, out=out)

    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        """See the contract."""
        # s_i = GRU(W E y + C c, s_{i-1})
        ds = self.cell.backward(t, ds, s, dx)
        dcontext = dcontext + self.project.backward(dx)
        # c_i = ATT(s_{i-1}, h)
        return ds.add_(self.attend_backward(t, dcontext, dweights, weights))

    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        """See the contract."""
        return (
            self.attention.gradients(states, weights),
            self.project.gradients(dx, contexts),
            self.cell.gradients(states, dx),
        )


class BahdanauRecurrence(Recurrence):
    """``decoder.BahdanauDecoder``. Kept: k ``(T, B, D)``."""

    looked_at = slice(1, None)

    def __init__(
        self, attention: AttentionKernel, combine: LinearKernel, project: LinearKernel, cell: CellKernel
    ) -> None:
        super().__init__(attention, combine, project, cell)
        self.attention, self.combine, self.project, self.cell = attention, combine, project, cell

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.kept = (state.new_empty(steps, *state.shape),)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """The gradients of the cell's input products ``(T, B, gates * D)``."""
        self.dproducts = state.new_empty(steps, len(state), self.cell.gates * state.shape[1])

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor, context: Tensor, weights: Tensor) -> None:
        """See the contract."""
        # c_i = ATT(s_{i-1}, h)
        self.attend(t, s, context, weights)
        # k = ReLU(L1_y E y + L1_c c)
        k = torch.add(x, self.combine.forward(context), out=self.kept[0][t]).relu_()
        # s_i = RNN(k, s_{i-1})
        self.cell.forward(t, self.project.forward(k), s, out=out)

    def backward(
        self, t: int, ds: Tensor, dcontext: Tensor, dweights: Tensor | None, s: Tensor, weights: Tensor, dx: Tensor
    ) -> Tensor:
        """See the contract."""
        k, dproducts = self.kept[0][t], self.dproducts[t]
        # s_i = RNN(k, s_{i-1})
        ds = self.cell.backward(t, ds, s, dproducts)
        # k = ReLU(L1_y E y + L1_c c)
        torch.mul(self.project.backward(dproducts), k > 0, out=dx)
        dcontext = dcontext + self.combine.backward(dx)
        # c_i = ATT(s_{i-1}, h)
        return ds.add_(self.attend_backward(t, dcontext, dweights, weights))

    def part_gradients(self, states: Tensor, contexts: Tensor, weights: Tensor, dx: Tensor) -> tuple[Gradients, ...]:
        """See the contract."""
        (ks,) = self.kept
        return (
            self.attention.gradients(states, weights),
            self.combine.gradients(dx, contexts),
            self.project.gradients(self.dproducts, ks),
            self.cell.gradients(states, self.dproducts),
        )
