"""What TensorBoard's files hold, read back; of a training: tests/commands/test_train_loggers.py."""

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
