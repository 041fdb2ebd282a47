"""Packed weights give torch.mm's products, and everything works where they cannot be had."""

import pytest
import torch
from torch import nn

from unrolled.models.cells import GRUResetAfter
from unrolled.models.fast import products
from unrolled.models.fast.products import Product


def packed_here():
    return products.packs(torch.float32)


@pytest.mark.skipif(not packed_here(), reason="this torch cannot pack weights here")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("transposed", [False, True])
def test_packed_product_is_the_product(dtype, transposed, monkeypatch):
    monkeypatch.setattr(products, "worth_packing", lambda *_: True)
    if not products.packs(dtype):
        pytest.skip(f"oneDNN has no {dtype} for this processor")
    generator = torch.Generator().manual_seed(60)
    weight, bias = torch.randn(67, 41, generator=generator), torch.randn(2 * 67, generator=generator)[::2]
    stored = weight.t().contiguous().t() if transposed else weight
    for rows in (1, 13, 64):
        wide = torch.randn(rows, 2 * 41, generator=generator)
        x = wide[:, :41]  # a view with gaps
        expected = x.double() @ weight.double().t() + bias.double()
        product = Product(stored.to(dtype), rows=64, times=20, bias=bias)
        assert product._packed is not None
        found = product(x)
        assert found.dtype == torch.float32
        tolerance = 1e-4 if dtype == torch.float32 else 0.3
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance)
        out = torch.ones(rows, 67)
        torch.testing.assert_close(product.add_to(out, x), found + 1, rtol=0, atol=1e-5)


def test_float64_and_tensors_without_numbers_are_not_packed():
    assert products.pack(torch.ones(3, 5, dtype=torch.float64), None, rows=2) is None
    assert products.pack(torch.ones(3, 5, device="meta"), None, rows=2) is None


@pytest.mark.parametrize("intel", [False, True])
def test_on_intel_only_bfloat16_is_worth_packing(intel, monkeypatch):
    monkeypatch.setattr(products, "INTEL", intel)
    weight = torch.ones(1536, 512)
    assert products.worth_packing(weight, rows=64, times=25) is not intel
    assert products.worth_packing(weight.bfloat16(), rows=64, times=25)


@pytest.mark.parametrize(
    ("rows", "times", "large"), [(42, 8, False), (64, 25, True), (16, 25, True), (900, 14, True), (64, 0, False)]
)
def test_packed_is_what_saves_more_than_packing_takes(rows, times, large, monkeypatch):
    monkeypatch.setattr(products, "INTEL", False)
    for weight, expected in ((torch.ones(768, 256), False), (torch.ones(1536, 512), large)):
        product = Product(weight, rows=rows, times=times)
        assert (product._packed is not None) == (expected and packed_here())
        x = torch.linspace(-1, 1, 3 * weight.shape[1]).view(3, -1)
        torch.testing.assert_close(product(x), x @ weight.t(), rtol=1e-4, atol=1e-4)


def removed(*_):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_reorder_linear_weight'")


def wrong(x, *_):
    return torch.zeros(len(x), 5, dtype=x.dtype)


@pytest.mark.parametrize(("operation", "fault"), [("_reorder_linear_weight", removed), ("_linear_pointwise", wrong)])
def test_without_the_operations_everything_goes_on(operation, fault, monkeypatch):
    """torch does not promise to keep them: let one be gone, or give something else."""
    monkeypatch.setattr(products, "worth_packing", lambda *_: True)
    cell = GRUResetAfter(input_size=3, hidden_size=5)
    inputs = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(61))
    found = []
    for broken in (False, True):
        products.packs.cache_clear()
        if broken:
            monkeypatch.setattr(torch.ops.mkldnn, operation, fault)
            assert not products.packs(torch.float32)
        outputs, _ = cell.unroll(inputs, cell.start(inputs, 2))
        found.append([outputs, *torch.autograd.grad(outputs.square().sum(), list(cell.parameters()))])
    products.packs.cache_clear()
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_turning_onednn_off_turns_packing_off(monkeypatch):
    monkeypatch.setattr(products, "INTEL", False)
    weight = nn.Linear(512, 1024).weight
    assert (Product(weight, rows=64, times=20)._packed is not None) == packed_here()
    monkeypatch.setattr(type(torch.backends.mkldnn), "enabled", False)
    assert Product(weight, rows=64, times=20)._packed is None
