"""Small generators by hand, a few of their sentences, and searches by plain loops to compare with."""

import itertools
import math
from types import SimpleNamespace

import torch

PAD, BOS, EOS = 0, 1, 2


class Chain:
    """A word depends on the sentence, its place and the word before. The state remembers the whole prefix.

    ``log_probs (B, T, V, V)``: sentence, place, previous word, next word.
    """

    def __init__(self, log_probs):
        self.log_probs = log_probs
        self.rows = []

    @classmethod
    def random(cls, sentences, places, vocabulary, seed, spread=1.5, eos_bonus=0.0):
        random = torch.Generator().manual_seed(seed)
        logits = spread * torch.randn(sentences, places, vocabulary, vocabulary, generator=random)
        logits[..., EOS] += eos_bonus
        return cls(logits.log_softmax(dim=-1))

    def batch(self, *sentences):
        sentences = sentences or range(len(self.log_probs))
        return SimpleNamespace(sentences=torch.tensor(list(sentences)))

    def start(self, batch):
        count = len(batch.sentences)
        prefix = torch.zeros(count, self.log_probs.shape[1] + 1, dtype=torch.int64)
        return (batch.sentences, ((), prefix), torch.zeros(count, dtype=torch.int64))

    def step(self, tokens, state):
        sentence, ((), prefix), place = state
        self.rows.append(len(tokens))
        prefix = prefix.scatter(1, place.unsqueeze(1), tokens.unsqueeze(1))
        return self.log_probs[sentence, place, tokens], (sentence, ((), prefix), place + 1)


class Watched(Chain):
    """A chain whose words depend on all words before, as the state remembers them: a mixed up state shows at once."""

    def step(self, tokens, state):
        log_probs, state = super().step(tokens, state)
        sentence, (_, prefix), place = state
        vocabulary = log_probs.shape[1]
        powers = 1 + torch.arange(prefix.shape[1])
        memory = (prefix * powers).sum(dim=1) % vocabulary
        return self.log_probs[sentence, place - 1, memory], state


def log_probability(generator, sentence, tokens):
    """Of ``tokens``, one step after the other with the generator alone."""
    state = generator.start(generator.batch(sentence))
    total = torch.zeros(())
    for before, word in zip([BOS, *tokens], tokens):
        log_probs, state = generator.step(torch.tensor([before]), state)
        total = total + log_probs[0, word]
    return float(total)


def every_finished(generator, sentence, max_length, score):
    """(score, words without </s>) of every sequence of at most ``max_length`` words that ends in </s>, best first."""
    vocabulary = generator.log_probs.shape[-1]
    words = [word for word in range(vocabulary) if word not in (PAD, BOS, EOS)]
    found = []
    for length in range(max_length):
        for sequence in itertools.product(words, repeat=length):
            log_p = log_probability(generator, sentence, [*sequence, EOS])
            if math.isfinite(log_p):
                found.append((float(score(torch.tensor(log_p), torch.tensor(length + 1))), list(sequence)))
    return sorted(found, key=lambda pair: -pair[0])


def greedy_by_hand(generator, sentence, max_length):
    """The likeliest word again and again."""
    state, word, tokens = generator.start(generator.batch(sentence)), BOS, []
    while len(tokens) < max_length:
        log_probs, state = generator.step(torch.tensor([word]), state)
        choices = [candidate for candidate in range(log_probs.shape[1]) if candidate not in (PAD, BOS)]
        word = max(choices, key=lambda candidate: float(log_probs[0, candidate]))
        if word == EOS:
            return tokens, True
        tokens.append(word)
    return tokens, False
