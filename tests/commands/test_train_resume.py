"""resume=RUN: wherever a training was ended, its weights and curves become those of one that was not, bit by bit."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import warnings
from pathlib import Path

import pytest
import torch
from support.killing import Killed, kill
from support.scripts import ROOT, SHORT, TINY, TINY_MODEL, call_script, fork_script, results

from unrolled.configuration.composition import composed
from unrolled.runs.reproduction import differences
from unrolled.training.callbacks.speed import Speed

BASE = ["attention=gru_att", *TINY, *TINY_MODEL, "trainer.max_epochs=2", "trainer.log_every_n_steps=2", "logger=csv"]
BASE += [*SHORT, "search.max_length_extra=3", "validation_search.max_length_extra=3"]
BASE += ["schedule=halve_on_plateau", "~callbacks.pictures", "~callbacks.attention_record"]
OFTEN = ["callbacks.saving.steps=1"]  # 5 steps an epoch
FALLING = ["schedule.patience=0", "optimizer=sgd", "optimizer.lr=1e-3", "objective.monitor=val/chrf"]
FALLING += ["trainer.max_epochs=4", "~callbacks.early_stopping"]

SETTINGS = {
    "epochs": OFTEN,
    "rarely": ["callbacks.saving.steps=4", "data.max_tokens=65"],  # 7 steps an epoch
    "validations": [*OFTEN, "trainer.val_check_interval=3", "trainer.log_every_n_steps=1"],
    "validations over epochs": [*OFTEN, "trainer.check_val_every_n_epoch=null", "trainer.val_check_interval=3",
                                "trainer.log_every_n_steps=1"],
    "accumulation": [*OFTEN, "trainer.accumulate_grad_batches=2", "trainer.max_steps=5", "schedule=linear_decay"],
    "growing batches": [*OFTEN, "trainer.max_epochs=3", "+callbacks.growing={_target_: lightning.pytorch.callbacks."
                        "GradientAccumulationScheduler, scheduling: {1: 2}}"],
    "early stopping": ["callbacks.early_stopping.mode=max", "callbacks.early_stopping.monitor=val/loss",
                       "callbacks.early_stopping.patience=1", "trainer.max_epochs=4"],
    "alignments": ["alignment=guide", "attention=coverage", "objective.doubly_stochastic=0.1"],
    "plateau": [*OFTEN, *FALLING],
    "plateau, validations in between": [*OFTEN, *FALLING, "trainer.val_check_interval=3"],
    "plateau, every second epoch": [*OFTEN, *FALLING, "trainer.check_val_every_n_epoch=2"],
    "an update an epoch": ["data.max_tokens=2000"],
    "stream": [*OFTEN, "data.stream=true", "data.stream_rows=9", "data.stream_steps=20"],
}  # fmt: skip
MOMENTS = [
    ("epochs", 3, "on_train_batch_start"),
    ("epochs", 5, "on_train_batch_start"),  # the first of an epoch
    ("epochs", 5, "on_validation_end"),
    ("epochs", 10, "on_test_batch_end"),
    ("rarely", 2, "on_train_batch_end"),  # before any checkpoint
    ("rarely", 6, "on_after_backward"),  # the last of an epoch
    ("an update an epoch", 1, "on_validation_end"),
    ("validations", 3, "on_train_batch_start"),  # the first after a validation
    ("validations", 8, "on_validation_batch_end"),
    ("validations over epochs", 6, "on_train_batch_start"),  # the first after a validation, in the middle of an epoch
    ("accumulation", 2, "on_after_backward"),
    ("growing batches", 6, "on_after_backward"),  # in the second epoch, whose updates take two batches
    ("early stopping", 10, "on_test_batch_end"),
    ("alignments", 8, "on_train_batch_end"),
    ("plateau", 7, "on_train_batch_start"),
    ("plateau", 9, "on_after_backward"),
    ("plateau, validations in between", 9, "on_train_batch_start"),
    ("plateau, every second epoch", 13, "on_train_batch_start"),
    ("stream", 5, "on_after_backward"),
]


def arguments(setting):
    base = BASE if setting != "stream" else stream()
    given = {option.partition("=")[0]: option for option in [*base, *SETTINGS[setting]]}  # the last value of each
    return list(given.values())


def stream():
    model = ["model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7", "model.dropout=0.2"]
    without = [option for option in BASE if not option.startswith(("attention=", "model.", "data.grammar", "data.max"))]
    text = [f"data.{split}={ROOT / 'README.md'}" for split in ("train", "val", "test")]
    return [*without, *model, "data=monolingual_text", "tokenizer=word", *text]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run folder of a setting that nothing has interrupted, trained when first asked for."""
    folders = {}

    def folder(setting):
        if setting not in folders:
            where = tmp_path_factory.mktemp("whole")
            assert call_script("train.py", *arguments(setting), "hydra.run.dir=run", cwd=where).status == 0
            folders[setting] = where / "run"
        return folders[setting]

    return folder


def assert_same(run, whole):
    for name in ("metrics.csv", "weights.safetensors"):
        assert (run / name).read_bytes() == (whole / name).read_bytes(), name
    one, other = results(run), results(whole)
    changing = {"run", "train/target_tokens_per_second", "train/seconds", "train/cpu_seconds", "peak_memory_mib"}
    assert {name: one[name] for name in one.keys() - changing} == {
        name: other[name] for name in other.keys() - changing
    }


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "step", "where"), MOMENTS)
def test_a_killed_training_goes_on_as_if_it_had_not_stopped(setting, step, where, whole, tmp_path):
    expected = whole(setting)
    with pytest.raises(Killed):
        call_script("train.py", *arguments(setting), "hydra.run.dir=run", *kill(tmp_path, step, where), cwd=tmp_path)
    assert not (tmp_path / "run" / "results.json").exists()
    done = call_script("train.py", "resume=run", "trust=support", cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert_same(tmp_path / "run", expected)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "where"), [("SIGKILL", "on_after_backward"), ("SIGTERM", "on_train_batch_end")])
def test_a_signal_ends_training_and_loses_nothing(how, where, whole, tmp_path):
    given = [*arguments("rarely"), *kill(tmp_path, 9, where, how)]
    ended = fork_script("train.py", *given, "hydra.run.dir=run", cwd=tmp_path)
    assert ended == (-signal.SIGKILL if how == "SIGKILL" else 130)
    if how == "SIGTERM":
        assert results(tmp_path / "run")["status"] == "interrupted"
        last = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
        assert last["global_step"] == 9  # the batch came to its end
    assert call_script("train.py", "resume=run", "trust=support", cwd=tmp_path).status == 0
    assert_same(tmp_path / "run", whole("rarely"))


def test_an_interruption_waits_for_the_update_that_batches_are_gathered_for(whole, tmp_path):
    """Gradients are in no checkpoint."""
    given = [*arguments("accumulation"), *kill(tmp_path, 1, "on_after_backward", "SIGINT"), "hydra.run.dir=run"]
    assert call_script("train.py", *given, cwd=tmp_path).status == 130
    assert call_script("train.py", "resume=run", "trust=support", cwd=tmp_path).status == 0
    assert_same(tmp_path / "run", whole("accumulation"))


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [True, False])
def test_the_last_checkpoint_stays_until_the_next_is_whole(deadly, whole, tmp_path, monkeypatch):
    """Killed in the middle of writing one, or the disk is full; where temporary files lie on another disk."""
    elsewhere = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    monkeypatch.setattr(tempfile, "tempdir", None)
    limit = (whole("rarely") / "checkpoints" / "last.ckpt").stat().st_size * 3 // 4
    full = {"_target_": "support.killing.Full", "step": 7, "limit": limit, "deadly": deadly}
    given = [*arguments("rarely"), *(f"+callbacks.full.{name}={value}" for name, value in full.items())]
    ended = fork_script("train.py", *given, "hydra.run.dir=run", cwd=tmp_path)
    assert ended == (-signal.SIGXFSZ if deadly else 1)
    assert os.listdir(elsewhere) == []
    monkeypatch.setattr(Speed, "on_train_batch_end", ended)
    elsewhere.rmdir()
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    assert torch.load(last, weights_only=True)["global_step"] == 6
    left = [path for path in last.parent.iterdir() if path.name.startswith(".")]
    assert len(left) == deadly
    config = (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8").replace(f"limit: {limit}", "limit: -1")
    (tmp_path / "run" / "config.yaml").write_text(config, encoding="utf-8")
    assert call_script("train.py", "resume=run", "trust=support", cwd=tmp_path).status == 0
    assert not list((tmp_path / "run").rglob(".*"))
    assert_same(tmp_path / "run", whole("rarely"))


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [64, 128, 256, 384])
def test_a_full_disk_is_one_line_and_training_resumes_when_there_is_room(kilobytes, whole, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a disk")
    try:
        log = tmp_path / "log"
        ended = fork_script("train.py", *arguments("epochs"), "hydra.run.dir=disk/run", cwd=tmp_path, log=log)
        lines = log.read_text(encoding="utf-8").splitlines()
        assert (ended, len(lines)) == (1, 1), lines
        assert "No space left on device; earlier files are intact: make room, and resume the run" in lines[0]
        last = disk / "run" / "checkpoints" / "last.ckpt"
        if last.exists():
            torch.load(last, weights_only=True)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        again = ["resume=disk/run"] if (disk / "run" / "config.yaml").is_file() else None
        given = again or [*arguments("epochs"), "hydra.run.dir=disk/run"]
        assert call_script("train.py", *given, cwd=tmp_path).status == 0
        assert_same(disk / "run", whole("epochs"))
        assert not list((disk / "run").rglob(".*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_run_that_moved_goes_on_where_it_stands(whole, tmp_path):
    with pytest.raises(Killed):
        call_script("train.py", *arguments("epochs"), "hydra.run.dir=run", *kill(tmp_path, 8, "on_train_batch_start"),
                    cwd=tmp_path)  # fmt: skip
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").rename(tmp_path / "elsewhere" / "moved")
    assert call_script("train.py", "resume=elsewhere/moved", "trust=support", cwd=tmp_path).status == 0
    assert not (tmp_path / "run").exists()
    assert_same(tmp_path / "elsewhere" / "moved", whole("epochs"))
    provenance = json.loads((tmp_path / "elsewhere" / "moved" / "provenance.json").read_text(encoding="utf-8"))
    assert len(provenance["resumed"]) == 1


def test_a_run_that_is_reached_through_a_link_remembers_its_best_checkpoint(whole, tmp_path):
    with pytest.raises(Killed):
        call_script("train.py", *arguments("epochs"), "hydra.run.dir=run", *kill(tmp_path, 8, "on_train_batch_start"),
                    cwd=tmp_path)  # fmt: skip
    (tmp_path / "link").symlink_to(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The dirpath has changed")  # as Lightning says when it forgets
        assert call_script("train.py", "resume=link/run", "trust=support", cwd=tmp_path).status == 0
    assert_same(tmp_path / "run", whole("epochs"))


def test_a_completed_run_is_left_alone_or_trained_longer(whole, tmp_path):
    shorter = [option for option in arguments("epochs") if "max_epochs" not in option]
    call_script("train.py", *shorter, "trainer.max_epochs=1", "hydra.run.dir=run", cwd=tmp_path)
    before = (tmp_path / "run" / "results.json").read_bytes()
    again = call_script("train.py", "resume=run", cwd=tmp_path)
    assert (again.status, re.search(r"^status +completed$", again.stdout, re.MULTILINE) is not None) == (0, True)
    assert (tmp_path / "run" / "results.json").read_bytes() == before
    assert call_script("train.py", "resume=run", "trainer.max_epochs=2", cwd=tmp_path).status == 0
    assert_same(tmp_path / "run", whole("epochs"))


def test_a_run_whose_epochs_are_over_says_that_more_updates_change_nothing(whole, tmp_path, caplog):
    shutil.copytree(whole("epochs"), tmp_path / "run")
    assert call_script("train.py", "resume=run", "trainer.max_steps=1000", cwd=tmp_path).status == 0
    assert "nothing was left to train: another limit of the trainer, such as max_epochs" in caplog.text
    assert_same(tmp_path / "run", whole("epochs"))


def test_what_early_stopping_has_ended_says_so_when_there_is_nothing_left_to_train(whole, tmp_path, caplog):
    shutil.copytree(whole("early stopping"), tmp_path / "run")
    before = results(tmp_path / "run")["steps"]
    done = call_script("train.py", "resume=run", "trainer.max_epochs=9", cwd=tmp_path)
    assert done.status == 0
    assert "nothing was left to train: early stopping had ended this run before" in caplog.text
    assert results(tmp_path / "run")["steps"] == before


def test_updates_after_the_last_validation_are_a_warning(tmp_path, caplog):
    done = call_script("train.py", *BASE, "trainer.max_steps=7", "hydra.run.dir=run", cwd=tmp_path)
    assert done.status == 0
    assert "the last 2 of 7 updates came after the last validation" in caplog.text
    assert call_script("train.py", "resume=run", "trainer.max_steps=8", cwd=tmp_path).status == 0
    assert "the last 3 of 8 updates came after the last validation" in caplog.text
    again = call_script("train.py", "resume=run", "trainer.max_steps=8", cwd=tmp_path)
    assert "trainer.max_steps=8: this run has already trained for 8 updates" in again.stderr
    assert call_script("train.py", "resume=run", "trainer.max_steps=10", cwd=tmp_path).status == 0
    assert caplog.text.count("after the last validation") == 2


def test_a_warm_up_that_training_does_not_reach_the_end_of_is_a_warning(tmp_path, caplog):
    given = [option for option in BASE if not option.startswith("schedule=")]
    for folder, updates in (("short", 20), ("whole", 10)):
        options = ["schedule=warm_up", f"schedule.steps={updates}", f"hydra.run.dir={folder}"]
        assert call_script("train.py", *given, *options, cwd=tmp_path).status == 0
    assert "training ended after 10 updates, while the learning rate still rose to optimizer.lr" in caplog.text
    assert caplog.text.count("still rose") == 1


def test_a_limit_that_a_run_has_reached_is_refused_and_the_run_left_alone(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole("epochs"), run)
    last = run / "checkpoints" / "last.ckpt"
    state = torch.load(last, weights_only=True)
    state["callbacks"]["Timer"] = {"time_elapsed": {"train": 9.0}}  # as of a run with trainer.max_time
    torch.save(state, last)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for limit, unit in (("max_steps=1", "updates"), ("max_epochs=1", "epochs"), ("max_time=00:00:00:08", "seconds")):
        done = call_script("train.py", "resume=run", f"trainer.{limit}", cwd=tmp_path)
        assert done.status == 2
        assert re.fullmatch(
            rf"train.py: trainer.{limit}: this run has already trained for \d+ {unit}; .*\n", done.stderr
        )
    done = call_script("train.py", "resume=run", "trainer.max_time=soon", cwd=tmp_path)
    assert (done.status, done.stderr.count("\n"), "DD:HH:MM:SS" in done.stderr) == (2, 1, True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_new_training_in_the_folder_of_one_that_failed_starts_afresh(whole, tmp_path):
    """The same folder without resume: nothing of the run before is taken up."""
    with pytest.raises(Killed):
        call_script("train.py", *arguments("epochs"), "seed=2", "hydra.run.dir=run",
                    *kill(tmp_path, 8, "on_train_batch_start"), cwd=tmp_path)  # fmt: skip
    (tmp_path / "run" / "results.json").write_text('{"status": "failed"}')
    call_script("train.py", *arguments("epochs"), "hydra.run.dir=run", cwd=tmp_path)
    assert_same(tmp_path / "run", whole("epochs"))


def test_a_run_is_reproduced_bit_by_bit(whole, tmp_path):
    run = whole("epochs")
    done = call_script("train.py", f"reproduce={run}", "hydra.run.dir=again", cwd=tmp_path)
    assert (done.status, done.stdout.splitlines()[-1].split()[:2]) == (0, ["reproduction", "identical:"])
    assert_same(tmp_path / "again", run)


def test_a_reproduction_that_was_killed_is_compared_when_it_is_resumed(whole, tmp_path, monkeypatch):
    def dies(self, trainer, *arguments):
        if trainer.global_step == 7:
            raise Killed
        ended(self, trainer, *arguments)

    ended = Speed.on_train_batch_end
    run = whole("epochs")
    monkeypatch.setattr(Speed, "on_train_batch_end", dies)
    with pytest.raises(Killed):
        call_script("train.py", f"reproduce={run}", "hydra.run.dir=again", cwd=tmp_path)
    monkeypatch.undo()
    resumed = call_script("train.py", "resume=again", cwd=tmp_path)
    assert (resumed.status, resumed.stdout.splitlines()[-1].split()[:2]) == (0, ["reproduction", "identical:"])


def test_data_in_the_folder_of_the_run_is_read_there_again(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "text").write_text("a b c a b\n" * 9, encoding="utf-8")
    text = [f"data.{split}=run/text" for split in ("train", "val", "test")]
    model = ["model=ngram_lm", "tokenizer=word", "data=monolingual_text", "logger=csv"]
    assert call_script("train.py", *model, *text, "hydra.run.dir=run", cwd=tmp_path).status == 0
    done = call_script("train.py", "reproduce=run", "hydra.run.dir=again", cwd=tmp_path)
    assert (done.status, done.stdout.splitlines()[-1].split()[:2]) == (0, ["reproduction", "identical:"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mine/lm", "mine-lm"), ("..", "cgru-gru_att-reorder"), (None, "cgru-gru_att-reorder")],
)
def test_a_reproduction_has_the_name_of_its_run(name, expected, tmp_path):
    config = {"run_folder": "x", "model": {}} | ({} if name is None else {"name": name})
    (tmp_path / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    reproduced = composed("train", [f"reproduce={tmp_path}", "model=cgru", "attention=gru_att"])
    assert Path(reproduced.run_folder).parent == Path.cwd() / "outputs" / expected


def test_what_a_reproduction_changes_is_named():
    before = {"run": "a", "test/bleu": 20.0, "steps": 5, "only": 1, "status": "completed"}
    after = {"run": "b", "test/bleu": 20.5, "steps": 5, "status": "completed", "new": "x"}
    assert differences(before, after) == {
        "test/bleu": "20.0 before, 20.5 now: +0.5",
        "only": "1 before, None now",
        "new": "None before, x now",
    }
    assert differences(before, before | {"peak_memory_mib": 3}) == {}


def test_what_cannot_be_resumed_is_refused_in_one_line(whole, tmp_path):
    trained, diverged = tmp_path / "trained", tmp_path / "diverged"
    for folder in (trained, diverged):
        folder.mkdir()
        for name in ("config.yaml", "results.json"):
            (folder / name).write_bytes((whole("epochs") / name).read_bytes())
    (diverged / "results.json").write_text('{"status": "diverged"}', encoding="utf-8")
    for options, words in (
        (["resume=nowhere"], ["nowhere", "config.yaml"]),
        ([f"resume={diverged}"], ["diverged", "optimizer.lr"]),
        ([f"reproduce={diverged}"], ["did not complete"]),
        ([f"reproduce={trained}", "seed=2"], ["seed=2", "own options"]),
        ([f"reproduce={trained}", f"hydra.run.dir={trained}"], ["trained over itself"]),
        ([f"resume={trained}", "hydra.run.dir=elsewhere"], ["own folder"]),
        ([f"resume={trained}", "model=bahdanau"], ["model=bahdanau", "trainer.max_epochs"]),
        ([f"resume={trained}", "trainer.precision=bf16-mixed"], ["trainer.precision", "own options"]),
    ):
        done = call_script("train.py", *options, cwd=tmp_path)
        assert done.status == 2
        (line,) = done.stderr.splitlines()
        assert all(word in line for word in words), line
    assert not (tmp_path / "nowhere").exists()
