"""Promises about what a sentence depends on: its own words, whatever is around them."""

from copy import deepcopy

import torch
from torch import nn

from unrolled.conformance.cases import (
    ALONE,
    MIXED,
    TOGETHER,
    TOLERANCE,
    Case,
    check_same,
    difference,
    draw_from,
    forced,
    normal,
    searched,
)
from unrolled.conformance.subject import Broken, NothingToTry, Subject
from unrolled.models.translator import Translator

DROPOUT = 0.5


def weights_sum_to_one(subject: Subject) -> None:
    """The weights of every step are not negative and sum to one over the source."""
    model = subject.build(seed=34)
    for case in [*ALONE, *MIXED]:
        _, weights = forced(model, case.sources, case.targets)
        if weights is None:
            raise NothingToTry("no attention")
        shape, expected = (weights.shape[0], *weights.shape[2:]), (len(case.lengths), max(case.lengths))
        if shape != expected:
            raise Broken(f"{case}: the weights of a step have shape {shape}, and not {expected}")
        for row, length in enumerate(case.lengths):
            alpha = weights[row, :, :length].detach()
            step = int((alpha.sum(dim=-1) - 1).abs().argmax())
            total = float(alpha[step].sum())
            if not abs(total - 1) <= TOLERANCE:
                raise Broken(f"{case}: the weights of step {step + 1} sum to {total:.4g}")
            if alpha.min() < 0:
                raise Broken(f"{case}: a weight is {float(alpha.min()):.2g}")


def padding_changes_nothing(subject: Subject) -> None:
    """Padding gets weight exactly 0, whatever ids are there; more of it changes nothing; no gradient comes from it."""
    model = subject.build(seed=34)
    if not isinstance(model, Translator):
        raise NothingToTry("a language model reads no source")
    for case in ALONE:
        (length,) = case.lengths
        log_probs, alpha = forced(model, case.sources, case.targets)
        assert alpha is not None
        for extra, filler in ((1, 0), (1, 5), (3, 5)):
            where = f"{case}, padded to {length + extra}"
            padded, weights = forced(model, case.sources, case.targets, length=length + extra, filler=filler)
            assert weights is not None
            if (most := float(weights[..., length:].detach().abs().max())) != 0:
                raise Broken(f"{where}: padding has weight {most:.2g}")
            check_same("log-probabilities", padded, log_probs, where)
            check_same("weights", weights[..., :length], alpha, where)
    _annotations_at_padding(subject)
    gradients_of_padded(model)


def _annotations_at_padding(subject: Subject) -> None:
    """Whatever numbers are there, contexts and weights are the same."""
    if subject.attention is None:
        return
    attention, width = subject.tiny_attention(seed=35)
    valid = torch.tensor([[True, True, False]])
    annotations, queries = normal(1, 3, width), normal(2, 1, width, seed=36)
    results = []
    for filler in (0.0, 1000.0):
        prepared = attention.prepare(annotations.masked_fill(~valid.unsqueeze(-1), filler), valid)
        state, outputs = attention.start(prepared), []
        for query in queries:
            context, weights, state = attention.step(query, prepared, state)
            outputs += [context, weights]
        results.append(torch.cat(outputs, dim=1))
    check_same("contexts and weights", results[0], results[1], "annotations of 0 and of 1000 at the padding")


def gradients_of_padded(model: Translator) -> None:
    """The gradients of a batch are the sums of its sentences' gradients."""
    case = Case((2, 5), 3)
    names, parameters = zip(*model.named_parameters(), strict=True)

    def gradients(*rows: int) -> tuple[torch.Tensor, ...]:
        chosen = [case.sources[row] for row in rows], [case.targets[row] for row in rows]
        log_probs, _ = forced(model, *chosen, length=5)
        return torch.autograd.grad(log_probs[..., 5].sum(), parameters, materialize_grads=True, allow_unused=True)

    for name, both, first, second in zip(names, gradients(0, 1), gradients(0), gradients(1), strict=True):
        check_same(f"gradients of {name}, of the batch and of its sentences,", both, first + second, case)


def company_changes_nothing(subject: Subject) -> None:
    """A sentence is the same alone, in any batch and at any place of it, with gradients and without, as in search."""
    model = subject.build(seed=34)
    for case in [*TOGETHER, *MIXED]:
        keep_company(model, case)


def keep_company(model: nn.Module, case: Case) -> None:
    """Broken: a sentence is not the same alone and with the others, in any order."""
    many = len(case.lengths)
    orders = [list(range(many)), list(reversed(range(many))), [many - 1] * 2]
    alone = [forced(model, [s], [t]) for s, t in zip(case.sources, case.targets, strict=True)]
    steps_alone = [searched(model, [s], [t]) for s, t in zip(case.sources, case.targets, strict=True)]
    for order in orders:
        chosen = [case.sources[row] for row in order], [case.targets[row] for row in order]
        together, weights = forced(model, *chosen)
        steps = searched(model, *chosen)
        for place, row in enumerate(order):
            log_probs, alpha = alone[row]
            where = f"{Case(tuple(case.lengths[number] for number in order), case.steps)}, sentence {place + 1}"
            check_same("log-probabilities, alone and there,", together[place], log_probs[0], where)
            if weights is not None and alpha is not None:
                check_same("weights, alone and there,", weights[place, :, : case.lengths[row]], alpha[0], where)
            what = "log-probabilities of steps without gradients, alone and there,"
            check_same(what, steps[place], steps_alone[row][0], where)


def later_words_change_nothing_before(subject: Subject) -> None:
    """A target word changes what is predicted after it, and nothing before."""
    model = subject.build(seed=34)
    for case in [Case((1,), 2), Case((5,), 3)]:
        change_the_last_word(model, case)


def change_the_last_word(model: nn.Module, case: Case) -> None:
    """Broken: that changes a prediction before it, or not the one after it."""
    (target,) = case.targets
    changed = [*target[:-1], 4 + (target[-1] - 3) % 15]
    before, _ = forced(model, case.sources, [target])
    after, _ = forced(model, case.sources, [changed])
    check_same("predictions before a changed word", before[:, :-1], after[:, :-1], case)
    if difference(before[:, -1].detach(), after[:, -1].detach()) < 1e-6:
        raise Broken(f"{case}: the last word changes nothing of the next prediction")


def same_again(subject: Subject) -> None:
    """The same input gives the same output, whatever was computed before: nothing is kept on the modules."""
    for training, dropout in ((False, 0.0), (True, 0.0), (True, DROPOUT)):
        model = subject.build(seed=30, dropout=dropout).train(training)
        mode = f"{'training' if training else 'evaluation'}{', with dropout' if dropout else ''}"
        for case in [Case((1,), 1), Case((2,), 2), Case((5,), 3)]:
            for other in (Case((3, 2), 2, seed=1), case._replace(seed=1)):
                fresh, used = deepcopy(model), deepcopy(model)
                draw_from(0)
                first, _ = forced(fresh, case.sources, case.targets)
                draw_from(1)
                forced(used, other.sources, other.targets)
                draw_from(0)
                again, _ = forced(used, case.sources, case.targets)
                check_same(f"log-probabilities, first and after another batch, in {mode},", again, first, case, 0.0)


def evaluation_has_no_dropout(subject: Subject) -> None:
    """In evaluation a model with dropout predicts what it predicts without, by teacher forcing and as in search."""
    if not subject.has_dropout:
        raise NothingToTry("no option is a dropout")
    without, with_dropout = subject.build(seed=30), subject.build(seed=30, dropout=DROPOUT)
    with_dropout.load_state_dict(without.state_dict(), strict=False)
    for case in [Case((1,), 1), Case((2,), 2), Case((5,), 3)]:
        one, other = (forced(model, case.sources, case.targets)[0] for model in (without, with_dropout))
        check_same("log-probabilities without dropout and with it, in evaluation,", one, other, case)
        one, other = (searched(model, case.sources, case.targets) for model in (without, with_dropout))
        check_same("log-probabilities of steps without dropout and with it, in evaluation,", one, other, case)
