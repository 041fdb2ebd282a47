"""N-best lists scored by further models, and the choice by weights, as in rescore.py."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from os import PathLike
from typing import Any, NamedTuple

from unrolled.api.judged_sentences import TranslatedSentence, texts
from unrolled.api.records import Records
from unrolled.api.trained_run import TrainedRun
from unrolled.configuration.composition import composed, known, options_of
from unrolled.configuration.values import resolved
from unrolled.errors import UserError, counted
from unrolled.rescoring.choose import Lists, best, check_name, rescored, tuned, with_feature, word_count
from unrolled.rescoring.nbest import LEAST, Entry, finite, format_entry, parse_nbest
from unrolled.text.lines import read_lines

log = logging.getLogger(__name__)
Run = str | PathLike[str] | TrainedRun
OF_TUNING = ("restarts", "seed", "bleu_tokenize", "bleu_lowercase")


class TunedWeights(NamedTuple):
    """Weights of features by name; BLEU of the references' lists with them, and of the first translations."""

    weights: dict[str, float]
    bleu: float
    first_bleu: float


class RescoredLists:
    """N-best lists whose translations have features: logp, words, and one of each model that scored them.

    lists: of each sentence. sources: the sentences, which translators need. name: of the lists in messages.
    """

    def __init__(self, lists: Lists, sources: Sequence[str] | None = None, name: str = "lists") -> None:
        if not lists:
            raise UserError(f"{name}=[]: give a list of translations for at least one sentence")
        if not all(lists):
            raise UserError(f"{name}: a sentence has no translations; give at least one for each")
        if "words" not in lists[0][0].features:
            lists = with_feature(lists, "words", [word_count(entry.text) for entries in lists for entry in entries])
        self.lists = lists
        self.sources = sources
        self.name = name

    def scored(self, name: str, run: TrainedRun) -> "RescoredLists":
        """The lists with feature ``name``: log p of each translation by ``run``, at least `LEAST`.

        UserError: it needs sources, or the name is in use.
        """
        check_name(self.lists, name)
        texts = [entry.text for entries in self.lists for entry in entries]
        if not run.translates:
            scores = run.score(texts, context="line")
        elif self.sources is None:
            raise UserError(
                f"source=FILE is missing: run={run.name} is a translator, which scores translations of source sentences"
            )
        else:
            pairs = zip(self.sources, self.lists, strict=True)
            scores = run.score([source for source, entries in pairs for _ in entries], texts)
        values = [max(score.log_probability, LEAST) for score in scores]
        log.info("scorers.%s: %s scored", name, counted(len(values), "translation"))
        if impossible := sum(score.log_probability == -inf for score in scores):
            log.warning("scorers.%s: %s of probability 0 get a log p of %.0f", name, f"{impossible:,}", LEAST)
        return RescoredLists(with_feature(self.lists, name, values), self.sources, self.name)

    def tune(
        self, references: Sequence[str], weights: Mapping[str, float] | None = None, **options: Any
    ) -> TunedWeights:
        """The weights whose choice has the best BLEU, from ``weights``, or from logp alone.

        references: translations of validation data, one of each sentence. options: of rescore.py: restarts=10, seed=1,
        bleu_tokenize="13a", bleu_lowercase=False.
        """
        chosen = resolved(composed("rescore", known(options_of(options), OF_TUNING, "tune")))
        search = {"restarts": chosen["restarts"], "seed": chosen["seed"]}
        scoring = {"tokenize": chosen["bleu_tokenize"], "lowercase": chosen["bleu_lowercase"]}
        references = texts(references, "references")
        self.check_as_many(references, "references")
        before, after, best_weights = tuned(self.lists, references, weights, **search, **scoring)
        log.info("BLEU of the first translations %.2f, with these weights %.2f", before, after)
        return TunedWeights(best_weights, after, before)

    def by(self, weights: Mapping[str, float]) -> "RescoredLists":
        """Each list in the order of its scores by ``weights``, best first. UserError: an unknown feature."""
        return RescoredLists(rescored(self.lists, weights), self.sources, self.name)

    def best(self) -> list[str]:
        """The translation of each sentence with the highest score."""
        return [best(entries).text for entries in self.lists]

    def records(self) -> Records[dict[str, Any]]:
        """A row for each translation: number of the sentence from 0, text, score, features."""
        return Records(
            {"sentence": number, "text": entry.text, "score": entry.score, **entry.features}
            for number, entries in enumerate(self.lists)
            for entry in entries
        )

    def check_as_many(self, lines: Sequence[str], name: str) -> None:
        """UserError unless there are as many ``lines`` as sentences."""
        if len(lines) != len(self.lists):
            lists = "1 list" if len(self.lists) == 1 else f"{len(self.lists):,} lists"
            raise UserError(f"{self.name}: {lists}, one for each sentence, and {name} has {len(lines):,} sentences")

    def __str__(self) -> str:
        """As translate.py nbest=N writes them."""
        entries = ((number, entry) for number, entries in enumerate(self.lists) for entry in entries)
        return "".join(f"{format_entry(number, entry)}\n" for number, entry in entries)

    def _repr_html_(self) -> str:
        return self.records()._repr_html_()


def rescore(
    lists: str | PathLike[str] | Sequence[Sequence[TranslatedSentence]],
    scorers: Mapping[str, Run],
    *,
    sources: Sequence[str] | None = None,
) -> RescoredLists:
    """N-best lists with a feature more from each of ``scorers``; ``.tune`` finds weights, ``.by`` chooses by them.

    lists: what ``run.translate(sentences, nbest=10)`` gave, or a file that translate.py wrote. scorers: runs by the
    name of their feature, language models of any vocabulary or translators. sources: the sentences of a file's lists,
    which translators need. UserError: a name in use, a file with anything else in it.
    """
    if not isinstance(scorers, Mapping):
        raise UserError(f"scorers={scorers!r:.60}: give runs by the names of their features, {{'lm': run}}")
    sources = None if sources is None else texts(sources, "sources")
    if isinstance(lists, str | PathLike):
        rescored_lists = read_lists(lists, sources)
    else:
        lists = [[*nbest] if isinstance(nbest, Sequence) else [nbest] for nbest in _items(lists)]
        entries = [[_entry(translation) for translation in nbest] for nbest in lists]
        given = [nbest[0].source for nbest in lists if nbest] if sources is None else sources
        rescored_lists = RescoredLists(entries, given)
    if sources is not None:
        rescored_lists.check_as_many(sources, "sources")
    for name in scorers:
        check_name(rescored_lists.lists, name)
    for name, run in scorers.items():
        from unrolled.api.loading import load  # loads torch

        rescored_lists = rescored_lists.scored(name, run if isinstance(run, TrainedRun) else load(run))
    return rescored_lists


def read_lists(file: str | PathLike[str], sources: Sequence[str] | None = None) -> RescoredLists:
    """The lists in a file that translate.py nbest=N wrote. UserError: it is no such list."""
    return RescoredLists(parse_nbest(read_lines(str(file)), str(file)), sources, str(file))


def _items(lists: Any) -> list[Any]:
    if not isinstance(lists, Iterable):
        raise UserError(f"lists={lists!r:.60}: give what translate(sentences, nbest=10) returned, or a file")
    items = list(lists)
    alone = bool(items) and all(isinstance(item, TranslatedSentence) for item in items)  # of a single sentence
    return [items] if alone else items


def _entry(sentence: TranslatedSentence) -> Entry:
    if not isinstance(sentence, TranslatedSentence):
        raise UserError(
            f"lists: {sentence!r:.60} is not a translation: give what translate(sentences, nbest=10) returned"
        )
    return Entry(sentence.text, {"logp": finite(sentence.log_probability)}, finite(sentence.score))
