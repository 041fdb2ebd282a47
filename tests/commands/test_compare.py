"""compare.py as a user runs it, on run folders made by hand and once on a sweep."""

import csv
import logging
import random
import re

import numpy as np
import pytest
from support.handmade_runs import REFERENCES, SIGNATURES, SOURCES, sha256_of, write_run, write_text_data
from support.scripts import ROOT, call_script, results, write_pair

from unrolled.comparison import report
from unrolled.metrics.interaction import interaction
from unrolled.metrics.line_scores import Bleu
from unrolled.metrics.seed_significance import score_difference
from unrolled.metrics.significance import paired_tests
from unrolled.metrics.translation_scores import bleu_by_length, sentence_chrf, translation_scores

NOISE = {"bahdanau": 0.3, "gru_att": 0.1}
FEW = ["bootstrap=60", "randomization=50", "sentences=2", "edges=[0,5,8]"]


def translations(noise, seed):
    """The references, with a share of the words left out."""
    rng = random.Random(seed)
    return [" ".join(word for word in line.split() if rng.random() > noise) for line in REFERENCES]


def of_seeds(attention):
    """The translations of seeds 1 and 2."""
    return [translations(NOISE[attention], f"{attention}{seed}") for seed in (1, 2)]


def figures(lines, **more):
    scores = translation_scores(lines, REFERENCES)
    found = {"test/bleu": scores.bleu, "test/chrf": scores.chrf, "test/perplexity": 10 - scores.bleu / 20}
    return {**found, **SIGNATURES, "parameters": 12345, **more}


def write_translator(folder, attention, seed, noise, data, **more):
    lines = translations(noise, f"{attention}{seed}")
    chosen = {"choices.attention": attention, "seed": seed, "attention.size": len(attention)}
    options = {"results": figures(lines), "translations": lines, "command": ["attention=x,y", "seed=1,2"], "data": data}
    number = len(list(folder.glob("*-*")))
    return write_run(folder / f"{number}-{attention}-seed{seed}", **{**options, **chosen, **more})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_text_data(tmp_path_factory.mktemp("text"))


@pytest.fixture
def runs(tmp_path, data):
    """Two attentions with two seeds each, one of which has a third that diverged and a fourth still at it."""
    for attention, noise in NOISE.items():
        for seed in (1, 2):
            write_translator(tmp_path / "sweep", attention, seed, noise, data)
    low = {"test/bleu": 0.0, "status": "diverged"}
    write_translator(tmp_path / "sweep", "gru_att", 3, 0.9, data, results=low, translations=None)
    write_translator(tmp_path / "sweep", "gru_att", 4, 0.9, data, results=None, translations=None)
    return tmp_path / "sweep"


def compare(folder, *more, runs="sweep", status=0, drawings=False):
    done = call_script("compare.py", f"runs={runs}", *FEW, *more, cwd=folder, drawings=drawings)
    assert done.status == status, done.stderr
    return done


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells(stdout):
    """The first table: head and rows."""
    lines = [re.split(r"  +", line.strip()) for line in stdout.split("\n\n")[0].splitlines()]
    return lines[0], {line[0]: dict(zip(lines[0][1:], line[1:])) for line in lines[1:]}


def test_means_deviations_and_p_values_against_a_baseline(runs, caplog):
    done = compare(runs.parent, "baseline={attention: bahdanau}")
    head, rows = cells(done.stdout)
    assert head[:3] == ["attention", "runs", "BLEU"]
    bleu = [results(folder)["test/bleu"] for folder in sorted(runs.glob("*gru_att*"))[:2]]
    assert rows["gru_att"]["runs"] == "2"
    assert rows["gru_att"]["BLEU"] == f"{np.mean(bleu):.2f} ± {np.std(bleu, ddof=1):.2f}"
    assert rows["bahdanau"]["p (bootstrap)"] == "baseline"

    own = {
        seed: paired_tests(baseline, {"it": lines}, REFERENCES, bootstrap=60, randomization=50)["it"]
        for seed, baseline, lines in zip((1, 2), of_seeds("bahdanau"), of_seeds("gru_att"))
    }
    with open(runs / "comparison" / "significance.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == 4
    for row in found:
        assert row["group"] == "gru_att"
        numbers = [float(row[name]) for name in ("score", "baseline", "bootstrap", "randomization")]
        assert numbers == list(own[int(row["seed"])][row["metric"]])
    assert rows["gru_att"]["p (bootstrap)"] == f"{max(own[seed]['bleu'].bootstrap for seed in own):.4f}"
    assert rows["gru_att"]["p (randomisation)"] == f"{max(own[seed]['bleu'].randomization for seed in own):.4f}"


def test_systems_with_several_runs_are_compared_over_seeds(runs):
    done = compare(runs.parent, "baseline={attention: bahdanau}")
    by_run = [Bleu().statistics(of_seeds(name), REFERENCES) for name in ("bahdanau", "gru_att")]
    expected = score_difference(Bleu(), *by_run, samples=60)
    (row,) = [line for line in done.stdout.splitlines() if re.match(r"gru_att  +2  +[+-]", line)]
    assert f"{expected.difference:+.2f}" in row
    assert f"[{expected.lower:+.2f}, {expected.upper:+.2f}]" in row
    assert f"{expected.p:.4f}" in row
    with open(runs / "comparison" / "comparison.csv", newline="") as file:
        rows = {row["attention"]: row for row in csv.DictReader(file)}
    assert float(rows["gru_att"]["bleu over seeds p"]) == expected.p
    assert rows["bahdanau"]["bleu over seeds p"] == ""
    assert "over seeds" in (runs / "comparison" / "comparison.html").read_text(encoding="utf-8")


def test_the_tutorial_names_the_tables_below_the_first(runs):
    done = compare(runs.parent, "baseline={attention: bahdanau}")
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    headings = [block.splitlines()[0] for block in done.stdout.split("\n\n")[1:]]
    assert headings == ["against bahdanau", "against bahdanau, over seeds and sentences"]
    assert all(f"`{heading}`" in tutorial for heading in headings)


def test_runs_that_have_not_completed_are_named_and_never_averaged(runs, caplog):
    compare(runs.parent)
    diverged, running = "4-gru_att-seed3: diverged; left out", "5-gru_att-seed4: incomplete; left out"
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    for line in (diverged, running):
        assert any(line in message for message in said)
    folder = runs / "comparison"
    for name in ("comparison.md", "comparison.html"):
        text = (folder / name).read_text(encoding="utf-8").replace("\\", "")
        assert diverged in text
        assert running in text
    with open(folder / "comparison.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["completed", "completed", "diverged", "incomplete"]
    assert [row["test/bleu mean"] != "" for row in rows] == [True, True, False, False]
    bleu = [results(folder)["test/bleu"] for folder in sorted(runs.glob("*gru_att*"))[:2]]
    assert float(rows[1]["test/bleu mean"]) == pytest.approx(np.mean(bleu))
    assert float(rows[1]["test/bleu standard deviation"]) == pytest.approx(np.std(bleu, ddof=1))


def test_figures_show_the_numbers_of_the_table(runs, monkeypatch):
    drawn = {}

    def keep(figure, path):
        drawn[path.name] = figure
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a picture")

    monkeypatch.setattr(report, "save_figure", keep)
    compare(runs.parent)
    assert set(drawn) == {f"bleu-by-{what}.{suffix}" for what in ("length", "reordering") for suffix in ("png", "pdf")}
    (axes,) = drawn["bleu-by-length.png"].axes
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    lengths = [len(source.split()) for source in SOURCES]
    for attention in NOISE:
        each = [[g.bleu for g in bleu_by_length(run, REFERENCES, lengths, [0, 5, 8])] for run in of_seeds(attention)]
        assert lines[attention] == pytest.approx(np.mean(each, axis=0).tolist())
    page = (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    for values in zip(*lines.values()):
        assert re.search(r".*".join(re.escape(f"| {value:.2f} ") for value in values), page)


def test_pictures_are_written_and_stand_in_the_page(runs):
    compare(runs.parent, drawings=True)
    folder = runs / "comparison"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["bands.csv", *(f"comparison.{suffix}" for suffix in ("md", "csv", "html"))]
        + [f"bleu-by-{what}.{suffix}" for what in ("length", "reordering") for suffix in ("png", "pdf")]
    )
    assert (folder / "bleu-by-length.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "bleu-by-reordering.pdf").read_bytes().startswith(b"%PDF")
    page = (folder / "comparison.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2


def test_the_sentences_where_the_best_is_worst_and_best(runs):
    compare(runs.parent, "baseline={attention: bahdanau}", "sentences=1")
    chrf = {name: np.mean([sentence_chrf(run, REFERENCES) for run in of_seeds(name)], axis=0) for name in NOISE}
    gains = chrf["gru_att"] - chrf["bahdanau"]
    page = (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| line (\d+) \|", page, re.MULTILINE) == [str(gains.argmin() + 1), str(gains.argmax() + 1)]
    best = int(gains.argmax())
    for lines in (SOURCES, REFERENCES, of_seeds("gru_att")[0], of_seeds("bahdanau")[0]):
        assert f"| {' '.join(lines[best].split())} |" in page


def test_without_a_baseline_there_are_no_p_values_and_a_line_says_how_to_get_them(runs, caplog):
    caplog.set_level(logging.INFO)
    (runs / "comparison").mkdir()
    (runs / "comparison" / "significance.csv").touch()
    assert "p (" not in compare(runs.parent).stdout
    assert "p-values need a baseline: baseline='{attention: bahdanau}'" in caplog.text
    assert not (runs / "comparison" / "significance.csv").exists()  # of an earlier comparison
    page = (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert "## Sentences where gru\\_att is worst\n" in page  # the better one by itself


def test_runs_with_another_test_text_are_in_neither_figures_nor_tests(runs, data, tmp_path, caplog):
    other = sha256_of(data) | {"test.target": "0" * 64}
    for seed in range(1, 6):  # more runs than of the baseline's text
        write_translator(runs, "dot", seed, 0.0, data, sha256=other)
    done = compare(tmp_path, "baseline={attention: bahdanau}", "output=else/where")
    assert "dot: another test text" in caplog.text
    assert "BLEU: none is the best" in caplog.text
    _, rows = cells(done.stdout)
    assert (rows["gru_att"]["p (bootstrap)"] <= "1", rows["dot"]["p (bootstrap)"]) == (True, "–")
    page = (tmp_path / "else" / "where" / "comparison.md").read_text(encoding="utf-8")
    assert "| source length (words) | sentences | bahdanau | gru\\_att |" in page
    assert not (runs / "comparison").exists()


def test_where_a_run_has_learnt_nothing_there_is_neither_bold_nor_p(runs, data, tmp_path, caplog):
    for attention, seed in (("dot", 1), ("dot", 2), ("coverage", 1), ("coverage", 2)):
        lines = translations(0.2, seed)
        nothing = attention == "dot" or seed == 2
        found = figures(lines) | {"left_unigram_level": not nothing, "parameters": 1, "peak_memory_mib": 1.0}
        write_translator(runs, attention, seed, 0.2, data, results=found)
    done = compare(tmp_path, "baseline={attention: bahdanau}")
    _, rows = cells(done.stdout)
    assert rows["gru_att"]["p (bootstrap)"] <= "1"
    assert [rows[name]["p (bootstrap)"] for name in ("dot", "coverage")] == ["–", "–"]
    assert rows["dot"]["runs"] == "2 (2 at the unigram level)"
    assert "coverage: no p-value, as with seed 2 a run of the pair has learnt nothing" in caplog.text
    assert "dot: no p-value, as with seeds 1, 2 a run of the pair has learnt nothing" in caplog.text
    assert "dot-seed1: has learnt nothing: its lowest validation loss is not 0.1 nats" in caplog.text
    page = (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| dot |"))
    assert "**" not in row  # though no other run has taken less memory
    assert "over seeds and sentences\n" in done.stdout
    assert "\ncoverage " not in done.stdout.split("over seeds and sentences\n")[1]


def test_p_values_are_of_seeds_that_both_have(runs, data, tmp_path, caplog):
    write_translator(runs, "bahdanau", 3, 0.3, data)
    write_translator(runs, "gru_att", 4, 0.1, data)
    write_translator(runs, "dot", 9, 0.2, data)
    done = compare(tmp_path, "baseline={attention: bahdanau}")
    tests = [line.split()[:2] for line in done.stdout.split("\n\n")[1].splitlines()[2:]]
    assert tests == [["gru_att", "1"], ["gru_att", "2"]]
    assert cells(done.stdout)[1]["dot"]["p (bootstrap)"] == "–"
    assert "dot: no p-value, as it has no run with a seed of bahdanau (1, 2, 3)" in caplog.text
    write_translator(runs, "dot", 8, 0.25, data)  # two runs, with other seeds: a test over seeds needs no common ones
    printed = compare(tmp_path, "baseline={attention: bahdanau}", "longer_than=5").stdout
    over_seeds, gains = printed.split("over seeds and sentences")[1].split("gain over bahdanau by source length")
    assert [line.split()[0] for line in over_seeds.strip().splitlines()[1:]] == ["gru_att", "dot"]
    assert "\ndot " in gains


def test_translations_that_are_not_as_many_as_references_are_not_scored(runs, tmp_path, caplog):
    path = runs / "0-bahdanau-seed1" / "translations" / "test.txt"
    path.write_text("one line\n", encoding="utf-8")
    compare(tmp_path)
    assert "bahdanau: 1 translations of 24 test sentences" in caplog.text
    page = (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert "| source length (words) | sentences | gru\\_att |" in page


@pytest.mark.parametrize("change", ["changed", "gone"])
def test_where_the_test_text_is_no_more_what_it_was_there_is_the_table_alone(tmp_path, caplog, change):
    data = write_text_data(tmp_path / "text")
    for seed in (1, 2):
        write_translator(tmp_path / "sweep", "bahdanau", seed, 0.2, data)
    target = tmp_path / "text" / "test.target"
    target.write_text("other\n" * len(SOURCES)) if change == "changed" else target.unlink()
    assert cells(compare(tmp_path).stdout)[1]["cgru-bahdanau"]["runs"] == "2"
    assert ("has changed since" if change == "changed" else "there is no such file") in caplog.text
    assert not (tmp_path / "sweep" / "comparison" / "bleu-by-length.png").exists()


def test_a_run_without_its_translations_is_left_out_of_the_figures(runs, caplog, tmp_path):
    (runs / "0-bahdanau-seed1" / "translations" / "test.txt").unlink()
    compare(tmp_path)
    assert "bahdanau: there is no " in caplog.text
    page = (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert "| source length (words) | sentences | gru\\_att |" in page


def test_without_known_links_they_are_found_or_reordering_is_left_out(tmp_path):
    data = write_text_data(tmp_path / "text", links=False)
    write_translator(tmp_path / "sweep", "bahdanau", 1, 0.2, data)
    compare(tmp_path, "align=10")
    assert not (tmp_path / "sweep" / "comparison" / "bleu-by-reordering.png").exists()
    compare(tmp_path)
    page = (tmp_path / "sweep" / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert "A hidden Markov model found the links" in page


def test_language_models_have_a_perplexity_and_nothing_else(tmp_path, caplog):
    for seed, perplexity in ((1, 70.0), (2, 72.0)):
        for model, factor in (("rnn_lm", 1), ("ngram_lm", 2)):
            chosen = {"choices.model": model, "choices.attention": "none", "seed": seed, "command": ["model=x"]}
            chosen |= {"sha256": {"test.target": "1" * 64, "tokenizer.target": "2" * 64}}
            figures = {"test/perplexity": perplexity * factor, "parameters": 9}
            write_run(tmp_path / "sweep" / f"{model}{seed}", results=figures, **chosen)
    head, rows = cells(compare(tmp_path).stdout)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert head == ["model", "runs", "perplexity", "parameters"]
    assert rows["rnn_lm"]["perplexity"] == "71.00 ± 1.41"
    page = (tmp_path / "sweep" / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert "**71.00 ± 1.41**" in page
    assert "p (" not in compare(tmp_path, "baseline={model: rnn_lm}").stdout
    assert "baseline rnn_lm: no p-values, as not all of its runs have a BLEU" in caplog.text


@pytest.mark.parametrize(
    ("options", "more", "exact"),
    [
        ({"objective.monitor": "val/word_error_rate"}, [], True),
        ({"objective.monitor": "val/bleu"}, [], False),
        ({"objective.monitor": "val/word_error_rate"}, ["score=bleu"], False),
        ({"objective.monitor": "val/bleu"}, ["score=exact-match"], True),
    ],
)
def test_runs_chosen_by_an_error_rate_are_compared_by_exact_match(tmp_path, data, options, more, exact):
    right = {}
    for attention, noise in NOISE.items():
        for seed in (1, 2):
            lines = translations(noise / 4, f"{attention}{seed}")
            right[attention, seed] = 100 * np.mean([line == other for line, other in zip(lines, REFERENCES)])
            rates = {"test/word_error_rate": 100 - right[attention, seed], "test/symbol_error_rate": 10.0}
            chosen = {"results": figures(lines, **rates), "translations": lines, **options}
            write_translator(tmp_path / "sweep", attention, seed, noise, data, **chosen)
    printed = compare(tmp_path, "baseline={attention: bahdanau}", *more).stdout
    folder = tmp_path / "sweep" / "comparison"
    assert ("difference in exact match, %" in printed) == exact
    assert (folder / f"{'exact-match' if exact else 'bleu'}-by-length.png").is_file()
    assert not (folder / f"{'bleu' if exact else 'exact-match'}-by-length.png").exists()
    page = (folder / "comparison.md").read_text(encoding="utf-8")
    assert ("## exact match, % by source length" in page) == exact
    assert ("p: for the difference in word error rate" in page) == exact
    if exact:
        tests = [row for row in rows_of(folder / "significance.csv") if row["metric"] == "test/word_error_rate"]
        assert [float(row["score"]) for row in tests] == pytest.approx(
            [100 - right["gru_att", seed] for seed in (1, 2)]
        )
        (row,) = [row for row in rows_of(folder / "comparison.csv") if row["attention"] == "gru_att"]
        gain = np.mean([right["gru_att", seed] - right["bahdanau", seed] for seed in (1, 2)])
        assert float(row["exact-match over seeds difference"]) == pytest.approx(gain)


def test_the_gain_on_longer_sources_is_compared_with_that_on_shorter_ones(runs):
    printed = compare(runs.parent, "baseline={attention: bahdanau}", "longer_than=5").stdout
    assert "gain over bahdanau by source length" in printed
    lengths = np.array([len(line.split()) for line in SOURCES])
    statistics = [Bleu().statistics(of_seeds(name), REFERENCES) for name in ("bahdanau", "gru_att")]
    expected = interaction(Bleu(), *statistics, lengths > 5, samples=60)
    (row,) = rows_of(runs / "comparison" / "interaction.csv")
    assert row.pop("group") == "gru_att"
    assert {name: float(value) for name, value in row.items()} == pytest.approx(expected._asdict())
    assert "longer sources" in (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    compare(runs.parent, "baseline={attention: bahdanau}")
    assert not (runs / "comparison" / "interaction.csv").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["baseline={attention: bahdanau}", "longer_than=25"], "no gains on shorter and longer sources, as"),
        (["longer_than=5"], "gains are over a baseline; name one with baseline=..."),
    ],
)
def test_a_length_that_gives_no_table_of_gains_is_explained(runs, options, expected):
    compare(runs.parent, *options)
    assert expected in (runs / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert not (runs / "comparison" / "interaction.csv").exists()


def test_the_points_of_the_figures_are_in_a_file(runs):
    compare(runs.parent, "edges=[1,6]")
    rows = rows_of(runs / "comparison" / "bands.csv")
    lengths = np.array([len(line.split()) for line in SOURCES])
    by_length = [row for row in rows if row["by"].startswith("source length") and row["group"] == "gru_att"]
    (long,) = [row for row in by_length if row["low"] == "6"]
    assert int(long["sentences"]) == (lengths > 5).sum()
    counts = Bleu().statistics(of_seeds("gru_att"), REFERENCES)[:, lengths > 5]
    assert float(long["score"]) == pytest.approx(np.mean([Bleu().of_sums(run.sum(axis=0)) for run in counts]))


def test_validation_at_equal_updates_and_equal_time(tmp_path, data):
    for attention, seconds, values in (("bahdanau", 10, [3.0, 7.0]), ("gru_att", 30, [4.0, 8.0, 9.0])):
        results = figures(REFERENCES, steps=10 * len(values), **{"train/cpu_seconds": seconds})
        objective = {"objective.monitor": "val/bleu", "objective.mode": "max"}
        folder = write_translator(tmp_path / "sweep", attention, 1, 0.1, data, results=results, **objective)
        rows = "".join(f"{10 * number + 9},{value}\n" for number, value in enumerate(values))
        (folder / "metrics.csv").write_text(f"step,val/bleu\n{rows}", encoding="utf-8")
    printed = compare(tmp_path, "baseline={attention: bahdanau}").stdout
    assert re.search(r"CPU seconds +validation BLEU +in the updates of bahdanau", printed)
    assert re.search(r"gru_att +30 +30 +9\.00 +8\.00 +4\.00", printed)
    rows = rows_of(tmp_path / "sweep" / "comparison" / "budgets.csv")
    assert [float(row["at_time"]) for row in rows] == [7.0, 4.0]
    assert "equal time" in (tmp_path / "sweep" / "comparison" / "comparison.html").read_text(encoding="utf-8")


def test_of_single_words_the_length_is_in_letters(tmp_path):
    words = [f"{'abcdefghij'[: 1 + number % 7]}{number}" for number in range(40)]
    pairs = {split: write_pair(tmp_path, split, words, words) for split in ("train", "val", "test")}
    given = write_text_data(tmp_path / "text", links=False)
    given["corpus"] |= {split: pair[1:-1].split(",") for split, pair in pairs.items()}
    given |= {split: given["corpus"][split] for split in pairs}
    for attention in ("bahdanau", "gru_att"):
        lines = [word if number % 5 else "wrong" for number, word in enumerate(words)]
        rates = {"test/word_error_rate": 20.0, "test/symbol_error_rate": 10.0, "test/bleu": 50.0}
        chosen = {"results": rates, "translations": lines, "objective.monitor": "val/word_error_rate"}
        write_run(tmp_path / "sweep" / attention, data=given, **{"choices.attention": attention}, **chosen)
    compare(tmp_path)
    page = (tmp_path / "sweep" / "comparison" / "comparison.md").read_text(encoding="utf-8")
    assert "source length (letters)" in page
    assert "reordering" not in page


def test_bold_stands_on_a_terminal_alone(runs, monkeypatch):
    plain = compare(runs.parent).stdout
    assert "\x1b[1m" not in plain
    monkeypatch.setattr(report, "_is_terminal", lambda: True)
    bold = compare(runs.parent).stdout
    best = cells(plain)[1]["gru_att"]["BLEU"]
    assert f"\x1b[1m{best}\x1b[0m" in bold
    assert re.sub(r"\x1b\[\d+m", "", bold) == plain


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs=nowhere"], "runs=nowhere: there is no such folder"),
        (["runs=empty"], "runs=empty: neither this folder nor one in it has a config.yaml"),
        ([], "runs=... is missing"),
        (
            ["runs=ended"],
            "no run has completed, so there is nothing to compare (ended/a: diverged; ended/b: incomplete)",
        ),
        (["runs=sweep", "baseline={attention: dot}"], "baseline: attention=dot fits 0 of 1 groups"),
        (["runs=sweep", "baseline=nowhere"], "baseline=nowhere is not one of the completed runs"),
        (["runs=sweep", "bootstrap=1"], "bootstrap=1: give a whole number from 2"),
        (["runs=sweep", "randomization=0"], "randomization=0: give a whole number from 1"),
        (["runs=sweep", "align=all"], "align=all: give a whole number from 0"),
        (["runs=sweep", "output=sweep/a/config.yaml"], "sweep/a/config.yaml: cannot be written"),
        (["runs=sweep", "edges=3"], "edges=3: give whole numbers"),
        (["runs=sweep", "edges=[9,8]"], "edges=[9, 8]: give whole numbers of words in ascending order"),
        (["runs=sweep", "edges=[]"], "edges=[]: give whole numbers of words in ascending order"),
        (["runs=sweep", "longer_than=0"], "longer_than=0: give a whole number from 1"),
        (["runs=sweep", "score=bluer"], "score=bluer is unknown; did you mean bleu?"),
    ],
)
def test_mistakes_end_with_one_line(tmp_path, arguments, said):
    (tmp_path / "empty").mkdir()
    write_run(tmp_path / "ended" / "a", results={"status": "diverged"})
    write_run(tmp_path / "ended" / "b", results=None)
    write_run(tmp_path / "sweep" / "a", results={"test/perplexity": 3.0})
    done = call_script("compare.py", *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith(f"compare.py: {said}")
    assert done.stderr.count("\n") == 1


def test_damaged_files_leave_a_run_out(runs, caplog):
    (runs / "0-bahdanau-seed1" / "config.yaml").write_text("seed: [1", encoding="utf-8")
    (runs / "2-gru_att-seed1" / "results.json").write_text('{"status": "comp', encoding="utf-8")
    (runs / "3-gru_att-seed2" / "provenance.json").unlink()
    _, rows = cells(compare(runs.parent).stdout)
    assert [row["runs"] for row in rows.values()] == ["1", "1"]
    assert "0-bahdanau-seed1: incomplete" in caplog.text
    assert "2-gru_att-seed1: incomplete" in caplog.text
    assert "does not say what the test text was" in caplog.text
