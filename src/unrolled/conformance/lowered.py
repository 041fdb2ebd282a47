"""Promises about precision: float64 stays float64, and bfloat16 is near float32."""

from typing import Any

import torch

from unrolled.conformance.cases import Case, batch_of, difference, forced, stepwise
from unrolled.conformance.subject import Broken, Subject
from unrolled.models.state import tensors_of

NEAR = 0.03
"""How far a probability may be from that of float32."""


def float64_stays_float64(subject: Subject) -> None:
    """Where parameters are float64, so are predictions, weights and the state: nothing is float32 in between."""
    model: Any = subject.build(seed=38)
    for case in (Case((1,), 1), Case((2,), 2)):
        log_probs, weights = forced(model, case.sources, case.targets)
        _, state = stepwise(model, torch.tensor(case.targets), model.start(batch_of(case.sources)))
        by_name = {
            "log-probabilities": [log_probs],
            "weights": [] if weights is None else [weights],
            "state": list(tensors_of(state)),
        }
        for what, tensors in by_name.items():
            for tensor in tensors:
                if tensor.is_floating_point() and tensor.dtype != torch.float64:
                    raise Broken(f"{case}: {what}: {str(tensor.dtype).removeprefix('torch.')} in a float64 model")


def bfloat16_is_near_float32(subject: Subject) -> None:
    """Under bfloat16 autocast it runs, forwards and backwards, near float32; a step changes no type of the state."""
    model: Any = subject.build(seed=38).float()
    for case in (Case((1,), 1), Case((2,), 2), Case((3, 5), 3)):
        exact, exact_weights = forced(model, case.sources, case.targets)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low, weights = forced(model, case.sources, case.targets)
            state = model.start(batch_of(case.sources))
            types = [leaf.dtype for leaf in tensors_of(state)]
            stepped, state = stepwise(model, torch.tensor(case.targets), state)
        if stepped.dtype.itemsize < 4:
            raise Broken(f"{case}: log-probabilities are bfloat16: sums over a sentence need float32")
        if [leaf.dtype for leaf in tensors_of(state)] != types:
            raise Broken(f"{case}: a step changes the types of the state, so that hypotheses cannot be joined")
        for what, probabilities in (("forced", low), ("stepwise", stepped)):
            apart = difference(probabilities.detach().exp(), exact.detach().exp())
            if not apart <= NEAR:
                raise Broken(f"{case}: {what} probabilities in bfloat16 and in float32 differ by {apart:.2g}")
        if weights is not None and exact_weights is not None:
            if not difference(weights.detach(), exact_weights.detach()) <= NEAR:
                raise Broken(f"{case}: weights in bfloat16 and in float32 differ by more than {NEAR}")
            for row, length in enumerate(case.lengths):
                if bool(weights[row, :, length:].any()):
                    raise Broken(f"{case}: in bfloat16 padding has weight")
        model.zero_grad()
        low.float().sum().backward()
        infinite = [n for n, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
        if infinite:
            raise Broken(f"{case}: gradients in bfloat16 are not finite: {', '.join(infinite)}")
