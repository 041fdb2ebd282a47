"""n-gram models to and from ARPA files."""

import math
from pathlib import Path
from typing import TextIO

import torch
from torch import Tensor

from unrolled.data.arpa import Rows, read_arpa, write_arpa
from unrolled.data.tokenizer import Tokenizer, WordTokenizer
from unrolled.errors import UserError
from unrolled.models.ngram.model import NgramLanguageModel, ngram_lm
from unrolled.models.ngram.trie import MisplacedNgram, NgramBlock

LN_10 = math.log(10)
ROWS = 10_000
"""n-grams that are written at a time."""


def save_arpa(model: NgramLanguageModel, tokenizer: Tokenizer, file: TextIO) -> None:
    """Write ``model``, its words as ``tokenizer`` writes them."""
    lengths = ((_rows(block) for block in blocks) for blocks in model.stored(ROWS))
    write_arpa(file, tokenizer.pieces(range(tokenizer.size)), model.sizes(), lengths)


def load_arpa(path: str | Path) -> tuple[NgramLanguageModel, WordTokenizer]:
    """The model of a file, and its words as a tokenizer. UserError: a file that is not whole."""
    words, lengths = read_arpa(path)
    tokenizer = WordTokenizer(words)
    model = ngram_lm(
        source_vocabulary=None,
        target_vocabulary=tokenizer.size,
        attention=None,
        order=len(lengths),
        estimator=None,
    )
    blocks = [
        NgramBlock(torch.from_numpy(ids), torch.from_numpy(log_probs) * LN_10, torch.from_numpy(weights) * LN_10)
        for ids, log_probs, weights in lengths
    ]
    try:
        model.fill(blocks)
    except MisplacedNgram as problem:
        raise UserError(f"{path}: the n-gram {tokenizer.pieces(problem.words)} {problem.what}") from problem
    return model, tokenizer


def _rows(block: NgramBlock) -> Rows:
    def base_10(logs: Tensor) -> Tensor:
        return logs.double() / LN_10

    return Rows(block.words.numpy(), base_10(block.log_probs).numpy(), base_10(block.log_backoffs).numpy())
