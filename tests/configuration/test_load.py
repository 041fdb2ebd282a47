"""From a run folder to its model: those of tests/kept_runs, which nobody has to train."""

import shutil

import pytest
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file
from support.scripts import TESTS

from unrolled.configuration.load import (
    load_language_model,
    load_language_model_of,
    load_language_models,
    load_ngrams,
    load_translator,
    trains_translation,
)
from unrolled.errors import UserError
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.search.settings import BeamSearch, Greedy
from unrolled.text.sides import load_tokenizers
from unrolled.text.tokenizer import save_tokenizers, train_words

TRANSLATOR, NGRAM = (str(TESTS / "kept_runs" / name) for name in ("translator", "ngram"))


def config(run, **more):
    options = {"run": run, "device": "cpu", "max_tokens": 99, "precision": "32-true"}
    options["ensemble"] = {"_target_": "unrolled.search.ensemble.geometric_mean", "_partial_": True}
    return OmegaConf.create(options | more)


@pytest.fixture
def other(tmp_path):
    """``other(source, target)``: a copy of the translator's run with these words instead of its own."""

    def copy(name, source=None, target=None):
        folder = tmp_path / name
        shutil.copytree(TRANSLATOR, folder)
        vocabularies = dict(zip(("source", "target"), load_tokenizers(folder / "tokenizer"), strict=True))
        for side, first in (("source", source), ("target", target)):
            if first is not None:
                old = vocabularies[side]
                lines = [first, *old.pieces(range(5, old.size))]
                vocabularies[side] = train_words(lines)
                assert vocabularies[side].size == old.size
        shutil.rmtree(folder / "tokenizer")
        save_tokenizers(folder / "tokenizer", vocabularies["source"], vocabularies["target"])
        return str(folder)

    return copy


def test_a_translator_has_the_weights_of_its_run_and_the_given_search():
    beam = {"_target_": "unrolled.search.settings.BeamSearch", "beam_size": 4}
    loaded = load_translator(config(TRANSLATOR, search=beam))
    assert isinstance(loaded.search, BeamSearch)
    assert loaded.search.beam_size == 4
    assert isinstance(load_translator(config(TRANSLATOR)).search, Greedy)
    (member,) = loaded.members
    assert not member.model.training
    saved = load_file(f"{TRANSLATOR}/weights.safetensors")
    weights = member.model.state_dict()
    assert saved.keys() <= weights.keys()
    assert all(torch.equal(weights[name], weight) for name, weight in saved.items())


def test_several_runs_are_an_ensemble_in_their_order():
    loaded = load_translator(config([TRANSLATOR, TRANSLATOR]))
    assert len(loaded.members) == 2
    assert loaded.members[0].model is not loaded.members[1].model


def test_weights_belong_to_their_vocabulary(other):
    with pytest.raises(UserError, match="vocabular"):
        load_translator(config(other("changed", target="quite-another")))


def test_the_kind_of_a_run_is_told_and_the_wrong_one_refused():
    assert trains_translation(TRANSLATOR)
    assert not trains_translation(NGRAM)
    with pytest.raises(UserError, match="is a language model; name a translator's run"):
        load_translator(config(NGRAM))
    for load in (load_language_model_of, load_ngrams):
        with pytest.raises(UserError, match="is a translator; name a language model's run"):
            load(TRANSLATOR)


def test_a_language_model_knows_its_vocabulary():
    loaded = load_language_model(config(NGRAM))
    assert isinstance(loaded, TrainedLanguageModel)
    model, tokenizer = load_ngrams(NGRAM)
    assert model.log_probs.isfinite().any()
    assert tokenizer.sha256 == loaded.tokenizer.sha256
    assert model.vocabulary == tokenizer.size


def test_a_mixture_is_one_model_and_without_weights_each_stands_for_itself():
    single = load_language_models(config([NGRAM, NGRAM], mixture=None))
    assert len(single) == 2
    assert len({model.name for model in single}) == 1  # the same folder twice
    (mixed,) = load_language_models(config([NGRAM, NGRAM], mixture=[0.3, 0.7]))
    assert mixed.tokenizer.sha256 == single[0].tokenizer.sha256


def test_sizes_that_no_training_accepts_are_refused_before_the_model_is_built(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(TRANSLATOR, run)
    written = OmegaConf.load(run / "config.yaml")
    written.model.encoder_layers = 10**6  # building so many would take minutes, and all memory
    OmegaConf.save(written, run / "config.yaml")
    with pytest.raises(UserError, match=r"run/config.yaml: model.encoder_layers=1000000: give a whole number from 1"):
        load_translator(config(str(run)))


def test_a_missing_run_is_named(tmp_path):
    for load in (load_translator, load_language_model):
        with pytest.raises(UserError, match=r"run=\.\.\. is missing"):
            load(config(None))
    with pytest.raises(UserError, match="nowhere"):
        load_translator(config(str(tmp_path / "nowhere")))
