"""Python's garbage collector runs less often while a command starts, never among imports, and not at all at the end.

By default it scans everything a training imports half a dozen times, a tenth of a second each, and finds no garbage.
"""

import atexit
import gc

_usual: tuple[int, int, int] | None = None
"""The thresholds before `rest`, if it has changed them."""
_asked = False
"""Whether `rest` has been called: counting what is frozen takes longer the more there is, so it is done once."""
_overlooked = False
"""Whether `overlook_imports` has done so."""


def rest() -> None:
    """Collect every 50,000 objects, unless somebody has set the collector otherwise."""
    global _usual, _asked
    if not _asked and gc.isenabled() and gc.get_freeze_count() == 0:
        _usual = gc.get_threshold()
        gc.set_threshold(50_000, 20, 20)
        atexit.register(gc.freeze)
    _asked = True


def overlook_imports() -> None:
    """After `rest` and the imports: what is loaded by now stays to the end, and is not scanned again."""
    global _overlooked
    if _usual is not None and not _overlooked:
        gc.freeze()
        _overlooked = True


def wake() -> None:
    """After `rest`, collect as often as usual: a batch's tensors may be garbage."""
    if _usual is not None:
        gc.set_threshold(*_usual)
