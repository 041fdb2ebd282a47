"""A translator from Python: what it returns, that it is what the commands write, and what it refuses."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from support.run_contents import corpus, lines, pair
from support.scripts import call_script

import unrolled
from unrolled.api.translator_run import TranslatorRun
from unrolled.inference.trained_translator import TrainedTranslator


def test_translations_are_those_of_training_and_of_the_command(trained, tmp_path):
    source = corpus(trained.parent, "test", "source")
    run = unrolled.load(trained)
    assert run.translate(lines(source)) == lines(trained / "translations" / "test.txt")
    done = call_script("translate.py", f"run={trained}", "search=greedy", cwd=tmp_path, text=source.read_text("utf-8"))
    assert run.translate(lines(source), "search=greedy") == done.stdout.splitlines()


def test_scores_are_those_of_the_command(trained, tmp_path):
    done = call_script("score.py", f"run={trained}", *pair(trained), cwd=tmp_path)
    texts = [lines(corpus(trained.parent, "test", side)) for side in ("source", "target")]
    scores = unrolled.load(str(trained)).score(*texts)
    assert [f"{score.log_probability:.6f}" for score in scores] == done.stdout.splitlines()


def test_one_sentence_in_one_out(translator):
    assert isinstance(translator.translate("a b"), str)
    assert translator.translate(["a b"]) == [translator.translate("a b")]
    assert translator.translate([]) == []
    assert translator.translate(("a b", "")) == [translator.translate("a b"), ""]
    (best,), (empty,) = translator.translate(["a b", ""], nbest=1)
    assert best.text == translator.translate("a b")
    assert (empty.text, empty.log_probability) == ("", 0.0)
    score, attention = translator.score("a b", "B A"), translator.attend("a b", "B A")
    assert score == translator.score(["a b"], ["B A"])[0]
    assert torch.equal(attention.weights, translator.attend(["a b"], ["B A"])[0].weights)


def test_hypotheses_have_scores_pieces_and_alignments(translator):
    hypotheses = translator.translate("a b c", nbest=3, beam_size=4)
    assert len(hypotheses) == 3
    assert [best.score for best in hypotheses] == sorted((best.score for best in hypotheses), reverse=True)
    for best in hypotheses:
        assert best.pieces == best.text.split()
        assert best.attention.weights.shape == (len(best.pieces) + 1, 4)
        assert {j for _, j in best.alignment} == set(range(len(best.pieces)))
        if best.finished:
            assert translator.score("a b c", best.text).log_probability == pytest.approx(best.log_probability, abs=1e-4)
    assert translator.translate("a b c", nbest=1, attention=False)[0].attention is None


def test_threads_share_a_run(translator):
    def at_work(_):
        hypotheses = translator.translate(["a b", "c"], nbest=2)
        return [best.text for best, *_ in hypotheses], translator.attend("a b c", "B A").weights.tolist()

    expected = at_work(None)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(at_work, range(12))) == [expected] * 12


def test_options_are_those_of_the_command(translator):
    short = translator.translate(["a b c"] * 2, "search.max_length_ratio=0", "search.max_length_extra=2", beam_size=2)
    assert [len(text.split()) <= 2 for text in short] == [True, True]
    sampled = {
        tuple(translator.translate(["a b c d"] * 3, "search=sampling", f"search.seed={seed}")) for seed in (1, 2)
    }
    assert len(sampled) == 2
    greedy = unrolled.load(translator, "search=greedy")
    assert greedy.translate("a b c") == translator.translate("a b c", "search=greedy")


def test_long_sentences_are_cut_with_a_warning_or_refused(translator, caplog):
    cut = translator.translate(["a", "a b c d"], "max_length=2")
    assert cut == translator.translate(["a", "a b"])
    assert "sentences[1]: 4 tokens are more than max_length=2" in caplog.text
    with pytest.raises(unrolled.UserError, match=r"sentences\[1\]"):
        translator.translate(["a", "a b c d"], "max_length=2", "longer=refuse")


def test_attention_has_memory_gates_and_words(translator):
    seen = translator.attend("a b c", "C B")
    assert (seen.source, seen.target) == (["a", "b", "c", "</s>"], ["C", "B", "</s>"])
    torch.testing.assert_close(seen.weights.sum(dim=1), torch.ones(3))
    assert seen.memory.shape == (3, 4, 64)
    assert {name: gate.shape for name, gate in seen.gates.items()} == dict.fromkeys(("reset", "update"), (3, 4, 64))
    assert all(gate.min() > 0 and gate.max() < 1 for gate in seen.gates.values())
    words = seen.weights[:2, :3].argmax(dim=1).tolist()
    assert seen.alignment == {(i, j) for j, i in enumerate(words)}
    assert seen._repr_png_()[:4] == b"\x89PNG"
    assert seen.plot("title").axes[0].get_title(loc="left") == "title"
    both = translator.attend(["a b", "c"])
    assert [pair.source for pair in both] == [["a", "b", "</s>"], ["c", "</s>"]]
    assert both._repr_html_().count("data:image/png") == 2
    assert [" ".join(pair.target[:-1]) for pair in both] == translator.translate(["a b", "c"])


def test_what_training_wrote_is_at_hand(translator, pairs):
    assert translator.status == "completed"
    assert translator.results["test/bleu"] >= 0
    assert translator.config["trainer"]["max_epochs"] == 2
    steps = [row["step"] for row in translator.curves()]
    assert steps == sorted(steps)
    assert {"val/loss", "test/bleu"} <= {name for row in translator.curves() for name in row}
    assert all(isinstance(row["step"], int) for row in translator.curves())
    (translator.folder / "figures").mkdir(exist_ok=True)
    translator.attend("a").plot().savefig(translator.folder / "figures" / "val-1.png")
    assert [path.name for path in translator.figures] == ["val-1.png"]
    shown = translator._repr_html_()
    assert "completed" in shown
    assert repr(translator) == f"<TranslatorRun {translator.folder}>"
    assert shown.count("data:image/png") == 1


def test_figures_of_a_split_are_those_of_training_and_of_the_command(trained, tmp_path):
    run = unrolled.load(trained, "max_length=50")
    figures = run.evaluate()
    assert figures["bleu"] == pytest.approx(run.results["test/bleu"], rel=1e-6)
    done = call_script("evaluate.py", f"run={trained}", "split=val", "search.beam_size=2", cwd=tmp_path)
    again = run.evaluate("val", "search.beam_size=2")
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == list(again)
    assert f"{again['perplexity']:.4g}" in done.stdout


def test_a_run_is_tried_without_its_memory(translator):
    rows = translator.ablate(["freeze", "zero"], "val", "search=greedy")
    assert list(dict.fromkeys(row["memory"] for row in rows)) == ["intact", "freeze", "zero"]
    assert rows[0]["loss"] == pytest.approx(translator.evaluate("val", "search=greedy")["loss"])
    assert rows == translator.ablate(["freeze", "zero"], "val", "search=greedy")
    alone = (translator.folder / "memory-val.csv").read_bytes()
    unrolled.load([translator.folder, translator.folder]).ablate("zero", "val", "search=greedy")
    assert (translator.folder / "memory-val.csv").read_bytes() == alone  # an ensemble's rows are not this run's


def test_only_ascii_white_space_separates_the_words_of_a_source(train_here):
    """In six words, 18 pieces between any white space."""
    words = [f"{letter}\u00a0{letter}\u3000{letter}" for letter in "abcdefgh"]
    pairs = [(" ".join(words[(n + i) % 8] for i in range(6)), f"A{n}") for n in range(60)]
    options = [
        "attention=gru_att",
        "tokenizer=word",
        "logger=csv",
        "~callbacks.pictures",
        "~callbacks.attention_record",
    ]
    sizes = {"model.embedding_size": 8, "model.encoder_size": 6, "model.decoder_size": 12, "trainer.max_steps": 1}
    run = train_here(*options, data=pairs, **sizes)
    lengths = [name for name in run.evaluate("val", "search=greedy") if name.startswith("bleu, source of")]
    assert [name.partition(" words")[0] for name in lengths] == ["bleu, source of 0 to 10"]
    rows = run.ablate("zero", "val", "search=greedy")
    assert {row["source_words"] for row in rows} == {"all", "6 or more"}


def test_a_memory_without_positions_is_not_shuffled(train_translator):
    run = train_translator("location_extrapolating", **{"trainer.max_steps": 2})
    rows = run.ablate("all", "test", "search=greedy")
    assert list(dict.fromkeys(row["memory"] for row in rows)) == ["intact", "zero", "freeze", "lag"]
    with pytest.raises(unrolled.UserError, match="memory=shuffle: this attention's memory is not a vector"):
        run.ablate("shuffle")


def test_several_are_an_ensemble(translator, train_translator):
    other = train_translator("bahdanau", seed=2, **{"trainer.max_steps": 2})
    both = unrolled.load([translator, str(other.folder)], "ensemble=arithmetic")
    p = [math.exp(run.score("a b", "B A").pieces[0][1]) for run in (translator, other, both)]
    assert p[2] == pytest.approx((p[0] + p[1]) / 2, rel=1e-4)
    seen = both.attend("a b", "B A")
    mean = np.mean([run.attend("a b", "B A").weights.numpy() for run in (translator, other)], axis=0)
    np.testing.assert_allclose(seen.weights.numpy(), mean, atol=1e-6)
    assert (seen.memory, seen.gates) == (None, {})
    with pytest.raises(unrolled.UserError, match="2 runs"):
        _ = both.results
    assert "PairAttention" in str(both.attend(["a b"], ["B A"]))


def test_members_that_cut_the_source_differently_translate_without_attention(translator, train_translator):
    other = train_translator("bahdanau", **{"tokenizer.source": "character", "trainer.max_steps": 2})
    both = unrolled.load([translator, other])
    ((best, _),) = both.translate(["a b"], nbest=2)
    assert best.attention is None
    figures = both.evaluate("test")
    assert "bleu" in figures
    assert "attention_entropy" not in figures
    with pytest.raises(unrolled.UserError, match="tokenize the source differently"):
        both.attend("a b")


def test_pictures_of_members_that_cut_the_source_differently_are_refused_before_translating(
    translator, train_translator, monkeypatch
):
    other = train_translator("bahdanau", **{"tokenizer.source": "character", "trainer.max_steps": 2})
    monkeypatch.setattr(TrainedTranslator, "translate", lambda *_: pytest.fail("translated"))
    with pytest.raises(unrolled.UserError, match="pictures=2: these runs tokenize the source differently"):
        unrolled.load([translator, other]).evaluate("test", pictures=2)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda run: run.translate(3), "give text"),
        (lambda run: run.translate({"a"}), "sentences is a set, without an order"),
        (lambda run: run.translate(["a", None]), r"sentences\[1\]=None: give text"),
        (lambda run: run.translate("a\ud800"), r"sentences\[0\]=.*: .* is half a character, not text"),
        (lambda run: run.translate(np.array("a b")), "sentences is an array without dimensions"),
        (lambda run: run.translate("a", nbest=0), "nbest=0"),
        (lambda run: run.translate("a", nbest=10**9), "nbest=1000000000: give a whole number from 1 to 100000"),
        (lambda run: run.translate("a", "search=greedy", nbest=2), "needs a beam"),
        (lambda run: run.translate("a", "search=greedy", beam_size=2), "beam_size"),
        (lambda run: run.translate("a", "device=cpu"), "takes other options"),
        (lambda run: run.score("a"), "give their targets"),
        (lambda run: run.score("a", ["b"]), "go together"),
        (lambda run: run.score(["a"], ["b", "c"]), "1 sentences and 2 targets"),
        (lambda run: run.score("a", "b", context="text"), "context is for language models"),
        (lambda run: run.sample(), "draws nothing"),
        (lambda run: run.evaluate("dev"), "split=dev"),
        (lambda run: run.ablate("nothing"), "memory=nothing is unknown"),
        (lambda run: run.ablate(True), "memory=true is unknown"),
        (lambda run: run.ablate(None), "memory=null is unknown"),
        (lambda run: unrolled.load(run, device="foo").translate("a"), "device=foo is unknown"),
        (lambda run: unrolled.load(run, device=3).translate("a"), "device=3 is unknown"),
        (lambda run: unrolled.load(run, device="cuda:99").translate("a"), "device=cuda:99: torch finds no such"),
        (lambda run: run.probe(), "probe=true: no links of the val split are known"),
        (lambda run: run.evaluate("test", "nbest=3"), "takes other options"),
        (lambda run: unrolled.load([]), "at least one"),
        (lambda run: unrolled.load("nowhere"), "there is no"),
        (lambda run: unrolled.load(3), "give a run folder"),
        (lambda run: unrolled.load(run, "nbest=3"), "takes other options"),
        (lambda run: unrolled.load(run, precision="8-bit").ready(), "precision=8-bit"),
    ],
)
def test_a_mistake_is_one_line(translator, call, says):
    with pytest.raises(unrolled.UserError, match=says) as caught:
        call(translator)
    assert "\n" not in str(caught.value)


def test_a_run_names_only_what_is_offered_unless_it_is_trusted(translator, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    text = (translator.folder / "config.yaml").read_text(encoding="utf-8")
    named = text.replace("unrolled.models.attention.GRUAttention", "hypothesis.Attention")
    (copy / "config.yaml").write_text(named, encoding="utf-8")
    with pytest.raises(unrolled.UserError, match="add trust=hypothesis"):
        unrolled.load(copy)
    with pytest.raises(unrolled.UserError, match="defined in trust=hypothesis"):  # there is none, but it was asked
        unrolled.load(copy, trust="hypothesis")
    with pytest.raises(unrolled.UserError, match="add trust=hypothesis"):  # trust ends with the call
        unrolled.load(copy)


def test_weights_are_read_when_they_are_needed(translator, monkeypatch):
    run = unrolled.load(translator)
    monkeypatch.setattr("unrolled.api.translator_run.load_translator", lambda settings: pytest.fail("read"))
    assert isinstance(run, TranslatorRun)
    assert run.results
    monkeypatch.undo()
    assert run.ready() is run
