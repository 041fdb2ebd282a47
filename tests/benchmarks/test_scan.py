"""What SCAN's commands do, by the examples of its paper (Lake & Baroni 2018, figure 1), and their halves."""

import nacs
import pytest
import scan_halves
from nacs import carried_out
from scan_halves import halves

WALK_AROUND = "I_TURN_LEFT I_WALK " * 4


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("jump", "I_JUMP"),
        ("jump left", "I_TURN_LEFT I_JUMP"),
        ("turn left twice", "I_TURN_LEFT I_TURN_LEFT"),
        ("jump thrice", "I_JUMP I_JUMP I_JUMP"),
        ("jump opposite left after walk around left", f"{WALK_AROUND}I_TURN_LEFT I_TURN_LEFT I_JUMP"),
        ("jump twice and walk right", "I_JUMP I_JUMP I_TURN_RIGHT I_WALK"),
    ],
)
def test_commands_are_carried_out(command, actions):
    assert carried_out(command) == actions


@pytest.mark.parametrize(
    "words", ["", "turn", "jump around", "fly", "and", "jump and", "jump and walk after run", "jump left left"]
)
def test_what_is_no_command_does_nothing(words):
    assert carried_out(words) is None


def test_halves():
    assert halves("jump left after walk around right twice") == ["jump left", "walk around right twice"]


def test_right_translations_are_counted_by_halves_and_by_length(tmp_path, monkeypatch, capsys):
    data, run = tmp_path / "data", tmp_path / "run"
    (run / "translations").mkdir(parents=True)
    data.mkdir()
    commands = ["walk and jump", "jump after walk left", "jump twice"]
    actions = [carried_out(command) for command in commands]
    (data / "train.in").write_text("walk\njump\n")
    (data / "test.in").write_text("\n".join(commands))
    (data / "test.out").write_text("\n".join(actions))
    (run / "translations" / "test.txt").write_text("\n".join([actions[0], "I_TURN_LEFT", actions[2]]))
    monkeypatch.setattr("sys.argv", ["scan_halves.py", "--data", str(data), str(run)])
    scan_halves.main()
    head, _, row = capsys.readouterr().out.splitlines()
    assert head == "| run | halves known | others | stop early | 2 | 3 |"
    assert row == "| run | 1 of 1 | 1 of 2 | 1 | 100 | 0 |"


@pytest.mark.parametrize("program", [nacs, scan_halves])
def test_a_run_of_another_text_is_refused(program, tmp_path, monkeypatch):
    run = tmp_path / "run"
    (run / "translations").mkdir(parents=True)
    for path, text in {"train.in": "walk", "test.in": "walk\njump", "test.out": "I_WALK\nI_JUMP"}.items():
        (tmp_path / path).write_text(text)
    (run / "translations" / "test.txt").write_text("walk\n")
    monkeypatch.setattr("sys.argv", [program.__name__, "--data", str(tmp_path), str(run)])
    with pytest.raises(SystemExit, match="run has 1 translations, and --data 2 sentences: name a run of this text"):
        program.main()


def test_data_of_something_else_is_refused(tmp_path, monkeypatch):
    (tmp_path / "run" / "translations").mkdir(parents=True)
    for path in ("test.in", "test.out", "run/translations/test.txt"):
        (tmp_path / path).write_text("walk\n")
    monkeypatch.setattr("sys.argv", ["nacs.py", "--data", str(tmp_path), str(tmp_path / "run")])
    with pytest.raises(SystemExit, match="are not SCAN's commands and their actions"):
        nacs.main()
