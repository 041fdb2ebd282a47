"""Lookup-table composition (Liska et al. 2018), and how far a rule learnt on short sequences reaches.

A table is a one-to-one map of binary strings. The source is a string and the tables applied to it; the target is the
string and what each table makes of the word before:

    source  010 t3 t1 .     target  010 111 001     as t3 maps 010 to 111, and t1 maps 111 to 001

Every target word depends on one source word, and on the target word before it: the links say which. Dubois et al.
(2020) train on a few tables and test on more. Their harder forms, as we read them: ``reversed`` has the string last, so
that source and target run in opposite directions; ``noisy`` is reversed and has up to ``tables`` tables before a "!",
which change nothing.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from unrolled.data.generated import Pair, check_options, distinct_pairs
from unrolled.errors import Numbers, check_choice

FORMS = ("forward", "reversed", "noisy")
PAIRS = Numbers(least=1, most=10**7, whole=True)
COUNT = Numbers(least=1, most=10**4, whole=True)
RANGES = {
    "pairs": PAIRS,
    "validation_pairs": PAIRS,
    "test_pairs": PAIRS,
    "seed": Numbers(least=0, most=2**63, whole=True),
    "tables": Numbers(least=1, most=10**4, whole=True),
    "bits": Numbers(least=1, most=12, whole=True),
    "min_tables": COUNT,
    "max_tables": COUNT,
    "test_min_tables": COUNT,
    "test_max_tables": COUNT,
}
STOP, START = ".", "!"


@dataclass(frozen=True, kw_only=True)
class LookupOptions:
    """The options of the corpus; a mistake raises `UserError` with one line.

    pairs, validation_pairs, test_pairs: the sizes of the splits. seed: of the tables and the sequences.
    tables: how many there are. bits: of a string. form: "forward", "reversed" or "noisy", see the top of the file.
    min_tables, max_tables: how many are applied in training and validation. Every number is drawn equally often, but no
    source occurs twice, so that few lines have few tables.
    test_min_tables, test_max_tables: the same for the test set.
    """

    pairs: int = 10_000
    validation_pairs: int = 500
    test_pairs: int = 500
    seed: int = 1
    tables: int = 8
    bits: int = 3
    form: str = "forward"
    min_tables: int = 1
    max_tables: int = 4
    test_min_tables: int = 5
    test_max_tables: int = 9

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        ordered = [("min_tables", "max_tables"), ("test_min_tables", "test_max_tables")]
        check_options("data.lookup", self, RANGES, ordered)
        check_choice("data.lookup.form", self.form, FORMS)


def invent_tables(options: LookupOptions) -> list[dict[str, str]]:
    """The tables t1, t2, ...: random one-to-one maps of all strings of ``bits`` bits."""
    rng = random.Random(f"{options.seed} tables")
    strings = [format(number, f"0{options.bits}b") for number in range(2**options.bits)]
    return [dict(zip(strings, rng.sample(strings, len(strings)), strict=True)) for _ in range(options.tables)]


def compose(tables: list[dict[str, str]], string: str, applied: list[int]) -> Pair:
    """The forward form of ``string`` and the numbers of the tables that are ``applied`` to it."""
    results = [string]
    for number in applied:
        results.append(tables[number][results[-1]])
    source = [string, *(f"t{number + 1}" for number in applied), STOP]
    return Pair(source, results, [(place, place) for place in range(len(results))])


def in_form(pair: Pair, form: str, noise: list[str]) -> Pair:
    """A forward pair in another form, with the same links; ``noise``: tables that change nothing."""
    if form == "forward":
        return pair
    before = [*noise, START] if form == "noisy" else []
    words = pair.source[:-1]  # the stop stays last
    last = len(before) + len(words) - 1
    return Pair([*before, *reversed(words), STOP], pair.target, sorted((last - i, j) for i, j in pair.links))


MEND = {
    "test": "lower data.lookup.test_pairs or raise data.lookup.test_max_tables",
    "val": "lower data.lookup.validation_pairs or raise data.lookup.max_tables",
    "train": "lower data.lookup.pairs or raise data.lookup.max_tables",
}


def pairs_of_splits(options: LookupOptions) -> Iterator[tuple[str, Pair]]:
    """The pairs of all splits with the names of their splits: test, then validation, then training set."""
    tables = invent_tables(options)
    strings = list(tables[0])
    rng = random.Random(f"{options.seed} sequences")

    def draw(split: str) -> Pair:
        of_test = options.test_min_tables, options.test_max_tables
        least, most = of_test if split == "test" else (options.min_tables, options.max_tables)
        applied = rng.choices(range(options.tables), k=rng.randint(least, most))
        noise = [f"t{number + 1}" for number in rng.choices(range(options.tables), k=rng.randint(1, options.tables))]
        return in_form(compose(tables, rng.choice(strings), applied), options.form, noise)

    sizes = {"test": options.test_pairs, "val": options.validation_pairs, "train": options.pairs}
    return distinct_pairs("lookup", sizes, draw, mend=MEND)
