"""A command never writes over what it reads, nor over what makes a run."""

import os

import pytest

from unrolled.errors import UserError
from unrolled.runs.outputs import check_outputs


def check(**options):
    given = {"source": "a.en", "target": None, "alignments": None, "weights": None} | options
    check_outputs(given, ("alignments", "weights"), ("source", "target"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a text, a link to it, and a run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.en").write_text("a b\n")
    (tmp_path / "link").symlink_to("a.en")
    (tmp_path / "run" / "tokenizer" / "source").mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").write_text("seed: 1\n")
    return tmp_path


@pytest.mark.parametrize("output", ["a.en", "./a.en", "run/../a.en", "link"])
def test_an_input_is_not_written(here, output):
    with pytest.raises(UserError, match=rf"^alignments={output} and source=a\.en are the same file: give alignments"):
        check(alignments=output)


def test_two_outputs_are_two_files(here):
    with pytest.raises(UserError, match=r"^alignments=out and weights=\./out are the same file"):
        check(alignments="out", weights="./out")


@pytest.mark.parametrize(
    "output", ["config.yaml", "results.json", "tokenizer/source/words.txt", "checkpoints/best.ckpt"]
)
def test_a_file_of_a_run_is_not_written(here, output):
    with pytest.raises(UserError, match=f"^alignments=run/{output}: this file belongs to the run .*run: name another"):
        check(alignments=f"run/{output}")


@pytest.mark.parametrize("output", ["run/attention.html", "run/links.talp", "results.json", "tokenizer/words.txt"])
def test_other_files_may_be(here, output):
    check(alignments=output)


@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output")])
def test_the_standard_streams_are_not_written(here, monkeypatch, number, name):
    with open("a.en", "rb+") as stream:
        monkeypatch.setattr(f"sys.std{name[:-3]}", stream)
        with pytest.raises(UserError, match=f"^alignments=a.en: this file is standard {name}: name another one$"):
            check(alignments="a.en", source=None)
    with open(os.devnull, "rb+") as stream:
        monkeypatch.setattr(f"sys.std{name[:-3]}", stream)
        check(alignments=os.devnull, weights=os.devnull)
