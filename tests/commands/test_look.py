"""src/look.py and the page it writes."""

import json
import re
from pathlib import Path

import pytest
from support.scripts import call_script

from unrolled.errors import UserError
from unrolled.inspection import record
from unrolled.inspection.page import Shown, page
from unrolled.inspection.side_by_side import read_runs


def records(text: str) -> list:
    """What a page holds."""
    (found,) = re.findall(r'<script type="application/json" id="records">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def write_run(folder: Path, run: str, *texts: str, split: str = "val") -> Path:
    folder.mkdir()
    sentences = [{"line": line, "text": text, "source": [text], "targets": {}} for line, text in enumerate(texts, 1)]
    record.write(folder, [{"run": run, "split": split, "step": 7, "sentences": sentences}])
    return folder


# The script


def test_a_run_s_page_is_written_again(trained, tmp_path):
    written = (trained / "attention.html").read_bytes()
    (trained / "attention.html").unlink()
    done = call_script("look.py", f"runs={trained}", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{trained / 'attention.html'}\n", "")
    assert (trained / "attention.html").read_bytes() == written
    assert list(tmp_path.iterdir()) == []


def test_two_runs_stand_on_one_page(trained, tmp_path):
    text = record.read(trained)[0]["sentences"][0]["text"]
    other = write_run(tmp_path / "other", "other", text)
    done = call_script("look.py", f"runs=[{trained},{other}]", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "attention.html\n")
    shown = records((tmp_path / "attention.html").read_text(encoding="utf-8"))
    assert [run["name"] for run in shown] == ["cgru-gru_att-reorder-seed0", "other"]
    assert shown[0]["snapshots"] == record.read(trained)
    done = call_script("look.py", f"runs=[{trained},{other}]", "output=a/b.html", cwd=tmp_path)
    assert (tmp_path / "a" / "b.html").read_bytes() == (tmp_path / "attention.html").read_bytes()


def test_runs_of_one_name_get_their_folders_names(tmp_path):
    folders = [write_run(tmp_path / name, "same", "a b") for name in ("one", "two")]
    assert [run.name for run in read_runs(folders)] == ["same (one)", "same (two)"]
    assert [run.name for run in read_runs(folders[:1])] == ["same"]


def test_runs_on_other_sentences_do_not_stand_side_by_side(tmp_path):
    one = write_run(tmp_path / "one", "1", "a b", "c d")
    two = write_run(tmp_path / "two", "2", "c d", "e f")
    three = write_run(tmp_path / "three", "3", "x", "c d")
    with pytest.raises(UserError, match=r"one and .*two recorded attention on different sentences"):
        read_runs([one, two])
    assert len(read_runs([one, three])) == 2  # one sentence is the same; the page says which are not
    test = write_run(tmp_path / "test", "4", "a b", split="test")
    with pytest.raises(UserError, match="different sentences"):
        read_runs([one, test])


# The page as text


HOSTILE = "</script><img src=x onerror=alert(1)> <!-- <script> ]]> \u2028 & \\u003c {{RECORDS}} ▁中文"


def test_hostile_text_stays_within_the_data():
    snapshots = [{"run": "x", "split": "val", "step": 1, "sentences": [{"text": HOSTILE}]}]
    shown = page([Shown(HOSTILE, snapshots)])
    assert records(shown) == [{"name": HOSTILE, "snapshots": snapshots}]
    empty = page([])
    for mark in ("<script", "</script", "<img", "<!--", "<"):
        assert shown.count(mark) == empty.count(mark)


def test_the_page_needs_nothing_else_and_makes_no_html_of_text():
    text = page([])
    assert "{{" not in text
    for word in ("http:", "https:", "src=", "href=", "@import", "url(", "import(", "fetch(", "XMLHttpRequest"):
        assert word not in text.replace("http://www.w3.org/2000/svg", "")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert word not in text
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
