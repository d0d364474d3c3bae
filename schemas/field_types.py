"""The types of the members of a record, for pydantic, and its errors as ours. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator, ValidationError

from convostore.schemas.byte_text import read_bytes, write_bytes
from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.schemas.identifiers import MAX_U64, check_label, check_text, check_thread, check_user

__all__ = ["U64", "AnyText", "Bytes", "JsonList", "Label", "Text", "Thread", "User", "as_invalid_record"]

T = TypeVar("T")


def _within_model(check: Callable[[Any, str], T]) -> Callable[[Any], T]:
    """The check, for a validator of pydantic, which only turns ``ValueError`` into its own error."""

    def validate(value: Any) -> T:
        try:
            return check(value, "value")
        except InvalidRecordError as error:
            raise ValueError(error.reason) from None
        except TooLargeError as error:
            raise ValueError(f"has {error.size} characters where at most {error.limit} are allowed") from None

    return validate


def _same_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list, not a {type(value).__name__}")
    return value


U64: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=MAX_U64)]
"""A whole number from 0 to 2^64-1; neither bool nor float."""

AnyText: TypeAlias = Annotated[str, Field(strict=True)]
"""Any text that JSON can say, also halves of surrogate pairs; no bytes."""

Text: TypeAlias = Annotated[AnyText, AfterValidator(_within_model(check_text))]
"""Text that UTF-8 can hold."""

User: TypeAlias = Annotated[AnyText, AfterValidator(_within_model(check_user))]
Thread: TypeAlias = Annotated[AnyText, AfterValidator(_within_model(check_thread))]
Label: TypeAlias = Annotated[AnyText, AfterValidator(_within_model(check_label))]

JsonList: TypeAlias = Annotated[list[Any], PlainValidator(_same_list, json_schema_input_type=list[Any])]
"""A list of JSON that stays the same object and is never looked into: a history can be long."""

Bytes: TypeAlias = Annotated[
    bytes,
    BeforeValidator(_within_model(read_bytes), json_schema_input_type=str),
    PlainSerializer(write_bytes, return_type=str, when_used="json"),
]
"""Bytes; taken in every form of ``read_bytes``, written to JSON as ``b64:`` text."""


def as_invalid_record(error: ValidationError, path: str = "") -> InvalidRecordError:
    """The first complaint of pydantic as our error, with the path under ``path``."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = path
    for step in first["loc"]:
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else step
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        reason = "is missing"
    return InvalidRecordError(where or "conversation", reason[:1].lower() + reason[1:])
