"""What the record of attention holds is what the model does: weights of teacher forcing, memories of step by step."""

import pytest
import torch
from support.small_models import (
    ATTENDING,
    COMBINATIONS,
    IDS,
    REMEMBERING,
    SOURCE_WORDS,
    TARGET_WORDS,
    B,
    S,
    T,
    batch_of,
    build,
    pad,
    start_of,
    words,
)

from unrolled.models.attended import attended, position_norms

SOURCES = words([S, 3], SOURCE_WORDS)
TARGET_IN = torch.tensor([[1, *sentence] for sentence in words([T, T], TARGET_WORDS, seed=1)])
GATED = {"gru_att", "gru_att_pooled", "coverage"}  # a sample: those whose gates are written down in inside_out
REMEMBERS = {name for name in REMEMBERING if position_norms(start_of(name), S) is not None}


@pytest.mark.parametrize(("name", "mechanism", "cell"), COMBINATIONS, ids=IDS)
def test_weights_are_those_of_teacher_forcing(name, mechanism, cell):
    model = build(name, mechanism, cell)
    source, lengths = pad(SOURCES)
    weights, norms, *_ = attended(model, source, lengths, TARGET_IN)
    _, expected = model(source, lengths, TARGET_IN, TARGET_IN > 0)
    assert weights.shape == (B, T + 1, S)
    torch.testing.assert_close(weights, expected, rtol=0, atol=1e-12)
    assert not weights[1, :, 3:].any()
    assert (norms is not None) == (mechanism in REMEMBERS)


@torch.no_grad()
@pytest.mark.parametrize("name", ATTENDING)
@pytest.mark.parametrize("mechanism", sorted(REMEMBERS))
def test_norms_are_those_of_the_memory_after_each_step_of_search(name, mechanism):
    model = build(name, mechanism)
    source, lengths = pad(SOURCES)
    _, norms, _, _ = attended(model, source, lengths, TARGET_IN)
    assert norms is not None
    state = model.start(batch_of(SOURCES))
    for i, word in enumerate(TARGET_IN.unbind(1)):
        _, state = model.step(word, state)
        memory = state[-1][0]  # a decoder's state ends with the attention's memory
        for row, sentence in enumerate(SOURCES):
            for j in range(len(sentence)):
                expected = sum(float(value) ** 2 for value in memory[row, j]) ** 0.5
                assert norms[row, i, j].item() == pytest.approx(expected, abs=1e-6)
    assert norms.std() > 0.01


def test_norms_do_not_depend_on_the_other_sentences_of_a_batch():
    model = build("cgru", "gru_att")
    together = attended(model, *pad(SOURCES), TARGET_IN)
    alone = attended(model, *pad(SOURCES[1:]), TARGET_IN[1:])
    for both, one in zip(together[:2], alone[:2], strict=True):
        torch.testing.assert_close(both[1:, :, :3], one, rtol=0, atol=1e-12)


def inside_out(mechanism):
    """v_ij of every step from v_{i-1,j}, the noted gates and the candidate, written down once more."""
    model = build("cgru", mechanism)
    attention, queries = model.attention, []
    gates = attention.gates
    attention.gates = lambda query, *rest: queries.append(query) or gates(query, *rest)
    source, lengths = pad(SOURCES)
    found = attended(model, source, lengths, TARGET_IN, inside=True)
    annotations, valid = model.encode(source, lengths)
    prepared = attention.prepare(annotations, valid)
    size = found.memory.shape[-1]
    for i, s in enumerate(queries):
        before = found.memory[:, i - 1] if i else torch.zeros_like(found.memory[:, 0])
        r, z = found.gates["reset"][:, i], found.gates["update"][:, i]
        pooled = torch.einsum("bs,bsx->bx", found.weights[:, i - 1].float(), before)[:, None] if i else 0 * before
        inputs = {
            "gru_att": lambda s=s, r=r, v=before: (attention.query(s)[:, None] + prepared[0], r * v),
            "gru_att_pooled": lambda s=s, r=r, v=pooled: (attention.query(s)[:, None] + prepared[0], r * v),
            "coverage": lambda s=s, r=r, v=before, i=i: (
                attention.update_query(s)[:, None]
                + attention.update_annotation(annotations)
                + attention.update_weight(found.weights[:, i, :, None]),
                r * v,
            ),
        }[mechanism]
        products, recurrent = inputs()
        candidate = torch.tanh(products[..., -size:] + attention.recurrent(recurrent.double())).float()
        yield found.memory[:, i], (1 - z) * before + z * candidate


@torch.no_grad()
@pytest.mark.parametrize("mechanism", sorted(GATED))
def test_memory_is_what_its_gates_say(mechanism):
    for memory, expected in inside_out(mechanism):
        torch.testing.assert_close(memory, expected, rtol=0, atol=1e-5)
        assert memory.std() > 0.01


@torch.no_grad()
def test_looking_inside_changes_nothing_and_leaves_nothing_behind():
    for mechanism in ("gru_att", "bahdanau"):
        model = build("cgru", mechanism)
        plain, inside = (attended(model, *pad(SOURCES), TARGET_IN, inside=value) for value in (False, True))
        assert torch.equal(plain.weights, inside.weights)
        assert plain.memory is None is plain.gates
        assert "step" not in vars(model.attention)
        if mechanism == "gru_att":
            assert torch.equal(plain.memory_norms, torch.linalg.vector_norm(inside.memory, dim=-1))
        else:
            assert inside.memory is None
            assert inside.gates == {}


def test_memory_without_positions_has_no_norms():
    assert position_norms((), 5) is None
    assert position_norms((torch.ones(2, 7),), 5) is None
    assert position_norms((torch.ones(2, 5, 4), torch.ones(2, 7)), 5).tolist() == [[2.0] * 5] * 2
    nested = (torch.ones(2, dtype=torch.int64), (torch.ones(2, 3, 4), (torch.ones(2, 5, 4),)))  # 3 of something else
    assert position_norms(nested, 5).tolist() == [[2.0] * 5] * 2
