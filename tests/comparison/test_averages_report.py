"""Averages over data sets as compare.py shows them and writes them to files."""

import csv

import pytest
from support.handmade_runs import RATES, REFERENCES, write_run, write_text_data
from support.scripts import call_script

from unrolled.metrics.error_rates import errors_of_lines, total


@pytest.fixture
def sweep(tmp_path):
    """Two models on two languages, with two seeds: translations with a share of the lines wrong."""
    data = {name: write_text_data(tmp_path / name, links=False) for name in ("ady", "bul")}
    for number, ((model, language, seed), rate) in enumerate(RATES.items()):
        wrong = round(rate / 100 * len(REFERENCES))
        lines = [line + " x" * (place < wrong) for place, line in enumerate(REFERENCES)]
        errors = total(errors_of_lines(lines, REFERENCES, "word"))
        results = {"test/word_error_rate": errors.word_error_rate, "test/symbol_error_rate": errors.symbol_error_rate}
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
    rates = {
        seed: [round(RATES["cgru", language, seed] * 24 / 100) / 24 for language in ("ady", "bul")] for seed in (1, 2)
    }
    means = [100 * sum(of_seed) / 2 for of_seed in rates.values()]
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
