"""Somebody else's run folder never decides what code runs: slots, trust, and that nothing ran, in every command."""

import copy
import shutil
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from campaign.targets import MARK, prepare, targets
from support.scripts import ROOT, call_script

from unrolled.configuration import conf, slots
from unrolled.configuration.moved import MOVED
from unrolled.configuration.slots import SLOTS, check_slots, slot_of, trust
from unrolled.configuration.values import read_config
from unrolled.errors import UserError

CONF = ROOT / "conf"
OUTSIDE = {"hydra", "detail", "ensemble"}  # groups that no run folder's configuration has
PLACES = sorted(path.replace("*", "any") for path in SLOTS)
NO_SLOTS = [
    "",
    "name",
    "seed",
    "choices.model",
    "data.train.0",
    "callbacks",
    "callbacks.checkpoint.every",
    "hydra.sweeper",
]


@pytest.fixture(autouse=True)
def _nobody_is_trusted():
    trust(None)
    yield
    trust(None)


def named(node, path=()):
    """(path, target) of all targets within."""
    if isinstance(node, dict):
        if "_target_" in node:
            yield path, node["_target_"]
        for key, value in node.items():
            yield from named(value, (*path, key))


def at(place, node):
    """A configuration with ``node`` at a dotted place."""
    for part in reversed(place.split(".") if place else []):
        node = [node] if part.isdigit() else {part: node}
    return node


def of_conf():
    for file in sorted(CONF.rglob("*.yaml")):
        group = file.relative_to(CONF).parts[:-1]
        if not OUTSIDE & set(group):
            text = file.read_text(encoding="utf-8")
            own = tuple(part for part in group if part != "base")  # conf/model/base is put where it is used
            prefix = () if "@package _global_" in text else own
            for path, target in named(yaml.safe_load(text), prefix):
                if "hydra" in path:
                    continue
                yield tuple(part for part in path if part != "imported"), target


def test_what_conf_names_is_offered_in_its_slot():
    found = list(of_conf())
    assert len(found) > 60
    for path, target in found:
        check_slots(at(".".join(path), {"_target_": target, "_partial_": True}), "config.yaml")


def test_what_is_offered_is_there():
    for slot in SLOTS.values():
        for target in slot.offered:
            module, _, name = target.rpartition(".")
            assert callable(getattr(import_module(module), name)), target


def test_what_has_moved_is_offered_where_it_now_is():
    everything = {target for slot in SLOTS.values() for target in slot.offered}
    gone = {target for target in MOVED.values() if f"unrolled.{target}" not in everything}
    assert gone == {
        f"inference.details.{name}" for name in ("CorpusFigures", "LogProbabilities", "Tokens", "WordByWord")
    }


@pytest.mark.parametrize("place", [*PLACES, *NO_SLOTS])
def test_no_slot_takes_a_hostile_target(place, tmp_path):
    prepare(tmp_path)
    for node in targets(tmp_path).values():
        for written in (node, {key: value for key, value in node.items() if key != "_args_"}):
            with pytest.raises(UserError, match=r"^RUN/config\.yaml: "):
                check_slots(at(place, written), "RUN/config.yaml")
    assert not (tmp_path / MARK).exists()


@pytest.mark.parametrize("place", PLACES)
def test_a_slot_takes_nothing_that_is_offered_elsewhere(place):
    here = slot_of(tuple(place.split(".")))
    others = [target for slot in SLOTS.values() if slot.name != here.name for target in slot.offered]
    assert others
    for target in others:
        with pytest.raises(UserError, match=r"of a run folder|never decides"):
            check_slots(at(place, {"_target_": target}), "RUN/config.yaml")


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ({"attention": {"_args_": [1]}}, "attention._args_"),
        ({"model": {"_recursive_": False}}, "model._recursive_"),
        ({"model": {"_convert_": "all"}}, "model._convert_"),
        ({"attention": {"_partial_": "${oc.env:HOME}"}}, "attention._partial_"),
        ({"attention": {"size": "${oc.env:HOME}"}}, "attention.size is an interpolation"),
        ({"data": {"train": [["x", "${absolute:x}"]]}}, "data.train is an interpolation"),
        ({"${name}": 1}, "is an interpolation"),
        ({"attention": {"_target_": ["os.system"]}}, "is not the name of a class"),
        ({"attention": {"_target_": {"_target_": "os.system"}}}, "attention"),
        ({"attention": {"_target_": "a" * 9999}}, "is not the name of a class"),
    ],
)
def test_a_run_folders_configuration_is_text_without_hydras_other_words(node, says):
    with pytest.raises(UserError, match=r"RUN/config\.yaml") as refused:
        check_slots(node, "RUN/config.yaml")
    assert says in str(refused.value)
    assert len(str(refused.value)) < 400


# A class of the user's own

MINE = """
import os
from unrolled.models.attention import Attention
class Mine(Attention): ...
def anything(**options): ...
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)


def refusal(place, target):
    with pytest.raises(UserError) as refused:
        check_slots(at(place, {"_target_": target}), "RUN/config.yaml")
    return str(refused.value)


@pytest.mark.usefixtures("package")
def test_a_package_that_is_trusted_by_name_may_be_named():
    line = refusal("attention", "my_package.Mine")
    assert "attention" in line
    assert "trust=my_package" in line
    trust(["my_package"])
    check_slots({"attention": {"_target_": "my_package.Mine"}}, "RUN/config.yaml")
    check_slots({"callbacks": {"mine": {"_target_": "my_package.anything"}}}, "RUN/config.yaml")
    assert "not a subclass" in refusal("attention", "my_package.anything")
    for not_its_own in (
        "my_package.os.system",
        "my_package.os",
        "my_package.Attention",
        "my_package.none",
        "my_package",
    ):
        refusal("callbacks.mine", not_its_own)
    trust(None)
    refusal("attention", "my_package.Mine")


@pytest.mark.usefixtures("package")
def test_an_installed_package_offers_a_class_for_one_slot_by_an_entry_point(monkeypatch):
    offered = {"unrolled.attention": [EntryPoint("mine", "my_package:Mine", "unrolled.attention")]}
    monkeypatch.setattr(slots, "offered_in", lambda group: offered.get(group, []))
    check_slots({"attention": {"_target_": "my_package.Mine"}}, "RUN/config.yaml")
    refusal("model", "my_package.Mine")
    refusal("attention", "my_package.anything")


def test_what_is_added_to_conf_is_offered_in_its_group_and_in_no_other(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tsv.yaml").write_text("columns:\n  _target_: unrolled.data.tsv.Columns\n")
    monkeypatch.setattr(conf, "CONF", tmp_path)
    for place in ("data.columns", "data.corpus", "data.module.corpus"):
        check_slots(at(place, {"_target_": "unrolled.data.tsv.Columns"}), "RUN/config.yaml")
    for place in ("model", "name", "columns"):
        refusal(place, "unrolled.data.tsv.Columns")
    refusal("data.corpus", "unrolled.data.tsv.Others")


@pytest.mark.parametrize("name", ["os", "subprocess", "builtins", "unrolled", "unrolled.files", "a b", "../x", 3, ""])
def test_python_and_the_project_are_not_trusted_as_a_whole(name):
    with pytest.raises(UserError, match="trust="):
        trust([name])


@pytest.mark.parametrize("value", [3, True, 1.5, "3x"])
def test_what_is_not_a_name_is_not_trusted(value):
    with pytest.raises(UserError, match=f"trust={value}: give the name of a package"):
        trust(value)


# Commands

COMMANDS = {
    "translate.py": ["run=RUN"],
    "evaluate.py": ["run=RUN"],
    "score.py": ["run=RUN"],
    "sample.py": ["run=RUN"],
    "compare.py": ["runs=RUN"],
    "rescore.py": ["nbest=nbest", "scorers={lm: RUN}"],
    "arpa.py": ["run=RUN"],
    "export.py": ["run=RUN", "output=files"],
    "average.py": ["run=RUN"],
    "interpolate.py": ["run=RUN", "val=nbest"],
    "train.py": ["resume=RUN"],
    "train.py ": ["reproduce=RUN", "hydra.run.dir=new"],
    "translate.py ": ["run=sound", "search.language_model=RUN"],
}


@cache
def parsed(text: str) -> dict:
    """A configuration; the one that all tests spoil takes longer to parse than to copy."""
    return yaml.safe_load(text)


def spoil(run: Path, place: str, node) -> None:
    """Put ``node`` into the configuration of a run folder."""
    config = copy.deepcopy(parsed((run / "config.yaml").read_text(encoding="utf-8")))
    inside = config
    *way, last = place.split(".")
    for part in way:
        inside = inside.setdefault(part, {})
    inside[last] = node
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the same text, from C
    (run / "config.yaml").write_text(yaml.dump(config, Dumper=dumper), encoding="utf-8")


@pytest.fixture
def here(trained, tmp_path):
    for name in ("RUN", "sound"):
        shutil.copytree(trained, tmp_path / name, ignore=shutil.ignore_patterns("wandb", "figures"))
    (tmp_path / "nbest").write_text("0 ||| a ||| logp=1 ||| 1\n")
    return tmp_path


def call(command, cwd):
    return call_script(command.strip(), *COMMANDS[command], cwd=cwd, text="s1 s2\n")


def spawned(cwd):
    return {"_target_": "setuptools._distutils.spawn.spawn", "cmd": ["touch", str(cwd / MARK)]}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", ["attention", "data.module.corpus", "callbacks.speed"])
def test_no_command_runs_what_a_run_folder_names(command, place, here):
    spoil(here / "RUN", place, spawned(here))
    done = call(command, here)
    assert not (here / MARK).exists()
    assert "Traceback" not in done.stderr
    if command != "compare.py":  # which lists it, and reads no more of it
        assert done.status == 2
        assert f"config.yaml: {place}: setuptools._distutils.spawn.spawn" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_without_the_guard_it_would_run(here):
    spoil(here / "RUN", "model.embedding_size", spawned(here))
    guards = [patch("unrolled.configuration.values.check_slots"), patch("unrolled.configuration.load.check_sizes")]
    with guards[0], guards[1], suppress(Exception):  # of what the call returned
        call("translate.py", here)
    assert (here / MARK).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kept.folder", "pictures.folder", "attention_record.folder", "checkpoint.dirpath"])
@pytest.mark.parametrize("path", ["/{}/elsewhere", "elsewhere", "{}/RUN/../elsewhere"])
def test_a_run_that_is_resumed_writes_nowhere_else(name, path, here):
    path = path.format(here)
    spoil(here / "RUN", f"callbacks.{name}", path)
    done = call("train.py", here)
    assert done.status == 2
    assert f"callbacks.{name}={path} points outside the run folder" in done.stderr
    assert not (here / "elsewhere").exists()


@pytest.mark.slow
def test_a_run_that_is_resumed_does_not_write_through_links(here):
    (here / "precious").write_text("precious")
    (here / "RUN" / "metrics.csv").unlink()
    (here / "RUN" / "metrics.csv").symlink_to(here / "precious")
    done = call("train.py", here)
    assert done.status == 2
    assert "metrics.csv is a link that points outside" in done.stderr
    assert (here / "precious").read_text() == "precious"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["translations", "wandb"])
def test_nor_through_links_to_folders(name, here):
    (here / "elsewhere").mkdir()
    shutil.rmtree(here / "RUN" / name, ignore_errors=True)
    (here / "RUN" / name).symlink_to(here / "elsewhere")
    done = call("train.py", here)
    assert done.status == 2
    assert f"{name} is a link that points outside" in done.stderr
    assert list((here / "elsewhere").iterdir()) == []


@pytest.mark.slow
def test_the_cache_of_a_run_folder_is_not_followed(here):
    for place in ("cache", "data.module.cache"):
        spoil(here / "RUN", place, str(here / "elsewhere"))
    assert call("evaluate.py", here).status == 0
    assert call("train.py", here).status == 0
    assert not (here / "elsewhere").exists()


def test_there_is_one_way_from_a_target_to_an_object():
    """Hydra's instantiate is called in slots.py alone, and a run folder's configuration is read in values.py alone."""
    users, readers = set(), set()
    for file in (ROOT / "src" / "unrolled").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        users |= {file.name} if "hydra.utils" in text else set()
        readers |= {file.name} if "OmegaConf.load" in text or "yaml." in text else set()
    assert users == {"slots.py", "trial.py"}  # the pruner of a study, which Hydra's own configuration names
    # command.py reads what this process' parent has written, meanings.py the comments of conf/;
    # quick_omegaconf.py parses for them; own_parts.py finds what is wrong in a file that the user has chosen
    assert readers == {"values.py", "command.py", "meanings.py", "quick_omegaconf.py", "own_parts.py"}


def test_a_sound_configuration_passes(trained):
    assert read_config(str(trained)).attention.size
