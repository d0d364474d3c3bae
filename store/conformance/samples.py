"""Messages and records that the contracts work with. Pure."""

from __future__ import annotations

from typing import Any, Final

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store.layout import KIB, Bounds

__all__ = ["BOUNDS", "HARD_VALUES", "HOUR_MS", "full_record", "nested", "reply", "said", "series", "texts"]

HOUR_MS: Final = 3_600_000

BOUNDS: Final = Bounds(
    keep=4,
    soft_count=8,
    soft_bytes=16 * KIB,
    hard_count=24,
    hard_bytes=256 * KIB,
    step=2,
    bulk_count=30,
    bulk_bytes=128 * KIB,
    segment_count=64,
    merge_width=3,
    log_soft=10,
    log_keep=4,
)
"""Bounds at which a dozen messages do what a thousand do at the usual ones."""


def said(text: str) -> dict[str, JSON]:
    """A user's message."""
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, JSON]:
    """An assistant's message."""
    return {"role": "assistant", "content": text}


def series(count: int, first: int = 0) -> list[JSON]:
    """Messages that say their number, from ``first`` on."""
    return [said(f"message {number}") for number in range(first, first + count)]


def texts(messages: list[Any]) -> list[Any]:
    """What the messages say."""
    return [message["content"] for message in messages]


def nested(levels: int) -> JSON:
    """A message of so many levels."""
    value: JSON = "innermost"
    for level in range(levels - 1):
        value = [value] if level % 2 else {"inner": value}
    return {"role": "user", "content": value}


HARD_VALUES: Final[dict[str, JSON]] = {
    "a reference as drivers write it": {"$ref": "users", "$id": 1, "$db": "other"},
    "a lone $ref": {"$ref": "#/definitions/Node"},
    "operators for keys": {"$set": {"user": "mallory"}, "$where": "1", "$each": [1], "$literal": 1},
    "dots and empty keys": {"a.b": 1, "": {"": 2}, ".": 3, "$": 4},
    "a NUL in a key": {"a\0b": 1},
    "a NUL in a text": "a\0b",
    "half a surrogate pair": "\ud83d",
    "half a surrogate pair in a key": {"\udc00": 1},
    "whole numbers of every width": [0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, -(10**40)],
    "numbers that look alike": [1, 1.0, True, 0, -0.0, False, None],
    "not a number and infinities": [float("nan"), float("inf"), float("-inf")],
    "small and large floats": [5e-324, 1.7976931348623157e308, 0.1],
    "keys out of order": {"b": 1, "a": 2, "aa": {"z": 1, "y": 2}},
    "an _id inside": {"_id": {"$oid": "000000000000000000000000"}, "id": 0},
    "extended JSON": [{"$date": 0}, {"$numberLong": "1"}, {"$binary": {"base64": "AA==", "subType": "00"}}],
    "emoji and scripts": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u05e9\u05dc\u05d5\u05dd \u4f60\u597d",
    "empty things": [{}, [], "", [[]], [{}]],
    "150 levels": nested(150),
    "300 levels": nested(300),
}
"""JSON that a plain driver changes, refuses or takes for something else, by what is hard about it."""


def full_record() -> Conversation:
    """A record in which every member says something."""
    return Conversation(
        user="alice",
        thread="thread-1",
        messages=[said("hi"), reply("hello")],
        resources=[
            Resource(id=7, name="notes.txt", tags=["text"], blob=b"\x00\xff notes", metadata={"$set": 1})
        ],
        artifacts=[Resource(id=9, name="plot", uri="https://example.org/plot.png", size=12)],
        status=ConversationStatus.FAILED,
        failed_reason="the model said no",
        usage=Usage(input_tokens=11, output_tokens=7, cached_tokens=3, requests=2),
        steering_messages=["shorter, please"],
        follow_up_messages=["and in French", "and in German"],
        child=41,
        ancestors=[3, 5],
        label="travel",
        extra={"b": [1, 1.0, True, None], "a": {"$ref": "x", "$id": 1}},
        created_at=1_700_000_000_123,
        updated_at=1_700_000_999_456,
    )
