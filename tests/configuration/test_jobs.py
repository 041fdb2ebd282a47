"""What a sweeper is told of a job."""

import math

from omegaconf import OmegaConf

from unrolled.configuration.jobs import value


def test_a_sweeper_is_told_the_best_checkpoint_s_figure():
    config = OmegaConf.create({"objective": {"monitor": "val/bleu"}})
    assert value(config, {"status": "completed", "val/bleu": 12.5}) == 12.5
    assert math.isnan(value(config, {"status": "diverged", "val/bleu": 12.5}))
    assert math.isnan(value(config, {"status": "completed"}))
