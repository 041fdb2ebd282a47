"""ARPA files: what is written is read again, by KenLM too; what is no whole file is refused with its line."""

import gzip
import io
import math
import re
from types import SimpleNamespace

import pytest
import torch

from unrolled.errors import UserError
from unrolled.ngram.additive import AddAlpha, MaximumLikelihood
from unrolled.ngram.arpa import load_arpa, save_arpa, write_arpa
from unrolled.ngram.kneser_ney import KneserNey
from unrolled.ngram.model import NgramLanguageModel
from unrolled.text.tokenizer import WordTokenizer

# "the" is likely after "see", "see the dog" more so; "</s>" after "dog" has no entry
BY_HAND = """made by hand
\\data\\
ngram 1=6
ngram 2=3
ngram 3=1

\\1-grams:
-99\t<s>\t-0.25
-1\t</s>
-2.5\t<unk>\t0
-0.5\tdog\t-0.5
-0.75\tsee\t-0.125
-1.25\tthe -0.375

\\2-grams:
-0.2\tsee the\t-0.0625
-0.1\t<s> see\t-0.3
-0.6\tthe dog

\\3-grams:
-0.05\tsee the dog

\\end\\
"""


def written(model, tokenizer):
    file = io.StringIO()
    save_arpa(model, tokenizer, file)
    return file.getvalue()


def fitted(estimator, order=3):
    tokenizer = WordTokenizer(["a", "b", "c", "d\u00a0e"])
    model = NgramLanguageModel(vocabulary=tokenizer.size, order=order, estimator=estimator)
    sentences = [[4, 5, 4], [5, 6, 4, 5], [6], [4, 5, 7], [3, 4]]
    model.fit(torch.tensor([word for sentence in sentences for word in (1, *sentence, 2)]))
    return model, tokenizer


def score(model, tokenizer, line):
    """log10 p of each word of ``line`` and of </s>."""
    (ids,) = tokenizer.encode([line])
    row = torch.tensor([[1, *ids, 2]])
    batch = SimpleNamespace(target_in=row[:, :-1], target_out=row[:, 1:], target_out_valid=row[:, 1:] != 0)
    return (model.word_log_probs(batch, model.zero_state(1))[0][0] / math.log(10)).tolist()


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("estimator", [KneserNey(discounts=None), AddAlpha(alpha=0.1), MaximumLikelihood()])
def test_what_is_written_is_read_again(estimator, order, tmp_path):
    model, tokenizer = fitted(estimator, order)
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(written(model, tokenizer).encode()))
    read, words = load_arpa(path)
    assert words.sha256 == tokenizer.sha256
    assert torch.equal(read.keys, model.keys)
    torch.testing.assert_close(read.log_probs, model.log_probs, rtol=0, atol=1e-6)
    torch.testing.assert_close(read.log_backoffs, model.log_backoffs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("words", [["<UNK>", "a", "b", "c"], ["a", "b", "c", "<UNK>"]])
def test_a_word_spelt_like_the_unknown_one_is_another_word(words, tmp_path):
    tokenizer = WordTokenizer(words)
    model = NgramLanguageModel(vocabulary=tokenizer.size, order=2, estimator=AddAlpha(alpha=0.1))
    model.fit(torch.tensor([1, 4, 5, 3, 7, 2, 1, 7, 4, 2]))
    (tmp_path / "model.arpa").write_text(written(model, tokenizer), encoding="utf-8")
    read, read_words = load_arpa(tmp_path / "model.arpa")
    assert read_words.sha256 == tokenizer.sha256
    torch.testing.assert_close(read.log_probs, model.log_probs, rtol=0, atol=1e-6)


def test_a_word_spelt_like_the_unknown_one_may_come_first(tmp_path):
    unigrams = {"<unk>": -0.5, "<UNK>": -0.25, "</s>": -0.75, "a": -1.0}
    lines = {word: f"{log_p}\t{word}\n" for word, log_p in unigrams.items()}
    path = tmp_path / "model.arpa"
    for order in (["<unk>", "<UNK>", "</s>", "a"], ["a", "<UNK>", "</s>", "<unk>"]):
        text = "".join(lines[word] for word in order)
        path.write_text(f"\\data\\\nngram 1=4\n\n\\1-grams:\n{text}\n\\end\\\n")
        assert score(*load_arpa(path), "<UNK> b a") == pytest.approx([-0.25, -0.5, -1.0, -0.75])
    path.write_text(path.read_text().replace("\ta\n", "\t<unk>\n"))
    with pytest.raises(UserError, match="arpa:8: the 1-gram '<unk>' occurs twice"):
        load_arpa(path)


def test_the_file_says_what_it_has_and_has_no_padding():
    model, tokenizer = fitted(KneserNey(discounts=None), 2)
    lines = written(model, tokenizer).splitlines()
    assert lines[:3] == ["\\data\\", f"ngram 1={tokenizer.size - 1}", f"ngram 2={model.sizes()[1]}"]
    assert lines[-1] == "\\end\\"
    assert not [line for line in lines if "<pad>" in line]
    assert [line.split("\t")[0] for line in lines if line.split("\t")[1:2] == ["<s>"]] == ["-99.0000000"]
    bigrams = lines[lines.index("\\2-grams:") + 1 : -2]
    assert len(bigrams) == model.sizes()[1]
    assert {line.count("\t") for line in bigrams} == {1}


def test_a_file_by_hand_is_looked_up_with_back_off(tmp_path):
    (tmp_path / "hand.arpa").write_text(BY_HAND, encoding="utf-8")
    model, tokenizer = load_arpa(tmp_path / "hand.arpa")
    expected = [-0.1, -0.3 - 0.2, -0.05, -1 + 0 - 0.5]  # "the dog" is a context without a weight
    assert score(model, tokenizer, "see the dog") == pytest.approx(expected, abs=1e-6)
    expected = [-0.25 - 0.5, -0.5 - 2.5, 0 - 0.75, -0.125 - 1]
    assert score(model, tokenizer, "dog cat see") == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("certain", ["0", "-99"])
def test_the_beginning_of_a_sentence_is_never_a_next_word(certain, tmp_path):
    """KenLM writes 0 for <s>, SRILM -99."""
    (tmp_path / "by_hand.arpa").write_text(re.sub(r"-\S+(?=\t<s>\t)", certain, BY_HAND))
    model, _ = load_arpa(tmp_path / "by_hand.arpa")
    assert f"{certain}\t<s>\t" in (tmp_path / "by_hand.arpa").read_text()
    log_probs, _ = model.step(torch.tensor([1]), model.zero_state(1))
    assert log_probs[0, 1] == -math.inf


def test_kenlm_finds_the_same_probabilities(tmp_path):
    kenlm = pytest.importorskip("kenlm", reason="KenLM is an oracle for ARPA files: pip install kenlm")
    (tmp_path / "hand.arpa").write_text(
        BY_HAND.replace("the -0.375", "the\t-0.375").removeprefix("made by hand\n"), encoding="utf-8"
    )
    pairs = [load_arpa(tmp_path / "hand.arpa")]
    paths = [tmp_path / "hand.arpa"]
    for order in (2, 3, 4):
        pairs.append(fitted(KneserNey(discounts=None), order))
        paths.append(tmp_path / f"{order}.arpa")
        paths[-1].write_text(written(*pairs[-1]), encoding="utf-8")
    for path, (model, tokenizer) in zip(paths, pairs, strict=True):
        oracle = kenlm.Model(str(path))
        for line in ("see the dog", "a b a", "b c a b a x b", "x", "", "d\u00a0e a", "the the see dog"):
            found = [log_p for log_p, _, _ in oracle.full_scores(line)]
            assert score(model, tokenizer, line) == pytest.approx(found, abs=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\\data\\\n", "", ["too early"]),
        ("\\end\\\n", "", ["too early"]),
        ("ngram 1=", "ngram 1=0\nngram 1=", ["arpa:3", "there is no 1-gram"]),
        ("ngram 2=3", "ngram 3=3", ["arpa:4", "length 2"]),
        ("ngram 2=3", "ngram 2=4", ["3 2-grams", "says 4"]),
        ("ngram 2=3", "ngram 2=" + "9" * 5000, ["arpa:4", "should be"]),
        ("-0.5\tdog\t-0.5", "-0.5\tdog\tinf", ["arpa:11", "infinite"]),
        ("-0.5\tdog\t-0.5", "-0.5\tdog\t1e39", ["arpa:11", "infinite"]),
        ("\\1-grams:", "\\one-grams:", ["arpa:7", "one-grams"]),
        ("see the\t", "see the dog\t", ["arpa:16", "is no 2-gram"]),
        ("-0.2\tsee the", "-0.2\tsee thee", ["arpa:16", "'thee' is no 1-gram"]),
        ("-0.2\tsee the", "x\tsee the", ["arpa:16", "a number should be"]),
        ("-0.2\tsee the", "-1_0\tsee the", ["arpa:16", "a number should be"]),
        ("-0.5\tdog\t-0.5", "-0.5\tdog\t-0_5", ["arpa:11", "a number should be"]),
        ("-0.2\tsee the", "0.2\tsee the", ["arpa:16", "above 1"]),
        ("-0.2\tsee the", "nan\tsee the", ["arpa:16", "above 1"]),
        ("ngram 2=3", "ngram 2=3\n" + "\n".join(f"ngram {n}=1" for n in range(3, 8)), ["arpa:9", "7 words; at most 6"]),
        ("\tthe -", "\tsee -", ["1-gram 'see' occurs twice"]),
        ("\tthe -", "\t<pad> -", ["<pad> is the name of padding"]),
        ("-0.6\tthe dog", "-0.2\tsee the\t0", ["'see', 'the'", "twice"]),
        ("see the dog", "dog the see", ["'dog', 'the', 'see'", "has no context"]),
    ],
)
def test_what_is_no_whole_file_is_refused_with_its_line(old, new, said, tmp_path):
    path = tmp_path / "bad.arpa"
    assert old in BY_HAND
    path.write_text(BY_HAND.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError) as problem:
        load_arpa(path)
    assert [words for words in said if words not in str(problem.value)] == []
    assert str(path) in str(problem.value)


def test_counts_may_have_spaces_around_them(tmp_path):
    path = tmp_path / "spaces.arpa"
    path.write_text(re.sub(r"ngram (\d)=", r"ngram  \1=       ", BY_HAND), encoding="utf-8")
    model, tokenizer = load_arpa(path)
    assert (model.order, tokenizer.size) == (3, 7)


def test_a_piece_with_white_space_is_refused_before_anything_is_written():
    file = io.StringIO()
    with pytest.raises(UserError, match="'\\\\t'"):
        write_arpa(file, ["<pad>", "a", "\t"], [3], [])
    assert file.getvalue() == ""


def test_a_closed_vocabulary_gives_unknown_words_nothing(tmp_path):
    path = tmp_path / "closed.arpa"
    path.write_text(BY_HAND.replace("-2.5\t<unk>\t0\n", "").replace("ngram 1=6", "ngram 1=5"), encoding="utf-8")
    assert score(*load_arpa(path), "dog cat")[1] == -math.inf
