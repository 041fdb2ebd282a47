"""metrics.csv, which a resumed training continues exactly where its checkpoint was written."""

import csv
import io
from itertools import islice
from os import SEEK_END
from pathlib import Path
from typing import Any

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.csv_logs import ExperimentWriter

from unrolled.files import flush, reading, write_text

Rows = list[dict[str, Any]]
"""The values of each row as they are written, by column; "" where a column has none."""


class CurvesWriter(ExperimentWriter):
    """Rows of ``log_dir``/metrics.csv. The file of an earlier training is overwritten unless it is resumed."""

    def __init__(self, log_dir: str) -> None:
        super().__init__(log_dir)
        self._rows = 0
        self._end = 0  # the bytes that hold them and the header
        self._header: list[str] = []

    def _check_log_dir_exists(self) -> None:
        """Do nothing: the run folder is never empty, and its files are kept."""

    def save(self) -> None:
        """Write what was logged since the last call. Ctrl-C may end it anywhere: once more, it writes the same rows."""
        if not self.metrics:
            return
        self._record_new_keys()
        path = Path(self.metrics_file_path)
        if self.metrics_keys == self._header and path.exists():
            text = io.StringIO(newline="")
            csv.DictWriter(text, fieldnames=self.metrics_keys).writerows(self.metrics)
            with path.open("r+b") as file:
                file.truncate(min(self._end, file.seek(0, SEEK_END)))
                file.seek(0, SEEK_END)
                file.write(text.getvalue().encode())
                end = file.tell()
        else:
            end = self._rewrite([*(self._read(self._rows) if self._rows and path.exists() else []), *self.metrics])
        self._end, self._rows, self.metrics = end, self._rows + len(self.metrics), []

    def mark(self) -> dict[str, Any]:
        """Write what was logged, and return how much the file holds, for `resume`."""
        self.save()
        if self._rows:
            flush(Path(self.metrics_file_path))
        return {"rows": self._rows, "columns": list(self.metrics_keys)}

    def resume(self, mark: dict[str, Any]) -> Rows:
        """Truncate the file to what it was at ``mark``, and append from there. Returns the rows that remain."""
        rows = self._read(mark["rows"]) if Path(self.metrics_file_path).exists() else []
        self.metrics_keys, self._rows = list(mark["columns"]), len(rows)
        self._end = self._rewrite(rows)
        return rows

    def _read(self, count: int) -> Rows:
        """The first ``count`` rows; the machine may have stopped while later ones were written."""
        path = Path(self.metrics_file_path)
        with reading(path), path.open(newline="", encoding="utf-8") as file:
            rows = list(islice(csv.DictReader(file), count))
            if any(None in row or None in row.values() for row in rows):
                raise ValueError("its rows have not the columns of its first line")
            return rows

    def _rewrite(self, rows: Rows) -> int:
        """Write the header and ``rows`` with the present columns. Returns how many bytes that was."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fieldnames=self.metrics_keys, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        write_text(Path(self.metrics_file_path), text.getvalue())
        self._header = list(self.metrics_keys)
        return len(text.getvalue().encode())


class Curves(CSVLogger):
    """The curves in ``folder``/metrics.csv, written every 50 rows."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, name="", version="", flush_logs_every_n_steps=50)

    @property
    @rank_zero_experiment
    def experiment(self) -> CurvesWriter:
        """The writer of the file."""
        if not isinstance(self._experiment, CurvesWriter):
            Path(self.log_dir).mkdir(parents=True, exist_ok=True)
            self._experiment = CurvesWriter(log_dir=self.log_dir)
        return self._experiment
