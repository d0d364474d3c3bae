"""Calls that are the last thing a process does."""

from __future__ import annotations

import os
import signal

from convostore.store import ConversationStore
from support.calls import CALLS, Subject


def call_and_die(store: ConversationStore, name: str, subject: Subject) -> None:
    """Make the call of :data:`support.calls.CALLS`; having its answer, end without a word."""
    CALLS[name].act(store, subject)
    os.kill(os.getpid(), signal.SIGKILL)


def create_and_die(store: ConversationStore, subject: Subject) -> None:
    """Create the subject's record and end so."""
    store.create(subject.held)
    os.kill(os.getpid(), signal.SIGKILL)
