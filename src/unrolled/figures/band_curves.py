"""A score over source length or amount of reordering, like Figure 2 of Bahdanau et al. 2015, with bands."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from unrolled.metrics.bands import Band

# Okabe & Ito 2008, "Color Universal Design": distinguishable by the colour-blind; dark ones first
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
LETTERS = 80
"""The most letters in a line of the legend."""


def bands_figure(bands: Mapping[str, Sequence[Band]], *, label: str, score: str = "BLEU") -> Figure:
    """One line per system: the score of every group of sentences, at its center, with the band shaded.

    ``label`` names the numbers of the sentences, ``score`` the score. Colours, markers and dashes all differ,
    for printing in grey.
    """
    columns = min(len(bands), 4, max(1, LETTERS // (max(map(len, bands)) + 8)))
    rows = -(-len(bands) // columns)
    figure = Figure(figsize=(5.6, 3.5 + 0.19 * rows), dpi=200, layout="constrained")
    axes = figure.subplots()
    for place, (name, points) in enumerate(bands.items()):
        color = COLORS[place % len(COLORS)]
        centers = [band.center for band in points]
        lower, upper = [band.lower for band in points], [band.upper for band in points]
        axes.fill_between(centers, lower, upper, color=color, alpha=0.13, linewidth=0)
        axes.plot(
            centers,
            [band.score for band in points],
            color=color,
            label=name,
            linestyle=DASHES[place % len(DASHES)],
            linewidth=1.6,
            marker=MARKERS[place % len(MARKERS)],
            markersize=5.5,
            markerfacecolor="white" if place % 2 else color,
        )
    figure.legend(loc="outside upper center", ncols=columns, frameon=False, fontsize=8, handlelength=4)
    groups = next(iter(bands.values()))
    axes.set_xticks([band.center for band in groups], [f"{band.interval}\n{band.sentences}" for band in groups])
    axes.tick_params(axis="x", labelsize=7.5)
    left = ScaledTranslation(-6 / 72, -19.5 / 72, figure.dpi_scale_trans)  # left of the labels' second line
    axes.text(0, 0, "n", transform=axes.transAxes + left, ha="right", va="center", fontsize=7.5, style="italic")
    axes.set_xlabel(label)
    axes.set_ylabel(score)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a dollar sign is a dollar sign
    return figure
