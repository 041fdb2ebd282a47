import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_models import SOURCE_WORDS, TARGET_WORDS, build, build_lm, words

from unrolled.data.batch import make_batch
from unrolled.data.continuous import StreamBatch, StreamLoader
from unrolled.data.store import TokenStore, write
from unrolled.errors import UserError
from unrolled.text.tokens import BOS, EOS
from unrolled.training.callbacks.gradient_norms import GradientNorms, excerpt, gradient_norms

BATCH = make_batch(None, words([7, 5, 2], TARGET_WORDS), range(3))


def one_by_one(model, batch, word_ends):
    """||dJ_{t+n}/dh_t|| of a tanh language model of one layer, by n: every sentence alone, every word a backward pass.

    h_t = tanh(W x_{t-1} + U h_{t-1} + b), J = -log softmax(R h_t + c)[x_t].
    """
    (cell,) = model.cells()
    found = {}
    for row, ends in enumerate(word_ends):
        for end in ends:
            h, states = torch.zeros(cell.hidden_size, dtype=torch.float64), []
            for word in batch.target_in[row, : end + 1]:
                x = model.embedding.weight[word]
                h = torch.tanh(cell.input.weight @ x + cell.recurrent.weight @ h + cell.input.bias)
                states.append(h)
            logits = model.output.weight @ h + model.output.bias
            loss = logits.logsumexp(0) - logits[batch.target_out[row, end]]
            for t, d in enumerate(torch.autograd.grad(loss, states)):
                found.setdefault(end - t, []).append(d.norm().item())
    return found


@pytest.mark.parametrize("count", [1, 3, 50])
def test_norms_are_those_of_one_sentence_and_one_word_at_a_time(count):
    """50 words: all of them, each once; 3: the ends of the thirds."""
    model = build_lm("tanh", layers=1)
    ends = {
        1: [[7], [5], [2]],
        3: [[2, 5, 7], [1, 3, 5], [0, 1, 2]],  # of 8, 6 and 3 words with </s>
        50: [range(8), range(6), range(3)],
    }[count]
    expected = one_by_one(model, BATCH, ends)
    found = gradient_norms(model, BATCH, words=count)
    assert [norm.n for norm in found] == list(range(8))
    for n, mean, pairs in found:
        assert pairs == len(expected[n])
        assert mean == pytest.approx(sum(expected[n]) / pairs, abs=1e-10)


def test_padding_changes_no_norm():
    """Together as alone."""
    model = build_lm("lstm")
    sums = {}
    for row in words([7, 5, 2], TARGET_WORDS):
        for n, mean, pairs in gradient_norms(model, make_batch(None, [row], [0]), words=4):
            sums.setdefault(n, []).append((mean * pairs, pairs))
    for n, mean, pairs in gradient_norms(model, BATCH, words=4):
        assert pairs == sum(number for _, number in sums[n])
        assert mean == pytest.approx(sum(total for total, _ in sums[n]) / pairs, abs=1e-10)


def test_small_norms_do_not_become_zero():
    """In float32 too: 1e-30 is a number there, its square is not."""
    model = build_lm("tanh", layers=1).float()
    with torch.no_grad():
        model.cells()[0].recurrent.weight.copy_(1e-5 * torch.eye(7))
    norms = {norm.n: norm.norm for norm in gradient_norms(model, BATCH, words=1)}
    assert 0 < norms[6] < 1e-29
    assert math.log10(norms[6] / norms[5]) == pytest.approx(-5, abs=1)


@settings(max_examples=20)
@given(radius=st.floats(0.05, 0.9), seed=st.integers(0, 99))
def test_norms_vanish_as_fast_as_the_bound_says(radius, seed):
    """||dJ_{t+n}/dh_t|| <= ||U||^n ||dJ_{t+n}/dh_{t+n}||, as tanh' <= 1: the lecture's observation (1)."""
    model = build_lm("tanh", seed=seed, layers=1)
    with torch.no_grad():
        u = model.cells()[0].recurrent.weight
        u.mul_(radius / torch.linalg.matrix_norm(u, ord=2))
    batch = make_batch(None, words([6], TARGET_WORDS, seed=seed), [0])
    first, *rest = gradient_norms(model, batch, words=1)
    assert all(norm.norm <= first.norm * radius**norm.n * (1 + 1e-9) for norm in rest)
    assert len(rest) == 6


def test_rnnsearch_has_nothing_at_distance_0_as_its_readout_sees_the_state_before():
    pairs = make_batch(words([5, 3], SOURCE_WORDS), words([4, 4], TARGET_WORDS), range(2))
    norms = {name: gradient_norms(build(name), pairs, words=5) for name in ("rnnsearch", "cgru")}
    assert norms["rnnsearch"][0].norm == 0
    assert all(norm.norm > 0 for norm in [*norms["rnnsearch"][1:], *norms["cgru"]])


def test_nothing_is_disturbed():
    model = build_lm("gru", dropout=0.5).train()
    model.output.eval()
    modes = [part.training for part in model.modules()]
    model.output.weight.grad = torch.ones_like(model.output.weight)
    random, weights = torch.get_rng_state(), [parameter.clone() for parameter in model.parameters()]
    first, second = (gradient_norms(model, BATCH, words=3) for _ in range(2))
    assert first == second
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), weights))
    assert bool((model.output.weight.grad == 1).all())
    assert model.embedding.weight.grad is None


def test_an_excerpt_is_of_long_sentences_cut_where_it_is_said():
    short, long = (make_batch(words(n, 17), words(n, 19, seed=2), range(3)) for n in ([2, 2, 1], [9, 8, 8]))
    found = excerpt([short, long, short], sentences=2, steps=5)
    assert torch.equal(found.target, long.target[:2, :6])
    assert torch.equal(found.source, long.source[:2])
    assert found.source_lengths.tolist() == [10, 9]
    assert found.target_lengths.tolist() == [6, 6]
    whole = excerpt([short, long], sentences=5, steps=50)
    assert torch.equal(whole.target, long.target)
    assert whole.target_lengths.tolist() == [11, 10, 10]


def test_a_row_that_is_alone_is_cut_into_several():
    text = make_batch(None, words([16], 19), [0])
    found = excerpt([text], sentences=9, steps=5)
    assert found.target_in.tolist() == text.target[:, :15].view(3, 5).tolist()
    assert found.target_out.tolist() == text.target[:, 1:16].view(3, 5).tolist()


def test_a_continuous_text_is_read_as_in_training(tmp_path):
    """<s> where a line begins, which was predicted as </s>."""
    write(tmp_path / "ids", [[5, 6], [7], [8, 9]], vocabulary_size=10)
    (text,) = StreamLoader(TokenStore.open(tmp_path / "ids"), rows=1, steps=9)
    pieces = excerpt([text], sentences=9, steps=4)
    assert pieces.target_in.tolist() == [[BOS, 5, 6, BOS], [7, BOS, 8, 9]]
    assert pieces.target_out.tolist() == [[5, 6, EOS, 7], [EOS, 8, 9, EOS]]
    one = StreamBatch(pieces.target_in[1:], pieces.target_out[1:], first=True)
    model = build_lm("tanh", layers=1)
    expected = one_by_one(model, one, [range(4)])
    for n, mean, pairs in gradient_norms(model, one, words=4):
        assert mean == pytest.approx(sum(expected[n]) / pairs, abs=1e-10)


@pytest.mark.parametrize("name", ["sentences", "steps", "words"])
def test_numbers_that_make_no_sense_are_refused(name):
    options = {"sentences": 1, "steps": 1, "words": 1, name: 0}
    with pytest.raises(UserError, match=f"callbacks.gradient_norms.{name}=0"):
        GradientNorms(folder="run", sweep=None, **options)
