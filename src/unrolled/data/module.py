"""The data module that all models share: text files in, batches out."""

import logging
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lightning
import numpy as np
from lightning.pytorch.utilities import rank_zero_only
from numpy.typing import NDArray

from unrolled.alignment.pieces import words_of_line
from unrolled.data import kept, store
from unrolled.data.continuous import ContinuousText, StreamLoader
from unrolled.data.corpus import Corpus, CorpusText
from unrolled.data.encode import encode
from unrolled.data.known_alignments import KnownAlignments
from unrolled.data.loader import BatchLoader
from unrolled.data.sampler import TokenBudgetBatches, evaluated_positions
from unrolled.data.store import TokenStore
from unrolled.errors import POSITIVE_WHOLE, UserError, check
from unrolled.files import clean
from unrolled.text.lines import check_same_length, check_unchanged, count_lines, unequal
from unrolled.text.sides import PerSide, load_tokenizers, of_sides, programs, with_features
from unrolled.text.tokenizer import Tokenizer, TokenizerChoice, fingerprint, save_tokenizers
from unrolled.text.tokens import EOS, LONGEST

log = logging.getLogger(__name__)

EVALUATION_STEPS = 500  # words of a continuous text that are evaluated at a time


class DataModule(lightning.LightningDataModule):
    """Trains tokenizers, keeps token ids in ``cache``, and provides batches.

    max_tokens: padded positions of either side of a training batch, with </s>; `evaluated_positions` of the others.
    max_sentences: rows of a batch, None for no limit. max_length: a training pair with a longer side, in tokens without
    </s>, or with an empty side is omitted; every line of validation and test is used. seed: of the order of training
    batches. stream: the lines are one continuous text, used as a whole, in stream_rows rows that are read in parallel,
    stream_steps words at a time; validation and test use one row per rank. alignment_source, alignment_share: the
    origin of the known alignments in training batches, and the share of the pairs that have them, see
    `KnownAlignments`.

    ``text`` has the lines themselves. After `setup`: ``source_tokenizer`` (None for monolingual text) and
    ``target_tokenizer``, the same object if they are joint, and ``notices``, a list of lines for the user.
    """

    source_tokenizer: Tokenizer | None
    target_tokenizer: Tokenizer

    def __init__(
        self,
        *,
        corpus: Corpus,
        tokenizer: TokenizerChoice | PerSide,
        cache: str | Path,
        max_tokens: int,
        max_length: int,
        seed: int,
        max_sentences: int | None = None,
        stream: bool = False,
        stream_rows: int = 20,
        stream_steps: int = 35,
        alignment_source: str | None = None,
        alignment_share: float = 1.0,
    ) -> None:
        super().__init__()
        sizes = {"max_tokens": max_tokens, "max_length": max_length}
        for name, size in (sizes | {"stream_rows": stream_rows, "stream_steps": stream_steps}).items():
            check(f"data.{name}", size, POSITIVE_WHOLE)
        if max_sentences is not None:
            check("data.max_sentences", max_sentences, POSITIVE_WHOLE)
        self._cache = Path(cache)
        self.text = CorpusText(corpus, self._cache)
        self._tokenizer = with_features(tokenizer, self.text.feature_separator)
        self._max_tokens, self._max_length, self._max_sentences = max_tokens, max_length, max_sentences
        self._stream, self._stream_rows, self._stream_steps = stream, stream_rows, stream_steps
        self._seed = seed
        self._alignment_source, self._alignment_share = alignment_source, alignment_share
        self._stores: dict[str, tuple[TokenStore | None, TokenStore]] = {}
        self._links: TokenStore | None = None
        self._lines: dict[str, NDArray[Any]] = {}
        self.notices: list[str] = []

    # Where things are

    @cached_property
    def _known(self) -> KnownAlignments:
        return KnownAlignments(
            files=self.text.files,
            digest=lambda path: self.text.hashes[path],
            cache=self._cache,
            origin=self._alignment_source,
            share=self._alignment_share,
        )

    @property
    def _tokenizer_folder(self) -> Path:
        """Its name depends on the training text and everything else that determines the tokenizers."""
        train = self.text.files["train"]
        text = [None if path is None else self.text.hashes[path] for path in (train.source, train.target)]
        key = kept.name_in_cache(text, self._tokenizer, programs(self._tokenizer), version("sentencepiece"))
        return self._cache / "tokenizers" / key

    def _store_path(self, text: Path, tokenizer: Tokenizer) -> Path:
        return self._cache / "ids" / kept.name_in_cache(self.text.hashes[text], tokenizer.sha256)

    # Preparation

    @property
    def is_parallel(self) -> bool:
        """Whether the text has a source side."""
        return self.text.files["train"].source is not None

    @property
    def is_prepared(self) -> bool:
        """Whether tokenizers for this training text are cached."""
        return self._tokenizer_folder.exists()

    def prepare_data(self) -> None:
        """Train the tokenizers and write the token ids, unless they are cached. UserError: bad text files."""
        if self._stores:  # Lightning asks once more
            return
        clean(self._cache)
        folder = self._tokenizer_folder
        if not kept.is_whole(folder):
            for files in self.text.files.values():  # all of them, before the long work
                if files.source is None:
                    count_lines(files.target)
                else:
                    check_same_length(files.source, files.target)
            kept.keep(folder, self._make_tokenizers)
        source_tokenizer, target_tokenizer = load_tokenizers(folder, self._tokenizer)
        for files in self.text.files.values():
            if files.source is not None and source_tokenizer is not None:
                self._write_ids(files.source, source_tokenizer)
            self._write_ids(files.target, target_tokenizer)
        if source_tokenizer is not None:
            self._known.prepare(source_tokenizer, target_tokenizer)

    def _make_tokenizers(self, folder: Path) -> None:
        save_tokenizers(folder, *self._train_tokenizers())
        train = self.text.files["train"]
        for path in (train.source, train.target):
            if path is not None:
                check_unchanged(path, self.text.hashes[path])

    def _train_tokenizers(self) -> tuple[Tokenizer | None, Tokenizer]:
        train = self.text.files["train"]
        of_source, of_target = of_sides(self._tokenizer)
        if train.source is None:
            if of_source is not of_target:
                raise UserError("tokenizer.source, tokenizer.target: this text has one side only; use tokenizer=...")
            return None, of_target.train([train.target])
        if of_source is of_target and of_source.joint:
            joint = of_source.train([train.source, train.target])
            return joint, joint
        return of_source.train([train.source]), of_target.train([train.target])

    def _write_ids(self, text: Path, tokenizer: Tokenizer) -> None:
        path = self._store_path(text, tokenizer)
        if not store.is_whole(path):
            if path.exists():
                log.warning("%s: damaged, or from an earlier version; it will be made again", path)
            store.write(path, self._encoded(text, tokenizer), vocabulary_size=tokenizer.size)

    def _encoded(self, text: Path, tokenizer: Tokenizer) -> Iterator[list[int]]:
        yield from encode(text, tokenizer)
        check_unchanged(text, self.text.hashes[text])  # else these ids would be kept under another text's name

    def setup(self, stage: str | None = None) -> None:
        """Open what `prepare_data` made. UserError: nothing survives the length filter."""
        if self._stores:
            return
        self.source_tokenizer, self.target_tokenizer = load_tokenizers(self._tokenizer_folder, self._tokenizer)
        for split, files in self.text.files.items():
            target = TokenStore.open(self._store_path(files.target, self.target_tokenizer))
            source = None
            if files.source is not None and self.source_tokenizer is not None:
                source = TokenStore.open(self._store_path(files.source, self.source_tokenizer))
                if len(source) != len(target):
                    raise unequal(files.source, len(source), files.target, len(target))
            for text, side in ((files.source, source), (files.target, target)) if split != "train" else ():
                check_text(text, side)
                if not self._stream:  # training omits what is longer than max_length
                    check_lengths(text, side)
            self._stores[split] = source, target
            self._lines[split] = np.arange(len(target))
        if self.source_tokenizer is not None:
            self._links = self._known.training(self.source_tokenizer, self.target_tokenizer)
        if self._stream:
            tokens = len(ContinuousText(self._stores["train"][1]))
            self._notice(f"train: {tokens} tokens with </s>, read as one text in {self._stream_rows} rows")
            return
        self._lines["train"] = self._survivors(*self._stores["train"])
        source_padding, target_padding = self.padding_share()
        padding = "" if source_padding is None else f"{source_padding:.1%} of source and "
        self._notice(f"train: padding is {padding}{target_padding:.1%} of target positions")

    def _survivors(self, source: TokenStore | None, target: TokenStore) -> NDArray[Any]:
        """The lines of training sentences that are neither too long nor empty, on either side."""
        sides = [side.lengths for side in (source, target) if side is not None]
        long = np.any([lengths > self._max_length for lengths in sides], axis=0)
        empty = np.any([lengths == 0 for lengths in sides], axis=0) & ~long
        lines = np.flatnonzero(~(long | empty))
        on_a_side = "" if source is None else " on a side"
        counts = (
            f"{long.sum()} of {len(target)} are longer than max_length={self._max_length} tokens{on_a_side},"
            f" {empty.sum()} are empty{on_a_side}"
        )
        if len(lines) == 0:
            text = self.text.files["train"].target
            everywhere = "" if source is None else " on both sides"
            mend = "raise max_length" if long.any() else f"give sentences with text{everywhere}"
            raise UserError(f"{text}: no training sentences are left: {counts}; {mend}")
        self._notice(f"train: {counts}; {len(lines)} remain")
        return lines

    def _notice(self, line: str) -> None:
        self.notices.append(line)
        rank_zero_only(log.info)(line)

    # Batches

    def train_dataloader(self) -> BatchLoader | StreamLoader:
        """Shuffled batches; another order every epoch."""
        return self._loader("train")

    def val_dataloader(self) -> BatchLoader | StreamLoader:
        """Every line once, similar lengths together; ``Batch.index`` says which line."""
        return self._loader("val")

    def test_dataloader(self) -> BatchLoader | StreamLoader:
        """Every line once, similar lengths together; ``Batch.index`` says which line."""
        return self._loader("test")

    def _loader(self, split: str) -> BatchLoader | StreamLoader:
        rank, ranks = (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)
        if self._stream:
            rows, steps = (self._stream_rows, self._stream_steps) if split == "train" else (ranks, EVALUATION_STEPS)
            return StreamLoader(self._stores[split][1], rows=rows, steps=steps, rank=rank, world_size=ranks)
        try:
            batches = self._batches(split, rank=rank, world_size=ranks)
        except UserError as problem:
            raise UserError(f"{self.text.files[split].target}: {problem}") from problem
        return BatchLoader(*self._stores[split], self._lines[split], batches, self._links if split == "train" else None)

    def _batches(self, split: str, *, rank: int = 0, world_size: int = 1) -> TokenBudgetBatches:
        source, target = self._stores[split]
        lines = self._lines[split]
        return TokenBudgetBatches(  # + 1: </s>
            None if source is None else source.lengths[lines] + 1,
            target.lengths[lines] + 1,
            max_tokens=self._max_tokens if split == "train" else evaluated_positions(self._max_tokens),
            max_sentences=self._max_sentences,
            shuffle=split == "train",
            seed=self._seed,
            rank=rank,
            world_size=world_size,
        )

    def padding_share(self) -> tuple[float | None, float]:
        """The share of padding in the positions of training batches: source (None without one) and target."""
        return self._batches("train").padding_share()

    # What evaluation needs, and what is saved with a run

    def target_counts(self, split: str) -> NDArray[np.int64]:
        """(V,): the count of each word of the target vocabulary in a split, with </s> once per line."""
        self.text.split(split)
        _, target = self._stores[split]
        counts = target.counts(self.target_tokenizer.size)
        counts[EOS] += len(target)
        return counts

    def words_of_pieces(self, split: str) -> list[tuple[list[int], list[int]]]:
        """For every line of a split, the word of each source piece and target piece, -1 for none, without </s>."""
        assert self.source_tokenizer is not None
        pairs = zip(self.text.sources(split), self.text.references(split), strict=True)
        sides = self.source_tokenizer, self.target_tokenizer
        return [(words_of_line(sides[0], one), words_of_line(sides[1], other)) for one, other in pairs]

    def save_tokenizers(self, folder: Path) -> None:
        """Write the tokenizers to ``folder``/source and ``folder``/target, for `load_tokenizers`."""
        save_tokenizers(folder, self.source_tokenizer, self.target_tokenizer)

    def fingerprint(self) -> dict[str, str]:
        """SHA-256 of all text files and tokenizers."""
        return self.text.fingerprint() | fingerprint(self.source_tokenizer, self.target_tokenizer)


def check_text(text: Path | None, ids: TokenStore | None) -> None:
    """UserError: no line of ``text`` has a token, so nothing could be measured on it."""
    if ids is not None and ids.lengths.max(initial=0) == 0:
        raise UserError(f"{text}: every line is blank; give a file with sentences")


def check_lengths(text: Path | None, ids: TokenStore | None) -> None:
    """UserError: a line of ``text`` of more than `LONGEST` tokens, which would take all memory."""
    if ids is None or (longest := ids.lengths.max(initial=0)) <= LONGEST:
        return
    raise UserError(
        f"{text}:{ids.lengths.argmax() + 1}: {longest:,} tokens are more than the {LONGEST:,} that a sentence may"
        " have; split the line"
    )
