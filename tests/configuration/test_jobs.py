"""What a job is: half of its batches, what a sweeper is told of it, and which run a process is one of."""

import math
from pathlib import Path

from omegaconf import OmegaConf

from unrolled.configuration import jobs
from unrolled.configuration.jobs import halved, value
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


def test_half_the_tokens_leave_the_learning_rate():
    """Which is that of the whole update, and resolved before."""
    register_resolvers()
    batch = {"data": {"max_tokens": 8000, "module": {"max_tokens": 8000}}, "trainer": {"accumulate_grad_batches": 1}}
    rate = "${rate_of_batch:2e-3,${data.max_tokens},${trainer.accumulate_grad_batches}}"
    config = OmegaConf.create({**batch, "optimizer": {"lr": rate}})
    assert [halved(config).optimizer.lr, halved(halved(config)).optimizer.lr] == [4e-3, 4e-3]


def test_a_sweeper_is_told_the_best_checkpoint_s_figure():
    config = OmegaConf.create({"objective": {"monitor": "val/bleu"}})
    assert value(config, {"status": "completed", "val/bleu": 12.5}) == 12.5
    assert math.isnan(value(config, {"status": "diverged", "val/bleu": 12.5}))
    assert math.isnan(value(config, {"status": "completed"}))


def test_a_process_knows_the_run_it_is_one_of(monkeypatch):
    assert not jobs.is_child()
    for name, text in jobs.rank_environment(Path("run"), resume=True).items():
        monkeypatch.setenv(name, text)
    assert jobs.is_child()
    job = jobs.this_job(OmegaConf.create(CONFIG))
    assert job.resume
    monkeypatch.setenv(jobs.RESUMED, "")
    assert not jobs.this_job(OmegaConf.create(CONFIG)).resume
