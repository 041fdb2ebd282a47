"""Captured loops give what the loops give, bit for bit: on a GPU, and without one with captures that only run again."""

import pytest
import torch
from support.fast_decoders import C, build, every_fast_pair, mask, normal
from support.small_models import E

from unrolled.models.fast import cuda_graphs

DEVICES = ["again", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


def tensors(nested):
    if isinstance(nested, torch.Tensor):
        yield nested
    elif isinstance(nested, tuple | list):
        for inner in nested:
            yield from tensors(inner)


def run_again(run, pool):
    """Instead of a CUDA graph: the same operations once more, their results to where the first ones were."""
    first = run()

    def replay():
        for place, result in zip(tensors(first), tensors(run()), strict=True):
            if place is not result:
                place.copy_(result)

    for tensor in tensors(first):
        if tensor.is_floating_point() and not tensor.requires_grad:
            tensor.fill_(float("nan"))  # a capture computes nothing
    return replay, first


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    """A device whose loops are captured. ``cuda_graphs._loops`` begins empty."""
    monkeypatch.setattr(cuda_graphs, "_loops", {})
    if request.param == "again":
        monkeypatch.setattr(cuda_graphs, "applies", lambda device: cuda_graphs.ENABLED)
        monkeypatch.setattr(cuda_graphs, "capture", run_again)
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


class Task:
    """A decoder with the batches of a training."""

    def __init__(self, device, name="cgru", attention="bahdanau"):
        self.device = device
        self.decoder = build(name, attention).to(device)

    def batch(self, number, *, length=5, steps=4, given=False):
        lengths = [length, 1 + number % length, length - 1]
        drawn = [normal(3, length, C, seed=number), normal(3, steps, E, seed=100 + number)]
        known = None
        if given:
            known = normal(3, steps, C, seed=200 + number), torch.arange(3 * steps).reshape(3, steps, 1) % 3 == 0
        return drawn, mask(lengths, length), known

    def forward(self, batch, *, with_weights=True):
        """A loss, the outputs, and what gradients are taken of."""
        (annotations, embeddings), valid, known = batch
        leaves = [x.to(self.device).requires_grad_() for x in (annotations, embeddings)]
        given = None if known is None else tuple(x.to(self.device) for x in known)
        state = self.decoder.start(leaves[0], valid.to(self.device))
        (states, contexts), weights = self.decoder.unroll(leaves[1], state, given)
        outputs = [states, contexts, *([weights] if with_weights else [])]
        loss = sum((out * normal(*out.shape, seed=42 + i).to(self.device)).sum() for i, out in enumerate(outputs))
        return loss, outputs, [*leaves, *self.decoder.parameters()]

    def backward(self, loss, outputs, leaves):
        return [*outputs, *torch.autograd.grad(loss, leaves, materialize_grads=True)]

    def step(self, batch, **options):
        return self.backward(*self.forward(batch, **options))

    def expected(self, monkeypatch, batch, **options):
        with monkeypatch.context() as patch:
            patch.setattr(cuda_graphs, "ENABLED", False)
            return self.step(batch, **options)


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def captured():
    return [capture for loops in cuda_graphs._loops.values() for capture in loops._captured]


@every_fast_pair
def test_a_captured_loop_gives_the_same_bits(monkeypatch, device, name, attention):
    """Batches of three shapes in turns, with and without given contexts, and gradients of the weights or none."""
    task = Task(device, name, attention)
    shapes = [{"length": 5, "steps": 4}, {"length": 3, "steps": 6}, {"length": 5, "steps": 4, "given": True}]
    for number in range(5):
        for shape in shapes:
            batch, options = task.batch(number, **shape), {"with_weights": bool(number % 2)}
            assert_equal(task.step(batch, **options), task.expected(monkeypatch, batch, **options))
    assert len(captured()) == 3


def test_results_are_not_overwritten_by_the_next_batch(monkeypatch, device):
    task = Task(device)
    batches = [task.batch(number) for number in range(6)]
    found = [task.step(batch) for batch in batches]
    for batch, of_batch in zip(batches, found, strict=True):
        assert_equal(of_batch, task.expected(monkeypatch, batch))


def test_two_forward_passes_before_a_backward_pass(monkeypatch, device):
    """As in the loss of two models, or where a second batch is looked at first."""
    task = Task(device)
    for number in range(4):
        task.step(task.batch(number))
    first, second = task.batch(7), task.batch(8)
    passes = [task.forward(first), task.forward(second)]
    found = [task.backward(*one) for one in passes]
    assert_equal(found[0], task.expected(monkeypatch, first))
    assert_equal(found[1], task.expected(monkeypatch, second))


def test_a_forward_pass_that_is_given_up_blocks_nothing(monkeypatch, device):
    task = Task(device)
    for number in range(4):
        task.step(task.batch(number))
    loops = next(iter(cuda_graphs._loops.values()))
    abandoned = task.forward(task.batch(5))
    assert loops.last() is not None
    del abandoned
    assert loops.last() is None
    batch = task.batch(6)
    assert_equal(task.step(batch), task.expected(monkeypatch, batch))


def test_the_backward_pass_of_memory_that_another_has_used_is_refused(device):
    task = Task(device)
    for number in range(4):
        task.step(task.batch(number))
    loss, _, leaves = task.forward(task.batch(5))
    torch.autograd.grad(loss, leaves, retain_graph=True)
    once_more = torch.autograd.grad(loss, leaves, retain_graph=True)  # nobody has used it: the same again
    assert_equal(once_more, torch.autograd.grad(loss, leaves, retain_graph=True))
    task.step(task.batch(6))
    with pytest.raises(RuntimeError, match="another loop"):
        torch.autograd.grad(loss, leaves)


def test_weights_that_change_are_read_and_those_that_move_are_captured_again(monkeypatch, device):
    task = Task(device)
    for number in range(4):
        task.step(task.batch(number))
    with torch.no_grad():
        for parameter in task.decoder.parameters():
            parameter.mul_(0.5)
    batch = task.batch(5)
    assert_equal(task.step(batch), task.expected(monkeypatch, batch))
    assert len(captured()) == 1
    for parameter in task.decoder.parameters():
        parameter.data = parameter.data * 3  # another place
    for number in range(4):
        batch = task.batch(number)
        assert_equal(task.step(batch), task.expected(monkeypatch, batch))
    assert len(captured()) == 2


def test_a_loop_that_needs_more_room_gets_it(monkeypatch, device):
    task = Task(device)
    for size in (2, 9, 3, 20):
        for number in range(4):
            batch = task.batch(number, length=size, steps=size)
            assert_equal(task.step(batch), task.expected(monkeypatch, batch))


@pytest.mark.parametrize("rare", [1000, 3])
def test_only_so_many_are_kept_and_those_that_occur(monkeypatch, device, rare):
    monkeypatch.setattr(cuda_graphs, "MOST", 2)
    monkeypatch.setattr(cuda_graphs, "RARE", rare)
    made, init = [], cuda_graphs.Captured.__init__
    monkeypatch.setattr(cuda_graphs.Captured, "__init__", lambda *given: [init(*given), made.append(1)][0])
    task = Task(device)
    for steps in (2, 3, 4, 5):
        for number in range(6):
            batch = task.batch(number, steps=steps)
            assert_equal(task.step(batch), task.expected(monkeypatch, batch))
    assert len(captured()) == 2
    assert len(made) == (2 if rare == 1000 else 4)


def test_the_loops_of_a_model_make_way_for_those_of_the_next(monkeypatch, device):
    monkeypatch.setattr(cuda_graphs, "MOST", 1)
    for attention in ("bahdanau", "gru_att"):
        task = Task(device, attention=attention)
        for number in range(4):
            batch = task.batch(number)
            assert_equal(task.step(batch), task.expected(monkeypatch, batch))
        assert len(captured()) == 1
        unfinished = task.forward(task.batch(5))
        cuda_graphs.forget()
        assert captured() == []
        assert_equal(task.backward(*unfinished), task.expected(monkeypatch, task.batch(5)))


def test_what_cannot_be_captured_runs_as_usual(monkeypatch, device, caplog):
    def fails(run, pool):
        raise RuntimeError("operation not permitted when stream is capturing\nand more")

    monkeypatch.setattr(cuda_graphs, "capture", fails)
    task = Task(device)
    for number in range(5):
        batch = task.batch(number)
        assert_equal(task.step(batch), task.expected(monkeypatch, batch))
    assert caplog.messages == ["no CUDA graphs: operation not permitted when stream is capturing"]


def test_nothing_is_captured_on_a_cpu():
    task = Task(torch.device("cpu"))
    before = len(captured())
    for number in range(5):
        task.step(task.batch(number))
    assert len(captured()) == before
