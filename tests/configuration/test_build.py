"""From plain options to objects: what is built of them, and which do not fit together."""

from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.accelerators import MPSAccelerator
from omegaconf import OmegaConf
from support.conf import composed
from support.scripts import TESTS, TINY_MODEL
from support.small_models import build, build_lm

from unrolled.configuration import build as module
from unrolled.configuration.build import (
    build_model,
    build_module,
    build_search,
    build_trainer,
    check_model,
    check_monitors,
    local_cache,
    text_of,
)
from unrolled.errors import UserError, check_choice
from unrolled.models.attention import GRUAttention
from unrolled.models.decoder import CGRUDecoder
from unrolled.ngram.model import ngram_lm
from unrolled.search.settings import BeamSearch
from unrolled.text.tokenizer import train_words

GREEDY = {"_target_": "unrolled.search.settings.Greedy"}
BEAM = {"_target_": "unrolled.search.settings.BeamSearch", "beam_size": 3}


def config(*options, **changes):
    return OmegaConf.create(composed(*options) | {"choices": {"model": "cgru"}} | changes)


def test_checking_a_model_leaves_random_numbers_as_they_were():
    before = torch.get_rng_state()
    check_model(config(*TINY_MODEL, alignment={}), parallel=True)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(UserError, match="rnn_lm"):
        check_model(config(*TINY_MODEL, alignment={}), parallel=False)


def test_a_model_is_built_with_its_attention_and_vocabularies():
    model = build_model(config("attention=gru_att", *TINY_MODEL), source_vocabulary=11, target_vocabulary=13)
    assert isinstance(model.decoder, CGRUDecoder)
    assert isinstance(model.attention, GRUAttention)
    assert model.source_embedding.num_embeddings == 11
    assert model.readout.output.out_features == 13


def test_a_language_model_has_no_attention():
    with pytest.raises(UserError, match="attention"):
        build_model(
            config("model=rnn_lm", attention=composed("attention=dot")["attention"]),
            source_vocabulary=None,
            target_vocabulary=13,
        )


def test_each_model_has_its_objective():
    models = {"translation": build(), "language_modeling": build_lm()}
    models["counting"] = ngram_lm(source_vocabulary=None, target_vocabulary=9, attention=None, order=2, estimator=None)
    assert {kind: module._trained_by(model) for kind, model in models.items()} == {kind: kind for kind in models}


def data():
    words = train_words(["a b c"])
    return SimpleNamespace(source_tokenizer=words, target_tokenizer=words)


def test_another_objective_and_alignments_of_a_language_model_are_refused():
    small = ["model=rnn_lm", "model.embedding_size=3", "model.hidden_size=5"]
    lm = config(*small, alignment={})
    lm.choices.model = "rnn_lm"
    lm.objective.kind = "translation"
    with pytest.raises(UserError, match="model=rnn_lm can only be trained by objective=language_modeling"):
        build_module(lm, data())
    lm.objective.kind = "language_modeling"
    lm.alignment = {
        "_target_": "unrolled.training.alignment_loss.Supervision",
        "source": "given",
        "replace": False,
        "weight": 1.0,
        "decay": 0.9,
        "distance": {"_target_": "unrolled.training.alignment_loss.cross_entropy", "_partial_": True},
    }
    with pytest.raises(UserError, match="model=rnn_lm has no attention to align"):
        build_module(lm, data())


@pytest.mark.parametrize(
    ("precision", "fused"), [("bf16-mixed", True), ("bf16", True), (16, False), ("32-true", True), (32, True)]
)
def test_a_fused_optimiser_is_not_clipped_under_mixed_precision(precision, fused):
    """Lightning cannot."""
    options = {"_target_": "torch.optim.Adam", "_partial_": True, "lr": 0.1, "fused": True}
    chosen = OmegaConf.create({"optimizer": options, "trainer": {"precision": precision}})
    optimizer = module._optimizer(chosen)([torch.nn.Parameter(torch.zeros(1))])
    assert optimizer.defaults["fused"] is fused


@pytest.mark.parametrize(("optimizer", "option"), [("SGD", "nesterov"), ("Adam", "foreach")])
def test_options_of_an_optimiser_that_exclude_each_other_are_refused_in_one_line(optimizer, option):
    options = {"_target_": f"torch.optim.{optimizer}", "_partial_": True, "lr": 0.1, "fused": True, option: True}
    with pytest.raises(UserError, match=rf"^optimizer: torch\.optim\.{optimizer} says: "):
        module._optimizer(OmegaConf.create({"optimizer": options, "trainer": {"precision": "32-true"}}))


def test_a_search_is_built_from_its_options():
    assert build_search(OmegaConf.create({"search": BEAM}), train_words(["a"])).beam_size == 3


def test_a_language_model_guides_only_where_vocabularies_agree(monkeypatch):
    import unrolled.configuration.load as load

    model, words = build_lm(), train_words(["a b"])
    monkeypatch.setattr(load, "load_language_model_of", lambda run: (model, words))
    chosen = OmegaConf.create({"search": BEAM | {"language_model": "RUN"}})
    search = build_search(chosen, train_words(["a b"]))
    assert isinstance(search, BeamSearch)
    assert search.language_model is model
    with pytest.raises(UserError, match=r"search\.language_model=RUN has another vocabulary"):
        build_search(chosen, train_words(["a c"]))


def test_callbacks_wait_for_figures_that_are_there():
    """A user's own callback may log others."""
    stop = {"_target_": "lightning.pytorch.callbacks.EarlyStopping", "monitor": "val/blue"}
    callbacks = OmegaConf.create({"callbacks": {"stop": stop, "saving": {"_target_": "unrolled.Saving"}}})
    objective = SimpleNamespace(check_figure=lambda *given: check_choice(given[0], given[1], ["val/bleu", *given[2:]]))
    with pytest.raises(UserError, match=r"callbacks\.stop\.monitor=val/blue is unknown; did you mean val/bleu\?"):
        check_monitors(callbacks, objective)
    for figure in ("val/bleu", "merit"):
        callbacks.callbacks.stop.monitor = figure
        check_monitors(callbacks, objective)
    callbacks.callbacks.stop.monitor = "train/loss"  # of one batch, and known only where curves are recorded
    with pytest.raises(UserError, match=r"callbacks\.stop\.monitor=train/loss is unknown"):
        check_monitors(callbacks, objective)
    callbacks.callbacks.stop.monitor = "val/mine"
    callbacks.callbacks.mine = {"_target_": "my_package.Mine"}
    check_monitors(callbacks, objective)


@pytest.mark.parametrize("option", [{"accelerator": "no such thing"}, {"strategy": "xla"}])
def test_what_lightning_refuses_is_one_line(option, tmp_path):
    trainer = {"_target_": "lightning.Trainer", "_partial_": True, **option}
    chosen = OmegaConf.create({"run_folder": str(tmp_path), "logger": None, "callbacks": {}, "trainer": trainer})
    with pytest.raises(UserError, match=r"^hardware or trainer: Lightning says: [^\n]+$"):
        build_trainer(chosen)


@pytest.mark.filterwarnings("ignore:GPU available but not used")
@pytest.mark.parametrize("option", [{"accelerator": "auto"}, {}])
def test_a_macs_gpu_is_not_taken_unasked(option, tmp_path, monkeypatch):
    monkeypatch.setattr(MPSAccelerator, "is_available", staticmethod(lambda: True))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    trainer = {"_target_": "lightning.Trainer", "_partial_": True, "devices": 1, **option}
    chosen = OmegaConf.create({"run_folder": str(tmp_path), "logger": None, "callbacks": {}, "trainer": trainer})
    assert build_trainer(chosen).strategy.root_device.type == "cpu"


def test_an_option_of_a_callback_that_lightning_refuses_is_one_line(tmp_path):
    node = {"_target_": "lightning.pytorch.callbacks.ModelCheckpoint", "monitor": "loss", "every_n_epochs": -3}
    chosen = OmegaConf.create({"run_folder": str(tmp_path), "logger": None, "callbacks": {"mine": node}})
    with pytest.raises(UserError, match=r"^callbacks\.mine: Lightning says: Invalid value for every_n_epochs=-3"):
        build_trainer(chosen)


def test_a_trainer_writes_its_curves_and_whole_checkpoints_to_the_run_folder(tmp_path):
    trainer = {"_target_": "lightning.Trainer", "_partial_": True, "accelerator": "cpu", "max_steps": 3}
    trainer |= {"enable_model_summary": False}
    chosen = OmegaConf.create({"run_folder": str(tmp_path), "logger": None, "callbacks": {}, "trainer": trainer})
    built = build_trainer(chosen)
    assert built.max_steps == 3
    assert [type(logger).__name__ for logger in built.loggers] == ["Curves"]
    assert type(built.strategy.checkpoint_io).__name__ == "WholeCheckpoints"
    assert built.default_root_dir == str(tmp_path)


def test_the_cache_is_that_of_whoever_looks(tmp_path, monkeypatch):
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "mine"))
    text = text_of(str(TESTS / "kept_runs" / "translator"))
    assert local_cache() == str(tmp_path / "mine")
    assert len(text.sources("test")) == len(text.references("test")) > 0
    assert (tmp_path / "mine").is_dir()
    with pytest.raises(UserError, match=r"config\.yaml"):
        text_of(str(tmp_path))
