"""What the folder of the embedded corpus in the cache depends on."""

from pathlib import Path

from unrolled.data.corpus import Reorder


def test_another_grammar_program_is_another_corpus(tmp_path, monkeypatch):
    corpus = Reorder(pairs=3, validation_pairs=2, test_pairs=2)
    before = corpus.files(tmp_path)["train"].source
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"#" if path.name == "grammar.py" else b""))
    assert corpus.files(tmp_path)["train"].source != before
