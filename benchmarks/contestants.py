"""Who takes part: the model as it is, and ways to write the same function as loops over its steps.

* ours: the model's teacher forcing, whatever it does, the chunked loss, and fused Adam: what train.py runs.
* without_graphs: ours, its loop launched operation by operation on a GPU, not as CUDA graphs.
* plain: nn.GRU or a plain loop in the encoder; ``Decoder.step`` position by position, the embedding projected in each;
  the readout over all positions at once with all logits held; Adam as torch gives it.
* plain_keys_every_step: typical code. As plain, but the attention projects its keys anew at every step, and readout and
  loss are taken step by step, at padding too.
"""

from collections.abc import Callable
from functools import partial
from types import MethodType

import torch
from parts import (
    DECODER,
    ENCODER,
    OPTIMISER,
    READOUT,
    Watch,
    watch_decoder,
    watch_encoder,
)
from torch import Tensor, nn
from torch.nn import functional

from unrolled.data.batch import Batch
from unrolled.models.encoder import BidirectionalGRU
from unrolled.models.fast import cuda_graphs
from unrolled.models.sentences import pick
from unrolled.models.translator import Translator
from unrolled.training.linear_loss import linear_token_loss
from unrolled.training.loss import token_loss

OURS = ("ours", "without_graphs")


class Contestant:
    """A model with its way to be trained."""

    def __init__(self, name: str, model: Translator, *, precision: str, device: str) -> None:
        self.model, self.device, self.precision = (
            model.to(device).train(),
            device,
            precision,
        )
        self.watch = Watch(device)
        self._loss: Callable[[Translator, Batch, Watch], Tensor] = {
            "ours": ours,
            "without_graphs": ours,
            "plain": plain,
            "plain_keys_every_step": plain_keys_every_step,
        }[name]
        self._graphs = name == "ours"
        if name not in OURS:
            model.encoder.forward = MethodType(
                plain_gru if hasattr(model.encoder, "gru") else plain_cells,
                model.encoder,
            )
            model.decoder.unroll = MethodType(plain_unroll, model.decoder)
        watch_encoder(model, self.watch)
        watch_decoder(model, self.watch)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if name in OURS else {}))

    def step(self, batch: Batch) -> float:
        """One training step; the loss summed over tokens. ``watch`` then holds the seconds by part."""
        before, cuda_graphs.ENABLED = cuda_graphs.ENABLED, self._graphs
        try:
            return self._step(batch)
        finally:
            cuda_graphs.ENABLED = before

    def _step(self, batch: Batch) -> float:
        self.watch.start()
        low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision)
        with torch.autocast(self.device, low, enabled=low is not None):
            loss = self._loss(self.model, batch, self.watch)
        self.watch.press(READOUT)
        (loss / batch.target_out_valid.sum()).backward()
        self.watch.press(ENCODER)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.watch.press(OPTIMISER)
        return loss.item()


def ours(model: Translator, batch: Batch, watch: Watch) -> Tensor:
    counted = batch.counted
    hidden, _ = model(batch.source, batch.source_lengths, batch.target_in, counted)
    return linear_token_loss(hidden, model.readout.output, pick(batch.target_out, counted)).objective


def plain(model: Translator, batch: Batch, watch: Watch) -> Tensor:
    counted = batch.target_out_valid
    annotations, valid = model.encode(batch.source, batch.source_lengths)
    embeddings = model.target_embedding(batch.target_in)
    (states, contexts), _ = model.decoder.unroll(embeddings, model.decoder.start(annotations, valid))
    hidden = model.readout.hidden((states[counted], contexts[counted]), embeddings[counted])
    return token_loss(model.readout.output(hidden), batch.target_out[counted]).objective


def plain_keys_every_step(model: Translator, batch: Batch, watch: Watch) -> Tensor:
    annotations, valid = model.encode(batch.source, batch.source_lengths)
    decoder = model.decoder
    attention = getattr(decoder, "attention", None)
    state = decoder.start(annotations, valid)
    losses = []
    for word, following in zip(batch.target_in.unbind(1), batch.target_out.unbind(1), strict=True):
        embedding = model.target_embedding(word)
        if attention is not None:
            state = (attention.prepare(annotations, valid), *state[1:])
        features, _, state = decoder.step(embedding, state)
        features = watch.boundary(DECODER, READOUT, *features)
        logits = model.readout.output(model.readout.hidden(features, embedding))
        losses.append(functional.cross_entropy(logits.float(), following, ignore_index=0, reduction="sum"))
        state = through(state, partial(watch.boundary, READOUT, DECODER))
    return torch.stack(losses).sum()


def through(state: tuple, boundary: Callable[..., tuple[Tensor, ...]]) -> tuple:
    """The state with what went from this step to the next, all but the prepared sentence, behind a boundary."""
    flat = [leaf for inner in state[1:] for leaf in (inner if isinstance(inner, tuple) else (inner,))]
    leaves = iter(boundary(*flat))
    return (
        state[0],
        *(tuple(next(leaves) for _ in inner) if isinstance(inner, tuple) else next(leaves) for inner in state[1:]),
    )


def plain_unroll(self: nn.Module, embeddings: Tensor, state: tuple) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """The definition of ``Decoder.unroll``: ``step``, position by position."""
    states, contexts, weights = [], [], []
    for embedding in embeddings.unbind(1):
        (s, c), alpha, state = self.step(embedding, state)
        states.append(s)
        contexts.append(c)
        weights.append(alpha)
    return (torch.stack(states, dim=1), torch.stack(contexts, dim=1)), torch.stack(weights, dim=1)


def plain_gru(self: BidirectionalGRU, embeddings: Tensor, lengths: Tensor) -> Tensor:
    """nn.GRU over packed sentences."""
    packed = nn.utils.rnn.pack_padded_sequence(embeddings, lengths, batch_first=True, enforce_sorted=False)
    annotations, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
    return annotations


def plain_cells(self: nn.Module, embeddings: Tensor, lengths: Tensor) -> Tensor:
    """The reset-before encoder: both directions word by word; padding is passed with the state unchanged."""
    valid = torch.arange(embeddings.shape[1], device=embeddings.device) < lengths.to(embeddings.device).unsqueeze(1)
    outputs = embeddings
    for forward, backward in zip(self.forward_cells, self.backward_cells, strict=True):
        directions = []
        for cell, positions in (
            (forward, range(outputs.shape[1])),
            (backward, range(outputs.shape[1] - 1, -1, -1)),
        ):
            (h,) = cell.start(embeddings, len(embeddings))
            states = {}
            for position in positions:
                (following,) = cell.step(cell.project(outputs[:, position]), (h,))
                states[position] = h = torch.where(valid[:, position, None], following, h)
            directions.append(torch.stack([states[position] for position in sorted(states)], dim=1))
        outputs = torch.cat(directions, dim=-1)
    return outputs.masked_fill(~valid.unsqueeze(-1), 0.0)
