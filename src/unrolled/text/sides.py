"""A tokenizer for each side, where source and target are cut differently: letters on one, phones on the other."""

import inspect
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unrolled.text.features import WithFeatures
from unrolled.text.lines import sha256
from unrolled.text.tokenizer import Tokenizer, TokenizerChoice, load_tokenizer

SIDES = ("source", "target")


@dataclass(frozen=True, kw_only=True)
class PerSide:
    """What ``tokenizer.source=`` and ``tokenizer.target=`` choose. Its repr is part of the cache's key."""

    source: TokenizerChoice
    target: TokenizerChoice


def of_sides(choice: TokenizerChoice | PerSide) -> tuple[TokenizerChoice, TokenizerChoice]:
    """The choice for the source and the one for the target."""
    return (choice.source, choice.target) if isinstance(choice, PerSide) else (choice, choice)


def programs(choice: TokenizerChoice | PerSide) -> list[str]:
    """SHA-256 of the files with the classes of ``choice``, so that one that has been edited is trained anew."""
    sides = (side.letters if isinstance(side, WithFeatures) else side for side in of_sides(choice))
    files = []
    for side in sides:
        with suppress(OSError, TypeError):  # a class typed into an interpreter has no file
            files.append(sha256(inspect.getfile(type(side))))
    return files


def with_features(choice: TokenizerChoice | PerSide, separator: str | None) -> TokenizerChoice | PerSide:
    """``choice`` for text whose source has features, with ``separator`` between them; as it is if that is None."""
    if separator is None:
        return choice
    source, target = of_sides(choice)
    return PerSide(source=WithFeatures(letters=source, separator=separator), target=target)


def load_tokenizers(
    folder: Path, choice: TokenizerChoice | PerSide | None = None
) -> tuple[Tokenizer | None, Tokenizer]:
    """Source (None for monolingual text) and target tokenizer, the same object if they are joint.

    choice: with which they were trained; only a custom kind needs it.
    """
    choices = (None, None) if choice is None else of_sides(choice)
    source_load, target_load = (getattr(of_side, "load", None) for of_side in choices)
    target = load_tokenizer(folder / "target", target_load)
    source = load_tokenizer(folder / "source", source_load) if (folder / "source").is_dir() else None
    if source is not None and source.sha256 == target.sha256:
        source = target
    return source, target
