"""How long an update takes with each attention of sweep=memory, which all have the same number of parameters.

    OMP_NUM_THREADS=1 python benchmarks/equal_time.py data.grammar.pairs=6000 data.grammar.max_length=30

Arguments are options of train.py. CPU time of loss, backward pass, clipping and optimiser; the attentions take turns
on the same batches, in one process. "to bahdanau" is the median over batches, with the middle half of them.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import unrolled.training.lean_lightning  # noqa: F401, I001  # before all that imports Lightning
from small_batches import bare_epoch

from unrolled.configuration.build import build_data, build_module
from unrolled.configuration.composition import composed
from unrolled.configuration.conf import CONF

BATCHES = 60
WARM_UP = 3


def main() -> None:
    if {"-h", "--help"} & {*sys.argv}:
        print(__doc__)
        return
    names = sorted(path.stem for path in (CONF / "experiment" / "memory").glob("*.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        options = ("hardware=cpu", f"hydra.run.dir={folder}/run", f"cache={folder}/cache", *sys.argv[1:])
        configs = {name: composed("train", (f"experiment=memory/{name}", *options)) for name in names}
        data = build_data(configs["bahdanau"])
        data.prepare_data()
        data.setup()
        batches = list(data.train_dataloader())[: BATCHES + WARM_UP]
        if len(batches) < WARM_UP + 2:
            sys.exit(f"equal_time.py: the text has only {len(batches)} batches; give at least {WARM_UP + 2}")
        modules = {name: build_module(config, data).train() for name, config in configs.items()}
        steps = {name: bare_epoch(module) for name, module in modules.items()}
        seconds = [{name: step([batch]) for name, step in steps.items()} for batch in batches][WARM_UP:]
    print("| attention | parameters | CPU ms an update | to bahdanau | middle half |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, module in modules.items():
        ratios = [times[name] / times["bahdanau"] for times in seconds]
        low, middle, high = quantiles(ratios, n=4)
        parameters = sum(weights.numel() for weights in module.parameters())
        time = 1000 * median(times[name] for times in seconds)
        print(f"| `{name}` | {parameters:,} | {time:.0f} | {middle:.2f} | {low:.2f} to {high:.2f} |")


if __name__ == "__main__":
    main()
