"""options.py as a user runs it: every option of a command, or those with a word in their name."""

import re

from support.scripts import call_script


def test_help_with_choices_lists_every_option_of_them(tmp_path):
    choices = ["model=rnn_lm", "model.layers=3", "sweep.dir=sweep", "hydra.run.dir=run"]
    listed = call_script("train.py", "--help", *choices, cwd=tmp_path).stdout
    assert listed == call_script("options.py", *choices, cwd=tmp_path).stdout
    assert re.search(r"^  model.layers=3 +one above the other$", listed, re.MULTILINE)
    assert re.search(r"^model=rnn_lm +h_t = f", listed, re.MULTILINE)
    assert "model.encoder_size" not in listed
    assert re.search(r"^hardware=auto .*\n(?: {38}.*\n)?  trainer.max_epochs=3 ", listed, re.MULTILINE)
    names = [line for line in listed.splitlines() if not line.startswith(" " * 38)]
    assert all(len(line) <= 100 for line in listed.splitlines() if line not in names)


def test_options_of_another_command_and_those_with_a_word_in_their_name(tmp_path):
    listed = call_script("options.py", "translate", "search=greedy", "length", cwd=tmp_path).stdout
    names = re.findall(r"^  ([\w.]+)=", listed, re.MULTILINE)
    assert names == ["max_length", "search.max_length_ratio", "search.max_length_extra", "search.min_length_ratio"]
    done = call_script("options.py", "translate", "lenght", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("options.py: lenght: translate has no option with this in its name; did you mean")


def test_a_word_like_no_option_is_not_answered_with_all_of_them(tmp_path):
    done = call_script("options.py", "qqq", cwd=tmp_path)
    said = "options.py: qqq: train has no option with this in its name; python src/options.py train lists them all\n"
    assert (done.status, done.stderr) == (2, said)


def test_options_are_those_of_train_py_where_no_command_is_named(tmp_path):
    named, unnamed = (call_script("options.py", *command, "beam", cwd=tmp_path) for command in (["train"], []))
    assert (named.status, named.stdout) == (unnamed.status, unnamed.stdout)
    assert re.findall(r"^  ([\w.]+)=", named.stdout, re.MULTILINE) == ["search.beam_size"]
