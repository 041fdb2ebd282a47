"""arpa.py as a user runs it: an n-gram model as a file, and a run made from one."""

import re

import pytest
from support.counted_text import NGRAMS, options, scored
from support.scripts import call_script


def test_an_arpa_file_is_written_and_becomes_a_run(counted, tmp_path):
    arpa = call_script("arpa.py", f"run={counted}", cwd=tmp_path).stdout
    assert re.match(r"\\data\\\nngram 1=\d+\nngram 2=\d+\nngram 3=\d+\n\n\\1-grams:\n", arpa)
    (tmp_path / "model.arpa").write_text(arpa, encoding="utf-8")
    done = call_script("arpa.py", "file=model.arpa", "to=read", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "read\n")
    text = "the dog sees a cat\n\nelephants sleep\n"
    assert scored("read", text, tmp_path)[0] == pytest.approx(scored(counted, text, tmp_path)[0], abs=1e-5)
    again = call_script("arpa.py", "file=model.arpa", "to=read", cwd=tmp_path)
    assert (again.status, "this folder already holds a run" in again.stderr) == (2, True)


MISTAKES = [
    ([], "give run=RUN"),
    (["file=nothing.arpa"], "to=DIR is missing"),
    (["file=nothing.arpa", "to=run"], "no such file"),
    (["file=train.txt", "to=run"], "no ARPA file"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_ends_with_one_line_and_status_2(arguments, said, tmp_path):
    options(tmp_path)
    done = call_script("arpa.py", *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line


def test_a_run_of_another_model_has_no_arpa_file(tmp_path):
    sizes = ["model=rnn_lm", "model.embedding_size=4", "model.hidden_size=3", "trainer.max_steps=1"]
    assert call_script("train.py", *NGRAMS, *options(tmp_path), *sizes, cwd=tmp_path).status == 0
    done = call_script("arpa.py", "run=run", cwd=tmp_path)
    assert (done.status, "is not an n-gram model" in done.stderr) == (2, True)
