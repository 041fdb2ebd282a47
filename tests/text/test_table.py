"""Tables for a terminal."""

from unrolled.text.table import table


def test_bold_cells_do_not_shift_a_column():
    rows = [["a", "xx"], ["bbb", "y"]]
    assert table(rows, bold={(1, 1), (1, 0)}).replace("\x1b[1m", "").replace("\x1b[0m", "") == table(rows)
    assert "\x1b[1mbbb\x1b[0m" in table(rows, bold={(1, 0)})


def test_names_in_a_strangers_run_do_not_reach_the_terminal_as_its_codes():
    shown = table([["model", "runs"], ["a\x1b[2J\nb", "3"]])
    assert shown == "model        runs\na\\x1b[2J\\nb     3\n"
