"""What a command imports: nothing that it does not use. Each runs in an interpreter of its own, to its end."""

import json
import os
import subprocess
import sys

import pytest
from support.scripts import ROOT, TESTS, TINY, TINY_MODEL

WATCHED = ("lightning", "torchmetrics", "wandb", "pandas", "scipy", "torch", "matplotlib", "sacrebleu", "sentencepiece")
NEVER = {"lightning", "torchmetrics", "wandb", "pandas", "scipy"}
CHILD = """
import atexit, json, runpy, sys
atexit.register(lambda: sys.stderr.write("\\n" + json.dumps(sorted(sys.modules))))
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def imported(script, *arguments, cwd, status=0, text=""):
    """The modules that src/``script`` has imported when it ends."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "UNROLLED_C"))}
    command = [sys.executable, "-c", CHILD, str(ROOT / "src" / script), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=clean, input=text, capture_output=True, text=True)
    assert done.returncode == status, done.stderr[:-100_000] or done.stderr[:2000]
    return set(json.loads(done.stderr.splitlines()[-1]))


def packages(modules):
    return {name.partition(".")[0] for name in modules} & set(WATCHED)


@pytest.fixture
def text(tmp_path):
    """A source, its translation, and an n-best list."""
    for name, line in {"a": "b c", "b": "c d", "nbest": "0 ||| c d ||| logp=-1 ||| -1"}.items():
        (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "used"),
    [
        ("translate.py run=RUN", {"torch"}),
        ("score.py run=RUN source=a target=b", {"torch"}),
        ("rescore.py nbest=nbest weights={logp:1}", set()),
        ("rescore.py nbest=nbest scorers={again:RUN} source=a", {"torch"}),
        ("rescore.py nbest=nbest reference=b", {"sacrebleu"}),
        ("look.py runs=RUN output=page.html", set()),
        ("compare.py runs=RUN bootstrap=2 randomization=2 output=.", {"sacrebleu", "matplotlib"}),
        ("align.py source=a target=b", set()),
        ("evaluate.py run=RUN pictures=0", {"torch", "sacrebleu"}),
        ("evaluate.py alignments=c gold=c", set()),
    ],
)
def test_a_command_imports_what_it_uses_and_no_more(trained, text, command, used):
    (text / "c").write_text("0-0\n", encoding="utf-8")
    script, *arguments = command.replace("RUN", str(trained)).split()
    assert packages(imported(script, *arguments, cwd=text, text="b c\n")) == used


@pytest.mark.slow
def test_sample_starts_without_lightning(trained, text):
    assert packages(imported("sample.py", f"run={trained}", cwd=text, status=2)) == {"torch"}


def test_help_is_there_before_anything_large_is_imported(text):
    assert not packages(imported("sample.py", "--help", cwd=text))
    assert not packages(imported("options.py", "model=rnn_lm", cwd=text))


@pytest.mark.slow
def test_a_mistake_is_told_before_anything_large_is_imported(text):
    for script in ("train.py", "translate.py", "score.py", "sample.py", "compare.py", "evaluate.py"):
        assert not packages(imported(script, "there.is.no.such=option", cwd=text, status=2)) - {"torch"}


@pytest.mark.slow
def test_the_first_step_does_not_wait_for_what_the_end_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    options = [*TINY, *TINY_MODEL, "logger=wandb", "logger.wandb.mode=offline", "hydra.run.dir=run"]
    watched = ["+callbacks.first_step._target_=support.killing.Imported"]
    modules = imported("train.py", *options, *watched, cwd=tmp_path)
    assert "matplotlib" in modules
    assert "matplotlib" not in (tmp_path / "imported").read_text().split()


@pytest.mark.slow
def test_training_leaves_torchmetrics_and_what_is_behind_it_alone(tmp_path):
    options = [*TINY, *TINY_MODEL, "trainer.max_steps=2", "logger=csv", "hydra.run.dir=run"]
    modules = imported("train.py", *options, cwd=tmp_path)
    assert packages(modules) & {"scipy", "pandas", "wandb"} == set()
    assert "torchmetrics" in modules
    assert "torchmetrics.functional" not in modules


def test_the_package_by_itself_imports_nothing_large():
    program = "import sys, unrolled; print(len([name for name in sys.modules if name.startswith(('torch', 'hydra'))]))"
    where = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True).stdout == "0\n"
