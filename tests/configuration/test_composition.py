"""A command's configuration composed from Python: the same as from the command line, and Hydra is left as it was."""

import numpy as np
import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.configuration.composition import composed, composing, known, options_of
from unrolled.configuration.conf import CONF
from unrolled.errors import UserError

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=9) | st.text("\\'\"a", max_size=6)
TEXT = TEXT.filter(lambda text: "${" not in text)
VALUES = st.recursive(
    TEXT | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=60)
@given(VALUES)
def test_every_value_arrives_as_it_is(value):
    (option,) = options_of({"x": value})
    assert OverridesParser.create().parse_override(option).value() == value


def test_numbers_of_numpy_are_numbers():
    numbers = {"lr": np.float64(1e-3), "seed": np.int64(3), "flag": np.bool_(True), "all": [np.float32(0.5)]}
    assert options_of(numbers) == ["lr=0.001", "seed=3", "flag=true", "all=[0.5]"]
    with pytest.raises(UserError, match="value"):
        options_of({"x": np.arange(3)})


@pytest.mark.parametrize("value", ["two\nlines", "${oc.env:HOME}", object(), {1, 2}])
def test_what_is_no_value_is_refused(value):
    with pytest.raises(UserError, match="value"):
        options_of({"x": value})


def test_the_configuration_is_that_of_the_command():
    config = composed("translate", ["search=greedy", "search.max_length_extra=3", *options_of({"run": ["a b", "c'd"]})])
    assert config.search._target_.endswith("Greedy")
    assert (config.search.max_length_extra, config.run, config.nbest) == (3, ["a b", "c'd"], 1)


def test_a_variable_that_says_where_the_cache_is_counts_at_any_time(monkeypatch, tmp_path):
    for name in ("one", "two"):
        monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / name))
        assert composed("train").cache == str(tmp_path / name)


def test_a_composition_is_its_owners_alone():
    composed("translate").search.beam_size = 77
    assert composed("translate").search.beam_size == 5


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("search.beam_size=0", "a whole number from 1"),
        ("search.beem_size=3", "did you mean beam_size"),
        ("search=bem", "did you mean beam"),
        ("search.beam_size=1,2", "one value at a time"),
        ("+other=1", "no such option"),
        (3, "an option is text"),
        ("greedy", r"^greedy: options are name=value; did you mean search=greedy\?$"),
        ("search.language_model_weight=0.5", "nothing uses this weight: give search.language_model=RUN too"),
    ],
)
def test_a_mistake_is_one_line(option, says):
    with pytest.raises(UserError, match=says) as caught:
        composed("translate", [option])
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_options_of_no_effect_are_refused():
    assert known(["search=greedy", "search/length_normalization=gnmt", "~search.x"], ["search"], "f")
    with pytest.raises(UserError, match=r"serch=greedy: f\(\.\.\.\) takes other options; did you mean search"):
        known(["serch=greedy"], ["search"], "f")


def test_hydra_is_as_it_was():
    outside = HydraConfig.instance().cfg
    with initialize_config_dir(str(CONF), version_base="1.3"):
        mine = GlobalHydra.instance().hydra
        with composing("train", ["model=cgru"]) as config:
            assert HydraConfig.get().runtime.choices.model == "cgru"
            assert config.run_folder.startswith("/")
            assert "hydra" not in config
        with pytest.raises(UserError):
            composed("train", ["model=none"])
        assert GlobalHydra.instance().hydra is mine
    assert HydraConfig.instance().cfg is outside
    assert not GlobalHydra.instance().is_initialized()


@pytest.mark.parametrize("arguments", [["-c", "settings.yaml"], ["--config-dir"], ["model=rnn_lm"]])
def test_arguments_of_the_program_are_no_options(arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", ["program.py", *arguments])
    with pytest.raises(UserError, match=r"^model=cgruu: there is no such choice; did you mean cgru\?$"):
        composed("train", ["model=cgruu"])
    with pytest.raises(UserError, match=r"^model=ngram_lm: this is trained by counting"):
        composed("check", ["model=ngram_lm"])
    with pytest.raises(UserError, match=r"^logger=tensorbord: there is no such choice; did you mean tensorboard\?$"):
        composed("train", ["logger=[csv,tensorbord]"])


def test_a_file_in_a_folder_that_is_searched_is_named(tmp_path):
    file = tmp_path / "attention" / "mine.yaml"
    file.parent.mkdir()
    file.write_bytes(b"_target_: x # \xe9")
    with pytest.raises(UserError, match=f"^{file}:1: this is not UTF-8"):
        composed("train", ["attention=mine", f"hydra.searchpath=['file://{tmp_path}']"])
