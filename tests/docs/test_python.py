"""The examples of docs/python.md, run as printed and in order, in one process; and the cells of the notebook."""

import doctest
import io
import json
import os
import re
from contextlib import chdir, redirect_stdout
from unittest.mock import patch

import pytest
from support.scripts import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
NOTEBOOK = ROOT / "docs" / "first-hour.ipynb"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    """An empty folder to work in, without curves.png, which takes longer than a tiny training."""
    with (
        chdir(tmp_path),
        patch.dict(os.environ, {"UNROLLED_CACHE": str(tmp_path / "cache"), "WANDB_MODE": "disabled"}),
        patch("unrolled.training.run.save_curves"),
    ):
        yield tmp_path


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
