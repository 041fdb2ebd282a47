"""Every YAML file of conf/ composes and runs a training step; a file that is added is tested without a word here."""

import inspect
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import lightning
import pytest
import yaml
from hydra import compose, initialize_config_dir
from support.composed_once import composed_once
from support.conf import ATTENTIONS, CONF, LANGUAGE_MODELS, MODELS, go_together
from support.scripts import ROOT, SHORT, TINY, TINY_MODEL, call_script, results, write_pair
from support.subjects import SUBJECTS

from unrolled.configuration.meanings import read_comments
from unrolled.models.attention import Attention
from unrolled.models.decoder import Decoder

SCRIPTS = sorted(path.stem for path in CONF.glob("*.yaml"))
CHOICES = sorted((path.parent.name, path.stem) for path in CONF.glob("*/*.yaml"))
NEEDS_PACKAGE = {"mlflow", "tensorboard"}  # of these names, extras
NEEDS_GPU = {"gpu", "gpu_bf16", "gpu_fp16", "multi_gpu", "multi_node"}

CORPUS = [*TINY, *SHORT]
TINY_LM = ["model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7"]
STEP = ["trainer.max_steps=1", "trainer.limit_val_batches=1", "trainer.limit_test_batches=1", "logger=csv"]
STEP += ["hydra.run.dir=run"]
NO_PICTURES = ["~callbacks.pictures", "~callbacks.attention_record"]  # they take half of the time

SENTENCES = ["two men walk", "a dog sleeps here", "the small dog walks", "two dogs and a man sleep"]
SAETZE = ["zwei männer gehen", "ein hund schläft hier", "der kleine hund geht", "zwei hunde und ein mann schlafen"]


def tiny_model(choice: str) -> list[str]:
    """A tiny model that goes with this choice."""
    if choice in ("counting", "none"):  # no optimizer, no schedule
        return ["model=ngram_lm"]
    return TINY_LM if choice in ("language_modeling", "monolingual_text") else TINY_MODEL


def arguments(choice: str, folder: Path) -> list[str]:
    """What else a tiny run with this choice needs."""
    text = {split: write_pair(folder, split, SENTENCES, SAETZE) for split in ("train", "val", "test")}
    if choice in ("multi30k", "multi30k_quick"):  # the data, and the experiments
        for split in ("train", "val", "test_2016_flickr"):
            for language, lines in (("en", SENTENCES), ("de", SAETZE)):
                (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [*TINY_MODEL, f"data.root={folder}"]
    if choice == "parallel_text":
        return [*TINY_MODEL, *(f"data.{split}={pair}" for split, pair in text.items())]
    if choice in ("tsv", "inflection"):
        rows = "".join(f"{one}\t{other}\tN;SG\n" for one, other in zip(SENTENCES, SAETZE))
        (folder / "t.tsv").write_text(rows, encoding="utf-8")
        return [*TINY_MODEL, "data.columns.features=3", *(f"data.{split}={folder}/*.tsv" for split in text)]
    if choice in ("scan_length", "nacs"):
        for split in text:
            for side, lines in (("in", SENTENCES), ("out", SAETZE)):
                (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [*TINY_MODEL, f"data.root={folder}"]
    if choice in ("g2p", "g2p_quick"):  # the data, and the experiments
        for split in ("train", "dev", "test"):
            (folder / f"ady_{split}.tsv").write_text("".join(f"{one}\ta b c\n" for one in SENTENCES), encoding="utf-8")
        return [*TINY_MODEL, f"data.root={folder}", "data.language=ady"]
    if choice == "monolingual_text":
        return [*tiny_model(choice), *(f"data.{split}={folder / split}.target" for split in text)]
    if choice == "wikitext2":  # the data, and the experiment
        for split in ("train", "valid", "test"):
            (folder / f"wiki.{split}.tokens").write_text("\n".join(SENTENCES * 9) + "\n", encoding="utf-8")
        return ["model=rnn_lm", *TINY_LM[1:], "model.hidden_size=8", f"data.root={folder}"]
    if choice in ("demo", "lookup"):
        sizes = ["pairs=30", "validation_pairs=5", "test_pairs=5"]
        return [*TINY_MODEL, "data.max_tokens=300", *(f"data.{choice}.{size}" for size in sizes)]
    if choice == "vanishing_gradients":
        return [*CORPUS, *TINY_LM[1:]]
    return [*CORPUS, *tiny_model(choice)]


NO_NETWORK = {"hf"}  # in test_hugging_face.py
# in tests/commands/: models with attentions in test_train_every_model.py; ensembles of trained runs in
# test_translate.py; what score.py shows of them in test_score_run.py; sweeps in test_train_sweep.py and
# test_train_study.py; tokenizers of one side in test_train_per_side.py
ELSEWHERE = {"model", "attention", "ensemble", "detail", "sweep", "tokenizer.source", "tokenizer.target"}
ONE_PROCESS = [
    pair for pair in CHOICES if pair[0] not in ELSEWHERE and pair[1] not in NEEDS_GPU | NO_NETWORK | {"ddp_cpu"}
]


def on_its_own(group: str, choice: str) -> bool:
    """Whether a choice is trained without others: it concerns other groups too, or not every test has what it needs."""
    text = (CONF / group / f"{choice}.yaml").read_text(encoding="utf-8")
    return group == "data" or "@package _global_" in text or "override /" in text or choice in NEEDS_PACKAGE


def runs(choices: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Trainings that have each of the ``choices``, by group; those that do not concern each other share one."""
    alone: list[dict[str, str]] = []
    together: dict[tuple[str, ...], dict[str, list[str]]] = {}  # by model and group
    for group, choice in choices:
        if on_its_own(group, choice):
            alone.append({group: choice})
        else:
            together.setdefault(tuple(tiny_model(choice)), {}).setdefault(group, []).append(choice)
    rows = ((groups, row) for groups in together.values() for row in zip_longest(*groups.values()))
    return [{group: choice for group, choice in zip(groups, row) if choice is not None} for groups, row in rows] + alone


RUNS = runs(ONE_PROCESS)


def named(run: dict[str, str]) -> str:
    return " ".join(f"{group}={choice}" for group, choice in run.items())


@pytest.mark.parametrize("chosen", RUNS, ids=named)
def test_every_choice_runs_one_step(chosen, tmp_path):
    for package in NEEDS_PACKAGE & set(chosen.values()):
        pytest.importorskip(package)
    options = [f"{group}={choice}" for group, choice in chosen.items()]
    more = dict.fromkeys(option for choice in chosen.values() for option in arguments(choice, tmp_path))
    step = [option for option in STEP if option != "logger=csv" or "logger" not in chosen]
    pictures = [] if "callbacks" in chosen else NO_PICTURES[: 1 if "model=ngram_lm" in more else 2]
    record = [f"++choices.{group}=${{hydra:runtime.choices.{group}}}" for group in chosen]  # for results.json
    given = [*options, *(option for option in more if option not in options), *step, *pictures, *record]
    done = call_script("train.py", *given, cwd=tmp_path, looking=True)
    assert done.status == 0, done.stderr
    run = results(tmp_path / "run")
    assert (run["status"], run["steps"]) == ("completed", 1)
    assert {group: run[group] for group in chosen} == chosen


def test_every_choice_is_in_one_of_the_runs():
    assert sorted(pair for chosen in RUNS for pair in chosen.items()) == ONE_PROCESS


OVERRIDING = {"experiment", "debug"}  # they set options that are explained where they are


def unexplained(file: Path) -> Iterator[str]:
    """The options of a file that have no comment."""
    said = read_comments(file.read_text(encoding="utf-8")).options

    def names(node: dict, path: str) -> Iterator[str]:
        for key, value in node.items():
            if path == "" and key in ("defaults", "imported", "hydra"):
                continue
            if isinstance(value, dict):
                yield from names(value, f"{path}{key}.")
            elif not (key.startswith("_") or "${" in str(value) or f"{path}{key}" in said):
                yield f"{path}{key}"

    yield from names(yaml.safe_load(file.read_text(encoding="utf-8")) or {}, "")


def test_every_option_has_half_a_line_that_explains_it():
    files = [file for file in sorted(CONF.rglob("*.yaml")) if file.relative_to(CONF).parts[0] not in OVERRIDING]
    assert [f"{file.relative_to(CONF)}: {option}" for file in files for option in unexplained(file)] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_composes(script):
    assert (ROOT / "src" / f"{script}.py").is_file()
    with composed_once(), initialize_config_dir(str(CONF), version_base="1.3"):
        assert compose(script)


@pytest.mark.parametrize("choice", sorted(choice for group, choice in CHOICES if group == "hardware"))
def test_every_hardware_gives_arguments_of_the_trainer(choice):
    with composed_once(), initialize_config_dir(str(CONF), version_base="1.3"):
        trainer = compose("train", [f"hardware={choice}"]).trainer
        plain = compose("train", ["hardware=auto"]).trainer
    names = {str(name) for name in trainer if name not in ("_target_", "_partial_")}
    assert names <= set(inspect.signature(lightning.Trainer).parameters)
    if choice in NEEDS_GPU:
        assert trainer.accelerator == "gpu"
    if choice != "auto":
        assert trainer != plain
    # our batches are divided among processes already
    assert ("strategy" in trainer) == (trainer.get("use_distributed_sampler", True) is False)


def subclasses(base: type) -> Iterator[type]:
    for direct in base.__subclasses__():
        yield direct
        yield from subclasses(direct)


@pytest.mark.parametrize("base", [Attention, Decoder])
def test_every_attention_and_decoder_of_the_package_is_tried(base):
    """In the property tests, which take them from conf/."""
    decoders = [subject.model.keywords.get("decoder") for subject in SUBJECTS.values()]
    tried = {built.func for built in [*decoders, *(subject.attention for subject in SUBJECTS.values())] if built}
    assert {kind for kind in subclasses(base) if kind.__module__.startswith("unrolled.")} <= tried


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The options of a corpus that is made once for the tests that are not about it."""
    return [*CORPUS, f"cache={tmp_path_factory.mktemp('cache')}"]


@pytest.mark.parametrize(
    ("model", "attention"),
    [(model, attention) for model in MODELS for attention in ATTENTIONS if not go_together(model, attention)],
)
def test_a_model_and_an_attention_that_do_not_go_together_are_refused(model, attention, corpus, tmp_path):
    sizes = {"ngram_lm": []}.get(model, TINY_LM[1:] if model in LANGUAGE_MODELS else TINY_MODEL)
    done = call_script("train.py", f"model={model}", f"attention={attention}", *corpus, *sizes, *STEP, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "attention" in line


def test_dot_attention_says_which_sizes_it_needs(corpus, tmp_path):
    sizes = ["model.encoder_size=5", "model.decoder_size=7"]
    done = call_script("train.py", "attention=dot", *corpus, *sizes, *STEP, cwd=tmp_path)
    assert done.status == 2
    (line,) = done.stderr.splitlines()
    assert "7" in line
    assert "10" in line


@pytest.mark.parametrize("attention", ["bahdanau", "dot"])
def test_options_of_an_attention_are_given_on_the_command_line(attention, corpus, tmp_path):
    """attention.size=... changes the model; where the attention has no size it is a mistake."""
    done = call_script(
        "train.py",
        f"attention={attention}",
        "attention.size=5",
        *corpus,
        *TINY_MODEL,
        *STEP,
        *NO_PICTURES,
        cwd=tmp_path,
    )
    assert done.status == (0 if attention == "bahdanau" else 2)
    if attention == "dot":
        assert "attention.size: there is no such option" in done.stderr
    else:
        small = results(tmp_path / "run")["parameters"]
        given = ["attention=bahdanau", *corpus, *TINY_MODEL, *STEP, *NO_PICTURES, "hydra.run.dir=larger"]
        call_script("train.py", *given, cwd=tmp_path)
        assert results(tmp_path / "larger")["parameters"] > small


def test_options_of_the_optimizer_reach_it(corpus, tmp_path):
    more = ["optimizer=sgd", "optimizer.lr=0.25", "optimizer.weight_decay=0.5"]
    assert call_script("train.py", *more, *corpus, *TINY_MODEL, *STEP, *NO_PICTURES, cwd=tmp_path).status == 0
    curves = (tmp_path / "run" / "metrics.csv").read_text(encoding="utf-8")
    assert "lr-SGD" in curves
    assert "0.25" in curves
