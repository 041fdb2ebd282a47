"""Averages over data sets: each counts alike, seeds have a spread, and runs that are missing are named."""

import csv

import pytest
from support.handmade_runs import REFERENCES, write_run, write_text_data
from support.scripts import call_script

from unrolled.comparison.averages import average
from unrolled.configuration.values import load_runs
from unrolled.errors import UserError
from unrolled.metrics.error_rates import errors_of_lines, total

RATES = {
    ("cgru", "ady", 1): 20.0,
    ("cgru", "ady", 2): 30.0,
    ("cgru", "bul", 1): 10.0,
    ("cgru", "bul", 2): 12.0,
    ("dot", "ady", 1): 40.0,
    ("dot", "ady", 2): 44.0,
    ("dot", "bul", 1): 50.0,
    ("dot", "bul", 2): 52.0,
}


def written(folder, rates=RATES, **more):
    for number, ((model, language, seed), rate) in enumerate(rates.items()):
        results = {"test/word_error_rate": rate, "test/symbol_error_rate": rate / 4, "seed": seed}
        chosen = {"choices.model": model, "data.language": language, "seed": seed, "data.train": f"{language}.tsv"}
        command = ["experiment=g2p", f"data.language={language}", f"model={model}"]
        write_run(folder / f"{number}-{model}", results=results, command=command, **(chosen | more))
    return load_runs(str(folder))


def test_every_data_set_counts_alike_and_the_spread_is_over_seeds(tmp_path):
    found = average(written(tmp_path), "data.language")
    assert (list(found.names), [system.label for system in found.systems]) == (["ady", "bul"], ["cgru", "dot"])
    mean, deviation = found.systems[0].average(found.names, "test/word_error_rate")
    assert mean == pytest.approx((15 + 21) / 2)  # of seed 1 and of seed 2
    assert deviation == pytest.approx(6 / 2**0.5)
    assert found.systems[1].on("bul", "test/word_error_rate").mean == 51
    assert found.notices == []
    assert [measure.name for measure in found.measures] == ["test/word_error_rate", "test/symbol_error_rate"]


def test_the_average_is_over_what_every_system_has(tmp_path):
    rates = {key: rate for key, rate in RATES.items() if key[:2] != ("dot", "bul")}
    found = average(written(tmp_path, rates), "data.language")
    assert list(found.names) == ["ady"]
    assert any("not every system has bul" in notice for notice in found.notices)
    rates = {key: rate for key, rate in RATES.items() if key != ("dot", "bul", 2)}
    found = average(written(tmp_path / "b", rates), "data.language")
    assert found.systems[1].seeds(found.names) == [1]
    assert any("not every data set has the same seeds" in notice for notice in found.notices)


def test_a_baseline_is_named_by_its_options(tmp_path):
    runs = written(tmp_path)
    assert average(runs, "data.language", {"model": "dot"}).baseline.label == "dot"
    assert average(runs, "data.language", "model=cgru").baseline.label == "cgru"


def test_a_baseline_may_have_a_value_other_than_text(tmp_path):
    runs = [*written(tmp_path / "a", flag=True), *written(tmp_path / "b", flag=False)]
    found = average(runs, "data.language", {"model": "dot", "flag": True})
    assert found.baseline.values == {"model": "dot", "flag": "true"}


NO_SYSTEM = "baseline: 0 of 2 systems fit"


@pytest.mark.parametrize(
    ("over", "baseline", "says"),
    [
        ("data.langauge", None, "over=data.langauge: no run has this option; did you mean data.language?"),
        (
            "data.language",
            {"model": "gru"},
            "baseline: 0 of 2 systems fit; name one by its options: model: cgru; model: dot",
        ),
    ],
)
def test_mistakes_are_one_line(over, baseline, says, tmp_path):
    with pytest.raises(UserError) as problem:
        average(written(tmp_path), over, baseline)
    assert str(problem.value) == says


def test_runs_that_have_nothing_in_common_are_refused(tmp_path):
    rates = {("cgru", "ady", 1): 1.0, ("dot", "bul", 1): 2.0}
    with pytest.raises(UserError, match="none of its values in common: ady, bul"):
        average(written(tmp_path, rates), "data.language")


# ---- as compare.py shows them


@pytest.fixture
def sweep(tmp_path):
    """Two models on two languages, with two seeds: translations with a share of the lines wrong."""
    data = {name: write_text_data(tmp_path / name, links=False) for name in ("ady", "bul")}
    for number, ((model, language, seed), rate) in enumerate(RATES.items()):
        wrong = round(rate / 100 * len(REFERENCES))
        lines = [line + " x" * (place < wrong) for place, line in enumerate(REFERENCES)]
        found = total(errors_of_lines(lines, REFERENCES, "word"))
        results = {"test/word_error_rate": found.word_error_rate, "test/symbol_error_rate": found.symbol_error_rate}
        write_run(
            tmp_path / "sweep" / f"{number}-{model}",
            results=results,
            data={**data[language], "language": language, "symbols": "word"},
            translations=lines,
            command=["experiment=g2p", f"data.language={language}", f"model={model}"],
            **{"choices.model": model, "seed": seed},
        )
    return tmp_path


FEW = ["bootstrap=200", "randomization=200"]


def test_compare_averages_over_languages_and_tests_the_difference(sweep):
    done = call_script("compare.py", "runs=sweep", "over=data.language", "baseline={model: dot}", *FEW, cwd=sweep)
    assert done.status == 0, done.stderr
    head, cgru, dot, *_ = done.stdout.splitlines()
    assert head.split()[:2] == ["model", "runs"]
    assert "p (bootstrap)" in head
    assert "2 x 2" in cgru
    assert "baseline" in dot
    with (sweep / "sweep" / "comparison" / "comparison.csv").open(encoding="utf-8") as file:
        rows = {(row["model"], row["data.language"]): row for row in csv.DictReader(file)}
    rates = {seed: [round(RATES["cgru", each, seed] * 24 / 100) / 24 for each in ("ady", "bul")] for seed in (1, 2)}
    means = [100 * sum(each) / 2 for each in rates.values()]
    assert float(rows["cgru", "average"]["test/word_error_rate mean"]) == pytest.approx(sum(means) / 2)
    assert {language for _, language in rows} == {"ady", "bul", "average"}
    with (sweep / "sweep" / "comparison" / "significance.csv").open(encoding="utf-8") as file:
        tests = [row for row in csv.DictReader(file) if row["metric"] == "test/word_error_rate"]
    assert [row["seed"] for row in tests] == ["1", "2"]
    assert [float(row["score"]) for row in tests] == pytest.approx(means)
    assert all(0 < float(row["randomization"]) < 0.05 for row in tests)


def test_text_that_has_changed_has_no_p_values_but_the_averages_stay(sweep):
    (sweep / "ady" / "test.target").write_text("another\n" * 24, encoding="utf-8")
    done = call_script("compare.py", "runs=sweep", "over=data.language", "baseline={model: dot}", *FEW, cwd=sweep)
    assert done.status == 0
    assert "p (bootstrap)" not in done.stdout
    assert "the test text has changed" in (sweep / "sweep" / "comparison" / "comparison.md").read_text(encoding="utf-8")


def test_a_misspelt_option_is_one_line(sweep):
    done = call_script("compare.py", "runs=sweep", "over=data.langauge", cwd=sweep)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "compare.py: over=data.langauge: no run has this option; did you mean data.language?"
    ]
