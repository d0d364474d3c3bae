"""The memory in which the readers take one conversation of several MB, as a multiple of its text."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from convostore.schemas.formats import FORMATS, ByteInput, ReadOptions
from support.importing import imported
from support.large_exports import chatgpt_conversation

SIZE = 3 << 20


def as_chatgpt(size: int) -> Any:
    return chatgpt_conversation(size, 1 + size // 4000)


def as_anda(size: int) -> Any:
    text = [{"type": "Text", "text": "word " * 200}]
    messages = [{"role": "user", "content": text, "timestamp": number} for number in range(size // 1060)]
    facts = {"status": "completed", "usage": {}, "period": 0, "created_at": 0, "updated_at": 0}
    return {"_id": size, "user": "alice", "messages": messages, **facts}


def as_sharegpt(size: int) -> Any:
    turns = [{"from": "human", "value": f"{number} " + "word " * 200} for number in range(size // 1030)]
    return {"id": size, "conversations": turns}


@pytest.mark.parametrize(
    ("name", "make", "most"),
    [("chatgpt", as_chatgpt, 3.2), ("anda", as_anda, 3.0), ("sharegpt", as_sharegpt, 3.0)],
)
def test_no_second_copy_is_held_while_it_is_converted(
    name: str, make: Callable[[int], Any], most: float
) -> None:
    # The small one before tells how the input is laid out.
    data = json.dumps([make(2000), make(SIZE)]).encode()
    reader = FORMATS[name].read
    assert reader is not None

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(data), 1 << 16):
            yield data[start : start + (1 << 16)]

    tracemalloc.start()
    try:
        *_, found = imported(reader(ByteInput(chunks()), ReadOptions(user="alice")))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.conversation.messages) > 1000
    assert peak < most * len(data)
