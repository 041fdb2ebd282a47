"""How far losses and gradients on a device are from those of float64 on the CPU, and how often a step waits for it.

    python benchmarks/agreement.py [--device cuda] [--attention bahdanau gru_att] [--precision fp32 tf32 bf16 fp16]

One batch of 16 random sentences, model=cgru, the same weights throughout. gradient: the norm of the difference over
the norm, of all parameters together. waits: how often three training steps ask the GPU for a value.
"""

import argparse
import copy
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch
from contestants import ours
from hydra import compose, initialize_config_dir
from parts import Watch
from torch import Tensor, nn

from unrolled.configuration.build import build_model
from unrolled.configuration.conf import CONF
from unrolled.data.batch import Batch, make_batch

WORDS, SENTENCES, LENGTH = 2000, 16, 30
LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}
PRECISIONS = {"cpu": ["fp32", "bf16"], "cuda": ["fp32", "tf32", "bf16", "fp16"]}
ATTENTIONS = ["bahdanau", "gru_att", "gru_att_pooled", "coverage", "location", "dot", "general"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=PRECISIONS)
    parser.add_argument("--attention", nargs="+", default=ATTENTIONS, help="names of conf/attention")
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS["cuda"], help="default: all that the device has")
    parser.add_argument("--size", type=int, default=256, help="of embeddings, encoder and decoder")
    return parser.parse_args()


def built(attention: str, size: int) -> nn.Module:
    torch.manual_seed(1)
    sizes = [f"{name}={size}" for name in ("model.embedding_size", "model.encoder_size", "model.decoder_size")]
    sizes[1] = f"model.encoder_size={size // 2 if attention == 'dot' else size}"  # annotations as wide as the state
    dropouts = [f"model.{name}_dropout=0" for name in ("embedding", "annotation", "readout")]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("train", [f"attention={attention}", *sizes, *dropouts])
    return build_model(config, source_vocabulary=WORDS, target_vocabulary=WORDS)


def random_batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(3, LENGTH, (2, SENTENCES), generator=generator).tolist()
    ids = [[torch.randint(4, WORDS, (n,), generator=generator).tolist() for n in side] for side in lengths]
    return make_batch(*ids, range(SENTENCES))


def loss_and_gradients(model: nn.Module, batch: Batch, device: str, precision: str) -> tuple[float, Tensor]:
    """Summed over the words; the gradients of all parameters ``(P,)``, in float64 on the CPU."""
    model.zero_grad()
    with torch.autocast(device, LOW.get(precision), enabled=precision in LOW), products(precision):
        loss = ours(model, batch, Watch(device))
        (loss / batch.target_out_valid.sum() * (scale := 1024.0 if precision == "fp16" else 1.0)).backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return loss.item(), torch.cat([gradient.double().flatten().cpu() for gradient in gradients]) / scale


@contextmanager
def products(precision: str):
    """Products of float32 in TF32, or in float32."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    yield
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def waits(model: nn.Module, batch: Batch, precision: str) -> int:
    """How often three steps on the GPU wait for it: loss, backward pass, clipping, Adam."""
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    watch = Watch("cpu")  # which does not wait
    with warnings.catch_warnings(record=True) as said:
        for step in range(4):
            if step == 1:  # the first one fills the optimiser's state
                torch.cuda.synchronize()
                torch.cuda.set_sync_debug_mode("warn")
            warnings.simplefilter("always")
            with torch.autocast("cuda", LOW.get(precision), enabled=precision in LOW):
                loss = ours(model, batch, watch)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in said)


def main() -> None:
    chosen = arguments()
    batch = random_batch()
    print("| attention | precision | loss, relative | gradient | waits in three steps |")
    print("| --- | --- | ---: | ---: | ---: |")
    for attention in chosen.attention:
        model = built(attention, chosen.size)
        right, gradients = loss_and_gradients(copy.deepcopy(model).double(), batch, "cpu", "fp64")
        moved, on_device = model.to(chosen.device), batch.to(chosen.device)
        for precision in chosen.precision or PRECISIONS[chosen.device]:
            loss, of_device = loss_and_gradients(moved, on_device, chosen.device, precision)
            away = float((of_device - gradients).norm() / gradients.norm())
            counted = waits(copy.deepcopy(moved), on_device, precision) if chosen.device == "cuda" else ""
            print(f"| {attention} | {precision} | {abs(loss / right - 1):.1e} | {away:.1e} | {counted} |", flush=True)


if __name__ == "__main__":
    main()
