"""Configurations of run folders, and the values that conf/ interpolates."""

import os

import pytest
from omegaconf import OmegaConf

from unrolled.configuration.composition import composed
from unrolled.configuration.values import load_runs, read_config, register_resolvers, resolved, run_folders, to_yaml
from unrolled.errors import UserError


def test_what_is_no_run_folder_is_said(tmp_path):
    with pytest.raises(UserError, match=r"run=\.\.\. is missing"):
        read_config(None)
    with pytest.raises(UserError, match=r"config\.yaml"):
        read_config(str(tmp_path))


def test_one_run_is_a_list_of_one_and_none_is_a_mistake():
    assert run_folders(OmegaConf.create({"run": "a"})) == ["a"]
    assert run_folders(OmegaConf.create({"runs": ["a", "b"]}), "runs") == ["a", "b"]
    with pytest.raises(UserError, match=r"runs=\[\]"):
        run_folders(OmegaConf.create({"runs": []}), "runs")


def test_what_is_written_holds_without_what_it_was_made_from():
    register_resolvers()
    config = OmegaConf.create({"size": 3, "model": {"size": "${size}"}, "path": "${absolute:a}"})
    again = OmegaConf.create(to_yaml(config))
    assert OmegaConf.to_container(again, resolve=False) == {
        "size": 3,
        "model": {"size": 3},
        "path": os.path.abspath("a"),
    }
    with pytest.raises(Exception, match="size"):
        resolved(OmegaConf.create({"size": "???"}))


def test_paths_hold_in_any_folder(tmp_path, monkeypatch):
    register_resolvers()
    monkeypatch.chdir(tmp_path)
    paths = {"one": "${absolute:a.txt}", "two": "${absolute:[a.txt,/b.txt]}", "none": "${absolute:null}"}
    found = resolved(OmegaConf.create(paths))
    assert found == {"one": f"{tmp_path}/a.txt", "two": [f"{tmp_path}/a.txt", "/b.txt"], "none": None}


def test_a_resumed_run_stays_in_its_folder(tmp_path):
    register_resolvers()
    folder = OmegaConf.create({"resume": None, "folder": "${run_folder:${resume},null,name,now}"})
    assert folder.folder == "outputs/name/now"
    folder.resume = str(tmp_path)
    assert folder.folder == str(tmp_path)
    folder.resume = str(tmp_path / "nowhere")
    assert folder.folder == "."


def test_a_damaged_configuration_leaves_a_run_incomplete(tmp_path):
    for name, text in (("sound", "seed: 1\n"), ("torn", "seed: [1\n"), ("empty", ""), ("list", "- 1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(text, encoding="utf-8")
        (tmp_path / name / "results.json").write_text('{"status": "completed"}', encoding="utf-8")
    found = {run.folder.name: run.status for run in load_runs(str(tmp_path))}
    assert found["sound"] == "completed"
    assert found["torn"] == found["list"] != "completed"


@pytest.mark.parametrize(
    ("positions", "batches", "rate"),
    [(500, 1, 2e-3), (2000, 1, 2e-3), (8000, 1, 4e-3), (1000, 8, 4e-3), (None, None, 2e-3), ("many", 1, 2e-3)],
)
def test_larger_batches_take_larger_steps(positions, batches, rate):
    register_resolvers()
    config = OmegaConf.create({"data": {"max_tokens": positions}, "batches": batches})
    config.lr = "${rate_of_batch:2e-3,${oc.select:data.max_tokens},${oc.select:batches}}"
    assert config.lr == pytest.approx(rate)


@pytest.mark.parametrize(
    ("options", "modes"),
    [
        ([], ["max", "max", "max"]),
        (["callbacks=small"], ["max", "max", "max"]),
        (["objective.monitor=val/perplexity"], ["max", "max", "max"]),
        (["objective.monitor=val/mine", "objective.mode=min"], ["max", "max", "max"]),
        (["callbacks.early_stopping.monitor=val/loss"], ["min", "max", "max"]),
        (
            ["callbacks.checkpoint.monitor=val/loss", "callbacks.kept.monitor=val/ter"],
            ["max", "min", "min"],
        ),
        (["model=rnn_lm"], ["max", "max", "max"]),
    ],
)
def test_every_callback_has_the_mode_of_its_figure(options, modes):
    callbacks = composed("train", options).callbacks
    assert [callbacks[name].mode for name in ("early_stopping", "checkpoint", "kept")] == modes


@pytest.mark.parametrize(
    "value",
    ["!!set {b}", "!!binary aGk=", "[{b: !!python/object/apply:pathlib.Path [c]}]", "{null: 1}", "{!!binary aGk=: 1}"],
)
def test_a_configuration_holds_text_numbers_and_lists_only(value, tmp_path):
    (tmp_path / "config.yaml").write_text(f"a: {value}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"config\.yaml: this is no configuration of a run \(a \w+ is no (value|name)"):
        read_config(str(tmp_path))


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_an_emptied_configuration_is_no_run_s(text, tmp_path):
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"config\.yaml: this is no configuration of a run: it is empty; restore"):
        read_config(str(tmp_path))


def test_a_configuration_that_is_read_again_is_as_in_its_file(tmp_path):
    (tmp_path / "config.yaml").write_text("a: {b: 1}\nc: [1, 2]\n", encoding="utf-8")
    first = read_config(str(tmp_path))
    first.a.b, first.new = 2, 3
    first.c.append(3)
    assert read_config(str(tmp_path)) == {"a": {"b": 1}, "c": [1, 2]}
    (tmp_path / "config.yaml").write_text("a: {b: 4}\n", encoding="utf-8")
    assert read_config(str(tmp_path)) == {"a": {"b": 4}}
