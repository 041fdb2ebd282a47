"""Find the word alignments of a parallel text, as a Pharaoh file.

Usage:
    python src/align.py source=FILE target=FILE > out.talp
    python src/align.py forward=FILE backward=FILE > out.talp

Examples:
    python src/align.py source=a.en target=a.de > a.talp
    python src/align.py source=a.en target=a.de symmetrization=intersection > a.talp
    python src/align.py forward=en-de.A3.final backward=de-en.A3.final > a.talp

The second form symmetrizes the two directions that another aligner has found.
"""

import sys

from omegaconf import DictConfig

from unrolled.alignment.giza import read_direction
from unrolled.alignment.links import Links, pharaoh
from unrolled.alignment.symmetrization import symmetrization
from unrolled.api.aligned_text import OPTIONS, align
from unrolled.configuration.checks import check_unused
from unrolled.configuration.command import command
from unrolled.errors import UserError
from unrolled.text.lines import read_lines, unequal

TEXT, DIRECTIONS = ("source", "target"), ("forward", "backward")


@command("align")
def main(config: DictConfig) -> None:
    named = [name for name in (*TEXT, *DIRECTIONS) if config[name] is not None]
    if tuple(named) not in (TEXT, DIRECTIONS):
        raise UserError(
            f"{' and '.join(named) or 'nothing'} given: name the text, source=FILE target=FILE,"
            " or two alignments of it, forward=FILE backward=FILE"
        )
    links = aligned(config) if tuple(named) == TEXT else symmetrized(config)
    sys.stdout.writelines(f"{pharaoh(line)}\n" for line in links)


def aligned(config: DictConfig) -> list[Links]:
    sources, targets = list(read_lines(config.source)), list(read_lines(config.target))
    if len(sources) != len(targets):
        raise unequal(config.source, len(sources), config.target, len(targets))
    return align(sources, targets, **{name: config[name] for name in OPTIONS})


def symmetrized(config: DictConfig) -> list[Links]:
    check_unused([*{*OPTIONS} - {"symmetrization"}], "another aligner has already found the links of each direction")
    symmetrize = symmetrization(config.symmetrization)
    forward, backward = read_direction(config.forward), read_direction(config.backward, backward=True)
    if len(forward) != len(backward):
        raise unequal(config.forward, len(forward), config.backward, len(backward))
    return [symmetrize(one, other) for one, other in zip(forward, backward, strict=True)]
