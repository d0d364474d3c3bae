"""Price tables: what tokens of a model cost, from which day on. Pure.

A table is a TOML or JSON document::

    currency = "USD"

    [[versions]]
    valid_from = 2025-01-01                  # midnight UTC; or a time at a full quarter of an hour
    [versions.models."gpt-4o"]
    input = 2.50                             # per million tokens
    output = 10
    cached = 1.25                            # of cached input tokens; left out: as input

In JSON dates are text. A version holds until the next one begins and names every model that has a price from
then on: a model it leaves out has none any more. Tokens are priced when they were used. A model without a
price is *unpriced*, which is not free: give it 0 for that. ``cached_tokens`` are part of ``input_tokens``.
"""

from __future__ import annotations

import bisect
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal, InvalidOperation
from typing import IO, Any, Final

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.periods import QUARTER_MS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Price", "PriceTable", "PriceVersion"]

_MILLION: Final = Decimal(1_000_000)
_TABLE: Final = frozenset({"currency", "versions"})
_VERSION: Final = frozenset({"valid_from", "models"})
_PRICE: Final = frozenset({"input", "output", "cached"})


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens, in the table's currency."""

    input: Decimal
    output: Decimal
    cached: Decimal

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> Decimal:
        """What these tokens cost, exactly; of the input the cached ones at their own price.

        >>> Price(Decimal("2.5"), Decimal(10), Decimal("1.25")).cost(1_000_000, 100_000, 400_000)
        Decimal('3')
        """
        cached = min(cached_tokens, input_tokens)
        whole = self.input * (input_tokens - cached) + self.cached * cached + self.output * output_tokens
        return (whole / _MILLION).normalize()


@dataclass(frozen=True, slots=True)
class PriceVersion:
    """The prices by model from ``valid_from`` on, ms since 1970."""

    valid_from: int
    models: Mapping[str, Price]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Versions of prices in one currency, in order of time."""

    currency: str
    versions: tuple[PriceVersion, ...]

    def price(self, model: str, at: int) -> Price | None:
        """The model's price at a moment, ms; None when there is none."""
        place = bisect.bisect_right([version.valid_from for version in self.versions], at) - 1
        return self.versions[place].models.get(model) if place >= 0 else None

    @classmethod
    def read(cls, file: IO[bytes], *, name: str = "prices") -> PriceTable:
        """The table in a file, JSON when it begins with a brace, else TOML.

        Raises:
            InvalidRecordError: it is no price table; ``path`` leads to the place.

        """
        try:
            text = file.read().decode("utf-8-sig")
            is_json = text.lstrip().startswith("{")
            given = (
                json.loads(text, parse_float=Decimal) if is_json else tomllib.loads(text, parse_float=Decimal)
            )
        except (ValueError, RecursionError) as error:
            raise InvalidRecordError(name, f"is neither TOML nor JSON: {error}") from None
        return cls.from_json(given)

    @classmethod
    def from_json(cls, given: Any) -> PriceTable:
        """The table in a document that was read.

        Raises:
            InvalidRecordError: it is none.

        """
        table = _object(given, "prices", _TABLE)
        currency = table.get("currency")
        if not isinstance(currency, str) or not currency.strip():
            raise InvalidRecordError("currency", "must be text, as USD")
        listed = table.get("versions")
        if not isinstance(listed, list) or not listed:
            raise InvalidRecordError("versions", "must be a list of at least one version")
        versions = sorted(
            (_version(one, f"versions[{place}]") for place, one in enumerate(listed)),
            key=lambda version: version.valid_from,
        )
        if len({version.valid_from for version in versions}) < len(versions):
            raise InvalidRecordError("versions", "two are valid from the same time")
        return cls(currency.strip(), tuple(versions))


def _object(given: Any, path: str, known: frozenset[str] | None) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidRecordError(path, f"must be an object, not a {type(given).__name__}")
    for name in given:
        if known is not None and name not in known:
            raise InvalidRecordError(f"{path}.{name}", f"is none of {', '.join(sorted(known))}")
    return given


def _version(given: Any, path: str) -> PriceVersion:
    version = _object(given, path, _VERSION)
    models = _object(version.get("models", {}), f"{path}.models", None)
    prices = {name: _price(price, f"{path}.models.{name}") for name, price in models.items()}
    return PriceVersion(_moment(version.get("valid_from"), f"{path}.valid_from"), prices)


def _price(given: Any, path: str) -> Price:
    price = _object(given, path, _PRICE)
    input_price = _amount(price.get("input"), f"{path}.input")
    output_price = _amount(price.get("output"), f"{path}.output")
    cached = _amount(price["cached"], f"{path}.cached") if "cached" in price else input_price
    return Price(input_price, output_price, cached)


def _amount(given: Any, path: str) -> Decimal:
    try:
        if isinstance(given, bool) or not isinstance(given, (int, Decimal, float, str)):
            raise InvalidOperation
        amount = Decimal(str(given))
    except InvalidOperation:
        raise InvalidRecordError(path, f"must be a price per million tokens, not {given!a:.80}") from None
    if not amount.is_finite() or not 0 <= amount < _MILLION:
        raise InvalidRecordError(path, f"must be from 0 to a million, not {given!a:.80}")
    return amount


def _moment(given: Any, path: str) -> int:
    found = given
    if isinstance(given, str):
        text = given.strip()
        try:
            found = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
        except ValueError:
            found = None
    if isinstance(found, date) and not isinstance(found, datetime):
        found = datetime.combine(found, time())
    if not isinstance(found, datetime):
        raise InvalidRecordError(path, f"must be a date, as 2025-01-01, or a time, not {given!a:.80}")
    moment = found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
    ms = round(moment.timestamp() * 1000)
    if ms % QUARTER_MS:
        raise InvalidRecordError(path, f"{given!a:.80} is not at a full quarter of an hour")
    return ms
