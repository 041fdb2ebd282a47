"""Initial values of parameters."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


@torch.no_grad()
def initialise(
    model: nn.Module,
    *,
    output: nn.Linear,
    tied: nn.Embedding | None = None,
    read_by: Sequence[Callable[[Tensor], Tensor]] = (),
    orthogonal: bool,
) -> None:
    """Fill all parameters of ``model``, in a fixed order, from torch's global random state.

    A word's input has variance 1 per unit, and the output distinguishes words from the first step on:

    * embeddings: N(0, 1), PyTorch's default;
    * ``output``, the last map, from R hidden units to the vocabulary: N(0, 1/R). Glorot's variance 2/(R + V) would be
      hundreds of times smaller, less than ten steps of Adam change: the rows of all words would soon be the same;
    * ``tied``, an embedding of size E that is also the output's matrix: as the output, N(0, 1/E). The linear maps that
      read it, those that the functions ``read_by`` apply to an embedding, are sqrt(E) times as large in return, so that
      the model begins as the same function, in distribution, as one with two matrices;
    * other matrices: Glorot uniform; biases zero.

    ``orthogonal``: every square recurrent block is a random orthogonal matrix (Saxe et al. 2014; dl4mt's
    ``ortho_weight``), which preserves norms. Tie weights after this, not before.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5 if module is tied else 1.0)
            if module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
        elif isinstance(module, nn.Linear):
            if module is output:
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
            else:
                recurrent = "recurrent" in name.rsplit(".", 1)[-1]
                _fill_matrix(module.weight, recurrent=recurrent, orthogonal=orthogonal)
            if module.bias is not None:
                module.bias.zero_()
        elif isinstance(module, nn.GRU):
            for parameter_name, parameter in module.named_parameters():
                if parameter_name.startswith("bias"):
                    parameter.zero_()
                else:
                    _fill_matrix(parameter, recurrent=parameter_name.startswith("weight_hh"), orthogonal=orthogonal)
    if tied is not None:
        for reader in _readers(model, tied, read_by):
            reader.weight *= tied.embedding_dim**0.5


def _readers(
    model: nn.Module, embedding: nn.Embedding, functions: Sequence[Callable[[Tensor], Tensor]]
) -> list[nn.Linear]:
    """The linear maps of ``model`` that ``functions`` apply to an embedding itself."""
    vector = torch.zeros(1, embedding.embedding_dim)
    maps: list[nn.Linear] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if isinstance(module, nn.Linear) and inputs[0] is vector:
            maps.append(module)

    hooks = [module.register_forward_pre_hook(note) for module in model.modules()]
    for function in functions:
        function(vector)
    for hook in hooks:
        hook.remove()
    return maps


def _fill_matrix(weight: torch.Tensor, *, recurrent: bool, orthogonal: bool) -> None:
    rows, columns = weight.shape
    blocks = weight.split(columns) if recurrent and rows % columns == 0 else [weight]
    for block in blocks:
        if recurrent and orthogonal:
            nn.init.orthogonal_(block)
        else:
            nn.init.xavier_uniform_(block)
