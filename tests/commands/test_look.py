"""src/look.py and the page it writes."""

import json
import re

from support.handmade_runs import write_record
from support.scripts import call_script

from unrolled.inspection import record
from unrolled.inspection.page import Shown, page


def records(text: str) -> list:
    """What a page holds."""
    (found,) = re.findall(r'<script type="application/json" id="records">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


# The script


def test_a_run_s_page_is_written_again(trained, tmp_path):
    written = (trained / "attention.html").read_bytes()
    (trained / "attention.html").unlink()
    done = call_script("look.py", f"runs={trained}", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{trained / 'attention.html'}\n", "")
    assert (trained / "attention.html").read_bytes() == written
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_not_written_over_the_run(trained, tmp_path):
    done = call_script("look.py", f"runs={trained}", f"output={trained}/config.yaml", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "config.yaml: this file belongs to the run " in done.stderr
    assert (trained / "config.yaml").read_text(encoding="utf-8").startswith("seed: ")


def test_two_runs_stand_on_one_page(trained, tmp_path):
    text = record.read(trained)[0]["sentences"][0]["text"]
    other = write_record(tmp_path / "other", "other", text)
    done = call_script("look.py", f"runs=[{trained},{other}]", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "attention.html\n")
    shown = records((tmp_path / "attention.html").read_text(encoding="utf-8"))
    assert [run["name"] for run in shown] == ["cgru-gru_att-reorder-seed0", "other"]
    assert shown[0]["snapshots"] == record.read(trained)
    done = call_script("look.py", f"runs=[{trained},{other}]", "output=a/b.html", cwd=tmp_path)
    assert (tmp_path / "a" / "b.html").read_bytes() == (tmp_path / "attention.html").read_bytes()


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
