"""What a trained translator looks at, as step 0 of a run."""

from types import SimpleNamespace

import torch

from unrolled.inference.attended_pairs import AttendedPair
from unrolled.inspection import record
from unrolled.inspection.page import PAGE
from unrolled.inspection.snapshot import SENTENCES, add_snapshot


class Echo:
    """Translates a sentence by itself in capitals, and looks where the sentence is."""

    def translations(self, sources):
        return [[SimpleNamespace(text=line.upper(), hypothesis=SimpleNamespace(tokens=[7, 8]))] for line in sources]

    def attend(self, sources, targets, *, inside):
        assert inside
        pieces = [["7", "8"] if target == [7, 8] else target.split() for target in targets]
        pairs = zip(sources, pieces, strict=True)
        return [AttendedPair(source.split(), target, torch.eye(2), [0, 1], [0, 1]) for source, target in pairs]


def test_the_first_sentences_are_recorded_with_reference_and_translation(tmp_path):
    lines = [f"a{number} b" for number in range(SENTENCES + 3)]
    add_snapshot(tmp_path / "run", Echo(), "test", lines, [f"x{number} y" for number in range(SENTENCES + 3)])
    (snapshot,) = record.read(tmp_path / "run")
    assert (snapshot["run"], snapshot["split"], snapshot["step"]) == ("run", "test", 0)
    assert [sentence["line"] for sentence in snapshot["sentences"]] == list(range(1, SENTENCES + 1))
    last = snapshot["sentences"][-1]
    assert (last["text"], last["source"]) == (lines[SENTENCES - 1], ["a7", "b"])
    of_reference, of_translation = last["targets"]["reference"], last["targets"]["translation"]
    assert (of_reference["text"], of_reference["pieces"]) == ("x7 y", ["x7", "y"])
    assert (of_translation["text"], of_translation["pieces"]) == ("A7 B", ["7", "8"])
    assert '"text":"A7 B"' in (tmp_path / "run" / PAGE).read_text(encoding="utf-8")
