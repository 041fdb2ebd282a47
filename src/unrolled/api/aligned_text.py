"""Word links between sentences and their translations, as align.py finds them."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from unrolled.alignment.aligner import Aligner
from unrolled.alignment.links import Links
from unrolled.api.judged_sentences import texts
from unrolled.errors import UserError, nearest

OPTIONS = tuple(field.name for field in fields(Aligner))


def align(sources: Sequence[str], targets: Sequence[str], **options: Any) -> list[Links]:
    """{(i, j), ...} for each pair: source word i is linked to target word j, both from 0; words as they are written.

    The models are trained on these very sentences, so give many. options: of align.py, such as iterations=5 or
    symmetrization="intersection". UserError: as many targets as sources are needed; no such option.
    """
    for name in options:
        if name not in OPTIONS:
            raise UserError(f"{name}: there is no such option{nearest(name, OPTIONS)}")
    for side, sentences in (("sources", sources), ("targets", targets)):
        if isinstance(sentences, str):
            raise UserError(f"{side}={sentences!r:.60}: give a list of sentences")
    sources, targets = texts(sources, "sources"), texts(targets, "targets")
    if len(sources) != len(targets):
        raise UserError(f"{len(sources)} sources and {len(targets)} targets: give a target for each source")
    return Aligner(**options).align(sources, targets)
