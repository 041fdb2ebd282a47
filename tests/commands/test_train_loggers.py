"""Other loggers than Weights & Biases, alone and together: what they hold is read back."""

import csv
import shutil
from importlib.util import find_spec

import pytest
import yaml
from support.killing import Killed, kill
from support.scripts import TINY, TINY_MODEL, call_script, results

SHORT = [*TINY, *TINY_MODEL, "data.grammar.pairs=100", "trainer.max_epochs=2", "trainer.log_every_n_steps=1"]
SHORT += ["~callbacks.attention_record", "callbacks.saving.steps=2", "callbacks.pictures.sentences=1"]
TWO = "logger=[csv,tensorboard]"

needs_tensorboard = pytest.mark.skipif(find_spec("tensorboard") is None, reason="needs the extra tensorboard")
needs_mlflow = pytest.mark.skipif(find_spec("mlflow") is None, reason="needs the extra mlflow")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of these packages


def tensorboard(run):
    """name -> {step: value} of a run's TensorBoard files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "tensorboard")).Reload()
    curves = {}
    for name in events.Tags()["scalars"]:
        curves[name] = {}
        for event in events.Scalars(name):  # the learning rate of the first step comes twice
            assert curves[name].setdefault(event.step, event.value) == event.value
    return curves, events


def metrics(run):
    """The same of metrics.csv."""
    curves = {}
    with (run / "metrics.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for name, value in row.items():
                if name != "step" and value:
                    curves.setdefault(name, {})[int(row["step"])] = float(value)
    return curves


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    done = call_script("train.py", *SHORT, TWO, "hydra.run.dir=run", cwd=folder, drawings=True, looking=True)
    assert done.status == 0, done.stderr
    return folder / "run"


@needs_tensorboard
def test_tensorboard_has_the_curves_the_samples_and_the_pictures(whole):
    curves, events = tensorboard(whole)
    expected = metrics(whole)
    assert {name for name in expected if name.startswith(("val/", "test/", "train/"))} <= set(curves)
    for name, values in expected.items():
        assert curves[name] == pytest.approx(values, rel=1e-6), name
    assert curves["test/bleu"].popitem()[1] == pytest.approx(results(whole)["test/bleu"], rel=1e-6)
    (table,) = events.Tensors("test/samples/text_summary")
    assert b"| source | translation | reference |" in table.tensor_proto.string_val[0]
    (image,) = events.Images("test/alignment/1")
    assert image.encoded_image_string == (whole / "figures" / "test-1.png").read_bytes()
    assert (image.width, image.height) > (10, 10)
    assert "attention" in (whole / "tensorboard" / "hparams.yaml").read_text(encoding="utf-8")


@needs_tensorboard
@pytest.mark.slow
@pytest.mark.parametrize(("step", "where"), [(1, "on_train_batch_end"), (7, "on_train_batch_end")])
def test_resumed_curves_in_tensorboard_are_those_of_a_training_that_was_not_interrupted(step, where, whole, tmp_path):
    with pytest.raises(Killed):
        call_script("train.py", *SHORT, TWO, "hydra.run.dir=run", *kill(tmp_path, step, where), cwd=tmp_path)
    done = call_script("train.py", "resume=run", "trust=support", cwd=tmp_path)
    assert done.status == 0, done.stderr
    resumed, uninterrupted = tensorboard(tmp_path / "run")[0], tensorboard(whole)[0]
    speeds = [curves.pop("train/target_tokens_per_second") for curves in (resumed, uninterrupted)]
    assert speeds[0].keys() == speeds[1].keys()
    assert resumed == uninterrupted
    assert metrics(tmp_path / "run") == metrics(whole)


@needs_tensorboard
@pytest.mark.slow
def test_several_loggers_together_in_a_sweep(tmp_path):
    short = [*SHORT, "trainer.max_steps=1", "~callbacks.pictures", "logger=[wandb,tensorboard]", "sweep.dir=both"]
    assert call_script("train.py", "-m", *short, "seed=1,2", cwd=tmp_path).status == 0
    jobs = sorted(folder for folder in (tmp_path / "both").iterdir() if folder.is_dir())
    assert len(jobs) == 2
    for job in jobs:
        assert list(job.glob("wandb/offline-run-*/run-*.wandb"))
        assert tensorboard(job)[0]["test/bleu"]
        assert yaml.safe_load((job / "config.yaml").read_text(encoding="utf-8"))["logger"]["wandb"]["group"] == "both"
    assert call_script("train.py", "-m", *short, "seed=1,2", cwd=tmp_path).status == 0  # both are there already
    assert [len(list(job.glob("wandb/offline-run-*"))) for job in jobs] == [1, 1]


@needs_mlflow
@pytest.mark.slow
def test_mlflow_has_one_run_also_after_a_resume(tmp_path):
    from mlflow.tracking import MlflowClient

    short = [*SHORT, "trainer.max_epochs=1", "logger=mlflow", "hydra.run.dir=run"]
    assert call_script("train.py", *short, cwd=tmp_path, drawings=True, looking=True).status == 0
    done = call_script("train.py", "resume=run", "trainer.max_epochs=2", cwd=tmp_path)
    assert done.status == 0, done.stderr
    client = MlflowClient(f"sqlite:///{tmp_path / 'run' / 'mlflow.db'}")
    (experiment,) = [each for each in client.search_experiments() if each.name == "unrolled"]
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.run_id == (tmp_path / "run" / "mlflow_run.txt").read_text(encoding="utf-8").strip()
    assert run.info.run_name == "cgru-bahdanau-reorder-seed1 run"
    assert run.info.status == "FINISHED"
    assert run.data.params["model/decoder_size"] == "12"
    assert run.data.metrics["test/bleu"] == pytest.approx(results(tmp_path / "run")["test/bleu"], rel=1e-6)
    assert {each.step for each in client.get_metric_history(run.info.run_id, "val/bleu")} == {4, 9}
    assert {"val", "test"} <= {each.path for each in client.list_artifacts(run.info.run_id)}


OWN = """
own:
  _target_: lightning.pytorch.loggers.{name}
  save_dir: ${{run_folder}}
  name: own
"""


def own_logger(folder, name):
    (folder / "mine" / "logger").mkdir(parents=True)
    (folder / "mine" / "logger" / "own.yaml").write_text(OWN.format(name=name), encoding="utf-8")
    return ["--config-dir", "mine", "logger=own", *SHORT, "trainer.max_steps=1", "hydra.run.dir=run"]


def test_a_stock_logger_of_lightning_works_as_it_is(tmp_path):
    assert call_script("train.py", *own_logger(tmp_path, "CSVLogger"), cwd=tmp_path).status == 0
    folder = tmp_path / "run" / "own" / "version_0"
    assert "test/bleu" in (folder / "metrics.csv").read_text(encoding="utf-8")
    assert "decoder_size" in (folder / "hparams.yaml").read_text(encoding="utf-8")


def test_what_is_no_logger_is_one_line(tmp_path):
    done = call_script("train.py", "logger=csv", "+logger.own._target_=collections.Counter", *SHORT, cwd=tmp_path)
    assert (done.status, done.stderr) == (2, "train.py: logger.own: collections.Counter is not a Lightning logger\n")


def test_a_missing_package_is_one_line_that_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("unrolled.configuration.checks.find_spec", lambda name: None)
    monkeypatch.setattr("lightning.fabric.loggers.tensorboard._TENSORBOARD_AVAILABLE", False)
    monkeypatch.setattr("lightning.fabric.loggers.tensorboard._TENSORBOARDX_AVAILABLE", False)
    done = call_script("train.py", *SHORT, TWO, cwd=tmp_path)
    assert done.status == 2
    assert done.stderr == 'train.py: logger=tensorboard is not installed: pip install "unrolled[tensorboard]"\n'
    assert not (tmp_path / "cache").exists(), "text was prepared first"
    done = call_script("train.py", *own_logger(tmp_path, "TensorBoardLogger"), cwd=tmp_path)
    assert done.status == 2
    assert done.stderr == "train.py: logger.own needs a package that is not installed: pip install tensorboard\n"


def test_a_resumed_run_logs_only_within_its_folder(trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("wandb"))
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    inside = {"_target_": "lightning.pytorch.loggers.CSVLogger", "save_dir": config["run_folder"]}
    outside = [{"save_dir": "/tmp"}, {"name": "../../x"}, {"version": "/tmp/x"}, {"name": "a", "version": "../../x"}]
    for change in [*outside, {"name": "$HOME"}]:
        (run / "config.yaml").write_text(yaml.safe_dump(config | {"logger": {"own": inside | change}}))
        done = call_script("train.py", "resume=run", "trainer.max_epochs=9", "trust=lightning", cwd=tmp_path)
        assert done.status == 2
        assert "points outside the run folder" in done.stderr
