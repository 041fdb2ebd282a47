"""A run begins once, in the first process, when training is about to start."""

from types import SimpleNamespace

import pytest

from unrolled.training.callbacks.beginning import Beginning


@pytest.mark.parametrize("first", [True, False])
def test_it_begins_once_and_only_in_the_first_process(first):
    begun = []
    beginning, trainer = Beginning(lambda: begun.append(beginning.passed)), SimpleNamespace(is_global_zero=first)
    assert not beginning.passed
    beginning.on_train_batch_start(trainer, None, None, 0)
    assert beginning.passed
    beginning.pass_by(trainer)
    assert begun == ([False] if first else [])


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_a_beginning_that_is_interrupted_is_finished_first(end):
    begun = []

    def begin():
        begun.append(True)
        if len(begun) == 1:
            raise end

    beginning = Beginning(begin)
    with pytest.raises(end):
        beginning.on_train_batch_start(SimpleNamespace(is_global_zero=True), None, None, 0)
    assert begun == [True, True]
    assert beginning.passed


def test_a_beginning_that_fails_is_none():
    def fail():
        raise OSError("no space left")

    beginning = Beginning(fail)
    with pytest.raises(OSError, match="no space left"):
        beginning.on_train_batch_start(SimpleNamespace(is_global_zero=True), None, None, 0)
    assert not beginning.passed
