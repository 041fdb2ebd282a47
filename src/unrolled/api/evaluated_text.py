"""The text of a run, as evaluate.py reads it: the file of each split as it is now, and whether that is another one."""

import logging
from collections import deque
from pathlib import Path

from unrolled.alignment.links import known_alignments
from unrolled.configuration.build import text_of
from unrolled.data.corpus import CorpusText
from unrolled.runs.provenance import changed_texts
from unrolled.text.lines import check_same_length

log = logging.getLogger(__name__)


def evaluated_text(run: str, *splits: str) -> CorpusText:
    """The text of the run folder ``run``; a warning if a file of ``splits`` has changed since it was trained.

    UserError: files of a split with different numbers of lines, or links of words that a sentence does not have.
    """
    text = text_of(run)
    for split in dict.fromkeys(splits):
        files = text.split(split)
        if files.source is not None:
            check_same_length(files.source, files.target)
            if files.alignment is not None:
                deque(known_alignments(files.alignment, files.source, files.target, base=files.alignment_base), 0)
        paths = {name: path for name, path in text.text_files().items() if name.startswith(f"{split}.")}
        for path in changed_texts(Path(run), paths):
            log.warning("%s has changed since %s was trained: these figures are of what it holds now", path, run)
    return text
