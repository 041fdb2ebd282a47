"""One run: however training ends, its folder says so. The trainer is written by hand here."""

import errno
import json
import signal
from contextlib import nullcontext, suppress
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from safetensors.torch import load_file

from unrolled.errors import UserError
from unrolled.models.fast import cuda_graphs
from unrolled.training import run as module
from unrolled.training.callbacks.beginning import Beginning
from unrolled.training.callbacks.divergence import Diverged
from unrolled.training.callbacks.speed import Speed
from unrolled.training.preemption import Preempted
from unrolled.training.run import _check_test, _fit_validations, run


class Task(torch.nn.Module):
    """What run() wants of an objective."""

    def __init__(self, size=2):
        super().__init__()
        self.model = torch.nn.Linear(size, 1)
        self.target_tokens, self.signatures = 50, {"bleu": "nrefs:1"}
        self.hypotheses = {"test": ["zwei", ""]}


class Trainer:
    """Trains by calling ``fit``; validation saves ``weights`` as the best, with the figures ``best``.

    accepts: whether it comes to the first batch.
    """

    def __init__(self, folder, fit, best=None, *, accepts=True):
        self.strategy = SimpleNamespace(root_device=torch.device("cpu"))
        self.precision, self.world_size, self.is_global_zero = "32-true", 1, True
        self.limit_test_batches, self.accumulate_grad_batches, self.val_check_interval = 1.0, 1, 1.0
        self.check_val_every_n_epoch = 1
        self.loggers, self.callbacks, self.lr_scheduler_configs = [], [Speed()], []
        self.global_step, self.current_epoch = 7, 2
        self.callback_metrics = {"val/loss": torch.tensor(2.5), "val/bleu": torch.tensor(torch.nan), "lr": 1}
        self.checkpoint_callback = ModelCheckpoint(dirpath=folder / "checkpoints")
        self._fit, self._best, self.started_from = fit, best, None
        self._accepts = accepts

    def fit(self, task, *, datamodule, ckpt_path, weights_only):
        assert weights_only
        self.started_from = ckpt_path
        if self._accepts:
            assert isinstance(self.callbacks[0], Beginning)
            self.callbacks[0].on_train_batch_start(self, task, None, 0)
        self._fit()
        if self._best is not None:
            self.checkpoint_callback.best_model_path = str(self._best)

    def validate(self, task, *, datamodule, verbose):
        self.validated = True

    def save_checkpoint(self, path):
        torch.save(checkpoint(Task()), path)

    def test(self, task, *, datamodule, verbose):
        self.tested = {name: weight.clone() for name, weight in task.state_dict().items()}
        return [{"test/bleu": 31.25}]


def checkpoint(task, step=7):
    return {
        "state_dict": {name: weight + 1 for name, weight in task.state_dict().items()},
        "metrics": {"val/bleu": 30.5},
        "translations": ["eins"],
        "callbacks": {},
        "global_step": step,
    }


DATA = SimpleNamespace(
    fingerprint=lambda: {"tokenizer.target": "abc", "train.target": "def"}, test_dataloader=lambda: range(4)
)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """``start(fit)``: run it in tmp_path; the trainer, and what run() returned."""
    monkeypatch.setattr(module, "keep_freed_memory", lambda: None)
    monkeypatch.setattr("unrolled.figures.curves.save_curves", lambda folder, name: None)
    (tmp_path / "checkpoints").mkdir()

    def begin(fit=lambda: None, best=None, accepts=True, **options):
        trainer = Trainer(tmp_path, fit, best, accepts=accepts)
        facts = {"model": "cgru", "seed": 3}
        return trainer, run(
            module=options.pop("task", Task()),
            data=DATA,
            trainer=trainer,
            folder=tmp_path,
            begin=(tmp_path / "begun").touch,
            facts=facts,
            **options,
        )

    return begin


def ends_with(problem):
    def fit():
        raise problem

    return fit


def written(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def test_the_best_checkpoint_is_tested_and_saved(start, tmp_path):
    best, task = tmp_path / "checkpoints" / "best.ckpt", Task()
    torch.save(content := checkpoint(task), best)
    trainer, results = start(best=best, task=task)
    saved = load_file(tmp_path / "weights.safetensors")
    for name, weight in content["state_dict"].items():
        assert torch.equal(trainer.tested[name], weight)
        assert torch.equal(saved[name.removeprefix("model.")], weight)
    assert results == written(tmp_path)
    assert {name: results[name] for name in ("status", "model", "seed", "steps", "epochs", "parameters")} == {
        "status": "completed", "model": "cgru", "seed": 3, "steps": 7, "epochs": 2, "parameters": 3,
    }  # fmt: skip
    assert (results["val/bleu"], results["test/bleu"], results["bleu_signature"]) == (30.5, 31.25, "nrefs:1")
    lines = {split: (tmp_path / "translations" / f"{split}.txt").read_text("utf-8") for split in ("val", "test")}
    assert lines == {"val": "eins\n", "test": "zwei\n\n"}


def test_a_training_without_any_validation_is_validated_before_the_test(start, tmp_path):
    trainer, results = start()
    assert trainer.validated
    assert (tmp_path / "checkpoints" / "best.ckpt").is_file()
    assert results["status"] == "completed"


def test_a_diverged_training_keeps_its_last_finite_figures(start, tmp_path):
    _, results = start(ends_with(Diverged("val/loss is NaN")))
    assert (results["status"], results["val/loss"]) == ("diverged", 2.5)
    assert "val/bleu" not in results
    assert "test/bleu" not in results
    assert written(tmp_path) == results


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupted_training_is_a_result_and_no_error(end, start, tmp_path):
    _, results = start(ends_with(end))
    assert written(tmp_path)["status"] == results["status"] == "interrupted"


def test_only_what_lightning_says_of_the_number_of_batches_is_the_users_mistake(tmp_path):
    def fit(source):
        """A function of that name in a module of Lightning's, or in another."""
        room = {"__name__": source}
        exec("def setup_data():\n    raise ValueError('two\\n lines')", room)
        return room["setup_data"]

    for source, raised, said in (
        ("lightning.fit", UserError, "^trainer: Lightning says: two lines$"),
        ("data", ValueError, "two\n"),
    ):
        trainer = Trainer(tmp_path, fit(source))
        with pytest.raises(raised, match=said):
            run(module=Task(), data=DATA, trainer=trainer, folder=tmp_path, begin=lambda: None, facts={})


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGUSR2])
def test_a_signal_whose_exception_is_replaced_by_another_is_an_interruption_too(sign, start, tmp_path, monkeypatch):
    """As when it arrives while matplotlib's C++ asks a box for its corners: ValueError, Invalid bounding box."""
    monkeypatch.setattr(module, "ending_signal", lambda callbacks: sign)
    with pytest.raises(Preempted) if sign == signal.SIGUSR2 else nullcontext():
        start(ends_with(ValueError("Invalid bounding box")))
    assert written(tmp_path)["status"] == "interrupted"


@pytest.mark.parametrize(("end", "status"), [(Preempted(), "interrupted"), (RuntimeError("x"), "failed")])
def test_preemption_and_failure_are_written_down_and_raised(end, status, start, tmp_path):
    with pytest.raises(type(end)):
        start(ends_with(end))
    assert written(tmp_path)["status"] == status


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(1), Preempted(), UserError("x"), RuntimeError("x")])
def test_what_ends_before_the_first_batch_leaves_the_folder_as_it_was(end, start, tmp_path):
    (tmp_path / "results.json").write_text("of an earlier run", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt if type(end) is SystemExit else type(end)):
        start(ends_with(end), accepts=False)
    assert (tmp_path / "results.json").read_text(encoding="utf-8") == "of an earlier run"
    assert not (tmp_path / "begun").exists()


def test_a_run_with_nothing_left_to_train_begins_too(start, tmp_path):
    start(accepts=False)
    assert (tmp_path / "begun").exists()
    assert written(tmp_path)["status"] == "completed"


@pytest.mark.parametrize("end", [None, KeyboardInterrupt(), ValueError("no")])
def test_the_next_training_of_the_process_finds_no_captured_loops(end, start, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "_loops", {})

    def fit():
        cuda_graphs._loops[torch.device("cpu")] = cuda_graphs.Loops(torch.device("cpu"))
        if end is not None:
            raise end

    with suppress(ValueError):
        start(fit)
    assert cuda_graphs._loops == {}


def test_training_resumes_from_the_last_checkpoint_of_the_same_model(start, tmp_path):
    last, task = tmp_path / "checkpoints" / "last.ckpt", Task()
    trainer, _ = start(resume=True)
    assert trainer.started_from is None  # there is none yet
    torch.save(checkpoint(task), last)
    assert start(task=task, resume=True)[0].started_from == last
    assert start(task=task)[0].started_from is None
    for damage in (lambda: torch.save(checkpoint(Task(size=3)), last), lambda: last.write_bytes(b"PK")):
        damage()
        with pytest.raises(UserError, match=r"last\.ckpt"):
            start(task=task, resume=True)


@pytest.mark.parametrize(
    ("every", "accumulated", "becomes"), [(10, 2, 9), (8, 2, 8), (10, 1, 10), (1.0, 2, 1.0), (0.5, 4, 0.5), (50, 2, 9)]
)
def test_an_epoch_of_too_few_batches_for_lack_of_memory_is_validated_at_its_end(every, accumulated, becomes, caplog):
    facts = {"val_check_interval": every, "accumulate_grad_batches": accumulated, "check_val_every_n_epoch": 1}
    trainer = SimpleNamespace(**facts, world_size=2, is_global_zero=True)
    _fit_validations(trainer, SimpleNamespace(train_dataloader=lambda: range(9)))
    assert trainer.val_check_interval == becomes
    assert [record.message for record in caplog.records] == (
        ["trainer.val_check_interval=50: an epoch has only 9 batches: it is validated at its end"]
        if every == 50
        else []
    )


@pytest.mark.parametrize(("share", "fits"), [(0.2, False), (0.4, True), (1.0, True), (1, True)])
def test_a_share_of_the_test_set_that_is_no_batch_is_refused(share, fits):
    trainer, data = SimpleNamespace(limit_test_batches=share), SimpleNamespace(test_dataloader=lambda: range(4))
    with nullcontext() if fits else pytest.raises(UserError, match=r"limit_test_batches=0\.2: the test set has only 4"):
        _check_test(trainer, data)


def test_of_several_processes_every_one_draws_its_dropout_for_itself(tmp_path):
    drawn = []
    for rank in (0, 1):
        torch.manual_seed(5)
        trainer = Trainer(tmp_path, lambda: drawn.append(torch.rand(3).tolist()))
        trainer.world_size, trainer.global_rank, trainer.is_global_zero = 2, rank, False
        trainer.strategy.setup_environment, trainer.strategy.broadcast = (lambda: None), (lambda value: value)
        with suppress(RuntimeError):  # there is nothing to be tested
            run(module=Task(), data=DATA, trainer=trainer, folder=tmp_path, begin=lambda: None, facts={})
    torch.manual_seed(5)
    assert drawn[0] == torch.rand(3).tolist()
    assert drawn[1] != drawn[0]


def test_a_full_disk_is_an_interruption_which_a_sweep_resumes(start, tmp_path):
    with pytest.raises(RuntimeError):
        start(ends_with(RuntimeError("around it")))
    assert written(tmp_path)["status"] == "failed"
    full = RuntimeError("around it")
    full.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(RuntimeError):
        start(ends_with(full))
    assert written(tmp_path)["status"] == "interrupted"
