"""JSON text for readers that know nothing of Convostore. Pure."""

from __future__ import annotations

import math

from convostore.schemas.json_values import JSON, dump_strict

__all__ = ["foreign_json"]


def foreign_json(value: JSON) -> str:
    """Compact ASCII JSON that every strict parser reads: whole numbers stay plain whatever their length.

    NaN and infinities, which JSON has not, become ``{"$float":"NaN"}`` as in the canonical format; read
    back they stay that object. The canonical format is the one that loses nothing.
    """
    try:
        return dump_strict(value)
    except ValueError:
        return dump_strict(_finite(value))


def _finite(value: JSON) -> JSON:
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return {"$float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    # Loops, because a comprehension takes two frames a level.
    if kind is dict:
        members = {}
        for key, item in value.items():
            members[key] = _finite(item)
        return members
    if kind is list:
        items = []
        for item in value:
            items.append(_finite(item))
        return items
    return value
