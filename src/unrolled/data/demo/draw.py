"""Draws the sentence pairs of the demo corpus: every template equally often, no English sentence twice."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from unrolled.data.demo.sentence import fill, templates
from unrolled.data.generated import Pair, check_options, distinct_pairs
from unrolled.errors import Numbers

PAIRS = Numbers(least=1, most=10**7, whole=True)


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """How much of the demo corpus is drawn; a mistake raises `UserError` with one line.

    pairs, validation_pairs, test_pairs: the sizes of the splits. seed: of the sentences. Validation and test set do not
    depend on ``pairs``.
    """

    pairs: int = 12_000
    validation_pairs: int = 500
    test_pairs: int = 500
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        sizes = dict.fromkeys(("pairs", "validation_pairs", "test_pairs"), PAIRS)
        check_options("data.demo", self, sizes | {"seed": Numbers(least=0, most=2**63, whole=True)}, [])


SIZES = {"test": "test_pairs", "val": "validation_pairs", "train": "pairs"}
MEND = {split: f"lower data.demo.{size}" for split, size in SIZES.items()}


def draw(options: DemoOptions) -> Iterator[tuple[str, Pair]]:
    """The pairs of all splits with the names of their splits: test, then validation, then training set."""
    rng = random.Random(f"{options.seed} demo")
    sizes = {split: getattr(options, size) for split, size in SIZES.items()}
    return distinct_pairs("demo", sizes, lambda _: fill(rng.choice(templates()), rng), mend=MEND)
