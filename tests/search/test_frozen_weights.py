"""Every search runs without gradients and with the weights of all networks prepared once."""

import torch
from torch import nn

from unrolled.models.fast.products import packs
from unrolled.search.frozen_weights import inference, models


def network():
    return nn.Sequential(nn.Linear(7, 40), nn.Tanh(), nn.Linear(40, 33, bias=False), nn.Linear(33, 1))


def replaced(model):
    return [layer for layer in model if "forward" in vars(layer)]


class Several:
    def __init__(self, *members):
        self.members = members


def test_a_search_freezes_every_network_of_its_generator():
    one, other, third = (network() for _ in range(3))
    assert list(models(Several(one, Several(other), object(), third))) == [one, other, third]

    @inference
    def search(generator, *, word):
        assert torch.is_inference_mode_enabled()
        return word, [len(replaced(model)) for model in generator.members]

    count = 2 if packs(torch.float32) else 0
    assert search(Several(one, other), word=3) == (3, [count, count])
    assert replaced(one) == []
