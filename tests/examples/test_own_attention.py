"""The package in examples/own_attention, installed outside the repository: trained, compared, checked."""

import os
import sys
from importlib import import_module, invalidate_caches

import pytest
from support.forked import Process, connect
from support.installed import install
from support.scripts import ROOT, TINY, TINY_MODEL, call_script, results

from unrolled.configuration.slots import trust

EXAMPLE = ROOT / "examples" / "own_attention"
SHORT = [*TINY, *TINY_MODEL, "attention.size=6", "data.grammar.pairs=100", "trainer.max_epochs=1", "logger=csv"]
SHORT += ["~callbacks.pictures", "~callbacks.attention_record"]


@pytest.fixture
def site(tmp_path_factory, monkeypatch):
    """The folder that it is installed in, on Python's path."""
    folder = install(EXAMPLE, tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(folder)
    trust(None)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_attention"]:
        del sys.modules[name]


@pytest.mark.slow
def test_it_trains_translates_and_is_compared(site, tmp_path, monkeypatch):
    for attention in ("accumulating", "bahdanau"):
        run = f"runs/{attention}"
        done = call_script("train.py", f"attention={attention}", *SHORT, f"hydra.run.dir={run}", cwd=tmp_path)
        assert done.status == 0, done.stderr
    trained = results(tmp_path / "runs" / "accumulating")
    assert trained["attention"] == "accumulating"
    assert trained["parameters"] - results(tmp_path / "runs" / "bahdanau")["parameters"] == 6  # w_c
    done = call_script("translate.py", "run=runs/accumulating", cwd=tmp_path, text="a b c\nd\n")
    assert (done.status, len(done.stdout.splitlines())) == (0, 2), done.stderr
    done = call_script("train.py", "resume=runs/accumulating", "trainer.max_epochs=2", cwd=tmp_path)
    assert done.status == 0, done.stderr
    done = call_script("compare.py", "runs=runs", cwd=tmp_path)
    assert "accumulating" in done.stdout
    # uninstalled again
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(site)])
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_attention"]:
        del sys.modules[name]
    invalidate_caches()
    done = call_script("translate.py", "run=runs/accumulating", cwd=tmp_path, text="a b c\n")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr == (
        "translate.py: runs/accumulating/config.yaml: attention: own_attention.accumulating.AccumulatingAttention "
        "belongs to the package own_attention, which is not installed: pip install own-attention, or add its folder to "
        "PYTHONPATH\n"
    )


@pytest.mark.slow
def test_it_is_checked(site, tmp_path):
    done = call_script("check.py", "attention=accumulating", "cost=false", cwd=tmp_path)
    assert (done.status, done.stderr) == (0, "")
    assert "BROKEN" not in done.stdout
    assert "padding changes nothing                  kept" in done.stdout


@pytest.mark.slow
def test_its_own_tests_pass(site, tmp_path, monkeypatch):
    """In a copy of this process, which imports the package and its tests for itself."""
    monkeypatch.setenv("PYTHONPATH", f"{site}:{ROOT / 'src'}")
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-k", "hand or weights or state"]
    log = tmp_path / "log"

    def run():
        os.chdir(EXAMPLE)
        connect(None, *[os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)] * 2)
        status = int(pytest.main([*options, str(EXAMPLE / "tests")]))
        sys.stdout.flush()
        return status

    status = Process(run).wait()
    said = log.read_text(encoding="utf-8")
    assert status == 0, said
    assert "7 passed" in said


def test_its_conf_is_found_without_importing_it(site):
    conf = import_module("unrolled.configuration.conf")
    assert conf.of_packages() == [site / "own_attention" / "conf"]
    assert conf.targets_of("attention") >= {"own_attention.accumulating.AccumulatingAttention"}
    assert "own_attention" not in sys.modules
