"""What libyaml reads is what PyYAML reads, and choices of conf/ are resolved as Hydra resolves them."""

import runpy
from copy import deepcopy
from dataclasses import fields
from unittest.mock import patch

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra._internal import defaults_list
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from unrolled.configuration import quick_omegaconf
from unrolled.configuration.conf import CONF
from unrolled.configuration.quick_omegaconf import QuickLoader

PIECES = ["a", "b: ", "- ", "\n", "\n  ", "[", "]", "{", "}", ", ", "1e3", "1_000", ".5", "yes", "on", "null", "~"]
PIECES += ["\\", '"', "'", " # c", "&x ", "*x", "!!str ", "|\n  t\n", ">\n  t\n", "\t", ":", "a:b", "http://x:1"]
PIECES += ["2020-01-01", "12:30", "${a.b}", "é", "😀", "@", "---\n", "<<: ", "0o7", "0x1F", "+.inf", "--", "\r\n"]
PIECES += ["\u2028", "\ufeff"]


def read(text, loader):
    """The values, or the message of the error, by ``yaml.load``."""
    try:
        return repr(yaml.load(text, loader))
    except yaml.YAMLError as error:
        return error


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@example("a: 1\na: 2\n")
@example("a\t")
@example("\n\ufeff")
@example("[a, b")
@example("[" * 1500)
def test_texts_are_read_as_by_pyyaml(text):
    try:
        python = read(text, quick_omegaconf._python_loader)
    except RecursionError:
        with pytest.raises(RecursionError):
            read(text, QuickLoader)
        return
    assert str(read(text, QuickLoader)) == str(python)


@pytest.mark.parametrize("file", sorted(CONF.rglob("*.yaml")), ids=lambda file: str(file.relative_to(CONF)))
def test_files_of_conf_are_read_as_by_pyyaml(file):
    text = file.read_text(encoding="utf-8")
    assert yaml.load(text, QuickLoader) == yaml.load(text, quick_omegaconf._python_loader)


def test_a_mistake_in_a_file_is_shown_with_its_line(tmp_path):
    (tmp_path / "torn.yaml").write_text("a: 1\nb: [1, 2\nc: 3\n", encoding="utf-8")
    with (tmp_path / "torn.yaml").open(encoding="utf-8") as file, pytest.raises(yaml.YAMLError) as torn:
        yaml.load(file, QuickLoader)
    assert "torn.yaml" in str(torn.value)
    assert "line 3" in str(torn.value)


def test_the_package_may_be_imported_again():
    """As notebooks do, in which OmegaConf stays as it is."""
    path = quick_omegaconf.__file__
    for _ in range(2):
        again = runpy.run_path(path)
        again["install"]()
    try:
        assert OmegaConf.create("a: [1, 2]") == {"a": [1, 2]}
        with pytest.raises(yaml.YAMLError, match="line 1"):
            OmegaConf.create("a: [1, 2")
        with initialize_config_dir(str(CONF), version_base="1.3"):
            assert compose("train").seed == 1
        assert again["_python_loader"].__name__ == "OmegaConfLoader"
    finally:
        quick_omegaconf.install()


@pytest.mark.parametrize("overrides", [[], ["size=large"], ["both=${shape}_large"]])
def test_a_choice_may_be_that_of_another_group(overrides, tmp_path):
    """Hydra resolves such choices by a map that is left out where there are none."""
    files = {
        "main": "defaults:\n- shape: large\n- size: small\n- both: ${shape}_${size}\n",
        "shape/large": "kind: 1\n",
        "size/small": "kind: 2\n",
        "size/large": "kind: 3\n",
        "both/large_small": "kind: 4\n",
        "both/large_large": "kind: 5\n",
    }
    for name, text in files.items():
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = []
    for build in (quick_omegaconf._interpolation_map, quick_omegaconf._map_if_needed):
        with (
            patch.object(defaults_list, "_create_interpolation_map", build),
            initialize_config_dir(str(tmp_path), version_base="1.3"),
        ):
            made.append(compose("main", overrides))
    assert made[0] == made[1]
    assert made[1].both.kind == (4 if not overrides else 5)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab${.}", max_size=4),
        lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from("abc"), values, max_size=3),
        max_leaves=12,
    ),
    st.sampled_from(["readonly", "struct", "allow_objects"]),
)
@example({"a": {"b": 1}, "c": "${a.b}"}, "readonly")
def test_a_copy_is_what_it_was_and_shares_nothing(values, flag):
    try:
        config = OmegaConf.create({"top": values, "list": [values], "cached": 1})
    except OmegaConfBaseException:  # no interpolation, though it begins like one
        return
    config._set_flag(flag, True)
    config._get_node("cached")._set_flag(flag, False)
    copied = deepcopy(config)
    pairs = [(config, copied)]
    for original, new in pairs:
        assert type(new) is type(original)
        assert new is not original
        assert new._metadata is not original._metadata
        assert new._metadata.flags is not original._metadata.flags
        for field in fields(original._metadata):
            assert getattr(new._metadata, field.name) == getattr(original._metadata, field.name)
        content = original.__dict__.get("_content")
        if isinstance(content, dict | list):
            inside = new.__dict__["_content"]
            keys = content if isinstance(content, dict) else range(len(content))
            pairs += [(content[key], inside[key]) for key in keys]
            assert all(inside[key]._get_parent() is new for key in keys)
        else:
            assert new._value() == original._value()
    copied._get_node("cached")._set_flag(flag, True)
    assert config._get_node("cached")._get_flag(flag) is False
