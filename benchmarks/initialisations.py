"""How others begin: each recipe fills the matrices of a model of ours as that project fills its own.

Only the distributions are theirs; the places, the optimiser and all else are ours. Sources, as read in 2026:
nmtpytorch ``nmtpytorch/models/nmt.py`` (``reset_parameters``), dl4mt ``session2/nmt.py`` (``norm_weight``), JoeyNMT
``joeynmt/initialization.py`` (its defaults), and ``reset_parameters`` of PyTorch's own layers.
"""

import re
from collections.abc import Callable, Iterator

import torch
from torch import nn

READS_WORDS = re.compile(r"gru\.weight_ih_l0|rec1\.input\.weight|readout\.embedding\.weight")  # of the cGRU
GATED = re.compile(r"gru\.weight_|rec[12]\.(input|recurrent)\.weight")  # of the cGRU


def ours(model: nn.Module) -> None:
    """What the model was built with."""


@torch.no_grad()
def before(model: nn.Module) -> None:
    """Ours until November 2026: embeddings N(0, 1/E), all else by Glorot."""
    readout_only(model)
    if not _tied(model):
        nn.init.xavier_uniform_(_output(model).weight)


@torch.no_grad()
def embeddings_only(model: nn.Module) -> None:
    """Embeddings N(0, 1), the readout by Glorot."""
    unit_variance(model)
    nn.init.xavier_uniform_(_output(model).weight)


@torch.no_grad()
def readout_only(model: nn.Module) -> None:
    """Ours, but what reads embeddings by Glorot."""
    read_times(0.0)(model)


@torch.no_grad()
def unit_variance(model: nn.Module) -> None:
    """Ours for some weeks of 2026: embeddings N(0, 1); tied ones N(0, 1/E), and sqrt(E) times what reads those."""
    read_times(0.0)(model)
    root = model.source_embedding.embedding_dim**0.5
    model.source_embedding.weight *= root
    if _tied(model):
        for name, matrix in model.named_parameters():
            if READS_WORDS.search(name) and not name.startswith("encoder"):
                matrix *= root
    else:
        model.target_embedding.weight *= root


def read_times(power: float) -> Callable[[nn.Module], None]:
    """Ours, but what reads embeddings is E^power times as large as by Glorot; ours is 1/4."""

    @torch.no_grad()
    def fill(model: nn.Module) -> None:
        for name, matrix in model.named_parameters():
            if READS_WORDS.search(name):
                matrix *= model.source_embedding.embedding_dim ** (power - 0.25)

    return fill


def scaled_when_read(model: nn.Module) -> None:
    """Ours, but what reads embeddings by Glorot, and embeddings times sqrt(E) when looked up (Vaswani et al. 2017)."""
    read_times(0.0)(model)
    for embedding in (model.source_embedding, model.target_embedding):
        embedding.register_forward_hook(lambda module, _, vectors: vectors * module.embedding_dim**0.5)


@torch.no_grad()
def pytorch(model: nn.Module) -> None:
    """Every layer's own: embeddings N(0, 1), linear maps uniform up to fan-in^-1/2, GRUs up to H^-1/2, biases too."""
    for module in model.modules():
        if isinstance(module, nn.Embedding | nn.Linear | nn.GRU):
            module.reset_parameters()


@torch.no_grad()
def nmtpytorch(model: nn.Module) -> None:
    """Every matrix N(0, 2/columns) (He), embeddings too."""
    for gate in _gates(model):
        nn.init.kaiming_normal_(gate)
    _embed(model, lambda size: (2 / size) ** 0.5)


@torch.no_grad()
def dl4mt(model: nn.Module) -> None:
    """Square matrices orthogonal, the others and embeddings N(0, 0.01^2), gate by gate."""
    for gate in _gates(model):
        if gate.shape[0] == gate.shape[1]:
            nn.init.orthogonal_(gate)
        else:
            nn.init.normal_(gate, std=0.01)
    _embed(model, lambda size: 0.01)


@torch.no_grad()
def joeynmt(model: nn.Module) -> None:
    """Glorot gate by gate, embeddings N(0, 0.01^2)."""
    for gate in _gates(model):
        nn.init.xavier_uniform_(gate)
    _embed(model, lambda size: 0.01)


RECIPES: dict[str, Callable[[nn.Module], None]] = {
    "before": before,
    "embeddings only": embeddings_only,
    "readout only": readout_only,
    "unit variance": unit_variance,
    "E^1/8": read_times(0.125),
    "E^3/8": read_times(0.375),
    "E^1/2": read_times(0.5),
    "scaled when read": scaled_when_read,
    "ours": ours,
    "pytorch": pytorch,
    "nmtpytorch": nmtpytorch,
    "dl4mt": dl4mt,
    "joeynmt": joeynmt,
}


def _output(model: nn.Module) -> nn.Linear:
    return model.readout.output if hasattr(model, "readout") else model.output


def _tied(model: nn.Module) -> bool:
    return _output(model).weight is model.target_embedding.weight


def _gates(model: nn.Module) -> Iterator[torch.Tensor]:
    """All matrices but the embeddings'; those of a GRU's gates one by one."""
    for name, matrix in model.named_parameters():
        if matrix.dim() == 2 and not name.endswith("_embedding.weight"):
            yield from matrix.chunk(3) if GATED.search(name) else [matrix]


def _embed(model: nn.Module, deviation: Callable[[int], float]) -> None:
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=deviation(module.embedding_dim))
            module.weight[module.padding_idx].zero_()
