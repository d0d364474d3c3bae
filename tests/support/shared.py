"""Files of the shared material, for tests marked ``shared``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("CONVOSTORE_SHARED", Path(__file__).parents[3] / "shared"))


def shared(path: str) -> Path:
    """The shared file; without it the test is skipped, or fails under CONVOSTORE_REQUIRE_SHARED=1."""
    file = SHARED / path
    if not file.exists():
        reason = f"needs the shared material, and {file} is not there (CONVOSTORE_SHARED)"
        if os.environ.get("CONVOSTORE_REQUIRE_SHARED") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return file
