"""Half the token budget and twice the batches an update, for a training that has run out of memory."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from unrolled.configuration.values import resolved
from unrolled.data.sampler import evaluated_positions


def halved(config: DictConfig) -> DictConfig:
    """``config`` with half the token budget, and twice the batches per update.

    Numbers of batches are raised accordingly; those of validation and test cover as many positions as before, or more.
    """
    less = DictConfig(resolved(config))
    if "max_tokens" in config.data:
        for path in ("data.max_tokens", "data.module.max_tokens"):
            OmegaConf.update(less, path, config.data.max_tokens // 2)
        before, after = (evaluated_positions(it.data.max_tokens) for it in (config, less))
        for name in ("limit_val_batches", "limit_test_batches"):
            if isinstance(config.trainer.get(name), int):
                less.trainer[name] = -(-config.trainer[name] * before // after)  # rounded up
    less.trainer.accumulate_grad_batches = 2 * config.trainer.accumulate_grad_batches
    for name in ("val_check_interval", "limit_train_batches"):
        if isinstance(config.trainer.get(name), int):  # which counts batches
            less.trainer[name] = 2 * config.trainer[name]
    return less


def can_be_halved(config: DictConfig) -> bool:
    """Whether half the token budget would make smaller batches: not for a stream, which has its rows and steps."""
    return config.data.get("max_tokens", 1) > 1 and not config.data.get("stream")


def halvings(config: DictConfig) -> Iterator[DictConfig]:
    """``config``, and what it becomes each time that it runs out of memory."""
    yield config
    while can_be_halved(config):
        config = halved(config)
        yield config
