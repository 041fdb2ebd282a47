"""train.py as a user runs it: what a run leaves, its options, sweeps, and how it may end."""

import csv
import json
import os
import pty
import signal
import time

import matplotlib.image
import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file
from support.forked import Forked
from support.run_contents import NO_PAGES, PLAIN, RESULTS, TINY_LM, corpus, lines, sacrebleu, same_weights, shown
from support.scripts import SHORT, TINY, TINY_MODEL, call_script, results, train


def test_results_have_every_figure_and_are_flat(trained):
    found = results(trained)
    assert set(found) >= RESULTS
    assert not [name for name, value in found.items() if isinstance(value, dict | list)]
    assert not [name for name, value in found.items() if value is None]
    assert (found["status"], found["model"], found["attention"]) == ("completed", "cgru", "gru_att")
    assert (found["data"], found["seed"], found["epochs"]) == ("reorder", 0, 3)


def test_a_run_keeps_what_the_command_line_named(trained):
    config = yaml.safe_load((trained / "config.yaml").read_text(encoding="utf-8"))
    assert config["overrides"][:2] == ["model=cgru", "attention=gru_att"]
    assert "seed=0" in config["overrides"]


def test_results_go_to_stdout_and_the_log_to_stderr(training):
    folder, done = training
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert set(names) == set(results(folder))
    assert "val/bleu" in done.stderr
    assert "padding" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


def test_test_bleu_is_what_sacrebleu_prints_for_the_written_file(trained):
    found, references = results(trained), corpus(trained.parent, "test", "target")
    assert sacrebleu(references, trained / "translations" / "test.txt", "none") == pytest.approx(found["test/bleu"])
    assert len(lines(trained / "translations" / "test.txt")) == len(lines(references)) == 11
    validation = corpus(trained.parent, "val", "target")
    assert sacrebleu(validation, trained / "translations" / "val.txt", "none") == pytest.approx(found["val/bleu"])


def test_checkpoints_are_plain_data_and_the_weights_are_the_best_ones(trained):
    for name in ("best", "last"):
        checkpoint = torch.load(trained / "checkpoints" / f"{name}.ckpt", map_location="cpu", weights_only=True)
        assert checkpoint["global_step"] > 0
    best = torch.load(trained / "checkpoints" / "best.ckpt", map_location="cpu", weights_only=True)
    weights = load_file(trained / "weights.safetensors")
    assert {f"model.{name}" for name in weights} == set(best["state_dict"])
    assert all(torch.equal(best["state_dict"][f"model.{name}"], weights[name]) for name in weights)
    assert best["metrics"]["val/bleu"] == pytest.approx(results(trained)["val/bleu"])
    assert sum(weight.numel() for weight in weights.values()) == results(trained)["parameters"]


def test_provenance_says_where_the_figures_come_from(trained):
    facts = json.loads((trained / "provenance.json").read_text(encoding="utf-8"))
    assert "model=cgru" in facts["command"]
    assert set(facts) >= {"command", "git", "python", "versions", "machine", "sha256"}
    assert facts["versions"]["torch"] == torch.__version__
    files = ("source", "target", "alignment")
    texts = {f"{split}.{side}" for split in ("train", "val", "test") for side in files}
    assert set(facts["sha256"]) == texts | {"tokenizer.source", "tokenizer.target"}
    assert all(len(digest) == 64 for digest in facts["sha256"].values())
    if facts["git"] is not None:
        assert set(facts["git"]) == {"commit", "dirty"}


def test_metrics_hold_the_curves(trained):
    with (trained / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    train_loss = [float(row["train/loss"]) for row in rows if row["train/loss"]]
    assert len(train_loss) == results(trained)["steps"] // 2
    bleu = [float(row["val/bleu"]) for row in rows if row["val/bleu"]]
    assert len(bleu) == 3
    assert max(bleu) == pytest.approx(results(trained)["val/bleu"])
    assert [float(row["test/bleu"]) for row in rows if row["test/bleu"]] == [
        pytest.approx(results(trained)["test/bleu"])
    ]
    assert [row["lr-Adam"] for row in rows if row["lr-Adam"]]


def test_figures_are_pictures(trained):
    names = {path.stem for path in (trained / "figures").glob("*.png")}
    lines = (1, 2, 3, 4)
    assert names == {"curves"} | {f"{shown}-{line}" for shown in ("val", "test") for line in lines} | {
        f"test-{line}-reference" for line in lines
    }
    for name in names:
        picture = matplotlib.image.imread(trained / "figures" / f"{name}.png")
        assert min(picture.shape[:2]) > 50
        assert picture.std() > 0.01


def test_run_folder_holds_what_the_readme_says_and_no_more(trained):
    names = {path.name for path in trained.iterdir()}
    files = {"config.yaml", "results.json", "metrics.csv", "provenance.json", "weights.safetensors"}
    files |= {"attention.jsonl", "attention.html"}
    assert names == files | {"checkpoints", "tokenizer", "translations", "figures", "wandb"}
    assert {path.name for path in (trained / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt", "kept"}
    kept = json.loads((trained / "checkpoints" / "kept" / "kept.json").read_text(encoding="utf-8"))["steps"]
    names = {path.name for path in (trained / "checkpoints" / "kept").iterdir()}
    assert names == {"kept.json", *(f"step-{step}.safetensors" for step in kept)}
    assert len(kept) == 3


QUICK = [*PLAIN, *SHORT]

# Seeds, hardware and sweeps


@pytest.mark.slow
def test_a_seed_repeats_and_seed_0_is_a_seed(sweep, trained):
    zero, one = (sweep / f"{job}-cgru-gru_att-reorder-seed{job}" for job in (0, 1))
    assert same_weights(zero, trained)
    assert not same_weights(zero, one)
    assert [results(folder)["seed"] for folder in (zero, one)] == [0, 1]


@pytest.mark.slow
def test_a_sweep_gives_one_run_folder_a_job(sweep):
    folders = [path for path in sweep.iterdir() if path.is_dir()]  # besides Hydra's multirun.yaml
    assert len(folders) == 2
    for folder in folders:
        assert results(folder)["status"] == "completed"
        assert set(results(folder)) >= RESULTS
        assert len(list((folder / "wandb").glob("offline-run-*"))) == 1
    assert {path.name for path in sweep.parent.iterdir()} == {"seeds", "outputs"}
    assert {path.name for path in (sweep.parent / "outputs").iterdir()} == {"cache"}


def test_a_sweep_is_compared(sweep, tmp_path):
    done = call_script("compare.py", f"runs={sweep}", f"output={tmp_path}", "bootstrap=40", cwd=tmp_path, drawings=True)
    head, (first, *_) = done.stdout.splitlines()[0], done.stdout.splitlines()[1:]
    bleu = [results(sweep / f"{job}-cgru-gru_att-reorder-seed{job}")["test/bleu"] for job in (0, 1)]
    assert first.split()[:2] == ["cgru-gru_att", "2"]
    assert f"  {np.mean(bleu):.2f} ± {np.std(bleu, ddof=1):.2f}  " in first
    assert {"chrF", "TER", "perplexity", "AER,", "parameters", "tokens/s", "memory,"} <= set(head.split())
    assert (tmp_path / "bleu-by-reordering.png").stat().st_size > 10000


def test_bfloat16_on_the_cpu_gives_nearly_the_figures_of_float32(tmp_path):
    for hardware in ("cpu", "cpu_bf16"):
        done = call_script(
            "train.py", f"hardware={hardware}", *QUICK, f"hydra.run.dir={hardware}", "trainer.max_steps=6", cwd=tmp_path
        )
        assert done.status == 0
    full, half = (results(tmp_path / hardware)["test/loss"] for hardware in ("cpu", "cpu_bf16"))
    assert full != half
    assert full == pytest.approx(half, rel=0.01)


# Training options


@pytest.mark.parametrize("attention", ["gru_att", "none"])
def test_double_precision_trains(attention, tmp_path):
    model = [*TINY_MODEL, f"attention={attention}"] if attention != "none" else TINY_LM
    more = ["trainer.precision=64-true", "trainer.max_steps=2", "hydra.run.dir=run", "logger=csv", *NO_PAGES]
    assert call_script("train.py", *TINY, *model, *more, cwd=tmp_path).status == 0
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float64}


def test_max_steps_ends_training_and_the_model_is_tested(tmp_path):
    assert call_script("train.py", *QUICK, "trainer.max_steps=6", cwd=tmp_path).status == 0
    assert results(tmp_path / "run")["steps"] == 6
    assert set(results(tmp_path / "run")) >= RESULTS


def test_gradient_accumulation_takes_fewer_steps(tmp_path):
    steps = {}
    for batches in (1, 3):
        more = [f"trainer.accumulate_grad_batches={batches}", "trainer.max_epochs=1"]
        steps[batches] = results(train(tmp_path, *QUICK, *more, folder=f"by{batches}"))["steps"]
    assert steps[3] == -(-steps[1] // 3)


def test_training_stops_early_and_the_best_checkpoint_is_tested(tmp_path):
    """With a learning rate that does harm, the first validation stays the best."""
    more = ["optimizer=sgd", "optimizer.lr=50", "callbacks.early_stopping.patience=2", "trainer.max_epochs=20"]
    more += ["objective.monitor=val/loss", "objective.mode=min"]
    assert call_script("train.py", *QUICK, *more, cwd=tmp_path).status == 0
    found = results(tmp_path / "run")
    assert found["epochs"] < 20
    with (tmp_path / "run" / "metrics.csv").open(encoding="utf-8", newline="") as file:
        losses = [float(row["val/loss"]) for row in csv.DictReader(file) if row["val/loss"]]
    assert found["val/loss"] == pytest.approx(min(losses))
    assert len(losses) == losses.index(min(losses)) + 3
    evaluated = call_script("evaluate.py", "run=run", "split=val", cwd=tmp_path)
    assert shown(evaluated.stdout, "loss") == pytest.approx(min(losses), rel=1e-3)


def test_while_bleu_is_chance_the_best_checkpoint_has_the_lowest_loss(tmp_path):
    train(tmp_path, *QUICK, "trainer.max_epochs=4", "optimizer.lr=3e-4")
    with (tmp_path / "run" / "metrics.csv").open(encoding="utf-8", newline="") as file:
        validations = [row for row in csv.DictReader(file) if row["val/bleu"]]
    losses, bleu = ([float(row[name]) for row in validations] for name in ("val/loss", "val/bleu"))
    assert max(bleu) < 1
    assert bleu[-1] < max(bleu) or bleu[-1] == bleu[0], "by BLEU the last validation would be the best one too"
    assert losses == sorted(losses, reverse=True)
    best = torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt", map_location="cpu", weights_only=True)
    assert best["global_step"] == results(tmp_path / "run")["steps"]
    assert results(tmp_path / "run")["val/loss"] == pytest.approx(losses[-1])


@pytest.mark.parametrize("algorithm", ["norm", "value"])
def test_gradients_are_clipped(algorithm, tmp_path):
    """Steps of SGD with lr 1 and gradients clipped to almost nothing leave the loss where it was."""
    more = ["optimizer=sgd", "optimizer.lr=1", "trainer.max_steps=9", f"trainer.gradient_clip_algorithm={algorithm}"]
    losses = []
    for most in ("1e-7", "null"):
        run = train(tmp_path, *QUICK, *more, f"trainer.gradient_clip_val={most}", folder=f"to{most}")
        losses.append(results(run)["val/loss"])
    assert losses[1] < losses[0] - 0.1


# Training that ends badly


def test_a_diverged_run_says_so(diverged):
    assert results(diverged)["status"] == "diverged"
    assert results(diverged)["steps"] < 40
    assert "test/bleu" not in results(diverged)
    assert (diverged / "config.yaml").is_file()


@pytest.mark.slow
def test_an_interrupted_run_says_so_and_leaves_a_checkpoint(tmp_path):
    more = ["trainer.max_epochs=100000", "callbacks.early_stopping.patience=100000", "callbacks.progress.seconds=0.1"]
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = Forked("train.py", *QUICK, *more, cwd=tmp_path, stderr=stream.fileno())
    try:
        deadline = time.monotonic() + 120
        while (
            b"epoch 1, " not in log.read_bytes() and process.poll() is None and time.monotonic() < deadline
        ):  # validated
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130, log.read_text(encoding="utf-8")
    finally:
        process.kill()
    assert "Traceback" not in log.read_text(encoding="utf-8")
    assert results(tmp_path / "run")["status"] == "interrupted"
    last = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", map_location="cpu", weights_only=True)
    assert last["global_step"] > 0
    assert (tmp_path / "run" / "config.yaml").is_file()


@pytest.mark.slow
def test_on_a_terminal_there_is_a_progress_bar_and_no_question(tmp_path):
    """W&B asks for a key on a terminal, if one lets it."""
    terminal, process_end = pty.openpty()
    options = [*TINY, *SHORT, *TINY_MODEL, *NO_PAGES, "trainer.max_steps=3", "hydra.run.dir=run"]
    streams = {"stdin": process_end, "stdout": process_end, "stderr": process_end}
    process = Forked("train.py", *options, cwd=tmp_path, **streams, TERM="xterm", COLUMNS="120")
    os.close(process_end)
    written = b""
    try:
        while chunk := os.read(terminal, 65536):
            written += chunk
    except OSError:
        pass  # the end of a terminal
    assert process.wait(timeout=60) == 0, written.decode()
    assert results(tmp_path / "run")["status"] == "completed"
    assert "epoch 1/3  ━".encode() in written  # the data have bars too
