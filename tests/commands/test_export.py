"""export.py as a user runs it; what it writes translates without PyTorch, by examples/translate_onnx.py."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from support.exporting import operators_read_once
from support.run_contents import corpus
from support.scripts import ROOT, call_script

from unrolled.api import exported_run
from unrolled.exported import onnx_files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason="export needs it: pip install 'unrolled[export]'")
    folder = tmp_path_factory.mktemp("exported")
    with operators_read_once():
        done = call_script("export.py", f"run={trained}", "output=files", cwd=folder)
        assert (done.status, done.stdout) == (0, "files\n"), done.stderr
        yield folder


@pytest.mark.parametrize("beam", [1, 5])
def test_onnxruntime_and_numpy_translate_the_same(exported, trained, beam):
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    words = source.split()
    source = "\ufeff" + source + "never-seen\n\n" + " ".join(words[:20]) + "\n"
    source += "<s> {0} </s> {1} <pad>\n{0}\u3000{1} {2}\n{0}\u00a0{1} {2}\n{0}\f{1}\t{2}\n".format(*words)
    search = ["search=greedy"] if beam == 1 else ["search.beam_size=5"]
    expected = call_script("translate.py", f"run={trained}", "device=cpu", *search, cwd=exported, text=source)
    program = [sys.executable, str(ROOT / "examples" / "translate_onnx.py"), "files", str(beam)]
    how = {"cwd": exported, "capture_output": True, "text": True, "encoding": "utf-8"}
    done = subprocess.run(program, input=source, env=os.environ | {"PYTHONIOENCODING": "utf-16"}, **how)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.stdout
    assert len(set(expected.stdout.splitlines())) > 3


def test_what_is_written_says_how_to_use_it(exported, trained):
    assert sorted(path.name for path in (exported / "files").iterdir()) == [
        "model.json",
        "start.onnx",
        "step.onnx",
        "tokenizer",
    ]
    facts = json.loads((exported / "files" / "model.json").read_text(encoding="utf-8"))
    assert facts["kind"] == "translation"
    assert facts["run"]["choices"]["attention"] == "gru_att"
    words = (trained / "tokenizer" / "target" / "words.txt").read_text(encoding="utf-8").splitlines()
    assert facts["target_vocabulary"] == words
    assert facts["next"][:2] == ["log_probs", "weights"]
    assert set(facts["sentence"]) < set(facts["state"])


def test_a_language_model_has_a_step_and_says_how_it_starts(exported, language_model):
    done = call_script("export.py", f"run={language_model}", "output=lm", cwd=exported)
    assert (done.status, done.stdout) == (0, "lm\n"), done.stderr
    facts = json.loads((exported / "lm" / "model.json").read_text(encoding="utf-8"))
    assert (facts["kind"], facts["source_vocabulary"]) == ("language_modeling", None)
    assert [part["shape"] for part in facts["start"]] == [[7], [7]]  # an LSTM of this size
    assert not (exported / "lm" / "start.onnx").exists()
    assert not (exported / "lm" / "tokenizer" / "source").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "python examples/translate_onnx.py DIR"), (["nowhere"], "no model.json"), (["files", "0"], "DIR [BEAM]")],
)
def test_the_example_says_what_it_needs(exported, arguments, said):
    program = [sys.executable, str(ROOT / "examples" / "translate_onnx.py"), *arguments]
    done = subprocess.run(program, cwd=exported, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_refuses_text_that_is_not_utf8(exported):
    program = [sys.executable, str(ROOT / "examples" / "translate_onnx.py"), "files"]
    done = subprocess.run(program, input=b"caf\xe9\n", cwd=exported, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"standard input is not UTF-8: ")


def test_the_example_ends_quietly_when_its_reader_has_enough(exported):
    program = [sys.executable, str(ROOT / "examples" / "translate_onnx.py"), "files"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(program, cwd=exported, text=True, encoding="utf-8", **pipes) as running:
        running.stdout.close()
        running.stdin.write("the cat\n")
        running.stdin.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (141, "")


def test_a_folder_with_an_exported_model_is_left_alone(exported, trained):
    done = call_script("export.py", f"run={trained}", "output=files", cwd=exported)
    assert done.status == 2
    assert "this folder already holds an exported model" in done.stderr


@pytest.mark.parametrize("name", ["config.yaml", "tokenizer"])
def test_a_run_is_not_exported_over(name, trained, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine")
    done = call_script("export.py", f"run={trained}", "output=run", cwd=tmp_path)
    assert (done.status, done.stderr) == (
        2,
        f"export.py: output=run: this folder holds {name} already; name a new one\n",
    )
    assert (tmp_path / "run" / name).read_text() == "mine"


def test_what_failed_leaves_no_files(trained, tmp_path, monkeypatch):
    def written(model, folder):
        for name in onnx_files.GRAPHS:
            (folder / name).write_text("")
        return {"kind": "translation"}

    monkeypatch.setattr(exported_run, "check_installed", lambda: None)
    monkeypatch.setattr(exported_run, "has_runtime", lambda: True)
    monkeypatch.setattr(exported_run, "write_graphs", written)
    monkeypatch.setattr(exported_run, "largest_difference", lambda *_: 0.1)
    done = call_script("export.py", f"run={trained}", "output=parent/files", cwd=tmp_path)
    assert (done.status, "cannot be exported: onnxruntime is 1.0e-01 off" in done.stderr) == (2, True)
    assert not (tmp_path / "parent").exists()


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_interrupted_at_its_end_can_be_repeated(killed, trained, tmp_path, monkeypatch):
    def written(model, folder):
        (folder / onnx_files.STEP).write_text("")
        return {"kind": "translation"}

    def interrupted(folder, *_):
        if killed:  # nothing is removed
            shutil.copytree(folder, tmp_path / "as it was")
        raise KeyboardInterrupt

    monkeypatch.setattr(exported_run, "check_installed", lambda: None)
    monkeypatch.setattr(exported_run, "has_runtime", lambda: False)
    monkeypatch.setattr(exported_run, "write_graphs", written)
    with monkeypatch.context() as patch:
        patch.setattr(exported_run, "describe", interrupted)
        assert call_script("export.py", f"run={trained}", "output=files", cwd=tmp_path).status == 130
    assert not (tmp_path / "files").exists()
    if killed:
        (tmp_path / "as it was").rename(tmp_path / "files")
    done = call_script("export.py", f"run={trained}", "output=files", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "files\n"), done.stderr


def test_mistakes_end_with_one_line(trained, tmp_path, monkeypatch):
    done = call_script("export.py", f"run={trained}", cwd=tmp_path)
    assert (done.status, done.stderr) == (
        2,
        "export.py: output=DIR is missing: name the folder to write the ONNX files to\n",
    )
    monkeypatch.setattr(onnx_files, "NEEDED", ("onnx_of_nowhere",))
    done = call_script("export.py", f"run={trained}", "output=files", cwd=tmp_path)
    assert (done.status, done.stderr) == (
        2,
        "export.py: export needs onnx_of_nowhere: pip install 'unrolled[export]'\n",
    )
