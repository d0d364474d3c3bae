"""Pure data of Convostore: models, identifiers, dialects, diff, conversion, formats. No driver, no I/O."""

from convostore.schemas.anda_records import (
    AndaDelta,
    AndaNotice,
    AndaOptions,
    AndaRecord,
    AndaRefused,
    anda_records,
    read_anda,
)
from convostore.schemas.authors import Author
from convostore.schemas.conversations import (
    Conversation,
    ConversationDelta,
    ConversationState,
    ConversationStatus,
    period_of,
)
from convostore.schemas.cursors import decode_cursor, encode_cursor
from convostore.schemas.dialects import (
    DIALECTS,
    Call,
    Dialect,
    MessageView,
    Result,
    dialect_of,
    message_of,
    view,
)
from convostore.schemas.documents import Document, Documents
from convostore.schemas.entries import Entry, Page, Source
from convostore.schemas.identifiers import Principal, Xid, check_label, check_thread, check_u64, check_user
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.messages import (
    ActionPart,
    AnyPart,
    FileDataPart,
    InlineDataPart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    parse_message,
)
from convostore.schemas.resources import Resource, select_resources
from convostore.schemas.usage import Usage

__all__ = [
    "DIALECTS",
    "JSON",
    "ActionPart",
    "AndaDelta",
    "AndaNotice",
    "AndaOptions",
    "AndaRecord",
    "AndaRefused",
    "AnyPart",
    "Author",
    "Call",
    "Conversation",
    "ConversationDelta",
    "ConversationState",
    "ConversationStatus",
    "Dialect",
    "Document",
    "Documents",
    "Entry",
    "FileDataPart",
    "InlineDataPart",
    "Message",
    "MessageView",
    "Page",
    "Part",
    "Principal",
    "ReasoningPart",
    "Resource",
    "Result",
    "Source",
    "TextPart",
    "ToolCallPart",
    "ToolOutputPart",
    "Usage",
    "Xid",
    "anda_records",
    "check_label",
    "check_thread",
    "check_u64",
    "check_user",
    "decode_cursor",
    "dialect_of",
    "encode_cursor",
    "message_of",
    "parse_message",
    "period_of",
    "read_anda",
    "same_json",
    "select_resources",
    "view",
]
