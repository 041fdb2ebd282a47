"""Several runs compared, as compare.py does."""

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from unrolled.api.records import Records
from unrolled.api.trained_run import TrainedRun, folder_of, folders_of
from unrolled.comparison.averages import average
from unrolled.comparison.averages_report import write_averages
from unrolled.comparison.groups import compare as compare_groups
from unrolled.comparison.report import Report, comparison_folder, notices
from unrolled.comparison.translations import read_translations
from unrolled.configuration.build import text_of
from unrolled.configuration.composition import composed, one_line, options_of
from unrolled.configuration.slots import trusting
from unrolled.configuration.values import load_runs, resolved
from unrolled.errors import POSITIVE_WHOLE, UserError, check, shown
from unrolled.files import path_of
from unrolled.runs.folder import Run as Folder

log = logging.getLogger(__name__)
Run = str | PathLike[str] | TrainedRun


@dataclass(frozen=True)
class ComparedRuns:
    """The tables of a comparison; print() gives those of compare.py, a notebook shows figures and sentences too.

    groups: a row for each group of runs that differ only in the seed, and for each run that was left out. tests: the
    paired tests of every run against the baseline's of the same seed. bands: BLEU, or exact match, by length and by
    reordering. Figures have the names of results.json and full precision. notices: what a reader should also know.
    folder: where files were written, None without. baseline: how to name the first group as the baseline, None if there
    was one.
    """

    groups: Records[dict[str, Any]]
    tests: Records[dict[str, Any]]
    bands: Records[dict[str, Any]]
    notices: list[str]
    text: str = field(repr=False)
    fragment: str = field(repr=False)
    folder: Path | None = None
    baseline: str | None = None

    def to_frame(self) -> Any:
        """`groups` as a pandas DataFrame. UserError: pandas is not installed."""
        return self.groups.to_frame()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.fragment


def compare(
    runs: Run | Sequence[Run],
    baseline: Run | Mapping[str, Any] | None = None,
    *,
    output: str | PathLike[str] | None = None,
    trust: str | Sequence[str] | None = None,
    **options: Any,
) -> ComparedRuns:
    """Runs side by side: means and spread over seeds, significance, BLEU by length and reordering, sentences.

    runs: run folders or loaded runs, or one folder with run folders in it. baseline: one of them, or options that name
    a group, {"attention": "bahdanau"}: p-values are against it. output: a folder for the files of compare.py; None: no
    files. trust: a package of yours, or several, whose classes the runs may name. options: others of compare.py, such
    as bootstrap=200. UserError: no run has completed, no such baseline.
    """
    with one_line(), trusting(trust):
        chosen: dict[str, Any] = resolved(composed("compare", options_of(options)))
        chosen["runs"] = folders_of(runs)
        chosen["baseline"] = baseline if baseline is None or isinstance(baseline, Mapping) else folder_of(baseline)
        chosen["output"] = None if output is None else str(path_of("output", output))
        return compare_by(chosen, write=output is not None)


def compare_by(options: Mapping[str, Any], *, write: bool) -> ComparedRuns:
    """The comparison that ``options`` of compare.py ask for; notices are logged. ``write``: keep its files."""
    runs = load_runs(options["runs"])
    if options["over"] is not None:
        return _averaged(runs, options, write=write)
    report = Report(
        **{name: options[name] for name in ("bootstrap", "randomization", "sentences", "edges", "longer_than")}
    )
    comparison = compare_groups(runs, options["baseline"])
    translated, unread = read_translations(
        comparison, lambda run: text_of(str(run)), align=options["align"], score=options["score"]
    )
    lines = [*notices(comparison), *unread, *report.unanswered(comparison, translated)]
    for line in lines:
        log.warning("%s", line)
    with _folder(Path(options["output"] or comparison_folder(runs)), write) as folder:
        written = report.write(folder, comparison, translated, lines)
    several = options["baseline"] is None and translated is not None and len(translated.groups) > 1
    return ComparedRuns(
        groups=Records(written.groups),
        tests=Records(written.tests),
        bands=Records(written.by_number),
        notices=lines,
        text=written.text,
        fragment=written.fragment,
        folder=folder if write else None,
        baseline=translated.groups[0].named() if several and translated is not None else None,
    )


def _averaged(runs: Sequence[Folder], options: Mapping[str, Any], *, write: bool) -> ComparedRuns:
    """`compare_by` over several data sets. UserError: options for figures that these tables do not have."""
    for name in ("edges", "longer_than", "score"):
        if options[name] is not None:
            raise UserError(
                f"{name}={shown(options[name])}: tables with over=... do not have this: omit one of the two"
            )
    samples = {name: options[name] for name in ("bootstrap", "randomization")}
    for name, number in samples.items():
        check(name, number, POSITIVE_WHOLE)
    averages = average(runs, options["over"], options["baseline"])
    lines, pairs = [*averages.notices, *averages.without_best(), *averages.without_tests()], {}
    try:
        pairs = averages.tests(lambda run: text_of(str(run)), **samples)
    except UserError as problem:
        lines.append(str(problem))
    for line in lines:
        log.warning("%s", line)
    with _folder(Path(options["output"] or comparison_folder(runs)), write) as folder:
        written = write_averages(folder, averages, pairs, lines)
    return ComparedRuns(
        groups=Records(written.groups),
        tests=Records(written.tests),
        bands=Records(written.by_number),
        notices=lines,
        text=written.text,
        fragment=written.fragment,
        folder=folder if write else None,
    )


@contextmanager
def _folder(folder: Path, write: bool) -> Iterator[Path]:
    if write:
        yield folder
        return
    with tempfile.TemporaryDirectory() as passing:
        yield Path(passing)
