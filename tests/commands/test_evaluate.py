"""evaluate.py as a user runs it: the figures of training again, from the run folder alone."""

import csv

import pytest
from support.run_contents import NO_PAGES, sacrebleu, shown
from support.scripts import TINY_MODEL, call_script, results, train, write_pair

ENGLISH = ["Two men are walking.", "A dog sleeps here, it seems.", "The small dog isn't walking!", "Who sleeps?"]
GERMAN = ["Zwei Männer gehen.", "Ein Hund schläft hier, scheint es.", "Der kleine Hund geht nicht!", "Wer schläft?"]


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


def test_evaluate_draws_the_lines_that_are_named(moved):
    folder, elsewhere = moved
    done = call_script("evaluate.py", f"run={folder}", "pictures=[3,11]", "formats=pdf", cwd=elsewhere)
    assert done.status == 0
    drawn = {path.name for path in (folder / "figures").glob("test-*.pdf")}
    named = {"test-3.pdf", "test-3-reference.pdf", "test-11.pdf", "test-11-reference.pdf"}
    assert drawn - {"test-1.pdf", "test-2.pdf", "test-1-reference.pdf", "test-2-reference.pdf"} == named
    refused = call_script("evaluate.py", f"run={folder}", "pictures=[3,12]", cwd=elsewhere)
    assert (refused.status, refused.stderr) == (2, "evaluate.py: pictures=[3, 12]: there are 11 lines\n")


def test_evaluate_scores_the_validation_split(moved):
    folder, elsewhere = moved
    done = call_script("evaluate.py", f"run={folder}", "split=val", "search=greedy", cwd=elsewhere)
    assert shown(done.stdout, "bleu") == pytest.approx(results(folder)["val/bleu"], rel=1e-3)
    assert "val" in done.stdout


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


def test_evaluate_says_that_a_text_has_changed_and_refuses_unequal_sides(tmp_path, caplog):
    data = [f"data.{split}={write_pair(tmp_path, split, ENGLISH, GERMAN)}" for split in ("train", "val", "test")]
    more = ["data=parallel_text", "tokenizer=word", "trainer.max_steps=1", "logger=csv", *NO_PAGES, *TINY_MODEL]
    run = train(tmp_path, *data, *more)
    write_pair(tmp_path, "test", ENGLISH, [*GERMAN[1:], "Neu."])
    assert call_script("evaluate.py", f"run={run}", "split=val", cwd=tmp_path).status == 0
    assert "has changed" not in caplog.text
    assert call_script("evaluate.py", f"run={run}", cwd=tmp_path).status == 0
    assert f"test.target has changed since {run} was trained: these figures are of what it holds now" in caplog.text
    assert "test.source has changed" not in caplog.text
    write_pair(tmp_path, "test", ENGLISH, GERMAN[1:])
    done = call_script("evaluate.py", f"run={run}", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "test.source has 4 lines and " in done.stderr


def test_evaluate_refuses_links_of_words_that_are_not_there(tmp_path):
    text = write_pair(tmp_path, "text", ENGLISH, GERMAN)
    gold = tmp_path / "gold.talp"
    gold.write_text("0-0\n" * len(ENGLISH))
    data = ["data=parallel_text", *(f"data.{split}={text}" for split in ("train", "val", "test"))]
    more = [
        f"data.test_alignment={gold}",
        "tokenizer=word",
        "trainer.max_steps=1",
        "logger=csv",
        *NO_PAGES,
        *TINY_MODEL,
    ]
    run = train(tmp_path, *data, *more)
    gold.write_text("0-30\n" + "0-0\n" * (len(ENGLISH) - 1))
    done = call_script("evaluate.py", f"run={run}", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "gold.talp:1: 0-30: the target sentence has" in done.stderr


def test_evaluate_scores_alignment_files(tmp_path):
    """Och & Ney 2003: A = {00, 11, 21}, S = {00, 12}, P = S and {11}: AER = 1 - (1 + 2) / (3 + 2)."""
    (tmp_path / "found.talp").write_text("0-0 1-1 2-1\n")
    (tmp_path / "gold.talp").write_text("1-1 2-3 2p2\n")
    done = call_script("evaluate.py", "alignments=found.talp", "gold=gold.talp", "gold_base=1", cwd=tmp_path)
    assert shown(done.stdout, "aer") == pytest.approx(0.4)
    assert shown(done.stdout, "links") == 3
    assert done.stderr == ""


def test_evaluate_refuses_alignment_files_without_links(tmp_path):
    for name in ("found.talp", "gold.talp"):
        (tmp_path / name).write_text("\n\n")
    done = call_script("evaluate.py", "alignments=found.talp", "gold=gold.talp", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.endswith("found.talp and gold.talp: neither has a link: check that these are the files\n")


def test_evaluate_tries_the_model_without_its_memory(moved):
    folder, elsewhere = moved
    done = call_script("evaluate.py", f"run={folder}", "memory=[zero,lag]", "search=greedy", cwd=elsewhere)
    first, head, everything, *_ = done.stdout.splitlines()
    assert (first, head.split()) == ("BLEU", ["source", "words", "sentences", "intact", "zero", "lag"])
    with (folder / "memory-test.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["memory"] for row in rows if row["source_words"] == "all"] == ["intact", "zero", "lag"]
    bleu, loss, aer = ({row["memory"]: float(row[name]) for row in rows} for name in ("bleu", "loss", "aer"))
    assert everything.split() == ["all", "11", *(f"{bleu[name]:.2f}" for name in ("intact", "zero", "lag"))]
    assert loss["intact"] == pytest.approx(results(folder)["test/loss"], rel=1e-4)
    assert aer["intact"] == pytest.approx(results(folder)["test/aer"])
    assert len(set(loss.values())) == 3


def test_evaluate_refuses_memories_that_there_are_not(moved, language_model):
    folder, elsewhere = moved
    for given, said in {
        "memory=zeros": "memory=zeros is unknown; did you mean zero?",
        "memory=false": "memory=false is unknown; give one of zero, freeze, shuffle, lag, all",
        "memory=[]": "memory=[]: name each of zero, freeze, shuffle, lag at most once, or memory=all alone",
        "device=foo": "device=foo is unknown; there are auto, cpu, cuda and mps",
        "memory=[lag,lag]": "memory=lag,lag: name each of zero, freeze, shuffle, lag at most once, or memory=all alone",
    }.items():
        done = call_script("evaluate.py", f"run={folder}", given, cwd=elsewhere)
        assert (done.status, done.stderr) == (2, f"evaluate.py: {said}\n")
    assert call_script("evaluate.py", f"run={language_model}", "memory=all", cwd=elsewhere).status == 2


def test_evaluate_reads_off_the_memory_which_words_are_translated(moved, caplog):
    folder, elsewhere = moved
    done = call_script("evaluate.py", f"run={folder}", "probe=true", cwd=elsewhere)
    assert done.stdout.splitlines()[0].split("  ")[0] == "AUC"
    with (folder / "probe-test.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    everything = rows[0]
    by_distance = [int(row["examples"]) for row in rows if row["by"] == "distance"]
    assert sum(by_distance) == int(everything["examples"]) > 300
    assert all(int(row["examples"]) for row in rows)  # no empty groups
    assert 0 < float(everything["translated"]) < 1
    # even an attention that has learnt little counts how often it was asked; labels without sense teach nothing
    assert float(everything["memory"]) > 0.75
    assert float(everything["place"]) > 0.75
    assert abs(float(everything["shuffled labels"]) - 0.5) < 0.25
    assert caplog.messages == []
    assert call_script("evaluate.py", f"run={folder}", "probe=true", "split=val", cwd=elsewhere).status == 0
    (warning,) = caplog.messages
    assert "split=val: probes are fitted to these very examples" in warning
