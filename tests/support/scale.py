"""The size of heavy tests: ``CONVOSTORE_SCALE`` times the size that the requirement names (design 10)."""

from __future__ import annotations

import os

import pytest

SCALE = float(os.environ.get("CONVOSTORE_SCALE", "0.02"))


def scaled(full: int, *, at_least: int) -> int:
    """``full`` times the scale; with fewer than ``at_least`` left the test would show nothing, and fails."""
    size = round(full * SCALE)
    if size < at_least:
        pytest.fail(f"CONVOSTORE_SCALE={SCALE} leaves {size} of {full}: below {at_least} the test is trivial")
    return size
