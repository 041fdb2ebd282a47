"""Averages over data sets: each counts alike, seeds have a spread, and runs that are missing are named."""

import math

import pytest
from support.handmade_runs import RATES, REFERENCES, write_run, write_text_data

from unrolled.comparison.averages import average
from unrolled.comparison.averages_report import write_averages
from unrolled.configuration.build import text_of
from unrolled.configuration.values import load_runs
from unrolled.errors import UserError


def written(folder, rates=RATES, **more):
    for number, ((model, language, seed), rate) in enumerate(rates.items()):
        results = {"test/word_error_rate": rate, "test/symbol_error_rate": rate / 4, "seed": seed}
        chosen = {"choices.model": model, "data.language": language, "seed": seed, "data.train": f"{language}.tsv"}
        command = ["experiment=g2p", f"data.language={language}", f"model={model}"]
        known = {"sha256": {f"test.{side}": f"{side} of {language}" for side in ("source", "target")}}
        chosen |= {"data.symbols": "word"}
        write_run(folder / f"{number}-{model}", results=results, command=command, **(known | chosen | more))
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


@pytest.mark.parametrize("figure", [math.nan, "bad", None])
def test_a_figure_that_is_not_a_number_in_every_run_has_no_average(figure, tmp_path):
    found = average(written(tmp_path, RATES | {("cgru", "ady", 1): 0.0}), "data.language")
    found.systems[0].runs["ady"][1].results["test/word_error_rate"] = figure
    assert found.systems[0].on("ady", "test/word_error_rate") is None
    assert found.systems[0].average(found.names, "test/word_error_rate") is None
    assert [measure.name for measure in found.measures] == ["test/symbol_error_rate"]
    write_averages(tmp_path / "out", found, {}, [])


def test_a_column_of_the_table_names_its_option(tmp_path):
    runs = written(tmp_path)
    assert list(average(runs, "model").names) == list(average(runs, "choices.model").names) == ["cgru", "dot"]


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


def test_a_baseline_is_named_by_the_folder_of_a_run(tmp_path):
    runs = written(tmp_path)
    found = average(runs, "data.language", str(runs[-1].folder))
    assert any(runs[-1] in of_set.values() for of_set in found.baseline.runs.values())


def test_systems_that_have_learnt_nothing_are_named_and_not_tested(tmp_path):
    runs = [
        *written(tmp_path / "a", {key: rate for key, rate in RATES.items() if key[0] == "cgru"}),
        *written(tmp_path / "b", {("dot", *key[1:]): 1.0 for key in RATES if key[0] == "cgru"}),
    ]
    for run in runs:
        run.results["left_unigram_level"] = run.options["choices.model"] == "cgru"
    found = average(runs, "data.language", {"model": "cgru"})
    assert found.tests(lambda folder: None, bootstrap=9, randomization=9) == {}  # nothing is read
    assert [system.all_stuck(found.names) for system in found.systems] == [False, True]
    assert sum("has learnt nothing" in line for line in found.without_tests()) == 4
    page = write_averages(tmp_path / "out", found, {}, []).text
    assert [line.split()[0] for line in page.splitlines()[1:3]] == ["cgru", "dot"]
    table = (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    assert "**" not in next(line for line in table.splitlines() if line.startswith("| dot |"))


def bold(folder, averages):
    """The first words of the rows with a bold figure."""
    write_averages(folder, averages, {}, [])
    rows = (folder / "comparison.md").read_text(encoding="utf-8").splitlines()
    return [row.split()[1] for row in rows if row.startswith("|") and "**" in row]


def test_the_best_average_is_bold(tmp_path):
    averages = average(written(tmp_path / "runs"), "data.language")
    assert bold(tmp_path / "out", averages) == ["cgru"]
    assert averages.without_best() == []


ON_CGRU = [
    {"data.symbols": "grapheme"},
    {"sha256": {"test.source": "of ady", "test.target": "another"}},
    {"sha256": {}},
]


@pytest.mark.parametrize("other", ON_CGRU)
def test_none_is_the_best_and_none_is_tested_where_texts_or_symbols_differ_or_are_not_known(other, tmp_path):
    kept = {model: {key: rate for key, rate in RATES.items() if key[0] == model} for model in ("cgru", "dot")}
    runs = [*written(tmp_path / "a", kept["cgru"], **other), *written(tmp_path / "b", kept["dot"])]
    averages = average(runs, "data.language", str(runs[-1].folder))
    assert bold(tmp_path / "out", averages) == []
    assert averages.tests(lambda folder: None, bootstrap=9, randomization=9) == {}  # nothing is read
    facts = "test.source or test.target or data.symbols"
    assert averages.without_best() == [
        f"{title}: none is the best, as {facts} differ or are not known" for title in ("WER, %", "SER, %")
    ]
    (line,) = averages.without_tests()
    assert line.startswith("cgru")
    assert f": no p-value, as {facts} are not those of dot" in line


def test_systems_that_can_be_compared_with_the_baseline_are_tested_although_another_cannot(tmp_path):
    text, runs = write_text_data(tmp_path, links=False), []
    for attention, symbols in (("bahdanau", "word"), ("dot", "word"), ("gru_att", "grapheme")):
        write_run(
            tmp_path / attention,
            results={"test/word_error_rate": 1.0, "test/symbol_error_rate": 1.0},
            data={**text, "symbols": symbols},
            translations=REFERENCES,
            **{"choices.attention": attention},
        )
        runs.append(str(tmp_path / attention))
    averages = average(load_runs(runs), "data.test", runs[0])
    tests = averages.tests(lambda folder: text_of(str(folder)), bootstrap=9, randomization=9)
    assert [label.split(",")[0] for label in tests] == ["dot"]


def test_systems_that_look_alike_are_tested_apart(tmp_path):
    """1 and "1" are different values."""
    data = {**write_text_data(tmp_path, links=False), "symbols": "word"}
    for name, size, wrong in (("number", 1, 6), ("text", "1", 12), ("other", 2, 0)):
        lines = [line + " x" * (place < wrong) for place, line in enumerate(REFERENCES)]
        rates = {"test/word_error_rate": 100 * wrong / 24, "test/symbol_error_rate": 1.0}
        write_run(tmp_path / name, results=rates, data=data, translations=lines, **{"model.size": size})
    runs = load_runs([str(tmp_path / name) for name in ("number", "text", "other")])
    averages = average(runs, "data.test", {"model.size": 2})
    tests = averages.tests(lambda folder: text_of(str(folder)), bootstrap=9, randomization=9)
    assert {label: scores[1]["test/word_error_rate"].score for label, scores in tests.items()} == {
        "size=1": 25,
        "size=1'": 50,
    }


def test_a_choice_and_the_class_that_was_put_in_its_place_have_columns_of_their_own(tmp_path):
    parts = [("bahdanau", "x.A"), ("bahdanau", "x.B"), ("dot", "x.B")]
    runs = []
    for choice, target in parts:
        options = {"choices.attention": choice, "attention._target_": target}
        runs += written(tmp_path / f"{choice}{target}", {("cgru", "ady", 1): 1.0}, **options)
    averages = average(runs, "data.language")
    assert [dict(system.values) for system in averages.systems] == [
        {"attention": choice, "attention._target_": target.removeprefix("x.")} for choice, target in parts
    ]


def test_systems_without_a_common_seed_are_named(tmp_path):
    """cgru has seed 1 only, dot seed 2 only."""
    rates = {key: rate for key, rate in RATES.items() if key[0] == ("cgru" if key[2] == 1 else "dot")}
    found = average(written(tmp_path, rates), "data.language", {"model": "cgru"})
    assert found.without_tests() == ["dot: no p-value, as it has no seed of cgru on every data set"]
    both = average(written(tmp_path / "both"), "data.language", {"model": "cgru"})
    assert both.without_tests() == []


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


def test_a_run_without_translations_of_the_whole_test_is_not_tested(tmp_path):
    text = {**write_text_data(tmp_path), "symbols": "word"}
    for attention, lines in (("bahdanau", REFERENCES), ("dot", REFERENCES[:-1])):
        rates = {"test/word_error_rate": 1.0}
        write_run(
            tmp_path / attention, results=rates, data=text, translations=lines, **{"choices.attention": attention}
        )
    runs = load_runs([str(tmp_path / attention) for attention in ("bahdanau", "dot")])
    found = average(runs, "data.test", {"attention": "bahdanau"})
    with pytest.raises(UserError, match="dot: no p-values: 23 translations of 24 test sentences"):
        found.tests(lambda folder: text_of(str(folder)), bootstrap=9, randomization=9)


def test_runs_that_have_nothing_in_common_are_refused(tmp_path):
    rates = {("cgru", "ady", 1): 1.0, ("dot", "bul", 1): 2.0}
    with pytest.raises(UserError, match=r"no value of this option is common to all compared systems \(ady, bul\)"):
        average(written(tmp_path, rates), "data.language")
