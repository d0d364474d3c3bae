"""Setting up: collections, validators, indexes and the schema's version in ``meta``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bson.int64 import Int64
from pymongo.errors import OperationFailure

from convostore.schemas.errors import ConflictError
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.indexes import INDEXES, VALIDATORS, setup_digest
from convostore.store.layout import COLLECTIONS, SCHEMA_VERSION
from convostore.store.migrations import newer
from convostore.store.results import SetupReport

__all__ = ["known_schema", "setup"]

_NAMESPACE_EXISTS = 48
_INDEX_DIFFERS = frozenset({85, 86})
_BUSY = frozenset({12587, 117, 112, 246})  # another process is doing the same
_MARKERS = {
    "conversations": "schema_version",
    "segments": "lin",
    "blobs": "lin",
    "bodies": "lin",
    "changes": "lin",
}


async def setup(backend: AsyncBackend, *, dry_run: bool, adopting: bool = False) -> SetupReport:
    """Make what is missing; one round trip when nothing is.

    The schema version of a database that was set up before stays: only a migration raises it. ``adopting``
    sets a new one up around documents that lie in ``conversations`` already, to be taken over.

    Raises:
        ConflictError: a collection of one of our names holds documents of another kind.
        SchemaVersionError: a newer release set this database up.

    """
    known = await known_schema(backend, comment="setup")
    version = SCHEMA_VERSION if known is None else int(known["version"])
    if known is not None and known.get("digest") == setup_digest():
        return SetupReport(schema_version=version, dry_run=dry_run, pending=version < SCHEMA_VERSION)
    if known is None:
        # Later on, what is foreign in there is the business of check and of the migrations.
        await _refuse_foreign(backend, adopting=adopting)
        version = 0 if adopting else SCHEMA_VERSION
    present = await _present(backend)
    created = tuple(name for name in COLLECTIONS if backend.names[name] not in present)
    validators = tuple(name for name in VALIDATORS if present.get(backend.names[name]) != VALIDATORS[name])
    indexes = tuple(await _missing_indexes(backend, present))
    pending = version < SCHEMA_VERSION
    report = SetupReport(created, indexes, validators, version, dry_run, pending)
    if dry_run:
        return report
    if backend.engine == "mongomock":
        await _unique_indexes(backend)
        report = SetupReport(schema_version=version, pending=pending)
    else:
        for name in COLLECTIONS:
            await _make(backend, name, new=name in created, validate=name in validators)
    for counter in ("conversation", "resource"):
        await backend.put("meta", {"_id": f"{counter}_ids"}, {"$setOnInsert": {"last": 0}}, comment="setup")
    now = backend.now()
    entry: dict[str, Any] = {"$max": {"version": version}, "$set": {"digest": setup_digest(), "at": now}}
    if pending:
        # From here on processes of this release may write beside those of the older one.
        entry["$min"] = {"beside_since": Int64(now)}
    await backend.put("meta", {"_id": "schema"}, entry, comment="setup")
    return report


async def known_schema(backend: AsyncBackend, *, comment: str) -> dict[str, Any] | None:
    """What ``meta`` says of the database: its schema version, and what setup made; None before any setup.

    Raises:
        SchemaVersionError: a newer release set it up, or migrated it.

    """
    known = await backend.find_one("meta", {"_id": "schema"}, comment=comment)
    if known is not None and known["version"] > SCHEMA_VERSION:
        raise newer(known["version"], "the database")
    return known


async def _refuse_foreign(backend: AsyncBackend, *, adopting: bool) -> None:
    for name, marker in _MARKERS.items():
        if name == "conversations" and adopting:
            continue
        found = await backend.find_one(name, {marker: {"$exists": False}}, {"_id": 1}, comment="setup")
        if found is not None:
            raise ConflictError("collection", actual=backend.names[name], reason=_foreign(backend, name))


def _foreign(backend: AsyncBackend, name: str) -> str:
    reason = f"the collection {backend.names[name]} holds documents that Convostore did not write; "
    if name == "conversations":
        reason += "if they are Anda records, `convostore migrate run` takes them over; else "
    return reason + "use another database or a prefix"


async def _present(backend: AsyncBackend) -> dict[str, Any]:
    """Collections there are, with the validator of each."""
    if backend.engine == "mongomock":
        return dict.fromkeys(await _pace.settle(backend.database.list_collection_names()))
    reply = await backend.command({"listCollections": 1})
    return {
        found["name"]: found.get("options", {}).get("validator") for found in reply["cursor"]["firstBatch"]
    }


async def _missing_indexes(backend: AsyncBackend, present: Mapping[str, Any]) -> list[str]:
    missing = []
    for name, wanted in INDEXES.items():
        have: dict[str, Any] = {}
        if backend.names[name] in present and backend.engine != "mongomock":
            reply = await backend.command({"listIndexes": backend.names[name]})
            have = {index["name"]: dict(index["key"]) for index in reply["cursor"]["firstBatch"]}
        missing += [f"{name}.{index['name']}" for index in wanted if have.get(index["name"]) != index["key"]]
    return missing


async def _make(backend: AsyncBackend, name: str, *, new: bool, validate: bool) -> None:
    full = backend.names[name]
    validator = {"validator": VALIDATORS[name]} if name in VALIDATORS else {}
    if new and not await _run(backend, {"create": full, **validator}, _NAMESPACE_EXISTS):
        validate = bool(validator)
    if validate and not new:
        await _run(backend, {"collMod": full, **validator})
    if not INDEXES[name]:
        return
    try:
        await _run(backend, {"createIndexes": full, "indexes": INDEXES[name]})
    except OperationFailure as error:
        if error.code not in _INDEX_DIFFERS:
            raise
        # An older release made one of the same name in another way.
        ours = [index["name"] for index in INDEXES[name]]
        await _run(backend, {"dropIndexes": full, "index": ours})
        await _run(backend, {"createIndexes": full, "indexes": INDEXES[name]})


async def _run(backend: AsyncBackend, command: dict[str, Any], unless: int | None = None) -> bool:
    """Run the command, again while another process is at the same; False for the error code ``unless``."""
    for attempt in backend.attempts():
        try:
            await backend.command(command)
            return True
        except OperationFailure as error:
            if error.code == unless:
                return False
            if error.code not in _BUSY or backend.is_last(attempt):
                raise
        await _pace.pause(attempt)
    return False


async def _unique_indexes(backend: AsyncBackend) -> None:
    for name, wanted in INDEXES.items():
        for index in wanted:
            if index.get("unique"):
                await _pace.settle(
                    backend.collection(name).create_index(
                        list(index["key"].items()),
                        unique=True,
                        name=index["name"],
                        partialFilterExpression=index["partialFilterExpression"],
                    )
                )
