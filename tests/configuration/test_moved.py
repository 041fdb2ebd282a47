"""Run folders from before a move do today what they did then.

tests/kept_runs holds three, trained by the last revision before the package had its rooms (b94e679), of a few dozen
sentences and a few hundred parameters each: a translator and n-grams, completed, and a language model that was killed
in its last step. Their paths begin with /tmp/runs.
"""

import json
import math
import shutil

import pytest
from hydra.utils import get_object
from support.run_contents import corpus, shown
from support.scripts import TESTS, call_script, results

from unrolled.configuration.moved import KINDS, MOVED, NEW, PACKAGE, brought_up_to_date

RESUMED_PERPLEXITY = 28.03645  # of the test set, by the revision that trained it, from the same checkpoint on


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Copies of the run folders, with paths of their own, and the data that they were trained on."""
    where = tmp_path_factory.mktemp("kept")
    shutil.copytree(TESTS / "kept_runs", where, dirs_exist_ok=True)
    for path in where.glob("*/config.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace("/tmp/runs", str(where)), encoding="utf-8")
    done = call_script("evaluate.py", f"run={where / 'translator'}", cwd=where)
    return where, done


def test_a_translator_is_evaluated_as_then(kept):
    where, done = kept
    found = results(where / "translator")
    assert done.status == 0, done.stderr
    for name in ("bleu", "chrf", "ter", "loss", "perplexity", "aer"):
        assert shown(done.stdout, name) == pytest.approx(found[f"test/{name}"], rel=1e-3)


def test_a_translator_translates_as_then(kept):
    where, _ = kept
    source = corpus(where, "test", "source").read_text(encoding="utf-8")
    done = call_script("translate.py", f"run={where / 'translator'}", cwd=where, text=source)
    assert done.stdout == (where / "translator" / "translations" / "test.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("run", ["translator", "ngram"])
def test_sentences_are_scored_as_then(run, kept):
    where, _ = kept
    source, target = (corpus(where, "test", side) for side in ("source", "target"))
    files = [f"source={source}", f"target={target}"] if run == "translator" else []
    text = target.read_text(encoding="utf-8")
    done = call_script("score.py", f"run={where / run}", *files, "detail=tokens", cwd=where, text=text)
    log_probs = [log_p for line in done.stdout.splitlines() for _, log_p in json.loads(line)["tokens"]]
    perplexity = math.exp(-sum(log_probs) / len(log_probs))
    assert perplexity == pytest.approx(results(where / run)["test/perplexity"], rel=1e-4)


def test_runs_are_compared(kept, tmp_path):
    where, _ = kept
    folders = f"runs=[{where / 'translator'},{where / 'ngram'}]"
    done = call_script("compare.py", folders, f"output={tmp_path}", cwd=where)
    assert done.status == 0, done.stderr
    assert f"{results(where / 'translator')['test/chrf']:.2f}" in done.stdout
    assert f"{results(where / 'ngram')['test/perplexity']:.2f}" in done.stdout


def test_a_run_s_attention_is_looked_at(kept, tmp_path):
    where, _ = kept
    done = call_script("look.py", f"runs={where / 'translator'}", "output=page.html", cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert "cgru-gru_att-reorder" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_killed_training_goes_on_and_comes_to_the_same_end(kept):
    where, _ = kept
    done = call_script("train.py", f"resume={where / 'language_model'}", cwd=where)
    assert done.status == 0, done.stderr
    found = results(where / "language_model")
    assert (found["status"], found["steps"]) == ("completed", 4)
    assert found["test/perplexity"] == pytest.approx(RESUMED_PERPLEXITY, rel=1e-4)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_what_moved_is_where_the_table_says(old, new):
    assert callable(get_object(PACKAGE + new))
    try:
        left = get_object(PACKAGE + old)
    except (ImportError, AttributeError):
        return
    assert not callable(left)  # else the table would take away what is there


def test_options_that_a_class_has_no_more_are_omitted_and_those_it_needs_are_added():
    node = {"_target_": PACKAGE + "training.callbacks.StopWhenDiverged", "every": 10}
    before = {"callbacks": {"diverged": node, "mine": {"_target_": "mine.Callback", "every": 3}}}
    diverged = {"_target_": PACKAGE + "training.callbacks.divergence.StopWhenDiverged"}
    diverged |= NEW["training.callbacks.divergence.StopWhenDiverged"]
    assert brought_up_to_date(before) == {"callbacks": {"diverged": diverged, "mine": before["callbacks"]["mine"]}}


@pytest.mark.parametrize("target", KINDS)
def test_an_objective_without_a_kind_gets_that_of_its_class(target):
    assert callable(get_object(PACKAGE + target))
    config = brought_up_to_date({"objective": {"_target_": PACKAGE + target, "mode": "max"}})
    assert config["objective"] == {"kind": KINDS[target], "_target_": PACKAGE + target, "mode": "max"}


def test_names_are_brought_up_to_date_wherever_they_are_and_nothing_else_changes():
    old, new = PACKAGE + "data.tokenizer.Words", PACKAGE + "text.tokenizer.Words"
    foreign = {"_target_": "mine.data.tokenizer.Words", "comment": old, "size": None}
    before = {"data": {"module": [{"tokenizer": {"_target_": old, "size": 3}}]}, "mine": foreign, "name": old}
    after = {"data": {"module": [{"tokenizer": {"_target_": new, "size": 3}}]}, "mine": foreign, "name": old}
    assert brought_up_to_date(before) == after
    given = {"objective": {"_target_": "mine.Loss", "kind": "translation"}}
    assert brought_up_to_date(given) == given
