"""Every model of conf/ with every attention of conf/, from training to evaluation."""

import pytest
from support.conf import ATTENTIONS, LANGUAGE_MODELS, MODELS, go_together
from support.run_contents import corpus, shown
from support.scripts import SHORT, TINY, TINY_MODEL, call_script, results

SEARCH = "search.max_length_extra=2"


@pytest.mark.parametrize(
    ("model", "attention"),
    [(model, attention) for model in MODELS for attention in ATTENTIONS if go_together(model, attention)],
)
def test_every_model_with_every_attention_trains_translates_and_is_evaluated(model, attention, tmp_path):
    sizes = ["model.embedding_size=8", "model.hidden_size=7"] if model in LANGUAGE_MODELS else TINY_MODEL
    sizes = [] if model == "ngram_lm" else sizes
    more = [*SHORT, SEARCH, "logger=csv", "~callbacks.pictures", "trainer.max_steps=2", "hydra.run.dir=run"]
    done = call_script(
        "train.py", f"model={model}", f"attention={attention}", *TINY, *sizes, *more, cwd=tmp_path, looking=True
    )
    assert done.status == 0, done.stderr
    found = results(tmp_path / "run")
    assert (found["status"], found["model"], found["attention"]) == ("completed", model, attention)
    assert found["test/perplexity"] > 1

    source = corpus(tmp_path, "test", "source").read_text(encoding="utf-8")
    translated = call_script("translate.py", "run=run", SEARCH, cwd=tmp_path, text=source)
    evaluated = call_script("evaluate.py", "run=run", SEARCH, cwd=tmp_path)
    if model in LANGUAGE_MODELS:
        assert (translated.status, evaluated.status) == (2, 2)
        assert "language model" in translated.stderr
        return
    assert translated.stdout == (tmp_path / "run" / "translations" / "test.txt").read_text(encoding="utf-8")
    assert shown(evaluated.stdout, "bleu") == pytest.approx(found["test/bleu"], rel=1e-3)
    assert shown(evaluated.stdout, "perplexity") == pytest.approx(found["test/perplexity"], rel=1e-3)
