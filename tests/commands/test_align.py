"""align.py as a user runs it."""

import pytest
from support.scripts import call_script

SOURCE = ["the house", "the blue house", "the flower", "", "the blue flower is the house"] * 3
TARGET = ["das haus", "das blaue haus", "die blume", "nichts", "die blaue blume ist das haus"] * 3


@pytest.fixture
def text(tmp_path):
    for name, lines in {"source": SOURCE, "target": TARGET}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def align(folder, *arguments):
    done = call_script("align.py", *arguments, cwd=folder)
    assert done.status == 0, done.stderr
    return done.stdout


def test_a_text_becomes_a_pharaoh_file(text, caplog):
    caplog.set_level("INFO")
    lines = align(text, "source=source", "target=target").split("\n")
    assert lines[:5] == ["0-0 1-1", "0-0 1-1 2-2", "0-0 1-1", "", "0-0 1-1 2-2 3-3 4-4 5-5"]
    assert len(lines) == len(SOURCE) + 1
    assert "iteration 5 of 5: cross-entropy" in caplog.text


def test_options_reach_the_aligner(text, caplog):
    caplog.set_level("INFO")
    options = ["iterations=2", "tension=1", "p0=0.5", "alpha=null", "optimize_tension=false"]
    found = align(text, "source=source", "target=target", *options, "symmetrization=forward")
    assert "iteration 2 of 2: cross-entropy" in caplog.text
    assert caplog.text.count("tension 1.00") == 4
    assert "links by forward" in caplog.text
    assert len(found.splitlines()) == len(SOURCE)
    high = align(text, "source=source", "target=target", "p0=0.999")
    assert len(high.split()) < len(align(text, "source=source", "target=target").split())


def test_two_directions_of_another_aligner_become_one(tmp_path):
    (tmp_path / "forward").write_text("0-0 1-1 2-2 3-4\n\n0-0\n")
    (tmp_path / "backward").write_text("0-0 0-1 4-3 5-4\n1-1\n0p0\n")
    both = ["forward=forward", "backward=backward"]
    assert align(tmp_path, *both) == "0-0 0-1 1-1 2-2 3-4 4-3\n1-1\n0-0\n"
    assert align(tmp_path, *both, "symmetrization=intersection") == "0-0\n\n\n"


def test_what_comes_out_symmetrised_is_what_comes_of_its_two_directions(text):
    for direction in ("forward", "backward"):
        found = align(text, "source=source", "target=target", f"symmetrization={direction}", "iterations=1")
        (text / direction).write_text(found)
    both = align(text, "forward=forward", "backward=backward")
    assert both == align(text, "source=source", "target=target", "iterations=1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing given: name the text, source=FILE target=FILE, or"),
        (["source=source"], "source given: name the text"),
        (["source=source", "target=target", "forward=source"], "source and target and forward given: name the text"),
        (["forward=source"], "forward given: name"),
        (["source=source", "target=none"], "none: there is no such file"),
        (["source=source", "target=short"], "source has 15 lines and short has 1: line i of one belongs"),
        (["source=empty", "target=empty"], "empty: the file is empty"),
        (["forward=links", "backward=two"], "links has 1 line and two has 2"),
        (["forward=links", "backward=source"], "source:1: 'the' is no link"),
        (["source=source", "target=target", "symmetrization=grow-diag-final"], "did you mean grow_diag_final_and?"),
        (["forward=links", "backward=links", "symmetrization=both"], "symmetrization=both is unknown; give one of"),
        (["source=source", "target=target", "iterations=none"], "iterations=none: give a whole number from 1"),
        (["forward=links", "backward=links", "iterations=3"], "iterations=3: another aligner has already found"),
        (["source=source", "target=target", "lambda=3"], "lambda: there is no such option"),
    ],
)
def test_a_mistake_ends_with_one_line_and_status_2(text, arguments, said):
    for name, lines in {"short": "a\n", "empty": "", "links": "0-0\n", "two": "0-0\n0-0\n"}.items():
        (text / name).write_text(lines)
    done = call_script("align.py", *arguments, cwd=text)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("align.py: ")
    assert said in line


def test_lines_without_words_have_no_links(tmp_path):
    (tmp_path / "blank").write_text("\n \n\t\n")
    assert align(tmp_path, "source=blank", "target=blank") == "\n\n\n"
