"""Pairs from two files, some lines at a time, with their links and weights."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from unrolled.inference.attended_pairs import AttendedPair
from unrolled.inference.scored_pairs import scored_pairs


class Translator(SimpleNamespace):
    """Its score of a pair is known, and every target word looks at the last source word."""

    def score(self, sources, targets):
        self.asked.append(list(sources))
        return [[(source, -1.0), (target, -2.0)] for source, target in zip(sources, targets, strict=True)]

    def attend(self, sources, targets):
        found = []
        for source, target in zip(sources, targets, strict=True):
            s, t = source.split(), target.split()
            weights = torch.zeros(len(t) + 1, len(s) + 1)
            weights[:, len(s) - 1] = 1
            words = list(range(len(s))), list(range(len(t)))
            found.append(AttendedPair([*s, "</s>"], [*t, "</s>"], weights, *words))
        return found


@pytest.fixture
def files(tmp_path):
    for side, lines in (("source", ["a b", "c", "d e f"]), ("target", ["x", "y z", "u v"])):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [str(tmp_path / side) for side in ("source", "target")]


def test_every_pair_is_scored_once_and_in_order(files):
    translator = Translator(asked=[])
    parts = list(scored_pairs(translator, *files, lines=2, alignment=None, weights=None))
    assert translator.asked == [["a b", "c"], ["d e f"]]
    assert [lines for lines, _ in parts] == [["x", "y z"], ["u v"]]
    assert [pieces for _, scored in parts for pieces in scored] == [
        [(source, -1.0), (target, -2.0)] for source, target in (("a b", "x"), ("c", "y z"), ("d e f", "u v"))
    ]


def test_links_and_weights_are_written_for_every_pair(files, tmp_path):
    beside = {"alignment": str(tmp_path / "a.talp"), "weights": str(tmp_path / "w.npz")}
    list(scored_pairs(Translator(asked=[]), *files, lines=2, **beside))
    assert (tmp_path / "a.talp").read_text(encoding="utf-8") == "1-0\n0-0 0-1\n2-0 2-1\n"
    with np.load(tmp_path / "w.npz") as stored:
        assert [stored[name].shape for name in ("0", "1", "2")] == [(2, 3), (3, 2), (3, 4)]
