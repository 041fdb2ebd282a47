"""Choosing from rescored n-best lists: score = sum of weight x feature."""

from collections.abc import Mapping, Sequence

import numpy as np

from unrolled.errors import Numbers, UserError, check, nearest
from unrolled.metrics.translation_scores import bleu_of_statistics, bleu_statistics, check_bleu_tokenize
from unrolled.rescoring.mert import Array, Candidates, quality_of, tune
from unrolled.rescoring.nbest import Entry
from unrolled.text.tokens import split_words

Lists = list[list[Entry]]


def word_count(text: str) -> float:
    """The number of words: its weight compensates for scores that fall with length."""
    return float(len(split_words(text)))


def check_name(lists: Lists, name: str) -> None:
    """UserError for the name of a feature that is in use or malformed."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise UserError(f"scorers.{name}: a name consists of letters, digits and _")
    if name in lists[0][0].features:
        raise UserError(f"scorers.{name}: the lists already have a feature of this name; choose another")


def with_feature(lists: Lists, name: str, values: Sequence[float]) -> Lists:
    """The lists with one more feature per entry, ``values`` in their order. UserError: a name in use or malformed."""
    check_name(lists, name)
    remaining = iter(values)
    return [
        [entry._replace(features={**entry.features, name: next(remaining)}) for entry in entries] for entries in lists
    ]


def rescored(lists: Lists, weights: Mapping[str, float]) -> Lists:
    """Every list by its new score, best first. UserError: a weight for a feature that does not exist."""
    weighted = _weights(lists, weights)
    return [
        sorted((entry._replace(score=float(_row(entry) @ weighted)) for entry in entries), key=lambda e: -e.score)
        for entries in lists
    ]


def best(entries: Sequence[Entry]) -> Entry:
    """The entry with the greatest score, the first if equal."""
    return max(entries, key=lambda entry: entry.score)


def tuned(
    lists: Lists,
    references: Sequence[str],
    start: Mapping[str, float] | None,
    *,
    restarts: int,
    seed: int,
    tokenize: str,
    lowercase: bool,
) -> tuple[float, float, dict[str, float]]:
    """BLEU of the lists' first entries, and BLEU and weights tuned from ``start``, or from logp (the first feature)."""
    check_bleu_tokenize(tokenize)
    names = list(lists[0][0].features)
    sentences = [
        Candidates(
            np.array([_row(entry) for entry in entries]),
            np.array(bleu_statistics([e.text for e in entries], reference, tokenize=tokenize, lowercase=lowercase)),
        )
        for entries, reference in zip(lists, references, strict=True)
    ]
    first = bleu_of_statistics(np.sum([sentence.statistics[0] for sentence in sentences], axis=0))
    beginning = _weights(lists, {names[0]: 1.0} if start is None else start)
    weights = tune(sentences, beginning, bleu_of_statistics, restarts=restarts, seed=seed)
    after = quality_of(sentences, weights, bleu_of_statistics)
    return first, after, dict(zip(names, weights.tolist(), strict=True))


def _row(entry: Entry) -> Array:
    return np.array(list(entry.features.values()))


def _weights(lists: Lists, weights: Mapping[str, float]) -> Array:
    names = list(lists[0][0].features)
    if not isinstance(weights, Mapping):
        raise UserError(f"weights={weights!r:.60}: give a number for each of {', '.join(names)}, by its name")
    for name, weight in weights.items():
        if name not in names:
            raise UserError(f"weights.{name}: there is no such feature{nearest(name, names)}")
        check(f"weights.{name}", weight, Numbers(least=-1e100, most=1e100))
    return np.array([float(weights.get(name, 0.0)) for name in names])
