"""IBM model 2 with a diagonal prior, word by word in dictionaries: the equations of Dyer, Chahuneau & Smith 2013.

A text is a list of (source words, target words). The null word is None. Positions i and j count from 1.
"""

import math
from collections import defaultdict


def h(i, j, m, n):
    return -abs(i / m - j / n)


def delta(j, i, m, n, tension, p0):
    """δ(a_i = j | i, m, n)"""
    if j == 0:
        return p0
    z = sum(math.exp(tension * h(i, other, m, n)) for other in range(1, n + 1))
    return (1 - p0) * math.exp(tension * h(i, j, m, n)) / z


def digamma(x):
    """ψ(x + 1) = ψ(x) + 1/x, and the asymptotic series for large x."""
    if x < 20:
        return digamma(x + 1) - 1 / x
    return math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) + 1 / (240 * x**8)


def both_sides(text):
    return [(source, target) for source, target in text if source and target]


class Reference:
    def __init__(self, text, *, p0, tension):
        self.text, self.p0, self.tension = text, p0, tension
        vocabulary = {word for _, target in text for word in target}
        self.t = defaultdict(lambda: 1 / len(vocabulary))  # (e, f) -> θ(e|f)
        self.vocabulary = vocabulary

    def joint(self, source, target, i):
        """p(e_i, a_i = j | f) of every j, the null word first."""
        n, m = len(source), len(target)
        return [
            self.t[target[i - 1], f] * delta(j, i, m, n, self.tension, self.p0) for j, f in enumerate([None, *source])
        ]

    def log_likelihood(self):
        return sum(
            math.log(sum(self.joint(source, target, i)))
            for source, target in both_sides(self.text)
            for i in range(1, len(target) + 1)
        )

    def step(self, *, alpha, optimize_tension):
        """One iteration of expectation maximisation."""
        counts = defaultdict(float)
        links = []  # (q, i, j, m, n) of every j > 0
        words = 0
        for e in self.vocabulary:
            counts[e, None] = 0.0
        for source, target in both_sides(self.text):
            n, m = len(source), len(target)
            for i in range(1, m + 1):
                joint = self.joint(source, target, i)
                words += 1
                for j, f in enumerate([None, *source]):
                    q = joint[j] / sum(joint)
                    counts[target[i - 1], f] += q
                    if j > 0:
                        links.append((q, i, j, m, n))
        given = defaultdict(list)
        for e, f in counts:
            given[f].append(e)
        new = {}
        for f, translations in given.items():
            total = sum(counts[e, f] + (alpha or 0) for e in translations)
            for e in translations:
                if alpha is None:
                    new[e, f] = counts[e, f] / total if total else 0.0
                else:
                    new[e, f] = math.exp(digamma(counts[e, f] + alpha) - digamma(total))
        self.t = new
        if optimize_tension:
            for _ in range(8):
                self.tension += 20 * self.slope(links) / words
                self.tension = min(14, max(0.1, self.tension))

    def slope(self, links):
        """d/dλ Σ q(a_i = j) log δ(a_i = j | i, m, n)"""
        slope = 0.0
        for q, i, j, m, n in links:
            expected = sum(delta(k, i, m, n, self.tension, 0.0) * h(i, k, m, n) for k in range(1, n + 1))
            slope += q * (h(i, j, m, n) - expected)
        return slope
