"""Attention with GRU, wrong in one line each; a wrong decoder and language model: what `conformance` must catch.

`PYTHONPATH=src:tests python tests/support/wrong_parts.py` prints the promise about each fault and the smallest case
that shows it; with the argument `all`, every promise that it breaks.
"""

from functools import partial

import torch
from torch import nn

from unrolled.models.attention import GRUAttention, add, attend
from unrolled.models.decoder import CGRUDecoder
from unrolled.models.language_model import RecurrentLanguageModel


class Plain(GRUAttention):
    """The right one in parts, without its kernel; each class below changes one part."""

    def kernel(self, prepared, state):
        return None

    def asked(self, query):
        return self.query(query)

    def remembered(self, before, v):
        return v

    def weighted(self, energies, annotations, valid):
        return attend(energies, annotations, valid)

    def step(self, query, prepared, state):
        keys, annotations, valid = prepared
        (before,) = state
        gates, candidate = add(self.asked(query), keys).split([2 * self.size, self.size], dim=-1)
        r, z = torch.sigmoid(gates + self.recurrent_gates(before)).chunk(2, dim=-1)
        candidate = torch.tanh(candidate + self.recurrent(r * before))
        v = torch.lerp(before, candidate.to(before.dtype), z.to(before.dtype))
        context, weights = self.weighted(self.energy(torch.tanh(v)).squeeze(-1), annotations, valid)
        return context, weights, (self.remembered(before, v),)


class OneStepBehind(Plain):
    """The memory that it hands on is the one that it was given."""

    def remembered(self, before, v):
        return before


class OnePositionBehind(Plain):
    """The memory of a position becomes that of the next one."""

    def remembered(self, before, v):
        return v.roll(1, dims=1)


class OnTheModule(Plain):
    """The memory is kept on the module, where no beam reorders it."""

    def start(self, prepared):
        (self.v,) = super().start(prepared)
        return ()

    def step(self, query, prepared, state):
        repeats = len(query) // len(self.v)
        before = self.v.repeat_interleave(repeats, 0) if repeats else self.v[: len(query)]
        context, weights, (self.v,) = super().step(query, prepared, (before,))
        return context, weights, ()


class ThroughPadding(Plain):
    """The memory has the mean of all positions added, padding too."""

    def remembered(self, before, v):
        return v + v.mean(dim=1, keepdim=True)


class PaddingMasked(Plain):
    """Padding is masked by a number that is not low enough."""

    def weighted(self, energies, annotations, valid):
        energies = energies + 0 * valid[:1].expand(len(energies), -1)
        masked = energies.unflatten(0, (len(valid), -1)).masked_fill(~valid.unsqueeze(1), -20.0).flatten(0, 1)
        return attend(masked, annotations, torch.ones_like(valid))


class MeanOverTheBatch(Plain):
    """Queries are centred over the batch."""

    def asked(self, query):
        return self.query(query - 0.1 * query.mean(dim=0))


class WrongAxis(Plain):
    """The soft-max is over the batch."""

    def weighted(self, energies, annotations, valid):
        weights = torch.softmax(energies, dim=0) * valid.repeat_interleave(len(energies) // len(valid), 0)
        context = torch.bmm(weights.unflatten(0, (len(valid), -1)).to(annotations.dtype), annotations)
        return context.flatten(0, 1), weights


class DetachedMemory(Plain):
    """No gradient flows through the memory."""

    def remembered(self, before, v):
        return v.detach()


class UnusedParameter(Plain):
    """It has a bias that it never adds."""

    def __init__(self, **options):
        super().__init__(**options)
        self.bias = nn.Parameter(torch.zeros(3))


class IdleOption(Plain):
    """Its option ``sharpness`` is read by nothing."""

    def __init__(self, *, sharpness, **options):
        super().__init__(**options)


class AcrossSentences(Plain):
    """It remembers the sentence before."""

    last = 0.0

    def prepare(self, annotations, valid):
        keys, *rest = super().prepare(annotations, valid)
        before, self.last = self.last, float(annotations.detach().mean())
        return (keys + before, *rest)


class SingleMemory(Plain):
    """The memory is float32, whatever the model is."""

    def remembered(self, before, v):
        return v.float()

    def step(self, query, prepared, state):
        return super().step(query, prepared, tuple(part.to(query.dtype) for part in state))


class ChangingType(Plain):
    """A step hands on the memory in the type of its products."""

    def remembered(self, before, v):
        return v.to(self.recurrent(v).dtype)


class OtherKernel(GRUAttention):
    """Its step has no reset gate; the kernel is that of the right one."""

    def step(self, query, prepared, state):
        keys, annotations, valid = prepared
        (before,) = state
        gates, candidate = add(self.query(query), keys).split([2 * self.size, self.size], dim=-1)
        z = torch.sigmoid(gates + self.recurrent_gates(before)).chunk(2, dim=-1)[1]
        v = torch.lerp(before, torch.tanh(candidate + self.recurrent(before)), z)
        context, weights = attend(self.energy(torch.tanh(v)).squeeze(-1), annotations, valid)
        return context, weights, (v,)


class Annealed(Plain):
    """Its energies sharpen with every update, which no checkpoint counts."""

    updates = 0

    def prepare(self, annotations, valid):
        self.updates += self.training and torch.is_grad_enabled()
        return super().prepare(annotations, valid)

    def weighted(self, energies, annotations, valid):
        return attend(energies * (1 + self.updates), annotations, valid)


class OtherUnroll(CGRUDecoder):
    """Teacher forcing shifts the embeddings by one."""

    def unroll(self, embeddings, state, given=None):
        return self.unroll_plainly(embeddings.roll(1, dims=1), state, given)


class SeesTheNextWord(RecurrentLanguageModel):
    """Its hidden vectors hold the word that they should predict."""

    def forward(self, tokens, state, *unroll):
        hidden, state = super().forward(tokens, state, *unroll)
        return hidden + hidden.roll(-1, dims=1), state


def wrong(attention, **options):
    return {"attention": partial(attention, size=64, **options)}


# what is wrong -> the promise that says so
WRONG_ATTENTIONS = {
    OneStepBehind: "every_parameter_gets_a_gradient",
    OnePositionBehind: "padding_changes_nothing",
    OnTheModule: "state_follows_its_hypothesis",
    ThroughPadding: "padding_changes_nothing",
    PaddingMasked: "padding_changes_nothing",
    MeanOverTheBatch: "company_changes_nothing",
    WrongAxis: "weights_sum_to_one",
    DetachedMemory: "gradients_are_right",
    UnusedParameter: "every_parameter_gets_a_gradient",
    IdleOption: "every_option_changes_something",
    AcrossSentences: "same_again",
    SingleMemory: "float64_stays_float64",
    ChangingType: "bfloat16_is_near_float32",
    OtherKernel: "kernel_equals_step",
    Annealed: "resumed_training_is_the_same",
}


def language_model(kind):
    """The function that builds a language model of another class."""

    def build(**options):
        from unrolled.models import language_model as room

        right, room.RecurrentLanguageModel = room.RecurrentLanguageModel, kind
        try:
            return room.rnn_lm(**options)
        finally:
            room.RecurrentLanguageModel = right

    return build


if __name__ == "__main__":
    import sys

    from support.subjects import with_attention
    from unrolled.conformance.promises import PROMISES, outcomes

    torch.set_num_threads(1)
    for kind, expected in WRONG_ATTENTIONS.items():
        tried = [each for each in PROMISES if each.__name__ == expected or "all" in sys.argv]
        options = {"sharpness": 1.0} if kind is IdleOption else {}
        for outcome in outcomes(with_attention(partial(kind, size=64, **options)), tried):
            if outcome.kept is False:
                print(f"| {kind.__doc__} | {outcome.name} | {outcome.why} |", flush=True)
