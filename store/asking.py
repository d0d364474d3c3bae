"""What a question for figures asks: checked before anything is sent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import check_label
from convostore.schemas.periods import By, Period, periods, zone_named
from convostore.schemas.prices import PriceTable
from convostore.store import parameters
from convostore.store.crediting import HOUR_QUARTERS
from convostore.store.ledger import NAMED
from convostore.store.parameters import UserScope

__all__ = ["CALENDAR_HOURS", "HOUR_MS", "Asked", "asked", "hours_of", "price_table", "quarters_between"]

HOUR_MS: Final = 3_600_000
CALENDAR_HOURS: Final = 253_370_764_800_000 // HOUR_MS
"""Hours up to the year 9999, where calendars end: what is credited to later times is in no period."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose figures (None: everybody's), of which range, periods, zone, label and model."""

    owner: str | None
    since: int | None
    until: int | None
    by: By
    zone: ZoneInfo
    label: str | None = None
    model: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether everything counts."""
        return self.owner is None and self.label is None and self.model is None

    def rows(self) -> dict[str, Any]:
        """The filter of the ledger's rows, but for their time."""
        query: dict[str, Any] = {} if self.owner is None else {"user": self.owner}
        if self.label is not None:
            query["label"] = self.label
        if self.model is not None:
            query["_id.m"] = self.model
        return query

    def periods(self, since: int, until: int) -> list[Period]:
        """The periods of a range."""
        return periods(since, until, self.by, self.zone)


def asked(
    user: UserScope,
    *,
    since: int | None = None,
    until: int | None = None,
    by: By | str = By.DAY,
    tz: str = "UTC",
    label: str | None = None,
    model: str | None = None,
) -> Asked:
    """The question, checked.

    Raises:
        QueryError: a parameter makes no sense.
        InvalidRecordError: no user is given.

    """
    for value, name in ((since, "since"), (until, "until")):
        if value is not None:
            parameters.milliseconds(value, name)
    owner = parameters.many_users(user)
    wanted = By(parameters.one_of(by, tuple(By), "by"))
    zone = zone_named(tz)
    if label is not None:
        label = check_label(label)[:NAMED]
    if model is not None and model != "":
        parameters.plain_text(model, "model")
    return Asked(owner, since, until, wanted, zone, label, model)


def hours_of(found: Sequence[Period]) -> dict[str, int]:
    """The filter of the hours in which the periods lie."""
    return {"$gte": found[0].start // HOUR_MS, "$lte": (found[-1].end - 1) // HOUR_MS}


def quarters_between(since: int | None, until: int | None) -> dict[str, int]:
    """The filter of the quarters of an hour in a range, those at its edges whole."""
    quarter = HOUR_MS // HOUR_QUARTERS
    bounds = {}
    if since is not None:
        bounds["$gte"] = since // quarter
    if until is not None:
        bounds["$lt"] = -(-until // quarter)
    return bounds


def price_table(value: Any) -> PriceTable | None:
    """A price table, when given."""
    if value is None or isinstance(value, PriceTable):
        return value
    raise InvalidRecordError(
        "prices", f"must be a PriceTable, not a {type(value).__name__}; PriceTable.read reads a file"
    )
