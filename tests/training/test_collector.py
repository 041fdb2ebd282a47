"""The garbage collector of a command's process, which pytest's own is not touched for."""

import gc
from types import SimpleNamespace

import pytest

from unrolled.training import collector
from unrolled.training.collector import overlook_imports, rest, wake


@pytest.fixture
def python(monkeypatch):
    """A process that begins, as far as the collector goes."""
    state = SimpleNamespace(threshold=(700, 10, 10), frozen=0, at_exit=[])
    fake = SimpleNamespace(
        isenabled=lambda: True,
        get_threshold=lambda: state.threshold,
        set_threshold=lambda *threshold: setattr(state, "threshold", threshold),
        get_freeze_count=lambda: state.frozen,
        freeze=lambda: setattr(state, "frozen", state.frozen + 1),
    )
    monkeypatch.setattr(collector, "gc", fake)
    monkeypatch.setattr(collector, "atexit", SimpleNamespace(register=state.at_exit.append))
    for name, value in (("_usual", None), ("_asked", False), ("_overlooked", False)):
        monkeypatch.setattr(collector, name, value)
    return state


def test_it_rests_while_a_command_starts_and_when_it_ends(python):
    rest()
    assert python.threshold[0] > 700
    for _ in range(2):  # jobs of a sweep
        wake()
        assert python.threshold == (700, 10, 10)
    rest()  # which is of the start alone
    assert python.threshold == (700, 10, 10)
    assert python.frozen == 0  # a job's model would stay to the end
    for freeze in python.at_exit:
        freeze()
    assert python.frozen == 1


def test_imports_are_overlooked_once_before_the_first_model(python):
    rest()
    for _ in range(2):  # jobs of a sweep: what the second freezes, the first may have left as garbage
        overlook_imports()
        assert python.frozen == 1
        wake()


def test_a_program_that_calls_us_keeps_its_collector(python):
    overlook_imports()
    wake()
    assert (python.threshold, python.frozen, python.at_exit) == ((700, 10, 10), 0, [])
    python.frozen = 5  # as pytest's
    rest()
    assert (python.threshold, python.frozen, python.at_exit) == ((700, 10, 10), 5, [])


def test_these_tests_are_such_a_program():
    before = gc.get_threshold()
    rest()
    wake()
    assert gc.get_threshold() == before
