"""The table of interpolate.py against perplexities by hand."""

import math

import numpy as np

from unrolled.inference.interpolation import comparison


def test_each_model_s_perplexity_and_the_mixture_s():
    p = np.array([[0.5, 0.1], [0.1, 0.5]])
    weights = np.array([0.75, 0.25])
    shown = comparison(["one", "two"], {"val": np.log(p), "test": np.log(p[:, :1])}, weights)
    rows = [line.split() for line in shown.splitlines()]
    alone = f"{math.sqrt(1 / 0.05):.6g}"
    mixed = weights @ p
    assert rows == [
        ["weight", "val", "test"],
        ["one", "0.750000", alone, "2"],
        ["two", "0.250000", alone, "10"],
        ["mixture", f"{math.sqrt(1 / mixed.prod()):.6g}", f"{1 / mixed[0]:.6g}"],
    ]
