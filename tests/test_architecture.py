"""Who may know whom: the contracts of pyproject.toml, and what no file may do."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from support.scripts import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "src"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> set[str]:
    """Top-level packages that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@cache
def calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]


def test_import_contracts_hold():
    tool = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert tool, "lint-imports is installed next to python by the dev extra"
    where = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([tool, "--no-cache"], cwd=ROOT, env=where, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


DOORS = sorted((ROOT / "src").glob("*.py"))
COMMANDS = [path for path in SOURCES if path.parent.name == "commands" and path.stem != "__init__"]


def rooms(package: str) -> set[str]:
    """The rooms with files that import ``package``."""
    return {
        "/".join(path.relative_to(ROOT / "src" / "unrolled").parts[:-1])
        for path in SOURCES[len(DOORS) :]
        if "unrolled" in path.parts and package in imports(path)
    }


def test_every_command_has_a_door_and_nothing_else_is_in_src():
    assert [door.name for door in DOORS] == [command.name for command in COMMANDS]
    for door in DOORS:
        assert door.read_text(encoding="utf-8") == (
            f'from unrolled.__main__ import run\n\nif __name__ == "__main__":\n    run("{door.stem}")\n'
        )


def test_no_door_bears_the_name_of_a_module_of_the_standard_library():
    """A script's folder is first on Python's path."""
    assert not {door.stem for door in DOORS} & sys.stdlib_module_names


@pytest.mark.parametrize(
    ("package", "who"),
    [
        ("wandb", {"training/loggers"}),
        ("matplotlib", {"figures"}),
        ("sacrebleu", {"metrics"}),
        ("onnxruntime", {"exported"}),
        ("hydra", {"configuration"}),
        ("omegaconf", {"configuration", "api", "commands"}),
        ("lightning", {"training", "training/callbacks", "training/loggers", "data", "configuration", "api"}),
    ],
)
def test_only_these_rooms_know(package, who):
    assert rooms(package) == who


def test_in_data_only_the_module_knows_lightning():
    assert [name(path) for path in SOURCES if path.parent.name == "data" and "lightning" in imports(path)] == [
        "unrolled/data/module.py"
    ]


@pytest.mark.parametrize("package", ["pickle", "dill", "joblib", "marshal", "shelve"])
def test_nothing_unpickles(package):
    assert not [name(path) for path in SOURCES if package in imports(path)]


def test_nothing_evaluates_text_as_code():
    for path in SOURCES:
        assert not [
            call for call in calls(path) if isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec")
        ]


def test_checkpoints_and_arrays_are_loaded_as_plain_data():
    """torch.load(..., weights_only=True) always; numpy never with allow_pickle."""
    loads = 0
    for path in SOURCES:
        for call in calls(path):
            options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert "allow_pickle" not in options, name(path)
            if ast.unparse(call.func) == "torch.load":
                loads += 1
                assert options.get("weights_only") == "True", name(path)
    assert loads > 0


def test_the_package_writes_nothing_to_stdout_by_print():
    """Results go to stdout by one function; what command.py prints is a mistake's line, on stderr."""
    for path in SOURCES:
        for call in calls(path):
            if isinstance(call.func, ast.Name) and call.func.id == "print":
                assert "file=sys.stderr" in ast.unparse(call), name(path)
                assert name(path) == "unrolled/configuration/command.py"


def test_commands_are_one_screen():
    """Below the docstring, which is what --help says."""
    for path in COMMANDS:
        docstring = tree(path).body[0].end_lineno
        assert len(path.read_text(encoding="utf-8").splitlines()) - docstring <= 75, name(path)


def test_there_are_no_files_for_odds_and_ends():
    assert not [name(path) for path in SOURCES if path.stem in ("utils", "helpers", "common", "misc")]


# Phrases that this project used to be full of, and what to write instead
HABITS = {
    r"\bleav(e|es|ing) [^.\n]{0,60}\baway\b|\bleft away\b": "omit",
    r"\b(go|goes|gone|going) on with\b|\bgoes on\b": "resume, continue",
    r"\bstands?\b": "is, has",
    r"\bbeside\b": "with, next to, besides",
    r'"""of\b': "the size of, the seed of: a docstring says what it is",
}
TEXTS = [
    *(path for path in SOURCES if {"unrolled", "hydra_plugins"} & set(path.relative_to(ROOT / "src").parts)),
    *sorted((ROOT / "src").rglob("*.js")),
    *sorted((ROOT / "conf").rglob("*.yaml")),
    *sorted((ROOT / "benchmarks").glob("*.py")),
    *(path for path in sorted((ROOT / "examples").rglob("*")) if path.suffix in {".py", ".md", ".yaml", ".toml"}),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
]


@pytest.mark.parametrize(("habit", "instead"), HABITS.items(), ids=HABITS.values())
def test_the_docs_and_docstrings_are_plain_english(habit, instead):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(habit, line.lower())
    ]
    assert not found, f"write {instead}:\n" + "\n".join(found)


def test_names_say_what_they_hold():
    """`found`, `part`, `each` and `own` say that there is something, not what."""
    for path in [*SOURCES, *sorted((ROOT / "benchmarks").glob("*.py")), *sorted((ROOT / "examples").rglob("*.py"))]:
        names = {node.id: node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
        names |= {node.arg: node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.arg)}
        names |= {node.attr: node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
        empty = {name: line for name, line in names.items() if name in {"found", "part", "each", "own"}}
        assert not empty, f"{path.relative_to(ROOT)}: {empty}"


def test_no_two_files_have_one_base_name():
    """But a door and its command, a command and what it is about, and fast/X.py, where it is models/X.py."""
    seen: dict[str, str] = {}
    models = {path.stem for path in SOURCES if path.parent.name == "models"}
    for path in SOURCES:
        if path.stem == "__init__" or path in DOORS or path in COMMANDS:
            continue
        if path.parent.name == "fast" and path.stem in models:
            continue
        assert path.stem not in seen, f"{name(path)} and {seen[path.stem]}"
        seen[path.stem] = name(path)


def test_no_two_classes_have_one_name():
    seen: dict[str, str] = {}
    for path in SOURCES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                assert node.name not in seen, f"{node.name}: {name(path)} and {seen[node.name]}"
                seen[node.name] = name(path)


def test_fast_mirrors_the_definitions():
    """fast/X.py is models/X.py with its backward pass, or a part of it; with them is what all of them use."""
    shared = {
        "__init__",
        "cuda_graphs",
        "frozen",
        "hoisted",
        "int8",
        "kernel",
        "linear",
        "lstm",
        "processor",
        "products",
        "recomputed",
        "remembered",
        "rows",
        "siblings",
        "squash",
        "unpadded",
    }
    models = ROOT / "src" / "unrolled" / "models"
    parts = {"feature_attention", "pooled_attention"}  # of attention.py and location_attention.py
    fast = {path.stem for path in (models / "fast").glob("*.py")} - shared - parts
    assert fast
    assert fast <= {path.stem for path in models.glob("*.py")}


@pytest.mark.parametrize("room", ["training", "configuration", "ngram"])
def test_every_file_of_a_room_has_a_test_of_its_own_in_the_mirrored_room(room):
    """tests/ROOM/test_<file>.py, or another file there that imports it."""
    package = ROOT / "src" / "unrolled"
    without = []
    for path in sorted((package / room).rglob("*.py")):
        inside = path.relative_to(package).parent
        tests = sorted((ROOT / "tests" / inside).glob("test_*.py"))
        dotted = ".".join(["unrolled", *inside.parts, path.stem])
        if path.stem != "__init__" and not any(
            test.stem == f"test_{path.stem}" or dotted in test.read_text(encoding="utf-8") for test in tests
        ):
            without.append(dotted)
    assert without == []
