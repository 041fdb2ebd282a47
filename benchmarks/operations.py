"""Floating-point operations that a training step needs, counted from the equations.

Only matrix products count (2 for a multiplication and an addition), and only at real tokens: padding, padded attention
and products that an implementation repeats are its own loss. Element-wise functions do not count. Backwards each
product needs two of the same size, one for its input and one for its weight, so training takes 3 x forward.

Letters: N_s source tokens and N_t target tokens with </s>, N_st sum over sentences of (source tokens x target tokens),
B sentences; E embedding, H encoder size of one direction, C = 2H annotation, D decoder, A attention, K coverage size or
filters, W positions that a filter covers, V target vocabulary. Every function counts one part of the forward pass of
one batch.
"""

from dataclasses import dataclass

from torch import nn

from unrolled.data.batch import Batch
from unrolled.models import attention as mechanisms
from unrolled.models import decoder as decoders
from unrolled.models import readout as readouts
from unrolled.models.encoder import BidirectionalGRU
from unrolled.models.extrapolating_attention import ExtrapolatingLocationAttention
from unrolled.models.location_attention import LocationAttention
from unrolled.models.translator import Translator

TRAINING = 3


@dataclass(frozen=True)
class Tokens:
    """What of a batch the count depends on."""

    sentences: int
    source: int
    target: int
    pairs: int

    @classmethod
    def of(cls, batch: Batch) -> "Tokens":
        source, target = (
            batch.source_lengths,
            batch.target_lengths - 1,
        )  # <s> is not predicted
        return cls(
            len(batch),
            int(source.sum()),
            int(target.sum()),
            int((source * target).sum()),
        )


def training_operations(model: Translator, batch: Batch) -> dict[str, int]:
    """Part -> operations of a training step."""
    n = Tokens.of(batch)
    attention = getattr(model.decoder, "attention", None)
    parts = {
        "encoder": encoder(model, n),
        "keys": keys(attention, model, n),
        "recurrence": recurrence(model.decoder, n),
        "attention": attending(attention, model, n),
        "readout": readout(model.readout, n),
    }
    return {phase: TRAINING * count for phase, count in parts.items()}


def linear(layer: nn.Linear) -> int:
    """Operations of a linear map for one vector."""
    return 2 * layer.in_features * layer.out_features


def encoder(model: Translator, n: Tokens) -> int:
    """Two directions, 3 gates: 2 N_s (E + H) 3H each; E is 2H above the first layer."""
    if isinstance(model.encoder, BidirectionalGRU):
        weights = [p for name, p in model.encoder.named_parameters() if "weight" in name]
        return sum(2 * n.source * weight.numel() for weight in weights)
    cells = [*model.encoder.forward_cells, *model.encoder.backward_cells]
    return sum(n.source * cell_operations(cell) for cell in cells)


def cell_operations(cell: nn.Module) -> int:
    """Input and recurrent products of one step of any cell: 2 (I + H) x gates x H."""
    return sum(linear(layer) for layer in cell.children())


def keys(attention: nn.Module | None, model: Translator, n: Tokens) -> int:
    """What is projected once a sentence: keys, and s_0."""
    count = n.sentences * linear(model.decoder.initial)
    # bahdanau, location, location_extrapolating: 2 N_s C A; gru_att, gru_att_pooled: 2 N_s C 3A; general: 2 N_s C D;
    # dot: none
    if attention is not None and not isinstance(attention, mechanisms.DotAttention):
        count += n.source * linear(attention.keys)
    # coverage, besides: 2 N_s C 3K
    if isinstance(attention, mechanisms.CoverageAttention):
        count += n.source * linear(attention.update_annotation)
    return count


def recurrence(decoder: nn.Module, n: Tokens) -> int:
    """The decoder's own products."""
    if isinstance(decoder, decoders.CGRUDecoder):  # 2 N_t [(E + D) 3D + (C + D) 3D]
        return n.target * (cell_operations(decoder.rec1) + cell_operations(decoder.rec2))
    if isinstance(decoder, decoders.BahdanauDecoder):  # 2 N_t [(E + C) D + (D + D) gates D]
        combine = linear(decoder.combine_embedding) + linear(decoder.combine_context)
        if decoder.input_feeding:  # 2 N_t (C + 2 D) D
            feeding = decoder.attentional_context, decoder.attentional_state, decoder.combine_fed
            combine += sum(linear(layer) for layer in feeding)
        return n.target * (combine + cell_operations(decoder.cell))
    if isinstance(decoder, decoders.RNNsearchDecoder):  # 2 N_t (E + D + C) 3D
        return n.target * (cell_operations(decoder.cell) + linear(decoder.context))
    if isinstance(decoder, decoders.MeanContextDecoder):  # 2 N_t (E + D) 3D + 2 B C 3D
        return n.target * cell_operations(decoder.cell) + n.sentences * linear(decoder.context)
    raise TypeError(f"no operations are counted for {type(decoder).__name__}")


def attending(attention: nn.Module | None, model: Translator, n: Tokens) -> int:
    """Query, energies and context of all steps."""
    if attention is None:
        return 0
    context = n.pairs * 2 * annotation_size(model)  # sum_j alpha_ij h_j: 2 N_st C
    match attention:
        case mechanisms.BahdanauAttention():  # 2 N_t D A + 2 N_st A
            return context + n.target * linear(attention.query) + n.pairs * linear(attention.energy)
        case mechanisms.DotAttention():  # 2 N_st D
            return context + n.pairs * 2 * annotation_size(model)
        case mechanisms.GeneralAttention():  # 2 N_st D
            return context + n.pairs * 2 * attention.keys.out_features
        case mechanisms.GRUAttention():  # 2 N_t D 3A + 2 N_st (3A A + A)
            pairs = linear(attention.recurrent_gates) + linear(attention.recurrent) + linear(attention.energy)
            return context + n.target * linear(attention.query) + n.pairs * pairs
        case mechanisms.PooledGRUAttention():  # 2 N_t (D 3A + A 2A) + 2 N_st (A A + A), and the pool 2 N_st A
            target = linear(attention.query) + linear(attention.recurrent_gates)
            pairs = linear(attention.recurrent) + linear(attention.energy) + 2 * attention.size
            return context + n.target * target + n.pairs * pairs
        case mechanisms.CoverageAttention():  # 2 N_t (D A + D 3K) + 2 N_st (K A + A + 3K + K 3K)
            target = linear(attention.query) + linear(attention.update_query)
            pairs = [attention.coverage, attention.energy, attention.update_weight]
            pairs += [attention.recurrent_gates, attention.recurrent]
            return context + n.target * target + n.pairs * sum(linear(layer) for layer in pairs)
        case LocationAttention():  # 2 N_t D A + 2 N_st (W K + K A + A)
            pairs = [attention.filters, attention.features, attention.energy]
            return context + n.target * linear(attention.query) + n.pairs * sum(linear(layer) for layer in pairs)
        case ExtrapolatingLocationAttention():  # 2 N_t (2 D A + 4A + D) + 2 N_st (A + 1)
            target = [attention.query, attention.input, attention.mean, attention.deviation, attention.mixture]
            pairs = linear(attention.energy) + 2  # a_i = sum_j lambda_ij p_j
            return context + n.target * sum(linear(layer) for layer in target) + n.pairs * pairs
    raise TypeError(f"no operations are counted for {type(attention).__name__}")


def annotation_size(model: Translator) -> int:
    """C."""
    initial = model.decoder.initial.in_features
    return 2 * initial if isinstance(model.decoder, decoders.RNNsearchDecoder) else initial  # s_0 from half of h_1


def readout(readout: nn.Module, n: Tokens) -> int:
    """Deep: 2 N_t [(D + E + C) E + E V]; maxout: 2 N_t [(D + E + C) 2E + E V]; linear: 2 N_t (D + C) V."""
    if not isinstance(readout, readouts.DeepReadout | readouts.MaxoutReadout | readouts.LinearReadout):
        raise TypeError(f"no operations are counted for {type(readout).__name__}")
    return n.target * sum(linear(layer) for layer in readout.children() if isinstance(layer, nn.Linear))
