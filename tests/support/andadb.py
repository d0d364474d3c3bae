"""Data directories of AndaDB, written for tests: plain, zstd, below the prefixes of a MetaStore."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cbor2
import zstandard

FRESH = ("_id", "user", "thread", "messages", "resources", "artifacts", "status", "failed_reason", "usage",
         "steering_messages", "follow_up_messages", "child", "ancestors", "label", "extra", "period",
         "created_at", "updated_at")  # fmt: skip
"""The fields of a collection that schema version 4 made, by index."""

UPGRADED = {
    **{name: place for place, name in enumerate(FRESH[:11])},
    "ancestors": 11, "period": 12, "created_at": 13, "updated_at": 14, "label": 15, "extra": 16, "child": 17,
}  # fmt: skip
"""The indexes in a collection that went through all versions."""

FILES = ("_id", "tags", "name", "description", "uri", "mime_type", "blob", "size", "hash", "metadata")

HOUR = 3_600_000
AT = 1_700_000_000_000


def indexes(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def conversation(id: int, text: str = "hi", **members: Any) -> dict[str, Any]:
    made = AT + id
    said = [{"content": [{"text": text, "type": "Text"}], "role": "user", "timestamp": made}]
    return {
        "_id": id, "user": b"\x01", "messages": said, "resources": [], "artifacts": [], "status": "completed",
        "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0, "requests": 1},
        "period": made // HOUR, "created_at": made, "updated_at": made, **members,
    }  # fmt: skip


def roaring(ids: Sequence[int]) -> bytes:
    """The ids, all below 2^16, as one list of a 64-bit bitmap."""
    head = struct.pack("<QIIIHHI", 1, 0, 12_346, 1, 0, len(ids) - 1, 16)
    return head + struct.pack(f"<{len(ids)}H", *ids)


def collection(
    path: str,
    places: Mapping[str, int],
    documents: Sequence[Mapping[str, Any]],
    *,
    ids: Sequence[int] | None = None,
) -> dict[str, bytes]:
    """The objects of a collection by path; ``ids`` are those that its set names."""
    fields = {
        name: {"n": name, "d": "", "t": "Text", "u": False, "i": place} for name, place in places.items()
    }
    found = {
        f"{path}/meta.cbor": cbor2.dumps(
            {"schema": {"fields": fields, "version": 4}, "config": {"name": "x"}}
        ),
        f"{path}/ids.cbor": cbor2.dumps(
            list(roaring([one["_id"] for one in documents] if ids is None else ids))
        ),
        f"{path}/btree_indexes/user/data/1.cbor": b"\xa0",
    }
    for one in documents:
        data = cbor2.dumps({"f": {places[name]: value for name, value in one.items()}})
        found[f"{path}/data/{one['_id']}.cbor"] = data
    return found


def write_plain(folder: Path, objects: Mapping[str, bytes], *, compressed: bool = False) -> Path:
    for path, data in objects.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(zstandard.compress(data) if compressed else data)
    return folder


def write_wrapped(folder: Path, objects: Mapping[str, bytes], *, generations: bool = True) -> Path:
    """Below the prefixes of a MetaStore, with an outdated generation, or payload, beside each."""
    for path, data in objects.items():
        name = "00000192aabbccdd-0badcafe"
        about: dict[str, Any] = {"s": len(data), "e": "etag"}
        if generations:
            about["g"] = name
            write_plain(
                folder / "gen", {f"{path}/{name}": data, f"{path}/00000192aabbccde-0badcafe": b"\xff"}
            )
            write_plain(folder / "data", {path: b"\xff"})
        else:
            write_plain(folder / "data", {path: data})
        write_plain(folder / "meta", {path: cbor2.dumps(about)})
    return folder
