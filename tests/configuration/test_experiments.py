"""Experiments that compare: as many parameters for every attention, and texts that are read and searched whole."""

import os
from pathlib import Path

import pytest
import yaml
from hydra.utils import instantiate
from support import conf
from support.scripts import ROOT

from unrolled.configuration.composition import composed

EQUAL = sorted(path.stem for path in (conf.CONF / "experiment" / "memory").glob("*.yaml"))
DATA = Path(os.environ.get("UNROLLED_DATA", ROOT / ".." / "shared" / "data")) / "scan-length"


def parameters(*options):
    """How many a model for the small vocabularies of data=lookup has: with larger ones the differences are smaller."""
    config = composed("train", options)
    model = instantiate(config.model, attention=instantiate(config.attention), _convert_="all")
    built = model(source_vocabulary=21, target_vocabulary=12)
    return sum(parameter.numel() for parameter in built.parameters())


def test_every_attention_has_as_many_parameters():
    counted = {name: parameters(f"experiment=memory/{name}") for name in EQUAL}
    assert set(counted) == {name for name in conf.ATTENTIONS if name not in ("none", "dot", "general")}
    assert max(counted.values()) <= 1.01 * min(counted.values()), counted
    assert parameters("attention=bahdanau") < 0.95 * counted["bahdanau"]  # with the sizes of conf/attention they differ


@pytest.mark.parametrize(("name", "sides"), [("scan_length", ("in", "out")), ("nacs", ("out", "in"))])
def test_scan_is_read_in_its_direction_and_searched_to_its_longest_output(name, sides):
    config = composed("train", (f"experiment={name}", "data.root=scan"))
    for split in ("train", "val", "test"):
        assert list(config.data[split]) == [f"scan/{split}.{side}" for side in sides]
    assert config.data.symbols == "word"
    assert config.objective.mode == "min"
    for search in (config.search, config.validation_search):
        assert search.max_length_ratio + search.max_length_extra > 48  # even from a source of one word


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there; UNROLLED_DATA names the folder around it")
def test_the_test_set_of_scan_is_longer_than_its_training_set():
    """What the experiment's comment says of the published files."""
    lengths = {}
    for split in ("train", "test"):
        commands, actions = (
            (DATA / f"{split}.{side}").read_text(encoding="utf-8").splitlines() for side in ("in", "out")
        )
        assert len(commands) == len(actions)
        lengths[split] = [len(line.split()) for line in actions]
    assert max(lengths["train"]) == 22
    assert (min(lengths["test"]), max(lengths["test"])) == (24, 48)


def test_the_memory_study_has_every_attention_with_equal_parameters():
    study = yaml.safe_load((ROOT / "conf/sweep/memory.yaml").read_text(encoding="utf-8"))
    chosen = study["hydra"]["sweeper"]["params"]["experiment"].split(",")
    assert sorted(chosen) == sorted(f"memory/{name}" for name in EQUAL)
