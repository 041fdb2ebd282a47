"""Runs of the scripts that several end-to-end tests look at."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: tiny models are quickest so, and repeat exactly

import pytest
from hypothesis import settings
from support.scripts import TINY, TINY_MODEL, run_script

settings.register_profile("patient", deadline=None)  # a busy machine is no mistake of ours
settings.load_profile("patient")

CHOSEN = ["model=cgru", "attention=gru_att", *TINY, *TINY_MODEL]
CHOSEN += ["trainer.max_epochs=3", "trainer.log_every_n_steps=2", "data.grammar.reordering=local"]


@pytest.fixture(scope="session")
def training(tmp_path_factory):
    """A finished training as a user starts it, with Weights & Biases, offline: run folder and finished process."""
    where = tmp_path_factory.mktemp("trained")
    nowhere = {"WANDB_BASE_URL": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}  # no network
    done = run_script("train.py", *CHOSEN, "seed=0", "hydra.run.dir=run", cwd=where, **nowhere)
    return where / "run", done


@pytest.fixture(scope="session")
def trained(training):
    """The run folder of that training."""
    return training[0]


@pytest.fixture(scope="session")
def sweep(tmp_path_factory):
    """The folder of a sweep over two seeds, of which the first repeats ``trained``."""
    where = tmp_path_factory.mktemp("sweep")
    without = ["~callbacks.pictures", "~callbacks.attention_record"]  # they take half of the time
    run_script("train.py", "-m", *CHOSEN, *without, "seed=0,1", "sweep.dir=seeds", cwd=where)
    return where / "seeds"


@pytest.fixture(scope="session")
def diverged(tmp_path_factory):
    """The run folder of a training whose loss becomes NaN, with Weights & Biases, offline."""
    where = tmp_path_factory.mktemp("diverged")
    more = ["optimizer=sgd", "optimizer.lr=1e30", "trainer.gradient_clip_val=null"]
    run_script("train.py", *TINY, *TINY_MODEL, *more, "trainer.max_steps=40", "hydra.run.dir=run", cwd=where, status=1)
    return where / "run"
