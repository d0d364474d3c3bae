"""Which engines there are, told by the database object, and what each of them can do. Pure."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

__all__ = ["CAPABILITIES", "Engine", "engine_of"]

Engine: TypeAlias = Literal["mongodb", "motor", "mongomock"]

_EVERYTHING: Final = frozenset(
    {
        "records",
        "append",
        "seal",
        "edit",
        "save",
        "paging",
        "queues",
        "status",
        "lineage",
        "find",
        "delete",
        "resources",
        "blobs",
        "u64",
        "validators",
        "indexes",
        "gridfs",
        "watch",
        "expiry",
        "check",
        "exchange",
        "concurrency",
        "migrations",
    }
)

CAPABILITIES: Final[dict[Engine, frozenset[str]]] = {
    "mongodb": _EVERYTHING,
    "motor": _EVERYTHING,
    "mongomock": _EVERYTHING
    - {"u64", "validators", "indexes", "gridfs", "watch", "concurrency", "migrations"},
}
"""What each engine can do, by name; a call that needs more raises ``UnavailableError(capability=...)``.

mongomock holds no number above 2^63-1 in an id, validates nothing, explains nothing, has no GridFS, no change
streams, nothing older to migrate and one lock for all.
"""


def engine_of(database: Any) -> Engine:
    """The engine behind a database object."""
    module = type(database).__module__
    if module.startswith("mongomock"):
        return "mongomock"
    return "motor" if module.startswith("motor") else "mongodb"
