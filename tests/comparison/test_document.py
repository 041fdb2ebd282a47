"""How a comparison is shown: tables, Markdown, HTML, figures."""

import csv
import html.parser
import math
import re

import matplotlib.image
import numpy as np
import pytest
from markdown_it import MarkdownIt  # of rich
from support.handmade_runs import run

from unrolled.comparison.document import STYLE, Heading, Paragraph, Picture, Table, markdown
from unrolled.comparison.document import html as to_html
from unrolled.comparison.groups import compare
from unrolled.comparison.tables import comma_separated, group_rows, p_value, summary
from unrolled.figures.band_curves import bands_figure
from unrolled.figures.formats import save_figure
from unrolled.inspection.page import page as attention_page
from unrolled.inspection.page import theme
from unrolled.metrics.bands import Band
from unrolled.metrics.significance import PairedScores
from unrolled.text.table import table

# Tables


def test_the_table_has_means_deviations_and_the_best_in_bold():
    facts = [("a", 1, 20.0), ("a", 2, 21.0), ("b", 1, 30.0)]
    results = {"parameters": 6796800, "peak_memory_mib": 900.4}
    runs = [run(f"{a}{s}", seed=s, bleu=bleu, results=results, **{"choices.attention": a}) for a, s, bleu in facts]
    shown = summary(compare(runs), {})
    assert shown.head == ["attention", "runs", "BLEU", "parameters", "memory, MiB"]
    assert shown.rows[0] == ["a", "2", "20.50 ± 0.71", "6,796,800", "900 ± 0"]
    assert shown.rows[1] == ["b", "1", "30.00", "6,796,800", "900"]
    assert shown.bold == {(1, 2), (0, 4), (1, 4)}


def test_language_models_and_translators_have_columns_where_there_are_values():
    runs = [run("a", bleu=9.0, results={"test/perplexity": 5.5}), run("b", lr=1, results={"test/perplexity": 70.25})]
    shown = summary(compare(runs), {})
    assert shown.head == ["lr", "runs", "BLEU", "perplexity"]
    assert shown.rows == [["–", "1", "9.00", "5.50"], ["1", "1", "–", "70.25"]]


def scores(difference, p):
    return {"bleu": PairedScores(30 + difference, 30, p, p / 2)}


def test_the_p_of_several_seeds_is_the_largest_if_all_differ_in_one_direction():
    pairs = {"up": {1: scores(2, 0.01), 2: scores(1, 0.03)}, "both": {1: scores(2, 0.01), 2: scores(-1, 0.01)}}
    assert p_value(pairs, "up", "bootstrap") == 0.03
    assert p_value(pairs, "up", "randomization") == 0.015
    assert p_value(pairs, "both", "bootstrap") == "mixed"
    assert p_value(pairs, "other", "bootstrap") is None


def test_comma_separated_values_are_whole():
    comparison = compare(
        [run("a", lr=0, bleu=20 / 3), run("b", lr=1, bleu=30.0), run('odd, "name"', lr=2, status="diverged")]
    )
    rows = list(csv.DictReader(comma_separated(group_rows(comparison, {}, {}, "bleu")).splitlines()))
    assert [float(row["test/bleu mean"]) for row in rows[:2]] == [20 / 3, 30.0]
    assert [row["status"] for row in rows] == ["completed", "completed", "diverged"]
    assert rows[2]["folders"] == 'odd, "name"'
    assert rows[2]["test/bleu mean"] == rows[0]["test/bleu standard deviation"] == rows[0]["test/aer mean"] == ""


def test_bold_cells_do_not_shift_a_column():
    rows = [["a", "xx"], ["bbb", "y"]]
    assert table(rows, bold={(1, 1), (1, 0)}).replace("\x1b[1m", "").replace("\x1b[0m", "") == table(rows)
    assert "\x1b[1mbbb\x1b[0m" in table(rows, bold={(1, 0)})


ODD = ["a | b", "<script>alert(1)</script>", "*x* _y_ `z`", "& &amp; $5$ ~~z~~", "[l](http://x)", "\\", "# h", "1 < 2"]
ODD += ["مرحبا", "![x](y)"]


class Texts(html.parser.HTMLParser):
    """The texts of a page, and its tags."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(page)

    def handle_data(self, data):
        self.texts.append(data)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


@pytest.fixture
def blocks(tmp_path):
    matplotlib.image.imsave(tmp_path / "p.png", np.zeros((2, 3, 3)))
    rows = [[text, text] for text in ODD]
    shown = Table(["x|y", "z"], rows, bold={(1, 1)})
    return [Heading("a *b*"), Paragraph("<i>"), shown, Picture(tmp_path / "p.png", "see & be seen")]


def test_a_page_takes_text_literally_and_needs_no_other_file(blocks):
    page = to_html("Title <1>", blocks)
    read = Texts(page)
    assert [text for text in read.texts if text in ODD] == [text for text in ODD for _ in range(2)]
    assert {"a *b*", "<i>", "x|y", "see & be seen", "Title <1>"} <= set(read.texts)
    assert not {tag for tag, _ in read.tags} & {"script", "i", "link", "iframe"}
    (image,) = [attributes for tag, attributes in read.tags if tag == "img"]
    assert image["src"].startswith("data:image/png;base64,")
    assert not re.search(r"href|url\(|@import", page)
    assert page.count("<b>") == 1


def test_a_page_has_the_colours_of_the_page_of_attention_by_day_and_by_night(blocks):
    page = to_html("Title", blocks)
    assert theme() in page
    assert theme() in attention_page([])
    assert "prefers-color-scheme: dark" in page
    assert '<meta name="viewport"' in page
    own = STYLE.replace("background: #fff", "")  # behind a picture, which is drawn on white
    assert not re.search(r"#[0-9a-f]{3,6}\b", own)


def test_markdown_takes_text_literally(blocks):
    page = MarkdownIt("gfm-like", {"linkify": False}).render(markdown("Title <1>", blocks))
    read = Texts(page)
    cells = "".join(read.texts)
    for text in ODD:
        assert cells.count(text) == 2, text
    assert [tag for tag, _ in read.tags if tag in ("em", "a", "code", "s", "script", "i")] == []
    assert [tag for tag, _ in read.tags].count("strong") == 1
    assert [tag for tag, _ in read.tags].count("tr") == 1 + len(ODD)
    assert [attributes["src"] for tag, attributes in read.tags if tag == "img"] == ["p.png"]


# Figures


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


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1, 6, "1–5"),
        (1, 2, "1"),
        (26, math.inf, "≥ 26"),
        (0.0, 1e-9, "0"),
        (1e-9, 0.1, "0–0.1"),
        (0.5, math.inf, "≥ 0.5"),
    ],
)
def test_intervals_read_well(low, high, shown):
    assert Band(low, high, 0, 0, 0, 0, 0).interval == shown
