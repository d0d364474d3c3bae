"""A head encoded in one go says what one made the general way says."""

from __future__ import annotations

from typing import Any

import bson
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation
from convostore.schemas.formats import Facts
from convostore.store.births import native_entries, raw_head
from convostore.store.codec import OPTIONS, are_native
from convostore.store.exchanging import encode_facts
from convostore.store.heads import new_head, record_fields
from convostore.store.layout import Bounds, Limits
from convostore.store.runs import entries_size, numbered
from support.json_strategies import json_values

FACTS = st.builds(
    Facts,
    made=st.none() | st.integers(0, 2**64),
    author=st.none() | st.just(Author.plugin("compact")),
    dialect=st.none() | st.just("openai"),
    unfinished=st.booleans(),
)
# Bytes that stand in a head beside the messages must not be taken for the head's own.
TRAPS = st.sampled_from(["\x04messages\x00\x05", "\x12embedded_bytes\x00\x00\x00", "embedded_bytes"])


def head(messages: list[Any], extra: Any, entries: Any, size: int) -> dict[str, Any]:
    record = Conversation(user="alice", messages=messages, extra=extra, created_at=1, updated_at=1)
    fields = record_fields(record, id=7, now=1, attachments={"resources": [], "artifacts": []})
    return new_head(
        fields, lineage=5, entries=entries, size=size, segments=(), next_entry=len(messages), record_log=()
    )


@given(st.lists(st.tuples(json_values | TRAPS, FACTS), max_size=90), json_values | TRAPS)
def test_both_ways_give_the_same_head(pairs: list[tuple[Any, Facts]], extra: Any) -> None:
    messages, facts = [message for message, _ in pairs], [fact for _, fact in pairs]
    bounds = Bounds()
    entries = native_entries(messages, facts, bounds)
    beyond = any(fact.made is not None and fact.made >= 2**63 for fact in facts)
    if entries is None:
        assert len(messages) > bounds.soft_count or not are_native(messages) or beyond
        return
    raw = raw_head(head(messages, extra, entries, 0), bounds)
    encoded = encode_facts(messages, facts)
    stored = [numbered(entry.stored, place) for place, entry in enumerate(encoded)]
    size = entries_size(stored)
    if raw is None:
        assert size > Limits.INLINE or any("t" in entry for entry in stored)
    else:
        assert raw.raw == bson.encode(head(messages, extra, stored, size))
        assert bson.decode(raw.raw, OPTIONS)["embedded_bytes"] == size


def test_what_is_too_large_for_a_head_is_left_to_the_general_way() -> None:
    messages = ["x" * 40_000, "y" * 40_000]
    entries = native_entries(messages, None, Bounds())
    assert entries is not None
    assert raw_head(head(messages, None, entries, 0), Bounds()) is None
