import logging
import multiprocessing

import pytest

from unrolled.data.corpus import MonolingualText, ParallelText, Reorder
from unrolled.data.modules import DataModule
from unrolled.data.tokenizer import SentencePiece, Words
from unrolled.errors import UserError


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    train = [write(tmp_path / f"train.{side}", [f"{side} {i} x" for i in range(30)]) for side in ("s", "t")]
    rest = [write(tmp_path / f"val.{side}", [f"{side} 1", "", f"{side} 3 \u2028 x"]) for side in ("s", "t")]
    return {"train": train, "val": rest, "test": rest}


def module_of(corpus, cache, tokenizer=None, **options):
    settings = {"max_tokens": 60, "max_length": 20, "seed": 1} | options
    return DataModule(corpus=corpus, tokenizer=tokenizer or Words(), cache=cache, **settings)


def ready(*arguments, **options):
    module = module_of(*arguments, **options)
    module.prepare_data()
    module.setup()
    return module


def test_validation_and_test_keep_every_line(files, tmp_path):
    module = ready(ParallelText(**files), tmp_path / "cache", max_length=3)
    assert sorted(i for batch in module.val_dataloader() for i in batch.index.tolist()) == [0, 1, 2]
    assert module.references("val") == ["t 1", "", "t 3 \u2028 x"]
    assert module.sources("test")[1] == ""


def test_a_pair_is_left_out_if_either_side_is_too_long_or_empty(tmp_path, files, caplog):
    source = ["a", "a " * 5, "a", "", "a", "a a"]
    target = ["b", "b", "b " * 5, "b", "", "b b"]
    files["train"] = [write(tmp_path / "s", source), write(tmp_path / "t", target)]
    with caplog.at_level(logging.INFO):
        module = ready(ParallelText(**files), tmp_path / "cache", max_length=3)
    assert sorted(i for batch in module.train_dataloader() for i in batch.index.tolist()) == [0, 5]
    assert "2 of 6 are longer than max_length=3" in caplog.text
    assert "2 are empty" in caplog.text


def test_nothing_left_is_a_users_mistake(files, tmp_path):
    with pytest.raises(UserError, match=r"no training sentence is left.*max_length=1"):
        ready(ParallelText(**files), tmp_path / "cache", max_length=1)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_files_of_unequal_length_are_refused_in_every_split(files, tmp_path, split):
    files[split] = [files[split][0], write(tmp_path / "short", ["only"])]
    with pytest.raises(UserError, match=r"has \d+ lines and .*short has 1"):
        ready(ParallelText(**files), tmp_path / "cache")


def test_the_cache_serves_again_and_knows_a_changed_corpus(files, tmp_path):
    def stamps():
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}

    first = ready(ParallelText(**files), tmp_path / "cache").fingerprint()
    before = stamps()
    assert ready(ParallelText(**files), tmp_path / "cache").fingerprint() == first
    assert stamps() == before
    write(tmp_path / "train.s", [f"other {i}" for i in range(30)])
    changed = ready(ParallelText(**files), tmp_path / "cache")
    assert changed.fingerprint() != first
    assert before.items() < stamps().items()
    assert changed.source_tokenizer.encode(["other"]) != [[3]]


def test_tokenizers_never_see_validation_or_test_text(files, tmp_path):
    module = ready(ParallelText(**files), tmp_path / "cache")
    assert module.target_tokenizer.encode(["\u2028"]) == [[3]]


def test_joint_and_separate_vocabularies(files, tmp_path):
    joint = ready(ParallelText(**files), tmp_path / "cache", Words(joint=True))
    assert joint.source_tokenizer is joint.target_tokenizer
    separate = ready(ParallelText(**files), tmp_path / "cache", Words(joint=False))
    assert separate.source_tokenizer.encode(["t"]) == [[3]]
    pieces = ready(ParallelText(**files), tmp_path / "cache", SentencePiece(kind="bpe", size=40))
    assert pieces.source_tokenizer is pieces.target_tokenizer


def test_monolingual_text_has_a_target_alone(files, tmp_path):
    one = {split: pair[1] for split, pair in files.items()}
    module = ready(MonolingualText(**one), tmp_path / "cache")
    assert module.source_tokenizer is None
    assert all(batch.source is None for batch in module.train_dataloader())
    with pytest.raises(UserError, match="monolingual"):
        module.sources("val")


def test_the_synthetic_corpus_comes_with_its_alignments(tmp_path):
    options = {"pairs": 50, "validation_pairs": 7, "test_pairs": 5, "vocabulary_size": 40, "max_length": 9}
    module = ready(Reorder(**options), tmp_path / "cache")
    assert len(module.references("test")) == 5
    assert len(module.alignments("val").read_text().splitlines()) == 7
    source_share, target_share = module.padding_share()
    assert 0 <= source_share < 0.5
    assert 0 <= target_share < 0.5


def _prepare(files, cache):
    ready(ParallelText(**files), cache, SentencePiece(kind="bpe", size=40))


def test_two_processes_at_once_make_one_cache(files, tmp_path):
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_prepare, args=(files, tmp_path / "cache")) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    assert not list((tmp_path / "cache").rglob(".*"))
    _prepare(files, tmp_path / "cache")
