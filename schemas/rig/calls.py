"""Tool calls of rig: their ids, and arguments read leniently (``spec/rig.md`` 1.4, 1.5). Pure data."""

from __future__ import annotations

import json
import re
import uuid
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from convostore.schemas.json_values import JSON
from convostore.schemas.rig.shapes import Filled, Shape, Str

__all__ = ["CallId", "ProviderCallId", "ToolFunction", "parse_arguments"]


class ProviderCallId(Shape):
    """The id a provider gave a call; ``item_id`` for providers that give two."""

    call_id: Filled
    item_id: Annotated[Str | None, BeforeValidator(lambda value: value or None)] = None


class CallId(Shape):
    """The id of a tool call: the provider's, or one issued here (``local``, a UUID).

    Two are equal only when the whole value is. ``str()`` gives the provider's ``call_id`` or the UUID.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: ProviderCallId | None = None
    local: Filled | None = None

    @classmethod
    def of(cls, call_id: str, item_id: str | None = None) -> CallId:
        """The id a provider gave."""
        return cls(provider=ProviderCallId(call_id=call_id, item_id=item_id))

    @classmethod
    def issued(cls) -> CallId:
        """A fresh id for a call that came without one."""
        return cls(local=str(uuid.uuid4()))

    @model_validator(mode="after")
    def _one_of_two(self) -> CallId:
        if (self.provider is None) == (self.local is None):
            raise ValueError("a call id is either a provider's or a local one")
        return self

    def __str__(self) -> str:
        return self.local or (self.provider.call_id if self.provider else "")


class ToolFunction(Shape):
    """What a call asks for; ``arguments`` is always an object when written.

    Reading is lenient: nothing is ``{}``, a text that holds an object is unwrapped once, any other JSON is
    ``{}`` with its JSON text in ``invalid_arguments``.
    """

    name: Filled
    arguments: dict[Str, Any] = Field(default_factory=dict)
    invalid_arguments: Str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_leniently(cls, value: Any) -> Any:
        if not isinstance(value, dict) or isinstance(value.get("arguments"), dict):
            return value
        arguments, invalid = _as_object(value.get("arguments"))
        if value.get("invalid_arguments") is not None:
            invalid = value["invalid_arguments"]
        return {**value, "arguments": arguments, "invalid_arguments": invalid}


def _as_object(given: JSON) -> tuple[dict[str, Any], str | None]:
    if given is None:
        return {}, None
    if isinstance(given, str):
        try:
            inner = json.loads(given)
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, dict):
            return inner, None
    return {}, json.dumps(given)


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments a model wrote as text, and the text itself when it was no whole object.

    A blank text is ``{}``; an object that was cut off keeps the members that are complete.

    >>> parse_arguments('{"path": "a.rs", "line": 1')
    ({'path': 'a.rs'}, '{"path": "a.rs", "line": 1')
    """
    if not text.strip():
        return {}, None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _complete_members(text), text
    return (whole, None) if isinstance(whole, dict) else ({}, text)


_SPACE = re.compile(r"[ \t\r\n]*")


def _complete_members(text: str) -> dict[str, Any]:
    """The members of a cut-off object that are followed by a comma or a brace, so surely complete."""
    decoder, found = json.JSONDecoder(), dict[str, Any]()

    def skip(at: int, wanted: str) -> int:
        match = _SPACE.match(text, at)
        at = match.end() if match else at
        if text[at : at + 1] not in wanted or at >= len(text):
            raise ValueError(f"expected {wanted}")
        return at + 1

    try:
        at = skip(0, "{")
        while True:
            key, at = decoder.raw_decode(text, skip(at, '"') - 1)
            at = skip(at, ":")
            value, at = decoder.raw_decode(text, _SPACE.match(text, at).end())  # type: ignore[union-attr]
            at = skip(at, ",}")
            found[key] = value
            if text[at - 1] == "}":
                return found
    except (ValueError, RecursionError):
        return found
