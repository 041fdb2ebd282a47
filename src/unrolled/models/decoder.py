"""Decoders: one step of target-side recurrence around an attention, one class per equation.

Letters: B batch, T target length, S source length, E embedding size, C annotation size, D decoder size.

Three phases, as in dl4mt and Nematus: ``start`` prepares a sentence once, ``advance`` is what is truly recurrent, and
``project`` makes the input-side products of all steps at once. The plain loop over ``step`` is the definition;
``unroll`` hoists the products, in training with a hand-written backward pass (``fast/decoder.py``), and must equal it.
``features`` is what the readout looks at: (state, context).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.errors import UserError
from unrolled.models.attention import Attention
from unrolled.models.cells import GRUResetAfter, GRUResetAfterTwoBiases, GRUResetBefore, make_cell
from unrolled.models.encoder import mean_annotation
from unrolled.models.fast.decoder import (
    BahdanauDecoderKernel,
    CGRUDecoderKernel,
    DecoderKernel,
    LinearKernel,
    RNNsearchDecoderKernel,
    unroll,
)
from unrolled.models.fast.recomputed import Recomputed
from unrolled.models.known_alignment import Given, read, unbind
from unrolled.models.state import PerSentence

Nested = tuple[Any, ...]
Features = tuple[Tensor, Tensor]


class Decoder(nn.Module):
    """The contract; a decoder defines ``start``, ``project`` and ``advance``."""

    def start(self, annotations: Tensor, valid: Tensor) -> Nested:
        """``(B, S, C)``, bool ``(B, S)`` -> the state before the first target word."""
        raise NotImplementedError

    def project(self, embeddings: Tensor) -> Tensor:
        """Input-side products for any number of steps, ``(..., E) -> (..., P)``."""
        raise NotImplementedError

    def advance(self, projected: Tensor, state: Nested, given: Given | None = None) -> tuple[Features, Tensor, Nested]:
        """One step from ``(B, P)``: features ((B, D), (B, C)), weights ``(B, S)``, next state.

        ``given``: a context to use instead of the attention's.
        """
        raise NotImplementedError

    def step(self, embedding: Tensor, state: Nested) -> tuple[Features, Tensor, Nested]:
        """One step from the previous word's embedding ``(B, E)``: features, weights ``(B, S)``, next state."""
        return self.advance(self.project(embedding), state)

    def recurrent(self, state: Nested) -> tuple[Tensor, ...]:
        """The tensors ``(B, D)`` of the decoder's own recurrence in ``state``, s first; no attention memory."""
        raise NotImplementedError

    def memory(self, state: Nested) -> Nested:
        """The attention memory in ``state``; () without a memory."""
        return ()

    def context_layers(self) -> tuple[nn.Linear, ...]:
        """The layers that read only the context, if nothing else reads it. Set by the class that has ``advance``."""
        return ()

    def kernel(self, state: Nested) -> tuple[DecoderKernel, Tensor] | None:
        """This step with a hand-written backward pass, and s_0 ``(B, D)``; None if a part of it has none."""
        return None

    def unroll(self, embeddings: Tensor, state: Nested, given: Given | None = None) -> tuple[Features, Tensor]:
        """Teacher forcing: ``(B, T, E)`` -> features ((B, T, D), (B, T, C)), weights ``(B, T, S)``.

        ``given``: contexts to use instead of the attention's, whose weights and memory are computed as usual. For
        training by ``kernel`` where there is one, else step by step; both are the same function.
        """
        fast = self.kernel(state) if torch.is_grad_enabled() else None
        if fast is None:
            advance = Recomputed(self.advance, self) if torch.is_grad_enabled() and self.memory(state) else None
            return self.unroll_plainly(embeddings, state, given, advance)
        states, contexts, weights = unroll(*fast, self.project(embeddings.transpose(0, 1)), given)
        return (states, contexts), weights

    def unroll_plainly(
        self,
        embeddings: Tensor,
        state: Nested,
        given: Given | None = None,
        advance: Callable[..., tuple[Features, Tensor, Nested]] | None = None,
    ) -> tuple[Features, Tensor]:
        """The definition of ``unroll``: the loop over ``step``, with the input products hoisted.

        ``advance``: the method of that name, or an equivalent.
        """
        advance = advance or self.advance
        states, contexts, weights = [], [], []
        steps = self.project(embeddings).unbind(1)
        every = [None] * len(steps) if given is None else unbind(given)
        for projected, known in zip(steps, every, strict=True):
            (s, c), alpha, state = advance(projected, state, known)
            states.append(s)
            contexts.append(c)
            weights.append(alpha)
        return (torch.stack(states, dim=1), torch.stack(contexts, dim=1)), torch.stack(weights, dim=1)


class CGRUDecoder(Decoder):
    """The conditional GRU with attention, REC1 -> ATT -> REC2 (Firat & Cho 2016, eqs 1-12; dl4mt's gru_cond_layer).

    s_0 = tanh(W mean annotation) as in dl4mt; attention is queried with s'_j.
    """

    def __init__(self, *, embedding_size: int, annotation_size: int, size: int, attention: Attention | None) -> None:
        super().__init__()
        self.initial = nn.Linear(annotation_size, size)
        self.rec1 = GRUResetAfter(input_size=embedding_size, hidden_size=size)
        self.attention = _required(attention)
        self.rec2 = GRUResetAfter(input_size=annotation_size, hidden_size=size)

    def start(self, annotations: Tensor, valid: Tensor) -> Nested:
        """(prepared sentence, s_0 ``(B, D)``, attention memory)."""
        prepared = PerSentence(self.attention.prepare(annotations, valid))
        s = torch.tanh(self.initial(mean_annotation(annotations, valid)))
        return (prepared, s.to(self.initial.weight.dtype), self.attention.start(prepared))

    def recurrent(self, state: Nested) -> tuple[Tensor, ...]:
        """(s,)"""
        _, s, _ = state
        return (s,)

    @override
    def memory(self, state: Nested) -> Nested:
        _, _, memory = state
        return memory

    def project(self, embeddings: Tensor) -> Tensor:
        """REC1's input products, ``(..., E) -> (..., 3D)``."""
        return self.rec1.project(embeddings)

    def advance(self, projected: Tensor, state: Nested, given: Given | None = None) -> tuple[Features, Tensor, Nested]:
        """One step; features are (s_j, c_j)."""
        prepared, s, memory = state
        # s'_j = REC1(y_{j-1}, s_{j-1})   (2)-(5)
        (s_prime,) = self.rec1.step(projected, (s,))
        # c_j = ATT(C, s'_j)              (6)-(8)
        context, weights, memory = self.attention.step(s_prime, prepared, memory)
        context = context if given is None else read(context, given)
        # s_j = REC2(s'_j, c_j)           (9)-(12)
        (s,) = self.rec2.step(self.rec2.project(context), (s_prime,))
        return (s, context), weights, (prepared, s, memory)

    @override
    def context_layers(self) -> tuple[nn.Linear, ...]:
        return (self.rec2.input,)

    @override
    def kernel(self, state: Nested) -> tuple[DecoderKernel, Tensor] | None:
        prepared, s, memory = state
        rec1, attention, rec2 = self.rec1.kernel(), self.attention.kernel(prepared, memory), self.rec2.kernel()
        if rec1 is None or attention is None or rec2 is None:
            return None
        project = LinearKernel(self.rec2.input.weight, self.rec2.input.bias)
        return CGRUDecoderKernel(rec1, attention, project, rec2), s


class DL4MTDecoder(CGRUDecoder):
    """The conditional GRU of dl4mt's gru_cond_layer and Theano-Nematus: REC2's bias is inside the reset gate.

    (10) becomes tanh(W c_j + r_j * (U s'_j + b)), where ``CGRUDecoder`` adds b to W c_j. For imported weights.
    """

    def __init__(self, *, embedding_size: int, annotation_size: int, size: int, attention: Attention | None) -> None:
        super().__init__(embedding_size=embedding_size, annotation_size=annotation_size, size=size, attention=attention)
        self.rec2 = GRUResetAfterTwoBiases(input_size=annotation_size, hidden_size=size)


class BahdanauDecoder(Decoder):
    """The class write-up's decoder around Bahdanau attention.

    c_i = ATT(s_{i-1}, h), k = ReLU(L1 [E y_{i-1}; c_i]), s_i = RNN(k, s_{i-1}); the readout is softmax(L2 [s_i; c_i]).
    The RNN is any cell of ``cells.CELLS``. The write-up does not specify s_0: h_0 = tanh(W mean annotation), as in the
    cGRU; an LSTM's memory cell starts at 0.
    ``input_feeding`` (Luong et al. 2015, section 3.3): the attentional vector of one step, h~_i = tanh(W_c [c_i; s_i])
    (their eq 5), is an input of the next, k = ReLU(L1 [E y_{i-1}; c_i; h~_{i-1}]), h~_0 = 0.
    """

    def __init__(
        self,
        *,
        embedding_size: int,
        annotation_size: int,
        size: int,
        attention: Attention | None,
        cell: str = "gru",
        input_feeding: bool = False,
    ) -> None:
        super().__init__()
        self.initial = nn.Linear(annotation_size, size)
        self.attention = _required(attention)
        # L1 [E y; c] = L1_y E y + L1_c c: the term in y does not depend on the state, so it is hoisted
        self.combine_embedding = nn.Linear(embedding_size, size)
        self.combine_context = nn.Linear(annotation_size, size, bias=False)
        self.cell = make_cell(cell, input_size=size, hidden_size=size)
        self.input_feeding = input_feeding
        if input_feeding:
            self.attentional_state = nn.Linear(size, size, bias=False)  # W_c [c; s] = W_c,c c + W_c,s s
            self.attentional_context = nn.Linear(annotation_size, size, bias=False)
            self.combine_fed = nn.Linear(size, size, bias=False)  # L1's columns for h~

    def start(self, annotations: Tensor, valid: Tensor) -> Nested:
        """(prepared sentence, cell state and with input feeding h~_0, attention memory)."""
        prepared = PerSentence(self.attention.prepare(annotations, valid))
        h = torch.tanh(self.initial(mean_annotation(annotations, valid))).to(self.initial.weight.dtype)
        _, *rest = self.cell.start(h, h.shape[0])
        fed = (torch.zeros_like(h),) if self.input_feeding else ()
        return (prepared, (h, *rest, *fed), self.attention.start(prepared))

    def recurrent(self, state: Nested) -> tuple[Tensor, ...]:
        """(s,), an LSTM's memory cell, and h~ with input feeding."""
        _, cell_state, _ = state
        return tuple(cell_state)

    @override
    def memory(self, state: Nested) -> Nested:
        _, _, memory = state
        return memory

    def project(self, embeddings: Tensor) -> Tensor:
        """L1_y E y and L1's bias, ``(..., E) -> (..., D)``."""
        return self.combine_embedding(embeddings)

    def advance(self, projected: Tensor, state: Nested, given: Given | None = None) -> tuple[Features, Tensor, Nested]:
        """One step; features are (s_i, c_i)."""
        prepared, cell_state, memory = state
        # c_i = ATT(s_{i-1}, h)
        context, weights, memory = self.attention.step(cell_state[0], prepared, memory)
        context = context if given is None else read(context, given)
        # k = ReLU(L1 [E y_{i-1}; c_i]), or ReLU(L1 [E y_{i-1}; c_i; h~_{i-1}])
        combined = projected + self.combine_context(context)
        if self.input_feeding:
            *cell_state, fed = cell_state
            combined = combined + self.combine_fed(fed)
        k = torch.relu(combined)
        # s_i = RNN(k, s_{i-1})
        cell_state = self.cell.step(self.cell.project(k), tuple(cell_state))
        s = cell_state[0]
        if self.input_feeding:
            # h~_i = tanh(W_c [c_i; s_i])
            fed = torch.tanh(self.attentional_context(context) + self.attentional_state(s)).to(fed.dtype)
            cell_state = (*cell_state, fed)
        return (s, context), weights, (prepared, cell_state, memory)

    @override
    def context_layers(self) -> tuple[nn.Linear, ...]:
        fed = (self.attentional_context,) if self.input_feeding else ()
        return (self.combine_context, *fed)

    @override
    def kernel(self, state: Nested) -> tuple[DecoderKernel, Tensor] | None:
        prepared, cell_state, memory = state
        attention, cell = self.attention.kernel(prepared, memory), self.cell.kernel()
        if attention is None or cell is None or self.input_feeding:
            return None
        combine = LinearKernel(self.combine_context.weight)
        project = LinearKernel(self.cell.input.weight, self.cell.input.bias)
        return BahdanauDecoderKernel(attention, combine, project, cell), cell_state[0]


class RNNsearchDecoder(Decoder):
    """RNNsearch's decoder: the context inside the gates of a reset-before GRU (Bahdanau et al. 2015, A.2.2).

    s_0 = tanh(W_s backward h_1); s~_i = tanh(W E y_{i-1} + U [r_i * s_{i-1}] + C c_i),
    z_i = sigma(W_z E y_{i-1} + U_z s_{i-1} + C_z c_i), r_i likewise, s_i = (1 - z_i) s_{i-1} + z_i s~_i.
    The paper's readout looks at s_{i-1}, not s_i, so the features are (s_{i-1}, c_i).
    """

    def __init__(self, *, embedding_size: int, annotation_size: int, size: int, attention: Attention | None) -> None:
        super().__init__()
        self.initial = nn.Linear(annotation_size // 2, size)  # W_s
        self.attention = _required(attention)
        self.cell = GRUResetBefore(input_size=embedding_size, hidden_size=size)  # W, U
        self.context = nn.Linear(annotation_size, 3 * size, bias=False)  # C_r, C_z, C

    def start(self, annotations: Tensor, valid: Tensor) -> Nested:
        """(prepared sentence, s_0 ``(B, D)``, attention memory)."""
        prepared = PerSentence(self.attention.prepare(annotations, valid))
        backward_first = annotations[:, 0, annotations.shape[-1] // 2 :]
        s = torch.tanh(self.initial(backward_first))
        return (prepared, s.to(self.initial.weight.dtype), self.attention.start(prepared))

    def recurrent(self, state: Nested) -> tuple[Tensor, ...]:
        """(s,)"""
        _, s, _ = state
        return (s,)

    @override
    def memory(self, state: Nested) -> Nested:
        _, _, memory = state
        return memory

    def project(self, embeddings: Tensor) -> Tensor:
        """[W_r E y, W_z E y, W E y] and biases, ``(..., E) -> (..., 3D)``."""
        return self.cell.project(embeddings)

    def advance(self, projected: Tensor, state: Nested, given: Given | None = None) -> tuple[Features, Tensor, Nested]:
        """One step; features are (s_{i-1}, c_i)."""
        prepared, s, memory = state
        context, weights, memory = self.attention.step(s, prepared, memory)
        context = context if given is None else read(context, given)
        # the gates and the candidate see W E y + C c
        (following,) = self.cell.step(projected + self.context(context), (s,))
        return (s, context), weights, (prepared, following, memory)

    @override
    def context_layers(self) -> tuple[nn.Linear, ...]:
        return (self.context,)

    @override
    def kernel(self, state: Nested) -> tuple[DecoderKernel, Tensor] | None:
        prepared, s, memory = state
        attention, cell = self.attention.kernel(prepared, memory), self.cell.kernel()
        if attention is None or cell is None:
            return None
        return RNNsearchDecoderKernel(attention, LinearKernel(self.context.weight), cell), s


class MeanContextDecoder(Decoder):
    """No attention: every step sees the mean annotation (dl4mt's gru_cond_simple_layer, session 1).

    Session 1 conditions on the last state of a one-way encoder; ours is bidirectional, so c is the mean annotation.
    c = mean annotation, s_0 = tanh(W c), s_j = GRU([E y_{j-1}; c], s_{j-1}), reset after. The weights it reports are
    uniform, as in the mean.
    """

    def __init__(self, *, embedding_size: int, annotation_size: int, size: int, attention: None = None) -> None:
        super().__init__()
        if attention is not None:
            raise UserError(
                "model=encoder_decoder looks at the mean annotation and has no attention: omit attention=..., "
                "or use model=cgru"
            )
        self.initial = nn.Linear(annotation_size, size)
        self.cell = GRUResetAfter(input_size=embedding_size, hidden_size=size)
        self.context = nn.Linear(annotation_size, 3 * size, bias=False)

    def start(self, annotations: Tensor, valid: Tensor) -> Nested:
        """(c ``(B, C)``, its products ``(B, 3D)``, uniform weights ``(B, S)``, s_0 ``(B, D)``)."""
        c = mean_annotation(annotations, valid)
        uniform = valid.to(torch.promote_types(annotations.dtype, torch.float32)) / valid.sum(dim=1, keepdim=True)
        s = torch.tanh(self.initial(c))
        return (c, self.context(c), uniform, s.to(self.initial.weight.dtype))

    def recurrent(self, state: Nested) -> tuple[Tensor, ...]:
        """(s,)"""
        *_, s = state
        return (s,)

    def memory(self, state: Nested) -> Nested:
        """Nothing: the weights never change."""
        return ()

    def project(self, embeddings: Tensor) -> Tensor:
        """The cell's input products, ``(..., E) -> (..., 3D)``."""
        return self.cell.project(embeddings)

    def advance(self, projected: Tensor, state: Nested, given: Given | None = None) -> tuple[Features, Tensor, Nested]:
        """One step; features are (s_j, c)."""
        c, c_products, uniform, s = state
        (s,) = self.cell.step(projected + c_products, (s,))
        return (s, c), uniform, (c, c_products, uniform, s)


def _required(attention: Attention | None) -> Attention:
    if attention is None:
        raise UserError(
            "this model needs an attention, and attention=none: use attention=bahdanau, or model=encoder_decoder, "
            "which has none"
        )
    return attention
