"""What options mean is read from the comments of conf/."""

import pytest
from support.conf import CONF, choices

from unrolled.configuration.meanings import meanings, read_comments

pytestmark = pytest.mark.usefixtures("conf_read_once")


FILE = """\
# @package _global_
# What it is: a test
#   python src/train.py debug=it
# in two lines
defaults:
  - first: one # the first
  - override /second@_here_: two # the second
  - _self_

_target_: a.b
plain: 1 # a number
quoted: "a # b" # text with a sign
several: [1,
  2] # two lines
none:  # nothing
section: # of two
  # above it
  inner: true
  silent: ${plain}
  # not above
  other: 3 # beside it
last: null
"""


def test_comments_are_read_where_they_are():
    read = read_comments(FILE)
    assert read.head == "What it is: a test in two lines"
    assert read.groups == {"first": "the first", "/second": "the second"}
    assert read.options == {
        "plain": "a number",
        "quoted": "text with a sign",
        "several": "two lines",
        "none": "nothing",
        "section": "of two",
        "section.inner": "above it",
        "section.other": "beside it",
    }


def found(command, *overrides):
    return {option.name: option for option in meanings(command, overrides).every}


def test_an_option_has_the_meaning_from_its_file_and_the_value_that_is_chosen():
    options = found("train", "model=cgru", "attention=gru_att", "model.decoder_size=7")
    assert options["attention.size"][1:] == ("64", "of the attention memory of each source position")
    assert options["model.decoder_size"][1:] == ("7", "state of the decoder")  # from conf/model/base
    assert options["trainer.max_epochs"].value == "3"  # which is ${data.epochs}
    assert options["callbacks.memory"].value is None
    assert not {"data.module.cache", "choices.model", "choices", "overrides", "run_folder"} & set(options)


def test_who_changes_an_option_may_say_why():
    said = found("train", "experiment=wikitext2", "model=rnn_lm")["optimizer.lr"]
    assert said == ("optimizer.lr", "20", "learning rate; tune this first (here: lstm; 10 for gru)")


def test_the_groups_are_those_of_the_command():
    groups = [choice.group for choice in meanings("score", ()).choices]
    assert groups == ["ensemble", "detail"]
    search = {choice.group: choice for choice in meanings("translate", ("search=greedy",)).choices}["search"]
    assert search.chosen == "greedy"
    assert search.offered == choices("search")
    assert search.meaning == "The most likely word at every step"
    hardware = next(choice for choice in meanings("train", ()).choices if choice.group == "hardware")
    assert hardware.section == "trainer"


def test_a_group_that_is_chosen_twice_is_described_twice():
    groups = {choice.group: choice for choice in meanings("train", ()).choices}
    first, second = groups["search/shortlist"], groups["search/shortlist@validation_search.shortlist"]
    assert second[1:5] == first[1:5]
    assert second.offered == ["lexical", "none"]
    assert second.purpose
    assert second.meaning
    assert (first.section, second.section) == ("search", "validation_search")


EVERY = [(file.stem,) for file in sorted(CONF.glob("*.yaml"))]
EVERY += [("train", f"model={model}") for model in choices("model") if model != "cgru"]
EVERY += [("train", "hardware=multi_node", "alignment=replace", "logger=csv", "callbacks=gradient_norms")]
EVERY += [("train", "sweep=optuna", "hydra/launcher=slurm", "data=wikitext2", "schedule=warm_up")]


@pytest.mark.parametrize("chosen", EVERY, ids=" ".join)
def test_every_option_has_a_meaning(chosen):
    command, *overrides = chosen
    every = meanings(command, overrides).every
    assert [option.name for option in every if not option.meaning] == []
    assert every or not overrides
