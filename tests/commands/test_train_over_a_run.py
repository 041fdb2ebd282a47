"""A new training in the folder of a run that failed replaces it; one that may be of use stays as it was."""

import json
import os
import shutil

import pytest
from support.run_contents import NO_PAGES
from support.scripts import SHORT, TINY, TINY_MODEL, call_script, fork_script, results

from unrolled.runs.lock import locked
from unrolled.training.callbacks.beginning import Beginning

MODEL = [*TINY_MODEL, *NO_PAGES, "model=cgru", "trainer.max_epochs=1", "logger=csv"]
OPTIONS = [*TINY, *SHORT, *MODEL]
FILES = ["data=parallel_text", "data.train=[a.en,b.en]", "data.val=[a.en,b.en]", "data.test=[a.en,b.en]"]
MISTAKES = [
    ([*OPTIONS, "attention=dot", "model.decoder_size=10"], "attention"),
    ([*MODEL, *FILES], "a.en"),
    ([*OPTIONS, "trainer.precision=foo"], "precision"),
    ([*OPTIONS, "callbacks.early_stopping.monitor=val/blue"], "monitor"),
    ([*OPTIONS, "trainer.limit_test_batches=0.001"], "limit_test_batches"),
    ([*OPTIONS, "trainer.limit_train_batches=0.001"], "limit_train_batches"),
]


def contents(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def ended(run, how):
    (run / "results.json").write_text(json.dumps(results(run) | {"status": how}))


@pytest.fixture
def finished(trained, tmp_path):
    """A copy of a run that failed, with all that it might have left."""
    shutil.copytree(trained, tmp_path / "run")
    ended(tmp_path / "run", "failed")
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("how", "instead"),
    [
        ("completed", "give another folder"),
        ("pruned", "give another folder"),
        ("interrupted", "continue it with resume="),
        (None, "continue it with resume="),
    ],
)
def test_a_run_that_may_be_of_use_is_not_replaced(how, instead, finished, tmp_path):
    if how is None:  # it was killed
        (finished / "results.json").unlink()
        (finished / "weights.safetensors").unlink()
    else:
        ended(finished, how)
    before = contents(finished)
    done = call_script("train.py", *OPTIONS, "attention=gru_att", f"hydra.run.dir={finished}", cwd=tmp_path)
    assert done.status == 2
    assert f"{finished} has a run in it{f' ({how})' if how else ''}, which a new training would replace" in done.stderr
    assert instead in done.stderr
    assert contents(finished) == before


def test_while_another_process_trains_there_nobody_is_told_to_remove_the_run(finished, tmp_path):
    ended(finished, "interrupted")
    with locked(finished):
        options = [*OPTIONS, f"hydra.run.dir={finished}"]
        assert fork_script("train.py", *options, cwd=tmp_path, log=tmp_path / "log") == 2
    said = (tmp_path / "log").read_text(encoding="utf-8")
    assert f"process {os.getpid()}" in said
    assert "remove that run" not in said


def test_nor_is_what_another_command_has_made(finished, tmp_path):
    (finished / "results.json").unlink()
    shutil.rmtree(finished / "checkpoints")
    done = call_script("train.py", *OPTIONS, f"hydra.run.dir={finished}", cwd=tmp_path)
    assert done.status == 2
    assert "a new training would replace: give another folder" in done.stderr
    assert (finished / "weights.safetensors").is_file()


@pytest.mark.parametrize(("options", "named"), MISTAKES)
def test_a_mistake_leaves_the_run_as_it_was(options, named, finished, tmp_path):
    before = contents(finished)
    done = call_script("train.py", *options, f"hydra.run.dir={finished}", cwd=tmp_path)
    assert done.status == 2, done.stderr
    assert named in done.stderr
    assert contents(finished) == before


def test_so_does_an_error_in_a_callback_of_ones_own(finished, tmp_path, monkeypatch):
    module = "import lightning\nclass Mine(lightning.Callback):\n    def on_train_start(self, *_):\n        1 / 0\n"
    (tmp_path / "failing_at_the_start.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    before = contents(finished)
    callbacks = ["callbacks=default", "+callbacks.mine._target_=failing_at_the_start.Mine"]
    with pytest.raises(ZeroDivisionError):
        call_script("train.py", *TINY, *TINY_MODEL, *callbacks, "logger=csv", f"hydra.run.dir={finished}", cwd=tmp_path)
    assert contents(finished) == before


def test_without_one_it_is_replaced(finished, tmp_path, caplog):
    before = results(finished)
    done = call_script("train.py", *OPTIONS, "attention=gru_att", f"hydra.run.dir={finished}", cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert results(finished)["steps"] < before["steps"]
    assert not (finished / "attention.html").exists()
    assert f"{finished}: the run in this folder (failed) is replaced by this one" in caplog.text


def test_what_ended_before_the_first_batch_is_no_run(tmp_path):
    (tmp_path / "new").mkdir()
    done = call_script("train.py", "resume=new", cwd=tmp_path)
    assert done.status == 2
    assert "resume=new: this is no run, or one that ended before its first batch: repeat its own" in done.stderr


def test_what_is_elsewhere_is_not_removed_through_a_link(finished, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "last.ckpt").write_bytes(b"mine")
    shutil.rmtree(finished / "checkpoints")
    (finished / "checkpoints").symlink_to(tmp_path / "mine")
    (finished / ".next.yaml").write_text("seed: 1\n")
    done = call_script("train.py", f"resume={finished}", cwd=tmp_path)
    assert done.status == 2
    assert "checkpoints is a link that points outside the run folder" in done.stderr
    assert (tmp_path / "mine" / "last.ckpt").read_bytes() == b"mine"


def test_a_sweep_that_is_interrupted_before_a_first_batch_says_how_to_continue(tmp_path, monkeypatch, caplog):
    def interrupt(*_):
        raise KeyboardInterrupt

    caplog.set_level("INFO")
    monkeypatch.setattr(Beginning, "pass_by", interrupt)
    done = call_script("train.py", "-m", *OPTIONS, "seed=1,2", "sweep.dir=sweep", cwd=tmp_path)
    assert done.status == 130
    assert "interrupted; continue with the same command and sweep.dir=sweep" in caplog.text


def test_a_mistake_leaves_nothing_in_a_new_folder(tmp_path):
    done = call_script("train.py", *MISTAKES[0][0], "hydra.run.dir=new", cwd=tmp_path)
    assert done.status == 2, done.stderr
    assert not (tmp_path / "new").exists()
