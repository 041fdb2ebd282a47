"""Initial values of parameters."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn


@torch.no_grad()
def initialise(
    model: nn.Module,
    *,
    output: nn.Linear,
    embedding_size: int,
    read_by: Iterable[Callable[[Tensor], object]],
    orthogonal: bool,
) -> None:
    """Fill all parameters of ``model``, in a fixed order, from torch's global random state.

    Adam changes every number by at most about the learning rate in an update, whatever its size. What has to be learned
    for each word alone should therefore begin small, and still be seen; docs/training.md has the measurements.

    * embeddings of size E: N(0, 1/E), vectors of norm 1;
    * the maps that read an embedding, those that the functions ``read_by`` apply to a vector ``(1, E)``: E^(1/4) times
      as large as Glorot's, between vectors of norm 1 and units of variance 1;
    * ``output``, the last map, from R hidden units to the vocabulary: N(0, 1/R), as an embedding, with which it may be
      tied. Glorot's variance 2/(R + V) would be hundreds of times smaller, less than ten steps of Adam change: the rows
      of all words would soon be the same;
    * other matrices: Glorot uniform; biases zero.

    ``orthogonal``: every square recurrent block is a random orthogonal matrix (Saxe et al. 2014; dl4mt's
    ``ortho_weight``), which preserves norms. Tie weights after this, not before.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
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
    for matrix in matrices_that_read(model, embedding_size, read_by):
        matrix *= embedding_size**0.25


def matrices_that_read(model: nn.Module, size: int, functions: Iterable[Callable[[Tensor], object]]) -> list[Tensor]:
    """The matrices of ``model`` that ``functions`` apply to an embedding itself."""
    embedding = torch.arange(1.0, size + 1)  # nothing that is computed from it is the same
    readers: list[nn.Module] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if isinstance(module, nn.Linear | nn.RNNBase) and module not in readers:
            values = inputs[0].data  # of a tensor or of packed sentences
            if values.numel() % size == 0 and bool((values.reshape(-1, size) == embedding).all()):
                readers.append(module)

    hooks = [module.register_forward_pre_hook(note) for module in model.modules()]
    training = model.training
    model.eval()  # dropout would draw random numbers
    for function in functions:
        function(embedding.unsqueeze(0))
    model.train(training)
    for hook in hooks:
        hook.remove()
    first_layer = ("weight", "weight_ih_l0", "weight_ih_l0_reverse")
    return [matrix for reader in readers for name, matrix in reader.named_parameters() if name in first_layer]


def _fill_matrix(weight: torch.Tensor, *, recurrent: bool, orthogonal: bool) -> None:
    rows, columns = weight.shape
    blocks = weight.split(columns) if recurrent and rows % columns == 0 else [weight]
    for block in blocks:
        if recurrent and orthogonal:
            nn.init.orthogonal_(block)
        else:
            nn.init.xavier_uniform_(block)
