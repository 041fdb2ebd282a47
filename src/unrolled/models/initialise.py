"""Initial values of parameters."""

import torch
from torch import nn


@torch.no_grad()
def initialise(model: nn.Module, *, output: nn.Linear, tied: nn.Embedding | None = None, orthogonal: bool) -> None:
    """Fill all parameters of ``model``, in a fixed order, from torch's global random state.

    A word's input has variance 1 per unit, and the output distinguishes words from the first step on:

    * embeddings: N(0, 1), PyTorch's default;
    * ``output``, the last map, from R hidden units to the vocabulary: N(0, 1/R). Glorot's variance 2/(R + V) would be
      hundreds of times smaller, less than ten steps of Adam change it: the rows of all words would soon be the same;
    * ``tied``, an embedding of size E that is also the output's matrix: N(0, E^-1/2), between the two;
    * other matrices: Glorot uniform; biases zero.

    ``orthogonal``: every square recurrent block is a random orthogonal matrix (Saxe et al. 2014; dl4mt's
    ``ortho_weight``), which preserves norms. Tie weights after this, not before.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.25 if module is tied else 1.0)
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


def _fill_matrix(weight: torch.Tensor, *, recurrent: bool, orthogonal: bool) -> None:
    rows, columns = weight.shape
    blocks = weight.split(columns) if recurrent and rows % columns == 0 else [weight]
    for block in blocks:
        if recurrent and orthogonal:
            nn.init.orthogonal_(block)
        else:
            nn.init.xavier_uniform_(block)
