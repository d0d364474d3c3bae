"""How JSON values are laid out in an input, told from its start, and reading them so. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Literal

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.formats.json_input import (
    IncompleteError,
    array_items,
    decode,
    document_values,
    first_value,
    line_values,
)
from convostore.schemas.formats.json_text import beginning, is_inside_text
from convostore.schemas.json_values import JSON

__all__ = ["Layout", "json_values", "layout_of", "peek_value", "peek_values"]

Layout = Literal["lines", "array", "document"]

_BLANK = "\ufeff \t\r\n"
_FIRST_LOOK = 64 << 10
_FAR = 4 << 20
"""Bytes of the input that are enough to judge by, when a value goes on beyond them."""
# Members of messages without a role: ShareGPT's, pydantic-ai's, LangChain's in three forms, and items of
# OpenAI's responses.
_OF_MESSAGES = (
    ("from", "value"),
    ("kind", "parts"),
    ("type", "data"),
    ("lc", "kwargs"),
    ("type", "content"),
    ("type", "call_id"),
    ("type", "summary"),
)


def json_values(source: ByteInput) -> Iterator[Found | Refused]:
    """All values of the input, in whichever layout; the items of an array one by one."""
    layout = _look(source)[0]
    if layout == "lines":
        return line_values(source)
    return array_items(source) if layout == "array" else document_values(source)


def peek_value(source: ByteInput) -> Found | None:
    """The first value that can be read, the input staying as it is; None when there is none.

    In lines that is the first good one of those at the beginning.
    """
    return next(iter(peek_values(source, 1)), None)


def peek_values(source: ByteInput, most: int) -> list[Found]:
    """The first value that can be read, and up to ``most`` with those that lie close behind it."""
    layout, size = _look(source)
    while True:
        head = source.peek(size)
        whole = source.is_whole_within(size)
        if layout == "lines":
            end = len(head) if whole else head.rfind(b"\n")
            values: Iterator[Found | Refused] = filter(_is_found, line_values([head[:end]]))
        else:
            values = takewhile(_is_found, (array_items if layout == "array" else document_values)([head]))
        found = [item for item in islice(values, most) if isinstance(item, Found)]
        if found or whole:
            return found
        if size >= _FAR:
            return _begun(head, layout)
        size *= 4


def _begun(head: bytes, layout: Layout) -> list[Found]:
    """The first value, of which the input's beginning has only the beginning."""
    text = head.decode("utf-8", "replace").lstrip(_BLANK)
    if layout == "array":
        text = text[1:].lstrip(_BLANK)
    try:
        return [Found(1, beginning(text))]
    except ValueError:
        return []


def _is_found(item: Found | Refused) -> bool:
    return isinstance(item, Found)


def _look(source: ByteInput) -> tuple[Layout, int]:
    size = _FIRST_LOOK
    while True:
        text = source.peek(size).decode("utf-8", "replace")
        layout = layout_of(text, whole=source.is_whole_within(size), far=size >= _FAR)
        if layout is not None:
            return layout, size
        size *= 4


def layout_of(start: str, *, whole: bool, far: bool = False) -> Layout | None:
    """How the values are laid out, judged by the start of the input; None when more of it is needed.

    ``whole`` says that there is no more, ``far`` that this much of it must do. An array on one line is a line
    when its items look like messages, since that is one conversation; any other array is an array of
    conversations.
    """
    text = start.lstrip(_BLANK)
    if not text:
        return "lines" if whole else None
    line, ended, rest = text.partition("\n")
    if text[0] == "[":
        return _array_layout(text, line, bool(ended), whole=whole, far=far)
    if text[0] != "{" or not ended or _stands_alone(line) or is_inside_text(line):
        return "lines"
    if whole and _stands_alone(text):
        return "document"
    second, ended, _ = rest.lstrip(_BLANK).partition("\n")
    if not ended and not whole and not far:
        return None
    return "lines" if second.startswith("{") and _stands_alone(second) else "document"


def _array_layout(text: str, line: str, ended: bool, *, whole: bool, far: bool) -> Layout | None:
    inside = text[1:].lstrip(_BLANK)
    if inside.startswith("]"):
        return "lines"
    try:
        first = first_value(inside)
    except IncompleteError:
        if not far:
            return "array" if whole else None
        first = beginning(inside) if inside[0] in "{[" else None
    except ValueError:
        return "array"
    if not _is_message(first):
        return "array"
    if not ended:
        return "lines" if whole or far else None
    return "lines" if _stands_alone(line) else "document"


def _is_message(value: JSON) -> bool:
    """Whether it looks like one message of some program, by the members it has."""
    if not isinstance(value, dict) or "messages" in value:
        return False
    if isinstance(value.get("role"), str):
        return True
    return any(all(name in value for name in names) for names in _OF_MESSAGES)


def _stands_alone(text: str) -> bool:
    return isinstance(decode(text, 0), Found)
