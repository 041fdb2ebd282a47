"""Runs in JoeyNMT's own environment: its Bahdanau GRU with input feeding, fed batch after batch through standard input.

First line: the sizes. Every further line: a batch of token ids. Answers with a line of JSON each: seconds of a training
step as its training loop takes it (masks, loss of log_softmax, clipping, Adam), loss, peak MiB. A line with "beam" asks
for a search instead.
"""

import json
import resource
import sys
import time

import torch
from joeynmt.batch import Batch
from joeynmt.loss import XentLoss
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary

PAD, BOS, EOS, UNK = 0, 1, 2, 3


class Ids(Vocabulary):
    """A vocabulary of numbers: words are not needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.pad_index, self.bos_index, self.eos_index, self.unk_index = PAD, BOS, EOS, UNK
        self.specials, self.lang_tags, self.sep_index = [], [], None

    def __len__(self) -> int:
        return self._size


def build(sizes: dict) -> torch.nn.Module:
    side = {"rnn_type": "gru", "num_layers": 1, "dropout": 0.0, "type": "recurrent"}
    embeddings = {"embedding_dim": sizes["embedding"], "scale": False}
    encoder = {**side, "hidden_size": sizes["encoder"], "bidirectional": True, "embeddings": embeddings}
    decoder = {**side, "hidden_size": sizes["decoder"], "embeddings": embeddings, "attention": "bahdanau"}
    decoder |= {"input_feeding": True, "init_hidden": "bridge", "hidden_dropout": 0.0}
    model = build_model(
        {"encoder": encoder, "decoder": decoder, "tied_embeddings": False, "tied_softmax": False},
        Ids(sizes["source_vocabulary"]),
        Ids(sizes["target_vocabulary"]),
    )
    model.loss_function = ("crossentropy", 0.0)
    assert isinstance(model.loss_function, XentLoss)
    return model.train()


def batch_of(source: list[list[int]], target: list[list[int]]) -> Batch:
    def padded(rows: list[list[int]]) -> torch.Tensor:
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)

    batch = Batch(
        src=padded(source),
        src_length=torch.tensor([len(row) for row in source]),
        src_prompt_mask=None,
        trg=padded(target),
        trg_prompt_mask=None,
        indices=torch.arange(len(source)),
        device=torch.device("cpu"),
        pad_index=PAD,
        eos_index=EOS,
    )
    batch.sort_by_src_length()
    return batch


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, bf16: bool) -> float:
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        loss, *_ = model(return_type="loss", **vars(batch))
    (loss / batch.ntokens).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def forced_search(model: torch.nn.Module, source: list[list[int]], beam: int, length: int) -> float:
    """CPU seconds to search with every hypothesis made ``length`` tokens long."""
    batch = batch_of(source, [[BOS, EOS]] * len(source))
    start = time.process_time()
    with torch.inference_mode():
        search(model, batch, max_output_length=length, min_output_length=length, beam_size=beam, beam_alpha=1.0)
    return time.process_time() - start


def main() -> None:
    sizes = json.loads(sys.stdin.readline())
    torch.manual_seed(1)
    model = build(sizes)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters())}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        if "beam" in question:
            print(json.dumps({"seconds": forced_search(model.eval(), **question)}), flush=True)
            continue
        batch = batch_of(**question)
        start = time.perf_counter()
        loss = step(model, optimizer, batch, sizes["bf16"])
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "loss": loss, "peak": peak}), flush=True)


if __name__ == "__main__":
    main()
