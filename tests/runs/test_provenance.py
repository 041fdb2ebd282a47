"""provenance.json: the command and the data, and of a resumed run every start."""

import json
import sys

import torch

from unrolled.runs.provenance import write_provenance


def facts(folder):
    return json.loads((folder / "provenance.json").read_text(encoding="utf-8"))


def test_it_says_what_was_run_with_what_on_what(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["src/train.py", "seed=3"])
    write_provenance(tmp_path, fingerprint={"train.source": "ab"})
    found = facts(tmp_path)
    assert found["command"] == [sys.executable, "src/train.py", "seed=3"]
    assert found["sha256"] == {"train.source": "ab"}
    assert found["versions"]["torch"] == torch.__version__
    assert found["machine"]["threads"] == torch.get_num_threads()


def test_every_start_is_kept(tmp_path, monkeypatch):
    for number in range(3):
        monkeypatch.setattr(sys, "argv", ["src/train.py", f"seed={number}"])
        write_provenance(tmp_path, fingerprint={}, resume=number > 0)
    found = facts(tmp_path)
    assert [start["command"][-1] for start in (found, *found["resumed"])] == ["seed=0", "seed=1", "seed=2"]
    write_provenance(tmp_path, fingerprint={})  # a new training in the folder
    assert "resumed" not in facts(tmp_path)


def test_a_program_may_have_no_arguments_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [])
    write_provenance(tmp_path, fingerprint={})
    assert sys.executable in (tmp_path / "provenance.json").read_text()
