"""Results as tables: printed, in a notebook, and for pandas."""

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from unrolled.api.records import SHOWN, Records
from unrolled.errors import UserError


@dataclass(frozen=True)
class Found:
    text: str
    value: float
    parts: list


def test_printed_and_in_a_notebook_they_are_a_table_of_what_is_text_or_a_number():
    records = Records([Found("<b>", 1 / 3, [1]), Found("c", 2.0, [])])
    assert str(records) == "text   value\n<b>   0.3333\nc          2\n"
    html = records._repr_html_()
    assert "&lt;b&gt;" in html
    assert "0.3333" in html
    assert "parts" not in html
    assert str(Records()) == "nothing"


def test_items_without_text_or_numbers_are_printed_one_a_line():
    records = Records([["<b>"], [2, 3]])
    assert str(records) == "['<b>']\n[2, 3]"
    assert records._repr_html_() == "<pre>[&#x27;&lt;b&gt;&#x27;]\n[2, 3]</pre>"
    assert Records([[1]] * (SHOWN + 2))._repr_html_().endswith("</pre><p>and 2 more</p>")


def test_rows_have_everything_and_missing_values_are_empty():
    records = Records([{"a": 1}, {"a": None, "b": True}])
    assert records.rows() == [{"a": 1}, {"a": None, "b": True}]
    assert str(records).splitlines() == ["a     b", "1", "   True"]
    assert Records(["x"]).rows() == [{"value": "x"}]


def test_a_notebook_shows_no_more_than_a_page():
    html = Records({"n": number} for number in range(SHOWN + 3))._repr_html_()
    assert html.count("<tr>") == SHOWN + 1
    assert "3 more" in html


def test_a_frame_is_of_pandas_where_there_is_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda rows: ("frame", rows)))
    assert Records([{"a": 1}]).to_frame() == ("frame", [{"a": 1}])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        Records([{"a": 1}]).to_frame()
