"""A mistake in a file of the user's own is one line that names the file."""

import pytest
from support.scripts import TINY, TINY_MODEL, call_script

MODULE = """
from unrolled.models.attention import BahdanauAttention

class Mine(BahdanauAttention):
    pass

class PassesOn(BahdanauAttention):
    def __init__(self, **options):
        super().__init__(**options)

class Broken(BahdanauAttention):
    def __init__(self, **options):
        super().__init__(**options)
        len(3)

class Another:
    def __init__(self, **options):
        pass
"""
MINE = "_target_: own_parts_here.Mine\n_partial_: true\nsize: 8\n"
FILES = {
    "unknown": (MINE + "sise: 3\n", "conf/attention/unknown.yaml: BahdanauAttention has no option sise: remove it"),
    "passed_on": (
        MINE.replace("Mine", "PassesOn") + "sise: 3\n",
        "conf/attention/passed_on.yaml: BahdanauAttention has no option sise: remove it",
    ),
    "needed": (MINE.replace("size: 8\n", ""), "conf/attention/needed.yaml: BahdanauAttention needs size: add it"),
    "no_class": ("size: 8\n", "attention: its configuration must name a class or function: add the line"),
    "empty": ("", "attention=empty: this choice has no options: is its file empty"),
    "no_partial": (
        MINE.replace("_partial_: true\n", ""),
        "attention: its configuration must contain the line",
    ),
    "no_yaml": ("_target_: a\n  size: [8\n", "conf/attention/no_yaml.yaml:2: this cannot be read as YAML: mapping"),
    "system": (MINE.replace("own_parts_here.Mine", "os.system"), "attention._target_: os.system may not be called"),
    "another": (
        MINE.replace("Mine", "Another"),
        "own_parts_here.Another is not a subclass of unrolled.models",
    ),
    "no_import": (
        MINE.replace("own_parts_here", "own_import"),
        "own_import.py:1: ModuleNotFoundError: No module",
    ),
    "no_python": (MINE.replace("own_parts_here", "own_syntax"), "own_syntax.py:2: "),
    "no_utf8": ("size: 8\nname: \udcfc\n", "conf/attention/no_utf8.yaml:2: this is not UTF-8"),
    "a_list": ("- a\n", "conf/attention/a_list.yaml: this is a list: give options"),
    "no_defaults": ("defaults: bahdanau\n", "no_defaults.yaml: defaults: this must be a list, such as [bahdanau]"),
    "no_default": ("defaults: [nope]\n", "attention/no_default.yaml: defaults: there is no attention/nope"),
    "elsewhere": (f"# @package _global_\n{MINE}", "attention=elsewhere: its options are not in attention: remove"),
    "no_such": (MINE.replace("Mine", "Mime"), "own_parts_here has no Mime; did you mean Mine?"),
    "no_module": (MINE.replace("own_parts_here", "elsewhere"), "there is no module elsewhere: install its package, or"),
    "no_callable": (
        MINE.replace("own_parts_here.Mine", "sys.path"),
        "name a class or a function: this is of type",
    ),
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with parts of one's own."""
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    for name, (content, _) in FILES.items():
        (tmp_path / "conf" / "attention" / f"{name}.yaml").write_text(content, "utf-8", "surrogateescape")
    (tmp_path / "own_parts_here.py").write_text(MODULE)
    (tmp_path / "own_import.py").write_text("import no_such_module\n")
    (tmp_path / "own_syntax.py").write_text("\ndef f(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def train(folder, *options):
    return call_script("train.py", *TINY, *TINY_MODEL, "trainer.max_steps=1", *options, cwd=folder)


@pytest.mark.parametrize("name", FILES)
def test_a_mistake_in_a_choice_of_ones_own(name, own):
    done = train(own, f"attention={name}", "logger=csv")
    assert done.status == 2
    (line,) = done.stderr.splitlines()
    assert FILES[name][1] in line


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "+callbacks.mine._target_=own_parts_here.Another",
            "callbacks.mine: own_parts_here.Another is not a",
        ),
        (
            "+logger.mine._target_=own_parts_here.Nope",
            "logger.mine._target_: own_parts_here.Nope: own_parts",
        ),
        ("~optimizer._partial_", "optimizer: its configuration must contain the line _partial_: true"),
    ],
)
def test_a_mistake_in_an_option(option, said, own):
    done = train(own, option, "logger=csv")
    assert (done.status, said in done.stderr) == (2, True), done.stderr


def test_an_error_inside_a_class_keeps_its_traceback(own):
    (own / "conf" / "attention" / "broken.yaml").write_text(MINE.replace("Mine", "Broken"))
    with pytest.raises(TypeError, match=r"of type 'int' has no len\(\)"):
        train(own, "attention=broken", "logger=csv")
