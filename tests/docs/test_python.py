"""The examples of docs/python.md, run as printed and in order, in one process; and the cells of the notebook."""

import ast
import doctest
import io
import json
import os
import re
from contextlib import chdir, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from support.composed_once import composed_once
from support.scripts import ROOT

from unrolled.figures import formats

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
NOTEBOOK = ROOT / "docs" / "first-hour.ipynb"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    """An empty folder to work in. What training and comparing draw into files takes longer than they do: left out."""
    with (
        chdir(tmp_path),
        patch.dict(os.environ, {"UNROLLED_CACHE": str(tmp_path / "cache"), "WANDB_MODE": "disabled"}),
        patch("unrolled.figures.curves.save_curves"),
        patch("unrolled.training.callbacks.pictures.Pictures._show"),
        patch("unrolled.figures.formats._draw", _draw_what_is_shown),
        composed_once(),
    ):
        yield tmp_path


_draw = formats._draw


def _draw_what_is_shown(figure, to, form):
    if isinstance(to, Path):
        to.touch()
    else:
        _draw(figure, to, form)


@pytest.mark.slow
def test_every_example_of_the_page_prints_what_it_says(folder):
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == PAGE.count("```python")
    names = {}
    for code, expected in examples:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "docs/python.md", "exec"), names)
        assert doctest.OutputChecker().check_output(
            expected, printed.getvalue(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ), f"{code}\nexpected:\n{expected}\nprinted:\n{printed.getvalue()}"
    assert (folder / "attention.png").is_file()


@pytest.mark.slow
def test_the_cells_of_the_notebook_run(folder):
    """As plain Python, on less text and for less time; what ends a cell shows itself as a notebook would have it."""
    names, small = {}, ("PAIRS, EPOCHS = 2500, 8", "PAIRS, EPOCHS = 120, 1")
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert sum(small[0] in "".join(cell["source"]) for cell in cells) == 1
    pictures = 0
    for number, cell in enumerate(cells):
        tree = ast.parse("".join(cell["source"]).replace(*small))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()):
            exec(compile(tree, f"cell {number}", "exec"), names)
            shown = None if last is None else eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        for form in ("_repr_html_", "_repr_png_"):
            if hasattr(shown, form):
                assert getattr(shown, form)()
                pictures += 1
    assert pictures >= 4


def test_the_notebook_was_executed_and_says_nothing_about_the_machine():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"]
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert not re.findall(r"/(?:home|tmp|root|work|opt|usr)/", re.sub(r'"image/png": "[^"]*"|base64,[^"\\]*', "", text))
