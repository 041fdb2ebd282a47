"""check.py: one line a promise, and status 1 with the smallest case where one is broken."""

import shutil

import pytest
from support.scripts import TESTS, call_script
from support.transcripts import commands, same

FEW = ["cost=false", "model.embedding_size=8", "model.encoder_size=6", "model.decoder_size=12"]


@pytest.mark.slow
def test_ours_keeps_all_promises_and_costs_something(tmp_path):
    done = call_script("check.py", "attention=gru_att", cwd=tmp_path)
    assert (done.status, done.stderr) == (0, "")
    ((typed, printed),) = commands("check.md")
    assert typed == "python src/check.py attention=gru_att"
    assert same(printed, done.stdout), done.stdout
    *promises, time, memory = done.stdout.splitlines()
    assert len(promises) == 20
    assert float(time.removeprefix("time of a training step").split()[0]) > 0
    # the memory of 20 steps, which Bahdanau's attention does not have
    assert float(memory.removeprefix("memory kept for its gradients").split()[0]) > 1.2


@pytest.mark.slow
def test_a_wrong_one_in_a_folder_is_caught(tmp_path, monkeypatch):
    (tmp_path / "mine" / "attention").mkdir(parents=True)
    node = "_target_: wrong_attention.WrongAxis\n_partial_: true\nsize: 64\n"
    (tmp_path / "mine" / "attention" / "wrong.yaml").write_text(node, encoding="utf-8")
    shutil.copy(TESTS / "support" / "wrong_parts.py", tmp_path / "wrong_attention.py")
    monkeypatch.syspath_prepend(tmp_path)
    done = call_script("check.py", "--config-dir", "mine", "attention=wrong", *FEW, cwd=tmp_path)
    assert (done.status, done.stderr) == (1, "")
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        "weights sum to one                       BROKEN source of 2 words, 1 step: the weights of step"
    )


@pytest.mark.parametrize(
    ("option", "says"), [("sizee: 3", "has no option sizee: remove it"), ("", "needs size: add it")]
)
def test_a_mistake_in_ones_own_yaml_is_one_line(option, says, tmp_path, monkeypatch):
    (tmp_path / "mine" / "attention").mkdir(parents=True)
    node = f"_target_: wrong_yaml.Plain\n_partial_: true\n{option and f'size: 3{chr(10)}'}{option}\n"
    (tmp_path / "mine" / "attention" / "wrong.yaml").write_text(node, encoding="utf-8")
    shutil.copy(TESTS / "support" / "wrong_parts.py", tmp_path / "wrong_yaml.py")
    monkeypatch.syspath_prepend(tmp_path)
    done = call_script("check.py", "--config-dir", "mine", "attention=wrong", *FEW, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"mine/attention/wrong.yaml: GRUAttention {says}" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["attention=gru_at"], "attention=gru_at: there is no such choice; did you mean gru_att?"),
        (["model=rnn_lm", "attention=gru_att"], "omit attention=..."),
        (["attention=bahdanau", "attention._partial_=false"], "attention"),
    ],
)
def test_a_mistake_is_one_line(options, says, tmp_path):
    done = call_script("check.py", *options, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert says in line
