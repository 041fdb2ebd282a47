"""The scripts as a user runs them."""

import csv
import json
import math
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.scripts import ROOT, TINY, TINY_MODEL, call_script, results, run_script, train, write_pair

CONF = ROOT / "conf"
MODELS = sorted(path.stem for path in (CONF / "model").glob("*.yaml"))
ATTENTIONS = sorted(path.stem for path in (CONF / "attention").glob("*.yaml"))
LANGUAGE_MODELS = {"rnn_lm", "feedforward_lm", "ngram_lm"}
WITHOUT_ATTENTION = {"encoder_decoder", *LANGUAGE_MODELS}
TINY_LM = ["model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7"]
NO_PAGES = ["~callbacks.pictures", "~callbacks.attention_record"]  # they take half of the time
PLAIN = [*TINY, *TINY_MODEL, "logger=csv", *NO_PAGES, "hydra.run.dir=run"]

KEYS = {"status", "model", "attention", "data", "seed", "parameters", "steps", "epochs", "peak_memory_mib"}
KEYS |= {f"val/{name}" for name in ("loss", "perplexity", "bleu", "chrf")}
KEYS |= {f"test/{name}" for name in ("loss", "perplexity", "bleu", "chrf", "ter")}
KEYS |= {"bleu_signature", "chrf_signature", "ter_signature", "train/target_tokens_per_second"}

ENGLISH = ["Two men are walking.", "A dog sleeps here, it seems.", "The small dog isn't walking!", "Who sleeps?"]
GERMAN = ["Zwei Männer gehen.", "Ein Hund schläft hier, scheint es.", "Der kleine Hund geht nicht!", "Wer schläft?"]


def corpus(folder: Path, split: str, side: str) -> Path:
    """A text of the embedded corpus that a run in ``folder`` has made."""
    (path,) = folder.glob(f"**/cache/reorder/*/{split}.{side}")
    return path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def figures(stdout: str) -> dict[str, str]:
    """What a script shows: name and figure of every line."""
    return dict(line.rsplit("  ", 1) if "  " in line else (line, "") for line in stdout.splitlines())


def shown(stdout: str, name: str) -> float:
    return float({key.strip(): value for key, value in figures(stdout).items()}[name])


def sacrebleu(references: Path, hypotheses: Path, tokenize: str) -> float:
    """What the command prints."""
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        str(references),
        "-i",
        str(hypotheses),
        "-m",
        "bleu",
        "-b",
        "-w",
        "12",
    ]
    done = subprocess.run([*command, "-tok", tokenize], capture_output=True, text=True, check=True)
    return float(done.stdout)


# A finished training


def test_results_have_every_figure_and_are_flat(trained):
    found = results(trained)
    assert set(found) >= KEYS
    assert not [name for name, value in found.items() if isinstance(value, dict | list)]
    assert not [name for name, value in found.items() if value is None]
    assert (found["status"], found["model"], found["attention"]) == ("completed", "cgru", "gru_att")
    assert (found["data"], found["seed"], found["epochs"]) == ("reorder", 0, 3)


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
    texts = {f"{split}.{side}" for split in ("train", "val", "test") for side in ("source", "target")}
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


# The other scripts, from the run folder alone


@pytest.fixture(scope="module")
def moved(trained, tmp_path_factory):
    """A copy of the run folder, without W&B's, and an empty folder to work in."""
    folder = tmp_path_factory.mktemp("moved") / "a run"
    shutil.copytree(trained, folder, ignore=shutil.ignore_patterns("wandb"))
    return folder, tmp_path_factory.mktemp("elsewhere")


def test_evaluate_repeats_the_figures_of_training(moved):
    folder, elsewhere = moved
    done = call_script("evaluate.py", f"run={folder}", "pictures=2", "formats=[png,pdf]", cwd=elsewhere)
    found = results(folder)
    for name in ("bleu", "chrf", "ter", "loss", "perplexity"):
        assert shown(done.stdout, name) == pytest.approx(found[f"test/{name}"], rel=1e-3)
    assert 0 < shown(done.stdout, "aer") < 1
    assert found["bleu_signature"] in done.stdout
    assert shown(done.stdout, "bleu, source of 0 to 10 words (11 sentences)") == shown(done.stdout, "bleu")
    drawn = {path.name for path in (folder / "figures").glob("*.pdf")}
    assert drawn == {"test-1.pdf", "test-2.pdf", "test-1-reference.pdf", "test-2-reference.pdf"}


def test_evaluate_scores_the_validation_split(moved):
    folder, elsewhere = moved
    done = call_script("evaluate.py", f"run={folder}", "split=val", "search=greedy", cwd=elsewhere)
    assert shown(done.stdout, "bleu") == pytest.approx(results(folder)["val/bleu"], rel=1e-3)
    assert "val" in done.stdout


def test_translate_repeats_the_translations_of_training(moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    done = call_script("translate.py", f"run={folder}", cwd=elsewhere, text=source)
    assert done.stdout == (folder / "translations" / "test.txt").read_text(encoding="utf-8")


def test_translate_gives_a_line_for_every_line(moved):
    folder, elsewhere = moved
    odd = "\n".join(["", "quite\u2028unknown\x85 words", "word " * 30, " ", "last without a line end"])
    done = call_script("translate.py", f"run={folder}", "search.beam_size=2", "lines=2", cwd=elsewhere, text=odd)
    translations = done.stdout.split("\n")
    assert (len(translations), translations[0], translations[3], translations[5:]) == (6, "", "", [""])
    assert call_script("translate.py", f"run={folder}", cwd=elsewhere, text="").stdout == ""


def pair(trained, split="test"):
    return [f"{side}={corpus(trained.parent, split, side)}" for side in ("source", "target")]


def test_score_gives_a_number_a_line_that_adds_up_to_the_perplexity_of_training(moved, trained):
    folder, elsewhere = moved
    done = call_script("score.py", f"run={folder}", *pair(trained), "lines=4", cwd=elsewhere)
    numbers = [float(line) for line in done.stdout.splitlines()]
    assert len(numbers) == 11
    detailed = call_script("score.py", f"run={folder}", *pair(trained), "detail=tokens", cwd=elsewhere)
    pairs = [json.loads(line) for line in detailed.stdout.splitlines()]
    assert [entry["log_probability"] for entry in pairs] == pytest.approx(numbers, abs=1e-5)
    assert all(sum(p for _, p in entry["tokens"]) == pytest.approx(entry["log_probability"]) for entry in pairs)
    assert {entry["tokens"][-1][0] for entry in pairs} == {"</s>"}
    tokens = sum(len(entry["tokens"]) for entry in pairs)
    assert math.exp(-sum(numbers) / tokens) == pytest.approx(results(folder)["test/perplexity"], rel=1e-5)


def test_score_writes_word_links(moved, trained, tmp_path):
    folder, elsewhere = moved
    files = [f"alignments={tmp_path / 'a.talp'}", f"weights={tmp_path / 'w.npz'}"]
    call_script("score.py", f"run={folder}", *pair(trained), *files, "lines=4", cwd=elsewhere)
    with np.load(tmp_path / "w.npz") as stored:
        matrices = dict(stored)
    assert len(matrices) == 11
    for number, line in enumerate(lines(corpus(trained.parent, "test", "target"))):
        matrix = matrices[str(number)]
        assert len(matrix) >= len(line.split())
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-5)
    gold = corpus(trained.parent, "test", "align")
    scored = call_script("evaluate.py", f"alignments={tmp_path / 'a.talp'}", f"gold={gold}", cwd=elsewhere)
    evaluated = call_script("evaluate.py", f"run={folder}", cwd=elsewhere)
    assert shown(scored.stdout, "aer") == shown(evaluated.stdout, "aer")


@pytest.mark.parametrize("mean", ["geometric", "arithmetic"])
def test_an_ensemble_of_a_run_with_itself_is_the_run(mean, moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    runs = f"run=['{folder}','{folder}']"
    done = call_script("translate.py", runs, f"ensemble={mean}", cwd=elsewhere, text=source)
    assert done.stdout == (folder / "translations" / "test.txt").read_text(encoding="utf-8")
    alone, both = (
        call_script("score.py", run, *pair(trained), cwd=elsewhere).stdout for run in (f"run={folder}", runs)
    )
    assert [float(x) for x in both.split()] == pytest.approx([float(x) for x in alone.split()], abs=1e-4)
    evaluated = call_script("evaluate.py", runs, f"ensemble={mean}", cwd=elsewhere)
    assert shown(evaluated.stdout, "bleu") == pytest.approx(results(folder)["test/bleu"], rel=1e-3)


def test_an_ensemble_may_mix_decoders_and_attentions_but_not_target_vocabularies(moved, trained):
    folder, elsewhere = moved
    fast = [*TINY, *TINY_MODEL, "logger=csv", *NO_PAGES, "trainer.max_steps=2"]
    train(elsewhere, "model=bahdanau", "attention=dot", *fast, folder="other")
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    mixed = call_script("translate.py", f"run=['{folder}',other]", cwd=elsewhere, text=source)
    assert mixed.status == 0, mixed.stderr
    assert len(mixed.stdout.splitlines()) == 11
    scores = {}
    for run in (str(folder), "other", f"['{folder}',other]"):
        scores[run] = float(call_script("score.py", f"run={run}", *pair(trained), cwd=elsewhere).stdout.split()[0])
    *alone, together = scores.values()
    assert together not in alone
    train(elsewhere, *fast, "data.grammar.vocabulary_size=50", folder="words")
    refused = call_script("translate.py", f"run=['{folder}',words]", cwd=elsewhere, text=source)
    assert refused.status == 2
    (line,) = refused.stderr.splitlines()
    assert "words has another target vocabulary" in line


def test_translate_writes_nbest_lists_with_links_and_weights(moved, trained, tmp_path):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8") + "\n"  # the last one is empty
    files = [f"alignments={tmp_path / 'a.talp'}", f"weights={tmp_path / 'w.npz'}"]
    done = call_script("translate.py", f"run={folder}", "nbest=3", "lines=4", *files, cwd=elsewhere, text=source)
    entries = [line.split(" ||| ") for line in done.stdout.splitlines()]
    assert entries[-1] == ["11", "", "logp=0.000000", "0.000000"]
    lists = [[entry for entry in entries if entry[0] == str(number)] for number in range(11)]
    best = (folder / "translations" / "test.txt").read_text(encoding="utf-8").splitlines()
    assert [nbest[0][1] for nbest in lists] == best
    for nbest in lists:
        scores = [float(entry[3]) for entry in nbest]
        assert len(nbest) == 3
        assert scores == sorted(scores, reverse=True)
    (elsewhere / "best.txt").write_text("".join(f"{line}\n" for line in best), encoding="utf-8")
    target = f"target={elsewhere / 'best.txt'}"
    forced = call_script("score.py", f"run={folder}", pair(trained)[0], target, cwd=elsewhere).stdout
    assert [float(nbest[0][2][5:]) for nbest in lists] == pytest.approx([float(x) for x in forced.split()], abs=1e-3)
    links = lines(tmp_path / "a.talp")
    with np.load(tmp_path / "w.npz") as stored:
        matrices = dict(stored)
    assert len(links) == len(matrices) == len(entries) == 34
    assert links[-1] == ""
    for number, entry in enumerate(entries[:-1]):
        matrix = matrices[str(number)]
        words = source.splitlines()[int(entry[0])].split()
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-5)
        assert all(0 <= int(link.split("-")[0]) < len(words) for link in links[number].split())


def test_a_line_that_is_too_long_is_cut_with_a_warning_or_refused(moved, caplog):
    folder, elsewhere = moved
    text = "a b c\n" + "a " * 5000 + "\nb\n"
    done = call_script("translate.py", f"run={folder}", "max_length=20", "search=greedy", cwd=elsewhere, text=text)
    short = call_script(
        "translate.py", f"run={folder}", "search=greedy", cwd=elsewhere, text="a b c\n" + "a " * 5 + "\nb"
    )
    assert (done.status, len(done.stdout.splitlines())) == (0, 3)
    assert done.stdout.splitlines()[::2] == short.stdout.splitlines()[::2]
    assert "standard input:2" in caplog.text
    assert "max_length=20" in caplog.text
    refused = call_script("translate.py", f"run={folder}", "max_length=20", "longer=refuse", cwd=elsewhere, text=text)
    assert (refused.status, refused.stdout) == (2, "")
    assert "standard input:2" in refused.stderr


def test_translate_samples(moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    sampled = [
        call_script("translate.py", f"run={folder}", "search=sampling", *more, cwd=elsewhere, text=source).stdout
        for more in ([], [], ["search.seed=2"], ["search.top_k=1"])
    ]
    assert sampled[0] == sampled[1] != sampled[2]
    greedy = call_script("translate.py", f"run={folder}", "search=greedy", cwd=elsewhere, text=source).stdout
    assert sampled[3] == greedy


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """A language model of the translator's target side, briefly trained."""
    sizes = ["model.embedding_size=8", "model.hidden_size=7", "logger=csv", "trainer.max_epochs=2"]
    return train(tmp_path_factory.mktemp("language_model"), "model=rnn_lm", *TINY, *sizes, "seed=0", folder="lm")


@pytest.fixture(scope="module")
def other_language_model(tmp_path_factory):
    """One of other words."""
    sizes = ["model.embedding_size=8", "model.hidden_size=7", "logger=csv", "trainer.max_steps=1"]
    more = ["data.grammar.vocabulary_size=50"]
    return train(tmp_path_factory.mktemp("other_words"), "model=rnn_lm", *TINY, *sizes, *more, folder="words_lm")


def test_a_language_model_is_sampled_from(language_model, tmp_path):
    options = [f"run={language_model}", "number=7", "max_length=5", "batch=3"]
    done = call_script("sample.py", *options, cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 7
    again = call_script("sample.py", *options, cwd=tmp_path)
    assert again.stdout == done.stdout


def test_a_language_model_scores_sentences(language_model, trained, tmp_path):
    text = corpus(language_model.parent, "test", "target").read_text(encoding="utf-8")
    done = call_script("score.py", f"run={language_model}", "lines=4", cwd=tmp_path, text=text)
    numbers = [float(line) for line in done.stdout.splitlines()]
    detailed = call_script("score.py", f"run={language_model}", "detail=tokens", cwd=tmp_path, text=text).stdout
    tokens = [json.loads(line)["tokens"] for line in detailed.splitlines()]
    assert [sum(p for _, p in sentence) for sentence in tokens] == pytest.approx(numbers, abs=1e-5)
    perplexity = math.exp(-sum(numbers) / sum(map(len, tokens)))
    assert perplexity == pytest.approx(results(language_model)["test/perplexity"], rel=1e-5)
    reversed_ = call_script(
        "score.py", f"run={language_model}", cwd=tmp_path, text="".join(text.splitlines(True)[::-1])
    )
    assert [float(line) for line in reversed_.stdout.splitlines()] == pytest.approx(numbers[::-1], abs=1e-4)
    refused = call_script("score.py", f"run={language_model}", *pair(trained), cwd=tmp_path)
    assert (refused.status, "is a language model" in refused.stderr) == (2, True)
    refused = call_script("score.py", f"run={language_model}", "alignments=x", cwd=tmp_path)
    assert (refused.status, "aligns nothing" in refused.stderr) == (2, True)


def test_a_language_model_advises_the_beam(language_model, other_language_model, moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    found = {
        weight: call_script(
            "translate.py",
            f"run={folder}",
            f"search.language_model={language_model}",
            f"search.language_model_weight={weight}",
            cwd=elsewhere,
            text=source,
        ).stdout
        for weight in (0, 1)
    }
    assert found[0] == (folder / "translations" / "test.txt").read_text(encoding="utf-8") != found[1]
    mistakes = {
        str(other_language_model): "another vocabulary",
        str(folder): "is a translator",
        "nowhere": "there is no",
    }
    for run, message in mistakes.items():
        refused = call_script("translate.py", f"run={folder}", f"search.language_model={run}", cwd=elsewhere, text="a")
        assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
        assert message in refused.stderr


def test_options_of_search_reach_it(moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    options = [f"run={folder}", "nbest=2"]
    normalizations = (["search/length_normalization=gnmt"], ["search/length_normalization=none"])
    plain, *others = (
        call_script("translate.py", *options, *more, cwd=elsewhere, text=source).stdout
        for more in ([], ["precision=bf16-mixed"], ["search.coverage_penalty=0.3"], *normalizations)
    )
    for other in others:
        assert len(plain.splitlines()) == len(other.splitlines()) == 22
        assert plain != other
    refused = call_script("translate.py", f"run={folder}", "precision=bf61", cwd=elsewhere, text="a")
    assert (refused.status, "bf16-mixed" in refused.stderr) == (2, True)


def test_nbest_lists_are_rescored_and_weights_tuned(other_language_model, moved, trained, tmp_path):
    folder, elsewhere = moved
    source, target = (corpus(trained.parent, "val", side) for side in ("source", "target"))
    options = [f"run={folder}", "nbest=4", "search.beam_size=6"]
    lists = call_script("translate.py", *options, cwd=elsewhere, text=source.read_text(encoding="utf-8")).stdout
    (tmp_path / "nbest").write_text(lists, encoding="utf-8")
    entries = [line.split(" ||| ") for line in lists.splitlines()]
    scorers = f"scorers={{lm: '{other_language_model}', again: '{folder}'}}"
    common = [f"nbest={tmp_path / 'nbest'}", scorers, f"source={source}", "bleu_tokenize=none"]
    judged = call_script("rescore.py", *common, cwd=tmp_path).stdout
    figures = [dict(figure.split("=") for figure in line.split(" ||| ")[2].split()) for line in judged.splitlines()]
    texts = "".join(f"{entry[1]}\n" for entry in entries)
    alone = call_script("score.py", f"run={other_language_model}", cwd=tmp_path, text=texts).stdout.split()
    assert [float(row["lm"]) for row in figures] == pytest.approx([float(value) for value in alone], abs=1e-4)
    assert [float(row["again"]) for row in figures] == pytest.approx([float(row["logp"]) for row in figures], abs=1e-3)
    assert [int(float(row["words"])) for row in figures] == [len(entry[1].split()) for entry in entries]

    (tmp_path / "judged").write_text(judged, encoding="utf-8")
    again = [f"nbest={tmp_path / 'judged'}", "bleu_tokenize=none"]
    tuned = call_script("rescore.py", *again, f"reference={target}", cwd=tmp_path).stdout.strip()
    chosen = call_script("rescore.py", *again, f"weights={tuned}", cwd=tmp_path).stdout
    assert len(chosen.splitlines()) == 12
    (tmp_path / "chosen").write_text(chosen, encoding="utf-8")
    first = [entry[1] for number, entry in enumerate(entries) if number == 0 or entry[0] != entries[number - 1][0]]
    (tmp_path / "first").write_text("".join(f"{line}\n" for line in first), encoding="utf-8")
    assert sacrebleu(target, tmp_path / "chosen", "none") >= sacrebleu(target, tmp_path / "first", "none")
    by_hand = call_script("rescore.py", *again, "weights={lm: 1}", "output=nbest", cwd=tmp_path).stdout.splitlines()
    assert [line.split(" ||| ")[3] for line in by_hand[:4]] == sorted((row["lm"] for row in figures[:4]), key=float)[
        ::-1
    ]
    refused = call_script("rescore.py", *common[:2], cwd=tmp_path)
    assert (refused.status, "source=FILE is missing" in refused.stderr) == (2, True)


def test_the_average_of_several_validations_is_a_run(moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    one = call_script("average.py", f"run={folder}", "number=1", cwd=elsewhere)
    assert one.stdout == f"{folder}/average-best-1\n"
    translated = call_script("translate.py", f"run={one.stdout.strip()}", cwd=elsewhere, text=source).stdout
    assert translated == (folder / "translations" / "test.txt").read_text(encoding="utf-8")
    several = call_script("average.py", f"run={folder}", "which=last", "number=3", cwd=elsewhere).stdout.strip()
    weights = [load_file(path) for path in (folder / "checkpoints" / "kept").glob("*.safetensors")]
    mean = load_file(Path(several) / "weights.safetensors")
    assert len(weights) == 3
    for name, weight in mean.items():
        torch.testing.assert_close(weight, torch.stack([each[name] for each in weights]).mean(dim=0))
    assert call_script("evaluate.py", f"run={several}", cwd=elsewhere).status == 0
    refused = call_script("average.py", f"run={folder}", "number=4", cwd=elsewhere)
    assert (refused.status, "give number=3" in refused.stderr) == (2, True)


def test_an_interruption_loses_no_printed_line(moved):
    folder, elsewhere = moved
    command = [sys.executable, str(ROOT / "src" / "translate.py"), f"run={folder}", "search=greedy"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # a shell that runs the tests in the background may have told its children to ignore Ctrl-C
    restore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    with subprocess.Popen(command, cwd=elsewhere, text=True, encoding="utf-8", **pipes, **restore) as process:
        process.stdin.write("a b c\nb\n")
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(2)]
        process.stdin.write("a b c\na line that has not ended")
        process.stdin.flush()
        answers.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)  # while it waits for more
        assert process.wait(timeout=60) == 130
        assert (process.stdout.read(), "Error" in process.stderr.read()) == ("", False)
    assert answers[0] == answers[2]


def test_translate_answers_in_a_conversation_and_ends_quietly_when_nobody_listens(moved):
    folder, elsewhere = moved
    command = [sys.executable, str(ROOT / "src" / "translate.py"), f"run={folder}", "search=greedy"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=elsewhere, text=True, encoding="utf-8", **pipes)
    answers = []
    for line in ("a b c\n", "b\n"):
        process.stdin.write(line)
        process.stdin.flush()
        answers.append(process.stdout.readline())  # before the next line is there
    assert all(answers)
    process.stdout.close()
    process.stdin.write("a b c\n" * 3)
    process.stdin.close()
    stderr = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), "Traceback" in stderr) == (141, False)


@pytest.mark.slow
def test_text_in_files_is_trained_and_scored_and_evaluated_from_elsewhere(tmp_path):
    """Relative paths, 13a: references are neither tokenised nor truncated nor unk-ed by us."""
    for split in ("train", "val", "test"):
        write_pair(tmp_path, split, ENGLISH, GERMAN)
    data = [f"data.{split}=[{split}.source,{split}.target]" for split in ("train", "val", "test")]
    more = ["data=parallel_text", "tokenizer.size=60", "optimizer.lr=0.02", "trainer.max_epochs=60", "logger=csv"]
    more += ["trainer.check_val_every_n_epoch=20", "~callbacks.pictures"]
    sizes = ["model.embedding_size=24", "model.encoder_size=17", "model.decoder_size=29"]
    run = train(tmp_path, *data, *more, *sizes)
    assert "tok:13a" in results(run)["bleu_signature"]
    assert results(run)["test/bleu"] > 5  # it has learnt something, so that the comparison is one
    printed = sacrebleu(tmp_path / "test.target", run / "translations" / "test.txt", "13a")
    assert printed == pytest.approx(results(run)["test/bleu"])
    (tmp_path / "elsewhere").mkdir()
    done = call_script("evaluate.py", f"run={run}", cwd=tmp_path / "elsewhere")
    assert shown(done.stdout, "bleu") == pytest.approx(results(run)["test/bleu"], rel=1e-3)


def test_evaluate_scores_alignment_files(tmp_path):
    """Och & Ney 2003: A = {00, 11, 21}, S = {00, 12}, P = S and {11}: AER = 1 - (1 + 2) / (3 + 2)."""
    (tmp_path / "found.talp").write_text("0-0 1-1 2-1\n")
    (tmp_path / "gold.talp").write_text("1-1 2-3 2p2\n")
    done = call_script("evaluate.py", "alignments=found.talp", "gold=gold.talp", "gold_base=1", cwd=tmp_path)
    assert shown(done.stdout, "aer") == pytest.approx(0.4)
    assert shown(done.stdout, "links") == 3
    assert done.stderr == ""


# Every model with every attention


@pytest.mark.parametrize(
    ("model", "attention"),
    [
        (model, attention)
        for model in MODELS
        for attention in ATTENTIONS
        if (model in WITHOUT_ATTENTION) == (attention == "none")
    ],
)
def test_every_model_with_every_attention_trains_translates_and_is_evaluated(model, attention, tmp_path):
    sizes = ["model.embedding_size=8", "model.hidden_size=7"] if model in LANGUAGE_MODELS else TINY_MODEL
    sizes = [] if model == "ngram_lm" else sizes
    more = ["logger=csv", "~callbacks.pictures", "trainer.max_steps=2", "hydra.run.dir=run"]
    done = call_script("train.py", f"model={model}", f"attention={attention}", *TINY, *sizes, *more, cwd=tmp_path)
    assert done.status == 0, done.stderr
    found = results(tmp_path / "run")
    assert (found["status"], found["model"], found["attention"]) == ("completed", model, attention)
    assert found["test/perplexity"] > 1

    source = corpus(tmp_path, "test", "source").read_text(encoding="utf-8")
    translated = call_script("translate.py", "run=run", cwd=tmp_path, text=source)
    evaluated = call_script("evaluate.py", "run=run", cwd=tmp_path)
    if model in LANGUAGE_MODELS:
        assert (translated.status, evaluated.status) == (2, 2)
        assert "language model" in translated.stderr
        return
    assert translated.stdout == (tmp_path / "run" / "translations" / "test.txt").read_text(encoding="utf-8")
    assert shown(evaluated.stdout, "bleu") == pytest.approx(found["test/bleu"], rel=1e-3)
    assert shown(evaluated.stdout, "perplexity") == pytest.approx(found["test/perplexity"], rel=1e-3)


# Seeds, hardware and sweeps


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load_file(folder / "weights.safetensors") for folder in (one, other))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_a_seed_repeats_and_seed_0_is_a_seed(sweep, trained):
    zero, one = (sweep / f"{job}-cgru-gru_att-reorder-seed{job}" for job in (0, 1))
    assert same_weights(zero, trained)
    assert not same_weights(zero, one)
    assert [results(folder)["seed"] for folder in (zero, one)] == [0, 1]


@pytest.mark.slow
def test_a_sweep_gives_one_run_folder_a_job(sweep):
    folders = [path for path in sweep.iterdir() if path.is_dir()]  # beside Hydra's multirun.yaml
    assert len(folders) == 2
    for folder in folders:
        assert results(folder)["status"] == "completed"
        assert set(results(folder)) >= KEYS
        assert len(list((folder / "wandb").glob("offline-run-*"))) == 1
    assert {path.name for path in sweep.parent.iterdir()} == {"seeds", "outputs"}
    assert {path.name for path in (sweep.parent / "outputs").iterdir()} == {"cache"}


def test_a_sweep_is_compared(sweep, tmp_path):
    done = call_script("compare.py", f"runs={sweep}", f"output={tmp_path}", "bootstrap=40", cwd=tmp_path)
    head, (first, *_) = done.stdout.splitlines()[0], done.stdout.splitlines()[1:]
    bleu = [results(sweep / f"{job}-cgru-gru_att-reorder-seed{job}")["test/bleu"] for job in (0, 1)]
    assert first.startswith("cgru-gru_att  ")
    assert f"  2  {np.mean(bleu):.2f} ± {np.std(bleu, ddof=1):.2f}  " in first
    assert {"chrF", "TER", "perplexity", "AER,", "parameters", "tokens/s", "memory,"} <= set(head.split())
    assert (tmp_path / "bleu-by-reordering.png").stat().st_size > 10000


def test_bfloat16_on_the_cpu_gives_nearly_the_figures_of_float32(tmp_path):
    for hardware in ("cpu", "cpu_bf16"):
        done = call_script(
            "train.py", f"hardware={hardware}", *PLAIN, f"hydra.run.dir={hardware}", "trainer.max_steps=6", cwd=tmp_path
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
    assert call_script("train.py", *PLAIN, "trainer.max_steps=6", cwd=tmp_path).status == 0
    assert results(tmp_path / "run")["steps"] == 6
    assert set(results(tmp_path / "run")) >= KEYS


def test_gradient_accumulation_takes_fewer_steps(tmp_path):
    steps = {}
    for batches in (1, 3):
        more = [f"trainer.accumulate_grad_batches={batches}", "trainer.max_epochs=1"]
        assert call_script("train.py", *PLAIN, *more, cwd=tmp_path).status == 0
        steps[batches] = results(tmp_path / "run")["steps"]
    assert steps[3] == -(-steps[1] // 3)


def test_training_stops_early_and_the_best_checkpoint_is_tested(tmp_path):
    """With a learning rate that does harm, the first validation stays the best."""
    more = ["optimizer=sgd", "optimizer.lr=50", "callbacks.early_stopping.patience=2", "trainer.max_epochs=20"]
    more += ["objective.monitor=val/loss", "objective.mode=min"]
    assert call_script("train.py", *PLAIN, *more, cwd=tmp_path).status == 0
    found = results(tmp_path / "run")
    assert found["epochs"] < 20
    with (tmp_path / "run" / "metrics.csv").open(encoding="utf-8", newline="") as file:
        losses = [float(row["val/loss"]) for row in csv.DictReader(file) if row["val/loss"]]
    assert found["val/loss"] == pytest.approx(min(losses))
    assert len(losses) == losses.index(min(losses)) + 3
    evaluated = call_script("evaluate.py", "run=run", "split=val", cwd=tmp_path)
    assert shown(evaluated.stdout, "loss") == pytest.approx(min(losses), rel=1e-3)


@pytest.mark.parametrize("algorithm", ["norm", "value"])
def test_gradients_are_clipped(algorithm, tmp_path):
    """Steps of SGD with lr 1 and gradients clipped to almost nothing leave the loss where it was."""
    more = ["optimizer=sgd", "optimizer.lr=1", "trainer.max_steps=9", f"trainer.gradient_clip_algorithm={algorithm}"]
    losses = []
    for most in ("1e-7", "null"):
        assert call_script("train.py", *PLAIN, *more, f"trainer.gradient_clip_val={most}", cwd=tmp_path).status == 0
        losses.append(results(tmp_path / "run")["val/loss"])
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
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "src" / "train.py"), *PLAIN, *more],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    try:
        deadline = time.monotonic() + 120
        while b"train/loss" not in log.read_bytes() and process.poll() is None and time.monotonic() < deadline:
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
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    process = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "src" / "train.py"),
            *TINY,
            *TINY_MODEL,
            *NO_PAGES,
            "trainer.max_steps=3",
            "hydra.run.dir=run",
        ],
        cwd=tmp_path,
        stdin=process_end,
        stdout=process_end,
        stderr=process_end,
        env=clean | {"OMP_NUM_THREADS": "1", "NETRC": os.devnull, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(process_end)
    written = b""
    try:
        while chunk := os.read(terminal, 65536):
            written += chunk
    except OSError:
        pass  # the end of a terminal
    assert process.wait(timeout=60) == 0, written.decode()
    assert results(tmp_path / "run")["status"] == "completed"
    assert "━".encode() in written


# Mistakes


TEXTS = {
    "two.txt": b"a b\nc d\n",
    "three.txt": b"a b\nc d\ne f\n",
    "empty.txt": b"",
    "latin1.txt": b"a b\nsch\xf6n d\ne f\n",
    "nul.txt": b"a b\nc d\ne\0 f\n",
    "one.talp": b"0-0\n",
    "two.talp": b"0-0\n1-1\n",
    "bad.talp": b"0-0\n1x1\n",
}
GOOD = ["data=parallel_text", *(f"data.{split}=[two.txt,two.txt]" for split in ("train", "val", "test"))]
MISTAKES = [
    ("train.py", [*GOOD, "data.train=[three.txt,two.txt]"], ["three.txt has 3 lines", "two.txt has 2"]),
    ("train.py", [*GOOD, "data.test=[two.txt,three.txt]"], ["three.txt has 3", "two.txt has 2 lines"]),
    ("train.py", [*GOOD, "data.train=[nothing.txt,two.txt]"], ["nothing.txt", "no such file"]),
    ("train.py", [*GOOD, "data.val=[empty.txt,two.txt]"], ["empty.txt", "empty"]),
    ("train.py", [*GOOD, "data.train=[three.txt,latin1.txt]"], ["latin1.txt:2", "0xf6", "UTF-8"]),
    ("train.py", [*GOOD, "data.train=[nul.txt,three.txt]"], ["nul.txt:3", "NUL"]),
    ("train.py", [*GOOD, "data.max_length=1"], ["no training sentence is left", "max_length=1"]),
    ("train.py", [*GOOD, "data.train=two.txt"], ["data.train", "two files"]),
    ("train.py", [*GOOD, "data.bleu_tokenize=14a"], ["14a", "13a"]),
    ("train.py", ["data=parallel_text"], ["data.train is missing"]),
    ("train.py", ["data=multi30k"], ["data.root is missing"]),
    ("train.py", ["data=multi30k", "data.root=nowhere"], ["train.en", "no such file"]),
    ("train.py", ["data=monolingual_text", *(f"data.{s}=two.txt" for s in ("train", "val", "test"))], ["rnn_lm"]),
    ("train.py", ["model=cgur"], ["model=cgur", "did you mean cgru?"]),
    ("train.py", ["attention=bahdanou"], ["attention=bahdanou", "did you mean bahdanau?"]),
    ("train.py", ["optimiser=sgd"], ["optimiser", "did you mean optimizer?"]),
    ("train.py", ["model.decoder_sise=7"], ["model.decoder_sise", "did you mean decoder_size?"]),
    ("train.py", ["trainer.max_stepz=7"], ["trainer.max_stepz", "did you mean max_steps?"]),
    ("train.py", ["model.decoder_size=wide"], ["model.decoder_size=wide", "whole number"]),
    ("train.py", ["model.encoder_layers=0"], ["model.encoder_layers=0", "whole number"]),
    ("train.py", ["model.embedding_dropout=1.5"], ["model.embedding_dropout=1.5"]),
    ("train.py", ["model=bahdanau", "model.decoder.cell=lsmt"], ["lsmt", "did you mean lstm?"]),
    ("train.py", ["objective.label_smoothing=1"], ["objective.label_smoothing=1"]),
    ("train.py", ["objective.monitor=val/blue"], ["objective.monitor=val/blue", "val/bleu"]),
    ("train.py", ["objective=language_modeling"], ["objective=translation"]),
    ("train.py", ["model=rnn_lm", "objective=translation"], ["objective=language_modeling"]),
    ("train.py", ["optimizer.lr=-1"], ["optimizer.lr=-1"]),
    ("train.py", ["schedule=warm_up", "schedule.steps=0"], ["schedule.steps=0"]),
    ("train.py", ["search.beam_size=0"], ["search.beam_size=0"]),
    ("train.py", ["seed=one"], ["seed=one", "whole number"]),
    ("train.py", ["tokenizer.size=3"], ["size=3"]),
    ("train.py", ["trainer.precision=12"], ["Lightning", "12"]),
    ("train.py", ["trainer.precision=bf16-true"], ["trainer.precision=bf16-true", "take bf16-mixed"]),
    ("train.py", ["data.grammar.reordering=some"], ["reordering=some", "head_final"]),
    ("train.py", ["nonsense"], ["nonsense"]),
    ("train.py", ["model.sise=3"], ["model.sise", "did you mean decoder_size, embedding_size or encoder_size?"]),
    ("train.py", ["model=encoder_decoder", "attention=gru_att"], ["attention", "model=cgru"]),
    ("train.py", ["model=rnn_lm", "attention=gru_att"], ["attention", "leave attention=... away"]),
    ("train.py", ["+modle=cgru"], ["+modle: there is no such option; did you mean model?"]),
    ("train.py", ["+model.width=3"], ["+model.width: translator has no such option"]),
    ("train.py", ["+callbacks.mine=3"], ["callbacks.mine=3", "give its class, _target_"]),
    ("train.py", ["callbacks.early_stopping=null"], ["~callbacks.early_stopping"]),
    ("train.py", ["+callbacks.saving.seconds=3"], ["+callbacks.saving.seconds: SaveProgress has no such option"]),
    ("train.py", ["alignment=guide", "alignment.distance=squared_error"], ["choose with alignment/distance=..."]),
    ("train.py", ["data.max_tokens=many"], ["data.max_tokens=many", "whole number"]),
    ("train.py", ["hydra.run.dir=two.txt/run"], ["two.txt/run: Not a directory"]),
    ("train.py", ["hydra/launcher=jobli"], ["hydra/launcher=jobli", "did you mean joblib?"]),
    ("evaluate.py", [], ["run=... is missing"]),
    ("evaluate.py", ["run=nowhere"], ["run=nowhere", "config.yaml"]),
    ("evaluate.py", ["alignments=one.talp"], ["gold=FILE"]),
    ("evaluate.py", ["alignments=one.talp", "gold=two.talp"], ["one.talp has 1", "two.talp has 2"]),
    ("evaluate.py", ["alignments=two.talp", "gold=bad.talp"], ["bad.talp:2", "1x1"]),
    ("evaluate.py", ["alignments=two.talp", "gold=two.talp", "gold_base=1"], ["two.talp:1", "0-0"]),
    ("evaluate.py", ["run=.", "formats=[png,bmp]"], ["formats=[png,bmp]", "png, pdf"]),
    ("look.py", [], ["runs=... is missing"]),
    ("look.py", ["runs=[]"], ["runs=[]", "at least one"]),
    ("look.py", ["runs=nowhere"], ["runs=nowhere", "attention.jsonl", "callbacks.attention_record"]),
    ("look.py", ["runs=.", "output=."], ["output=.", "folder"]),
    ("translate.py", [], ["run=... is missing"]),
    ("translate.py", ["run=."], ["config.yaml"]),
    ("translate.py", ["run=[]"], ["run=[]", "at least one"]),
    ("translate.py", ["run=.", "search=sampling", "search.temperature=0"], ["config.yaml"]),
    ("translate.py", ["run=.", "nbest=0"], ["nbest=0"]),
    ("translate.py", ["run=.", "longer=cut"], ["longer=cut", "truncate"]),
    ("score.py", ["run=.", "source=one.talp"], ["target=FILE"]),
    ("score.py", ["run=."], ["config.yaml"]),
    ("score.py", ["run=.", "source=one.talp", "target=two.talp"], ["one.talp has 1", "two.talp has 2"]),
    ("score.py", ["run=.", "source=one.talp", "target=one.talp", "detail=all"], ["detail=all", "tokens"]),
    ("sample.py", ["run=."], ["config.yaml"]),
    ("sample.py", ["run=.", "number=0"], ["number=0"]),
    ("sample.py", ["run=.", "search=beam"], ["search=sampling"]),
    ("translate.py", ["run=.", "search=bean"], ["did you mean beam?"]),
]


@pytest.fixture
def texts(tmp_path):
    for name, content in TEXTS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(("script", "arguments", "said"), MISTAKES, ids=lambda value: " ".join(value[-1:]))
def test_a_mistake_ends_with_one_line_and_status_2(script, arguments, said, texts):
    more = ["logger=csv", "hydra.run.dir=run", "tokenizer=word"] if script == "train.py" else []
    small = TINY if script == "train.py" and not any(word.startswith("data=") for word in arguments) else []
    done = call_script(script, *more, *small, *arguments, cwd=texts)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{script}: ")
    assert [words for words in said if words not in line] == []


def test_a_mistake_from_the_shell_ends_the_same(texts):
    script, arguments, said = MISTAKES[4]
    done = run_script(script, "logger=csv", "hydra.run.dir=run", *arguments, cwd=texts, status=2)
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if not line[:2].isdigit()]  # the log begins with the time
    assert all(words in line for words in said)


def test_translate_names_the_line_that_is_not_utf8(moved):
    folder, elsewhere = moved
    done = call_script("translate.py", f"run={folder}", cwd=elsewhere, text=b"fine\nsch\xf6n\n")
    assert done.status == 2
    (line,) = done.stderr.splitlines()
    assert "standard input:2" in line
    assert done.stdout.count("\n") == 1  # the line before it is translated
