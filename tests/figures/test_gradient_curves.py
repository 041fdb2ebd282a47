"""The file of gradient norms, and the figures made of it."""

import math

import pytest

from unrolled.figures.gradient_curves import Row, comparison_figure, norms_figure, read_rows, write_rows


def test_a_file_is_read_as_it_was_written(tmp_path):
    rows = [Row(0, 0, 0.1 + 0.2, 5), Row(0, 1, 1e-300, 4), Row(7, 0, 0.0, 5), Row(7, 1, math.inf, 1)]
    write_rows(tmp_path / "a.csv", rows)
    assert read_rows(tmp_path / "a.csv") == rows
    assert read_rows(tmp_path / "b.csv") == []
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()[0] == "step,n,norm,pairs"


def lines(axes):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines}


def test_a_run_has_a_line_a_measurement_on_a_logarithmic_scale():
    rows = [Row(step, n, 2.0**-n, 1) for step in (20, 0) for n in range(3)] + [Row(20, 3, 0.0, 1)]
    (axes,) = norms_figure(rows).axes
    assert lines(axes) == {"before training": ([0, 1, 2], [1, 0.5, 0.25]), "step 20": ([0, 1, 2], [1, 0.5, 0.25])}
    assert axes.get_yscale() == "log"


def test_a_legend_of_many_measurements_names_the_first_and_the_last():
    rows = [Row(step, n, 1.0, 1) for step in range(0, 200, 10) for n in (0, 1)]
    (axes,) = norms_figure(rows).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before training", "step 190"]
    assert len(axes.lines) == 20


def test_runs_are_compared_at_their_first_and_last_measurement():
    runs = {
        "0-tanh-seed1": [Row(0, 0, 1.0, 1), Row(9, 0, 2.0, 1), Row(5, 0, 7.0, 1)],
        "1-gru-seed1": [Row(0, 0, 3.0, 1), Row(8, 0, 4.0, 1)],
    }
    left, right = comparison_figure(runs).axes
    assert lines(left) == {"tanh": ([0], [1.0]), "gru": ([0], [3.0])}
    assert lines(right) == {"tanh": ([0], [2.0]), "gru": ([0], [4.0])}
    assert (left.get_title(), right.get_title()) == ("before training", "last measurement")


@pytest.mark.parametrize(
    ("folders", "labels"),
    [
        (["0-tanh-seed1", "1-tanh-seed2"], ["tanh-seed1", "tanh-seed2"]),
        (["0-lm-seed1", "1-lm-seed1"], ["0-lm-seed1", "1-lm-seed1"]),
        (["mine", "yours"], ["mine", "yours"]),
    ],
)
def test_labels_tell_runs_apart(folders, labels):
    left, _ = comparison_figure({folder: [Row(0, 0, 1.0, 1)] for folder in folders}).axes
    assert list(lines(left)) == labels
