"""A machine that only emulates a precision says so, once, with the one that suits it."""

import logging

import pytest
import torch

from unrolled.inference import precision
from unrolled.inference.precision import autocast, warn_if_emulated


@pytest.mark.parametrize(
    ("has", "asked", "lines"), [(False, "bf16-mixed", 1), (True, "bf16-mixed", 0), (False, "32-true", 0)]
)
def test_emulation_is_said_once(has, asked, lines, monkeypatch, caplog):
    monkeypatch.setattr(precision, "_has", lambda *_: has)
    warn_if_emulated.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            autocast(torch.device("cpu"), asked)
    warn_if_emulated.cache_clear()
    assert len(caplog.messages) == lines
    assert all("32-true" in line and "hardware=cpu" in line for line in caplog.messages)


def test_an_old_gpu_is_pointed_to_float16(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    warn_if_emulated.cache_clear()
    with caplog.at_level(logging.WARNING):
        warn_if_emulated("bf16-mixed", "cuda")
        warn_if_emulated("16-mixed", "cuda")
    warn_if_emulated.cache_clear()
    (line,) = caplog.messages
    assert "hardware=gpu_fp16" in line
