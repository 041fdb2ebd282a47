"""The equations of every estimator in plain Python, one probability at a time, from dictionaries of counts.

A context is a tuple of words; 1 is <s>, 2 is </s>. Nothing here is shared with the package.
"""

import functools
from collections import Counter, defaultdict

BOS, EOS = 1, 2


class Reference:
    def __init__(self, sentences, order, vocabulary):
        self.order = order
        self.words = range(2, vocabulary)
        self.count = Counter()
        for sentence in sentences:
            line = (BOS, *sentence, EOS)
            for length in range(1, order + 1):
                self.count.update(line[start : start + length] for start in range(len(line) - length + 1))
        del self.count[(BOS,)]  # never predicted
        self.following = self.followers(self.count)

    @staticmethod
    def followers(counts):
        following = defaultdict(dict)
        for gram, count in counts.items():
            following[gram[:-1]][gram[-1]] = count
        return following

    def context(self, before):
        """The words that count, of <s> and all words before."""
        return tuple(before[-(self.order - 1) :]) if self.order > 1 else ()

    @functools.cache  # noqa: B019
    def of_length(self, length, adjusted=False):
        counts = self.adjusted if adjusted else self.count
        return Counter(count for gram, count in counts.items() if len(gram) == length)

    @functools.cache  # noqa: B019
    def p(self, word, context):
        """p(word | context)."""
        return self.probability(word, context)

    def distribution(self, before):
        return {word: self.p(word, self.context((BOS, *before))) for word in self.words}


class MaximumLikelihood(Reference):
    def probability(self, word, context):
        seen = self.following.get(context)
        if not seen:
            return self.p(word, context[1:])
        return seen.get(word, 0) / sum(seen.values())


class AddAlpha(Reference):
    def __init__(self, *arguments, alpha):
        super().__init__(*arguments)
        self.alpha = alpha

    def probability(self, word, context):
        seen = self.following.get(context, {})
        return (seen.get(word, 0) + self.alpha) / (sum(seen.values()) + self.alpha * len(self.words))


class BackOff(Reference):
    def probability(self, word, context):
        seen = self.following.get(context)
        if not seen:
            return self.p_below(word, context)
        if len(seen) == len(self.words):
            return seen[word] / sum(seen.values())
        kept = {w: count - self.discount(count, len(context) + 1) for w, count in seen.items()}
        total = sum(seen.values())
        if sum(kept.values()) == total:
            total += 1
        if word in seen:
            return kept[word] / total
        left = 1 - sum(kept.values()) / total
        return left * self.p_below(word, context) / sum(self.p_below(w, context) for w in self.words if w not in seen)

    def p_below(self, word, context):
        return self.p(word, context[1:]) if context else 1 / len(self.words)


class Absolute(BackOff):
    def discount(self, count, length):
        numbers = self.of_length(length)
        if not (numbers[1] and numbers[2]):
            return 0.5
        return numbers[1] / (numbers[1] + 2 * numbers[2])


class Katz(BackOff):
    def discount(self, count, length):
        numbers = self.of_length(length)
        for most in (5, 4, 3, 2):
            if all(numbers[r] for r in range(1, most + 2)):
                a = (most + 1) * numbers[most + 1] / numbers[1]
                stars = {r: (r + 1) * numbers[r + 1] / numbers[r] for r in range(1, most + 1)}
                if a < 1 and all(0 < (star / r - a) / (1 - a) < 1 for r, star in stars.items()):
                    return count - count * (stars[count] / count - a) / (1 - a) if count <= most else 0
        return 0.5


class KneserNey(Reference):
    def __init__(self, *arguments, discounts=None):
        super().__init__(*arguments)
        before = defaultdict(set)
        for gram in self.count:
            before[gram[1:]].add(gram[0])
        whole = {gram: count for gram, count in self.count.items() if len(gram) == self.order or gram[0] == BOS}
        parts = {gram: len(before[gram]) for gram in self.count if gram not in whole}
        self.adjusted = whole | parts
        self.adjusted_following = self.followers(self.adjusted)
        self.given = discounts

    def discounts(self, length):
        n = self.of_length(length, adjusted=True)
        if self.given:
            return self.given
        if n[1] and n[2] and n[3]:
            y = n[1] / (n[1] + 2 * n[2])
            found = 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]
            if all(amount > 0 for amount in found):
                return found
        return 0.5, 1.0, 1.5

    def probability(self, word, context):
        below = self.p(word, context[1:]) if context else 1 / len(self.words)
        seen = self.adjusted_following.get(context)
        if not seen:
            return below
        d1, d2, d3 = self.discounts(len(context) + 1)
        amounts = {w: {1: d1, 2: d2}.get(count, d3) for w, count in seen.items()}
        total = sum(seen.values())
        return (seen.get(word, 0) - amounts.get(word, 0)) / total + sum(amounts.values()) / total * below
