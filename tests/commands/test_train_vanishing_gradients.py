"""Gradient norms, clipping and Pascanu's regulariser as a user meets them."""

import csv
import json
from functools import partial

import lightning
import matplotlib.image
import pytest
import torch
from safetensors.torch import load_file
from support.scripts import TINY, TINY_MODEL, call_script, results, train
from support.small_models import TARGET_WORDS, build_lm, words
from support.wandb_files import read
from torch.utils.data import DataLoader

from unrolled.data.batch import make_batch
from unrolled.figures import curves, formats
from unrolled.figures.gradient_curves import read_rows
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.schedule import constant

TINY_LM = [*TINY, "model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7"]
DROPOUT = ["model.dropout=0.3", "trainer.log_every_n_steps=1"]
NORMS = "callbacks=gradient_norms"
SHORT = ["trainer.max_steps=4", "trainer.val_check_interval=2", "trainer.limit_train_batches=4"]
SHORT += ["~callbacks.pictures", "~callbacks.kept", "hydra.run.dir=run"]


def picture(path):
    pixels = matplotlib.image.imread(path)
    assert min(pixels.shape[:2]) > 200
    assert pixels.std() > 0.01


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """The folder of a run that measured, with Weights & Biases, offline."""
    where = tmp_path_factory.mktemp("looked")
    assert call_script("train.py", NORMS, *DROPOUT, *TINY_LM, *SHORT, cwd=where, drawings=True).status == 0
    return where / "run"


def test_norms_of_a_run_are_measured_before_training_and_at_every_validation(looked):
    rows = read_rows(looked / "gradient_norms.csv")
    assert sorted({row.step for row in rows}) == [0, 2, 4]
    for step in (0, 2, 4):
        measured = [row for row in rows if row.step == step]
        assert [row.n for row in measured] == list(range(len(measured)))
        assert len(measured) >= 9  # the longest sentences have about as many words
        assert all(row.norm > 0 and row.pairs > 0 for row in measured)
    assert len({row.norm for row in rows if row.n == 0}) == 3
    picture(looked / "figures" / "gradient-norms.png")
    assert not (looked.parent / "gradient-norms.png").exists()  # there is no sweep


def test_looking_changes_nothing(looked, tmp_path):
    """Weights after training, dropout and all, are bit by bit those of a run that does not look."""
    assert call_script("train.py", *DROPOUT, *TINY_LM, *SHORT, "logger=csv", cwd=tmp_path).status == 0
    one, other = (load_file(folder / "weights.safetensors") for folder in (looked, tmp_path / "run"))
    assert all(torch.equal(one[name], other[name]) for name in other)
    for figure in ("val/loss", "test/loss"):
        assert results(looked)[figure] == results(tmp_path / "run")[figure]


def test_wandb_has_curves_and_a_table_of_every_measurement(looked):
    shown = [row for row in read(looked)["history"] if "gradient_norms/table" in row]
    assert len(shown) == 3
    (files,) = looked.glob("wandb/offline-run-*/files")
    rows = read_rows(looked / "gradient_norms.csv")
    for step, row in zip((0, 2, 4), shown, strict=True):
        assert (files / row["gradient_norms/curves"]["path"]).read_bytes().startswith(b"\x89PNG")
        table = json.loads((files / row["gradient_norms/table"]["path"]).read_text(encoding="utf-8"))
        assert table["columns"] == ["step", "n", "norm", "pairs"]
        assert table["data"] == [list(measured) for measured in rows if measured.step == step]


def test_a_translator_shows_its_decoders_norms(tmp_path):
    chosen = [NORMS, "model=bahdanau", "model.decoder.cell=lstm", "attention=gru_att", *TINY, *TINY_MODEL, *SHORT]
    assert call_script("train.py", *chosen, "logger=csv", cwd=tmp_path).status == 0
    rows = read_rows(tmp_path / "run" / "gradient_norms.csv")
    assert {row.step for row in rows} == {0, 2, 4}
    assert all(row.norm > 0 for row in rows)


def test_a_model_without_recurrence_shows_nothing_and_trains(tmp_path):
    more = [*TINY, "model=feedforward_lm", "model.embedding_size=8", "model.hidden_size=7", "logger=csv"]
    assert call_script("train.py", NORMS, *more, *SHORT, cwd=tmp_path).status == 0
    assert not (tmp_path / "run" / "gradient_norms.csv").exists()


def test_the_experiment_compares_cells_in_the_folder_of_its_sweep(tmp_path, monkeypatch):
    more = ["experiment=vanishing_gradients", "model.cell=tanh,lstm", "model.embedding_size=8", "model.hidden_size=7"]
    more += [f"data.grammar.{option}" for option in ("pairs=60", "validation_pairs=9", "test_pairs=5")]
    more += ["trainer.max_steps=1"]
    draw, cells = formats._draw, tmp_path / "cells"

    def draw_comparison(figure, to, form):  # of both; the pictures of a run are drawn above
        if to.parent.name == "cells" and (cells / "1-lstm-seed1" / "gradient_norms.csv").exists():
            draw(figure, to, form)
        else:
            to.touch()

    monkeypatch.setattr(formats, "_draw", draw_comparison)
    monkeypatch.setattr(curves, "save_curves", lambda *_: None)
    assert call_script("train.py", "-m", *more, "sweep.dir=cells", cwd=tmp_path, drawings=True).status == 0
    picture(cells / "gradient-norms.png")
    for name in ("0-tanh-seed1", "1-lstm-seed1"):
        rows = read_rows(cells / name / "gradient_norms.csv")
        assert min(row.step for row in rows) == 0 < max(row.step for row in rows)
        assert max(row.n for row in rows) >= 20


# Pascanu's regulariser


def test_the_regulariser_makes_omega_smaller(tmp_path):
    omegas = []
    for weight in (1e-9, 30):
        more = ["logger=csv", "model.cell=gru", "model.layers=2", f"objective.gradient_regularization={weight}"]
        more += ["model.orthogonal=false", "optimizer.lr=0.01", "trainer.log_every_n_steps=1"]
        run = train(tmp_path, *TINY_LM, *SHORT, *more, folder=f"weight{weight}")
        with (run / "metrics.csv").open(encoding="utf-8", newline="") as file:
            omegas.append([float(row["train/omega"]) for row in csv.DictReader(file) if row["train/omega"]])
    without, regularized = omegas
    assert regularized[0] == pytest.approx(without[0], rel=1e-5)
    assert regularized[-1] < 0.95 * without[-1]


@pytest.mark.parametrize(
    ("model", "weight", "said"),
    [
        ("feedforward_lm", "0.1", "use model=rnn_lm"),
        ("rnn_lm", "-1", "give a number from 0"),
        ("cgru", "0.1", "objective.gradient_regularization: there is no such option"),
    ],
)
def test_a_regulariser_that_does_not_fit_is_refused(model, weight, said, tmp_path):
    chosen = [*TINY, f"model={model}", f"objective.gradient_regularization={weight}", "logger=csv"]
    done = call_script("train.py", *chosen, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line
    assert "gradient_regularization" in line


# Clipping, by the lecture's equations


def step_of_sgd(algorithm, most):
    """Gradients by hand, and what a step of SGD with lr 1 took away under the trainer, one vector each, float64."""
    batch = make_batch(None, words([4, 2], TARGET_WORDS), range(2))
    shared = {"optimizer": partial(torch.optim.SGD, lr=1.0), "schedule": constant, "label_smoothing": 0.0}
    module = LanguageModeling(model=build_lm(), monitor="val/loss", mode="min", **shared)
    loss = module.loss(batch)
    gradients = torch.autograd.grad(loss.objective / loss.tokens, list(module.model.parameters()))
    before = torch.cat([parameter.detach().flatten().clone() for parameter in module.model.parameters()])
    trainer = lightning.Trainer(
        max_steps=1,
        gradient_clip_algorithm=algorithm,
        gradient_clip_val=most,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, train_dataloaders=DataLoader([batch], batch_size=None))
    after = torch.cat([parameter.detach().flatten() for parameter in module.model.parameters()])
    return torch.cat([gradient.flatten() for gradient in gradients]), before - after


@pytest.mark.filterwarnings("ignore:.*does not have many workers.*")
@pytest.mark.filterwarnings("ignore:.*val_dataloader.*")
@pytest.mark.parametrize("most", [0.05, 1e3])
@pytest.mark.parametrize("algorithm", ["norm", "value"])
def test_clipping_is_the_lectures(algorithm, most):
    gradient, step = step_of_sgd(algorithm, most)
    if algorithm == "norm":
        # c / ||g|| g if ||g|| >= c, else g
        norm = gradient.square().sum().sqrt()
        expected = most / norm * gradient if norm >= most else gradient
        tolerance = 1e-6  # torch divides by ||g|| + 1e-6
    else:
        # min(c, g_i), and for negative elements, of which the lecture is silent, max(-c, g_i)
        expected = torch.minimum(torch.full_like(gradient, most), torch.full_like(gradient, -most).maximum(gradient))
        tolerance = 1e-12
    assert (not torch.equal(expected, gradient)) == (most < 1)
    torch.testing.assert_close(step, expected, rtol=0, atol=tolerance)
