"""Does a vector tell a yes from a no? Logistic regression, and the area under the ROC curve of its scores.

Letters: N examples, X features.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

RIDGE = 1e-4
"""The penalty on squared weights of standardised features, against the mean log-likelihood; it ensures one maximum."""
STEPS, SMALL = 50, 1e-8
"""Newton's method ends after this many steps, or when no weight moves more than this."""


@dataclass(frozen=True)
class LinearProbe:
    """log p(yes | x) / p(no | x) = bias + w^T (x - mean) / deviation."""

    mean: Numbers
    deviation: Numbers
    weights: Numbers
    bias: float

    def scores(self, features: npt.ArrayLike) -> Numbers:
        """``(N, X)`` -> the logarithm of the odds ``(N,)``."""
        odds: Numbers = (np.asarray(features, np.float64) - self.mean) / self.deviation @ self.weights + self.bias
        return odds


def fit(features: npt.ArrayLike, labels: npt.ArrayLike) -> LinearProbe:
    """The most likely probe for ``features (N, X)`` and bool ``labels (N,)``, with a penalty of `RIDGE` / 2 |w|^2."""
    x, y = np.asarray(features, np.float64), np.asarray(labels, np.float64)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)  # a constant feature says nothing
    x = np.column_stack([(x - mean) / deviation, np.ones(len(x))])
    penalty = np.full(x.shape[1], RIDGE)
    penalty[-1] = 1e-12  # the bias is free
    w = np.zeros(x.shape[1])
    for _ in range(STEPS):
        # gradient = X^T (y - p) / N - RIDGE w, Hessian = -X^T diag(p (1 - p)) X / N - RIDGE
        p = _sigma(x @ w)
        gradient = x.T @ (y - p) / len(x) - penalty * w
        curvature = (x.T * (p * (1 - p))) @ x / len(x) + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        while _objective(x, y, w + step, penalty) < _objective(x, y, w, penalty) and np.abs(step).max() > SMALL:
            step = step / 2  # too far: the maximum lies between
        w = w + step
        if np.abs(step).max() <= SMALL:
            break
    return LinearProbe(mean, deviation, w[:-1], float(w[-1]))


def _objective(x: Numbers, y: Numbers, w: Numbers, penalty: Numbers) -> float:
    # log p(y | x) = y o - log(1 + exp o)
    odds = x @ w
    return float((y * odds - np.logaddexp(0, odds)).mean() - (penalty * w * w).sum() / 2)


def _sigma(x: Numbers) -> Numbers:
    sigma: Numbers = np.exp(-np.logaddexp(0, -x))
    return sigma


def area_under_curve(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The probability that a random yes scores higher than a random no, ties counted half; NaN without one of them.

    Mann & Whitney 1947: (sum of the ranks of yes - n (n + 1) / 2) / (n m), n of yes and m of no.
    """
    yes = np.asarray(labels, bool)
    n, m = int(yes.sum()), int((~yes).sum())
    if not n or not m:
        return float("nan")
    _, place, counts = np.unique(np.asarray(scores, np.float64), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # the mean rank of equal scores
    return float((ranks[yes].sum() - n * (n + 1) / 2) / (n * m))
