"""What help prints: every option of a command, found by its name."""

import pytest

from unrolled.configuration.help import chosen, every_option, has_options, screen
from unrolled.errors import UserError


def test_the_screen_of_a_command_has_what_it_does_and_its_own_options():
    shown = screen("translate", "Translate lines.\n\nUsage: translate.py run=RUN\n\nExamples: a line")
    assert shown.startswith("Translate lines.\n")
    for option in ("nbest", "max_length", "precision"):
        assert option in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_parts_of_a_name_choose_options_and_a_wrong_one_is_refused_with_the_nearest():
    some = every_option("translate", [], ["beam"])
    assert "search.beam_size" in some
    assert "max_length" not in some
    with pytest.raises(UserError, match=r"baem_size.*beam_size"):
        every_option("translate", [], ["search.baem_size"])


def test_options_follow_what_is_chosen():
    assert "search.beam_size" not in every_option("translate", ["search=greedy"])


def test_a_folder_of_ones_own_configurations_counts_as_chosen():
    assert chosen(["search=greedy", "--config-dir", "mine"]) == ["search=greedy", "hydra.searchpath=[mine]"]


def test_commands_without_options_are_told_apart():
    assert has_options("translate")
    assert not has_options("no_such_command")
