"""What a picture must show is asked of the figure's parts; that it can be seen, of its pixels."""

import io
import os

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from unrolled.errors import UserError
from unrolled.figures.curves import curves_figure
from unrolled.figures.formats import MARGIN, picture_formats, png, renderer, save_figure
from unrolled.figures.heat_map import alignment_figure

CURVES = """epoch,step,train/loss,val/loss,val/perplexity,val/bleu,val/aer,test/bleu
0,9,5.5,,,,,
0,19,4.5,,,,,
0,19,,4.0,54.6,1.5,,
1,29,nan,,,,,
1,39,,3.5,inf,12.25,0.25,
1,9,,,,0.5,,
1,39,,,,,,13.0
"""


def pixels(path):
    return np.round(matplotlib.image.imread(path)[..., :3] * 255).astype(int)


def random_figure(target_length, source_length, **options):
    weights = np.random.default_rng(3).dirichlet(np.full(source_length, 0.1), size=target_length)
    source = [f"source{i}" for i in range(source_length)]
    target = [f"target{i}" for i in range(target_length)]
    return alignment_figure(source, target, weights, **options)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_source_is_on_top_target_on_the_left_weights_in_greys():
    weights = np.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], dtype=np.float32)
    figure = alignment_figure(["a", "b", "</s>"], ["x", "y"], weights, title="line 1")
    (axes,) = figure.axes
    assert labels(axes.xaxis) == ["a", "b", "</s>"]
    assert labels(axes.yaxis) == ["x", "y"]
    assert axes.xaxis.get_ticks_position() == "top"
    assert axes.get_title(loc="left") == "line 1"
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), weights)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first target piece is at the top
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)  # the same grey is the same weight in every picture
    shades = image.cmap(image.norm(weights))[..., :3]
    assert shades[0, 0].tolist() == [1, 1, 1]
    assert shades[1, 0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(shades.max(axis=2), shades.min(axis=2), atol=0.01)


def test_a_heat_map_names_its_axes_its_greys_and_its_circles():
    figure = random_figure(5, 7, links={(6, 0)}, possible={(1, 1)}, target_name="reference")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("source", "reference")
    (scale,) = axes.child_axes
    assert scale.get_title(loc="left") == "weight"
    assert labels(scale.yaxis) == ["0.0", "0.5", "1.0"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["known link", "possible link (dotted)"]
    assert random_figure(5, 7).axes[0].get_legend() is None


def test_known_links_are_red_circles_at_their_places(tmp_path):
    plain, linked = tmp_path / "plain.png", tmp_path / "linked.png"
    save_figure(random_figure(5, 7), plain)
    figure = random_figure(5, 7, links={(6, 0), (2, 3)})
    (circles,) = (one for one in figure.axes[0].collections if isinstance(one, PathCollection))
    assert sorted(circles.get_offsets().tolist()) == [[2, 3], [6, 0]]
    save_figure(figure, linked)

    def red(image):
        return ((image[..., 0] > 200) & (image[..., 1:].max(axis=-1) < 60)).any()

    assert not red(pixels(plain))
    assert red(pixels(linked))
    save_figure(random_figure(5, 7, links=set()), linked)
    assert not red(pixels(linked))


def test_links_that_are_only_possible_are_dotted():
    figure = random_figure(5, 7, links={(6, 0)}, possible={(6, 0), (2, 3), (1, 1)})
    sure, possible = (one for one in figure.axes[0].collections if isinstance(one, PathCollection))
    assert sure.get_offsets().tolist() == [[6, 0]]
    assert possible.get_offsets().tolist() == [[1, 1], [2, 3]]
    assert [circles.get_linestyle()[0][1] is None for circles in (sure, possible)] == [True, False]


def test_a_pdf_is_a_drawing_with_its_fonts_inside(tmp_path):
    figure = random_figure(5, 7, links={(6, 0), (2, 3)}, title="Zeile 1 μ")
    save_figure(figure, tmp_path / "a.pdf")
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    assert matplotlib.rcParams["pdf.fonttype"] == matplotlib.rcParamsDefault["pdf.fonttype"]


@pytest.mark.parametrize("given", ["bmp", ["png", "jpg"], []])
def test_formats_are_those_that_there_are(given):
    assert picture_formats("pdf") == ["pdf"]
    assert picture_formats(["png", "pdf"]) == ["png", "pdf"]
    with pytest.raises(UserError, match=r"formats=\[.*\]: give one or several of png, pdf"):
        picture_formats(given)


@pytest.mark.parametrize(("target_length", "source_length"), [(1, 1), (5, 7), (61, 59)])
def test_names_and_title_are_beyond_the_pieces(target_length, source_length):
    figure = random_figure(target_length, source_length, title="line 1")
    axes, measure = figure.axes[0], renderer(figure)
    above = max(label.get_window_extent(measure).y1 for label in axes.get_xticklabels())
    left = min(label.get_window_extent(measure).x0 for label in axes.get_yticklabels())
    source, target = (axis.label.get_window_extent(measure) for axis in (axes.xaxis, axes.yaxis))
    title = axes._left_title.get_window_extent(measure)
    assert above < source.y0 < above + 0.2 * figure.dpi
    assert left > target.x1 > left - 0.2 * figure.dpi
    assert source.y1 < title.y0 < source.y1 + 0.2 * figure.dpi


def test_a_picture_has_the_bounds_of_all_that_is_drawn():
    """Those that matplotlib finds by drawing it once more."""
    figure = random_figure(5, 7, links={(6, 0)}, title="a title that is longer than the matrix is wide")
    tight = io.BytesIO()
    figure.savefig(tight, format="png", dpi="figure", bbox_inches="tight", pad_inches=MARGIN)
    assert png(figure) == tight.getvalue()


@pytest.mark.parametrize(("target_length", "source_length"), [(1, 1), (5, 7), (61, 59), (3, 41)])
def test_every_piece_has_room_for_its_label(target_length, source_length):
    figure = random_figure(target_length, source_length)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    for ticks, length, side in ((axes.get_xticklabels(), source_length, 0), (axes.get_yticklabels(), target_length, 1)):
        room = figure.get_size_inches()[side] * figure.dpi / length
        extents = [tick.get_window_extent().size[side] for tick in ticks]
        assert max(extents) <= room  # neighbours do not overlap
        assert min(extents) >= 10  # pixels: legible


def test_a_picture_of_a_very_long_sentence_stays_within_bounds(tmp_path):
    save_figure(random_figure(3, 700), tmp_path / "long.png")
    assert max(pixels(tmp_path / "long.png").shape) < 6000


def test_strange_pieces_are_drawn_without_complaint_and_literally(tmp_path):
    pieces = ["▁$x$", "$\\frac{$", "中文", "हिन्दी", "עברית", "\u0007", "𓀀", "_a^b", "&amp;", "", " "]
    figure = alignment_figure(pieces, pieces, np.eye(len(pieces)), title="costs 5$ to 6$")
    save_figure(figure, tmp_path / "strange.png")  # warnings are errors
    assert labels(figure.axes[0].xaxis)[:2] == ["▁$x$", "$\\frac{$"]
    assert pixels(tmp_path / "strange.png").min() == 0


def test_weights_must_fit_the_pieces():
    with pytest.raises(ValueError, match=r"\(3, 2\) for 2 target and 3 source"):
        alignment_figure(["a", "b", "c"], ["x", "y"], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="0 target"):
        alignment_figure(["a"], [], np.zeros((0, 1)))


def curves(figure):
    return {
        axes.get_title(): {line.get_label(): line.get_xydata().tolist() for line in axes.lines} for axes in figure.axes
    }


def test_curves_are_drawn_where_there_are_values(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text(CURVES)
    figure = curves_figure(path, "cgru_$1$")
    assert figure.get_suptitle() == "cgru_$1$"
    assert curves(figure) == {
        "loss (nats a token)": {"train": [[9, 5.5], [19, 4.5]], "val": [[19, 4.0], [39, 3.5]]},
        "perplexity": {"val": [[19, 54.6]]},
        "BLEU": {"val": [[9, 0.5], [19, 1.5], [39, 12.25]]},
        "AER (0 to 1)": {"val": [[39, 0.25]]},
    }
    save_figure(figure, tmp_path / "curves.png")
    assert pixels(tmp_path / "curves.png").shape[1] > 900


@pytest.mark.parametrize("text", ["", "epoch,step\n", "epoch,step,val/bleu\n0,1,\n", "lr\n0.5\n"])
def test_without_values_the_picture_is_empty(tmp_path, text):
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    figure = curves_figure(path)
    assert curves(figure) == {"loss (nats a token)": {}}
    save_figure(figure, tmp_path / "curves.png")


def test_a_language_model_has_no_bleu_panel(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("step,train/loss,val/loss,val/perplexity\n3,2.5,,\n3,,2.25,9.5\n")
    assert list(curves(curves_figure(path))) == ["loss (nats a token)", "perplexity"]


def test_five_panels_are_drawn_in_two_rows_without_an_empty_one(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("step,val/loss,val/perplexity,val/word_error_rate,val/bleu,val/aer\n3,2.5,9.5,40.0,1.5,0.25\n")
    figure = curves_figure(path)
    assert curves(figure)["word error rate (%)"] == {"val": [[3, 40.0]]}
    assert len(figure.axes) == len(curves(figure)) == 5
    save_figure(figure, tmp_path / "curves.png")


def test_saving_replaces_the_file_whole_or_not_at_all(tmp_path):
    path = tmp_path / "figures" / "val-1.png"
    save_figure(random_figure(2, 3), path)
    before = path.read_bytes()
    assert before[:8] == b"\x89PNG\r\n\x1a\n"
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode

    class Breaks(Figure):
        def savefig(self, file, **options):
            file.write_bytes(b"half")
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        save_figure(Breaks(), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["val-1.png"]
    save_figure(random_figure(3, 2), path)
    assert path.read_bytes() != before
