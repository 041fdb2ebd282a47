"""What the folder of the embedded corpus in the cache depends on."""

from unrolled.data import corpus as corpus_module
from unrolled.data.corpus import Reorder
from unrolled.text.lines import sha256


def test_another_grammar_program_is_another_corpus(tmp_path, monkeypatch):
    corpus = Reorder(pairs=3, validation_pairs=2, test_pairs=2)
    before = corpus.files(tmp_path)["train"].source
    monkeypatch.setattr(corpus_module, "sha256", lambda path: sha256(path) + "#" * (path.name == "grammar.py"))
    assert corpus.files(tmp_path)["train"].source != before
