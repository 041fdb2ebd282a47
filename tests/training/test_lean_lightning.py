"""Lightning without most of torchmetrics, matplotlib and the compiler; commands too: tests/commands/test_starts.py."""

import os
import subprocess
import sys

from support.scripts import ROOT


def test_lightning_is_as_quiet_as_it_was_told_and_finds_all_of_torchmetrics_where_it_asks_for_more():
    program = (
        "import logging; logging.getLogger('lightning.pytorch').setLevel(logging.WARNING);"
        "import unrolled.training.lean_lightning, sys, lightning, torchmetrics;"
        "assert not {'torchmetrics.functional', 'matplotlib', 'sympy', 'torch._dynamo.eval_frame'} & {*sys.modules};"
        "assert torchmetrics.Metric is sys.modules['torchmetrics.metric'].Metric;"
        "assert not logging.getLogger('lightning.pytorch.utilities.rank_zero').isEnabledFor(logging.INFO);"
        "before = torchmetrics.Metric;"
        "assert issubclass(torchmetrics.MeanMetric, before) and torchmetrics.Metric is before;"
        "assert 'torchmetrics.functional' in sys.modules;"
        "assert sys.modules['torchmetrics.utilities.plot'].plt is sys.modules['matplotlib.pyplot']"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, text=True
    )
    assert done.returncode == 0
