"""The parts of rig's messages (``spec/rig.md`` 1.2, 1.3, 1.6). Pure data.

A part of a type rig does not have is an :class:`UnknownPart`; a part of a known type must have its members.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    StrictBool,
    Tag,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from convostore.schemas.rig.calls import CallId, ToolFunction
from convostore.schemas.rig.shapes import Filled, Shape, Str

__all__ = [
    "AssistantPart",
    "Image",
    "JsonResult",
    "Media",
    "Native",
    "Opaque",
    "Reasoning",
    "ResultPart",
    "Source",
    "Text",
    "ToolCall",
    "ToolResult",
    "UnknownPart",
    "UserPart",
]

_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


class Native(Shape):
    """The provider's own item beside the block it was decoded to; kept as it came."""

    item: Any
    fingerprint: Str

    @field_validator("fingerprint")
    @classmethod
    def _is_hex(cls, value: str) -> str:
        if not _FINGERPRINT.fullmatch(value):
            raise ValueError("a fingerprint is 16 lower-case hex digits")
        return value


def _readable_native(value: Any) -> Any:
    """What cannot be read as a native item is dropped; the block loads without it."""
    try:
        return None if value is None else Native.model_validate(value)
    except ValidationError:
        return None


OptionalNative: TypeAlias = Annotated[Native | None, BeforeValidator(_readable_native)]


class Source(Shape):
    """Where the bytes of an image, document, sound or film are; ``raw`` holds them as a list."""

    type: Literal["url", "base64", "fileId", "string", "raw", "unknown"]
    value: Any = None

    @model_validator(mode="after")
    def _fits_its_type(self) -> Source:
        if self.type == "raw":
            fits = type(self.value) is list and all(type(n) is int and 0 <= n < 256 for n in self.value)
        else:
            fits = self.type == "unknown" or isinstance(self.value, str)
        if not fits:
            raise ValueError(f"a source of type {self.type} cannot hold that")
        return self


class Text(Shape):
    """A text."""

    type: Literal["text"] = "text"
    text: Str
    native: OptionalNative = None


class Image(Shape):
    """An image."""

    type: Literal["image"] = "image"
    data: Source
    media_type: Str | None = None
    detail: Literal["low", "high", "auto"] | None = None
    native: OptionalNative = None


class Media(Shape):
    """A sound, a film or a document."""

    type: Literal["audio", "video", "document"]
    data: Source
    media_type: Str | None = None
    additional_params: dict[Str, Any] | None = None


class JsonResult(Shape):
    """A tool result that is JSON."""

    type: Literal["json"] = "json"
    value: Any


class UnknownPart(BaseModel):
    """A part of a type that rig does not have, written as it came."""

    model_config = ConfigDict(frozen=True)

    value: Any

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        return {"value": value}

    @model_serializer
    def _write(self) -> Any:
        return self.value


def _type_of(part: Any) -> str:
    tag = part.get("type") if isinstance(part, dict) else getattr(part, "type", None)
    return tag if isinstance(tag, str) else "unknown"


def _known(*types: str) -> Discriminator:
    """Tells parts apart by ``type``; every other type is unknown, and kept."""
    return Discriminator(lambda part: tag if (tag := _type_of(part)) in types else "unknown")


_Unknown: TypeAlias = Annotated[UnknownPart, Tag("unknown")]
_Media: TypeAlias = (
    Annotated[Media, Tag("audio")] | Annotated[Media, Tag("video")] | Annotated[Media, Tag("document")]
)
ResultPart: TypeAlias = Annotated[
    Annotated[Text, Tag("text")]
    | Annotated[Image, Tag("image")]
    | Annotated[JsonResult, Tag("json")]
    | _Unknown,
    _known("text", "image", "json"),
]


class ToolResult(Shape):
    """The result of a call."""

    type: Literal["toolresult"] = "toolresult"
    call: CallId
    name: Filled
    content: list[ResultPart]
    is_error: StrictBool = False


class ToolCall(Shape):
    """A call of a tool."""

    type: Literal["toolcall"] = "toolcall"
    id: CallId
    function: ToolFunction
    native: OptionalNative = None


class Reasoning(Shape):
    """What the model thought; ``redacted`` when the provider hides it."""

    type: Literal["reasoning"] = "reasoning"
    text: Str
    redacted: StrictBool = False
    native: OptionalNative = None


class Opaque(Shape):
    """A provider's own item; ``replay`` when it must be sent back to it."""

    type: Literal["opaque"] = "opaque"
    item: Any
    replay: StrictBool


UserPart: TypeAlias = Annotated[
    Annotated[Text, Tag("text")]
    | Annotated[ToolResult, Tag("toolresult")]
    | Annotated[Image, Tag("image")]
    | _Media
    | _Unknown,
    _known("text", "toolresult", "image", "audio", "video", "document"),
]
AssistantPart: TypeAlias = Annotated[
    Annotated[Text, Tag("text")]
    | Annotated[ToolCall, Tag("toolcall")]
    | Annotated[Reasoning, Tag("reasoning")]
    | Annotated[Image, Tag("image")]
    | Annotated[Opaque, Tag("opaque")]
    | _Unknown,
    _known("text", "toolcall", "reasoning", "image", "opaque"),
]
