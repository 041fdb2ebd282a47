"""What may have been meant: hints that know the words of other toolkits."""

import pytest
from hydra import compose, initialize_config_dir
from support.conf import CONF

from unrolled.configuration.hints import WORDS, check_words, meant, names_of, unreadable
from unrolled.errors import UserError

pytestmark = pytest.mark.usefixtures("conf_read_once")


def config(command, *overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(command, list(overrides))


TRAIN = {
    "lr": "optimizer.lr",
    "epochs": "trainer.max_epochs",
    "steps": "trainer.max_steps",
    "hidden_size": "model.encoder_size or model.decoder_size",
    "hidden-size": "model.encoder_size or model.decoder_size",
    "batch_size": "data.max_tokens",
    "dropout": "model.embedding_dropout, model.annotation_dropout or model.readout_dropout",
    "beam": "search.beam_size",
    "layers": "model.encoder_layers",
    "lm": "search.language_model",
    "gpus": "hardware=gpu or hardware=multi_gpu",
    "devices": "trainer.devices",
    "lang": "data=parallel_text",
    "vocab_size": "tokenizer.size",
    "precision": "trainer.precision",
    "patience": "callbacks.early_stopping.patience",
    "warmup": "schedule=warm_up",
    "label_smoothing": "objective.label_smoothing",
    "output_dir": "hydra.run.dir",
    "model.hidden_size": "model.encoder_size or model.decoder_size",
    "model.lr": "optimizer.lr",
}


def test_a_newcomers_word_names_the_option_of_training():
    chosen = config("train")
    assert {word: meant(word, chosen) for word in TRAIN} == {
        word: f"; did you mean {option}?" for word, option in TRAIN.items()
    }


def test_the_hint_depends_on_the_command_and_on_what_is_chosen():
    model = config("train", "model=rnn_lm", "schedule=warm_up")
    assert meant("hidden_size", model) == "; did you mean model.hidden_size?"
    assert meant("layers", model) == "; did you mean model.layers?"
    assert meant("warmup", model) == "; did you mean schedule.steps?"
    translate = config("translate")
    assert meant("batch_size", translate) == "; did you mean max_tokens?"
    assert meant("beam", translate) == "; did you mean search.beam_size?"
    assert meant("gpus", translate) == "; did you mean device?"
    assert meant("epochs", translate) == ""
    assert meant("run", config("train")) == "; did you mean resume?"
    assert meant("lm", config("rescore")) == "; did you mean scorers?"


def test_every_option_that_a_hint_names_is_one_of_some_configuration():
    known = {name for file in CONF.glob("*.yaml") for name in names_of(config(file.stem))}
    for overrides in (["model=rnn_lm", "data=multi30k"], ["model=ngram_lm"], ["model=bahdanau", "schedule=warm_up"]):
        known |= set(names_of(config("train", *overrides)))
    for options in WORDS.values():
        for option in options:
            group, choice, name = option.partition("=")
            there = (CONF / group / f"{name}.yaml").is_file() if choice else option in known
            assert there or option == "hydra.run.dir", option


WRONG = [
    (["cgru"], "cgru: options are name=value; did you mean model=cgru?"),
    (["bahdanau"], "bahdanau: options are name=value; did you mean model=bahdanau or attention=bahdanau?"),
    (["cgur"], "cgur: options are name=value; did you mean model=cgru?"),
    (["model"], "model: options are name=value: model=..."),
    (["seed=1", "lr"], "lr: options are name=value; did you mean optimizer.lr?"),
    (["seed", "=", "3"], "seed: write options without spaces: seed=3"),
    (["seed", "=3"], "seed: write options without spaces: seed=3"),
    (["--model", "cgru"], "--model: options have no dashes: write model=..."),
    (["--lr=3"], "--lr=3: options have no dashes: write lr=3; did you mean optimizer.lr?"),
    (["-model=cgru"], "-model=cgru: options have no dashes: write model=cgru"),
    (
        ["-patience=3"],
        "-patience=3: options have no dashes: write patience=3; did you mean callbacks.early_stopping.patience?",
    ),
    (
        ["--experimental-rerun=x"],
        "--experimental-rerun: the file could run any code; train.py reproduce=RUN trains a run again",
    ),
    (["--resolve"], "--resolve: it shows values only with --cfg: --cfg job --resolve"),
    (["--cfg"], "--cfg: expected one argument"),
    (["--shell-completion"], "-sc: give install=bash, install=fish or install=zsh"),
    (["-sc", "install=tcsh"], "-sc install=tcsh: give install=bash, install=fish or install=zsh"),
    (["hydra.run.dir="], "hydra.run.dir=: give a folder, or omit it"),
    (["data=[1,2]"], "data=[1,2]: a choice is a name, such as model=cgru"),
    (["resume={a:", "b}", "seed=1"], "resume={a: b}: put it in quotes, as it has spaces: 'resume={a: b}'"),
    (["run=[a,", "b,", "c]"], "run=[a, b, c]: put it in quotes, as it has spaces: 'run=[a, b, c]'"),
    (["nothing-of-ours"], "nothing-of-ours: options are name=value; --help lists them"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=lambda value: " ".join(value) if value is list else None)
def test_a_word_that_is_no_option_gets_a_sentence(arguments, said):
    with pytest.raises(UserError) as mistake:
        check_words("train", False, arguments)
    assert str(mistake.value) == said


def test_words_that_hydra_knows_pass():
    check_words(
        "train", False, ["-m", "seed=1,2", "~callbacks.pictures", "+trainer.benchmark=true", "--config-dir", "x"]
    )
    check_words("train", False, ["-c=job", "--resolve", "-cd=x", "seed=1"])
    check_words("train", False, ["-sc", "install=bash"])


def test_a_text_and_a_run_folder_are_named_with_the_option_that_they_are_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.en").touch()
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "config.yaml").touch()
    for word, said in {"test.en": "a text comes from standard input: < test.en", "trained": "run=trained?"}.items():
        with pytest.raises(UserError, match=said):
            check_words("translate", True, [word])
    with pytest.raises(UserError, match="options are name=value; --help lists them"):
        check_words("average", False, ["test.en"])


def test_a_value_that_cannot_be_read_is_to_be_quoted():
    said = """data.root=a("b: the value cannot be read; if it is text, quote it twice: 'data.root="a(\\"b"'"""
    assert unreadable('data.root=a("b') == said


def test_the_texts_of_a_list_that_cannot_be_read_are_to_be_quoted():
    quoted = """'data.train=["my data=x/a.en","my data=x/a.de"]'"""
    read = "data.train=[my data=x/a.en, my data=x/a.de]"
    assert unreadable(read) == f"{read}: this cannot be read; if it is a list of texts, quote each text too: {quoted}"
    for damaged in ("[1,2", "[a=b,,c]", "[[a=b],c]", '["a=b",c=d]', "{lm: a=b}", "[]]"):
        assert "lists and groups are written 'x=" in unreadable(f"x={damaged}"), damaged
    assert unreadable("data.train=[a [b].en,c.de]").endswith('with brackets, commas or quotes in it as "text"')
    assert unreadable("x=[1,2").endswith("in quotes")


def test_a_group_has_a_slash_and_an_option_a_dot():
    said = "search/length_normalization.power=0.5: only choices have a /: write search.length_normalization.power=0.5"
    assert unreadable("search/length_normalization.power=0.5") == said
