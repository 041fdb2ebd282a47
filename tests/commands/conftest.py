"""Trained runs that the tests of several commands work with."""

import shutil

import pytest
from support import scored_runs
from support.counted_text import NGRAMS, options
from support.scripts import TINY, call_script, train

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


@pytest.fixture(scope="session")
def lms(made_once):
    """A folder with the runs of `scored_runs` and their text."""
    return made_once("language models", scored_runs.train_all)


@pytest.fixture(scope="session")
def counted(made_once):
    """The run of a trigram model of `counted_text`."""

    def fill(folder):
        done = call_script("train.py", *NGRAMS, "model.order=3", *options(folder), cwd=folder)
        assert done.status == 0, done.stderr

    return made_once("counted", fill) / "run"
