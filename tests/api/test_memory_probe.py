"""The groups in which examples of a memory's probe are counted."""

import numpy as np

from unrolled.api.memory_probe import _groups


def test_only_ascii_white_space_separates_the_words_by_which_examples_are_grouped():
    sources = [" ".join(["a\u00a0b\u3000c"] * 6)] * 12
    lines = np.arange(12)
    groups = list(_groups(sources, lines, np.ones(12)))
    assert [(what, name) for what, name, _ in groups if what != "distance"] == [("all", "all"), ("length", "6 or more")]
