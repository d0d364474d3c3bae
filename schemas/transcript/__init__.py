"""The transcript of a conversation: entries with ids and authors, asides, turns, halt, changes. Pure data."""

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
