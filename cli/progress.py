"""Progress of work that takes over a second: on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Advance", "progress"]

Advance = Callable[[str], None]
"""Says how far the work is, in a few words."""

_PATIENCE = 1.0


@contextmanager
def progress(title: str) -> Iterator[Advance]:
    """Show on standard error, from the first second on, that the block runs, and how far it is."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(title, console=Console(stderr=True, highlight=False))
    patience = threading.Timer(_PATIENCE, status.start)
    patience.daemon = True
    patience.start()
    try:
        yield lambda text: status.update(f"{title}: {text}")
    finally:
        patience.cancel()
        patience.join()
        status.stop()
