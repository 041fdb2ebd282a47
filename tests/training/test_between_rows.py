"""Matrix products in bfloat16 have no uninitialised memory between the rows of their inputs.

On a CPU with AMX, oneDNN's products read what lies there and multiply it by zero: NaN, whenever memory holds a NaN. So
the loss of a training could become NaN, depending on what the process had done before. Here every CPU tells.
"""

import pytest
import torch
from support.generators import BOS, EOS, PAD
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, S, batch_of, build, pad, words
from torch.utils._python_dispatch import TorchDispatchMode

from unrolled.search.settings import BeamSearch
from unrolled.training.linear_loss import linear_token_loss

PRODUCTS = ("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm", "aten.linear", "aten.mkldnn")


class Products(TorchDispatchMode):
    """Inputs of matrix products in bfloat16: how many were strided, and those with something not finite in between."""

    def __init__(self):
        super().__init__()
        self.strided, self.unsafe = 0, []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if str(operation).startswith(PRODUCTS):
            for tensor in args:
                if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.bfloat16 and tensor.numel():
                    self.look_at(tensor, str(operation))
        return operation(*args, **(kwargs or {}))

    def look_at(self, tensor, operation):
        spanned = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        if spanned > tensor.numel():
            self.strided += 1
            if not tensor.as_strided((spanned,), (1,), tensor.storage_offset()).isfinite().all():
                self.unsafe.append(f"{operation} of {tuple(tensor.shape)}, strides {tensor.stride()}")


@pytest.fixture
def empty_memory_is_nan():
    torch.use_deterministic_algorithms(True)
    assert torch.zeros(1).new_empty(3).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("empty_memory_is_nan")
@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_products_in_bfloat16_read_no_uninitialised_memory(name, attention, cell):
    model = build(name, attention, cell, seed=5).float()
    sources = words([3, S, 2], SOURCE_WORDS, seed=1)
    with torch.autocast("cpu", torch.bfloat16), Products() as products:
        hypotheses = BeamSearch(beam_size=3)(model, batch_of(sources))
        batch = batch_of(sources)
        batch.target, batch.target_lengths = pad([[BOS, *hypothesis.tokens, EOS] for hypothesis in hypotheses])
        following = batch.target[:, 1:]
        counted = following != PAD
        hidden, _ = model(batch.source, batch.source_lengths, batch.target[:, :-1], counted)
        loss = linear_token_loss(hidden, model.readout.output, following[counted])
        loss.objective.backward()
    assert products.unsafe == []
    assert loss.objective.isfinite()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.usefixtures("empty_memory_is_nan")
@pytest.mark.parametrize("size", [31, 32, 50])
def test_hidden_vectors_of_any_size_are_padded_with_zeros(size):
    output, hidden = torch.nn.Linear(size, 40), torch.randn(17, size, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16), Products() as products:
        linear_token_loss(hidden, output, torch.randint(40, (17,))).objective.backward()
    assert products.unsafe == []
    assert products.strided == (0 if size % 32 == 0 else 2)  # so that the test would notice
