"""A language model from Python: scores, samples, mixtures; neural and counted."""

import math

import pytest
from support.scripts import call_script

import unrolled


@pytest.mark.parametrize("name", ["language_model", "counted"])
def test_scores_and_samples_are_those_of_the_commands(name, request, tmp_path):
    lm = request.getfixturevalue(name)
    text = ["A B C", "H", ""]
    done = call_script("score.py", f"run={lm.folder}", cwd=tmp_path, text="A B C\nH\n\n")
    assert [f"{score.log_probability:.6f}" for score in lm.score(text)] == done.stdout.splitlines()
    drawn = call_script("sample.py", f"run={lm.folder}", "number=4", "search.seed=7", "max_length=5", cwd=tmp_path)
    assert lm.sample(4, seed=7, max_length=5) == drawn.stdout.split("\n")[:-1]


def test_a_score_has_its_pieces_and_perplexity(language_model):
    score = language_model.score("A B C")
    assert [piece for piece, _ in score.pieces] == ["A", "B", "C", "</s>"]
    assert sum(log_p for _, log_p in score.pieces) == pytest.approx(score.log_probability)
    assert score.perplexity == pytest.approx(math.exp(-score.log_probability / 4))


def test_context_may_be_the_text(language_model):
    apart, together = (language_model.score(["A B", "C D"], context=context) for context in ("line", "text"))
    assert apart[0].log_probability == pytest.approx(together[0].log_probability, abs=1e-5)
    assert apart[1].log_probability != pytest.approx(together[1].log_probability, abs=1e-5)


def test_samples_depend_on_seed_and_options(language_model):
    assert language_model.sample(5) == language_model.sample(5)
    assert language_model.sample(5) != language_model.sample(5, seed=2)
    assert len(language_model.sample(3, "batch=2")) == 3
    assert len(set(language_model.sample(4, "search.top_k=1"))) == 1


def test_several_are_a_mixture(language_model, counted):
    p = [math.exp(lm.score("A").pieces[0][1]) for lm in (language_model, counted)]
    alike = unrolled.load([language_model, counted]).score("A").pieces[0][1]
    assert math.exp(alike) == pytest.approx(sum(p) / 2, rel=1e-5)
    weighed = unrolled.load([language_model, counted], "mixture=[0.9,0.1]").score("A").pieces[0][1]
    assert math.exp(weighed) == pytest.approx(0.9 * p[0] + 0.1 * p[1], rel=1e-5)
    assert len(unrolled.load([language_model, counted]).sample(2)) == 2


def test_a_mistake_is_one_line(language_model, translator):
    for call, says in {
        lambda: language_model.translate("a"): "translates nothing",
        lambda: language_model.attend("a"): "no attention",
        lambda: language_model.evaluate(): "no such figures",
        lambda: language_model.score("a", "b"): "omit the targets",
        lambda: language_model.score("a", context="page"): "context=page",
        lambda: language_model.sample(0): "number=0",
        lambda: language_model.sample(1, "search=greedy"): "unrolled sample only samples",
        lambda: language_model.sample(
            1, temperature=0
        ): "search.temperature=0.*give search.top_k=1, which is its limit",
        lambda: unrolled.load([language_model, translator]): "load them separately",
        lambda: unrolled.load([language_model] * 2, "mixture=[1,1]").score("a"): "sum to 2",
    }.items():
        with pytest.raises(unrolled.UserError, match=says):
            call()
