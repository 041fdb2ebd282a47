"""The examples of docs/extend.md, run as printed: files written, diffs applied, commands run, their output compared."""

import doctest
import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from support.scripts import ROOT
from support.shell import run_in_shell

PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
SECTIONS = {section.partition("\n")[0]: section for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}


class Block(NamedTuple):
    """A code block: its language, and its text with a line break at the end."""

    language: str
    text: str


def blocks(section: str) -> list[Block]:
    return [Block(*match) for match in re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)]


def path_of(block: Block, tree: Path) -> Path:
    """The file that the first line of a block names."""
    first = block.text.partition("\n")[0]
    assert first.startswith(("# src/", "# conf/")), f"a {block.language} block must begin with its file: {first}"
    return tree / first.removeprefix("# ")


def apply(diff: str, text: str) -> str:
    """``text`` after a diff without line numbers: hunks between lines of dots, each found by its lines, in order."""
    for hunk in diff.split("...\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"these lines are in the file {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def commands(console: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that it should print."""
    return [
        (command, output)
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, flags=re.MULTILINE)
    ]


def run(command: str, tree: Path, cache: Path) -> str:
    """What ``command`` prints; it must end with status 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "PYTHONPATH"))}
    environment |= {"OMP_NUM_THREADS": "1", "UNROLLED_CACHE": str(cache), "NETRC": os.devnull}
    done = run_in_shell(command, cwd=tree, environment=environment, folder=cache / "shell")
    assert done.status == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


SMALLER = {
    "data/reorder": {"pairs: 20000": "pairs: 200", "_pairs: 500": "_pairs: 12", "max_length: 20": "max_length: 6"},
    "callbacks/default": {"sentences: 4": "sentences: 1"},
}
"""What takes long and shows nothing here: conf/FILE.yaml -> what is replaced."""


def copy_of_the_repository(tree: Path) -> None:
    for folder in ("src", "conf"):
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True)
    for name, changes in SMALLER.items():
        path = tree / "conf" / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        for before, after in changes.items():
            assert before in text
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


def test_the_page_has_an_example_of_each_kind():
    assert list(SECTIONS) == ["An attention", "A decoder", "A data set", "A metric", "A command"]


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_example_runs_as_written(section, tmp_path, cache):
    copy_of_the_repository(tmp_path)
    ran = 0
    for block in blocks(SECTIONS[section]):
        if block.language == "console":
            for command, expected in commands(block.text):
                printed = run(command, tmp_path, cache)
                assert doctest.OutputChecker().check_output(
                    expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                ), f"{command}\nexpected:\n{expected}\nprinted:\n{printed}"
                ran += 1
        elif block.language == "diff":
            path = path_of(block, tmp_path)
            path.write_text(apply(block.text.partition("\n")[2], path.read_text("utf-8")), encoding="utf-8")
        else:
            path = path_of(block, tmp_path)
            assert not path.exists(), f"{path} exists already"
            path.write_text(block.text.partition("\n")[2], encoding="utf-8")
    assert ran > 0
