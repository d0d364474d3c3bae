"""Pairing tool calls with their results, in messages of any dialect (``spec/rig.md`` 6). Pure.

Messages are given as JSON or as entries; an entry's ``dialect`` and ``unfinished`` count. What comes back is
in the dialect of what was given.
"""

from convostore.schemas.pairing.grammar import NO_RESULT, Call, CallKey
from convostore.schemas.pairing.model_view import for_model
from convostore.schemas.pairing.pending import answers, close_pending, pending_calls
from convostore.schemas.pairing.repairs import Repaired, faults, pair_messages, repair, validate
from convostore.schemas.pairing.steps import Fault
from convostore.schemas.pairing.windows import matches, may_cut, window_start

__all__ = [
    "NO_RESULT",
    "Call",
    "CallKey",
    "Fault",
    "Repaired",
    "answers",
    "close_pending",
    "faults",
    "for_model",
    "matches",
    "may_cut",
    "pair_messages",
    "pending_calls",
    "repair",
    "validate",
    "window_start",
]
