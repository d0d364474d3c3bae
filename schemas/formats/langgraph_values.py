"""Values that LangGraph's serializer wrote, as JSON. Pure; needs the extra ``langgraph``.

The serializer is LangGraph's own, with one change: what it wrote of an object (a class's path and what the
class is made from) is read as that data, and no class is ever imported or made. Pickles are not read.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from convostore.schemas.errors import InvalidRecordError, UnavailableError
from convostore.schemas.json_values import JSON

__all__ = ["decode"]

_BYTES: Final = frozenset({"bytes", "bytearray"})
# Kinds of extensions: an array of numpy's, and a channel's snapshot, which is a value by itself.
_ARRAY, _SNAPSHOT = 6, 7
# Every other kind is a list: module, name, what the object is made from, and for some a method.
_MADE_FROM: Final = 2


def decode(kind: str, data: bytes) -> JSON:
    """The value that ``data`` says in the form ``kind``: ``msgpack``, ``json``, ``bytes`` or ``null``.

    Raises:
        InvalidRecordError: the form is another, or the data are broken.
        UnavailableError: the extra ``langgraph`` is not installed.

    """
    if kind == "null":
        return None
    if kind in _BYTES:
        return _bytes(data)
    try:
        if kind == "json":
            return json.loads(data)
        if kind == "msgpack":
            return _json(_serializer()(data))
    except UnavailableError:
        raise
    except Exception as error:
        # A serializer that is given other bytes than its own fails in many ways.
        raise InvalidRecordError("checkpoint", f"is no {kind} of LangGraph: {error}") from None
    raise InvalidRecordError("checkpoint", f"is of the form {kind!a:.40}, which is not read")


@lru_cache(maxsize=1)
def _serializer() -> Callable[[bytes], Any]:
    try:
        import ormsgpack
        from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    except ImportError:
        reason = "LangGraph's checkpoints need its serializer: pip install 'convostore[langgraph]'"
        raise UnavailableError(reason, capability="langgraph") from None

    def extension(kind: int, data: bytes) -> Any:
        held = ormsgpack.unpackb(data, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)
        if kind in (_ARRAY, _SNAPSHOT) or not isinstance(held, (list, tuple)) or len(held) <= _MADE_FROM:
            return held
        return held[_MADE_FROM]

    serializer = JsonPlusSerializer(__unpack_ext_hook__=extension)
    return lambda data: serializer.loads_typed(("msgpack", data))


def _json(value: Any) -> JSON:
    if isinstance(value, Mapping):
        return {_key(name): _json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return _bytes(bytes(value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"text": str(value)}


def _key(name: Any) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, float) and math.isfinite(name):
        return repr(name)
    return json.dumps(_json(name))


def _bytes(data: bytes) -> JSON:
    return {"$binary": {"base64": base64.b64encode(data).decode(), "subType": "00"}}
