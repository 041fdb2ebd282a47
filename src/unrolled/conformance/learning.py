"""Promises about training: right gradients, for every parameter; options that act; checkpoints that hold everything."""

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError
from torch.func import functional_call

from unrolled.conformance.attending import change_the_last_word, gradients_of_padded, keep_company
from unrolled.conformance.cases import Case, check_same, difference, draw_from, forced, normal
from unrolled.conformance.reading import forward_in_parts
from unrolled.conformance.stepping import step_by_step
from unrolled.conformance.subject import TINY, Broken, NothingToTry, Subject, language_model_of, randomised
from unrolled.errors import UserError
from unrolled.models.state import tensors_of
from unrolled.models.translator import Translator

NO_GRADIENT = 1e-12
SAMPLE = Case((3, 5), 3)
"""Large enough for every part to act: no change on a smaller case would prove nothing."""
UPDATE = Case((2, 3), 2)
"""The case that is trained on."""


def gradients_are_right(subject: Subject) -> None:
    """The gradients of attention, decoder and model are those of finite differences; the first two's in inputs too."""
    if subject.attention is not None:
        _attention_gradients(subject)
    model: Any = subject.build(seed=16, sizes=TINY)
    if isinstance(model, Translator):
        _decoder_gradients(model)
    for case in (Case((2,), 2), Case((2, 3), 3)):
        _model_gradients(model, case)


def _attention_gradients(subject: Subject) -> None:
    attention, size = subject.tiny_attention()
    for lengths, steps in (((1,), 1), ((2,), 1), ((2,), 2), ((2, 3), 3)):
        valid = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)

        def run(attention: Any, annotations: Tensor, *queries: Tensor, valid: Tensor = valid) -> tuple[Tensor, ...]:
            prepared = attention.prepare(annotations, valid)
            state, outputs = attention.start(prepared), []
            for query in queries:
                context, weights, state = attention.step(query, prepared, state)
                outputs += [context, weights[valid]]
            memory = [tensor[valid] if tensor.shape[:2] == valid.shape else tensor for tensor in tensors_of(state)]
            return (*outputs, *(tensor for tensor in memory if tensor.is_floating_point()))

        queries = [normal(len(lengths), size, seed=19 + step) for step in range(steps)]
        annotations = normal(len(lengths), max(lengths), size)
        words = " and ".join(map(str, lengths))
        _check_gradients(attention, run, f"attention over {words} positions, {steps} step(s)", annotations, *queries)


def _decoder_gradients(model: Translator) -> None:
    decoder = model.decoder
    with torch.no_grad():
        width = model.encode(torch.tensor([[4]]), torch.tensor([1]))[0].shape[-1]
    for length, steps in ((1, 1), (2, 2)):
        valid = torch.ones(1, length, dtype=torch.bool)

        def run(decoder: Any, annotations: Tensor, embeddings: Tensor, valid: Tensor = valid) -> tuple[Tensor, ...]:
            (states, contexts), weights = decoder.unroll(embeddings, decoder.start(annotations, valid))
            return states, contexts, weights

        embeddings = normal(1, steps, model.target_embedding.embedding_dim, seed=21)
        where = f"decoder over {length} position(s), {steps} step(s)"
        _check_gradients(decoder, run, where, normal(1, length, width), embeddings)


def _model_gradients(model: nn.Module, case: Case) -> None:
    def predicted(model: Any) -> Tensor:
        return forced(model, case.sources, case.targets)[0][..., :5]

    _check_gradients(model, predicted, f"the model, {case}")


class _Call(nn.Module):
    """Any function of a module, as a module, so that ``functional_call`` can put parameters in."""

    def __init__(self, module: nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.module = module
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(self.module, *inputs)


def _check_gradients(module: nn.Module, function: Callable[..., Any], where: str, *inputs: Tensor) -> None:
    call = _Call(randomised(module.double(), seed=16), function)
    names = [name for name, _ in call.named_parameters()]
    values = [parameter.detach().clone().requires_grad_() for parameter in call.parameters()]

    def of_everything(*everything: Tensor) -> Any:
        parameters = dict(zip(names, everything[len(inputs) :], strict=True))
        outputs = functional_call(call, parameters, everything[: len(inputs)])
        nothing = 0 * everything[0].sum()  # an output that needs no gradient would be taken for the next one
        return outputs + nothing if isinstance(outputs, Tensor) else tuple(output + nothing for output in outputs)

    leaf_inputs = [tensor.clone().requires_grad_() for tensor in inputs]
    try:
        # in random directions, not entry by entry; the small tolerances make up for a mistake being spread thin
        torch.autograd.gradcheck(of_everything, [*leaf_inputs, *values], atol=1e-7, rtol=1e-4, fast_mode=True)
    except GradcheckError as problem:
        raise Broken(f"{where}: {_first_line(problem, [*_names(inputs), *names])}") from problem


def _names(inputs: tuple[Tensor, ...]) -> list[str]:
    return ["annotations", *(f"query {step}" for step in range(1, len(inputs)))] if inputs else []


def _first_line(problem: Exception, names: list[str]) -> str:
    text = str(problem).strip().splitlines()[0]
    for number, name in enumerate(names):
        text = text.replace(f"input {number},", f"{name.removeprefix('module.')},")
    return text.rstrip(" :,")


def the_same_holds_in_training(subject: Subject) -> None:
    """What is promised about predictions and gradients in evaluation holds in training, where dropout is 0."""
    model = subject.build(seed=34).train()
    predicted = []
    for seed in (0, 1):
        draw_from(seed)
        predicted.append(forced(model, SAMPLE.sources, SAMPLE.targets)[0].detach())
    if difference(*predicted) > 0:
        raise NothingToTry("predictions in training differ each time, with a dropout of 0 too")
    keep_company(model, Case((3, 5, 2), 3))
    change_the_last_word(model, Case((5,), 3))
    step_by_step(model, SAMPLE)
    if isinstance(model, Translator):
        gradients_of_padded(model)
    else:
        forward_in_parts(language_model_of(model), 2, (2, 4, 1))
    _model_gradients(subject.build(seed=16, sizes=TINY).train(), Case((2, 3), 3))


def every_parameter_gets_a_gradient(subject: Subject) -> None:
    """No parameter is without effect on the loss."""
    model = subject.build(seed=22)
    log_probs, _ = forced(model, SAMPLE.sources, SAMPLE.targets)
    log_probs[..., 5].sum().backward()
    without = [
        name for name, p in model.named_parameters() if p.grad is None or not float(p.grad.abs().max()) > NO_GRADIENT
    ]
    if without:
        raise Broken(f"{SAMPLE}: no gradient for {', '.join(without)}")


def every_option_changes_something(subject: Subject) -> None:
    """Each option of the configuration changes a parameter, a prediction or a gradient, in evaluation or training."""
    idle, tried = [], 0
    plain = {dropout: _everything(subject, dropout) for dropout in (0.0, 0.5)}
    for option in _options(subject):
        accepted = False
        for other in _others(option.value):
            changed = _changes(_with(subject, option, other), plain)
            accepted |= changed is not None
            if changed:
                break
        else:
            if accepted:
                idle.append(f"{option.name}={next(_others(option.value))}")
        tried += accepted
    if not tried:
        raise NothingToTry("no options")
    if idle:
        raise Broken(f"{SAMPLE}: nothing changes with {', '.join(idle)}")


class _Option(NamedTuple):
    """An option: the way to it through partial functions, from ``attention`` or ``model``."""

    way: tuple[str, ...]
    value: Any

    @property
    def name(self) -> str:
        return ".".join(self.way)


def _options(subject: Subject) -> Iterator[_Option]:
    for name in ("attention", "model"):
        build = getattr(subject, name)
        yield from () if build is None else _within((name,), build)


def _within(way: tuple[str, ...], build: "partial[Any]") -> Iterator[_Option]:
    for option, value in build.keywords.items():
        if isinstance(value, partial):
            yield from _within((*way, option), value)
        else:
            yield _Option((*way, option), value)


def _others(value: Any) -> Iterator[Any]:
    """Values that an option may have instead; none for names, whose choices are unknown."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, 2 * value, value - 1)
    elif isinstance(value, float):
        yield from (0.5 if value < 0.25 else value / 2, 2 * value + 1)


def _changes(other: Subject, plain: dict[float, list[Tensor]]) -> bool | None:
    """Whether anything of ``other`` is not as ``plain`` without or with dropout; None if its option is refused."""
    for dropout, expected in plain.items():
        try:
            changed = _everything(other, dropout)
        except (UserError, ValueError, AssertionError, TypeError, RuntimeError):
            return None
        if [tensor.shape for tensor in expected] != [tensor.shape for tensor in changed]:
            return True
        if any(difference(one, another) > 0 for one, another in zip(expected, changed, strict=True)):
            return True
    return False


def _with(subject: Subject, option: _Option, other: Any) -> Subject:
    name, *way = option.way
    return replace(subject, **{name: _set(getattr(subject, name), way, other)})


def _set(build: "partial[Any]", way: list[str], other: Any) -> "partial[Any]":
    """``build`` with ``other`` for its option; if `Subject` gives a small value, that value plus or minus 1 instead."""
    name, *rest = way
    if rest:
        return partial(build, **{name: _set(build.keywords[name], rest, other)})
    configured = build.keywords[name]

    def made(*args: Any, **given: Any) -> Any:
        value = other
        if name in given and given[name] != configured and not isinstance(other, bool | float):
            value = max(1, given[name] + (1 if other > configured else -1))
        return build.func(*args, **(build.keywords | given | {name: value}))

    return partial(made, **build.keywords | {name: other})


def _everything(subject: Subject, dropout: float) -> list[Tensor]:
    """Initial values, predictions in training and in evaluation, and gradients."""
    draw_from(3)
    model = subject.initial(dropout=dropout).double()
    values = [value.detach().clone() for value in model.state_dict().values()]
    randomised(model, seed=4)
    for training in (False, True):
        draw_from(5)
        log_probs, _ = forced(model.train(training), SAMPLE.sources, SAMPLE.targets)
        values.append(log_probs.detach())
    parameters = list(model.parameters())
    loss = log_probs[..., 5].sum()
    values += torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return values


def resumed_training_is_the_same(subject: Subject) -> None:
    """Training resumed from a checkpoint of weights and optimizer equals training without interruption."""
    for half in (1, 2):
        _resumed_after(half, subject)


def _resumed_after(half: int, subject: Subject) -> None:
    straight, _ = _trained(subject, seed=6, begin=0, end=2 * half)
    interrupted, optimizer = _trained(subject, seed=6, begin=0, end=half)
    file = io.BytesIO()
    torch.save({"model": interrupted.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    checkpoint = torch.load(file, weights_only=True)
    resumed, _ = _trained(subject, seed=7, begin=half, end=2 * half, checkpoint=checkpoint)
    ways = f"{2 * half} updates and for {half} + {half} from a checkpoint"
    for (name, one), other in zip(straight.state_dict().items(), resumed.state_dict().values(), strict=True):
        check_same(f"{name}, trained for {ways},", one, other, UPDATE)
    one, other = (forced(model.eval(), UPDATE.sources, UPDATE.targets)[0] for model in (straight, resumed))
    check_same(f"predictions of models trained for {ways}", one, other, UPDATE)


def _trained(
    subject: Subject, *, seed: int, begin: int, end: int, checkpoint: dict[str, Any] | None = None
) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = subject.build(seed=seed).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if checkpoint is not None:
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    for update in range(begin, end):
        draw_from(update)
        case = UPDATE._replace(seed=update)
        log_probs, _ = forced(model, case.sources, case.targets)
        optimizer.zero_grad()
        (-log_probs[..., 5].mean()).backward()
        optimizer.step()
    return model, optimizer
