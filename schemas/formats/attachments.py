"""Files that foreign messages name, as resources, with their bytes where the source holds them. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from convostore.schemas.identifiers import MAX_U64
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource

__all__ = ["base64_bytes", "data_uri", "linked", "make_resource", "plain_text"]

_DATA_URI = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)


def make_resource(
    *,
    name: JSON,
    uri: JSON = None,
    mime_type: JSON = None,
    size: JSON = None,
    blob: bytes | None = None,
    metadata: Mapping[str, JSON] | None = None,
) -> Resource:
    """A resource of what the source says, each member taken where it is what it must be.

    ``metadata`` is the source's own JSON of the file. With bytes and no address it gets their hash as one,
    ``urn:sha3-256:...``, by which a message can name it.
    """
    hash = hashlib.sha3_256(blob).digest() if blob is not None else None
    address = plain_text(uri)
    if address is None and hash is not None:
        address = f"urn:sha3-256:{hash.hex()}"
    kind = plain_text(mime_type)
    return Resource(
        name=plain_text(name) or address or "attachment",
        uri=address,
        mime_type=kind if kind and "/" in kind else None,
        blob=blob,
        size=size if type(size) is int and 0 <= size <= MAX_U64 else None,
        hash=hash,
        metadata=dict(metadata) if metadata else None,
    )


def linked(
    url: str,
    *,
    name: JSON = None,
    mime_type: JSON = None,
    size: JSON = None,
    metadata: Mapping[str, JSON] | None = None,
) -> Resource:
    """A resource by its address; a ``data:`` address holds the bytes itself."""
    found = data_uri(url)
    if found is None:
        return make_resource(name=name, uri=url, mime_type=mime_type, size=size, metadata=metadata)
    kind, blob = found
    return make_resource(name=name, mime_type=mime_type or kind, size=size, blob=blob, metadata=metadata)


def plain_text(value: JSON) -> str | None:
    """The value when it is text and not empty, halves of surrogate pairs as escapes; else None."""
    if not isinstance(value, str) or not value:
        return None
    return value.encode("utf-8", "backslashreplace").decode()


def data_uri(url: str) -> tuple[str | None, bytes] | None:
    """The media type and bytes in a ``data:`` address; None when it is none.

    >>> data_uri("data:text/plain;base64,aGk=")
    ('text/plain', b'hi')
    """
    found = _DATA_URI.match(url)
    if found is None:
        return None
    data = url[found.end() :]
    if ";base64" in found[2].lower():
        blob = base64_bytes(data)
        return None if blob is None else (found[1] or None, blob)
    return found[1] or None, unquote_to_bytes(data.encode("utf-8", "surrogatepass"))


def base64_bytes(text: JSON) -> bytes | None:
    """The bytes in standard base64; None when it is none."""
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
