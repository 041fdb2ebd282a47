"""What TensorBoard's files hold, read back; of a training: tests/commands/test_train_loggers.py."""

import time

import pytest

from unrolled.training.loggers.tensorboard import forget_from, log_pictures, log_texts, tensorboard_logger

pytest.importorskip("tensorboard")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (3).to_bytes(4) + (2).to_bytes(4) + b"and so on"


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder / "tensorboard")).Reload()


def logged(folder, values, *, resume=False, forget=None):
    logger = tensorboard_logger(folder=str(folder), resume=resume)
    if forget is not None:
        forget_from(forget, logger)
    for step, value in values.items():
        logger.log_metrics({"loss": value}, step)
    logger.finalize("success")
    return {event.step: event.value for event in read(folder).Scalars("loss")}


def test_a_new_training_in_the_folder_of_another_starts_afresh(tmp_path):
    assert logged(tmp_path, {0: 4.0, 1: 3.0}) == {0: 4.0, 1: 3.0}
    assert logged(tmp_path, {0: 2.0}) == {0: 2.0}
    assert logged(tmp_path, {0: 1.0}, resume=True) == {0: 1.0}  # there is no checkpoint to resume from


def test_what_was_logged_after_the_checkpoint_is_forgotten(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    logged(tmp_path, {0: 4.0, 1: 3.0, 2: 9.0}, resume=True)
    assert logged(tmp_path, {2: 2.0, 3: 1.0}, resume=True, forget=2) == {0: 4.0, 1: 3.0, 2: 2.0, 3: 1.0}


def test_the_tenth_file_of_a_process_is_read_after_the_ninth(tmp_path, monkeypatch):
    from tensorboard.summary.writer import event_file_writer

    monkeypatch.setattr(event_file_writer, "_global_uid", type(event_file_writer._global_uid)(9))
    logger = tensorboard_logger(folder=str(tmp_path), resume=False)
    time.sleep(1 - time.time() % 1)  # both files within a second, unless the logger sees to it
    forget_from(0, logger)  # a resumed training: what comes before it in the order of files is dropped
    for step in range(2):
        logger.log_metrics({"loss": float(step)}, step)
        logger.finalize("success")  # as Lightning does between training and test
    names = [path.name.rsplit(".", 1)[1] for path in (tmp_path / "tensorboard").glob("events.*")]
    assert sorted(names) == ["10", "9"]
    assert {event.step: event.value for event in read(tmp_path).Scalars("loss")} == {0: 0.0, 1: 1.0}


def test_pictures_are_kept_as_they_are_and_tables_keep_their_columns(tmp_path):
    (tmp_path / "picture.png").write_bytes(PNG)
    logger = tensorboard_logger(folder=str(tmp_path), resume=False)
    log_pictures(logger, {"val/1": tmp_path / "picture.png"}, 5)
    log_texts(logger, "val/samples", ["source", "translation"], [["a | b", "c"]], 5)
    logger.finalize("success")
    events = read(tmp_path)
    (image,) = events.Images("val/1")
    assert (image.encoded_image_string, image.width, image.height, image.step) == (PNG, 3, 2, 5)
    (table,) = events.Tensors("val/samples/text_summary")
    assert table.tensor_proto.string_val[0].decode().splitlines()[2] == "| a \\| b | c |"
