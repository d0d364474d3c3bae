"""Conversations of LLM agents in MongoDB. No terminal."""

from convostore.schemas.errors import *  # noqa: F403  # the whole tree, under the names it has there
from convostore.schemas.errors import __all__ as _errors
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.asynchronous.users import AsyncUserStore
from convostore.store.capabilities import CAPABILITIES
from convostore.store.columns import to_arrow
from convostore.store.exchanging import ExportReport, ImportReport, Problem
from convostore.store.figures import (
    ConversationsRow,
    DurationsRow,
    FailuresRow,
    HeatRow,
    MessagesRow,
    QueuesRow,
    ReasonCount,
    SeriesRow,
    StatusRow,
    TopRow,
    UsageRow,
    UsersRow,
    WaitingRow,
    members_of,
)
from convostore.store.migrations.reports import MigrationReport, MigrationStatus, Refusal, StepStatus
from convostore.store.parameters import ALL_USERS, UNSET
from convostore.store.results import (
    Appended,
    Change,
    CheckReport,
    Collected,
    ConversationHead,
    Deleted,
    Finding,
    Queued,
    Rewritten,
    Saved,
    SetupReport,
)
from convostore.store.synchronous.store import ConversationStore
from convostore.store.synchronous.users import UserStore
from convostore.store.timeline import Revision

__all__ = [
    "ALL_USERS",
    "CAPABILITIES",
    "UNSET",
    "Appended",
    "AsyncConversationStore",
    "AsyncUserStore",
    "Change",
    "CheckReport",
    "Collected",
    "ConversationHead",
    "ConversationStore",
    "ConversationsRow",
    "Deleted",
    "DurationsRow",
    "ExportReport",
    "FailuresRow",
    "Finding",
    "HeatRow",
    "ImportReport",
    "MessagesRow",
    "MigrationReport",
    "MigrationStatus",
    "Problem",
    "Queued",
    "QueuesRow",
    "ReasonCount",
    "Refusal",
    "Revision",
    "Rewritten",
    "Saved",
    "SeriesRow",
    "SetupReport",
    "StatusRow",
    "StepStatus",
    "TopRow",
    "UsageRow",
    "UserStore",
    "UsersRow",
    "WaitingRow",
    "members_of",
    "to_arrow",
    *_errors,
]
