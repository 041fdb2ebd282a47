"""Runs of the scripts that several end-to-end tests look at."""

import fcntl
import gc
import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: tiny models are quickest so, and repeat exactly
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each interpreter compiles all that it imports

import unrolled.training.lean_lightning  # noqa: F401, I001  # before Lightning, as in train.py
import pytest
from hypothesis import settings
from support.composed_once import composed_once
from support.forked import run_forked
from support.scripts import TINY, TINY_MODEL, Called, run_script

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it; tests send it
gc.set_threshold(50_000, 20, 50)  # before test files are imported: looking every 700 objects takes seconds
settings.register_profile("repeatable", deadline=None, derandomize=True)  # the same examples in every run
settings.register_profile("explore", deadline=None, max_examples=1000)  # new ones: --hypothesis-profile=explore
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """Files with slow tests come first, then large ones, so that at the end no worker waits for another's long file."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (-slow[item.path], -tests[item.path]))


def pytest_collection_finish():
    """What is imported and collected stays to the end: the garbage collector need not look through it again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _without_waiting_for_the_disk():
    """A kill loses nothing that was written, a power failure does: waiting for the disk is tested in test_files.py."""
    connect = sqlite3.dbapi2.connect

    def without_waiting(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    with patch("os.fsync", lambda descriptor: None), patch("sqlite3.dbapi2.connect", without_waiting):
        yield


@pytest.fixture
def conf_read_once():
    """What a test composes in this process is composed from the same choices once."""
    with composed_once():
        yield


CHOSEN = ["model=cgru", "attention=gru_att", *TINY, *TINY_MODEL]
CHOSEN += ["optimizer.lr=0.02"]  # it learns to end its translations
CHOSEN += ["trainer.max_epochs=3", "trainer.log_every_n_steps=2", "data.grammar.reordering=local"]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """``made_once(name, fill)``: a copy of a folder that ``fill(folder)`` filled, once for all of pytest's workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = shared / f"made-{name}", shared / f"{name}.made"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # others wait for the first
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                done.touch()
        return Path(shutil.copytree(folder, tmp_path_factory.mktemp(name), dirs_exist_ok=True))

    return make


@pytest.fixture(scope="session")
def training(made_once):
    """A finished training as a user starts it, with Weights & Biases, offline: run folder, and what it wrote."""
    nowhere = {"WANDB_BASE_URL": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}  # no network

    def fill(folder: Path) -> None:
        done = run_script("train.py", *CHOSEN, "seed=0", "hydra.run.dir=run", cwd=folder, **nowhere)
        for name in ("stdout", "stderr"):
            (folder / name).write_text(getattr(done, name), encoding="utf-8")

    where = made_once("trained", fill)
    return where / "run", Called(0, *((where / name).read_text(encoding="utf-8") for name in ("stdout", "stderr")))


@pytest.fixture(scope="session")
def trained(training):
    """The run folder of that training."""
    return training[0]


@pytest.fixture(scope="session")
def sweep(made_once):
    """The folder of a sweep over two seeds, of which the first repeats ``trained``."""
    without = ["~callbacks.pictures", "~callbacks.attention_record"]  # they take half of the time
    options = ["-m", *CHOSEN, *without, "seed=0,1", "sweep.dir=seeds"]
    return made_once("sweep", lambda folder: run_forked("train.py", *options, cwd=folder)) / "seeds"


@pytest.fixture(scope="session")
def diverged(made_once):
    """The run folder of a training whose loss becomes NaN, with Weights & Biases, offline."""
    more = ["optimizer=sgd", "optimizer.lr=1e30", "trainer.gradient_clip_val=null"]
    options = [*TINY, *TINY_MODEL, *more, "trainer.max_steps=40", "hydra.run.dir=run"]
    return made_once("diverged", lambda folder: run_forked("train.py", *options, cwd=folder, status=1)) / "run"
