"""Attention weights as a heat map."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from unrolled.figures.fonts import drawable, fonts_for
from unrolled.figures.formats import renderer, without_remarks

CELL = 0.24
"""The height of a row and width of a column, in inches."""
LARGEST = 40.0
"""The longest side of a heat map, in inches; beyond about 170 pieces the cells shrink."""
NAME = 9
"""The size of the names of the axes, in points."""
GAP = 0.1
"""Between the pieces and the name of their axis, in inches."""
BAR = (0.12, 1.1)
"""Width and height of the scale of greys, in inches."""


def alignment_figure(
    source: Sequence[str],
    target: Sequence[str],
    weights: npt.ArrayLike,
    links: Iterable[tuple[int, int]] | None = None,
    title: str | None = None,
    possible: Iterable[tuple[int, int]] = (),
    target_name: str = "target",
) -> Figure:
    """Attention weights ``(T, S)`` in grey, 1 is black: ``source`` pieces on top, ``target`` pieces on the left.

    ``links`` are known (source, target) positions, drawn as red circles; those only in ``possible`` are dotted.
    target_name: what the target is, such as a translation.
    ValueError if shape and pieces do not match.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(target), len(source)) or weights.size == 0:
        raise ValueError(f"weights of shape {weights.shape} for {len(target)} target and {len(source)} source pieces")
    cell = min(CELL, LARGEST / max(weights.shape))
    figure = Figure(figsize=(cell * len(source), cell * len(target)), dpi=120)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    image = axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")

    # parse_math: a dollar sign is a dollar sign
    fonts = fonts_for([*source, *target, title or ""])
    text: dict[str, Any] = {"family": fonts, "fontsize": 72 * cell * 0.52, "parse_math": False}
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(source)), [drawable(piece, fonts) for piece in source], rotation=90, **text)
    axes.set_yticks(range(len(target)), [drawable(piece, fonts) for piece in target], **text)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("source", fontsize=NAME, color="0.35")
    axes.set_ylabel(target_name, fontsize=NAME, color="0.35")
    axes.tick_params(length=0)
    border: dict[str, Any] = {"color": "0.9", "linewidth": 0.5, "zorder": 1.5}  # below circles
    axes.vlines(np.arange(0.5, len(source) - 1), 0, 1, transform=axes.get_xaxis_transform(), **border)
    axes.hlines(np.arange(0.5, len(target) - 1), 0, 1, transform=axes.get_yaxis_transform(), **border)
    sure = set(links or ())
    circles = []
    for positions, line, name in (
        (sure, "solid", "known link"),
        (set(possible) - sure, "dotted", "possible link (dotted)"),
    ):
        if positions:
            circles.append(Line2D([], [], linestyle="none", marker="$\u25cb$", color="red", label=name))
            x, y = np.array(sorted(positions), dtype=np.float64).T
            size = (72 * cell * 0.6) ** 2  # scatter's sizes are areas in points
            axes.scatter(x, y, s=size, facecolors="none", edgecolors="red", linewidths=1.2, linestyles=line)
    if circles:
        below = (0.0, -0.08 / (cell * len(target)))
        axes.legend(handles=circles, loc="upper left", bbox_to_anchor=below, frameon=False, fontsize=8, borderpad=0)
    _scale(axes, image, width=cell * len(source), height=cell * len(target))
    top = _place_names(axes, figure, width=cell * len(source), height=cell * len(target))
    if title is not None:
        axes.set_title(drawable(title, fonts), loc="left", y=top, fontsize=10, family=fonts, parse_math=False)
    return figure


def _place_names(axes: Axes, figure: Figure, *, width: float, height: float) -> float:
    """Put the names of the axes beyond the pieces; returns where there is room for a title, as a part of the height.

    matplotlib would measure all pieces again for each of them, and again whenever it draws.
    """
    measure = renderer(figure)
    with without_remarks():
        above, left = (
            GAP + max(label.get_window_extent(measure).size[side] for label in labels) / figure.dpi
            for side, labels in ((1, axes.get_xticklabels()), (0, axes.get_yticklabels()))
        )
    axes.xaxis.set_label_coords(0.5, 1 + above / height)
    axes.yaxis.set_label_coords(-left / width, 0.5)
    return 1 + (above + NAME * 1.4 / 72) / height


def _scale(axes: Axes, image: AxesImage, *, width: float, height: float) -> None:
    """The scale of greys, to the right of a matrix of this size in inches."""
    bar = axes.inset_axes((1 + 0.15 / width, 1 - BAR[1] / height, BAR[0] / width, BAR[1] / height))
    axes.figure.colorbar(image, cax=bar, ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=7, length=2, pad=2)
    bar.set_title("weight", fontsize=7, loc="left", y=1, pad=7)
