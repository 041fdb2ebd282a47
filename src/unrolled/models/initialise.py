"""Initial values of parameters."""

import torch
from torch import nn


@torch.no_grad()
def initialise(model: nn.Module, *, orthogonal: bool) -> None:
    """Fill all parameters of ``model``, in a fixed order, from torch's global random state.

    Matrices: Glorot uniform; embeddings: normal with standard deviation size^-1/2; biases zero. ``orthogonal``: every
    square recurrent block is a random orthogonal matrix (Saxe et al. 2014; dl4mt's ``ortho_weight``), which neither
    shrinks nor grows what passes through it. Tie weights after this, not before.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            if module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
        elif isinstance(module, nn.Linear):
            _fill_matrix(module.weight, recurrent="recurrent" in name.rsplit(".", 1)[-1], orthogonal=orthogonal)
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
