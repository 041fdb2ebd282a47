"""Links that an aligner finds between the pieces of a text, such as letters and phones."""

import random

import pytest

from unrolled.data.corpus import Files
from unrolled.data.known_alignments import KnownAlignments
from unrolled.text.characters import Characters
from unrolled.text.lines import sha256
from unrolled.text.tokenizer import Words

PHONES = dict(zip("abcdefgh", ("A", "B", "tS", "D", "E", "f", "G", ""), strict=True))  # h is silent


@pytest.fixture
def files(tmp_path):
    """400 words whose letters are spoken one by one."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 9))) for _ in range(400)]
    (tmp_path / "source").write_text("".join(f"{word}\n" for word in words))
    spoken = [" ".join(filter(None, (PHONES[letter] for letter in word))) or "A" for word in words]
    (tmp_path / "target").write_text("".join(f"{phones}\n" for phones in spoken))
    return Files(source=tmp_path / "source", target=tmp_path / "target")


def links(files, folder, origin, **changes):
    """Each word and its links: triples of a letter, a phone and n, for a weight of 1/n."""
    letters, phones = Characters().train([files.source]), Words().train([files.target])
    known = KnownAlignments(files={"train": files}, digest=sha256, cache=folder, origin=origin, **changes)
    known.prepare(letters, phones)
    stored = known.training(letters, phones)
    words = files.source.read_text().split()
    return [(word, stored[number].reshape(-1, 3).tolist()) for number, word in enumerate(words)]


def test_letters_are_linked_to_their_phones(files, tmp_path):
    right = wrong = 0
    for word, triples in links(files, tmp_path, "auto_pieces"):
        spoken = [number for number, letter in enumerate(word) if PHONES[letter]]
        for letter, phone, _ in triples:
            right += letter in spoken and spoken[phone] == letter
            wrong += not (letter in spoken and spoken[phone] == letter)
    assert right > 50 * wrong
    assert right > 0.95 * sum(len(phones.split()) for phones in files.target.read_text().splitlines())


def test_auto_links_words_and_a_word_has_all_its_letters(files, tmp_path):
    for word, triples in links(files, tmp_path, "auto"):
        assert {n for *_, n in triples} == {len(word)}


def test_a_share_of_the_pairs_has_links(files, tmp_path):
    whole, half = (links(files, tmp_path, "auto_pieces", share=share) for share in (1.0, 0.5))
    assert all(some in ([], every) for (_, every), (_, some) in zip(whole, half, strict=True))
    assert 0.4 < sum(bool(triples) for _, triples in half) / len(half) < 0.6


def test_links_that_teach_nothing_are_a_warning(files, tmp_path, caplog):
    links(files, tmp_path, "auto", share=0.5)
    assert caplog.messages == []
    assert not any(triples for _, triples in links(files, tmp_path, "auto", share=0))
    assert caplog.messages == ["no training pair has a link that is used (alignment.share=0): none are learnt"]
