"""Half of the batches, after memory has run out: what changes, and what must not."""

import pytest
from omegaconf import OmegaConf

from unrolled.configuration.halving import can_be_halved, halved, halvings
from unrolled.configuration.values import register_resolvers

CONFIG = {"data": {"max_tokens": 101, "module": {"max_tokens": 101}}, "trainer": {"accumulate_grad_batches": 3}}


def test_half_the_tokens_and_twice_the_batches_an_update():
    config = OmegaConf.create(CONFIG)
    assert halved(config) == {
        "data": {"max_tokens": 50, "module": {"max_tokens": 50}},
        "trainer": {"accumulate_grad_batches": 6},
    }
    assert config == CONFIG
    assert halved(OmegaConf.create({**CONFIG, "data": {}})).data == {}


@pytest.mark.parametrize(
    ("max_tokens", "limits"),
    [  # positions of an evaluated batch: max_tokens, but up to five times as many until there are 2,000
        (8000, [14, 6]),  # 8000, then 4000
        (3000, [11, 5]),  # 3000, then 2000: 10.5 and 4.5 batches
        (1000, [7, 3]),  # 2000 both times
        (300, [14, 6]),  # 1500, then 750
    ],
)
def test_limits_of_validation_and_test_cover_as_many_lines_with_half_the_tokens(max_tokens, limits):
    trainer = CONFIG["trainer"] | {"limit_val_batches": 7, "limit_test_batches": 3}
    config = OmegaConf.create({"data": {"max_tokens": max_tokens}, "trainer": trainer})
    after = halved(config).trainer
    assert [after.limit_val_batches, after.limit_test_batches] == limits


def test_shares_of_validation_and_test_remain_shares():
    trainer = CONFIG["trainer"] | {"limit_val_batches": 0.5, "limit_test_batches": 1.0}
    after = halved(OmegaConf.create({"data": {"max_tokens": 8000}, "trainer": trainer})).trainer
    assert (after.limit_val_batches, after.limit_test_batches) == (0.5, 1.0)


def test_half_the_tokens_leave_the_learning_rate():
    """Which is that of the whole update, and resolved before."""
    register_resolvers()
    batch = {"data": {"max_tokens": 8000, "module": {"max_tokens": 8000}}, "trainer": {"accumulate_grad_batches": 1}}
    rate = "${rate_of_batch:2e-3,${data.max_tokens},${trainer.accumulate_grad_batches}}"
    config = OmegaConf.create({**batch, "optimizer": {"lr": rate}})
    assert [halved(config).optimizer.lr, halved(halved(config)).optimizer.lr] == [4e-3, 4e-3]


def test_it_is_halved_until_a_batch_has_one_token():
    config = OmegaConf.create({"data": {"max_tokens": 5}, "trainer": {"accumulate_grad_batches": 1}})
    assert [less.data.max_tokens for less in halvings(config)] == [5, 2, 1]
    assert not can_be_halved(OmegaConf.create({"data": {"max_tokens": 8, "stream": True}}))
