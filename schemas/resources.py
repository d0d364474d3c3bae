"""Resources: the inputs and outputs a conversation refers to (``spec/anda.md`` 4). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from convostore.schemas.anda_times import rfc3339_offset
from convostore.schemas.byte_text import write_bytes
from convostore.schemas.documents import Document
from convostore.schemas.field_types import U64, Bytes, Text
from convostore.schemas.identifiers import check_user
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.messages import FileDataPart, InlineDataPart, TextPart

__all__ = ["Resource", "select_resources"]

_HASH_SIZE = 32

# The beginnings of the kinds of files that agents mostly pass around.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/x-flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/x-wav", b"AVI ": "video/x-msvideo"}


def _check_hash(value: bytes) -> bytes:
    if len(value) != _HASH_SIZE:
        raise ValueError(f"a SHA3-256 has 32 bytes, not {len(value)}")
    return value


class Resource(BaseModel):
    """A file or link, embedded in a conversation mostly without its bytes, as a reference.

    ``id`` 0 means not stored yet. ``size`` is what the caller says, in bytes; nothing checks it. ``hash`` is
    the SHA3-256 of ``blob``; :meth:`prepare` computes it. ``metadata`` is an object of JSON.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, serialize_by_alias=True)

    id: U64 = Field(default=0, validation_alias=AliasChoices("_id", "id"), serialization_alias="_id")
    tags: list[Text] = Field(default_factory=list)
    name: Text
    description: Text | None = None
    uri: Text | None = None
    mime_type: Text | None = None
    blob: Bytes | None = None
    size: U64 | None = None
    hash: Annotated[Bytes, AfterValidator(_check_hash)] | None = None
    metadata: dict[str, Any] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Resource):
            return NotImplemented
        return same_json(self.to_json(), other.to_json())

    def members(self) -> dict[str, Any]:
        """What is set, by its name in Anda's JSON and in its order, with bytes as bytes."""
        found = {"_id" if name == "id" else name: value for name, value in self.__dict__.items()}
        return {name: value for name, value in found.items() if value is not None}

    def to_json(self, *, prefixed: bool = True) -> dict[str, JSON]:
        """The JSON form: unset members left out, bytes as base64, with ``b64:`` in front if ``prefixed``."""
        return {
            name: write_bytes(value, prefixed=prefixed) if isinstance(value, bytes) else value
            for name, value in self.members().items()
        }

    def prepare(self, user: str, now_ms: int) -> Resource:
        """The resource as Anda stores it, a new object (``spec/anda.md`` 4.3).

        With bytes it gets their SHA3-256, whatever hash it had. Not stored yet, its metadata says whose it is
        and since when (RFC 3339, ``+00:00``). ``size`` stays.
        """
        prepared = self.model_copy()
        if self.blob is not None:
            prepared.hash = hashlib.sha3_256(self.blob).digest()
        if self.id == 0:
            made = {"user": check_user(user), "created_at": rfc3339_offset(now_ms)}
            prepared.metadata = {**(self.metadata or {}), **made}
        return prepared

    def reference(self, id: int) -> Resource:
        """The same without its bytes, under the id it is stored as; a new object (``spec/anda.md`` 4.4)."""
        return self.model_copy(update={"id": id, "blob": None})

    def text(self) -> str | None:
        """Its bytes as text; None without any, or when they do not look like text.

        Text is UTF-8 with at most 5% control characters (line ends and tabs apart) in the first 4,096.
        """
        if not self.blob:
            return None
        try:
            text = self.blob.decode()
        except UnicodeDecodeError:
            return None
        start = text[:4096]
        odd = sum(character < " " or "\x7f" <= character <= "\x9f" for character in start)
        odd -= sum(map(start.count, "\r\n\t"))
        return text if odd * 20 <= len(start) else None

    def to_part(self) -> TextPart | InlineDataPart | FileDataPart | None:
        """The message part that shows it to a model; None when it has neither bytes nor a link."""
        if self.blob:
            text = self.text()
            if text is not None:
                return TextPart(text=text)
            return InlineDataPart(mime_type=self.mime_type or _sniffed(self.blob), data=self.blob)
        if self.uri and not self.uri.isspace():
            return FileDataPart(file_uri=self.uri, mime_type=self.mime_type)
        return None

    def to_document(self) -> Document:
        """The prompt view: every member but the bytes in the metadata, the text as the content."""
        metadata = self.to_json() | {"id": self.id, "type": "Resource"}
        metadata.pop("blob", None)
        return Document(metadata=dict(sorted(metadata.items())), content=self.text())


def select_resources(resources: list[Resource], tags: Collection[str]) -> list[Resource]:
    """Take out of ``resources`` those with any of the tags, and give them back; both keep their order.

    No tags select nothing; ``*`` as the first selects all (``spec/anda.md`` 4.5).
    """
    wanted = list(tags)
    if not wanted:
        return []
    selected = [item for item in resources if wanted[0] == "*" or not set(wanted).isdisjoint(item.tags)]
    chosen = set(map(id, selected))
    resources[:] = [item for item in resources if id(item) not in chosen]
    return selected


def _sniffed(blob: bytes) -> str:
    if blob[:4] == b"RIFF" and blob[8:12] in _RIFF:
        return _RIFF[blob[8:12]]
    if blob[4:8] == b"ftyp":
        return "video/mp4"
    for start, kind in _SIGNATURES:
        if blob.startswith(start):
            return kind
    return "application/octet-stream"
