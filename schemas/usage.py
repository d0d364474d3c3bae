"""Token counters of a conversation (``spec/anda.md`` 5). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.field_types import U64
from convostore.schemas.identifiers import MAX_U64, check_u64

__all__ = ["COUNTERS", "Usage", "checked_counters"]

COUNTERS = ("input_tokens", "output_tokens", "cached_tokens", "requests")


class Usage(BaseModel):
    """What a conversation used so far. Every counter is a whole number from 0 to 2^64-1."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    input_tokens: U64 = 0
    output_tokens: U64 = 0
    cached_tokens: U64 = 0
    requests: U64 = 0

    @classmethod
    def checked(cls, value: Usage | Mapping[str, Any], path: str = "usage") -> Usage:
        """A usage from counters given by a caller; what is left out is 0.

        Raises:
            InvalidRecordError: a counter is negative, NaN, text, a bool or a float, or none that Anda has;
            the path
                names it. Nothing of the rest is taken.

        """
        return cls(**checked_counters(value, path))

    def accumulate(self, other: Usage) -> Usage:
        """Add the other's counters to these, each stopping at 2^64-1, and give back this usage.

        >>> Usage(requests=2**64 - 2).accumulate(Usage(requests=10)).requests == 2**64 - 1
        True
        """
        for name in COUNTERS:
            setattr(self, name, min(getattr(self, name) + getattr(other, name), MAX_U64))
        return self

    def to_json(self) -> dict[str, int]:
        """The counters by name, in Anda's order."""
        return self.__dict__.copy()


def checked_counters(value: Usage | Mapping[str, Any], path: str = "usage") -> dict[str, int]:
    """The counters that a caller gave, by name, without those that were left out.

    Raises:
        InvalidRecordError: as :meth:`Usage.checked`.

    """
    given = {name: getattr(value, name) for name in COUNTERS} if isinstance(value, Usage) else value
    if not isinstance(given, Mapping):
        raise InvalidRecordError(path, f"must be an object of counters, not a {type(given).__name__}")
    counters = {}
    for name, count in given.items():
        if name not in COUNTERS:
            reason = f"{name!a:.80} is no counter; those are {', '.join(COUNTERS)}"
            raise InvalidRecordError(path, reason)
        counters[name] = check_u64(count, f"{path}.{name}")
    return counters
