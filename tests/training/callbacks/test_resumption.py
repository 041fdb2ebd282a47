"""What a resumed training continues besides its weights. Of whole trainings: tests/commands/test_train_ngram.py."""

from types import SimpleNamespace

import pytest
import torch

from unrolled.training.callbacks.resumption import Resumption, bring_home, state, take_up
from unrolled.training.loggers.csv import Curves


def trainer(folder, *, rank=0, ranks=2, **figures):
    """What is asked of Lightning's trainer, with the curves in ``folder``."""
    return SimpleNamespace(
        loggers=[Curves(str(folder))],
        global_rank=rank,
        world_size=ranks,
        is_global_zero=rank == 0,
        callback_metrics=figures,
        _logger_connector=SimpleNamespace(_callback_metrics={}),
        checkpoint_callback=SimpleNamespace(dirpath=str(folder / "checkpoints")),
    )


def module(words):
    return SimpleNamespace(target_tokens=words, gather=lambda value: [value, value + 1])


def test_curves_are_truncated_to_the_checkpoint_and_figures_and_words_come_back(tmp_path):
    first = trainer(tmp_path, loss=torch.tensor(0.5))
    first.loggers[0].log_metrics({"loss": 0.5}, step=1)
    checkpoint = {"callbacks": {}}
    Resumption().on_save_checkpoint(first, module(30), checkpoint)
    first.loggers[0].log_metrics({"loss": 0.25}, step=2)
    first.loggers[0].save()
    again, counted, callback = trainer(tmp_path), module(0), Resumption()
    callback.on_load_checkpoint(again, counted, checkpoint)
    callback.on_train_start(again, counted)
    assert (tmp_path / "metrics.csv").read_text().split() == ["loss,step", "0.5,1"]
    assert (counted.target_tokens, again._logger_connector._callback_metrics) == (30, {"loss": torch.tensor(0.5)})
    counted.target_tokens = 40
    callback.on_train_start(again, counted)  # of another fit
    assert counted.target_tokens == 40


@pytest.mark.parametrize(("rank", "ranks", "words"), [(1, 2, 31), (2, 3, 20), (0, 1, 61)])
def test_every_rank_has_its_words_and_another_number_of_ranks_an_equal_share(rank, ranks, words, tmp_path):
    counted = module(0)
    take_up(state(trainer(tmp_path), module(30)), trainer(tmp_path, rank=rank, ranks=ranks), counted)
    assert counted.target_tokens == words


def test_a_checkpoint_without_that_state_changes_nothing(tmp_path):
    callback, counted, again = Resumption(), module(7), trainer(tmp_path)
    callback.on_load_checkpoint(again, counted, {"callbacks": {}})
    callback.on_train_start(again, counted)
    assert (counted.target_tokens, again._logger_connector._callback_metrics) == (7, {})


def test_the_best_checkpoint_is_where_the_folder_is_now(tmp_path):
    (tmp_path / "now").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "now")
    best = {"dirpath": "/then/checkpoints", "best_model_path": "/then/checkpoints/best.ckpt", "best_model_score": 2.0}
    checkpoint = {"callbacks": {"best": best, "speed": {"seconds": 3.0}}}
    bring_home(checkpoint, tmp_path / "link")
    here = str(tmp_path / "now")
    moved = {"dirpath": here, "best_model_path": f"{here}/best.ckpt", "best_model_score": 2.0}
    assert checkpoint == {"callbacks": {"best": moved, "speed": {"seconds": 3.0}}}
