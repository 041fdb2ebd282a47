"""The known alignments of a corpus: computed if necessary, checked, and cached as links between pieces."""

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from unrolled.alignment.aligner import Aligner
from unrolled.alignment.links import known_alignments, pharaoh, read_alignments, training_links
from unrolled.alignment.pieces import piece_links
from unrolled.data import kept, store
from unrolled.data.corpus import Files
from unrolled.data.store import TokenStore
from unrolled.errors import Numbers, UserError, check, check_choice
from unrolled.text.lines import check_unchanged, read_lines, sha256
from unrolled.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

FOUND = "links.talp"
SOURCES = ("given", "auto", "auto_pieces")
PieceLinks = list[tuple[int, int, int]]
GOLDEN = (5**0.5 - 1) / 2
PROGRAMS = ("aligner", "ibm_model", "hmm_model", "word_pairs", "symmetrization")


class KnownAlignments:
    """The known alignments of the parallel text ``files``; ``digest(path)`` is the SHA-256 of a file's bytes.

    origin: where training gets its links: "given", from the corpus' own alignment file; "auto", from `Aligner`, which
    aligns the words of the training text; "auto_pieces", likewise, but the pieces that the tokenizers cut it into, such
    as letters and phones; None: it uses none. share: of the training pairs, whose links are used; a smaller share is a
    subset of a larger one. UserError: another origin, an invalid share.
    """

    def __init__(
        self,
        *,
        files: Mapping[str, Files],
        digest: Callable[[Path], str],
        cache: Path,
        origin: str | None,
        share: float = 1.0,
    ) -> None:
        if origin is not None:
            check_choice("alignment.source", origin, SOURCES)
        check("alignment.share", share, Numbers(least=0, most=1))
        self._files, self._digest, self._cache, self._origin = files, digest, cache, origin
        self._share = share

    def prepare(self, source: Tokenizer, target: Tokenizer) -> None:
        """Write what is not cached yet. UserError: nothing to learn from; what `known_alignments` refuses."""
        if self._origin is not None and self._file("train", source, target) is None:
            raise UserError(
                f"alignment.source={self._origin}: this corpus has no known alignments: give"
                " data.train_alignment=FILE, or alignment.source=auto to have the training text aligned"
            )
        if self._origin in ("auto", "auto_pieces"):
            self._align(source, target)
        for split in self._files:
            self._write(split, source, target)
        links = self.training(source, target)
        if links is not None and not links.lengths.any():
            log.warning("no training pair has a link that is used (alignment.share=%g): none are learnt", self._share)

    def training(self, source: Tokenizer, target: Tokenizer) -> TokenStore | None:
        """The `piece_links` of every training pair, flattened; None if there is nothing to learn from."""
        return None if self._origin is None else TokenStore.open(self._links("train", source, target))

    def _file(self, split: str, source: Tokenizer, target: Tokenizer) -> tuple[Path, int] | None:
        """The Pharaoh file of a split, even if it has yet to be made, and the number of a first word in it."""
        files = self._files[split]
        if split == "train" and self._origin in ("auto", "auto_pieces") and files.source is not None:
            tokenizers = [source.sha256, target.sha256] if self._origin == "auto_pieces" else []
            text = self._digest(files.source) + self._digest(files.target)
            return self._cache / "alignments" / kept.name_in_cache(text, *_aligner(), *tokenizers) / FOUND, 0
        return None if files.alignment is None else (files.alignment, files.alignment_base)

    def _links(self, split: str, source: Tokenizer, target: Tokenizer) -> Path:
        files, known = self._files[split], self._file(split, source, target)
        assert files.source is not None
        assert known is not None
        text = self._digest(files.source) + self._digest(files.target)
        used = [f"share {self._share}"] if split == "train" and self._share < 1 else []
        sides = source.sha256, target.sha256
        return self._cache / "links" / kept.name_in_cache(text, sha256(known[0]), str(known[1]), *sides, *used)

    def _align(self, source: Tokenizer, target: Tokenizer) -> None:
        files, known = self._files["train"], self._file("train", source, target)
        assert files.source is not None
        assert known is not None
        texts = (files.source, source), (files.target, target)

        def make(folder: Path) -> None:
            folder.mkdir()
            if self._origin == "auto_pieces":  # ids in place of words
                sides = [[" ".join(map(str, ids)) for ids in _encoded(*text)] for text in texts]
            else:
                sides = [list(read_lines(path)) for path, _ in texts]
            links = Aligner().align(*sides)
            self._check_unchanged(files)
            (folder / FOUND).write_text("".join(f"{pharaoh(pair_links)}\n" for pair_links in links), encoding="utf-8")

        kept.keep(known[0].parent, make)

    def _write(self, split: str, source: Tokenizer, target: Tokenizer) -> None:
        files, known = self._files[split], self._file(split, source, target)
        if files.source is None or known is None:
            return
        path = self._links(split, source, target)
        if store.is_whole(path):
            return
        if path.exists():
            log.warning("%s: damaged, or from an earlier version; it will be made again", path)
        of_pieces = split == "train" and self._origin == "auto_pieces"
        of_pair = self._between_pieces if of_pieces else self._between_words
        links = of_pair(split, source, target)
        store.write(path, (list(chain.from_iterable(triples)) for triples in links), vocabulary_size=2**31)

    def _between_words(self, split: str, source: Tokenizer, target: Tokenizer) -> Iterator[PieceLinks]:
        files, known = self._files[split], self._file(split, source, target)
        assert files.source is not None
        assert known is not None
        share = self._share if split == "train" else 1.0
        alignments = known_alignments(known[0], files.source, files.target, base=known[1])
        for pair, (one, other, sure, possible) in enumerate(alignments):
            words = source.words_of_pieces(one), target.words_of_pieces(other)
            yield piece_links(training_links(sure, possible), *words) if is_used(pair, share) else []
        self._check_unchanged(files)

    def _between_pieces(self, split: str, source: Tokenizer, target: Tokenizer) -> Iterator[PieceLinks]:
        files, known = self._files[split], self._file(split, source, target)
        assert files.source is not None
        assert known is not None
        pairs = zip(_encoded(files.source, source), _encoded(files.target, target), strict=True)
        for pair, ((one, other), (links, _)) in enumerate(zip(pairs, read_alignments(known[0]), strict=True)):
            yield piece_links(links, range(len(one)), range(len(other))) if is_used(pair, self._share) else []
        self._check_unchanged(files)

    def _check_unchanged(self, files: Files) -> None:
        for path in (files.source, files.target):
            if path is not None:
                check_unchanged(path, self._digest(path))


def _encoded(text: Path, tokenizer: Tokenizer) -> list[list[int]]:
    return tokenizer.encode(list(read_lines(text)))


def is_used(pair: int, share: float) -> bool:
    """Whether a pair, by its number, is one of ``share`` of them: evenly spread, by multiples of the golden section."""
    return share == 1 or pair * GOLDEN % 1 < share


def _aligner() -> list[str]:
    """What the aligner's links depend on besides the text: settings and program."""
    programs = (Path(inspect.getfile(Aligner)).with_name(f"{name}.py") for name in PROGRAMS)
    return [repr(Aligner()), *(sha256(program) for program in programs)]
