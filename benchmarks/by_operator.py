"""Which of torch's operators a training step of ours spends its time in, by torch's profiler."""

from collections.abc import Iterable
from dataclasses import dataclass

from measure import Prepared
from operations import training_operations
from torch.profiler import ProfilerActivity, profile

PRODUCTS = {"aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm", "aten::baddbmm", "mkldnn::_linear_pointwise"}
SHOWN = 12


@dataclass(frozen=True)
class Operator:
    """What an operator itself takes, without those that it calls, in one step on average."""

    name: str
    calls: float
    seconds: float


def by_operator(prepared: Prepared) -> list[Operator]:
    """All operators of a step on the CPU, the slowest first; an update before them is not measured."""
    contestant = prepared.contestant("ours")
    contestant.step(prepared.batches[0])
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for batch in prepared.batches:
            contestant.step(batch)
    steps = len(prepared.batches)
    operators = [
        Operator(event.key, event.count / steps, event.self_cpu_time_total / 1e6 / steps)
        for event in profiled.key_averages()
    ]
    return sorted(operators, key=lambda operator: -operator.seconds)


def operator_table(prepared: Prepared, operators: Iterable[Operator]) -> str:
    """The slowest operators, and what matrix products alone reach of the operations that the equations need."""
    operators = list(operators)
    total = sum(operator.seconds for operator in operators)
    products = sum(operator.seconds for operator in operators if operator.name in PRODUCTS)
    needed = [sum(training_operations(prepared.model, batch).values()) for batch in prepared.batches]
    rate = sum(needed) / len(needed) / products
    lines = ["| operator | calls a step | ms a step | share |", "| --- | ---: | ---: | ---: |"]
    lines += [
        f"| `{one.name}` | {one.calls:.0f} | {1000 * one.seconds:.1f} | {one.seconds / total:.1%} |"
        for one in operators[:SHOWN]
    ]
    return "\n".join([*lines, "", f"Matrix products: {products / total:.0%} of the time, {rate / 1e9:.0f} GFLOP/s."])
