"""score.py as a user runs it, on the runs of a training: the figures of training again."""

import json
import math

import numpy as np
import pytest
from support.run_contents import corpus, lines, pair, shown
from support.scripts import call_script, results


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
