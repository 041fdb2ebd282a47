"""Promises about steps: one after the other, all at once, and for hypotheses that come and go."""

from typing import Any

import torch
from torch import Tensor

from unrolled.conformance.cases import (
    MIXED,
    Case,
    batch_of,
    check_same,
    forced,
    normal,
    stepwise,
    weigher,
    words,
)
from unrolled.conformance.subject import TARGET_WORDS, Broken, NothingToTry, Subject, decoder_of
from unrolled.models.state import PerSentence, tensors_of
from unrolled.search.generator import select

CASES = [Case((1,), 1), Case((2,), 1), Case((1,), 2), Case((2,), 2), *MIXED]


def step_by_step_equals_unrolled(subject: Subject) -> None:
    """``step`` word by word gives the predictions and all gradients of ``forward``, which takes all words at once."""
    model = subject.build(seed=26)
    for case in CASES:
        step_by_step(model, case)


def step_by_step(model: Any, case: Case) -> None:
    """Broken: it gives other predictions or gradients than ``forward``."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    at_once, _ = forced(model, case.sources, case.targets)
    repeated, _ = stepwise(model, torch.tensor(case.targets), model.start(batch_of(case.sources)))
    check_same("predictions, step by step and unrolled,", repeated, at_once, case)
    loss = weigher(at_once)
    every = [
        torch.autograd.grad(loss(log_probs), parameters, allow_unused=True, materialize_grads=True)
        for log_probs in (at_once, repeated)
    ]
    for name, one, other in zip(names, *every, strict=True):
        check_same(f"gradients of {name}, step by step and unrolled,", one, other, case)


def kernel_equals_step(subject: Subject) -> None:
    """The hand-written backward pass, where there is one, gives the outputs and all gradients of the plain loop."""
    decoder = decoder_of(subject.build(seed=26))
    size = annotation_size(subject)
    names, parameters = zip(*decoder.named_parameters(), strict=True)
    for case in CASES:
        many, longest = len(case.lengths), max(case.lengths)
        valid = torch.arange(longest) < torch.tensor(case.lengths).unsqueeze(1)
        runs = []
        for plainly in (False, True):
            annotations = normal(many, longest, size).requires_grad_()
            embeddings = normal(many, case.steps, decoder_input(subject), seed=27).requires_grad_()
            state = decoder.start(annotations, valid)
            if decoder.kernel(state) is None:
                raise NothingToTry("no hand-written backward pass")
            unroll = decoder.unroll_plainly if plainly else decoder.unroll
            (states, contexts), weights = unroll(embeddings, state)
            loss = torch.stack([weigher(out)(out) for out in (states, contexts, weights)]).sum()
            inputs = [annotations, embeddings, *parameters]
            gradients = torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)
            runs.append([states, contexts, weights, *gradients])
        labels = [
            "states",
            "contexts",
            "weights",
            *(f"gradients of {n}" for n in ("annotations", "embeddings", *names)),
        ]
        for label, fast, plain in zip(labels, *runs, strict=True):
            check_same(f"{label}, by kernel and by step,", fast, plain, case)


def state_follows_its_hypothesis(subject: Subject) -> None:
    """State is a nested tuple of tensors, the batch first: reordering it reorders what follows from it."""
    model: Any = subject.build(seed=31)
    for case, index in [(Case((2, 2), 1), [1, 0]), (Case((3, 5, 2), 2), [2, 0, 2, 2])]:
        rows, chosen = len(case.lengths), torch.tensor(index)
        first, second = torch.tensor(words([2] * rows, TARGET_WORDS)).unbind(1)
        with torch.no_grad():
            state = model.start(batch_of(case.sources))
            _check_nested(state, rows, case)
            _, state = model.step(first, state)
            _check_nested(state, rows, case)
            expected, after = model.step(second, state)
            predictions, following = model.step(second[chosen], select(state, chosen))
        where = f"{case}, then rows {', '.join(str(i + 1) for i in index)} of the state"
        check_same("predictions of reordered hypotheses", predictions, expected[chosen], where)
        for leaf, wanted in zip(tensors_of(following), tensors_of(after), strict=True):
            check_same("states of reordered hypotheses", leaf, wanted[chosen], where)
    _check_hypotheses_of_one_sentence(model)


def _check_hypotheses_of_one_sentence(model: Any) -> None:
    """In search all hypotheses of a sentence share its part of the state: ``PerSentence`` has one row per sentence."""
    case, beam = Case((2, 3), 1), 3
    tokens = torch.tensor(words([beam * 2], TARGET_WORDS)[0])
    sentences = torch.arange(2)
    of_sentence = sentences.repeat_interleave(beam)
    with torch.no_grad():
        state = model.start(batch_of(case.sources))
        shared, after = model.step(tokens, select(state, of_sentence, sentences))
        again, _ = model.step(tokens, select(after, torch.arange(beam * 2), sentences))
        state = select(state, of_sentence)
        apart, after = model.step(tokens, state)
        twice, _ = model.step(tokens, after)
    where = f"{case}, {beam} hypotheses of each sentence"
    check_same("predictions, of hypotheses together and apart,", shared, apart, where)
    check_same("predictions of the second step, of hypotheses together and apart,", again, twice, where)


def _check_nested(state: Any, rows: int, where: object) -> None:
    if isinstance(state, Tensor):
        if state.ndim == 0 or state.shape[0] != rows:
            raise Broken(
                f"{where}: the state has a tensor of shape {tuple(state.shape)}, whose first size is not {rows}"
            )
    elif type(state) in (tuple, PerSentence):  # a named tuple cannot be made from its parts as these can
        for inner in state:
            _check_nested(inner, rows, where)
    else:
        kind = type(state).__name__
        raise Broken(f"{where}: the state has a {kind}, which is neither a tensor nor a plain tuple of them")


def annotation_size(subject: Subject) -> int:
    """C of the model that `Subject.build` makes."""
    model: Any = subject.build()
    with torch.no_grad():
        annotations, _ = model.encode(torch.tensor([[4]]), torch.tensor([1]))
    return int(annotations.shape[-1])


def decoder_input(subject: Subject) -> int:
    """E of the model that `Subject.build` makes."""
    model: Any = subject.build()
    return int(model.target_embedding.embedding_dim)
