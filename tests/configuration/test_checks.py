"""Ways to train that an objective cannot use are refused before anything is built."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from unrolled.configuration.checks import check_parts, check_training
from unrolled.configuration.composition import composed
from unrolled.errors import UserError

SOUND = {
    "objective": {"kind": "translation"},
    "optimizer": {"lr": 0.1},
    "schedule": {"_target_": "x"},
    "trainer": {"precision": "32-true", "gradient_clip_val": None, "accumulate_grad_batches": 1},
    "choices": {"model": "mine"},
    "callbacks": {},
}


def config(**changes):
    made = OmegaConf.create(SOUND)
    for name, value in changes.items():
        OmegaConf.update(made, name.replace("__", "."), value, merge=False, force_add=True)
    return made


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"optimizer": {}}, "optimizer=none"),
        ({"schedule": {}}, "schedule=none"),
        ({"trainer__precision": "bf16-true"}, "bf16-mixed"),
    ],
)
def test_gradients_need_an_optimiser_and_whole_weights(changes, words):
    check_training(config(), 2)
    with pytest.raises(UserError, match=words):
        check_training(config(**changes), 1)


COUNTING = {"objective__kind": "counting", "optimizer": {}, "schedule": {}}


@pytest.mark.parametrize(
    ("changes", "processes", "word"),
    [
        ({"optimizer": {"lr": 1}}, 1, "optimizer"),
        ({"trainer__gradient_clip_val": 1.0}, 1, "gradient_clip_val"),
        ({"trainer__accumulate_grad_batches": 2}, 1, "accumulate_grad_batches"),
        (
            {"callbacks__rate": {"_target_": "unrolled.training.callbacks.learning_rate.LearningRate"}},
            1,
            "callbacks.rate",
        ),
        ({}, 2, "hardware=cpu"),
    ],
)
def test_counting_has_no_gradients_and_one_process(changes, processes, word):
    check_training(config(**COUNTING), 1)
    with pytest.raises(UserError, match=word):
        check_training(config(**COUNTING | changes), processes)


@pytest.mark.parametrize(
    "options", [["+data.symbols=word"], ["++data.max_tokens=300"], ["+data.mine=7", "seed=${data.mine}"]]
)
def test_what_is_added_to_the_data_may_be_read(options):
    composed("train", options)
    with pytest.raises(UserError, match=r"\+data\.mien: there is no such option"):
        composed("train", [*options, "+data.mien=3"])


def test_a_file_of_the_user_in_another_encoding_does_not_prevent_adding_to_the_data(tmp_path, monkeypatch):
    (tmp_path / "conf" / "data").mkdir(parents=True)
    (tmp_path / "conf" / "data" / "latin.yaml").write_bytes(b"a: \xe9\nown: 1\n")
    monkeypatch.chdir(tmp_path)
    composed("train", ["+data.own=2"])


@pytest.mark.parametrize(("command", "option"), [("translate", "+model=cgru"), ("score", "+hardware=gpu")])
def test_a_choice_that_only_training_reads_is_not_added_to_another_command(command, option):
    with pytest.raises(UserError, match=rf"^\{option}: this command has no choice of"):
        composed(command, ["run=RUN", option])


def test_links_of_an_experiment_may_be_turned_off():
    language = ("experiment=g2p", "data.root=a", "data.language=b")
    check_parts(composed("train", (*language, "alignment=none")))
    with pytest.raises(UserError, match="nothing uses links"):
        check_parts(composed("train", ("alignment.source=auto",)))


@pytest.mark.parametrize(
    "option",
    ["callbacks.checkpoint.dirpath=elsewhere", "callbacks.saving.path=a/last.ckpt", "callbacks.kept.folder=kept"],
)
def test_checkpoints_are_where_other_commands_look_for_them(option):
    check_parts(composed("train", ("hydra.run.dir=a", f"callbacks.checkpoint.dirpath={Path.cwd()}/b/../a/checkpoints")))
    with pytest.raises(UserError, match=f"{option}: every command looks for .* in .*/a/checkpoints.*hydra.run.dir=DIR"):
        check_parts(composed("train", ("hydra.run.dir=a", option)))


@pytest.mark.parametrize("part", ["data.module", "data.corpus", "choices"])
def test_a_part_that_is_replaced_by_a_value_is_refused(part):
    made = OmegaConf.create(composed("train"))
    OmegaConf.update(made, part, None, merge=False)
    with pytest.raises(UserError, match=f"{part}=null: set its options one by one"):
        check_parts(made)


@pytest.mark.parametrize("name", ["LearningRateFinder", "BatchSizeFinder", "BackboneFinetuning"])
def test_a_callback_of_lightnings_that_needs_what_no_objective_has_is_refused(name):
    lightnings = f"+callbacks.mine={{_target_: lightning.pytorch.callbacks.{name}}}"
    with pytest.raises(UserError, match=rf"^callbacks\.mine: {name} cannot be used here: "):
        check_parts(composed("train", (lightnings,)))
    check_parts(composed("train", (f"+callbacks.mine={{_target_: my_package.{name}}}",)))


@pytest.mark.parametrize("name", ["tensorboard", "mlflow"])
def test_a_logger_whose_package_is_missing_is_refused_before_text_is_prepared(name, monkeypatch):
    monkeypatch.setattr("unrolled.configuration.checks.find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf'^logger={name} is not installed: pip install "unrolled\[{name}\]"$'):
        check_parts(composed("train", (f"logger={name}",)))
    monkeypatch.setattr("unrolled.configuration.checks.find_spec", lambda name: object())
    check_parts(composed("train", (f"logger={name}",)))
