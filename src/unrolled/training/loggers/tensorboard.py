"""TensorBoard: the curves, translations and pictures of a run, in its folder."""

import struct
import time
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from unrolled.runs.resume import last_checkpoint

FOLDER = "tensorboard"
EVENTS = "events.out.tfevents"  # .SECOND.HOST.PROCESS.COUNTER


class FilesInOrder(TensorBoardLogger):
    """Each file that it opens has a later second in its name than the files before it.

    Lightning's logger opens a new file for the test. Readers sort the files by name, as text, so within a second the
    tenth would come before the ninth, and earlier points would be dropped as out of date.
    """

    @property
    def experiment(self) -> Any:
        """The writer, opened if it is not open."""
        closed = self._experiment is None or self._experiment.file_writer is None
        if closed and getattr(rank_zero_only, "rank", 0) == 0:
            names = (path.name.split(".") for path in Path(self.log_dir).glob(f"{EVENTS}.*"))
            later = max((int(name[3]) for name in names if name[3].isdecimal()), default=0) + 1
            time.sleep(min(max(later - time.time(), 0), 1))  # not longer, even if a file's clock was ahead
        return super().experiment


def tensorboard_logger(*, folder: str, resume: bool) -> TensorBoardLogger:
    """Event files in ``folder``/tensorboard; those of an earlier training are removed unless it is resumed."""
    logger = FilesInOrder(folder, name=FOLDER, version="", default_hp_metric=False)
    continued = resume and last_checkpoint(Path(folder)) is not None
    if not continued and getattr(rank_zero_only, "rank", 0) == 0:
        for events in Path(logger.log_dir).glob(f"{EVENTS}.*"):
            events.unlink()
    return logger


def forget_from(step: int, logger: TensorBoardLogger) -> None:
    """From now on readers omit points of ``step`` and later ones: training resumes before them."""
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog

    writer = logger.experiment._get_file_writer()
    writer.add_event(Event(file_version="brain.Event:2"), step)
    writer.add_event(Event(session_log=SessionLog(status=SessionLog.START)), step)


def log_texts(logger: TensorBoardLogger, name: str, columns: list[str], rows: list[list[str]], step: int) -> None:
    """A table of ``rows``."""
    table = [columns, ["---"] * len(columns), *([text.replace("|", "\\|") for text in row] for row in rows)]
    logger.experiment.add_text(name, "\n".join(f"| {' | '.join(row)} |" for row in table), step)


def log_pictures(logger: TensorBoardLogger, pictures: dict[str, Path], step: int) -> None:
    """PNG files by name, as they are."""
    from tensorboard.compat.proto.summary_pb2 import Summary

    writer = logger.experiment._get_file_writer()
    for name, path in pictures.items():
        encoded = path.read_bytes()
        width, height = struct.unpack(">II", encoded[16:24])  # the first chunk of every PNG file
        image = Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=encoded)
        writer.add_summary(Summary(value=[Summary.Value(tag=name, image=image)]), step)
