"""docs/transduction.md: from a two-column file to a word error rate in three commands, as the page has them."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from support.scripts import ROOT, call_script

PAGE = (ROOT / "docs" / "transduction.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*)$", PAGE.partition("## Tables")[0], flags=re.MULTILINE)
SMALL = ["trainer.max_epochs=2", "model.embedding_size=8", "model.encoder_size=6", "model.decoder_size=12"]
"""All that is not as on the page."""
SOUNDS = {"a": "æ", "b": "b", "c": "k", "d": "d", "e": "ɛ", "th": "θ"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("language")
    words = [f"{one}{two}{three}" for one in SOUNDS for two in "ae" for three in SOUNDS]
    rows = (f"{word}\t{' '.join(SOUNDS[each] for each in re.findall('th|.', word))}\n" for word in words)
    (folder / "english.tsv").write_text("".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder):
    """What the page's training leaves behind, from files that the page's first command has made."""
    head, split, train, _ = COMMANDS
    assert head.startswith("head")
    subprocess.run(["bash", "-c", split], cwd=folder, check=True)
    done = called(train, folder, *SMALL)
    assert done.status == 0, done.stderr
    return folder / "english"


def test_three_commands_lead_from_a_file_to_a_word_error_rate(folder, run):
    parts = [(folder / f"english_{part}.tsv").read_text().splitlines() for part in ("train", "dev", "test")]
    assert sorted(line for part in parts for line in part) == sorted((folder / "english.tsv").read_text().splitlines())
    results = json.loads((run / "results.json").read_text())
    assert results["status"] == "completed"
    done = called(COMMANDS[-1], folder)
    assert done.status == 0, done.stderr
    figures = dict(line.rsplit(None, 1) for line in done.stdout.splitlines() if "rate" in line)
    assert float(figures["word_error_rate"]) == pytest.approx(results["test/word_error_rate"], rel=1e-3)
    assert any(name.startswith("word_error_rate, source of 1 to 3 letters") for name in figures)


def test_the_run_does_all_that_the_page_says(folder, run):
    assert call_script("translate.py", "run=english", cwd=folder, text="bad\nthe\n").stdout.count("\n") == 2
    assert call_script("look.py", "runs=english", cwd=folder).status == 0
    assert (run / "attention.html").is_file()
    record = (run / "attention.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["split"] for line in record} == {"test"}  # callbacks=small
    compared = call_script("compare.py", "runs=english", "over=data.language", cwd=folder)
    assert compared.status == 0, compared.stderr
    assert "english" in compared.stdout


def called(command, folder, *more):
    python, script, *arguments = shlex.split(command)
    assert (python, script[:4]) == ("python", "src/")
    return call_script(script.removeprefix("src/"), *arguments, *more, cwd=folder, looking=True)


def test_every_option_of_the_page_is_one():
    from unrolled.configuration.composition import composed

    config = composed("train", ("experiment=inflection", "data.train=a", "data.val=b", "data.test=c"))
    assert (config.data.columns.features, config.data.symbols) == (3, "grapheme")
    assert config.objective.mode == "min"
    assert "beam_size" not in config.validation_search
    chosen = composed("train", ("experiment=g2p", "data.root=a", "data.language=b", "validation_search=beam"))
    assert chosen.validation_search == chosen.search


DATA = Path(os.environ.get("UNROLLED_DATA", ROOT / ".." / "shared" / "data")) / "g2p-2021"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there; UNROLLED_DATA names the folder around it")
def test_the_sweep_has_the_languages_of_the_task():
    """The names in conf/ are those of the published files."""
    sweep = yaml.safe_load((ROOT / "conf" / "sweep" / "g2p.yaml").read_text(encoding="utf-8"))
    languages = sweep["hydra"]["sweeper"]["params"]["data.language"].split(",")
    assert len(languages) == len(set(languages)) == 21
    assert set(languages) == {path.name.removesuffix("_train.tsv") for path in DATA.rglob("*_train.tsv")}
