"""The table with which a sweep ends: a row for each of its runs."""

import math
from collections.abc import Sequence
from typing import Any

from unrolled.comparison.groups import MEASURES
from unrolled.comparison.varied_options import ABSENT, TARGET, shown, titles, value_of, varied
from unrolled.runs.folder import Run
from unrolled.text.table import table

TESTED = ("test/word_error_rate", "test/bleu", "test/aer")


def sweep_table(runs: Sequence[Run]) -> str:
    """Number, options in which the runs differ, seed, how each ended, its best validation's monitored figure, test.

    Columns that say nothing are omitted; the best of those that completed has a star.
    """
    monitors = list(dict.fromkeys(_monitor(run) for run in runs))
    options = varied(runs)
    names = titles(options)
    short = [name if name.endswith(TARGET) else name.rpartition(".")[2] for name in names]
    head = ["job", *(short if len(set(short)) == len(short) else names)]
    columns: list[list[str]] = [[run.folder.name.partition("-")[0] for run in runs]]
    columns += [[value_of(run, option) for run in runs] for option in options]
    if len({run.seed for run in runs}) > 1:
        head.append("seed")
        columns.append([shown(run.seed) for run in runs])
    left = len(head)
    head += ["status", "epochs"]
    columns += [[run.status for run in runs], [shown(run.results.get("epochs", ABSENT)) for run in runs]]
    head += monitors
    columns += [[_figure(run, monitor) for run in runs] for monitor in monitors]
    for measure in MEASURES:
        values = [run.results.get(measure.name) for run in runs]
        if measure.name in TESTED and any(isinstance(value, int | float) for value in values):
            head.append(f"test {measure.title}")
            columns.append([measure.shown(v) if isinstance(v, int | float) else ABSENT for v in values])
    if head[-1] in monitors:  # of language models, which do not translate
        head.append("test perplexity")
        columns.append([_figure(run, "test/perplexity") for run in runs])
    best = _best(runs) if len(monitors) == 1 else None
    rows = [[*row, "*" if run is best else ""] for run, row in zip(runs, zip(*columns, strict=True), strict=True)]
    return table([[*head, ""], *rows], left=left + 1)


def _monitor(run: Run) -> str:
    return str(run.options.get("objective.monitor", "val/loss"))


def _figure(run: Run, name: str) -> str:
    value = run.results.get(name)
    return f"{value:.4g}" if isinstance(value, int | float) else ABSENT


def _best(runs: Sequence[Run]) -> Run | None:
    """The completed run with the best monitored figure, None if there is no choice."""

    def merit(run: Run) -> float:
        value: Any = run.results.get(_monitor(run))
        # of a run that does not say what was monitored, the loss
        mode = run.options.get("objective.mode", "max" if "objective.monitor" in run.options else "min")
        sign = -1.0 if mode == "min" else 1.0
        return sign * value if isinstance(value, int | float) and run.status == "completed" else -math.inf

    best = max(runs, key=merit)
    return best if len(runs) > 1 and merit(best) > -math.inf else None
