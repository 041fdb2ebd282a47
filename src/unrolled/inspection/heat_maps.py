"""Writing heat maps of several sentences to a run folder."""

from collections.abc import Sequence
from pathlib import Path

from unrolled.alignment.pieces import Alignment
from unrolled.figures.formats import save_figure
from unrolled.inference.attended_pairs import AttendedPair


def save_alignments(
    folder: Path,
    split: str,
    lines: Sequence[int],
    pairs: Sequence[AttendedPair],
    alignments: Sequence[Alignment] | None = None,
    formats: Sequence[str] = ("png",),
    *,
    run: str,
) -> list[Path]:
    """Draw the ``pairs``, which are these ``lines`` of a split, from 0, into ``folder``/figures/SPLIT-LINE.png.

    Returns the paths; in names and titles lines count from 1. Given known ``alignments`` of their pieces, the pairs
    are references, and the files SPLIT-LINE-reference.png show these links. run: the name, and the step, for titles.
    """
    paths = []
    for number, (line, pair) in enumerate(zip(lines, pairs, strict=True)):
        title, name = f"{run}\n{split}, line {line + 1}", f"{split}-{line + 1}"
        sure, possible = (set(), set()) if alignments is None else alignments[number]
        if alignments is not None:
            name = f"{name}-reference"
        target = "translation" if alignments is None else "reference"
        from unrolled.figures.heat_map import alignment_figure  # loads matplotlib, only if there is a pair to draw

        figure = alignment_figure(pair.source, pair.target, pair.weights.numpy(), sure, title, possible, target)
        paths += [folder / "figures" / f"{name}.{form}" for form in formats]
        for path in paths[-len(formats) :]:
            save_figure(figure, path)
    return paths
