"""n-gram models by the scripts, as a user runs them."""

import csv
import json
import math
import re

import pytest
import torch
from safetensors.torch import load_file
from support.scripts import TINY, TINY_MODEL, call_script, results

TEXT = {
    "train": ["the dog sees the cat", "the cat sleeps", "a dog sleeps here", "the dog sleeps", ""] * 3 + ["so so"],
    "val": ["the dog sees a cat", "", "a cat sleeps"],
    "test": ["the cat sees the dog", "elephants sleep well", ""],
}
ESTIMATORS = ["kneser_ney", "absolute", "katz", "add_alpha", "maximum_likelihood"]
NGRAMS = ["model=ngram_lm", "logger=csv", "hydra.run.dir=run"]


def options(folder):
    for split, lines in TEXT.items():
        (folder / f"{split}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["data=monolingual_text", "tokenizer=word", *(f"data.{split}={folder / split}.txt" for split in TEXT)]


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A trigram model's run."""
    folder = tmp_path_factory.mktemp("counted")
    done = call_script("train.py", *NGRAMS, "model.order=3", *options(folder), cwd=folder)
    assert done.status == 0, done.stderr
    return folder / "run"


def scored(run, text, cwd):
    """The sentences' log-probabilities and all their pieces."""
    done = call_script("score.py", f"run={run}", "detail=tokens", cwd=cwd, text=text)
    assert done.status == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row["log_probability"] for row in rows], [piece for row in rows for piece in row["tokens"]]


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


def test_an_arpa_file_is_written_and_becomes_a_run(counted, tmp_path):
    arpa = call_script("arpa.py", f"run={counted}", cwd=tmp_path).stdout
    assert re.match(r"\\data\\\nngram 1=\d+\nngram 2=\d+\nngram 3=\d+\n\n\\1-grams:\n", arpa)
    (tmp_path / "model.arpa").write_text(arpa, encoding="utf-8")
    done = call_script("arpa.py", "file=model.arpa", "to=read", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "read\n")
    text = "the dog sees a cat\n\nelephants sleep\n"
    assert scored("read", text, tmp_path)[0] == pytest.approx(scored(counted, text, tmp_path)[0], abs=1e-5)
    again = call_script("arpa.py", "file=model.arpa", "to=read", cwd=tmp_path)
    assert (again.status, "this folder already holds a run" in again.stderr) == (2, True)


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
    ("train.py", ["optimizer=sgd"], "omit optimizer=..."),
    ("train.py", ["schedule=warm_up"], "omit schedule=..."),
    ("train.py", ["trainer.accumulate_grad_batches=2"], "no gradients"),
    ("train.py", ["trainer.precision=bf16-true"], "bf16-true would round"),
    ("train.py", ["hardware=ddp_cpu"], "counted by one process, not 2"),
    (
        "train.py",
        ["objective=language_modeling"],
        "omit optimizer=...|can only be trained by|only for models that count",
    ),
    ("train.py", ["model=rnn_lm", "objective=counting"], "objective=language_modeling"),
    ("train.py", ["model=rnn_lm", "optimizer=none"], "optimizer=none"),
    ("train.py", ["model.order=0"], "model.order=0"),
    ("train.py", ["model.order=two"], "model.order=two"),
    ("train.py", ["model/estimator=katzz"], "did you mean katz"),
    ("train.py", ["model/estimator=katz", "model.estimator.most=1"], "most=1"),
    ("train.py", ["model.estimator.discounts=[1,2]"], "three numbers"),
    ("arpa.py", [], "give run=RUN"),
    ("arpa.py", ["file=nothing.arpa"], "to=DIR is missing"),
    ("arpa.py", ["file=nothing.arpa", "to=run"], "no such file"),
    ("arpa.py", ["file=train.txt", "to=run"], "no ARPA file"),
]


@pytest.mark.parametrize(("script", "arguments", "said"), MISTAKES, ids=lambda value: " ".join(value[-1:]))
def test_a_mistake_ends_with_one_line_and_status_2(script, arguments, said, tmp_path):
    data = options(tmp_path)
    done = call_script(script, *([*NGRAMS, *data] if script == "train.py" else []), *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.search(said, line), line


def test_a_run_of_another_model_has_no_arpa_file(tmp_path):
    sizes = ["model=rnn_lm", "model.embedding_size=4", "model.hidden_size=3", "trainer.max_steps=1"]
    assert call_script("train.py", *NGRAMS, *options(tmp_path), *sizes, cwd=tmp_path).status == 0
    done = call_script("arpa.py", "run=run", cwd=tmp_path)
    assert (done.status, "is not an n-gram model" in done.stderr) == (2, True)


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
