"""Reading the translations of the compared runs, and the text that they translate."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unrolled.alignment.aligner import Aligner
from unrolled.alignment.links import Links
from unrolled.comparison.groups import TEST, Comparison, Group
from unrolled.comparison.translated import Translated
from unrolled.data.corpus import CorpusText
from unrolled.errors import WHOLE, UserError, check, check_choice
from unrolled.metrics.line_scores import Bleu, ExactMatch, LineScore
from unrolled.metrics.source_lengths import single_words
from unrolled.runs.folder import Run
from unrolled.text.lines import read_lines

log = logging.getLogger(__name__)

SCORING = ("data.bleu_tokenize", "data.bleu_lowercase", "data.symbols")
MONITOR = "objective.monitor"
SCORES = (Bleu.name, ExactMatch.name)


def read_translations(
    comparison: Comparison, text_of: Callable[[Path], CorpusText], *, align: int, score: str | None = None
) -> tuple[Translated | None, list[str]]:
    """The translations of the test text that the baseline, or else most runs, translated; and notices of omissions.

    ``text_of`` gives the text of a run folder. score: one of `SCORES`; None: exact match where an error rate chose the
    checkpoints of all these runs, else BLEU. If links are not known, an aligner finds them, provided that training
    and test text together have at most ``align`` pairs of lines. None if no group can be read.
    """
    check("align", align, WHOLE)
    if score is not None:
        check_choice("score", score, SCORES)
    notices = []
    groups: dict[tuple[Any, ...], list[Group]] = {}
    for group in comparison.groups:
        if all("test/bleu" not in run.results for run in group.runs):
            continue  # language models
        missing = [run for run in group.runs if not _file(run).is_file()]
        keys = {tuple(run.fact(name) for name in (*TEST, *SCORING)) for run in group.runs}
        if missing:
            notices.append(f"{group.label}: there is no {_file(missing[0])}")
        elif len(keys) > 1 or None in next(iter(keys))[:2]:
            notices.append(f"{group.label}: {group.runs[0].folder}/provenance.json does not say what the test text was")
        else:
            groups.setdefault(keys.pop(), []).append(group)
    if not groups:
        return None, notices
    chosen = max(groups, key=lambda key: (comparison.baseline in groups[key], sum(len(g.runs) for g in groups[key])))
    others = [group.label for key, those in groups.items() if key != chosen for group in those]
    if others:
        notices.append(
            f"{'; '.join(others)}: another test text, or BLEU over other tokens, than {groups[chosen][0].label}"
        )
    try:
        return _read(groups[chosen], text_of, align, score, notices), notices
    except UserError as problem:
        return None, [*notices, str(problem)]


def _read(
    groups: Sequence[Group], text_of: Callable[[Path], CorpusText], align: int, score: str | None, notices: list[str]
) -> Translated | None:
    run = groups[0].runs[0]
    text = text_of(run.folder)
    now = text.fingerprint()
    if any(now.get(name) != run.fact(name) for name in TEST):
        raise UserError(f"{run.folder}: the test text has changed since this run translated it; restore the old file")
    sources, references = text.sources("test"), text.references("test")
    hypotheses: dict[Path, list[str]] = {}
    whole = []
    for group in groups:
        try:
            hypotheses |= {run.folder: list(read_lines(_file(run))) for run in group.runs}
        except UserError as problem:
            notices.append(f"{group.label}: {problem}")
            continue
        lengths = {len(hypotheses[run.folder]) for run in group.runs}
        if lengths == {len(references)}:
            whole.append(group)
        else:
            notices.append(f"{group.label}: {min(lengths)} translations of {len(references)} test sentences")
    if not whole:
        return None
    gold = text.gold("test")
    return Translated(
        groups=whole,
        sources=sources,
        references=references,
        hypotheses=hypotheses,
        score=_score(whole, score),
        links=_find(text, align) if gold is None else [sure for sure, _ in gold],
        automatic=gold is None,
    )


def _score(groups: Sequence[Group], wanted: str | None) -> LineScore:
    runs = [run for group in groups for run in group.runs]
    tokenize, lowercase, symbols = (runs[0].fact(name) for name in SCORING)
    by_errors = all(str(run.fact(MONITOR)).endswith("error_rate") for run in runs)
    if wanted == ExactMatch.name or (wanted is None and by_errors):
        return ExactMatch(symbols or "word")
    return Bleu(tokenize, lowercase)


def _find(text: CorpusText, align: int) -> list[Links] | None:
    """Links of the test text, by an aligner that also sees the training text: a test text alone is too short."""
    train, test = ((text.sources(split), text.references(split)) for split in ("train", "test"))
    if single_words(test[0]):
        return None
    pairs = len(train[0]) + len(test[0])
    if pairs > align:
        log.info("no known links, and %d pairs of lines are more than align=%d: no figure by reordering", pairs, align)
        return None
    return Aligner().align(train[0] + test[0], train[1] + test[1])[len(train[0]) :]


def _file(run: Run) -> Path:
    return run.folder / "translations" / "test.txt"
