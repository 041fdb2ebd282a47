"""The offline Weights & Biases run of a training: its curves, configuration, name and group."""

import json
import os
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from support.composed_once import composed_once
from support.forked import run_forked
from support.scripts import ROOT, TINY, TINY_MODEL, results
from support.wandb_files import read

from unrolled.configuration.values import register_resolvers


@pytest.fixture(scope="session")
def shown(trained):
    return read(trained)


def curve(shown: dict[str, Any], name: str) -> list[tuple[int, float]]:
    return [(row["trainer/global_step"], row[name]) for row in shown["history"] if name in row]


def test_run_is_named_after_what_was_chosen_and_its_folder(shown, trained):
    assert shown["name"] == f"cgru-gru_att-reorder-seed0 {trained.name}"
    assert shown["tags"] == ["cgru", "gru_att", "reorder"]
    assert shown["job_type"] == "train"
    assert shown["project"] == "unrolled"
    assert shown["group"] == ""


def test_configuration_is_that_of_the_run(shown, trained):
    assert shown["config"]["seed"] == 0
    assert shown["config"]["choices"] == {
        "model": "cgru", "attention": "gru_att", "alignment": "none", "data": "reorder",
    }  # fmt: skip
    assert shown["config"]["model"]["decoder_size"] == 12
    assert shown["config"]["parameters"] == results(trained)["parameters"]
    assert shown["config"]["attention"]["_target_"].endswith("GRUAttention")


def test_curves_are_those_of_the_run(shown, trained):
    bleu, steps = curve(shown, "val/bleu"), results(trained)["steps"]
    assert len(bleu) == 3
    assert bleu[-1][0] in (steps - 1, steps)
    assert max(value for _, value in bleu) == pytest.approx(results(trained)["val/bleu"])
    losses = curve(shown, "train/loss")
    assert len(losses) >= steps // 2
    assert [step for step, _ in losses] == sorted({step for step, _ in losses})
    assert losses[-1][1] < losses[0][1]
    for name in ("train/target_tokens_per_second", "train/gradient_norm"):
        assert len(curve(shown, name)) >= 2
        assert all(value > 0 for _, value in curve(shown, name))
    ((_, test_bleu),) = curve(shown, "test/bleu")
    assert test_bleu == pytest.approx(results(trained)["test/bleu"])


def test_samples_and_alignments_are_shown_at_every_validation(shown, trained):
    (files,) = trained.glob("wandb/offline-run-*/files")
    tables = [row for row in shown["history"] if "val/samples" in row]
    assert len(tables) == 3
    for row in tables:
        table = json.loads((files / row["val/samples"]["path"]).read_text(encoding="utf-8"))
        assert table["columns"] == ["source", "translation", "reference"]
        assert len(table["data"]) == 4
        images = [row[f"val/alignment/{line}"] for line in (1, 2, 3, 4)]
        assert all((files / image["path"]).read_bytes().startswith(b"\x89PNG") for image in images)


def test_references_with_known_links_and_the_page_are_shown_at_the_end(shown, trained):
    (files,) = trained.glob("wandb/offline-run-*/files")
    (row,) = [row for row in shown["history"] if "test/samples" in row]
    for line in (1, 2, 3, 4):
        picture = files / row[f"test/alignment/{line}-reference"]["path"]
        assert picture.read_bytes() == (trained / "figures" / f"test-{line}-reference.png").read_bytes()
    (page,) = [row["attention/page"] for row in shown["history"] if "attention/page" in row]
    assert page["_type"] == "html-file"
    assert (files / page["path"]).read_bytes() == (trained / "attention.html").read_bytes()


def test_a_finished_run_has_exit_code_0(shown):
    assert shown["exit"] == 0


def test_a_diverged_run_is_marked_as_failed(diverged):
    assert read(diverged)["exit"] == 1


def test_without_a_key_the_run_is_offline_and_asks_for_nothing(trained):
    assert not list(trained.glob("wandb/run-*"))
    assert (trained / "metrics.csv").is_file()


def test_no_secret_of_the_environment_is_written(trained):
    names = [name for name in os.environ if "KEY" in name or "TOKEN" in name or "SECRET" in name]
    secrets = [os.environ[name] for name in names if len(os.environ[name]) >= 8]
    for path in [trained / "config.yaml", trained / "provenance.json", *trained.glob("wandb/*/*.wandb")]:
        assert not any(secret.encode() in path.read_bytes() for secret in secrets)


@pytest.mark.slow
def test_a_run_that_fails_is_marked_as_failed(tmp_path):
    (tmp_path / "run" / "weights.safetensors").mkdir(parents=True)  # where a file should be written
    short = ["trainer.max_steps=1", "~callbacks.pictures", "~callbacks.attention_record", "hydra.run.dir=run"]
    run_forked("train.py", *TINY, *TINY_MODEL, *short, cwd=tmp_path, status=2)
    assert read(tmp_path / "run")["exit"] == 1
    assert results(tmp_path / "run")["status"] == "failed"


@pytest.mark.slow
def test_every_job_of_a_sweep_is_a_run_of_its_group(sweep):
    jobs = [read(folder) for folder in sorted(sweep.iterdir()) if folder.is_dir()]
    assert [job["name"] for job in jobs] == [f"{seed}-cgru-gru_att-reorder-seed{seed} seeds" for seed in (0, 1)]
    assert [job["group"] for job in jobs] == ["seeds", "seeds"]
    assert [job["config"]["seed"] for job in jobs] == [0, 1]
    assert [job["exit"] for job in jobs] == [0, 0]
    assert jobs[0]["id"] != jobs[1]["id"]
    for job, folder in zip(jobs, sorted(sweep.iterdir())):
        assert max(value for _, value in curve(job, "val/bleu")) == pytest.approx(results(folder)["val/bleu"])


def test_the_options_of_docs_sweep_yaml_are_ours():
    """As W&B's agent builds its command of docs/sweep.yaml, with each end of every range."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

    register_resolvers()
    sweep = yaml.safe_load((ROOT / "docs" / "sweep.yaml").read_text(encoding="utf-8"))
    assert (ROOT / sweep["program"]).is_file()
    assert sweep["command"] == ["${env}", "python", "${program}", "${args_no_hyphens}"]
    values = {
        name: [range_["value"]] if "value" in range_ else range_.get("values") or [range_["min"], range_["max"]]
        for name, range_ in sweep["parameters"].items()
    }
    for number in range(max(map(len, values.values()))):
        chosen = [ends[number % len(ends)] for ends in values.values()]
        arguments = {name: {"value": value} for name, value in zip(values, chosen, strict=True)}
        overrides = create_sweep_command_args({"args": arguments})["args_no_hyphens"]
        with composed_once(), initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            config = compose("train", overrides, return_hydra_config=True)
        assert config.hydra.runtime.choices.attention == dict(zip(values, chosen, strict=True))["attention"]
        assert config.objective.monitor == sweep["metric"]["name"]
        assert {"max": "maximize", "min": "minimize"}[config.objective.mode] == sweep["metric"]["goal"]
