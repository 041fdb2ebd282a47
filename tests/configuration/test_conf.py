"""conf/ as the package sees it; that every file of it works is in tests/test_conf.py."""

import sys

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import MissingConfigException
from support.scripts import ROOT

from unrolled.configuration.conf import CONF, import_from_here, own_conf, targets_of, warn_of_same_names


def test_a_checkout_uses_its_own_conf():
    assert CONF == ROOT / "conf"


def test_targets_are_those_of_a_group_and_of_what_is_in_it():
    assert "unrolled.models.attention.GRUAttention" in targets_of("attention")
    assert not any("attention" in target for target in targets_of("optimizer"))
    # in a folder of its own within model/
    assert "unrolled.ngram.kneser_ney.KneserNey" in targets_of("model")
    assert targets_of("no_such_group") == set()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def composed(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", list(overrides))


def test_conf_in_the_current_folder_adds_choices_after_ours(here):
    assert own_conf() is None
    folder = here / "conf" / "attention"
    folder.mkdir(parents=True)
    for name in ("mine", "dot"):
        (folder / f"{name}.yaml").write_text("_target_: my_attention.Mine\n", encoding="utf-8")
    assert own_conf() == here / "conf"
    assert composed("attention=mine").attention._target_ == "my_attention.Mine"
    assert composed("attention=dot").attention._target_ == "unrolled.models.attention.DotAttention"


def test_our_own_conf_is_not_added_to_itself(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert own_conf() is None


def test_other_programs_that_use_hydra_get_no_conf_of_ours(here):
    (here / "conf").mkdir()
    (here / "theirs").mkdir()
    (here / "theirs" / "a.yaml").touch()
    (here / "conf" / "b.yaml").touch()
    with initialize_config_dir(str(here / "theirs"), version_base="1.3"):
        assert compose("a") == {}
        with pytest.raises(MissingConfigException):
            compose("b")


def test_modules_of_the_current_folder_come_after_all_others_and_only_with_a_conf(here):
    import_from_here()
    assert str(here) not in sys.path
    (here / "conf").mkdir()
    import_from_here()
    import_from_here()
    assert sys.path[-1] == str(here)
    assert sys.path.count(str(here)) == 1


def test_a_choice_of_the_same_name_is_not_read_and_said_so(here, caplog):
    (here / "conf" / "attention").mkdir(parents=True)
    (here / "conf" / "attention" / "dot.yaml").touch()
    warn_of_same_names({"attention": "dot", "model": "cgru", "debug": None})
    said = "conf/attention/dot.yaml is not read: unrolled has its own attention=dot; rename yours"
    assert caplog.messages == [said]
