"""Heat maps of several sentences: which files there are, and what they show."""

import pytest
import torch
from matplotlib.collections import PathCollection

from unrolled.inference.attended_pairs import AttendedPair
from unrolled.inspection import heat_maps

PAIRS = [
    AttendedPair(["a", "b", "</s>"], ["x", "</s>"], torch.eye(2, 3), [0, 1], [0]),
    AttendedPair(["c", "</s>"], ["y", "z", "</s>"], torch.full((3, 2), 0.5), [0], [0, 1]),
]


@pytest.fixture
def saved(monkeypatch):
    """The figures by their paths, which are not drawn."""
    figures = {}
    monkeypatch.setattr(heat_maps, "save_figure", lambda figure, path: figures.update({path: figure}))
    return figures


def test_a_picture_is_named_and_titled_by_its_line_from_one(saved, tmp_path):
    paths = heat_maps.save_alignments(tmp_path, "val", [0, 6], PAIRS, formats=("png", "pdf"), run="mine, step 9")
    names = [f"val-{line}.{form}" for line in (1, 7) for form in ("png", "pdf")]
    assert paths == list(saved) == [tmp_path / "figures" / name for name in names]
    (axes,) = saved[paths[3]].axes
    assert axes.get_title(loc="left") == "mine, step 9\nval, line 7"
    assert axes.get_ylabel() == "translation"
    assert axes.images[0].get_array().tolist() == PAIRS[1].weights.tolist()


def test_references_have_names_of_their_own_and_their_links_as_circles(saved, tmp_path):
    links = [({(1, 0)}, {(1, 0), (0, 0)}), ({(0, 1)}, {(0, 1)})]
    paths = heat_maps.save_alignments(tmp_path, "test", [2, 3], PAIRS, links, run="mine")
    assert [path.name for path in paths] == ["test-3-reference.png", "test-4-reference.png"]
    circles = [
        [one.get_offsets().tolist() for one in saved[path].axes[0].collections if isinstance(one, PathCollection)]
        for path in paths
    ]
    assert circles == [[[[1, 0]], [[0, 0]]], [[[0, 1]]]]
    assert saved[paths[0]].axes[0].get_ylabel() == "reference"


def test_every_pair_needs_its_line(saved, tmp_path):
    with pytest.raises(ValueError, match="zip"):
        heat_maps.save_alignments(tmp_path, "val", [0], PAIRS, run="mine")
