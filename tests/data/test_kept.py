"""A damaged cache is made again, with a notice, and gives what it gave before."""

import os
import random
import subprocess
from pathlib import Path

import pytest
from support.scripts import TINY, TINY_MODEL, results, train

from unrolled.data import kept, store
from unrolled.data.kept import SUMS, keep


def make(folder: Path) -> None:
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("b\n")


DAMAGE = {
    "a flipped bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "gone": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link to nowhere": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "a named pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("file", ["inside/a.txt", "b.txt", SUMS, "more.txt"])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_folder_is_made_again(how, file, tmp_path, caplog):
    keep(tmp_path / "kept", make)
    sound = {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.txt")}
    keep(tmp_path / "kept", lambda folder: pytest.fail("it is whole"))
    if file == "more.txt":
        (tmp_path / "kept" / file).write_text("x")
    else:
        DAMAGE[how](tmp_path / "kept" / file)
    keep(tmp_path / "kept", make)
    assert {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.txt")} == sound
    assert "made again" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_another_process_has_mended_is_left_to_it(tmp_path, monkeypatch):
    keep(tmp_path / "kept", make)
    looks = iter([False, True])
    monkeypatch.setattr(kept, "is_whole", lambda folder: next(looks))
    keep(tmp_path / "kept", lambda folder: pytest.fail("it is whole"))
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [SUMS, "b.txt", "inside"]


def test_the_sums_are_those_of_sha256sum(tmp_path):
    keep(tmp_path / "kept", make)
    assert subprocess.run(["sha256sum", "-c", "--quiet", SUMS], cwd=tmp_path / "kept", check=False).returncode == 0


def test_a_named_pipe_is_no_file_of_token_ids(tmp_path):
    os.mkfifo(tmp_path / "ids")
    assert not store.is_whole(tmp_path / "ids")  # and nobody waits for its writer


@pytest.mark.parametrize("vocabulary", [100, 2**17])
def test_no_single_changed_byte_of_token_ids_is_missed(vocabulary, tmp_path):
    path = tmp_path / "ids"
    store.write(path, [[1, 2, 3], [], [4, 5]], vocabulary_size=vocabulary)
    sound = path.read_bytes()
    assert store.is_whole(path)
    for place in range(len(sound)):
        for bit in (1, 128):
            path.write_bytes(sound[:place] + bytes([sound[place] ^ bit]) + sound[place + 1 :])
            assert not store.is_whole(path), place
    for size in range(len(sound)):
        path.write_bytes(sound[:size])
        assert not store.is_whole(path), size
    path.write_bytes(sound + b"\0" * 8)
    assert not store.is_whole(path)


@pytest.mark.slow
def test_a_training_with_a_damaged_cache_comes_out_the_same(tmp_path, caplog):
    """Every file of the cache is damaged in some way, one after the other run."""
    options = [*TINY, *TINY_MODEL, "trainer.max_epochs=1", "logger=csv", "~callbacks.pictures", "alignment=guide"]
    options += ["alignment.source=auto", "~callbacks.attention_record"]
    expected = results(train(tmp_path, *options, folder="sound"))
    files = sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert {path.relative_to(tmp_path / "cache").parts[0] for path in files} == {
        *("reorder", "tokenizers", "ids", "alignments", "links")
    }
    rng = random.Random(1)
    for number in range(3):
        for path in files:
            DAMAGE[rng.choice(["a flipped bit", "empty", "cut", "zeros", "gone"])](path)
        caplog.clear()
        found = results(train(tmp_path, *options, folder=f"run{number}"))
        for name in ("val/loss", "test/loss", "test/bleu", "val/perplexity"):
            assert found.get(name) == expected.get(name), name
        assert caplog.text.count("made again") >= 4


def test_what_is_kept_is_checked(tmp_path, monkeypatch):
    """The tests above fail without the check."""
    keep(tmp_path / "kept", make)
    (tmp_path / "kept" / "b.txt").write_text("x")
    monkeypatch.setattr(kept, "is_whole", lambda folder: folder.exists())
    keep(tmp_path / "kept", make)
    assert (tmp_path / "kept" / "b.txt").read_text() == "x"
