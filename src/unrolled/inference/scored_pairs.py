"""A translator's scores for given pairs, in chunks, and files with its attention."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from unrolled.alignment.links import pharaoh
from unrolled.inference.attended_pairs import word_links
from unrolled.inference.matrices import MatrixFile
from unrolled.inference.scored_pieces import Pieces
from unrolled.inference.trained_translator import TrainedTranslator
from unrolled.text.lines import read_lines


def scored_pairs(
    translator: TrainedTranslator,
    source: str,
    target: str,
    *,
    lines: int,
    alignment: str | None,
    weights: str | None,
) -> Iterator[tuple[list[str], list[Pieces]]]:
    """Chunks of ``lines`` lines of the file ``target``, with their pieces scored as translations of ``source``.

    alignment: a file for word links, in Pharaoh format. weights: an .npz file for attention weights.
    """
    sources, targets = list(read_lines(source)), list(read_lines(target))
    with ExitStack() as files:
        links = files.enter_context(Path(alignment).open("w", encoding="utf-8")) if alignment else None
        matrices = files.enter_context(MatrixFile(Path(weights))) if weights else None
        for start in range(0, len(sources), lines):
            source_lines, target_lines = sources[start : start + lines], targets[start : start + lines]
            yield target_lines, translator.score(source_lines, target_lines)
            if links or matrices:
                pairs = translator.attend(source_lines, target_lines)
                if links:
                    links.writelines(pharaoh(word_links(pair)) + "\n" for pair in pairs)
                if matrices:
                    matrices.add(pair.weights.numpy() for pair in pairs)
