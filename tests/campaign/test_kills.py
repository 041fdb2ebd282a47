"""The short form of `python -m tests.campaign.kills`: a few chains, and that a difference is seen."""

import gc
from unittest.mock import patch

import pytest
from support.composed_once import composed_once
from support.scripts import SHORT, asked_once, call_script

from campaign.kills import (
    SETTINGS,
    Shot,
    campaign,
    command,
    differences,
    outcome,
    prepare,
    run,
    table,
    uninterrupted,
    warm,
)

QUICK = ["translator, a checkpoint every step", "language model, one continuous text"]
OFFLINE = "W&B, offline"


@pytest.fixture(autouse=True, scope="module")
def _quick(tmp_path_factory):
    """The copies of this process find composed what they ask for, have short sentences, and draw small pictures."""
    from matplotlib.figure import Figure

    short = {name: [*SETTINGS[name], *SHORT] for name in (QUICK[0], OFFLINE)}
    with (
        patch.dict(SETTINGS, short),
        patch("unrolled.figures.curves.curves_figure", lambda *_: Figure(figsize=(1, 1))),
        composed_once(),
        asked_once(),
    ):
        for options in (["resume=run"], *(SETTINGS[name] for name in (*QUICK, OFFLINE))):
            call_script("train.py", *options, "--cfg", "job", cwd=tmp_path_factory.mktemp("composed"))
        yield
    gc.enable()  # which warm() has stopped


@pytest.mark.slow
def test_killed_trainings_come_out_as_if_they_had_not_been(tmp_path):
    chains = campaign(tmp_path, kills=6, seed=3, settings=QUICK)
    assert not [chain for chain in chains if chain["problems"]]
    assert sum(len(chain["hits"]) for chain in chains) >= 6
    assert f"| {QUICK[0]} |" in table(chains)


@pytest.mark.slow
def test_a_training_that_begins_again_in_place_of_being_resumed_is_seen(tmp_path):
    """Another seed plays the part of whatever an interruption may change."""
    warm()
    found = []
    for seed in (1, 2):
        prepare(tmp_path / str(seed))
        options = [*SETTINGS[QUICK[1]], "hydra.run.dir=run", f"seed={seed}"]
        assert run(options, tmp_path / str(seed)).status == 0
        found.append(outcome(tmp_path / str(seed)))
    assert {"run/metrics.csv", "run/weights.safetensors"} <= set(differences(*found))


@pytest.mark.slow
def test_a_shot_hits_while_a_checkpoint_is_written(tmp_path):
    warm()
    prepare(tmp_path / "one")
    ended = run([*SETTINGS[QUICK[1]], "hydra.run.dir=run"], tmp_path / "one", Shot("SIGKILL", "checkpoint", 3, 0.0))
    assert (ended.status, ended.shot) == (-9, True)
    assert ended.phases["checkpoint"] >= 3


@pytest.mark.slow
def test_offline_w_and_b_has_each_row_of_a_killed_training_once(tmp_path):
    """Kills take what W&B holds in memory, and training repeats what came after its last checkpoint."""
    warm()
    folder = tmp_path / "killed"
    whole = uninterrupted(OFFLINE, tmp_path / "whole").outcome["W&B of run"]
    prepare(folder)
    for shot in (Shot("SIGTERM", "validation", 1, 0.0), Shot("SIGKILL", "fit", 3, 0.0)):
        assert run(command(OFFLINE, folder), folder, shot).status != 0
    assert run(command(OFFLINE, folder), folder).status == 0
    assert len(list(folder.glob("run/wandb/offline-run-*"))) == 3
    assert outcome(folder)["W&B of run"] == whole
    assert len(whole) > 10
