"""Tables for a terminal."""

from unrolled.text.table import table


def test_bold_cells_do_not_shift_a_column():
    rows = [["a", "xx"], ["bbb", "y"]]
    assert table(rows, bold={(1, 1), (1, 0)}).replace("\x1b[1m", "").replace("\x1b[0m", "") == table(rows)
    assert "\x1b[1mbbb\x1b[0m" in table(rows, bold={(1, 0)})
