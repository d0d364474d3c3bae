"""Compaction: older messages of a transcript replaced by a summary, and put back (``spec/rig.md`` 7.8). Pure.

Two steps, as the summary itself is a model's: :func:`prepare_compaction` says what to summarise,
:func:`apply_summary` puts the summary in its place by one splice, which is the whole record of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convostore.schemas.authors import Author
from convostore.schemas.dialects import view
from convostore.schemas.errors import MismatchError
from convostore.schemas.json_values import JSON, dump_text, same_json
from convostore.schemas.pairing import may_cut, pending_calls
from convostore.schemas.transcript import ChangeRecord, EntryRef, NewEntry, SpliceChange, Spliced, Transcript

__all__ = [
    "SUMMARY_AUTHOR",
    "Compaction",
    "apply_summary",
    "is_summary",
    "prepare_compaction",
    "summary_state",
    "tokens_of",
    "undo_summary",
]

SUMMARY_AUTHOR = Author.plugin("compact")
"""Who writes summaries, and by whom they are recognised."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a summary is to be made of.

    ``replaces`` are the first messages, earlier summaries among them, exactly as :func:`apply_summary` wants
    them; ``state`` is the summary so far, which the new one updates; ``messages`` are those not covered yet.
    """

    replaces: list[JSON]
    state: str | None
    messages: list[JSON]


def tokens_of(message: JSON) -> int:
    """A rough count of a message's tokens: a quarter of the characters of its JSON, rounded up."""
    return -(-len(dump_text(message)) // 4)


def is_summary(entry: EntryRef) -> bool:
    """Whether the entry is a summary."""
    author = entry.author
    return author is not None and author.kind == "plugin" and author.name == SUMMARY_AUTHOR.name


def summary_state(transcript: Transcript) -> str | None:
    """The text of the newest of the leading summaries; none before any."""
    leading = _leading(transcript.entries())
    return "\n\n".join(view(leading[-1].message, leading[-1].dialect).texts) if leading else None


def _leading(entries: Sequence[EntryRef]) -> list[EntryRef]:
    count = next((place for place, entry in enumerate(entries) if not is_summary(entry)), len(entries))
    return list(entries[:count])


def prepare_compaction(
    transcript: Transcript, keep_recent_tokens: int, *, overflowed: bool = False
) -> Compaction | None:
    """What to summarise so that about ``keep_recent_tokens`` of the newest messages stay as they are.

    None when nothing was added since the last summary, or all of it is to be kept. ``overflowed`` says that a
    provider refused the request as too long: then something is summarised even so. Never cut are earlier
    summaries, a call from its result, and a reply whose calls still wait.
    """
    entries = transcript.entries()
    leading = _leading(entries)
    added = [entry for entry in entries[len(leading) :] if not leading or entry.id > leading[-1].id]
    if not entries[len(leading) :] or not (added or overflowed):
        return None
    cut = _cut(transcript, len(leading), keep_recent_tokens, overflowed)
    if cut <= len(leading):
        return None
    messages = transcript.messages()[:cut]
    return Compaction(messages, summary_state(transcript), messages[len(leading) :])


def _cut(transcript: Transcript, covered: int, keep: int, overflowed: bool) -> int:
    """The last position not behind the budget where the messages may be cut."""
    messages = transcript.messages()
    last = len(messages) - (1 if overflowed else 0)
    start, kept = len(messages), 0
    while start > covered and kept + tokens_of(messages[start - 1]) <= keep:
        start -= 1
        kept += tokens_of(messages[start])
    free = may_cut(messages)
    if pending_calls(messages):
        asked = [entry.index for entry in transcript if view(entry.message, entry.dialect).calls]
        last = min(last, asked[-1])
    allowed = [place for place in range(covered + 1, last + 1) if free[place]]
    within = [place for place in allowed if place <= start]
    if within:
        return within[-1]
    return allowed[0] if allowed and overflowed else covered


def apply_summary(
    transcript: Transcript, replaces: Sequence[JSON], summary: str, *, by: Author = SUMMARY_AUTHOR
) -> int | None:
    """Put a summary in the place of the very messages it was made of; its id.

    None, and nothing changes, when there are none, when the conversation no longer begins with exactly those,
    or when what stays would hold a result whose call is replaced. What was added since stays.
    """
    count = len(replaces)
    held = transcript.messages()
    if not count or count > len(held) or not all(map(same_json, held[:count], replaces)):
        return None
    if not may_cut(held)[count]:
        return None
    message = {"role": "user", "content": [{"type": "text", "text": summary}]}
    return transcript.splice(slice(0, count), [NewEntry(message, SUMMARY_AUTHOR)], by=by).added[0]


def undo_summary(
    transcript: Transcript, history: Iterable[ChangeRecord], *, by: Author = SUMMARY_AUTHOR
) -> Spliced | None:
    """Put back what the newest leading summary replaced, with its ids and times; none when there is none.

    ``history`` are all records of the conversation, oldest first, saved and unsaved.

    Raises:
        MismatchError: the history does not fit, or does not hold the splice that made the summary.

    """
    leading = _leading(transcript.entries())
    if not leading:
        return None
    made = leading[-1].id
    past = Transcript()
    for record in history:
        change = record.change
        if isinstance(change, SpliceChange) and any(entry.id == made for entry in change.entries):
            replaced = [entry.entry() for entry in past[change.start : change.stop]]
            if made not in change.removed:
                return transcript.restore(leading[-1].index, replaced, by=by)
        past.apply(record)
    raise MismatchError("history", expected=made, reason=f"no splice in it made the summary m{made}")
