"""Generated values on a busy machine: an example may take as long as it takes."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("convostore", deadline=None)
settings.load_profile("convostore")
