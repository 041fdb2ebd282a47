"""Runs that were trained from Python, as a notebook does."""

import os
import random
from contextlib import chdir
from unittest.mock import patch

import pytest

import unrolled

OPTIONS = ["tokenizer=word", "logger=csv", "~callbacks.pictures", "~callbacks.attention_record"]
SIZES = {"model.embedding_size": 8, "model.encoder_size": 6, "model.decoder_size": 12, "data.max_tokens": 200}
LM_SIZES = {"model.embedding_size": 8, "model.hidden_size": 7, "data.max_tokens": 200}


@pytest.fixture(scope="session")
def pairs():
    """An invented language, and the same in capitals from right to left."""
    draw = random.Random(3)
    sources = [[draw.choice("abcdefgh") for _ in range(draw.randint(3, 6))] for _ in range(160)]
    return [(" ".join(words), " ".join(words[::-1]).upper()) for words in sources]


@pytest.fixture(scope="session")
def train_here(tmp_path_factory):
    """`unrolled.train` in a folder of its own, without curves.png, which takes longer than a tiny training."""
    folder = tmp_path_factory.mktemp("notebook")

    def train(*options, **more):
        with (
            chdir(folder),
            patch.dict(os.environ, {"UNROLLED_CACHE": str(folder / "cache")}),
            patch("unrolled.figures.curves.save_curves"),
        ):
            return unrolled.train(*options, **({"progress": False} | more))

    return train


@pytest.fixture(scope="session")
def train_translator(train_here, pairs):
    """A function: a run of the conditional GRU with an attention, by its name."""
    return lambda attention, **more: train_here(f"attention={attention}", *OPTIONS, data=pairs, **SIZES, **more)


@pytest.fixture(scope="session")
def translator(train_translator):
    """One with recurrent attention."""
    return train_translator("gru_att", **{"trainer.max_epochs": 2})


@pytest.fixture(scope="session")
def language_model(train_here, pairs):
    """A run of a language model of the target side."""
    text = [target for _, target in pairs]
    return train_here("model=rnn_lm", *OPTIONS, data=text, **LM_SIZES, **{"trainer.max_epochs": 1})


@pytest.fixture(scope="session")
def counted(train_here, pairs):
    """A run of an n-gram model of the same text."""
    return train_here("model=ngram_lm", "tokenizer=word", "logger=csv", data=[target for _, target in pairs])
