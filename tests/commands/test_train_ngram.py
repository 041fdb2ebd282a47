"""n-gram models by the scripts, as a user runs them."""

import csv
import math
import re

import pytest
import torch
from safetensors.torch import load_file
from support.counted_text import NGRAMS, TEXT, options, scored
from support.killing import Killed, kill
from support.scripts import TINY, TINY_MODEL, call_script, results

from unrolled.runs.reproduction import differences

ESTIMATORS = ["kneser_ney", "absolute", "katz", "add_alpha", "maximum_likelihood"]


def test_a_run_has_what_every_run_has(counted, tmp_path):
    found = results(counted)
    assert (found["status"], found["model"], found["epochs"]) == ("completed", "ngram_lm", 1)
    assert found["steps"] > 0
    weights = load_file(counted / "weights.safetensors")
    assert found["parameters"] == weights["log_probs"].numel() + weights["log_backoffs"].numel() > 40
    for name in ("best", "last"):
        torch.load(counted / "checkpoints" / f"{name}.ckpt", map_location="cpu", weights_only=True)
    assert (counted / "metrics.csv").is_file()
    numbers, pieces = scored(counted, "".join(f"{line}\n" for line in TEXT["test"]), tmp_path)
    assert len(numbers) == 3
    assert math.exp(-sum(numbers) / len(pieces)) == pytest.approx(found["test/perplexity"], rel=1e-5)
    assert pieces[-1][0] == "</s>"


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_trains_and_is_sampled_from(estimator, tmp_path, caplog):
    done = call_script("train.py", *NGRAMS, f"model/estimator={estimator}", *options(tmp_path), cwd=tmp_path)
    assert done.status == 0, done.stderr
    perplexity = results(tmp_path / "run")["test/perplexity"]
    told = re.search(r"test: \d+ words have probability 0", caplog.text) is not None
    if estimator == "maximum_likelihood":
        assert (perplexity, told) == (None, True)
    else:
        assert (1 < perplexity < 100, told) == (True, False)
    drawn = call_script("sample.py", "run=run", "number=5", "max_length=9", cwd=tmp_path)
    assert len(drawn.stdout.splitlines()) == 5
    known = {word for line in TEXT["train"] for word in line.split()}
    assert known & set(drawn.stdout.split())


def test_odd_lines_have_defined_scores(counted, tmp_path):
    text = "\n".join(["", "elephants eat hay", "dog " * 10_000, "the dog"]) + "\n"
    numbers, pieces = scored(counted, text, tmp_path)
    assert len(numbers) == 4
    assert all(math.isfinite(number) for number in numbers)
    assert len(pieces) == 1 + 4 + 10_001 + 3


def test_counts_do_not_depend_on_batches_order_or_epochs(counted, tmp_path):
    more = ["model.order=3", "seed=5", "data.max_tokens=9", "trainer.max_epochs=3"]
    done = call_script("train.py", *NGRAMS, *more, *options(tmp_path), cwd=tmp_path)
    assert done.status == 0, done.stderr
    first, second = (load_file(run / "weights.safetensors") for run in (counted, tmp_path / "run"))
    with (tmp_path / "run" / "metrics.csv").open(encoding="utf-8", newline="") as file:
        found = [row["val/perplexity"] for row in csv.DictReader(file) if row["val/perplexity"]]
    assert len(found) == 3
    assert len(set(found)) == 1
    assert results(tmp_path / "run")["steps"] > 3 * results(counted)["steps"]
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_training_that_ended_within_an_epoch_counts_on(stream, tmp_path):
    files = [f"data.{split}=text" for split in ("train", "val", "test")]
    (tmp_path / "text").write_text("".join(f"a {'b ' * (n % 7)}c {n % 5}\n" for n in range(120)), encoding="utf-8")
    common = ["model=ngram_lm", "data=monolingual_text", "tokenizer=word", *files, "data.max_tokens=60", "logger=csv"]
    common += [f"data.stream={stream}", "trainer.val_check_interval=2", "~callbacks.pictures"]
    common += ["data.stream_rows=3", "data.stream_steps=9"] if stream == "true" else []
    assert call_script("train.py", *common, "trainer.max_epochs=1", "hydra.run.dir=whole", cwd=tmp_path).status == 0
    steps = results(tmp_path / "whole")["steps"]
    options = ["trainer.max_epochs=1", "trainer.max_steps=3", "hydra.run.dir=parts"]
    assert call_script("train.py", *common, *options, cwd=tmp_path).status == 0
    assert call_script("train.py", "resume=parts", f"trainer.max_steps={steps}", cwd=tmp_path).status == 0
    whole, parts = results(tmp_path / "whole"), results(tmp_path / "parts")
    assert parts["steps"] == steps
    assert parts["test/perplexity"] == whole["test/perplexity"]


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """Options of a training of two epochs, with validations within them."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "text").write_text("".join(f"a {'b ' * (n % 7)}c {n % 5}\n" for n in range(120)), encoding="utf-8")
    given = ["model=ngram_lm", "data=monolingual_text", "tokenizer=word", "logger=csv", "~callbacks.pictures"]
    given += [f"data.{split}={folder / 'text'}" for split in ("train", "val", "test")]
    return [*given, "data.max_tokens=60", "trainer.val_check_interval=3", "trainer.max_epochs=2"]


def perplexities(run):
    with (run / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return [float(row["val/perplexity"]) for row in csv.DictReader(file) if row["val/perplexity"]]


def test_validations_of_later_epochs_have_the_counts_of_the_whole_text(twice, tmp_path):
    assert call_script("train.py", *twice, "hydra.run.dir=run", cwd=tmp_path).status == 0
    curve = perplexities(tmp_path / "run")
    first, later = curve[:5], curve[5:]
    assert len(curve) == 10
    assert first == sorted({*first}, reverse=True)
    assert {*later} == {first[-1]}


@pytest.mark.parametrize("folder", ["run", "moved"])
def test_a_killed_training_resumes_with_its_curves_its_words_and_its_best_checkpoint(folder, twice, tmp_path, caplog):
    given = [*twice, "objective.mode=max"]  # so that no later validation is better than the first
    assert call_script("train.py", *given, "hydra.run.dir=whole", cwd=tmp_path).status == 0
    given += kill(tmp_path, 5, "on_train_batch_start")
    with pytest.raises(Killed):
        call_script("train.py", *given, "hydra.run.dir=run", cwd=tmp_path)
    (tmp_path / "run").rename(tmp_path / folder)
    done = call_script("train.py", f"resume={folder}", "trust=support", cwd=tmp_path)
    assert (done.status, "dirpath" in done.stderr + caplog.text) == (0, False)
    run, whole = tmp_path / folder, tmp_path / "whole"
    for name in ("metrics.csv", "weights.safetensors"):
        assert (run / name).read_bytes() == (whole / name).read_bytes(), name
    assert differences(results(run), results(whole)) == {}
    words = [facts["train/seconds"] * facts["train/target_tokens_per_second"] for facts in map(results, (run, whole))]
    assert words[0] == pytest.approx(words[1], rel=1e-6)


def test_the_number_of_parameters_is_that_of_the_weights_that_are_tested(twice, tmp_path):
    # the first validation's, which are fewer than those after the whole text
    assert call_script("train.py", *twice, "objective.mode=max", "hydra.run.dir=run", cwd=tmp_path).status == 0
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    parameters = results(tmp_path / "run")["parameters"]
    assert parameters == weights["log_probs"].numel() + weights["log_backoffs"].numel()


def test_an_n_gram_model_advises_a_translator_and_rescores(caplog, tmp_path):
    fast = [*TINY, "logger=csv", "~callbacks.pictures"]
    common = [*fast, "hydra.run.dir=translator", "trainer.max_steps=9", *TINY_MODEL]
    assert call_script("train.py", *common, cwd=tmp_path).status == 0
    for estimator in ("kneser_ney", "maximum_likelihood"):
        more = [f"hydra.run.dir={estimator}", f"model/estimator={estimator}"]
        assert call_script("train.py", *fast, "model=ngram_lm", *more, cwd=tmp_path).status == 0
    (source,) = tmp_path.glob("cache/reorder/*/test.source")
    found = {}
    for name, weight in (("kneser_ney", 0), ("kneser_ney", 1), ("maximum_likelihood", 0), ("maximum_likelihood", 1)):
        done = call_script(
            "translate.py",
            "run=translator",
            "nbest=2",
            f"search.language_model={name}",
            f"search.language_model_weight={weight}",
            cwd=tmp_path,
            text=source.read_text(encoding="utf-8"),
        )
        assert done.status == 0, done.stderr
        assert "nan" not in done.stdout
        found[name, weight] = done.stdout
    assert found["kneser_ney", 0] == found["maximum_likelihood", 0] != found["kneser_ney", 1]
    (tmp_path / "nbest").write_text(found["kneser_ney", 0], encoding="utf-8")
    judged = call_script(
        "rescore.py", "nbest=nbest", "scorers={lm: kneser_ney}", f"source={source}", "bleu_tokenize=none", cwd=tmp_path
    )
    assert (judged.status, judged.stdout.count("lm=-")) == (0, found["kneser_ney", 0].count("\n"))
    judged = call_script("rescore.py", "nbest=nbest", "scorers={lm: maximum_likelihood}", cwd=tmp_path)
    impossible = judged.stdout.count("lm=-10000.000000")
    assert f"scorers.lm: {impossible} of probability 0 get a log p of -10000" in caplog.text
    (tmp_path / "judged").write_text(judged.stdout, encoding="utf-8")
    chosen = call_script("rescore.py", "nbest=judged", "weights={logp: 1, lm: 0.2}", "output=nbest", cwd=tmp_path)
    assert (chosen.status, chosen.stdout.count("\n")) == (0, judged.stdout.count("\n"))
    misnamed = call_script("rescore.py", "nbest=nbest", "scorers={lm: nowhere, my-lm: kneser_ney}", cwd=tmp_path)
    assert "scorers.my-lm: a name consists" in misnamed.stderr  # before the other is looked for


MISTAKES = [
    (["optimizer=sgd"], "omit optimizer=..."),
    (["schedule=warm_up"], "omit schedule=..."),
    (["trainer.accumulate_grad_batches=2"], "no gradients"),
    (["trainer.precision=bf16-true"], "bf16-true would round"),
    (["hardware=ddp_cpu"], "counted by one process, not 2"),
    (
        ["objective=language_modeling"],
        "omit optimizer=...|can only be trained by|only for models that count",
    ),
    (["model=rnn_lm", "objective=counting"], "objective=language_modeling"),
    (["model=rnn_lm", "optimizer=none"], "optimizer=none"),
    (["model.order=0"], "model.order=0"),
    (["model.order=two"], "model.order=two"),
    (["model/estimator=katzz"], "did you mean katz"),
    (["model/estimator=katz", "model.estimator.most=1"], "most=1"),
    (["model.estimator.discounts=[1,2]"], "three numbers"),
    (["model.estimator.discounts=[true,1,1]"], "three numbers"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=lambda value: " ".join(value[-1:]))
def test_a_mistake_ends_with_one_line_and_status_2(arguments, said, tmp_path):
    done = call_script("train.py", *NGRAMS, *options(tmp_path), *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.search(said, line), line


def test_continuous_text_is_counted_as_its_lines_are(counted, tmp_path):
    """Cut into rows and parts of lines as it may be; its empty lines, here none, are counted too."""
    lines = [line for line in TEXT["train"] if line]
    choices = options(tmp_path)
    (tmp_path / "train.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    stream = ["data.stream=true", "data.stream_rows=4", "data.stream_steps=3"]
    done = call_script("train.py", *NGRAMS, "model.order=3", *choices, *stream, cwd=tmp_path)
    assert done.status == 0, done.stderr
    for name in ("val/perplexity", "test/perplexity", "parameters"):
        assert results(tmp_path / "run")[name] == pytest.approx(results(counted)[name], rel=1e-6)
    given = "".join(f"{line}\n" for line in TEXT["test"])
    for context in ("line", "text"):
        done = call_script("score.py", "run=run", f"context={context}", cwd=tmp_path, text=given)
        alone = call_script("score.py", f"run={counted}", cwd=tmp_path, text=given)
        assert done.stdout == alone.stdout
