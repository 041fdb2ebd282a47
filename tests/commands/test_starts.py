"""What a command imports: nothing that it does not use. Each runs to its end, as in a fresh interpreter."""

import json
import os
import subprocess
import sys

import pytest
from support.scripts import ROOT, SHORT, TESTS, TINY, TINY_MODEL
from support.shelf import WATCHED, package_of

SMALL = [*TINY, *TINY_MODEL, *SHORT, "trainer.max_steps=1", "callbacks.pictures.sentences=1"]


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A function: the modules that src/``script`` has imported when it ends, see support/shelf.py."""
    where = tmp_path_factory.mktemp("shelf")
    os.mkfifo(where / "answers")
    command = [sys.executable, str(TESTS / "support" / "shelf.py"), str(where / "answers")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "UNROLLED_C"))}
    with (
        subprocess.Popen(command, env=clean, stdin=subprocess.PIPE, text=True) as shelf,
        (where / "answers").open() as answers,
    ):

        def run(script, *arguments, cwd, status=0, text=""):
            streams = tmp_path_factory.mktemp("streams")
            (streams / "stdin").write_text(text, encoding="utf-8")
            argv = [str(ROOT / "src" / script), *map(str, arguments)]
            shelf.stdin.write(json.dumps([str(cwd), str(streams), argv]) + "\n")
            shelf.stdin.flush()
            assert int(answers.readline()) == status, (streams / "stderr").read_text(encoding="utf-8")
            return set((streams / "modules").read_text(encoding="utf-8").split())

        yield run
        shelf.stdin.close()


def packages(modules):
    return {package_of(name) for name in modules} & set(WATCHED)


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
def test_a_command_imports_what_it_uses_and_no_more(imported, trained, text, command, used):
    (text / "c").write_text("0-0\n", encoding="utf-8")
    script, *arguments = command.replace("RUN", str(trained)).split()
    assert packages(imported(script, *arguments, cwd=text, text="b c\n")) == used


@pytest.mark.slow
def test_sample_starts_without_lightning(imported, trained, text):
    assert packages(imported("sample.py", f"run={trained}", cwd=text, status=2)) == {"torch"}


def test_help_is_there_before_anything_large_is_imported(imported, text):
    assert not packages(imported("sample.py", "--help", cwd=text))
    assert not packages(imported("options.py", "model=rnn_lm", cwd=text))


@pytest.mark.slow
def test_a_mistake_is_told_before_anything_large_is_imported(imported, text):
    for script in ("train.py", "translate.py", "score.py", "sample.py", "compare.py", "evaluate.py"):
        assert not packages(imported(script, "there.is.no.such=option", cwd=text, status=2)) - {"torch"}


@pytest.mark.slow
def test_the_first_step_does_not_wait_for_what_the_end_needs(imported, tmp_path):
    options = [*SMALL, "logger=wandb", "logger.wandb.mode=offline", "hydra.run.dir=run"]
    watched = ["+callbacks.first_step._target_=support.killing.Imported"]
    modules = imported("train.py", *options, *watched, cwd=tmp_path)
    assert "matplotlib" in modules
    assert "matplotlib" not in (tmp_path / "imported").read_text().split()


@pytest.mark.slow
def test_training_leaves_torchmetrics_and_what_is_behind_it_alone(imported, tmp_path):
    modules = imported("train.py", *SMALL, "logger=csv", "hydra.run.dir=run", cwd=tmp_path)
    assert packages(modules) & {"scipy", "pandas", "wandb"} == set()
    assert "torchmetrics" in modules
    assert "torchmetrics.functional" not in modules


def test_the_package_by_itself_imports_nothing_large():
    program = "import sys, unrolled; print(len([name for name in sys.modules if name.startswith(('torch', 'hydra'))]))"
    where = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True).stdout == "0\n"
