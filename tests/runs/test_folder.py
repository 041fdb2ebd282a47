"""Run folders: which are found, what they are called, and what is read of one. Made by hand, without a training."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.handmade_runs import nested, write_run

from unrolled.comparison.varied_options import varied
from unrolled.errors import UserError
from unrolled.runs.folder import find_runs, flattened, read_run, short_names

LEAVES = st.integers() | st.text("xyz") | st.none()
TREES = st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1), max_leaves=9)


@given(TREES)
def test_flattening_loses_nothing(tree):
    tree = {"top": tree}
    assert nested(flattened(tree)) == tree


def test_lists_are_values_and_paths_of_the_run_are_alike():
    config = {"run_folder": "/runs/a", "x": {"betas": [0.9, 0.99], "none": {}, "dir": "/runs/a/kept", "b": "/runs/ab"}}
    flat = {"run_folder": "RUN", "x.betas": [0.9, 0.99], "x.none": {}, "x.dir": "RUN/kept", "x.b": "/runs/ab"}
    assert flattened(config) == flat


def test_what_was_named_is_read_from_the_run_s_overrides_and_of_older_runs_from_their_command_line(tmp_path):
    command = ["-m", "model=cgru,bahdanau", "+a/b=1", "seed=1"]
    older = write_run(tmp_path / "older", results={}, command=command)
    newer = write_run(tmp_path / "newer", results={}, command=command, overrides=["model.decoder.cell=tanh", "~x=1"])
    runs = [read_run(folder, yaml.safe_load((folder / "config.yaml").read_text())) for folder in (older, newer)]
    assert [run.named for run in runs] == [{"model", "a.b", "seed"}, {"model.decoder.cell", "x"}]
    assert list(varied(runs)) == []


def test_runs_are_found_in_the_order_of_their_numbers(tmp_path):
    for name in ("10-x", "9-x", "2-x"):
        write_run(tmp_path / name, results={})
    (tmp_path / "11-x").mkdir()  # a job that ended before it began
    (tmp_path / "12-x").mkdir()  # and one whose configuration was deleted
    (tmp_path / "12-x" / "results.json").touch()
    (tmp_path / "comparison").mkdir()
    (tmp_path / "comparison" / "comparison.md").touch()
    (tmp_path / "notes.txt").touch()
    names = ["2-x", "9-x", "10-x", "11-x", "12-x"]
    assert [folder.name for folder in find_runs(str(tmp_path))] == names
    both = find_runs([str(tmp_path / "9-x"), str(tmp_path)])
    assert [folder.name for folder in both] == ["9-x", "2-x", "10-x", "11-x", "12-x"]
    assert find_runs(str(tmp_path / "9-x")) == [tmp_path / "9-x"]


def test_folders_that_hold_no_runs_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for runs in (None, []):
        with pytest.raises(UserError, match="missing"):
            find_runs(runs)
    for runs, said in ((tmp_path / "no", "there is no such folder"), (tmp_path, "has a config.yaml")):
        with pytest.raises(UserError, match=f"runs={runs}: .*{said}"):
            find_runs(str(runs))


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"test/bleu": 3.0}'])
def test_a_run_whose_results_are_missing_or_damaged_is_incomplete(tmp_path, content):
    folder = write_run(tmp_path / "run", results=None)
    if content is not None:
        (folder / "results.json").write_text(content, encoding="utf-8")
    assert read_run(folder, {"seed": 3}).status == "incomplete"


def test_a_run_folder_is_read(tmp_path):
    folder = write_run(tmp_path / "run", results={"test/bleu": 3.0}, command=["-m", "model/estimator=katz", "+a.b=1,2"])
    read = read_run(folder, {"seed": 3, "run_folder": str(folder), "x": {"y": f"{folder}/z"}})
    assert (read.status, read.seed, read.options["x.y"]) == ("completed", 3, "RUN/z")
    assert read.named == {"model.estimator", "a.b"}
    assert read.fact("test/bleu") == 3.0
    assert read_run(write_run(tmp_path / "plain", results={}), {}).named is None


def test_runs_are_called_by_their_last_folders_as_far_as_it_takes():
    assert short_names(["outputs/lm/"]) == ["lm"]
    assert short_names(["x/one", "x/two"]) == ["one", "two"]
    assert short_names(["x/one run", "y/one run", "y/two"]) == ["x/one_run", "y/one_run", "y/two"]
    assert short_names(["x/one", "./x/one"]) == ["one", "one"]
