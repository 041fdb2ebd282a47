"""A W&B run that is resumed has every row once: repeats are omitted, and what a kill took is logged again."""

import json
import struct

import pytest
from support.wandb_files import proto

from unrolled.training.loggers.wandb_rows import BLOCK, HEADER, STEP, OnceLogger, records, rows

FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def log_of(contents):
    """A LevelDB log, with W&B's first seven bytes."""
    data = b":W&B" + b"\0" * 3
    for content in contents:
        first = True
        while True:
            left = BLOCK - len(data) % BLOCK
            if left < HEADER.size:
                data += b"\0" * left
                continue
            part, content = content[: left - HEADER.size], content[left - HEADER.size :]
            kind = (FULL if first else LAST) if not content else (FIRST if first else MIDDLE)
            data += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
            if not content:
                break
    return data


def row(number, **logged):
    record = proto.Record()
    for name, value in {"_step": number, **{key.replace("_", "/"): value for key, value in logged.items()}}.items():
        item = record.history.item.add()
        item.nested_key.append(name if name != "step" else STEP)
        item.value_json = json.dumps(value)
    return record.SerializeToString()


class Run:
    def __init__(self, step=0):
        self.id, self.step, self.logged = "abc", step, []

    def log(self, logged, step=None, commit=None):
        self.logged.append((step, logged))


@pytest.fixture
def piece(tmp_path):
    def write(contents, name="offline-run-20260101_000000-abc"):
        path = tmp_path / "wandb" / name / "run-abc.wandb"
        path.parent.mkdir(parents=True)
        path.write_bytes(log_of(contents))
        return path

    return write


def test_records_may_be_longer_than_a_block_and_end_anywhere_in_it():
    contents = [b"a" * length for length in (1, BLOCK - 30, 5, 2 * BLOCK, 0, BLOCK - 7 - 7 - 3, 9)]
    assert list(records(log_of(contents))) == contents


def test_a_file_that_breaks_off_has_the_rows_before(piece):
    path = piece([row(number, step=number, train_loss=0.5) for number in range(4)])
    path.write_bytes(path.read_bytes()[:-3])
    assert [number for number, _ in rows(path)] == [0, 1, 2]
    assert next(iter(rows(path)))[1] == (0, frozenset({STEP, "train/loss"}))


def test_what_w_and_b_was_told_is_not_told_again(piece, tmp_path):
    piece([row(number, step=2 * number, train_loss=0.5) for number in range(3)])
    run = Run()
    logger = OnceLogger(run, tmp_path, resume=True)
    for step in (2, 4, 6, 8):
        logger.experiment.log({"train/loss": 0.4, STEP: step})
    logger.experiment.log({"val/loss": 0.4, STEP: 4})
    # the first row continues the count of rows, which the second piece would begin at 0
    assert run.logged == [
        (3, {"train/loss": 0.4, STEP: 6}),
        (None, {"train/loss": 0.4, STEP: 8}),
        (None, {"val/loss": 0.4, STEP: 4}),
    ]


def test_a_piece_of_the_same_second_counts_too(piece, tmp_path):
    for number, name in enumerate(("offline-run-20260101_000000-abc", "offline-run-20260101_000000-abc-1")):
        piece([row(number, step=2 * number, train_loss=0.5)], name=name)
    run = Run()
    logger = OnceLogger(run, tmp_path, resume=True)
    for step in (0, 2, 4):
        logger.experiment.log({"train/loss": 0.4, STEP: step})
    assert run.logged == [(2, {"train/loss": 0.4, STEP: 4})]


def test_rows_that_only_metrics_csv_has_are_logged(piece, tmp_path):
    piece([row(0, step=2, train_loss=0.5)])
    run = Run()
    logger = OnceLogger(run, tmp_path, resume=True)
    logger.complete(
        [
            {"step": "2", "train/loss": "0.5", "val/loss": ""},
            {"step": "4", "train/loss": "0.25", "val/loss": ""},
            {"step": "4", "train/loss": "", "val/loss": "nan"},
        ]
    )
    assert [(sorted(logged), logged[STEP]) for _, logged in run.logged] == [
        (["train/loss", STEP], 4),
        ([STEP, "val/loss"], 4),
    ]
    assert run.logged[0][1]["train/loss"] == 0.25


def test_of_an_online_run_only_what_the_server_has_counts(piece, tmp_path):
    piece([row(number, step=number, train_loss=0.5) for number in range(3)], name="run-20260101_000000-abc")
    run = Run(step=2)  # the third row has not arrived
    logger = OnceLogger(run, tmp_path, resume=True)
    for step in range(4):
        logger.experiment.log({"train/loss": 0.4, STEP: step})
    assert [(number, logged[STEP]) for number, logged in run.logged] == [(None, 2), (None, 3)]


def test_a_new_training_logs_everything(piece, tmp_path):
    piece([row(0, step=2, train_loss=0.5)])
    run = Run()
    logger = OnceLogger(run, tmp_path, resume=False)
    logger.experiment.log({"train/loss": 0.4, STEP: 2})
    assert run.logged == [(None, {"train/loss": 0.4, STEP: 2})]
