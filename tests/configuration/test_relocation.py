"""A run's configuration writes in the run's folder, wherever that is now."""

import pytest
from omegaconf import DictConfig

from unrolled.configuration.relocation import at_home, check_links
from unrolled.errors import UserError


def run(**logger):
    return DictConfig({"run_folder": "/old", "cache": "mine", "logger": {"csv": logger}, "trainer": {}})


def test_its_paths_move_with_it(tmp_path):
    given = run(save_dir="/old/curves", name="a")
    given.data = {"module": {"cache": "mine"}}
    here = at_home(given, tmp_path, "yours")
    assert here.logger.csv == {"save_dir": f"{tmp_path}/curves", "name": "a"}
    assert (here.run_folder, here.cache, here.data.module.cache) == (str(tmp_path), "yours", "yours")


@pytest.mark.parametrize(
    "logger",
    [{"folder": "/elsewhere"}, {"save_dir": "/old", "name": "../up"}, {"save_dir": "/old", "version": "$HOME"}],
)
def test_it_writes_nowhere_else(logger, tmp_path):
    with pytest.raises(UserError, match="points outside the run folder"):
        at_home(run(**logger), tmp_path, "yours")


def test_without_its_folder_it_is_nobody_s(tmp_path):
    with pytest.raises(UserError, match="run_folder is missing"):
        at_home(DictConfig({"trainer": {}}), tmp_path, "yours")


def test_links_lead_nowhere_else(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "last").symlink_to(tmp_path / "run" / "best")
    check_links(tmp_path / "run")
    (tmp_path / "run" / "wandb").symlink_to(tmp_path / "logs")
    with pytest.raises(UserError, match="wandb is a link that points outside the run folder"):
        check_links(tmp_path / "run")


def test_links_in_the_part_that_is_written_lead_nowhere_else_and_the_rest_may(tmp_path):
    (tmp_path / "run" / "average").mkdir(parents=True)
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "elsewhere")
    check_links(tmp_path / "run", "average")
    check_links(tmp_path / "run", "not yet there")
    (tmp_path / "run" / "average" / "tokenizer").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "run" / "figures").symlink_to(tmp_path / "elsewhere")
    for part, link in {"average": "average/tokenizer", "figures": "figures"}.items():
        with pytest.raises(UserError, match=f"run/{link} is a link that points outside the run folder"):
            check_links(tmp_path / "run", part)
