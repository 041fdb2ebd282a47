"""The promise of language models: a text may be read in parts, with the state handed on from one to the next."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from unrolled.conformance.cases import check_same, stepwise, weigher, words
from unrolled.conformance.subject import TARGET_WORDS, Broken, NothingToTry, Subject, language_model_of
from unrolled.models.language_model import NeuralLanguageModel
from unrolled.models.state import tensors_of
from unrolled.models.translator import Translator
from unrolled.text.tokens import EOS, PAD

TEXTS = [(1, (1, 1)), (1, (1, 2)), (1, (3, 1)), (2, (3, 2)), (2, (2, 4, 1))]
"""Numbers of texts, and of words in each part of them."""


def a_text_is_the_same_in_parts(subject: Subject) -> None:
    """``forward`` gives a text the same at once and in parts; ``word_log_probs`` are those of ``step``."""
    model = subject.build(seed=27)
    if isinstance(model, Translator):
        raise NothingToTry("a translator hands no state from text to text")
    language_model = language_model_of(model)
    for texts, parts in TEXTS:
        forward_in_parts(language_model, texts, parts)
        _words_in_parts(language_model, texts, parts)


def forward_in_parts(model: NeuralLanguageModel, texts: int, parts: tuple[int, ...]) -> None:
    """Hidden vectors, the last state and all gradients."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    tokens, where = _text(texts, sum(parts)), _said(texts, parts)
    whole, last = model(tokens, model.zero_state(texts))
    state, vectors = model.zero_state(texts), []
    for chunk in tokens.split(parts, dim=1):
        hidden, state = model(chunk, state)
        vectors.append(hidden)
    in_parts = torch.cat(vectors, dim=1)
    check_same("hidden vectors, at once and in parts,", in_parts, whole, where)
    _check_same_state("last states, at once and in parts,", state, last, where)
    gradients = [
        torch.autograd.grad(_loss(hidden, after), parameters, allow_unused=True, materialize_grads=True)
        for hidden, after in ((whole, last), (in_parts, state))
    ]
    for name, one, other in zip(names, *gradients, strict=True):
        check_same(f"gradients of {name}, at once and in parts,", one, other, where)


@torch.inference_mode()
def _words_in_parts(model: NeuralLanguageModel, texts: int, parts: tuple[int, ...]) -> None:
    """The last of several texts is padded by a word, which has 0."""
    where = _said(texts, parts)
    tokens = _text(texts, sum(parts) + 1)
    if texts > 1:
        tokens[-1, -1] = PAD
    read, predicted = tokens[:, :-1], tokens[:, 1:]
    log_probs, last = stepwise(model, read, model.zero_state(texts))
    expected = log_probs.gather(2, predicted.unsqueeze(2)).squeeze(2).masked_fill(predicted == PAD, 0.0)
    state, of_words = model.zero_state(texts), []
    for before, after in zip(read.split(parts, dim=1), predicted.split(parts, dim=1), strict=True):
        batch: Any = SimpleNamespace(target_in=before, target_out=after, target_out_valid=after != PAD)
        of_part, state = model.word_log_probs(batch, state)
        of_words.append(of_part)
    check_same("log-probabilities, by word_log_probs and by step,", torch.cat(of_words, dim=1), expected, where)
    _check_same_state("last states, of word_log_probs and of step,", state, last, where)


def _text(texts: int, length: int) -> Tensor:
    """Words ``(texts, length)``; in the middle of the first text, a sentence ends."""
    tokens = torch.tensor(words([length] * texts, TARGET_WORDS))
    tokens[0, (length - 1) // 2] = EOS
    return tokens


def _loss(hidden: Tensor, state: Any) -> Tensor:
    vectors = [hidden, *(tensor for tensor in tensors_of(state) if tensor.requires_grad)]
    return torch.stack([weigher(tensor)(tensor) for tensor in vectors]).sum()


def _check_same_state(what: str, one: Any, other: Any, where: str) -> None:
    pair = list(tensors_of(one)), list(tensors_of(other))
    if len(pair[0]) != len(pair[1]):
        raise Broken(f"{where}: {what} are {len(pair[0])} and {len(pair[1])} tensors")
    for tensor, wanted in zip(*pair, strict=True):
        check_same(what, tensor, wanted, where)


def _said(texts: int, parts: tuple[int, ...]) -> str:
    """Such as "2 texts of 5 words, read as 3 + 2"."""
    return f"{texts} text{'s' if texts > 1 else ''} of {sum(parts)} words, read as {' + '.join(map(str, parts))}"
