"""The figure of scores by bands of sentences."""

import math

import matplotlib.image
import pytest

from unrolled.figures.band_curves import bands_figure
from unrolled.figures.formats import save_figure
from unrolled.metrics.bands import Band


def bands(*bleus):
    edges = [1, 6, 11, math.inf]
    return [
        Band(low, high, low + 2, 20 + low, bleu, bleu - 1.5, bleu + 2.5)
        for low, high, bleu in zip(edges, edges[1:], bleus, strict=False)
    ]


def test_a_figure_shows_bleu_and_bands_of_every_group():
    shown = {"bahdanau": bands(30.0, 29.0, 20.0), "costs $5 to $6": bands(31.0, 28.0, 27.0)}
    figure = bands_figure(shown, label="source length (words)")
    (axes,) = figure.axes
    assert {line.get_label(): line.get_xydata().tolist() for line in axes.lines} == {
        name: [[band.center, band.score] for band in points] for name, points in shown.items()
    }
    for shade, points in zip(axes.collections, shown.values(), strict=True):
        corners = {tuple(corner) for corner in shade.get_paths()[0].vertices.tolist()}
        assert corners == {(b.center, edge) for b in points for edge in (b.lower, b.upper)}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1–5\n21", "6–10\n26", "≥ 11\n31"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(shown)
    assert not any(text.get_parse_math() for text in legend.get_texts())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("source length (words)", "BLEU")


NAMES = ["{}", "group, size={}", "WWWWW, size_{}", "cgru, bahdanau, decoder_size={}", "a very long name " * 3 + "{}"]


@pytest.mark.parametrize("name", NAMES)
def test_lines_differ_in_print_and_the_legend_has_room(name):
    shown = {name.format(number): bands(number + 10.0, 9.0 + number) for number in range(9)}
    figure = bands_figure(shown, label="x")
    (axes,) = figure.axes
    assert len({(line.get_marker(), line.get_linestyle()) for line in axes.lines}) == len(shown)
    assert len({line.get_color() for line in axes.lines}) == 7
    figure.draw_without_rendering()
    box, inside = figure.legends[0].get_window_extent(), axes.get_window_extent()
    assert box.y0 >= inside.y1
    assert (box.x0 >= 0, box.x1 <= figure.bbox.x1, inside.height > 350) == (True, True, True)


def test_figures_are_saved_as_pixels_and_with_fonts_that_publishers_take(tmp_path):
    figure = bands_figure({"a": bands(9.0, 8.0)}, label="x")
    for suffix in ("png", "pdf"):
        save_figure(figure, tmp_path / f"f.{suffix}")
    assert matplotlib.image.imread(tmp_path / "f.png").shape[1] > 1000
    content = (tmp_path / "f.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/Type3" not in content
