"""Trained runs that the tests of several commands work with."""

import shutil

import pytest
from support.scripts import TINY, train


@pytest.fixture(scope="module")
def moved(trained, tmp_path_factory):
    """A copy of the run folder, without W&B's, and an empty folder to work in."""
    folder = tmp_path_factory.mktemp("moved") / "a run"
    shutil.copytree(trained, folder, ignore=shutil.ignore_patterns("wandb"))
    return folder, tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """A language model of the translator's target side, briefly trained."""
    sizes = ["model.embedding_size=8", "model.hidden_size=7", "logger=csv", "trainer.max_epochs=2"]
    return train(tmp_path_factory.mktemp("language_model"), "model=rnn_lm", *TINY, *sizes, "seed=0", folder="lm")


@pytest.fixture(scope="module")
def other_language_model(tmp_path_factory):
    """One of other words."""
    sizes = ["model.embedding_size=8", "model.hidden_size=7", "logger=csv", "trainer.max_steps=1"]
    more = ["data.grammar.vocabulary_size=50"]
    return train(tmp_path_factory.mktemp("other_words"), "model=rnn_lm", *TINY, *sizes, *more, folder="words_lm")
