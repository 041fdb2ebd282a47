"""How fast training is, against the plain loop in the same run, and against what the machine can do.

    python benchmarks/train_throughput.py --data-root DIR --size 256 512 --precision fp32 bf16 --threads 2 \
        --output throughput.json

prints a Markdown table and writes its figures to the JSON file. DIR holds Multi30k; without it the embedded corpus
serves. Contestants take turns on the same batches in one process; ratios are medians over batches. Contestants, parts
and the operations that count: contestants.py, parts.py, operations.py. Other toolkits take part with --joeynmt and
--nmtpytorch: peer.py.
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = {  # embeddings, encoder of one direction, decoder, attention
    "tiny": (8, 6, 12, 10),
    "256": (256, 256, 512, 512),
    "512": (512, 512, 1024, 1024),
}
CONTESTANTS = ["ours", "plain", "plain_keys_every_step", "without_graphs"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", default=["cgru"], help="names of conf/model")
    parser.add_argument("--attention", nargs="+", default=["bahdanau"], help="names of conf/attention")
    parser.add_argument("--size", nargs="+", default=["256"], choices=SIZES)
    parser.add_argument(
        "--precision",
        nargs="+",
        default=["fp32"],
        choices=["fp32", "tf32", "bf16", "fp16"],
        help="bf16 and fp16: autocast; tf32: float32 with TF32 products on a GPU",
    )
    parser.add_argument("--contestants", nargs="+", default=CONTESTANTS[:3], choices=CONTESTANTS)
    parser.add_argument(
        "--data-root",
        help="Multi30k, {train,val,test_2016_flickr}.{en,de}: joint BPE of 8,000",
    )
    parser.add_argument("--cache", default=str(ROOT / "outputs/cache"), help="tokenizers and token ids")
    parser.add_argument("--sentences", type=int, default=64, help="of a batch")
    parser.add_argument("--batches", type=int, default=20, help="measured batches")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="OPTION=VALUE",
        help="any options of conf/train.yaml",
    )
    parser.add_argument("--operators", action="store_true", help="also the time by torch's operators, of ours on a CPU")
    parser.add_argument("--joeynmt", metavar="PYTHON", help="of an environment with joeynmt==2.3.0: let it take part")
    parser.add_argument("--nmtpytorch", metavar="PYTHON", help="the same with nmtpytorch==4.0.0")
    parser.add_argument("--skip-memory", action="store_true", help="no peaks of memory, which take most of a short run")
    parser.add_argument("--output", type=Path, help="write all figures to this JSON file")
    parser.add_argument("--memory-of", choices=CONTESTANTS, help=argparse.SUPPRESS)  # what a child process does
    return parser.parse_args()


def pin_threads(threads: int) -> str:
    """One OpenMP thread a core. OpenMP reads this when torch is loaded, so torch must not be imported before."""
    cores = " ".join(str(core) for core in sorted(os.sched_getaffinity(0))[:threads])
    os.environ.update(
        OMP_NUM_THREADS=str(threads),
        MKL_NUM_THREADS=str(threads),
        GOMP_CPU_AFFINITY=cores,
    )
    return cores


def peak_memory(choice: dict[str, str], contestant: str) -> dict[str, float]:
    """MiB that a child process with this contestant alone takes."""
    chosen = [word for name, value in choice.items() for word in (f"--{name}", value)]
    command = [
        sys.executable,
        __file__,
        *sys.argv[1:],
        *chosen,
        "--memory-of",
        contestant,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    chosen = arguments()
    if chosen.device == "cpu" and {"tf32", "fp16"} & set(chosen.precision):
        sys.exit("tf32 and fp16 are a GPU's: add --device cuda, or take fp32 and bf16")
    cores = pin_threads(chosen.threads)
    sys.path.insert(0, str(ROOT / "src"))
    import unrolled.training.lean_lightning  # noqa: F401, I001  # before all that imports Lightning, as in a training
    from by_operator import by_operator, operator_table
    from measure import machine, measure, measure_memory, prepare
    from peer import peers
    from report import table

    from unrolled.training.process_memory import keep_freed_memory

    keep_freed_memory()

    experiments, batches, operators = [], None, []
    for model, attention, size, precision in product(chosen.model, chosen.attention, chosen.size, chosen.precision):
        choice = {
            "model": model,
            "attention": attention,
            "size": size,
            "precision": precision,
        }
        prepared = prepare(
            chosen,
            model=model,
            attention=attention,
            sizes=SIZES[size],
            precision=precision,
        )
        if chosen.memory_of:
            print(json.dumps(measure_memory(prepared, chosen.memory_of)))
            return
        print(" ".join(choice.values()), file=sys.stderr)
        memory = {name: {} if chosen.skip_memory else peak_memory(choice, name) for name in chosen.contestants}
        pythons = {"joeynmt": chosen.joeynmt, "nmtpytorch": chosen.nmtpytorch}
        others = peers(prepared.model, model, attention, precision, **pythons)
        experiments.append({**choice, **measure(prepared, chosen.contestants, others)})
        for contestant, figures in memory.items():
            experiments[-1]["contestants"][contestant]["memory"] = figures
        batches = experiments[-1]["batches"]
        if chosen.operators:
            operators += ["", f"{' '.join(choice.values())}:", "", operator_table(prepared, by_operator(prepared))]
    facts = {
        **machine(),
        "threads": chosen.threads,
        "cores": cores,
        "device": chosen.device,
        "sentences": chosen.sentences,
        "batches": batches,
    }
    print(table(facts, experiments), *operators, sep="\n")
    if chosen.output:
        chosen.output.write_text(
            json.dumps({**facts, "experiments": experiments}, indent=1) + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
