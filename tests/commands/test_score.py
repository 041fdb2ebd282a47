"""score.py with language models, as a user runs them; also what odd input does."""

import json
import math
import shutil
from itertools import chain

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.scored_runs import RUNS, SIZES, TEST, figures, numbers, rows, score
from support.scripts import call_script, results

# Words


@pytest.mark.parametrize("run", RUNS)
def test_words_average_and_perplexity_are_the_lines_log_probability(run, lms):
    tables = score(lms, "detail=words", run=run).stdout.split("\n\n")
    assert len(tables) == len(TEST)
    for line, table, log_p in zip(TEST, tables, numbers(score(lms, run=run).stdout), strict=True):
        names, values = zip(*(row.split() for row in table.splitlines()), strict=True)
        assert names == ("word", *line.split(), "</s>", "average", "perplexity")
        assert values[0] == run
        bits = [float(value) for value in values[1:-2]]
        assert sum(bits) == pytest.approx(-log_p / math.log(2), abs=2e-3 * len(bits))
        assert float(values[-2]) == pytest.approx(sum(bits) / len(bits), abs=2e-3)
        assert float(values[-1]) == pytest.approx(2 ** float(values[-2]), rel=2e-3)


def test_runs_stand_side_by_side_each_with_its_own_tokenizer(lms):
    both = "[rnn,pieces]"
    tables = [score(lms, "detail=words", run=run).stdout for run in (both, "rnn", "pieces")]
    together, *alone = ([line.split()[1:] for line in table.splitlines()] for table in tables)
    assert together == [list(chain(*cells)) for cells in zip(*alone, strict=True)]
    tokens = [json.loads(line) for line in score(lms, "detail=tokens", run=both).stdout.splitlines()]
    assert [entry["run"] for entry in tokens] == ["rnn", "pieces"] * len(TEST)
    columns = [[float(cell) for cell in line.split("\t")] for line in score(lms, run=both).stdout.splitlines()]
    assert list(chain(*columns)) == pytest.approx([entry["log_probability"] for entry in tokens], abs=1e-5)


# The whole text


@pytest.mark.parametrize("run", RUNS)
def test_corpus_figures_follow_from_the_lines_and_from_training(run, lms):
    found = figures(score(lms, "detail=corpus", "lines=3", run=run))
    log_p, words = sum(numbers(score(lms, run=run).stdout)), sum(len(line.split()) for line in TEST)
    assert (found["sentences"], found["words"]) == (4, words)
    assert found["characters"] == sum(len(line) + 1 for line in TEST)
    assert found["log_probability"] == pytest.approx(log_p, rel=1e-5)
    assert found["perplexity_per_token"] == pytest.approx(results(lms / run)["test/perplexity"], rel=1e-4)
    assert found["perplexity_per_word"] == pytest.approx(math.exp(-log_p / (words + 4)), rel=1e-5)
    assert found["bits_per_character"] == pytest.approx(-log_p / math.log(2) / found["characters"], rel=1e-5)
    assert (found["tokens"] == words + 4) == (run != "pieces")


def test_words_outside_the_vocabulary_are_counted_and_named_but_not_a_written_unk(lms, caplog):
    text = "a catdog sees the gavagai\na <unk> sees a <pad>\n"
    done = score(lms, "detail=corpus", text=text, run="[rnn,pieces]")
    assert rows(done.stdout)["unknown_words"] == ["3", "2"]
    assert rows(done.stdout)["unknown_share"] == ["0.3", "0.2"]
    assert (
        "rnn: 3 of 10 words (30%) are outside the vocabulary and scored as <unk>: catdog, gavagai, <pad>" in caplog.text
    )
    caplog.clear()
    score(lms, text=text)
    assert "rnn: 3 of 10 words" in caplog.text
    caplog.clear()
    score(lms)
    assert "vocabulary" not in caplog.text


# Ranks


def test_the_likeliest_sentence_is_first(lms):
    scored = sorted(zip(numbers(score(lms).stdout), TEST, strict=True), reverse=True)
    ranked = [line.split("\t") for line in score(lms, "rank=true", "lines=3").stdout.splitlines()]
    assert [sentence for _, sentence in ranked] == [sentence for _, sentence in scored]
    assert [float(value) for value, _ in ranked] == pytest.approx([value for value, _ in scored], abs=1e-4)
    tokens = [len(sentence.split()) + 1 for _, sentence in scored]
    by_token = [value / count for (value, _), count in zip(scored, tokens, strict=True)]
    ranked = [float(line.split("\t")[0]) for line in score(lms, "rank=per_token").stdout.splitlines()]
    assert ranked == pytest.approx(sorted(by_token, reverse=True), abs=1e-4)


# A text as one


def test_context_text_goes_on_from_line_to_line(lms):
    line, text = numbers(score(lms).stdout), numbers(score(lms, "context=text", "lines=3").stdout)
    assert text[0] == pytest.approx(line[0], abs=1e-5)
    assert all(abs(one - other) > 1e-4 for one, other in zip(line[1:], text[1:], strict=True))
    assert numbers(score(lms, "context=text", "max_tokens=2").stdout) == pytest.approx(text, abs=1e-5)


def test_a_run_that_was_trained_on_a_stream_is_scored_as_one_unless_told_otherwise(lms):
    as_one = score(lms, run="stream").stdout
    assert as_one == score(lms, "context=text", run="stream").stdout
    line = score(lms, "context=line", run="stream").stdout
    assert (line == as_one, line.splitlines()[0] == as_one.splitlines()[0]) == (False, True)
    assert score(lms, "rank=true", run="stream").stdout == score(lms, "rank=true", "context=line", run="stream").stdout
    undecided = score(lms, "mixture=[0.5,0.5]", run="[stream,rnn]")
    assert (undecided.status, "give context=line or text" in undecided.stderr) == (2, True)
    assert score(lms, "mixture=[0.5,0.5]", "context=line", run="[stream,rnn]").status == 0


def test_a_continuous_text_shows_its_gradient_norms_too(lms):
    header, *measured = (lms / "stream" / "gradient_norms.csv").read_text(encoding="utf-8").splitlines()
    assert header == "step,n,norm,pairs"
    assert max(int(row.split(",")[1]) for row in measured) > 5
    assert (lms / "stream" / "figures" / "gradient-norms.png").is_file()


# Mixtures


def test_a_mixture_is_a_model_like_any_other(lms):
    mixture = ["mixture=[0.3,0.7]"]
    both = {"run": "[rnn,feedforward]"}
    details = [json.loads(line) for line in score(lms, "detail=tokens", *mixture, **both).stdout.splitlines()]
    alone = [
        [json.loads(line) for line in score(lms, "detail=tokens", run=run).stdout.splitlines()]
        for run in ("rnn", "feedforward")
    ]
    for entry, *others in zip(details, *alone, strict=True):
        for (piece, log_p), (_, one), (_, other) in zip(entry["tokens"], *(o["tokens"] for o in others), strict=True):
            assert math.exp(log_p) == pytest.approx(0.3 * math.exp(one) + 0.7 * math.exp(other), rel=1e-5), piece
    assert len(score(lms, "rank=true", *mixture, **both).stdout.splitlines()) == len(TEST)
    assert len(numbers(score(lms, "context=text", *mixture, **both).stdout)) == len(TEST)
    assert score(lms, "detail=words", *mixture, **both).stdout.split()[:2] == ["word", "rnn+feedforward"]


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "run", "said"),
    [
        (["mixture=[0.5,0.5]"], "[rnn,pieces]", "pieces has another vocabulary than rnn"),
        (["mixture=[0.5]"], "[rnn,feedforward]", "a weight for each of the 2 runs"),
        (["mixture=[0.5,0.6]"], "[rnn,feedforward]", "sum to 1.1"),
        (["mixture=[-0.5,1.5]"], "[rnn,feedforward]", "not negative"),
        (["mixture=half"], "[rnn,feedforward]", "mixture=half"),
        (["ensemble=arithmetic"], "rnn", "ensemble=arithmetic: translators are combined by it"),
        (["context=page"], "rnn", "context=page is unknown"),
        (["rank=best"], "rnn", "rank=best is unknown"),
        (["rank=true", "detail=words"], "rnn", "omit detail"),
        (["rank=true", "context=text"], "rnn", "omit context=text"),
        (["rank=true"], "[rnn,feedforward]", "give one run, or mixture"),
        (["detail=word"], "rnn", "did you mean words?"),
        ([], "[]", "at least one"),
        (["source=test.txt", "target=test.txt", "mixture=[1]"], "rnn", "mixture=... is for language models"),
    ],
)
def test_a_mistake_ends_with_one_line_and_status_2(arguments, run, said, lms):
    done = score(lms, *arguments, run=run)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line


# Odd input


def test_odd_lines_have_defined_results(lms):
    odd = ["", " \t ", "gavagai öäü 漢字", "a dog " * 5_000, "\u200b", "<s> </s> <pad>", "a\u3000dog"]
    options = {"text": "".join(f"{line}\n" for line in odd), "run": f"[{','.join(RUNS)}]"}
    for context in ("line", "text"):
        done = score(lms, f"context={context}", **options)
        found = [[float(cell) for cell in line.split("\t")] for line in done.stdout.splitlines()]
        assert [len(row) for row in found] == [len(RUNS)] * len(odd)
        assert all(math.isfinite(log_p) and log_p < 0 for row in found for log_p in row)
        assert (found[0] == pytest.approx(found[1], abs=1e-5)) == (context == "line")
    tables = score(lms, "detail=words", **options).stdout.split("\n\n")
    assert [line.split()[0] for line in tables[0].splitlines()] == ["word", "</s>", "average", "perplexity"]
    assert len(tables[3].splitlines()) == 10_004
    values = [line.rsplit(" ", 1)[1] for table in tables for line in table.strip("\n").split("\n")[1:]]
    assert all(math.isfinite(float(value)) for value in values)
    shown = rows(score(lms, "detail=corpus", **options).stdout)
    assert all(math.isfinite(float(cell)) for name, cells in shown.items() if name != "rnn" for cell in cells)


def test_no_lines_have_no_figures(lms):
    assert score(lms, text="").stdout == score(lms, "detail=words", text="").stdout == ""
    assert rows(score(lms, "detail=corpus", text="").stdout)["perplexity_per_word"] == ["nan"]


def test_probability_0_is_shown_as_such_and_said_once(lms, tmp_path, caplog):
    impossible = tmp_path / "impossible"
    shutil.copytree(lms / "rnn", impossible)
    words = (impossible / "tokenizer" / "target" / "words.txt").read_text(encoding="utf-8").split("\n")
    weights = load_file(impossible / "weights.safetensors")
    weights["output.bias"][words.index("sleeps")] = -torch.inf
    save_file(weights, impossible / "weights.safetensors")
    run = str(impossible)
    assert score(lms, run=run).stdout.splitlines()[1] == "-inf"
    assert caplog.text.count("impossible: probability 0 (-inf) of 1 of 4 lines") == 1
    entry = json.loads(score(lms, "detail=tokens", run=run).stdout.splitlines()[1])
    assert (entry["log_probability"], entry["tokens"][2]) == (None, ["sleeps", None])
    table = rows(score(lms, "detail=words", run=run).stdout.split("\n\n")[1])
    assert (table["sleeps"], table["perplexity"]) == (["inf"], ["inf"])
    corpus = rows(score(lms, "detail=corpus", run=run).stdout)
    assert (corpus["log_probability"], corpus["bits_per_character"]) == (["-inf"], ["inf"])
    assert score(lms, "rank=true", run=run).stdout.splitlines()[-1] == "-inf\tthe dog sleeps"
    both = f"['{run}',rnn]"
    assert all(math.isfinite(value) for value in numbers(score(lms, "mixture=[0.9,0.1]", run=both).stdout))
    found = call_script("interpolate.py", f"run={both}", "val=test.txt", cwd=lms)
    assert rows(found.stdout)["impossible"][1] == "inf"
    assert math.isfinite(float(rows(found.stdout)["mixture"][0]))


def test_size_and_minimum_count_bound_a_word_vocabulary_and_texts_are_still_compared_by_the_word(lms, caplog):
    caplog.set_level("INFO")
    step = ["trainer.max_steps=1", "logger=csv", *SIZES, "data=monolingual_text", "tokenizer=word"]
    step += [f"data.{split}={split}.txt" for split in ("train", "val", "test")]
    for name, option in {"large": "tokenizer.size=1000", "frequent": "tokenizer.min_count=6"}.items():
        done = call_script("train.py", "model=rnn_lm", option, f"hydra.run.dir={name}", *step, cwd=lms)
        assert done.status == 0, done.stderr
    assert "size 1000 is more than the text has words; lowered to 14" in caplog.text
    shown = rows(score(lms, "detail=corpus", run="[large,frequent]").stdout)
    assert shown["words"] == ["16", "16"]
    assert shown["unknown_words"] == ["0", "4"]  # sleeps, dogs, sleep, here
    assert shown["known_words"] == ["12", "12"]
    assert len(set(shown["perplexity_per_known_word"])) == 2
