"""A user's mistake ends every command with one line and status 2."""

import pytest
from support.scripts import TINY, call_script, run_script

TEXTS = {
    "two.txt": b"a b\nc d\n",
    "three.txt": b"a b\nc d\ne f\n",
    "empty.txt": b"",
    "latin1.txt": b"a b\nsch\xf6n d\ne f\n",
    "nul.txt": b"a b\nc d\ne\0 f\n",
    "one.talp": b"0-0\n",
    "two.talp": b"0-0\n1-1\n",
    "bad.talp": b"0-0\n1x1\n",
    "list": b"0 ||| a ||| logp=-1 ||| -1\n1 ||| b ||| logp=-1 ||| -1\n",
    "list.1": b"1 ||| a ||| logp=-1 ||| -1\n",
}
TEXT = ["model=rnn_lm", "data=monolingual_text", *(f"data.{split}=two.txt" for split in ("train", "val", "test"))]
GOOD = ["data=parallel_text", *(f"data.{split}=[two.txt,two.txt]" for split in ("train", "val", "test"))]
MISTAKES = [
    ("train.py", [*GOOD, "data.train=[three.txt,two.txt]"], ["three.txt has 3 lines", "two.txt has 2"]),
    ("train.py", [*GOOD, "data.test=[two.txt,three.txt]"], ["three.txt has 3", "two.txt has 2 lines"]),
    ("train.py", [*GOOD, "data.train=[nothing.txt,two.txt]"], ["nothing.txt", "no such file"]),
    ("train.py", [*GOOD, "data.val=[empty.txt,two.txt]"], ["empty.txt", "empty"]),
    ("train.py", [*GOOD, "data.train=[three.txt,latin1.txt]"], ["latin1.txt:2", "0xf6", "UTF-8"]),
    ("train.py", [*GOOD, "data.train=[nul.txt,three.txt]"], ["nul.txt:3", "NUL"]),
    ("train.py", [*GOOD, "data.max_length=1"], ["no training sentences are left", "max_length=1"]),
    ("train.py", [*GOOD, "data.train=two.txt"], ["data.train", "two files"]),
    ("train.py", [*GOOD, "data.bleu_tokenize=14a"], ["14a", "13a"]),
    ("train.py", ["data=parallel_text"], ["data.train is missing"]),
    ("train.py", ["data=multi30k"], ["data.root is missing"]),
    ("train.py", ["data=multi30k", "data.root=nowhere"], ["train.en", "no such file"]),
    ("train.py", ["data=monolingual_text", *(f"data.{s}=two.txt" for s in ("train", "val", "test"))], ["rnn_lm"]),
    ("train.py", ["model=cgur"], ["model=cgur", "did you mean cgru?"]),
    ("train.py", ["attention=bahdanou"], ["attention=bahdanou", "did you mean bahdanau?"]),
    ("train.py", ["optimiser=sgd"], ["optimiser", "did you mean optimizer?"]),
    ("train.py", ["lr=0.1"], ["lr: there is no such option; did you mean optimizer.lr?"]),
    ("train.py", ["+lr=0.1"], ["+lr: there is no such option; did you mean optimizer.lr?"]),
    ("train.py", ["model.hidden_size=7"], ["did you mean model.encoder_size or model.decoder_size?"]),
    ("translate.py", ["beam=7"], ["did you mean search.beam_size?"]),
    ("train.py", ["cgru"], ["cgru: options are name=value; did you mean model=cgru?"]),
    ("train.py", ["seed=1,2"], ["seed=1,2: add -m to run all of them, or give a list: 'seed=[1,2]'"]),
    ("train.py", ["hydra.verbose=3"], ["hydra.verbose=3: give true, false or the name of a logger"]),
    ("train.py", ["hydra.job.chdir=7.5"], ["hydra.job.chdir: ", "7.5"]),
    ("train.py", ["hydra.job.chdir=[1]"], ["hydra.job.chdir: "]),
    ("train.py", ["data=tsv", "data.columns=[1,2]"], ["data.columns=[1,2]: this has options of its own"]),
    ("train.py", ["+trainer.overfit_batches=3"], ["trainer.overfit_batches=3", "limit_train_batches"]),
    ("train.py", ["+trainer.strategy=null"], ["trainer.strategy=null: give a name"]),
    ("train.py", ["callbacks.pictures.name=[x]"], ["callbacks.pictures.name=['x']: give a name"]),
    ("train.py", ["+callbacks.checkpoint.save_last=3"], ["callbacks.checkpoint.save_last=3: give false"]),
    ("check.py", ["model=ngram_lm"], ["model=ngram_lm: this is trained by counting"]),
    ("train.py", ["-m", "--cfg", "job"], ["-m, --cfg and --info exclude each other"]),
    ("train.py", ["name=a(b"], ["name=a(b: the value cannot be read", "'name=\"a(b\"'"]),
    ("train.py", ["model.decoder_sise=7"], ["model.decoder_sise", "did you mean decoder_size?"]),
    ("train.py", ["trainer.max_stepz=7"], ["trainer.max_stepz", "did you mean max_steps?"]),
    ("train.py", ["model.decoder_size=wide"], ["model.decoder_size=wide", "whole number"]),
    ("train.py", ["model.encoder_layers=0"], ["model.encoder_layers=0", "whole number"]),
    ("train.py", ["model.embedding_dropout=1.5"], ["model.embedding_dropout=1.5"]),
    ("train.py", ["model=bahdanau", "model.decoder.cell=lsmt"], ["lsmt", "did you mean lstm?"]),
    ("train.py", ["objective.label_smoothing=1"], ["objective.label_smoothing=1"]),
    ("train.py", ["objective.monitor=val/blue"], ["objective.monitor=val/blue", "val/bleu"]),
    (
        "train.py",
        ["callbacks.early_stopping.monitor=val/blue"],
        ["early_stopping.monitor=val/blue", "did you mean val/bleu?"],
    ),
    ("train.py", ["callbacks.early_stopping.monitor=meritt"], ["did you mean merit?"]),
    ("train.py", ["callbacks.checkpoint.monitor=val/blue"], ["callbacks.checkpoint.monitor=val/blue", "val/bleu?"]),
    ("train.py", ["callbacks.kept.monitor=val/word_error_rate"], ["callbacks.kept.monitor=val/word", "data.symbols"]),
    ("train.py", ["callbacks.kept.monitor=train/loss"], ["callbacks.kept.monitor=train/loss is unknown"]),
    ("train.py", ["model=encoder_decoder", "objective.monitor=val/aer"], ["val/aer: this model has no attention"]),
    (
        "train.py",
        ["model=encoder_decoder", "search.coverage_penalty=0.2"],
        ["search.coverage_penalty: model=encoder_decoder has no attention that could cover a source: omit it"],
    ),
    ("train.py", ["callbacks.checkpoint.monitor=null"], ["callbacks.checkpoint.monitor=null", "give one of"]),
    ("train.py", ["objective=language_modeling"], ["objective=translation"]),
    ("train.py", ["model=rnn_lm", "objective=translation"], ["objective=language_modeling"]),
    ("train.py", ["optimizer.lr=-1"], ["optimizer.lr=-1"]),
    ("train.py", ["experiment=memory/bahdanu"], ["experiment=memory/bahdanu: ", "did you mean memory/bahdanau?"]),
    ("train.py", ["schedule=warm_up", "schedule.steps=0"], ["schedule.steps=0"]),
    ("train.py", ["schedule=linear_decay", "trainer.max_epochs=-1"], ["schedule.steps=..."]),
    (
        "train.py",
        ["schedule=linear_decay", "schedule.steps=9", "schedule.warm_up=9"],
        ["schedule.warm_up=9 must be less than schedule.steps=9"],
    ),
    ("train.py", ["search.beam_size=0"], ["search.beam_size=0"]),
    ("train.py", ["seed=one"], ["seed=one", "whole number"]),
    ("train.py", ["tokenizer.size=3"], ["size=3"]),
    ("train.py", ["trainer.precision=12"], ["Lightning", "12"]),
    ("train.py", ["trainer.precision=bf16-true"], ["trainer.precision=bf16-true", "use bf16-mixed"]),
    ("train.py", ["data.grammar.reordering=some"], ["reordering=some", "head_final"]),
    (
        "train.py",
        ["data=g2p", "experiment=g2p_quick", "data.root=.", "data.language=xyz"],
        ["no sweep.epochs.xyz", "give trainer"],
    ),
    ("train.py", ["nonsense"], ["nonsense"]),
    ("train.py", ["model.sise=3"], ["model.sise", "did you mean decoder_size, embedding_size or encoder_size?"]),
    ("train.py", ["model=encoder_decoder", "attention=gru_att"], ["attention", "model=cgru"]),
    ("train.py", ["model=rnn_lm", "attention=gru_att"], ["attention", "omit attention=..."]),
    ("train.py", ["+modle=cgru"], ["+modle: there is no such option; did you mean model?"]),
    ("train.py", ["+model.width=3"], ["+model.width: translator has no such option"]),
    (
        "train.py",
        ["experiment=memory/gru_att", "attention=general"],
        ["attention=general has no option size, which experiment=memory/gru_att sets: add ~attention.size"],
    ),
    ("train.py", ["+callbacks.mine=3"], ["callbacks.mine=3", "give its class, _target_"]),
    ("train.py", ["callbacks.early_stopping=null"], ["~callbacks.early_stopping"]),
    ("train.py", ["+callbacks.saving.seconds=3"], ["+callbacks.saving.seconds: SaveProgress has no such option"]),
    ("train.py", ["alignment=guide", "alignment.distance=squared_error"], ["choose with alignment/distance=..."]),
    ("train.py", ["alignment.source=auto"], ["alignment.source=auto", "add alignment=guide or alignment=replace"]),
    ("train.py", ["alignment.share=0.5"], ["alignment.share=0.5", "add alignment=guide or alignment=replace"]),
    ("train.py", ["search.length_normalization=null"], ["=null: choose with search/length_normalization=none"]),
    ("train.py", ["+data.max_lenght=50"], ["+data.max_lenght: there is no such option; did you mean max_length?"]),
    ("train.py", ["logger.wandb=null", "logger=wandb"], ["logger.wandb=null: omit it with ~logger.wandb"]),
    ("train.py", ["logger.wandb.mode=offlin", "logger=wandb"], ["mode=offlin: give auto, online, offline or disabled"]),
    ("train.py", ["logger.wandb.tags=null", "logger=wandb"], ["logger.wandb.tags=null: give a list of words"]),
    ("train.py", ["logger.wandb.tags=first", "logger=wandb"], ["logger.wandb.tags=first: give a list of words"]),
    (
        "train.py",
        ["trainer.val_check_interval=100000"],
        ["=100000: an epoch has only ", "_epoch=null, which"],
    ),
    ("train.py", ["trainer.limit_test_batches=0.1"], ["trainer.limit_test_batches=0.1: ", " batches, and this share"]),
    ("train.py", ["trainer.limit_train_batches=0.01"], ["trainer: Lightning says: ", "`limit_train_batches=0."]),
    ("train.py", ["data.max_tokens=many"], ["data.max_tokens=many", "whole number"]),
    ("train.py", ["hydra.run.dir=two.txt/run"], ["two.txt/run: Not a directory; give another path"]),
    ("train.py", ["hydra/launcher=jobli"], ["hydra/launcher=jobli", "did you mean joblib?"]),
    ("train.py", ["~attention"], ["~attention: choose attention=none instead"]),
    ("train.py", ["~callbacks"], ["~callbacks: keep it"]),
    ("train.py", ["~trainer"], ["~trainer: keep it"]),
    ("train.py", ["~trainer.precision"], ["~trainer.precision: keep it"]),
    ("train.py", ["~hydra.run.dir"], ["~hydra.run.dir: keep it"]),
    ("train.py", ["~objective.monitor"], ["~objective.monitor: keep it"]),
    ("train.py", ["~callbacks.saved"], ["~callbacks.saved: there is no such option"]),
    ("train.py", ["~callbacks.pictures=3"], ["~callbacks.pictures=3: its value is another"]),
    ("train.py", ["~hydra"], ["~hydra: there is no such choice"]),
    ("train.py", ["=3"], ["=3: options are name=value"]),
    ("train.py", ["seed=${env:SEED}"], ["seed=${env:SEED}: there is no resolver env; ${oc.env:NAME} reads a variable"]),
    ("train.py", ["attention.filters=3"], ["attention.filters: there is no such option here", "attention=location"]),
    ("translate.py", ["search.temperature=3"], ["search.temperature: ", "it belongs to search=sampling"]),
    ("train.py", ["logger=[]"], ["logger=[]: choose logger=csv instead"]),
    ("train.py", ["attention="], ["attention=: there is no such choice; there are bahdanau, "]),
    ("train.py", ["attention = dot"], ["write options without spaces: attention=dot"]),
    ("train.py", ["model.decoder_size=[1,2"], ["lists and groups are written 'model.decoder_size=[1,2]'"]),
    ("train.py", ["optimizer.lr=intervall(1,2)"], ["there is no function intervall; did you mean interval?"]),
    ("train.py", ["name=${a}.en"], ["name=${a}.en: there is no a that"]),
    ("train.py", [*GOOD, "data.train=[${a}.en,b]"], ["data.train=[${a}.en,b]: there is no a that ${a} could be"]),
    ("train.py", [*GOOD, "data.test=null"], ["data.test=None: give two files"]),
    ("train.py", ["resume=nowhere"], ["resume=nowhere: there is no nowhere/config.yaml"]),
    ("train.py", ["data.bleu_tokenize=foo"], ["bleu_tokenize=foo: sacreBLEU has no such tokenizer; give one of 13a, "]),
    (
        "train.py",
        [*GOOD, "alignment=guide", "alignment.source=auto", "data.train_alignment=two.talp"],
        ["data.train_alignment=two.talp: alignment.source=auto finds the links itself"],
    ),
    (
        "train.py",
        [*GOOD, "alignment=guide", "alignment.source=auto_pieces", "data.train_alignment=two.talp"],
        ["data.train_alignment=two.talp: alignment.source=auto_pieces finds the links itself"],
    ),
    (
        "train.py",
        [*TEXT, "data.stream_rows=3"],
        ["data.stream_rows=3: lines are read one by one: add data.stream=true"],
    ),
    ("train.py", ["attention=bahdanau,dot"], ["attention=bahdanau,dot: add -m to run all of them\n"]),
    ("train.py", ["logger=csv,wandb"], ["add -m to run all of them, or give a list: 'logger=[csv,wandb]'"]),
    ("train.py", ["attention=[bahdanau,dot]"], ["attention=[bahdanau,dot]: choose one: attention=bahdanau"]),
    (
        "train.py",
        ["sweep=optuna", "attention=foo", "model.decoder_size=choice(8,16)"],
        ["attention=foo: there is no such choice"],
    ),
    ("evaluate.py", ["run=run", "gold_base=1"], ["gold_base=1: only alignments=FILE gold=FILE read it; omit it"]),
    ("evaluate.py", ["run=run", "memory=zero", "pictures=2"], ["pictures=2: memory=", "omit it"]),
    ("evaluate.py", ["alignments=one.talp", "gold=one.talp", "formats=[pdf]"], ["formats=[pdf]: ", "omit it"]),
    ("compare.py", ["runs=run", "over=data.test", "sentences=3"], ["sentences=3: ", "over=... do not", "omit it"]),
    (
        "evaluate.py",
        ["alignments=one.talp", "gold=one.talp", "run=run"],
        ["run=run: ", "compares two files", "omit it"],
    ),
    ("rescore.py", ["nbest=list", "reference=two.txt", "output=nbest"], ["output=nbest: with reference=FILE"]),
    ("rescore.py", ["nbest=list.1"], ["list.1:1: sentence 1 comes first", "numbered from 0"]),
    ("evaluate.py", [], ["run=... is missing"]),
    ("evaluate.py", ["run=nowhere"], ["run=nowhere", "config.yaml"]),
    ("evaluate.py", ["alignments=one.talp"], ["gold=FILE"]),
    ("evaluate.py", ["alignments=one.talp", "gold=two.talp"], ["one.talp has 1", "two.talp has 2"]),
    ("evaluate.py", ["alignments=two.talp", "gold=bad.talp"], ["bad.talp:2", "1x1"]),
    ("evaluate.py", ["alignments=two.talp", "gold=two.talp", "gold_base=1"], ["two.talp:1", "0-0"]),
    ("evaluate.py", ["run=.", "formats=[png,bmp]"], ["formats=[png,bmp]", "png, pdf"]),
    ("look.py", [], ["runs=... is missing"]),
    ("look.py", ["runs=[]"], ["runs=[]", "at least one"]),
    ("look.py", ["runs=nowhere"], ["runs=nowhere: there is no such folder"]),
    ("look.py", ["runs=."], ["runs=.", "attention.jsonl", "callbacks.attention_record"]),
    ("look.py", ["runs=.", "output=."], ["output=.", "folder"]),
    ("translate.py", [], ["run=... is missing"]),
    ("translate.py", ["run=."], ["config.yaml"]),
    ("translate.py", ["run=[]"], ["run=[]", "at least one"]),
    ("translate.py", ["run=.", "search=sampling", "search.temperature=0"], ["config.yaml"]),
    ("translate.py", ["run=.", "nbest=0"], ["nbest=0"]),
    ("translate.py", ["run=.", "longer=cut"], ["longer=cut", "truncate"]),
    ("score.py", ["run=.", "source=one.talp"], ["target=FILE"]),
    ("score.py", ["run=."], ["config.yaml"]),
    ("score.py", ["run=.", "source=one.talp", "target=two.talp"], ["one.talp has 1", "two.talp has 2"]),
    ("score.py", ["run=.", "source=one.talp", "target=one.talp", "detail=all"], ["detail=all", "tokens"]),
    (
        "score.py",
        ["run=.", "source=two.txt", "target=two.txt", "alignments=two.txt"],
        ["alignments=two.txt and so"],
    ),
    ("translate.py", ["run=.", "alignments=out", "weights=out"], ["alignments=out and weights=out are the same file"]),
    ("sample.py", ["run=."], ["config.yaml"]),
    ("sample.py", ["run=.", "number=0"], ["number=0"]),
    ("translate.py", ["run=.", "search=bean"], ["did you mean beam?"]),
]


@pytest.fixture
def texts(tmp_path):
    for name, content in TEXTS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(("script", "arguments", "said"), MISTAKES, ids=lambda value: " ".join(value[-1:]))
def test_a_mistake_ends_with_one_line_and_status_2(script, arguments, said, texts):
    more = ["logger=csv", "hydra.run.dir=run", "tokenizer=word"] if script == "train.py" else []
    small = TINY if script == "train.py" and not any(word.startswith("data=") for word in arguments) else []
    done = call_script(script, *more, *small, *arguments, cwd=texts)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{script}: ")
    assert [words for words in said if words not in f"{line}\n"] == []


def test_a_mistake_from_the_shell_ends_the_same(texts):
    script, arguments, said = MISTAKES[4]
    done = run_script(script, "logger=csv", "hydra.run.dir=run", *arguments, cwd=texts, status=2)
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if not line[:2].isdigit()]  # the log begins with the time
    assert all(words in line for words in said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["model=bahdanau", "model.decoder.cell=lsmt"], "did you mean lstm?"),
        (["model=encoder_decoder", "attention=gru_att"], "model=cgru"),
        (["objective=language_modeling"], "objective=translation"),
        (["model=rnn_lm", "alignment=guide"], "no attention to align"),
        (
            ["model=encoder_decoder", "attention=none", "alignment=guide", "alignment.source=auto"],
            "give alignment=none",
        ),
        (["model=encoder_decoder", "attention=none", "objective.doubly_stochastic=1"], "doubly_stochastic=0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_do_not_fit_are_told_before_text_is_prepared(options, said, texts):
    done = call_script("train.py", *GOOD, *options, "logger=csv", "hydra.run.dir=run", cwd=texts)
    assert done.status == 2
    assert said in done.stderr
    assert not (texts / "cache" / "tokenizers").exists()


@pytest.mark.parametrize("options", [["seed=x"], ["optimizer=none"], ["data=parallel_text"]], ids=" ".join)
def test_a_training_that_is_refused_leaves_no_folder(options, texts):
    call_script("train.py", *options, "logger=csv", "hydra.run.dir=runs/run", cwd=texts)
    assert not (texts / "runs").exists()
    (texts / "runs").mkdir()
    (texts / "runs" / "mine.txt").write_text("kept")
    call_script("train.py", *options, "logger=csv", "hydra.run.dir=runs", cwd=texts)
    assert (texts / "runs" / "mine.txt").exists()
