"""What a run folder says of how its run ended, and what a new training in it removes."""

import pytest

from unrolled.errors import UserError
from unrolled.runs.results import read_results, write_results
from unrolled.runs.resume import (
    LAST,
    begin,
    check_checkpoint,
    check_resumable,
    finish_beginning,
    last_checkpoint,
    moved,
    status,
)


def test_a_run_that_was_killed_has_no_status(tmp_path):
    assert status(tmp_path) is None
    (tmp_path / "results.json").write_text("{}", encoding="utf-8")
    assert status(tmp_path) is None
    write_results(tmp_path, {"status": "completed"})
    assert status(tmp_path) == "completed"


def test_a_diverged_run_is_not_resumed(tmp_path):
    write_results(tmp_path, {"status": "interrupted"})
    check_resumable(tmp_path)
    write_results(tmp_path, {"status": "diverged"})
    with pytest.raises(UserError, match=r"optimizer\.lr"):
        check_resumable(tmp_path)


def test_weights_without_a_checkpoint_are_not_resumed(tmp_path):
    check_checkpoint(tmp_path)  # killed before the first of either
    (tmp_path / "weights.safetensors").write_bytes(b"weights")
    with pytest.raises(UserError, match=r"there is no checkpoints/last\.ckpt, only the weights"):
        check_checkpoint(tmp_path)
    (tmp_path / LAST).parent.mkdir()
    (tmp_path / LAST).write_bytes(b"state")
    check_checkpoint(tmp_path)


@pytest.mark.parametrize("resume", [True, False])
def test_a_new_training_leaves_no_trace_of_the_one_before(resume, tmp_path):
    (tmp_path / LAST).parent.mkdir()
    (tmp_path / LAST).write_bytes(b"state")
    (tmp_path / "config.yaml").write_text("run_folder: x\nseed: 2\n", encoding="utf-8")
    write_results(tmp_path, {"status": "interrupted"})
    others = ["checkpoints/best.ckpt", "checkpoints/kept/kept.json", "weights.safetensors", "translations/test.txt"]
    others += ["memory-test.csv", "probe-val.csv", "attention.html", "figures/test-1-reference.png"]
    others += ["tokenizer/sentencepiece.model", "tokenizer/source/words.txt"]
    for name in [*others, "mine.txt", "figures/test.png"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"earlier")
    begin(tmp_path, "run_folder: x\nseed: 1\n", resume=resume)
    assert [(tmp_path / name).exists() for name in others] == [resume] * len(others)
    assert (tmp_path / "mine.txt").exists()
    assert (tmp_path / "figures" / "test.png").exists()
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == "run_folder: x\nseed: 1\n"
    assert last_checkpoint(tmp_path) == (tmp_path / LAST if resume else None)
    assert status(tmp_path) == ("interrupted" if resume else None)


def test_a_beginning_that_was_killed_is_finished_by_whoever_resumes(tmp_path, monkeypatch):
    begin(tmp_path, "run_folder: x\nseed: 1\n", resume=False)
    (tmp_path / "weights.safetensors").write_bytes(b"earlier")
    monkeypatch.setattr("unrolled.runs.resume.finish_beginning", lambda folder: None)  # killed here
    begin(tmp_path, "run_folder: x\nseed: 2\n", resume=False)
    monkeypatch.undo()
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == "run_folder: x\nseed: 1\n"
    for _ in range(2):
        finish_beginning(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
        assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == "run_folder: x\nseed: 2\n"


def test_paths_in_a_folder_move_with_it_and_others_do_not():
    node = {"/a/run": ["/a/run/best.ckpt", "/a/runs/other", "/a/run", 3, None], "name": "in /a/run"}
    here = {"/b": ["/b/best.ckpt", "/a/runs/other", "/b", 3, None], "name": "in /a/run"}
    assert moved(node, "/a/run", "/b") == here
    assert moved(node, "", "/b") == node


def test_a_folder_that_is_no_run_keeps_what_is_in_it(tmp_path):
    (tmp_path / "translations").mkdir()
    (tmp_path / "translations" / "mine.txt").write_text("mine")
    begin(tmp_path, "run_folder: x\nseed: 1\n", resume=False)
    assert (tmp_path / "translations" / "mine.txt").exists()
    begin(tmp_path, "run_folder: x\nseed: 1\n", resume=False)
    assert not (tmp_path / "translations" / "mine.txt").exists()


@pytest.mark.parametrize("ending", ["completed", "pruned", "failed"])
def test_a_run_that_ended_and_is_resumed_is_interrupted_until_it_ends_again(ending, tmp_path):
    write_results(tmp_path, {"status": ending, "steps": 5})
    begin(tmp_path, "run_folder: x\nseed: 1\n", resume=True)
    assert read_results(tmp_path) == {"status": "interrupted", "steps": 5}


def test_a_configuration_of_another_program_is_not_taken_for_that_of_a_run(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    for name in ("config.yaml", "checkpoints/epoch=3.ckpt"):
        (tmp_path / name).write_text("lr: 0.1\n")
    with pytest.raises(UserError, match=r"config\.yaml is not of a run: give another folder"):
        begin(tmp_path, "run_folder: x\n", resume=False)
    assert {path.name: path.read_text() for path in tmp_path.rglob("*.*")} == dict.fromkeys(
        ("config.yaml", "epoch=3.ckpt"), "lr: 0.1\n"
    )


@pytest.mark.parametrize("left", ["weights.safetensors", "translations/test.txt", None])
def test_a_run_whose_checkpoint_is_gone_is_replaced_with_a_notice_too(left, tmp_path, caplog):
    (tmp_path / "translations").mkdir()
    (tmp_path / "config.yaml").write_text("run_folder: x\n")
    if left is not None:
        (tmp_path / left).write_text("mine")
    begin(tmp_path, "run_folder: x\n", resume=False)
    assert [" is replaced by this one" in message for message in caplog.messages] == ([True] if left else [])
