"""What the folder of the embedded corpus in the cache depends on, and lines of files that change."""

from unrolled.data import corpus as corpus_module
from unrolled.data.corpus import CorpusText, ParallelText, Reorder
from unrolled.text.lines import sha256


def test_another_grammar_program_is_another_corpus(tmp_path, monkeypatch):
    corpus = Reorder(pairs=3, validation_pairs=2, test_pairs=2)
    before = corpus.files(tmp_path)["train"].source
    monkeypatch.setattr(corpus_module, "sha256", lambda path: sha256(path) + "#" * (path.name == "grammar.py"))
    assert corpus.files(tmp_path)["train"].source != before


def test_sources_that_were_evaluated_stay_the_same_when_their_file_changes(tmp_path):
    path = tmp_path / "text"
    path.write_text("a\nb\n")
    text = CorpusText(ParallelText(train=[path, path], val=[path, path], test=[path, path]), tmp_path)
    assert text.sources("test") == ["a", "b"]
    path.write_text("c\n")
    assert text.sources("test") == ["a", "b"]
    assert text.sources("train") == ["c"]
