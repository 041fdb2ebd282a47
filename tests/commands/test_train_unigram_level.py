"""A run that learns nothing says so, and one whose BLEU is still zero is not stopped while its loss falls."""

from support.scripts import TINY, TINY_MODEL, call_script, results

QUICK = [*TINY, *TINY_MODEL, "model=cgru", "logger=csv", "hardware=cpu", "~callbacks.pictures"]


def test_a_run_that_learns_nothing_says_so_and_compare_marks_it(tmp_path, caplog):
    more = ["optimizer.lr=1e-7", "trainer.max_epochs=1", "hydra.run.dir=runs/run"]
    assert call_script("train.py", *QUICK, *more, cwd=tmp_path).status == 0
    found = results(tmp_path / "runs" / "run")
    assert found["left_unigram_level"] is False
    assert found["val/loss"] > found["val/unigram_loss"] > 2
    (line,) = [record.getMessage() for record in caplog.records if "unigram level" in record.getMessage()]
    assert f"{found['val/unigram_loss']:.3f}" in line
    assert "optimizer.lr" in line
    assert "\n" not in line
    assert "1 (1 at the unigram level)" in call_script("compare.py", "runs=runs", cwd=tmp_path).stdout
    assert "has learnt nothing: its lowest" in (tmp_path / "runs/comparison/comparison.md").read_text(encoding="utf-8")


def test_a_run_that_ends_before_its_first_validation_says_so_too(tmp_path, caplog):
    assert call_script("train.py", *QUICK, "trainer.max_steps=1", "hydra.run.dir=run", cwd=tmp_path).status == 0
    found = results(tmp_path / "run")
    assert found["left_unigram_level"] is False
    assert found["val/loss"] > found["val/unigram_loss"] > 2
    assert len([record for record in caplog.records if "unigram level" in record.getMessage()]) == 1


def test_a_run_that_learns_says_nothing(tmp_path, caplog):
    more = ["optimizer.lr=2e-2", "trainer.max_epochs=4", "hydra.run.dir=runs/run"]
    assert call_script("train.py", *QUICK, *more, cwd=tmp_path).status == 0
    assert results(tmp_path / "runs" / "run")["left_unigram_level"] is True
    assert not [record for record in caplog.records if "unigram level" in record.getMessage()]


def test_early_stopping_waits_while_the_loss_falls_and_bleu_is_zero(tmp_path):
    more = ["optimizer.lr=1e-5", "trainer.max_epochs=4", "callbacks.early_stopping.patience=1", "hydra.run.dir=run"]
    assert call_script("train.py", *QUICK, *more, cwd=tmp_path).status == 0
    found = results(tmp_path / "run")
    assert found["val/bleu"] < 1
    assert found["epochs"] == 4
