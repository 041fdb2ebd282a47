"""interpolate.py as a user runs it, and score.py with the weights that it prints."""

import pytest
from support.scored_runs import figures, rows, score
from support.scripts import call_script, results


def test_interpolation_finds_weights_that_score_py_takes(lms):
    both = "run=[rnn,feedforward]"
    done = call_script("interpolate.py", both, "val=train.txt", "test=test.txt", cwd=lms)
    assert done.status == 0, done.stderr
    *table, weights = done.stdout.splitlines()
    shown = rows("\n".join(table))
    for name in ("rnn", "feedforward"):
        assert float(shown[name][-1]) == pytest.approx(results(lms / name)["test/perplexity"], rel=1e-4)
    on_val = [float(shown[name][-2]) for name in ("rnn", "feedforward", "mixture")]
    assert on_val[2] <= min(on_val[:2]) * (1 + 1e-5)
    mixed = figures(score(lms, weights, "detail=corpus", run="[rnn,feedforward]"))
    assert mixed["perplexity_per_token"] == pytest.approx(float(shown["mixture"][-1]), rel=1e-4)
    assert rows(score(lms, weights, "detail=corpus", run="[rnn,feedforward]").stdout)["rnn+feedforward"] == []
    single = call_script("interpolate.py", "run=rnn", "val=test.txt", cwd=lms).stdout.splitlines()
    assert single[-1] == "mixture=[1.000000]"


def test_a_mistake_ends_with_one_line_and_status_2(lms):
    for arguments, said in (
        (["run=rnn"], "val=FILE is missing"),
        (["run=[rnn,pieces]", "val=test.txt"], "another vocabulary"),
        (["run=rnn", "val=nothing.txt"], "no such file"),
        (["run=[stream,rnn]", "val=test.txt"], "rnn and stream: some were trained on lines, some on continuous text"),
    ):
        done = call_script("interpolate.py", *arguments, cwd=lms)
        assert (done.status, len(done.stderr.splitlines()), said in done.stderr) == (2, 1, True)
