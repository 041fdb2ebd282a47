"""The command `unrolled`: which commands there are, and what is said where none is named."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.scripts import ROOT

from unrolled.__main__ import commands, description, main


@pytest.fixture
def unrolled(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["/somewhere/bin/unrolled", *arguments])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    return call


def test_every_door_is_a_command():
    assert commands() == sorted(door.stem for door in (ROOT / "src").glob("*.py"))
    assert all(map(description, commands()))


def test_help_lists_every_command(unrolled):
    status, out, err = unrolled("--help")
    assert (status, err) == (0, "")
    *lines, pages = out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert listed == ["unrolled", *commands()]
    assert max(map(len, lines)) <= 80
    assert (Path(pages.strip()) / "training.md").is_file()


def test_help_of_a_command_says_how_it_was_called(unrolled):
    _, out, _ = unrolled("translate", "--help")
    assert "unrolled translate run=RUN" in out
    assert "python src/" not in out


def test_a_python_without_our_packages_gets_a_line(unrolled, monkeypatch):
    real = find_spec
    monkeypatch.setattr("unrolled.__main__.find_spec", lambda name: None if name == "hydra" else real(name))
    status, out, err = unrolled("train", "--help")
    assert (status, out) == (2, "")
    python = sys.executable
    assert err == f"unrolled train: {python} has no hydra: {python} -m pip install -e {ROOT}, or use another Python\n"


@pytest.mark.parametrize("arguments", [["train"], ["--version"], ["--help"], []])
def test_a_package_that_was_installed_without_what_it_needs_gets_a_line(unrolled, monkeypatch, tmp_path, arguments):
    real = find_spec
    monkeypatch.setattr("unrolled.__main__.find_spec", lambda name: None if name == "torch" else real(name))
    monkeypatch.setattr("unrolled.__main__.__file__", f"{tmp_path}/python3/site-packages/unrolled/__main__.py")
    status, out, err = unrolled(*arguments)
    program = " ".join(["unrolled", *(word for word in arguments if word == "train")])
    way = "install the wheel of unrolled again, without --no-deps"
    assert (status, out) == (2, "")
    assert err == f"{program}: {sys.executable} has no torch: {way}, or use another Python\n"


def test_a_mistake_of_the_module_says_how_it_was_called(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/somewhere/unrolled/__main__.py", "rescore"])
    with pytest.raises(SystemExit):
        main()
    program = "python -m unrolled"
    wanted = f"name a list that {program} translate nbest=10 wrote"
    assert capsys.readouterr().err == f"{program} rescore: nbest=FILE is missing: {wanted}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "unrolled: nothing given: name a command first, as in: unrolled train model=cgru\n"),
        (["model=cgru"], "unrolled: model=cgru: name a command first, as in: unrolled train model=cgru\n"),
        (["-m", "seed=1"], "unrolled: -m: name a command first, as in: unrolled train model=cgru\n"),
        (
            ["rescore"],
            "unrolled rescore: nbest=FILE is missing: name a list that unrolled translate nbest=10 wrote\n",
        ),
        (["trian"], "unrolled: trian: there is no such command; did you mean train?\n"),
        (["version"], "unrolled: version: there is no such command; did you mean --version?\n"),
        (["translate.py"], "unrolled: translate.py: there is no such command; did you mean translate?\n"),
        (
            ["translate", "beam=3"],
            "unrolled translate: beam: there is no such option; did you mean search.beam_size?\n",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_the_nearest(unrolled, arguments, said):
    assert unrolled(*arguments) == (2, "", said)
