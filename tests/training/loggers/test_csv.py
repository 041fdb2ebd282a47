"""metrics.csv: every row once, new columns whenever they come, and cut to where a checkpoint was written."""

import csv
import sys
from unittest.mock import Mock

import pytest

from unrolled.training.loggers import csv as csv_logger
from unrolled.training.loggers.csv import Curves, CurvesWriter


def read(folder):
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return [{name: value for name, value in row.items() if value} for row in csv.DictReader(file)]


def log(writer, *rows):
    for step, row in rows:
        writer.log_metrics(row, step)
    writer.save()


@pytest.fixture
def writer(tmp_path):
    return CurvesWriter(str(tmp_path))


def test_a_column_may_come_late(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0}))
    log(writer, (2, {"train/loss": 2.5}), (2, {"val/bleu": 7.5}))
    log(writer, (3, {"train/loss": 2.0}))
    assert read(tmp_path) == [
        {"step": "1", "train/loss": "3.0"},
        {"step": "2", "train/loss": "2.5"},
        {"step": "2", "val/bleu": "7.5"},
        {"step": "3", "train/loss": "2.0"},
    ]


def test_what_came_after_the_checkpoint_is_cut_off(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0}))
    writer.log_metrics({"train/loss": 2.5}, 2)
    mark = writer.mark()  # with what was not yet written
    at_mark = (tmp_path / "metrics.csv").read_bytes()
    log(writer, (3, {"train/loss": 2.0}), (3, {"val/bleu": 7.5}))

    again = CurvesWriter(str(tmp_path))
    again.resume(mark)
    assert (tmp_path / "metrics.csv").read_bytes() == at_mark
    log(again, (3, {"train/loss": 1.5}))
    assert [row["train/loss"] for row in read(tmp_path)] == ["3.0", "2.5", "1.5"]


def test_what_was_logged_before_going_on_is_kept(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0}))
    mark = writer.mark()
    again = CurvesWriter(str(tmp_path))
    again.log_metrics({"train/loss": 9.0}, 2)
    again.resume(mark)
    again.save()
    assert [row["train/loss"] for row in read(tmp_path)] == ["3.0", "9.0"]


def test_ctrl_c_while_columns_are_added_leaves_a_file_that_can_be_continued(writer, tmp_path, monkeypatch):
    log(writer, (1, {"train/loss": 3.0}))
    mark = writer.mark()
    writer.log_metrics({"val/loss": 2.5}, 2)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(csv_logger, "write_text", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            writer.save()
    writer.save()  # as Lightning does when a training ends
    assert [len(row) for row in read(tmp_path)] == [2, 2]
    CurvesWriter(str(tmp_path)).resume(mark)


@pytest.mark.parametrize("row", [{"train/loss": 2.5}, {"val/loss": 2.5}], ids=["the same columns", "one more"])
def test_ctrl_c_just_after_rows_were_written_does_not_write_them_twice(writer, tmp_path, row):
    log(writer, (1, {"train/loss": 3.0}))
    writer.log_metrics(row, 2)
    written = (tmp_path / "metrics.csv").stat().st_size

    def interrupt(frame, event, argument):  # at the first line that Python runs after the file has grown
        if event == "line" and (tmp_path / "metrics.csv").stat().st_size > written:
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            writer.save()
    finally:
        sys.settrace(None)
    writer.save()
    assert [row["step"] for row in read(tmp_path)] == ["1", "2"]


def test_curves_that_someone_removed_or_cut_are_continued(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0}))
    (tmp_path / "metrics.csv").unlink()
    log(writer, (2, {"train/loss": 2.0}))
    assert read(tmp_path) == [{"step": "2", "train/loss": "2.0"}]
    (tmp_path / "metrics.csv").write_text("step,train/loss\n")
    log(writer, (3, {"train/loss": 1.0}))
    assert read(tmp_path) == [{"step": "3", "train/loss": "1.0"}]


def test_a_row_that_was_cut_short_after_the_checkpoint_does_not_matter(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0, "val/loss": 4.0}))
    mark = writer.mark()
    at_mark = (tmp_path / "metrics.csv").read_bytes()
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("2,1.")
    CurvesWriter(str(tmp_path)).resume(mark)
    assert (tmp_path / "metrics.csv").read_bytes() == at_mark


def test_a_file_that_is_gone_begins_anew(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0}))
    mark = writer.mark()
    (tmp_path / "metrics.csv").unlink()
    again = CurvesWriter(str(tmp_path))
    again.resume(mark)
    log(again, (2, {"train/loss": 2.0}))
    assert read(tmp_path) == [{"step": "2", "train/loss": "2.0"}]


def test_a_new_training_overwrites_the_curves_of_another(writer, tmp_path):
    log(writer, (1, {"train/loss": 3.0}), (2, {"train/loss": 2.0}))
    log(CurvesWriter(str(tmp_path)), (1, {"train/loss": 5.0}))
    assert read(tmp_path) == [{"step": "1", "train/loss": "5.0"}]


def test_the_file_is_in_the_run_folder_itself(tmp_path):
    curves = Curves(str(tmp_path / "run"))
    curves.log_metrics({"train/loss": 1.0}, 4)
    curves.save()
    assert read(tmp_path / "run") == [{"step": "4", "train/loss": "1.0"}]
