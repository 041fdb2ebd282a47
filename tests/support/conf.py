"""What conf/ offers: tests take models and attentions from here, so that a new file is tested the day it appears."""

from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import unrolled.configuration  # noqa: F401  # whose resolvers conf/ uses
from support.composed_once import composed_once
from support.scripts import ROOT
from unrolled.configuration.values import register_resolvers

CONF = ROOT / "conf"


def choices(group: str) -> list[str]:
    """The names of the YAML files in conf/``group``."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def composed(*options: str) -> dict[str, Any]:
    """Attention, model and objective of train.py with ``options``, as plain values."""
    register_resolvers()
    with composed_once(), initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("train", list(options))
    return {group: OmegaConf.to_container(config[group], resolve=True) for group in ("attention", "model", "objective")}


def attention(name: str) -> dict[str, Any]:
    """conf/attention/``name``.yaml as plain values; composed, which takes longer, only if it is made of others."""
    options = OmegaConf.to_container(OmegaConf.load(CONF / "attention" / f"{name}.yaml"))
    assert isinstance(options, dict)
    return composed(f"attention={name}")["attention"] if "defaults" in options else options


MODELS = {name: composed(f"model={name}") for name in choices("model")}
ATTENTIONS = {name: attention(name) for name in choices("attention")}
LANGUAGE_MODELS = {name for name, config in MODELS.items() if config["objective"]["kind"] != "translation"}
NEURAL = {name for name, config in MODELS.items() if config["objective"]["kind"] != "counting"}
WITHOUT_ATTENTION = {name for name, config in MODELS.items() if not config["attention"]}


def go_together(model: str, attention: str) -> bool:
    """Whether ``model`` takes ``attention``: ``none`` is for models without one, and they take nothing else."""
    return (model in WITHOUT_ATTENTION) == (not ATTENTIONS[attention])
