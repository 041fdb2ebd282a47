"""translate.py as a user runs it: lines in, lines out, ensembles, n-best lists, advice, interruptions."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.forked import Forked
from support.run_contents import NO_PAGES, corpus, lines, pair, shown
from support.scripts import ROOT, TINY, TINY_MODEL, call_script, results, train


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
    train(elsewhere, "model=encoder_decoder", "attention=none", *fast, folder="without")
    refused = call_script("translate.py", f"run=['{folder}',without]", "weights=w.npz", cwd=elsewhere, text=source)
    assert (refused.status, refused.stdout) == (2, "")
    assert "weights=w.npz: this run has no attention" in refused.stderr
    pairs = [f"{side}={corpus(trained.parent, 'val', side)}" for side in ("source", "target")]
    refused = call_script("score.py", "run=without", *pairs, "alignments=a.talp", cwd=elsewhere)
    assert (refused.status, refused.stdout) == (2, "")
    assert "alignments=a.talp: this run has no attention" in refused.stderr
    refused = call_script("translate.py", "run=without", "search.coverage_penalty=0.2", cwd=elsewhere, text=b"a\n")
    assert refused.status == 2
    assert "search.coverage_penalty: this run has no attention" in refused.stderr
    refused = call_script(
        "translate.py", "run=without", "search=sampling", "+search/shortlist=lexical", cwd=elsewhere, text=b"a\n"
    )
    assert refused.status == 2
    assert "search/shortlist: search=Sampling does not take one: omit it" in refused.stderr
    evaluated = call_script("evaluate.py", f"run=['{folder}',without]", cwd=elsewhere).stdout
    assert ("bleu" in evaluated, "attention_entropy" in evaluated) == (True, False)
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


def test_translate_names_the_line_that_is_not_utf8(moved):
    folder, elsewhere = moved
    done = call_script("translate.py", f"run={folder}", cwd=elsewhere, text=b"fine\nsch\xf6n\n")
    assert done.status == 2
    (line,) = done.stderr.splitlines()
    assert "standard input:2" in line
    assert done.stdout.count("\n") == 1  # the line before it is translated


def test_an_interruption_loses_no_printed_line(moved):
    folder, elsewhere = moved
    (asked, ours), (answered, theirs), (said, errors) = os.pipe(), os.pipe(), os.pipe()
    pipes = {"stdin": asked, "stdout": theirs, "stderr": errors, "others": (ours, answered, said)}
    process = Forked("translate.py", f"run={folder}", "search=greedy", cwd=elsewhere, **pipes)
    for end in (asked, theirs, errors):
        os.close(end)
    with open(ours, "w", encoding="utf-8") as stdin, open(answered) as stdout, open(said) as stderr:
        stdin.write("a b c\nb\n")
        stdin.flush()
        answers = [stdout.readline() for _ in range(2)]
        stdin.write("a b c\na line that has not ended")
        stdin.flush()
        answers.append(stdout.readline())
        process.send_signal(signal.SIGINT)  # while it waits for more
        assert process.wait(timeout=60) == 130
        assert (stdout.read(), "Error" in stderr.read()) == ("", False)
    assert answers[0] == answers[2] != ""


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
