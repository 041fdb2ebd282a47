"""Which runs are found and make one group, and what is averaged. No training: runs are made by hand."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.handmade_runs import TEXTS, run

from unrolled.comparison.groups import BLEU, MEASURES, PERPLEXITY, compare
from unrolled.comparison.report import notices
from unrolled.comparison.varied_options import title, varied
from unrolled.comparison.varied_options import titles as titled
from unrolled.errors import UserError
from unrolled.runs.folder import Run

AER = next(measure for measure in MEASURES if measure.name == "test/aer")


def titles(runs):
    return [title(option) for option in varied(runs)]


# Options


def test_a_folder_with_an_equals_sign_in_its_name_may_be_the_baseline():
    runs = [run("sweep/lr=0.1", **{"optimizer.lr": 0.1}), run("sweep/lr=0.2", **{"optimizer.lr": 0.2})]
    assert compare(runs, "sweep/lr=0.2").baseline.runs == [runs[1]]
    assert compare(runs, "optimizer.lr=0.1").baseline.runs == [runs[0]]


@pytest.mark.parametrize("side", ["target", "alignment"])
@pytest.mark.parametrize("split", ["test", "train", "val"])
def test_a_text_that_changed_sets_runs_apart(split, side):
    runs = [
        run("a", sha256=TEXTS | {f"{split}.{side}": "5" * 64}),
        run("b", sha256=TEXTS | {f"{split}.{side}": "6" * 64}),
    ]
    assert len({group.label for group in compare(runs).groups}) == 2
    assert len({group.values[f"{split} text"] for group in compare(runs).groups}) == 2


def test_the_seed_and_what_comes_from_it_vary_nothing():
    names = ["seed", "data.module.seed", "name", "logger", "logger.group", "cache", "sweep.dir"]
    assert titles([run(**dict.fromkeys(names, number)) for number in (1, 2)]) == []


BAHDANAU = {"choices.attention": "bahdanau", "attention._target_": "a.Bahdanau", "attention.size": 128}
GRU = {"choices.attention": "gru_att", "attention._target_": "a.GRU", "attention.size": 64, "attention.gates": 2}


def test_a_choice_is_named_without_what_it_brings():
    assert titles([run(**BAHDANAU), run(**GRU)]) == ["attention"]


def test_an_option_inside_that_was_set_by_hand_or_varies_by_itself_is_named():
    both = ["attention", "attention.size"]
    assert titles([run(**BAHDANAU, named=both), run(**GRU)]) == both
    assert titles([run(**BAHDANAU), run(**GRU), run(**GRU | {"attention.size": 9})]) == both


def test_what_a_model_sets_elsewhere_is_named_only_where_someone_may_have_set_it():
    def found(*named):
        configurations = {"choices.model": "cgru", "optimizer.lr": 1e-3}, {"choices.model": "ngram_lm", "optimizer": {}}
        return titles([run(**options, named=named or None) for options in configurations])

    assert found("model") == ["model"]
    assert found("model", "optimizer.lr") == ["model", "optimizer.lr"]
    assert found() == found("model", "experiment") == ["model", "optimizer", "optimizer.lr"]


def test_what_follows_from_a_named_option_is_not_named_in_runs_of_one_experiment():
    def of(experiment, language):
        options = {"data.language": language, "data.train": f"{language}_train.tsv"}
        words = [f"experiment={experiment}", f"data.language={language}"]
        return run(**options, overrides=words, named=["experiment", "data.language"])

    assert titles([of("g2p", "ady"), of("g2p", "gre")]) == ["data.language"]
    assert titles([of("g2p", "ady"), of("g2p_quick", "gre")]) == ["data.language", "data.train"]


def test_a_class_stands_for_what_is_inside():
    adam = {"optimizer._target_": "torch.optim.Adam", "optimizer.lr": 0.002, "optimizer.eps": 1e-8}
    sgd = {"optimizer._target_": "torch.optim.SGD", "optimizer.lr": 0.5}
    (group, other) = compare([run("a", **adam), run("b", **sgd)]).groups
    assert (dict(group.values), dict(other.values)) == ({"optimizer": "Adam"}, {"optimizer": "SGD"})
    assert group.label == "Adam"


def test_a_choice_and_the_class_that_was_put_in_its_place_have_columns_of_their_own():
    parts = [("bahdanau", "x.A"), ("bahdanau", "x.B"), ("dot", "x.B")]
    runs = [
        run(f"{n}", **{"choices.attention": choice, "attention._target_": target})
        for n, (choice, target) in enumerate(parts)
    ]
    groups = compare(runs).groups
    assert [dict(group.values) for group in groups] == [
        {"attention": choice, "attention._target_": target.removeprefix("x.")} for choice, target in parts
    ]
    assert [group.label for group in groups] == ["bahdanau, A", "bahdanau, B", "dot, B"]
    for group in groups:
        assert compare(runs, yaml.safe_load(group.named().removeprefix("baseline=").strip("'"))).baseline == group


def test_an_option_keeps_its_name_before_a_choice_and_a_class():
    options = ["choices.optimizer", "optimizer._target_", "model._target_", "optimizer", "optimizer.lr"]
    assert titled(options) == ["choices.optimizer", "optimizer._target_", "model", "optimizer", "optimizer.lr"]


def test_copies_of_an_option_are_not_named_but_never_forgotten():
    def made(epochs, copy):
        options = {"data.epochs": epochs, "trainer.max_epochs": epochs, "data.module.max_length": copy}
        return run(**options, named=["data.epochs"])

    assert titles([made(2, 9), made(4, 9)]) == ["data.epochs"]
    assert titles([made(2, 9), made(4, 8)]) == ["data.epochs"]  # what tells them apart is named
    assert titles([made(2, 9), made(2, 8)]) == ["data.module.max_length"]


def test_a_text_that_changed_while_no_option_did_is_an_option():
    other = TEXTS | {"test.target": "4" * 64}
    assert titles([run(), run(sha256=other)]) == ["test text"]
    groups = compare([run("a"), run("b", sha256=other)]).groups
    assert [group.values["test text"] for group in groups] == ["1111111 2222222", "1111111 4444444"]
    assert titles([run(**{"choices.data": "x"}), run(**{"choices.data": "y"}, sha256=other)]) == ["data"]


NAMES = ["choices.model", "choices.data", "model._target_", "model.size", "model.in.size", "data.module.size", "lr"]
VALUES = st.sampled_from([0, 1, 0.0, "1", None, True, [1], "a.B", "c.B"])
OPTIONS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=2)
CONFIGURATIONS = st.tuples(OPTIONS, st.lists(OPTIONS, min_size=2, max_size=6))
NAMED = st.none() | st.lists(st.sampled_from([*NAMES, "model", "experiment"]), min_size=1)


@given(CONFIGURATIONS, NAMED, st.lists(st.sampled_from("112"), min_size=6, max_size=6))
def test_runs_are_one_group_if_and_only_if_they_differ_in_nothing_but_the_seed(configurations, named, texts):
    runs = []
    shared, changes = configurations
    for seed, (change, text) in enumerate(zip(changes, texts)):
        options = shared | change
        known = {"sha256": {"test.target": text * 64}, "named": named and frozenset(named)}
        runs.append(Run(Path(f"{seed}"), "completed", {**options, "seed": seed}, **known))
    group_of = {run.folder: group.label for group in compare(runs).groups for run in group.runs}
    for one in runs:
        for other in runs:
            alike = {**one.options, "seed": 0} == {**other.options, "seed": 0} and one.sha256 == other.sha256
            kinds = {name: isinstance(value, bool) for name, value in one.options.items()}
            alike = alike and kinds == {name: isinstance(value, bool) for name, value in other.options.items()}
            assert (group_of[one.folder] == group_of[other.folder]) == alike


def test_numbers_are_compared_as_numbers():
    def groups(*values):
        return len(compare([run(f"{seed}", seed=seed, lr=value) for seed, value in enumerate(values)]).groups)

    assert groups(0, 0.0) == groups(1, 1.0) == 1
    assert groups(1, "1") == groups(1, True) == groups(0.1, 0.2) == 2


def test_labels_are_short_and_differ():
    def label(**options):
        return [group.label for group in compare([run("a"), run("b", **options)]).groups][1]

    assert label(**{"choices.attention": "gru_att"}) == "gru_att"
    assert label(**{"optimizer.lr": 0.1, "model.lr": None}) == "optimizer.lr=0.1, model.lr=null"
    assert label(**{"choices.model": "rnnsearch", "model.size": 3}, named=["model.size"]) == "rnnsearch, size=3"
    assert compare([run("a")]).groups[0].label == "cgru-bahdanau"
    one, other = compare([run("a", lr=1), run("b", lr="1")]).groups
    assert one.label != other.label


def test_runs_of_a_group_stand_in_the_order_of_their_seeds():
    (group,) = compare([run(f"{seed}", seed=seed, bleu=1.0) for seed in (10, 9, 2)]).groups
    assert [one.seed for one in group.runs] == [2, 9, 10]
    (group,) = compare([run(f"{seed}", seed=seed, bleu=1.0) for seed in (2, "foo", [1], None)]).groups
    assert [one.seed for one in group.runs] == ["foo", "[1]", None, 2]


# Means


@given(st.lists(st.floats(0, 100), min_size=1, max_size=7))
def test_mean_and_deviation_are_numpy_s(figures):
    (group,) = compare([run(f"{seed}", seed=seed, bleu=bleu) for seed, bleu in enumerate(figures)]).groups
    spread = group.spread("test/bleu")
    assert spread.mean == pytest.approx(np.mean(figures))
    assert (spread.deviation is None) == (len(figures) == 1)
    if len(figures) > 1:
        assert spread.deviation == pytest.approx(np.std(figures, ddof=1), abs=1e-12)


@pytest.mark.parametrize("status", ["diverged", "interrupted", "failed", "incomplete"])
def test_a_run_that_has_not_completed_never_enters_a_mean(status):
    runs = [run("a", seed=1, bleu=30.0), run("b", seed=2, bleu=32.0), run("c", seed=3, bleu=1.0, status=status)]
    for order in (runs, runs[::-1]):
        comparison = compare(order)
        (group,) = comparison.groups
        assert group.spread("test/bleu").mean == 31
        assert [(left.folder.name, why) for left, why in comparison.left_out] == [("c", status)]
        assert any("c: " in line and status in line for line in notices(comparison))
    with pytest.raises(UserError, match=rf"no run has completed.*c: {status}"):
        compare(runs[2:])


def test_a_group_has_a_figure_only_if_all_its_runs_have_it():
    comparison = compare([run("a", seed=1, bleu=30.0), run("b", seed=2, results={"test/bleu": None})])
    assert comparison.groups[0].spread("test/bleu") is None
    assert any("no mean of BLEU" in line and line.endswith("in b") for line in notices(comparison))
    assert notices(compare([run("a", seed=1), run("b", seed=2)])) == []  # no run has it: language models


def test_of_runs_with_the_same_options_and_seed_the_last_counts():
    comparison = compare([run("a", bleu=10.0), run("b", bleu=20.0)])
    assert comparison.groups[0].spread("test/bleu") == (20.0, None)
    assert [(left.folder.name, "repeated by b" in why) for left, why in comparison.left_out] == [("a", True)]


def by_lr(*bleus, **more):
    return [run(f"{lr}", lr=lr, bleu=bleu, **more) for lr, bleu in enumerate(bleus)]


def test_the_best_is_the_highest_or_the_lowest():
    comparison = compare(by_lr(20.0, 30.0, 10.0))
    assert comparison.best(BLEU) == [comparison.groups[1]]
    lower = compare([run(f"{p}", lr=p, results={"test/perplexity": p}) for p in (5.0, 4.0, 6.0)])
    assert lower.best(PERPLEXITY) == [lower.groups[1]]
    equal = compare(by_lr(20.0, 20.0, 10.0))
    assert equal.best(BLEU) == list(equal.groups[:2])
    assert compare(by_lr(20.0)).best(BLEU) == []  # of one
    sizes = compare([run(f"{n}", lr=n, results={"parameters": n}) for n in (5, 4)])
    assert all(sizes.best(measure) == [] for measure in MEASURES)


@pytest.mark.parametrize("sha256", [TEXTS | {"test.target": "9" * 64}, {}])
def test_none_is_the_best_on_texts_that_differ_or_are_not_known(sha256):
    comparison = compare([run("a", bleu=1.0), run("b", lr=1, bleu=2.0, sha256=sha256)])
    assert comparison.best(BLEU) == []
    assert any(line.startswith("BLEU: none is the best, as test.source or") for line in notices(comparison))
    assert compare([run("a", bleu=1.0, sha256={}), run("b", lr=1, bleu=2.0, sha256={})]).best(BLEU) == []


def test_perplexities_of_different_vocabularies_are_not_compared():
    runs = [run("a", bleu=1.0, results={"test/perplexity": 5.0})]
    runs += [run("b", lr=1, bleu=2.0, results={"test/perplexity": 3.0}, sha256=TEXTS | {"tokenizer.target": "9" * 64})]
    comparison = compare(runs)
    assert comparison.best(PERPLEXITY) == []
    assert comparison.best(BLEU) == [comparison.groups[1]]
    assert [line.partition(":")[0] for line in notices(comparison)] == ["perplexity"]


def test_alignment_error_rates_by_different_links_are_not_compared():
    def compared(*links):
        known = [{} if hashed is None else {"test.alignment": hashed * 64} for hashed in links]
        rates = [{"test/aer": 0.3}, {"test/aer": 0.2}]
        return compare(
            [run("ab"[lr], lr=lr, bleu=1.0 + lr, results=rates[lr], sha256=TEXTS | known[lr]) for lr in (0, 1)]
        )

    for same in (compared("a", "a"), compared(None, None)):  # None: the data makes its links, or has none
        assert same.best(AER) == [same.groups[1]]
        assert notices(same) == []
    for comparison in (compared("a", "b"), compared("a", None)):
        assert comparison.best(AER) == []
        assert comparison.best(BLEU) == [comparison.groups[1]]
        assert notices(comparison) == [
            "AER, %: none is the best, as test.source or test.target or test.alignment or data.alignment_base differ"
            " or are not known"
        ]


def test_alignment_error_rates_by_links_that_are_numbered_differently_are_not_compared():
    links = {"sha256": TEXTS | {"test.alignment": "a" * 64}}
    runs = [
        run("ab"[base], bleu=1.0, results={"test/aer": 0.3 - base / 10}, **{"data.alignment_base": base}, **links)
        for base in (0, 1)
    ]
    assert compare(runs).best(AER) == []


def test_the_baseline_is_named_by_a_run_or_by_options(tmp_path, monkeypatch):
    runs = [run(tmp_path / f"{a}{s}", seed=s, **{"choices.attention": a}) for a in ("dot", "none") for s in (1, 2)]
    for name in (str(tmp_path / "none2"), f"{tmp_path}/dot1/../none1", {"attention": "none"}, "attention=none"):
        assert compare(runs, name).baseline.label == "none"
    assert compare(runs).baseline is None
    monkeypatch.chdir(tmp_path)
    assert compare([run("x", lr=1), run("y", lr=2)], str(tmp_path / "y")).baseline.label == "lr=2"
    for name in (str(tmp_path / "none3"), {"attention": "gru"}, {"lr": 1}, {}, "attention=", 3):
        with pytest.raises(UserError, match=r"baseline.*\{attention: dot\}"):
            compare(runs, name)


def test_a_baseline_that_was_left_out_is_named_with_the_reason(tmp_path):
    runs = [run(tmp_path / name, **{"choices.attention": "dot"}) for name in ("a", "b")]
    with pytest.raises(UserError, match=r"baseline=.*/a: this run was left out: repeated by .*/b"):
        compare(runs, str(tmp_path / "a"))


def test_option_values_are_named_as_they_are_shown():
    runs = [
        run(f"{lr}", **{"optimizer.lr": lr, "flag": lr == 1e-3}, named=["flag", "optimizer.lr"]) for lr in (1e-3, 1e-2)
    ]
    assert compare(runs, {"optimizer.lr": 0.001}).baseline.values == {"flag": "true", "optimizer.lr": "0.001"}
    assert compare(runs, {"flag": False, "optimizer.lr": 0.01}).baseline.label == "flag=false, lr=0.01"


def test_a_suggested_baseline_can_be_typed():
    runs = [
        run("x", **{"choices.attention": "dot"}),
        run("y", **{"choices.attention": "gru_att", "attention.size": 64}),
    ]
    runs += [run("z", **{"choices.attention": "gru_att", "attention.size": 32})]
    first, second, _ = compare(runs).groups
    assert second.named() == "baseline='{attention: gru_att, attention.size: 64}'"
    assert first.named() == "baseline=x"
