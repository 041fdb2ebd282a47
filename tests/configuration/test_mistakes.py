"""The one line of a user's mistake."""

import errno

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, InstantiationException, MissingConfigException
from hydra.utils import instantiate
from omegaconf import OmegaConf

from unrolled.configuration.build import build_data, build_tokenizer
from unrolled.configuration.conf import CONF
from unrolled.configuration.mistakes import full_disk, users_mistake
from unrolled.errors import UserError


def test_a_launcher_that_is_not_installed_names_its_extra():
    missing = MissingConfigException("In 'hydra/launcher/slurm': Could not find 'hydra/launcher/submitit_slurm'", None)
    said = 'hydra/launcher=submitit_slurm is not installed: pip install "unrolled[slurm]"'
    assert users_mistake(missing) == said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("logger=[csv,tensorbord]", "logger=tensorbord: there is no such choice; did you mean tensorboard?"),
        (
            "experiment=[memory/gru_at]",
            "experiment=memory/gru_at: there is no such choice; did you mean memory/gru_att?",
        ),
        ("name=${oc.env:NO_SUCH}", "name=${oc.env:NO_SUCH}: the environment variable NO_SUCH is not set"),
    ],
)
def test_an_unknown_name_in_a_list_or_of_a_variable_is_said_as_it_was_typed(option, said, monkeypatch):
    monkeypatch.setattr("sys.argv", ["train.py", option])
    with initialize_config_dir(str(CONF), version_base="1.3"), pytest.raises(Exception) as caught:  # noqa: PT011
        compose("train", [option], return_hydra_config=True).hydra.overrides.task[0]
    assert users_mistake(caught.value) == said


@pytest.mark.parametrize(
    ("command", "option", "said"),
    [
        ("translate", "model=cgru", "model=cgru: this command has no choice of model; --help shows which it has"),
        ("average", "search=beam", "search=beam: this command has no choice of search; --help shows which it has"),
        ("train", "+experiment=g2p", "+experiment=g2p: this is chosen already: write experiment=g2p, without +"),
    ],
)
def test_a_choice_that_the_command_does_not_have_or_has_already_is_not_to_be_added(command, option, said):
    with initialize_config_dir(str(CONF), version_base="1.3"), pytest.raises(HydraException) as caught:
        compose(command, [option])
    assert users_mistake(caught.value, [option]) == said


def test_a_folder_that_is_read_only_is_named():
    problem = OSError(errno.EROFS, "Read-only file system", "cache/ids")
    assert users_mistake(problem) == "cache/ids: Read-only file system; give another path"


NOWHERE = {"_target_": "no.such.Class"}


@pytest.mark.parametrize(
    ("build", "config", "place"),
    [
        (build_data, {"data": {"module": NOWHERE}}, "data.module."),
        (build_data, {"data": {"module": NOWHERE | {"tokenizer": {"_target_": "builtins.dict"}}}}, "data.module."),
        (build_data, {"data": {"module": {"tokenizer": "${tokenizer}"}}, "tokenizer": NOWHERE}, "tokenizer."),
        (build_tokenizer, {"target": NOWHERE, "_target_": "builtins.dict"}, "target."),
        (build_tokenizer, {"target": {"_target_": "builtins.dict"}, **NOWHERE}, ""),
        (instantiate, NOWHERE, ""),
    ],
)
def test_a_class_that_is_not_there_is_named_with_its_place_as_far_as_there_is_one(build, config, place):
    with pytest.raises(InstantiationException) as problem:
        build(OmegaConf.create(config))
    assert users_mistake(problem.value) == (
        f"{place}_target_: no.such.Class: there is no module no: install its package, or add its folder to PYTHONPATH"
    )


def test_what_the_system_refuses_is_said_with_the_file_and_what_we_broke_is_not(tmp_path):
    refused = errno.EACCES, "Permission denied"
    assert users_mistake(OSError(*refused, str(tmp_path))) == f"{tmp_path}: Permission denied"
    assert users_mistake(OSError(*refused, f"{tmp_path}/outputs")) == (
        f"{tmp_path}/outputs: Permission denied; give another path, or work in another folder"
    )
    assert users_mistake(OSError(errno.EBADF, "Bad file descriptor", "x")) is None
    assert users_mistake(ValueError("ours")) is None
    wrapped = RuntimeError("around it")
    wrapped.__cause__ = UserError("theirs")
    assert users_mistake(wrapped) == "theirs"


def test_a_full_disk_is_no_mistake_and_has_a_line():
    full = OSError(errno.ENOSPC, "No space left on device", "run/last.ckpt")
    around = RuntimeError("around it")
    around.__context__ = full
    assert users_mistake(full) is None
    for problem in (full, around):
        assert str(full_disk(problem)).startswith("run/last.ckpt: No space left on device")
    assert full_disk(RuntimeError("ours")) is None
