"""The transcripts of docs/museum.md and docs/export.md: that checkpoint, imported, translated, scored and exported."""

import json
import re

import numpy as np
import pytest
from support.reference_dl4mt import Reference, lively
from support.scripts import ROOT
from support.transcripts import commands, replay

pytestmark = pytest.mark.slow

SOURCES, TARGETS = ["s2 s5 s3", "s9 never s16 s4", "s7"], ["t3 t18", "t7 never t2 t5", "t11"]


@pytest.fixture
def here(tmp_path):
    """A folder with dl4mt's files and the pairs of the page, and one for what the shell needs."""
    (tmp_path / "here").mkdir()
    folder, parameters = tmp_path / "here", lively(20)
    np.savez(folder / "model.npz", **parameters)
    for name, letter, size in (("en", "s", len(parameters["Wemb"])), ("de", "t", len(parameters["ff_logit_b"]))):
        ids = {"eos": 0, "UNK": 1} | {f"{letter}{number}": number for number in range(2, size)}
        (folder / f"{name}.json").write_text(json.dumps(ids), encoding="utf-8")
    for name, lines in (("in.en", SOURCES), ("in.de", TARGETS)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder, tmp_path / "shell"


def ids(line):
    return [1 if word == "never" else int(word[1:]) for word in line.split()] + [0]


def test_the_pages_print_what_is_printed(here):
    export = commands("export.md")[:2]
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason="export needs it: pip install 'unrolled[export]'")
    paths = {f"python {folder}/": f"python {ROOT}/{folder}/" for folder in ("src", "examples")}
    assert replay([*commands("museum.md"), *export], *here, {"run=RUN": "run=imported", **paths}) == 7


def test_the_figures_on_the_page_are_those_of_the_reference():
    printed = dict(commands("museum.md"))
    scores = next(text for typed, text in printed.items() if "score.py" in typed).split()
    reference = Reference(lively(20))
    expected = [reference.score(ids(s), ids(t))[0].sum() for s, t in zip(SOURCES, TARGETS, strict=True)]
    np.testing.assert_allclose([float(score) for score in scores], expected, rtol=1e-6)
    text = " ".join((ROOT / "docs" / "museum.md").read_text(encoding="utf-8").split())
    said = re.search(r"the log-probabilities (\S+), (\S+) and (\S+)\. ", text)
    assert said
    np.testing.assert_allclose([float(figure) for figure in said.groups()], expected, atol=1e-6)
