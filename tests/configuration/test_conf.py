"""conf/ as the package sees it; that every file of it works is in tests/test_conf.py."""

from support.scripts import ROOT

from unrolled.configuration.conf import CONF, targets_of


def test_a_checkout_uses_its_own_conf():
    assert CONF == ROOT / "conf"


def test_targets_are_those_of_a_group_and_of_what_is_in_it():
    assert "unrolled.models.attention.GRUAttention" in targets_of("attention")
    assert not any("attention" in target for target in targets_of("optimizer"))
    # in a folder of its own within model/
    assert "unrolled.ngram.kneser_ney.KneserNey" in targets_of("model")
    assert targets_of("no_such_group") == set()
