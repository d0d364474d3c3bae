"""JSON text for readers that know nothing of Convostore. Pure."""

from __future__ import annotations

import json
import math

from convostore.schemas.json_values import JSON

__all__ = ["foreign_json"]


def foreign_json(value: JSON) -> str:
    """Compact ASCII JSON that every strict parser reads: whole numbers stay plain whatever their length.

    NaN and infinities, which JSON has not, become ``{"$float":"NaN"}`` as in the canonical format; read
    back they stay that object. The canonical format is the one that loses nothing.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)


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
