"""Writing figures to files, without changing matplotlib's global state."""

import base64
import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unrolled.errors import UserError
from unrolled.files import appearing

if TYPE_CHECKING:  # takes half a second: only commands that draw load it
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

MARGIN = 0.08
"""Around a picture, in inches."""
FORMATS = ("png", "pdf")
"""The formats in which a picture can be saved."""


def picture_formats(choice: str | Iterable[str]) -> list[str]:
    """One of `FORMATS` or several, as a list; UserError for others."""
    formats = [choice] if isinstance(choice, str) else list(choice)
    if not formats or set(formats) - set(FORMATS):
        raise UserError(f"formats=[{','.join(formats)}]: give one or several of {', '.join(FORMATS)}: '[png,pdf]'")
    return formats


def save_figure(figure: "Figure", path: Path) -> None:
    """Write ``figure`` to ``path``, whose suffix is one of `FORMATS`.

    A reader sees the old file or the new one, never half of it. A PDF is vector graphics with embedded fonts.
    """
    with appearing(path) as partial:
        _draw(figure, partial, path.suffix[1:])


def png(figure: "Figure") -> bytes:
    """``figure`` as the bytes of a PNG file."""
    content = io.BytesIO()
    _draw(figure, content, "png")
    return content.getvalue()


def embedded(picture: bytes) -> str:
    """A PNG file as part of an HTML page."""
    return (
        f'<img src="data:image/png;base64,{base64.b64encode(picture).decode("ascii")}" alt="" style="max-width:100%">'
    )


def _draw(figure: "Figure", to: Path | io.BytesIO, form: str) -> None:
    from matplotlib import rc_context

    embedded_fonts = rc_context({"pdf.fonttype": 42})  # TrueType, which publishers accept
    with without_remarks(), embedded_fonts:
        # in a PDF only the cells are pixels
        dpi = 600 if form == "pdf" else "figure"
        figure.savefig(to, format=form, dpi=dpi, bbox_inches=_bounds(figure), pad_inches=MARGIN)


def _bounds(figure: "Figure") -> "Bbox | str":
    """What is drawn, with a margin, in inches. matplotlib finds it by drawing everything once more, for the layout."""
    if figure.get_layout_engine() is not None:
        return "tight"
    return figure.get_tightbbox(renderer(figure)).padded(MARGIN)


def renderer(figure: "Figure") -> Any:
    """What can measure the texts of ``figure``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]


@contextmanager
def without_remarks() -> Iterator[None]:
    """matplotlib measures and draws characters that no font has as boxes, and does not say so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # visible as a box in its place
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        yield
