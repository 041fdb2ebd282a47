"""What a corpus is: the text files of its three splits, and their lines."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from unrolled.alignment.links import Links, read_alignments
from unrolled.data.demo.draw import DemoOptions, draw
from unrolled.data.generated import Pair, write_corpus
from unrolled.data.kept import keep, name_in_cache
from unrolled.data.lookup import sequences
from unrolled.data.lookup.sequences import LookupOptions
from unrolled.data.reorder.grammar import Grammar, pairs_of_splits
from unrolled.errors import UserError, check_choice
from unrolled.text.lines import read_lines, sha256

SPLITS = ("train", "val", "test")

Options = TypeVar("Options")


@dataclass(frozen=True)
class Files:
    """The files of a split; line i of one belongs to line i of the others.

    alignment: a Pharaoh file of known links, in which the first word of a sentence has the number alignment_base.
    """

    source: Path | None
    target: Path
    alignment: Path | None = None
    alignment_base: int = 0


class Corpus(Protocol):
    """What the data module needs to know about a corpus."""

    def files(self, cache: Path) -> dict[str, Files]:
        """The files of train, val and test; a corpus that generates its files writes them to ``cache``."""


class ParallelText:
    """Pairs of text files, [source, target] for each split, optionally with Pharaoh files of known links."""

    def __init__(
        self,
        *,
        train: Sequence[str],
        val: Sequence[str],
        test: Sequence[str],
        train_alignment: str | None = None,
        val_alignment: str | None = None,
        test_alignment: str | None = None,
        alignment_base: int = 0,
    ) -> None:
        if alignment_base not in (0, 1):
            raise UserError(f"data.alignment_base={alignment_base}: give 0 or 1, the number of a sentence's first word")
        self._files = {}
        alignments = (train_alignment, val_alignment, test_alignment)
        for split, pair, links in zip(SPLITS, (train, val, test), alignments, strict=True):
            if pair is None or isinstance(pair, str) or len(pair) != 2:
                raise UserError(f"data.{split}={pair}: give two files, '[SOURCE,TARGET]'")
            alignment = None if links is None else Path(links)
            self._files[split] = Files(Path(pair[0]), Path(pair[1]), alignment, alignment_base)

    def files(self, cache: Path) -> dict[str, Files]:
        """The files of train, val and test."""
        return self._files


class MonolingualText:
    """A text file for each split, for language models: the target side only."""

    def __init__(self, *, train: str, val: str, test: str) -> None:
        self._files = {}
        for split, path in zip(SPLITS, (train, val, test), strict=True):
            if not isinstance(path, str | Path):
                raise UserError(f"data.{split}={path}: give one file")
            self._files[split] = Files(None, Path(path))

    def files(self, cache: Path) -> dict[str, Files]:
        """The files of train, val and test."""
        return self._files


class Reorder:
    """The embedded corpus with gold alignments; the options are those of `reorder.Grammar`."""

    def __init__(self, **options: object) -> None:
        self._grammar = Grammar(**options)  # type: ignore[arg-type]

    def files(self, cache: Path) -> dict[str, Files]:
        """The files of train, val and test, written if they are not in ``cache`` yet."""
        return _generated(cache, "reorder", self._grammar, pairs_of_splits)


class Demo:
    """English sentences from templates, German translations and gold alignments; options: `demo.draw.DemoOptions`."""

    def __init__(self, **options: object) -> None:
        self._options = DemoOptions(**options)  # type: ignore[arg-type]

    def files(self, cache: Path) -> dict[str, Files]:
        """The files of train, val and test, written if they are not in ``cache`` yet."""
        return _generated(cache, "demo", self._options, draw)


class Lookup:
    """Lookup tables applied one after the other, and the right attention; options: `LookupOptions`."""

    def __init__(self, **options: object) -> None:
        self._options = LookupOptions(**options)  # type: ignore[arg-type]

    def files(self, cache: Path) -> dict[str, Files]:
        """The files of train, val and test, written if they are not in ``cache`` yet."""
        return _generated(cache, "lookup", self._options, sequences.pairs_of_splits)


def _generated(
    cache: Path, name: str, options: Options, pairs: Callable[[Options], Iterable[tuple[str, Pair]]]
) -> dict[str, Files]:
    """The files that the programs and word lists in ``data/NAME`` generate, from the cache if it has them."""
    programs = [Path(__file__).with_name("generated.py"), *Path(__file__).with_name(name).glob("*.[pt][yx]*")]
    contents = [sha256(program) for program in sorted(programs)]  # a changed program makes another corpus
    folder = cache / name / name_in_cache(astuple(options), *contents)  # type: ignore[call-overload]
    keep(folder, lambda partial: write_corpus(partial, pairs(options)))
    return {
        split: Files(folder / f"{split}.source", folder / f"{split}.target", folder / f"{split}.align")
        for split in SPLITS
    }


class CorpusText:
    """The lines of a corpus as they are in its files: all that commands other than training need."""

    def __init__(self, corpus: Corpus, cache: Path) -> None:
        self._corpus, self._cache = corpus, cache
        self._sources: dict[str, list[str]] = {}

    @cached_property
    def files(self) -> dict[str, Files]:
        """The files of train, val and test."""
        return self._corpus.files(self._cache)

    @property
    def feature_separator(self) -> str | None:
        """What separates the features of a source, which follow a tab; None where there are none."""
        separator: str | None = getattr(self._corpus, "feature_separator", None)
        return separator

    def text_files(self) -> dict[str, Path]:
        """The text files by the names "train.source", "test.target", "val.alignment" and so on."""
        return {
            f"{split}.{side}": path
            for split, files in self.files.items()
            for side, path in (("source", files.source), ("target", files.target), ("alignment", files.alignment))
            if path is not None
        }

    @cached_property
    def hashes(self) -> dict[Path, str]:
        """SHA-256 of every text file."""
        return {path: sha256(path) for path in dict.fromkeys(self.text_files().values())}

    def split(self, name: str) -> Files:
        """The files of "train", "val" or "test"; UserError for another split."""
        check_choice("split", name, SPLITS)
        return self.files[name]

    def sources(self, split: str) -> list[str]:
        """The source lines of a split, of val and test as they were read first; UserError if there are none."""
        source = self.split(split).source
        if source is None:
            raise UserError("this corpus is monolingual and has no source side; use data=parallel_text")
        if split == "train":  # which may be too large to keep
            return list(read_lines(source))
        if split not in self._sources:
            self._sources[split] = list(read_lines(source))
        return self._sources[split]

    def references(self, split: str) -> list[str]:
        """The target lines of a split."""
        return list(read_lines(self.split(split).target))

    def gold(self, split: str) -> list[tuple[Links, Links]] | None:
        """The (sure, possible) word links of every line of a split, if the corpus has a file with them."""
        files = self.split(split)
        if files.alignment is None:
            return None
        return list(read_alignments(files.alignment, base=files.alignment_base))

    def fingerprint(self) -> dict[str, str]:
        """SHA-256 of all text files, as they are now: of "train.source", "test.target" and so on."""
        return {name: self.hashes[path] for name, path in self.text_files().items()}
