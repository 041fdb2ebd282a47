"""The largest batches are tried before the first update, and nothing of it remains."""

import pytest
import torch
from support.scripts import TINY, TINY_MODEL, call_script

from unrolled.data.sampler import TokenBudgetBatches
from unrolled.training.objective import Objective


def test_the_largest_batches_are_those_with_most_positions_and_most_pairs_of_them():
    source, target = torch.randint(1, 40, (2, 300), generator=torch.Generator().manual_seed(7)).numpy()
    batches = TokenBudgetBatches(source, target, max_tokens=90, shuffle=True, seed=3)
    largest = {tuple(sorted(batch)) for batch in batches.largest()}

    def sizes(batch):
        batch = list(batch)
        return len(batch), source[batch].max(), target[batch].max()

    for need in (lambda n, s, t: n * (s + t), lambda n, s, t: n * s * t):
        most = max(need(*sizes(batch)) for batch in batches.epoch(2))
        assert most in [need(*sizes(batch)) for batch in largest]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        ["alignment=guide", "objective.doubly_stochastic=0.1", "model.readout_dropout=0.3"],
        ["model=rnn_lm", "model.dropout=0.3", "model.hidden_size=7"],
    ],
)
def test_a_rehearsal_leaves_no_trace(model, tmp_path, monkeypatch):
    tried = []
    rehearse = Objective.rehearse

    def watched(self, batch):
        before = torch.get_rng_state(), sorted(self.trainer.callback_metrics), self.target_tokens
        rehearse(self, batch)
        after = torch.get_rng_state(), sorted(self.trainer.callback_metrics), self.target_tokens
        assert torch.equal(before[0], after[0])
        assert before[1:] == after[1:]
        assert all(weight.grad is None for weight in self.parameters())
        assert "log" not in vars(self)
        tried.append(batch)

    monkeypatch.setattr(Objective, "rehearse", watched)
    sizes = TINY_MODEL if "model=rnn_lm" not in model else []
    done = call_script(
        "train.py", *TINY, *sizes, *model, "logger=csv", "trainer.max_steps=2", "~callbacks.pictures",
        "hydra.run.dir=run", cwd=tmp_path
    )  # fmt: skip
    assert done.status == 0, done.stderr
    assert tried
