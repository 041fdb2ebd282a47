"""Validation at equal updates and equal time, on curves made by hand."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.handmade_runs import run

from unrolled.comparison.budgets import CLOCKS, equal_budgets
from unrolled.comparison.groups import compare

CPU, CLOCK = CLOCKS
CURVE = [5.0, 9.0, 12.0, 11.0]


def trained(folder, attention, seed=1, *, values=CURVE, every=10, figure="val/bleu", mode="max", **results):
    """A run with a validation every so many updates."""
    folder.mkdir()
    rows = [f"{every * number - 1},{value}" for number, value in enumerate(values, 1)]
    (folder / "metrics.csv").write_text("\n".join([f"step,{figure}", "0,", *rows, ""]), encoding="utf-8")
    facts = {"steps": every * len(values), **{name.replace("_", "/", 1): value for name, value in results.items()}}
    options = {"choices.attention": attention, "objective.monitor": figure, "objective.mode": mode, "seed": seed}
    return run(folder, bleu=1.0, results=facts, **options)


def budgets(*runs):
    return equal_budgets(compare(runs, {"attention": "bahdanau"}))


def test_the_best_validation_within_the_budget_of_the_baseline(tmp_path):
    slow = trained(tmp_path / "a", "gru_att", values=[4, 8, 14, 15, 16], train_cpu_seconds=100.0)  # 2 seconds an update
    base = trained(tmp_path / "b", "bahdanau", train_cpu_seconds=60.0)
    equal = budgets(slow, base)
    assert (equal.monitor, equal.clock) == ("val/bleu", CPU)
    assert equal.by_label["gru_att"] == (50, 100.0, 16.0, 15.0, 14.0)  # 40 updates, 30 updates
    assert equal.by_label["bahdanau"] == (40, 60.0, 12.0, 12.0, 12.0)


def test_a_validation_after_the_last_update_is_within_the_budget(tmp_path):
    runs = [trained(tmp_path / name, name) for name in ("bahdanau", "gru_att")]
    for folder in runs:
        (folder.folder / "metrics.csv").write_text("step,val/bleu\n0,\n40,7.0\n", encoding="utf-8")
    assert [found.at_updates for found in budgets(*runs).by_label.values()] == [7.0, 7.0]


@settings(max_examples=10)
@example(seconds=1.25, updates=155)
@given(seconds=st.floats(0.1, 1e6), updates=st.integers(1, 10_000))
def test_in_its_time_the_baseline_gets_to_its_end(tmp_path_factory, seconds, updates):
    folder = tmp_path_factory.mktemp("runs")
    base = trained(folder / "b", "bahdanau", values=[1, 2, 3], every=updates, train_cpu_seconds=seconds)
    other = trained(folder / "a", "gru_att", values=[1, 2, 3], every=updates, train_cpu_seconds=seconds)
    assert [budgets.at_time for budgets in budgets(base, other).by_label.values()] == [3, 3]


def test_each_seed_has_the_budget_of_its_own_baseline_and_lower_may_be_better(tmp_path):
    error = {"figure": "val/word_error_rate", "mode": "min"}
    runs = [trained(tmp_path / f"a{seed}", "gru_att", seed, values=[9, 7, 5], **error) for seed in (1, 2, 3)]
    runs += [trained(tmp_path / f"b{seed}", "bahdanau", seed, values=[8] * seed, **error) for seed in (1, 2)]
    equal = budgets(*runs)
    assert equal.by_label["gru_att"][:4] == (30, pytest.approx(math.nan, nan_ok=True), 5, 8)  # 9 and 7, seed 3 alone
    assert math.isnan(equal.by_label["gru_att"].at_time)  # of runs that did not say how long they took


def test_time_is_by_the_clock_if_one_run_has_no_processor_time(tmp_path):
    slow = trained(tmp_path / "a", "gru_att", train_seconds=80.0)
    base = trained(tmp_path / "b", "bahdanau", train_cpu_seconds=60.0, train_seconds=20.0)
    equal = budgets(slow, base)
    assert (equal.clock, equal.by_label["gru_att"].at_time, equal.by_label["bahdanau"].seconds) == (CLOCK, 5.0, 20.0)


def test_a_group_without_curves_has_no_row(tmp_path):
    runs = [trained(tmp_path / name, name) for name in ("bahdanau", "gru_att", "dot")]
    (tmp_path / "dot" / "metrics.csv").unlink()
    assert set(budgets(*runs).by_label) == {"bahdanau", "gru_att"}
    (tmp_path / "gru_att" / "metrics.csv").write_text("step,val/bleu\n1,damaged\n", encoding="utf-8")
    assert budgets(*runs) is None


def test_there_is_no_such_table_without_a_baseline_or_a_common_figure(tmp_path):
    base = trained(tmp_path / "b", "bahdanau")
    assert equal_budgets(compare([base, trained(tmp_path / "a", "gru_att")])) is None
    other = trained(tmp_path / "c", "gru_att", figure="val/perplexity", mode="min")
    assert equal_budgets(compare([base, other], str(base.folder))) is None
