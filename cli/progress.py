"""Progress of work that may take over a second: on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Advance", "progress"]

Advance = Callable[[str], None]
"""Says how far the work is, in a few words."""

_PATIENCE = 1.0
_BETWEEN = 0.1


@contextmanager
def progress(title: str) -> Iterator[Advance]:
    """Show how far it is on standard error while the block runs, from the first second on."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(title, console=Console(stderr=True, highlight=False))
    began = last = time.monotonic()
    shown = False

    def advance(text: str) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if now - last < _BETWEEN:
            return
        last = now
        if not shown and now - began >= _PATIENCE:
            status.start()
            shown = True
        if shown:
            status.update(f"{title}: {text}")

    try:
        yield advance
    finally:
        if shown:
            status.stop()
