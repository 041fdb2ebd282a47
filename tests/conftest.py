"""Runs of the scripts that several end-to-end tests look at."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: tiny models are quickest so, and repeat exactly

import pytest
from scripts import TINY, TINY_MODEL, train


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The run folder of a finished training as a user starts it, with Weights & Biases, offline."""
    where = tmp_path_factory.mktemp("trained")
    more = ["trainer.max_epochs=3", "trainer.log_every_n_steps=2", "seed=0", "data.grammar.reordering=local"]
    nowhere = {"WANDB_BASE_URL": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}  # no network
    return train(where, "model=cgru", "attention=gru_att", *TINY, *TINY_MODEL, *more, **nowhere)


@pytest.fixture(scope="session")
def diverged(tmp_path_factory):
    """The run folder of a training whose loss becomes NaN, with Weights & Biases, offline."""
    where = tmp_path_factory.mktemp("diverged")
    more = ["optimizer=sgd", "optimizer.lr=1e30", "trainer.gradient_clip_val=null", "callbacks.diverged.every=1"]
    return train(where, *TINY, *TINY_MODEL, *more, "trainer.max_steps=40", status=1)
