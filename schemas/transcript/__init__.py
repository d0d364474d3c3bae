"""The transcript of a conversation: entries with ids and authors, asides, turns, halt, changes. Pure data.

What ``spec/rig.md`` leaves open is settled so (its questions of section 9 in brackets):

- A state's JSON has ``entries``, ``asides``, ``halt``, ``next_entry``, ``next_aside``; unknown members are
  ignored, absent and null mean the same, a cleared halt and a removed aside have no member (Q1, Q2).
- ``Spliced`` has ``restored``, ``removed`` and ``added``; what does not fit is ``MismatchError`` (Q3).
- ``turn_start`` does not look through a failed reply; an unfinished reply is read by no model (Q4).
- ``by`` is written for a splice by rig, not for halts and turn records (Q5).
- Message ids are written ``m4``, message keys ``{"id": 4, "made": 1790848800000}`` (Q6).
- ``pending_calls`` goes by id and does not look at the stop reason (Q7).
- A view keeps lineage and revision (Q8); ``Transcript(messages)`` begins from nothing, with one push (Q9).
- Replies side by side are a fault unless their known origins, or their failure, differ (0.47.1).
- Asides stand in the order of their ids; after rereading, new ones get ids above those that were kept.
- STOPPED and made-up results speak the dialect of the message they stand by. A made-up result goes into the
  next user entry where results are parts of user messages, else into an entry by rig before it.
- An int position is the entry there; negative ones count from the end, as in a list.
- Turn ends are written in the form of 0.45; the members of later releases are kept and written back.
"""

from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.changes import (
    AsideChange,
    Change,
    ChangeRecord,
    Halt,
    HaltChange,
    PushChange,
    ResetChange,
    SpliceChange,
)
from convostore.schemas.transcript.entries import (
    AnyEntry,
    EntryRef,
    MessageKey,
    NewEntry,
    message_id_text,
    parse_message_id,
)
from convostore.schemas.transcript.lineage import DETACHED, EMPTY
from convostore.schemas.transcript.lineage import fresh as fresh_lineage
from convostore.schemas.transcript.normalizing import Normalized
from convostore.schemas.transcript.splicing import Spliced
from convostore.schemas.transcript.state import State
from convostore.schemas.transcript.transcript import Transcript
from convostore.schemas.transcript.turns import TurnEnd, TurnRecord

__all__ = [
    "DETACHED",
    "EMPTY",
    "AnyEntry",
    "Aside",
    "AsideChange",
    "Change",
    "ChangeRecord",
    "EntryRef",
    "Halt",
    "HaltChange",
    "MessageKey",
    "NewEntry",
    "Normalized",
    "PushChange",
    "ResetChange",
    "SpliceChange",
    "Spliced",
    "State",
    "Transcript",
    "TurnEnd",
    "TurnRecord",
    "fresh_lineage",
    "message_id_text",
    "parse_message_id",
]
