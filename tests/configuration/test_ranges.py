"""Every number and switch of conf/ has a range, and what is out of it is refused with one line."""

import inspect

import lightning
import pytest
import yaml
from omegaconf import OmegaConf
from support.scripts import ROOT

from unrolled.configuration.ranges import CHECKED_WHERE_TAKEN, OPTIONS, check_options
from unrolled.errors import UserError

CONF = ROOT / "conf"


def leaves(node, path):
    """(path, value) of every value below a node of YAML."""
    if not isinstance(node, dict):
        yield path, node
        return
    for key, value in node.items():
        if key not in ("_target_", "_partial_", "defaults"):
            yield from leaves(value, f"{path}.{key}" if path else key)


def written():
    """(path, value) of every option that a file of conf/ writes out."""
    for file in sorted(CONF.rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        group = ".".join(part for part in file.parent.relative_to(CONF).parts if part != "base")
        first = text.split("\n", 1)[0]
        if first.startswith("# @package"):
            group = first.split()[-1].removeprefix("_global_")
        for path, value in leaves(yaml.safe_load(text), group):
            if not path.startswith(("hydra.", "imported.")):
                yield path, value


NAMED = sorted({path for path, value in written() if isinstance(value, int | float)})


@pytest.mark.parametrize("path", NAMED)
def test_every_number_and_switch_has_a_range(path):
    assert path in OPTIONS or f"translate {path}" in OPTIONS or path.startswith(CHECKED_WHERE_TAKEN)


def test_every_range_is_that_of_an_option():
    lightnings = {
        "trainer": lightning.Trainer,
        "callbacks.checkpoint": lightning.pytorch.callbacks.ModelCheckpoint,
        "callbacks.early_stopping": lightning.pytorch.callbacks.EarlyStopping,
    }
    known = {path for path, _ in written()}
    known |= {f"{path}.{name}" for path, cls in lightnings.items() for name in inspect.signature(cls).parameters}
    assert {option.rpartition(" ")[2] for option in OPTIONS} <= known | {"run_folder", "name"}


def test_every_number_of_lightnings_trainer_has_a_range():
    numbers = {
        f"trainer.{name}"
        for name, parameter in inspect.signature(lightning.Trainer).parameters.items()
        if any(kind in str(parameter.annotation) for kind in ("int", "float", "bool"))
    }
    elsewhere = {"devices", "precision", "logger", "strategy", "plugins", "enable_progress_bar", "accelerator"}
    assert {name for name in numbers if name.partition(".")[2] not in elsewhere} <= set(OPTIONS)


def test_what_conf_writes_is_within_its_range():
    for path, value in written():
        if path in OPTIONS and not isinstance(value, str):
            assert OmegaConf.create([value])[0] in OPTIONS[path], f"{path}={value}"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"trainer": {"max_epochs": "abc"}}, "trainer.max_epochs=abc: give a whole number from 1, or -1, or null"),
        ({"trainer": {"max_steps": float("nan")}}, "trainer.max_steps=nan: give a whole number from 1, or -1"),
        ({"trainer": {"limit_test_batches": 0}}, "trainer.limit_test_batches=0: give a share such as 0.5"),
        ({"trainer": {"val_check_interval": 1.5}}, "trainer.val_check_interval=1.5: give a share such as 0.5"),
        ({"trainer": {"max_time": "90"}}, "trainer.max_time=90: give DD:HH:MM:SS"),
        ({"trainer": {"max_time": 5}}, "trainer.max_time=5: give DD:HH:MM:SS"),
        ({"trainer": {"max_time": "00:00:00:00"}}, "trainer.max_time=00:00:00:00: give DD:HH:MM:SS"),
        ({"trainer": {"max_time": "99999999999:00:00:00"}}, "trainer.max_time=99999999999:00:00:00: give"),
        ({"trainer": {"fast_dev_run": 2}}, "trainer.fast_dev_run=2: give false; it leaves no results: use debug"),
        ({"trainer": {"barebones": True}}, "trainer.barebones=true: give false; a run needs"),
        (
            {"trainer": {"enable_progress_bar": False}},
            "trainer.enable_progress_bar=false: give true; without a progress",
        ),
        (
            {"trainer": {"callbacks": []}},
            "trainer.callbacks=[]: give null; they have a group of their own: +callbacks.",
        ),
        ({"trainer": {"logger": True}}, "trainer.logger=true: give false; they have a group of their own: logger=csv"),
        (
            {"trainer": {"default_root_dir": "x"}},
            "trainer.default_root_dir=x: give null; the folder of a run is hydra.",
        ),
        *(
            ({"callbacks": {name: {option: value}}}, f"callbacks.{name}.{option}={str(value).lower()}: give {said}")
            for name, option, value, said in (
                ("checkpoint", "every_n_train_steps", 3, "null; the best weights are those of a validation"),
                ("checkpoint", "train_time_interval", 3, "null; the best weights are those of a validation"),
                ("checkpoint", "save_on_train_epoch_end", True, "false; the best weights are those of a validation"),
                ("checkpoint", "save_weights_only", True, "false; best.ckpt holds the figures of its validation"),
                ("early_stopping", "check_on_train_epoch_end", True, "false; it judges validations"),
                ("early_stopping", "min_delta", "a", "a number"),
                ("early_stopping", "stopping_threshold", "a", "a number, or null"),
                ("early_stopping", "divergence_threshold", "a", "a number, or null"),
            )
        ),
        ({"optimizer": {"betas": [0.9, 1.0]}}, "optimizer.betas=[0.9, 1.0]: give two of them, each a number from 0"),
        ({"callbacks": {"checkpoint": {"save_top_k": 3}}}, "callbacks.checkpoint.save_top_k=3: give 1; callbacks.kept"),
        ({"callbacks": {"checkpoint": {"save_top_k": -1}}}, "callbacks.checkpoint.save_top_k=-1: give 1; callbacks"),
        (
            {"callbacks": {"checkpoint": {"save_top_k": True}}},
            "callbacks.checkpoint.save_top_k=true: give 1",
        ),
        (
            {"callbacks": {"checkpoint": {"filename": "x"}}},
            "callbacks.checkpoint.filename=x: give best; other commands look for the best weights in best.ckpt",
        ),
        ({"callbacks": {"checkpoint": {"save_last": 3}}}, "callbacks.checkpoint.save_last=3: give true, false, link"),
        *(
            (
                {"callbacks": {"saving": {"steps": None}, "checkpoint": {"save_last": value}}},
                f"callbacks.checkpoint.save_last={shown}: give false; callbacks.saving writes last.ckpt",
            )
            for value, shown in ((True, "true"), ("link", "link"), (3, "3"))
        ),
        ({"cache": None}, "cache=null: give a name"),
        ({"nbest": 0}, "nbest=0: give a whole number from 1"),
        ({"nbest": 10**6}, "nbest=1000000: give a whole number from 1 to 100000"),
        (
            {"search": {"length_normalization": {"alpha": 300}}},
            "search.length_normalization.alpha=300: give a number from 0 to 10",
        ),
        ({"alignments": 3}, "alignments=3: give a path; a name that reads as a number needs ./"),
        ({"weights": True}, "weights=true: give a path"),
        ({"data": {"train": ["train.en", 3]}}, "data.train=['train.en', 3]: give a path"),
        ({"callbacks": {"early_stopping": {"mode": "up"}}}, "callbacks.early_stopping.mode=up: give min or max"),
    ],
)
def test_what_is_out_of_range_is_refused(config, said):
    with pytest.raises(UserError) as caught:
        check_options(OmegaConf.create(config), "translate")
    assert str(caught.value).startswith(said)


def test_what_is_within_its_range_is_not_refused():
    check_options(OmegaConf.create({"trainer": {"max_time": "00:01:30:00", "fast_dev_run": False}}), "train")
    check_options(OmegaConf.create({"trainer": {"max_time": None, "barebones": False}}), "train")
    files = {"train": ["train.en", "train.de"], "val": "val.tsv", "test": "???", "test_alignment": None}
    check_options(OmegaConf.create({"data": files, "output": "./3"}), "train")
    check_options(OmegaConf.create({"weights": {"logp": 1.0}}), "rescore")
    saving = {"path": "last.ckpt"}
    for last, saved in ((True, None), ("link", None), (False, saving), (None, saving)):
        checkpoint = {"filename": "best", "save_last": last}
        check_options(OmegaConf.create({"callbacks": {"saving": saved, "checkpoint": checkpoint}}), "train")


def test_an_option_of_one_command_means_another_thing_in_others():
    check_options(OmegaConf.create({"nbest": "lists.txt"}), "rescore")
