"""Training from Python: twice in one process, interrupted, resumed, repeated; and the process finds all as it was."""

import logging
import os
import random
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import matplotlib as mpl
import numpy as np
import pytest
import torch
from api.conftest import OPTIONS, SIZES
from support.run_contents import same_weights

import unrolled
from unrolled.api.undisturbed import SIGNALS, undisturbed
from unrolled.training.callbacks.speed import Speed


def process():
    """What a notebook would notice."""
    loggers = [logging.getLogger(name) for name in (None, "unrolled", "lightning.pytorch", "lightning")]
    return {
        "signals": [signal.getsignal(sign) for sign in SIGNALS],
        "python": random.getstate(),
        "numpy": [str(part) for part in np.random.get_state()],  # noqa: NPY002
        "torch": torch.get_rng_state().tolist(),
        "folder": os.getcwd(),
        "seeds": {name: value for name, value in os.environ.items() if name.startswith(("PL_", "HYDRA", "UNROLLED"))},
        "logging": [(logger.level, list(logger.handlers)) for logger in loggers[:2]],
        "filters": list(warnings.filters),
        "backend": mpl.rcParams._get("backend"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "streams": (sys.stdout, sys.stderr, sys.argv),
    }


def test_training_twice_gives_the_same_and_leaves_the_process_as_it_was(translator, train_here, pairs, capsys):
    random.seed(5)
    before = process()
    again = train_here(
        *OPTIONS, attention="gru_att", data=pairs, **SIZES, **{"trainer.max_epochs": 2, "trainer.deterministic": True}
    )
    after = process()
    for name in before:
        assert before[name] == after[name], name
    assert again.folder != translator.folder
    assert same_weights(again.folder, translator.folder)
    assert again.results["test/bleu"] == translator.results["test/bleu"]
    assert capsys.readouterr() == ("", "")


def test_a_run_can_be_trained_longer_and_again(translator, train_here, pairs, tmp_path, capsys):
    run = train_here(*OPTIONS, data=pairs, folder=tmp_path / "it's a run", **SIZES, **{"trainer.max_epochs": 1})
    assert run.folder == tmp_path / "it's a run"
    longer = train_here(resume=run, **{"trainer.max_epochs": 2})
    assert (longer.folder, longer.results["epochs"]) == (run.folder, 2)
    assert capsys.readouterr().err == ""
    finished = train_here(resume=run.folder)
    assert finished.results == longer.results
    repeated = train_here(reproduce=translator)
    assert same_weights(repeated.folder, translator.folder)


def test_an_interruption_is_one_and_the_run_continues(train_here, pairs, tmp_path, monkeypatch):
    def interrupt(self, trainer, *rest):
        if trainer.global_step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = process()
    monkeypatch.setattr(Speed, "on_train_batch_end", interrupt)
    with pytest.raises(KeyboardInterrupt, match="resume="):
        train_here(*OPTIONS, data=pairs, folder=tmp_path / "run", **SIZES, **{"trainer.max_epochs": 1})
    monkeypatch.undo()
    after = process()
    assert {name for name in before if before[name] != after[name]} == set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert unrolled.load(tmp_path / "run").status == "interrupted"
    assert train_here(resume=tmp_path / "run").status == "completed"


def test_progress_is_on_standard_error_unless_the_program_logs_itself(train_here, pairs, capsys):
    options = [*OPTIONS, "model=ngram_lm", "~callbacks.pictures", "~callbacks.attention_record"][4:5]
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []  # pytest's own
    try:
        train_here(*options, "tokenizer=word", "logger=csv", data=[target for _, target in pairs], progress=True)
    finally:
        root.handlers = handlers
    out, err = capsys.readouterr()
    assert out == ""
    assert "val/perplexity" in err
    train_here(*options, "tokenizer=word", "logger=csv", data=[target for _, target in pairs], progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_run_that_diverged_is_returned_and_says_so(train_here, pairs, caplog):
    options = {"optimizer.lr": 1e30, "trainer.gradient_clip_val": None, "trainer.max_steps": 8}
    run = train_here(*OPTIONS, "optimizer=sgd", data=pairs, **SIZES, **options)
    assert run.status == "diverged"
    assert any(record.levelno >= logging.ERROR for record in caplog.records)


@pytest.mark.parametrize(
    ("options", "more", "says"),
    [
        (["model=cgruu"], {}, "did you mean cgru"),
        ([], {"optimizr": "adam"}, "optimizr: there is no such option"),
        (["model=cgru,bahdanau"], {}, "one value at a time"),
        (["data=reorder"], {"data": [("a", "b")] * 9}, "give one of them"),
        (["data.val=x"], {"data": [("a", "b")] * 9}, "data.val=x and data=...: give one of them"),
        ([], {"data": [("a", "b")] * 9, "data.train": "x"}, "data.train='x' and data=...: give one of them"),
        ([None], {"data": [("a", "b")] * 9}, "None: an option is text such as"),
        (["-m"], {"data": [("a", "b")] * 9}, "-m: this is for the command line"),
        ([], {"data": [("a", "b"), ("a",)]}, r"data\[1\] is \('a',\): give a pair of texts"),
        ([], {"data": ["a", "b", "c", "d"]}, "needs parallel text"),
        ([], {"resume": "nowhere"}, "nowhere"),
        ([], {"resume": "nowhere", "data": ["a"]}, "omit data"),
        ([], {"seed": -1}, "seed=-1"),
        ([], {"data": "reordr"}, "did you mean reorder"),
        ([], {"folder": ""}, "folder='': give a path"),
        ([], {"folder": 3}, "folder=3: give a path"),
        (["hydra.run.dir=a"], {"folder": "b"}, "hydra.run.dir=a and folder=...: give one of them"),
        ([], {"attention": None}, "attention=null: a choice is a name, such as model=cgru; omit it for the default"),
        ([], {"tokenizer.source": None}, "tokenizer.source=null: a choice is a name"),
    ],
)
def test_a_mistake_is_one_line(train_here, options, more, says):
    with pytest.raises(unrolled.UserError, match=says) as caught:
        train_here(*options, "logger=csv", **more)
    assert "\n" not in str(caught.value)


def test_an_attention_of_ones_own_is_trained_and_used(train_here, pairs, tmp_path, monkeypatch):
    """`conf` in the current folder and a module there, which a new run of one's own may name."""
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    (tmp_path / "conf" / "attention" / "mine.yaml").write_text("_target_: own_mine.Mine\n_partial_: true\nsize: 5\n")
    text = "from unrolled.models.attention import BahdanauAttention\n\n\nclass Mine(BahdanauAttention):\n    pass\n"
    (tmp_path / "own_mine.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = unrolled.train(
        *OPTIONS, "attention=mine", data=pairs, folder="run", progress=False, **SIZES, **{"trainer.max_steps": 1}
    )
    assert run.results["attention"] == "mine"
    assert len(run.translate(["a b"])) == 1
    with pytest.raises(unrolled.UserError, match="add trust=own_mine"):
        unrolled.load("run")
    assert len(unrolled.load([run, "run"]).translate(["a b"])) == 1  # what the run may name, it may name here too
    with pytest.raises(unrolled.UserError, match="trust=3: give the name of a package"):
        unrolled.load(run, trust=3)
    longer = unrolled.train(resume=run, progress=False, **{"trainer.max_steps": 2})
    assert longer.results["steps"] == 2
    assert len(longer.translate(["a b"])) == 1


def test_two_trainings_take_turns(monkeypatch):
    """What each finds, and restores, is not what another has changed for the time being."""
    inside, most = [], []

    @contextmanager
    def watched(progress):
        inside.append(threading.get_ident())
        most.append(len(inside))
        time.sleep(0.2)
        try:
            yield
        finally:
            inside.pop()

    def refused():
        with pytest.raises(unrolled.UserError):
            unrolled.train("seed=-1")

    monkeypatch.setattr("unrolled.api.new_run.undisturbed", watched)
    threads = [threading.Thread(target=refused) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1]


def test_without_progress_no_warning_is_on_standard_error(monkeypatch, capsys):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with undisturbed(progress=False):
        logging.getLogger("unrolled.training").warning("a notice")
    assert capsys.readouterr().err == ""
    logging.getLogger("unrolled.training").warning("as it was before")
    assert capsys.readouterr().err == "as it was before\n"


def test_a_mistake_leaves_no_empty_folder(train_here, tmp_path):
    with pytest.raises(unrolled.UserError, match="an epoch has only"):
        train_here(*OPTIONS, folder=tmp_path / "new", **SIZES, **{"trainer.val_check_interval": 5000})
    assert not (tmp_path / "new").exists()
