"""A tokenizer for each side, by the spelling ``tokenizer.source=`` and ``tokenizer.target=``; the run can be used."""

import pytest
from support.composed_once import composed_once
from support.conf import CONF
from support.scripts import TINY, TINY_MODEL, call_script, results, write_pair

from unrolled.configuration.composition import composed
from unrolled.text.characters import CharacterTokenizer
from unrolled.text.sides import load_tokenizers
from unrolled.text.tokenizer import SentencePieceTokenizer, WordTokenizer

STEP = ["trainer.max_steps=1", "logger=csv", "hydra.run.dir=run", "~callbacks.pictures", "~callbacks.attention_record"]
WORDS = ["née", "two words", "👩🏽\u200d🚀", "שלום"]
PHONES = ["n eː", "t uː w ɜː d z", "a", "ʃ a l o m"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    splits = ("train", "val", "test")
    text = ["data=parallel_text", *(f"data.{split}={write_pair(folder, split, WORDS, PHONES)}" for split in splits)]
    sides = ["tokenizer.source=character", "tokenizer.target=word", "tokenizer.source.normalization=nfd"]
    done = call_script("train.py", *text, *sides, *TINY_MODEL, *STEP, cwd=folder)
    assert done.status == 0, done.stderr
    return folder


def test_each_side_has_its_own(folder):
    source, target = load_tokenizers(folder / "run" / "tokenizer")
    assert isinstance(source, CharacterTokenizer)
    assert isinstance(target, WordTokenizer)
    assert source.encode(["née"]) != source.encode(["nee"])
    assert len(source.encode(["two words"])[0]) == 9
    assert target.encode(["n eː"]) == [[target.encode(["n"])[0][0], target.encode(["eː"])[0][0]]]


def test_the_run_translates_scores_and_evaluates(folder):
    assert results(folder / "run")["status"] == "completed"
    done = call_script("translate.py", "run=run", cwd=folder, text="née\n\n👩🏽\u200d🚀 שלום\n")
    assert (done.status, len(done.stdout.splitlines())) == (0, 3)
    (folder / "s.txt").write_text("née\n")
    (folder / "t.txt").write_text("n eː\n")
    assert call_script("score.py", "run=run", "source=s.txt", "target=t.txt", cwd=folder).status == 0
    assert call_script("evaluate.py", "run=run", cwd=folder).status == 0


def test_one_side_alone_leaves_the_other_as_it_is(tmp_path):
    sizes = [*TINY, *TINY_MODEL, *STEP]
    assert call_script("train.py", "tokenizer=bpe", "tokenizer.size=60", "tokenizer.target=character", *sizes,
                       cwd=tmp_path).status == 0  # fmt: skip
    source, target = load_tokenizers(tmp_path / "run" / "tokenizer")
    assert isinstance(source, SentencePieceTokenizer)
    assert isinstance(target, CharacterTokenizer)


def test_every_tokenizer_is_offered_for_each_side():
    names = {file.stem for file in (CONF / "tokenizer").glob("*.yaml")}
    with composed_once():
        alone = {name: composed("train", (f"tokenizer={name}",)).tokenizer for name in names}
        for side in ("source", "target"):
            assert {file.stem for file in (CONF / f"tokenizer.{side}").glob("*.yaml")} == names
            for name in names:
                config = composed("train", (f"tokenizer.{side}={name}",))
                assert config.tokenizer[side] == alone[name]
                assert config.data.module.tokenizer[side] == alone[name]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["tokenizer.source=charcter"], "tokenizer.source=charcter: there is no such choice; did you mean character?"),
        (["tokenizer.source=character", "tokenizer.source.unit=x"], "tokenizer.unit=x is unknown"),
        (["tokenizer.target.size=9"], "tokenizer.target: there is no such option"),
        (["data=monolingual_text", "model=rnn_lm", *(f"data.{s}=t.txt" for s in ("train", "val", "test")),
          "tokenizer.source=word"], "this text has one side only; use tokenizer=..."),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(options, says, tmp_path):
    (tmp_path / "t.txt").write_text("a b\n")
    done = call_script("train.py", *options, "logger=csv", "hydra.run.dir=run", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert says in line
