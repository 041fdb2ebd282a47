"""The shortlist of a run: from the lexicon in its folder, which is learnt from its training text when first needed."""

import logging
import time
from pathlib import Path

import numpy as np
import torch
from omegaconf import DictConfig

from unrolled.alignment.piece_lexicon import Lexicon, learn
from unrolled.configuration.build import text_of
from unrolled.errors import POSITIVE_WHOLE, WHOLE, UserError, check
from unrolled.files import appearing, reading
from unrolled.runs.provenance import changed_texts
from unrolled.search.shortlist import Shortlist
from unrolled.text.lines import check_same_length
from unrolled.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

FILE, MOST = "lexicon.npz", 50


def lexical_shortlist(run: str, node: DictConfig, source: Tokenizer, target: Tokenizer) -> Shortlist:
    """A shortlist of ``node.likely`` translations per source piece and the ``node.frequent`` most frequent pieces.

    UserError: numbers that make no sense, a run without its training text, a damaged lexicon.
    """
    check("search.shortlist.likely", node.likely, POSITIVE_WHOLE)
    check("search.shortlist.frequent", node.frequent, WHOLE)
    if node.likely > MOST:
        raise UserError(f"search.shortlist.likely={node.likely}: at most {MOST}")
    path = Path(run) / FILE
    if not path.exists():
        _write(path, _learn(run, source, target))
    lexicon = _read(path, source.size, target.size)
    return Shortlist(
        likely=torch.from_numpy(lexicon.likely[:, : node.likely].astype(np.int64)),
        frequent=torch.from_numpy(lexicon.frequent[: node.frequent].astype(np.int64)),
    )


def _learn(run: str, source: Tokenizer, target: Tokenizer) -> Lexicon:
    begin = time.perf_counter()
    text = text_of(run)
    train = text.split("train")
    assert train.source is not None
    check_same_length(train.source, train.target)
    paths = {name: path for name, path in text.text_files().items() if name.startswith("train.")}
    for path in changed_texts(Path(run), paths):
        log.warning("%s has changed since %s was trained: the lexicon is of what it holds now", path, run)
    sides = (
        tokenizer.encode(lines)
        for tokenizer, lines in ((source, text.sources("train")), (target, text.references("train")))
    )
    lexicon = learn(*sides, source_vocabulary=source.size, target_vocabulary=target.size, most=MOST)
    log.info("learnt a lexicon from the training text of %s in %.1f s", run, time.perf_counter() - begin)
    return lexicon


def _write(path: Path, lexicon: Lexicon) -> None:
    with appearing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, likely=lexicon.likely, frequent=lexicon.frequent)


def _read(path: Path, source_vocabulary: int, target_vocabulary: int) -> Lexicon:
    with reading(path, "delete it, and it is learnt again"):
        with path.open("rb") as file, np.load(file) as arrays:
            lexicon = Lexicon(arrays["likely"], arrays["frequent"])
        likely, frequent = lexicon.likely, lexicon.frequent
        fits = likely.shape == (source_vocabulary, MOST) and frequent.shape == (target_vocabulary,)
        if not fits or min(likely.min(), frequent.min()) < -1 or max(likely.max(), frequent.max()) >= target_vocabulary:
            raise ValueError("another vocabulary")
    return lexicon
