"""How a comparison is shown: tables, Markdown, HTML."""

import csv
import html.parser
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
from unrolled.inspection.page import page as attention_page
from unrolled.inspection.page import theme
from unrolled.metrics.significance import PairedScores

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
