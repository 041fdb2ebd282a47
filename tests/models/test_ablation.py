"""What an ablated memory reads, written down a second time; neither padding nor company nor search changes it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_models import SOURCE_WORDS, TARGET_WORDS, B, S, batch_of, build, flatten, pad, reorder, words

from unrolled.errors import UserError
from unrolled.models.ablation import ABLATIONS, ablated, check_memory, cycles
from unrolled.models.attended import attended
from unrolled.search.beam import beam_search
from unrolled.search.forced import score_words
from unrolled.text.tokens import BOS, EOS

BY_POSITION = ["coverage", "gru_att", "gru_att_pooled", "location"]
REMEMBER = [*BY_POSITION, "location_extrapolating"]
MODELS = ["bahdanau", "cgru", "rnnsearch"]
few = settings(max_examples=8)
PAIRS = [(memory, name) for memory in ("freeze", "lag", "zero") for name in REMEMBER]
PAIRS += [("shuffle", name) for name in BY_POSITION]
every = pytest.mark.parametrize(("memory", "mechanism"), PAIRS)


def read(memory, returned, lengths):
    """What the next step reads, of all that the attention ``returned``, v_0 first: the four sentences of the page."""
    last, *_ = reversed(returned)
    if memory == "zero":
        return tuple(torch.zeros_like(tensor) for tensor in last)
    if memory == "freeze":
        return returned[min(1, len(returned) - 1)]
    if memory == "lag":
        return returned[max(0, len(returned) - 2)]
    exchanged = []
    for tensor in last:
        other = tensor.clone()
        if tensor.dim() == 3:
            for row, length in enumerate(lengths):
                drawn = torch.randperm(length, generator=torch.Generator().manual_seed(1)).tolist()
                for place, position in enumerate(drawn):
                    other[row, position] = tensor[row, drawn[place - 1]]
        exchanged.append(other)
    return tuple(exchanged)


@every
@torch.no_grad()
def test_each_step_reads_what_the_definition_says(memory, mechanism):
    model = build("cgru", mechanism, seed=4)
    lengths = [S, 3]
    annotations, valid = model.encode(*pad(words(lengths, SOURCE_WORDS)))
    queries = torch.randn(5, B, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    plain = model.attention
    prepared = plain.prepare(annotations, valid)
    returned, expected = [plain.start(prepared)], []
    for query in queries:
        *found, following = plain.step(query, prepared, read(memory, returned, lengths))
        returned.append(following)
        expected.append(found)
    with ablated([model], memory):
        prepared = model.attention.prepare(annotations, valid)
        state = model.attention.start(prepared)
        for query, (context, weights) in zip(queries, expected, strict=True):
            *found, state = model.attention.step(query, prepared, state)
            torch.testing.assert_close(found, [context, weights], rtol=0, atol=1e-12)
    assert model.attention is plain


@every
@torch.no_grad()
def test_an_ablation_changes_the_weights_once_there_is_something_to_remember(memory, mechanism):
    model = build("cgru", mechanism, seed=5)
    given = (*pad(words([S, 4], SOURCE_WORDS)), torch.tensor(words([5, 5], TARGET_WORDS, seed=2)))
    before = attended(model, *given).weights
    with ablated([model], memory):
        during = attended(model, *given).weights
    torch.testing.assert_close(during[:, 0], before[:, 0], rtol=0, atol=1e-12)  # v_0 = 0 in all of them
    assert (during[:, 2:] - before[:, 2:]).abs().amax(dim=(1, 2)).min() > 1e-6
    assert torch.equal(attended(model, *given).weights, before)


@few
@given(lengths=st.lists(st.integers(1, S), min_size=2, max_size=4), longer=st.integers(0, 3), data=st.data())
@every
@torch.no_grad()
def test_padding_and_the_place_in_a_batch_change_nothing(memory, mechanism, lengths, longer, data):
    model = build(data.draw(st.sampled_from(MODELS)), mechanism, seed=6)
    sources = words(lengths, SOURCE_WORDS)
    target_in = torch.tensor(words([4] * len(lengths), TARGET_WORDS, seed=3))
    order = data.draw(st.permutations(range(len(lengths))))
    with ablated([model], memory):
        padded = pad([sources[row] for row in order], length=max(lengths) + longer)
        together = attended(model, *padded, target_in[list(order)]).weights
        for place, row in enumerate(order):
            alone = attended(model, *pad([sources[row]]), target_in[row : row + 1]).weights[0]
            torch.testing.assert_close(together[place, :, : lengths[row]], alone, rtol=0, atol=1e-12)
            assert not together[place, :, lengths[row] :].any()


@every
def test_search_and_forced_scores_agree(memory, mechanism):
    """Whatever a beam does with its rows, and with packed weights: a hypothesis scores as in forced decoding."""
    model = build("cgru", mechanism, seed=7)
    sources, limits = words([S, 2, 4], SOURCE_WORDS), torch.tensor([6, 6, 6])
    with ablated([model], memory):
        lists = beam_search(
            model, batch_of(sources), beam_size=3, max_lengths=limits, score=lambda log_p, _: log_p, nbest=2
        )
        for source, hypotheses in zip(sources, lists, strict=True):
            for found in hypotheses:
                ids = torch.tensor([[BOS, *found.tokens, *[EOS] * found.finished]])
                (scored,) = score_words(model, batch_of([source]), ids, torch.tensor([ids.shape[1]]))
                assert found.log_probability == pytest.approx(sum(scored), abs=1e-5)  # search adds in float32


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=4))
@few
def test_every_real_position_moves_and_padding_stays(lengths):
    valid = torch.arange(10) < torch.tensor(lengths).unsqueeze(1)
    for row, length in zip(cycles(valid).tolist(), lengths, strict=True):
        assert row[length:] == list(range(length, 10))
        place, seen = 0, []
        for _ in range(length):
            place = row[place]
            seen.append(place)
        assert sorted(seen) == list(range(length))  # one cycle through all of them
    again = cycles(torch.nn.functional.pad(valid, (0, 3)))
    assert torch.equal(again[:, :10], cycles(valid))


def test_a_model_that_is_there_twice_is_ablated_once_and_left_as_it_was():
    model = build("cgru", "gru_att", seed=7)
    plain = model.attention
    with ablated([model, model], "lag"):
        assert model.attention.attention is plain
    assert model.attention is plain


def test_models_that_share_a_decoder_are_left_as_they_were():
    one, other = build("cgru", "gru_att", seed=7), build("cgru", "gru_att", seed=8)
    other.decoder = one.decoder
    plain = one.attention
    with ablated([one, other], "zero"):
        assert one.attention is not plain
    assert one.attention is plain


def test_rows_of_a_state_can_be_chosen():
    model = build("cgru", "gru_att_pooled")
    for memory in ABLATIONS:
        with ablated([model], memory):
            state = model.start(batch_of(words([S, 3], SOURCE_WORDS)))
            for _ in range(3):
                _, state = model.step(torch.tensor([4, 5]), state)
            swapped, _ = model.step(torch.tensor([5, 4]), reorder(state, torch.tensor([1, 0])))
            straight, _ = model.step(torch.tensor([4, 5]), state)
            torch.testing.assert_close(swapped, straight.flip(0), rtol=0, atol=1e-12)
            assert all(len(tensor) == 2 for tensor in flatten(state))


@pytest.mark.parametrize(("name", "mechanism"), [("cgru", "bahdanau"), ("encoder_decoder", "none")])
def test_a_model_without_memory_is_refused(name, mechanism):
    said = r"memory=zero,lag: this run has (no attention|BahdanauAttention, without a memory): name a run"
    with pytest.raises(UserError, match=said):
        check_memory(build(name, mechanism), "memory=zero,lag")


@pytest.mark.parametrize("mechanism", REMEMBER)
def test_whether_a_memory_belongs_to_positions(mechanism):
    assert check_memory(build("bahdanau", mechanism), "memory=all") == (mechanism in BY_POSITION)
