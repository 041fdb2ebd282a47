"""What align, arpa, average, check, interpolate, look and rescore do, from Python: the same as the commands."""

import math

import pytest
from support.run_contents import corpus, lines
from support.scripts import call_script

import unrolled
from unrolled.api.judged_sentences import TranslatedSentence

FEW = {"model.embedding_size": 8, "model.encoder_size": 6, "model.decoder_size": 12}


def test_lists_are_rescored_tuned_and_chosen_as_by_the_command(trained, language_model, tmp_path):
    source, target = (corpus(trained.parent, "val", side) for side in ("source", "target"))
    run = unrolled.load(trained)
    lists = unrolled.rescore(run.translate(lines(source), nbest=3, attention=False), {"lm": language_model})
    (tmp_path / "nbest").write_text(
        call_script("translate.py", f"run={trained}", "nbest=3", cwd=tmp_path, text=source.read_bytes()).stdout, "utf-8"
    )
    judged = call_script("rescore.py", "nbest=nbest", f"scorers={{lm: '{language_model.folder}'}}", cwd=tmp_path)
    assert str(lists) == judged.stdout
    (tmp_path / "judged").write_text(judged.stdout, "utf-8")
    again = unrolled.rescore(tmp_path / "judged", {"again": run}, sources=lines(source))
    assert again.records()[0]["again"] == pytest.approx(again.records()[0]["logp"], abs=1e-3)
    found = lists.tune(lines(target), bleu_tokenize="none", restarts=3)
    tuned = call_script(
        "rescore.py", "nbest=judged", f"reference={target}", "bleu_tokenize=none", "restarts=3", cwd=tmp_path
    )
    assert set(found.weights) == {"logp", "words", "lm"}
    assert found.bleu >= found.first_bleu
    assert tuned.stdout.startswith("{logp: ")
    chosen = call_script("rescore.py", "nbest=judged", f"weights={tuned.stdout.strip()}", cwd=tmp_path).stdout
    weights = {
        name: float(number) for name, number in (pair.split(": ") for pair in tuned.stdout.strip()[1:-1].split(", "))
    }
    assert lists.by(weights).best() == chosen.splitlines()
    sentence = run.translate("a", nbest=3, attention=False)
    assert len(unrolled.rescore(sentence, {}).lists) == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda run: unrolled.rescore([], {}), r"lists=\[\]: give a list of translations"),
        (lambda run: unrolled.rescore([["a"]], {}), "'a' is not a translation"),
        (
            lambda run: unrolled.rescore(run.translate(["a"], nbest=1), {"logp": run}),
            "already have a feature of this name",
        ),
        (lambda run: unrolled.rescore(run.translate(["a"], nbest=1), {}, sources=["a", "b"]), "sources has 2"),
        (lambda run: unrolled.rescore(run.translate(["a"], nbest=1), {}).tune(["A"], restart=3), "restart"),
        (lambda run: unrolled.align(["a"], ["A", "B"]), "1 sources and 2 targets"),
        (lambda run: unrolled.align(["a"], ["A"], iteration=3), "did you mean iterations"),
        (lambda run: unrolled.align(["a"], [2]), r"targets\[0\]=2: give text"),
        (lambda run: unrolled.align(None, None), "sources=None: give text"),
        (lambda run: unrolled.align("a", ["A"]), "sources='a': give a list of sentences"),
        (lambda run: unrolled.rescore(run.translate(["a"], nbest=1), {}).tune(None), "references=None: give text"),
        (
            lambda run: unrolled.rescore(run.translate(["a"], nbest=1), {}).by([1]),
            "give a number for each of logp, words",
        ),
        (lambda run: unrolled.look([]), "name at least one"),
        (lambda run: unrolled.look(None), "run=None: give a path"),
        (lambda run: unrolled.look(run, 3), "output=3: give a path"),
        (lambda run: unrolled.compare([run], output=3), "output=3: give a path"),
        (lambda run: run.export(None), "output=None: give a path"),
        (lambda run: run.export(""), "output='': give a path"),
        (lambda run: unrolled.interpolate([run], ["a"]), "name language models"),
        (lambda run: unrolled.interpolate(run, ["a"]), "name language models"),
        (lambda run: unrolled.interpolate([], ["a"]), "runs=.*give at least one"),
        (lambda run: unrolled.rescore(run.translate(["a"], nbest=1), ["lm"]), "scorers=.*by the names"),
        (lambda run: unrolled.rescore(3, {}), "lists=3: give what"),
        (lambda run: unrolled.rescore(run.translate(["a"], nbest=1), {}, sources=3), "sources=3: give text"),
        (lambda run: run.average("worst"), "which=worst"),
        (lambda run: run.average(number=0), "number=0"),
        (lambda run: run.save_arpa("a.arpa"), "is not an n-gram model"),
        (lambda run: unrolled.check("attention=gru_at"), "did you mean gru_att"),
        (lambda run: unrolled.import_arpa("nowhere.arpa", to="there"), "nowhere.arpa"),
        (lambda run: unrolled.import_weights("a.npz", "a.json", "b.json", use_dropout="x"), "use_dropout"),
    ],
)
def test_a_mistake_is_one_line(translator, call, says):
    with pytest.raises(unrolled.UserError, match=says) as raised:
        call(translator)
    assert "\n" not in str(raised.value)


def test_a_page_an_average_and_links_are_those_of_the_commands(trained, tmp_path):
    page = unrolled.look(trained, tmp_path / "page.html")
    assert page.read_bytes() == (trained / "attention.html").read_bytes()
    pairs = [lines(corpus(trained.parent, "val", side)) for side in ("source", "target")]
    done = call_script("align.py", *(f"{side}={corpus(trained.parent, 'val', side)}" for side in ("source", "target")),
                       cwd=tmp_path)  # fmt: skip
    links = unrolled.align(*pairs)
    assert [{tuple(map(int, link.split("-"))) for link in line.split()} for line in done.stdout.splitlines()] == links


def test_an_average_is_a_run(translator):
    mean = translator.average("last", 2)
    assert mean.folder == translator.folder / "average-last-2"
    assert isinstance(mean.translate("a b"), str)
    assert mean.status == "completed"
    assert "completed" in mean._repr_html_()


def test_models_are_interpolated_and_an_arpa_file_comes_back(language_model, counted, pairs, tmp_path, monkeypatch):
    text = [target for _, target in pairs[:9]]
    found = unrolled.interpolate([language_model, counted.folder], text)
    assert sum(found.weights) == pytest.approx(1)
    (tmp_path / "val").write_text("".join(f"{line}\n" for line in text), "utf-8")
    loaded = [unrolled.load(model, "max_tokens=50") for model in (language_model, counted)]
    with monkeypatch.context() as patch:  # what has been loaded, perhaps with trust, is not loaded again
        patch.setattr("unrolled.api.interpolated_models.load", None)
        assert unrolled.interpolate(loaded, text).weights == pytest.approx(found.weights, abs=1e-6)
    runs = f"run=['{language_model.folder}','{counted.folder}']"
    assert call_script("interpolate.py", runs, "val=val", cwd=tmp_path).stdout.startswith(str(found))
    assert unrolled.load([language_model, counted], f"mixture={found.weights}").score("A B").perplexity > 1
    counted.save_arpa(tmp_path / "lm.arpa")
    again = unrolled.import_arpa(tmp_path / "lm.arpa", to=tmp_path / "imported")
    assert again.status == "completed"
    assert again.score("A B").log_probability == pytest.approx(counted.score("A B").log_probability, rel=1e-4)
    with pytest.raises(unrolled.UserError, match="this folder already holds a run"):
        unrolled.import_arpa(tmp_path / "lm.arpa", to=tmp_path / "imported")
    with pytest.raises(unrolled.UserError, match="is a folder: name a file in it"):
        counted.save_arpa(tmp_path)
    with pytest.raises(unrolled.UserError, match="is not an n-gram model"):
        language_model.save_arpa(tmp_path / "no.arpa")


def test_trying_promises_leaves_torchs_random_state_as_it_was():
    import torch

    from unrolled.api.checked_part import rows
    from unrolled.configuration.composition import composed

    torch.manual_seed(11)
    before = torch.get_rng_state()
    options = [f"{name}={value}" for name, value in FEW.items()]
    for row in rows(composed("check", ["attention=dot", "cost=false", *options])):
        assert torch.equal(torch.get_rng_state(), before), row["promise"]
        if row["promise"] == "same again":  # which draws dropout
            break
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.slow
def test_promises_are_tried_and_threads_left_as_they_were(tmp_path):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = unrolled.check("attention=dot", **FEW)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert (len(found), found.broken) == (20, [])
    assert "weights sum to one" in str(found)


def test_a_translation_of_probability_0_can_be_weighted_as_one_from_a_file_can():
    entries = [
        TranslatedSentence("a", text, log_probability=log_p, score=log_p, finished=True, pieces=[text])
        for text, log_p in [("x y", -math.inf), ("z", -1.0)]
    ]
    lists = unrolled.rescore([entries], {})
    assert lists.by({"words": 1.0}).best() == ["x y"]
    assert lists.by({"words": 1.0, "logp": 0.1}).best() == ["z"]
    assert "inf" not in str(lists)
