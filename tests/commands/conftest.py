"""Trained runs that the tests of several commands work with."""

import shutil

import pytest
from support.scripts import TINY, train

SIZES = ["model.embedding_size=8", "model.hidden_size=7", "logger=csv"]


@pytest.fixture(scope="module")
def moved(trained, tmp_path_factory):
    """A copy of the run folder, without W&B's, and an empty folder to work in."""
    folder = tmp_path_factory.mktemp("moved") / "a run"
    shutil.copytree(trained, folder, ignore=shutil.ignore_patterns("wandb"))
    return folder, tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="session")
def language_model(made_once):
    """A language model of the translator's target side, briefly trained."""
    options = ["model=rnn_lm", *TINY, *SIZES, "trainer.max_epochs=2", "seed=0"]
    return made_once("language_model", lambda folder: train(folder, *options, folder="lm")) / "lm"


@pytest.fixture(scope="session")
def other_language_model(made_once):
    """One of other words."""
    options = ["model=rnn_lm", *TINY, *SIZES, "trainer.max_steps=1", "data.grammar.vocabulary_size=50"]
    return made_once("other_words", lambda folder: train(folder, *options, folder="words_lm")) / "words_lm"
