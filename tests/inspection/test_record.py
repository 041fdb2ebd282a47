"""attention.jsonl: what is written is read again, a byte a number, whatever happens to the file."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.inference.attended_pairs import AttendedPair
from unrolled.inspection import record


def snapshot(step, split="val", text="a b"):
    return {"run": "x", "split": split, "step": step, "sentences": [{"text": text}]}


def steps(snapshots):
    return [(each["split"], each["step"]) for each in snapshots]


@given(st.integers(1, 7), st.integers(1, 11), st.sampled_from([1.0, 0.003, 6.5, 1e6]), st.integers(0, 9))
def test_numbers_come_back_to_half_a_level(rows, columns, largest, seed):
    numbers = largest * np.random.default_rng(seed).random((rows, columns))
    numbers[0, 0] = largest
    stored = json.loads(json.dumps(record.matrix(numbers, largest)))
    read = record.values(stored, (rows, columns))
    assert np.abs(read - numbers).max() <= largest / 510 * 1.0001
    assert read[0, 0] == pytest.approx(largest)


def test_0_and_1_are_exact_and_what_is_no_number_is_0():
    numbers = [[0.0, 1.0, math.nan], [math.inf, -1.0, 0.5]]
    read = record.values(record.matrix(numbers, 1.0), (2, 3))
    assert read.tolist() == [[0, 1, 0], [1, 0, pytest.approx(0.5, abs=1 / 510)]]
    assert record.values(record.matrix([[0.0]], 0.0), (1, 1)).tolist() == [[0.0]]


def test_a_target_has_pieces_weights_norms_and_links():
    pair = AttendedPair(
        ["a", "b", "</s>"], ["x", "</s>"], torch.eye(2, 3), [0, 1], [0], torch.tensor([[0.0, 1, 2], [3, 4, 2]])
    )
    found = record.target(pair, "x", ({(1, 0)}, {(1, 0), (0, 0)}))
    assert (found["text"], found["pieces"]) == ("x", ["x", "</s>"])
    assert record.values(found["weights"], (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found["memory"]["largest"] == 4
    assert record.values(found["memory"], (2, 3)).round(1).tolist() == [[0, 1, 2], [3, 4, 2]]
    assert found["links"] == [[0, 0, 0], [1, 0, 1]]
    plain = record.target(pair._replace(memory_norms=None), "x", None)
    assert (plain["memory"], plain["gates"], plain["links"]) == (None, {}, None)


def test_norms_that_are_no_numbers_leave_the_record_valid():
    pair = AttendedPair(["a", "</s>"], ["x", "</s>"], torch.ones(2, 2), [0], [0])
    for norms, expected in (
        ([[1.0, math.inf], [math.nan, 2.0]], [[1, 2], [0, 2]]),
        ([[math.nan, math.nan], [math.nan, math.nan]], [[0, 0], [0, 0]]),
    ):
        made = record.target(pair._replace(memory_norms=torch.tensor(norms)), "x", None)
        json.dumps(made, allow_nan=False)
        read = record.values(made["memory"], (2, 2))
        np.testing.assert_allclose(read, expected, atol=2 / 509)


def test_a_gate_is_the_mean_over_its_units():
    gate = torch.tensor([[[0.0, 1.0], [0.2, 0.4]]])
    pair = AttendedPair(["a", "</s>"], ["</s>"], torch.ones(1, 2), [0], [], gates={"update": gate})
    stored = record.target(pair, "", None)["gates"]
    np.testing.assert_allclose(record.values(stored["update"], (1, 2)), [[0.5, 0.3]], atol=1 / 509)


def test_validation_comes_before_test_and_earlier_steps_first(tmp_path):
    assert record.read(tmp_path) == []
    for split, step in [("val", 10), ("test", 20), ("val", 5), ("val", 20)]:
        found = record.add(tmp_path, snapshot(step, split))
    assert found == record.read(tmp_path)
    assert steps(found) == [("val", 5), ("val", 10), ("val", 20), ("test", 20)]


def test_the_same_step_again_replaces_what_was_there(tmp_path):
    for text in ("first", "second"):
        for step in (10, 20):
            record.add(tmp_path, snapshot(step, text=text))
    found = record.read(tmp_path)
    assert steps(found) == [("val", 10), ("val", 20)]
    assert [each["sentences"][0]["text"] for each in found] == ["second", "second"]


def test_text_is_kept_whatever_it_is(tmp_path):
    text = 'a\u2028b </script> \\ " ▁中文 😀 \x1f'
    record.add(tmp_path, snapshot(1, text=text))
    assert record.read(tmp_path)[0]["sentences"][0]["text"] == text
    assert len((tmp_path / record.FILE).read_bytes().splitlines()) == 1


def test_a_figure_that_is_no_number_is_null_for_the_page(tmp_path):
    made = json.dumps(snapshot(1) | {"metrics": {"bleu": math.nan, "loss": math.inf, "aer": 0.5}})
    (tmp_path / record.FILE).write_text(made + "\n", encoding="utf-8")
    (found,) = record.read(tmp_path)
    assert found["metrics"] == {"bleu": None, "loss": None, "aer": 0.5}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_torn_last_line_is_left_out_and_written_over(tmp_path, cut):
    record.add(tmp_path, snapshot(1))
    whole = (tmp_path / record.FILE).read_bytes()
    record.add(tmp_path, snapshot(2))
    both = (tmp_path / record.FILE).read_bytes()
    (tmp_path / record.FILE).write_bytes(both[:-cut])
    assert steps(record.read(tmp_path)) == [("val", 1)]
    record.add(tmp_path, snapshot(2))
    assert (tmp_path / record.FILE).read_bytes() == both
    (tmp_path / record.FILE).write_bytes(whole[:-cut])
    assert record.read(tmp_path) == []


@pytest.mark.parametrize("line", ["{", "7", '{"split": "val"}', "", "\xff"])
def test_a_broken_line_is_named(tmp_path, line):
    record.add(tmp_path, snapshot(1))
    with open(tmp_path / record.FILE, "a", encoding="latin-1") as file:
        file.write(f"{line}\n")
    with pytest.raises(UserError, match=r"attention.jsonl:2: .*delete it"):
        record.read(tmp_path)


def test_a_crash_while_writing_loses_nothing(tmp_path, monkeypatch):
    record.add(tmp_path, snapshot(1))

    def breaks(*paths):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", breaks)
    with pytest.raises(OSError, match="no space"):
        record.add(tmp_path, snapshot(2))
    assert steps(record.read(tmp_path)) == [("val", 1)]
    assert [path.name for path in tmp_path.iterdir()] == [record.FILE]
