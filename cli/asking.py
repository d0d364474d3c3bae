"""What the commands of ``stats`` ask: options that they share, and their values as the store takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from convostore.schemas.prices import PriceTable

__all__ = [
    "ByPeriod",
    "Label",
    "Model",
    "Prices",
    "Since",
    "Until",
    "asked",
    "currency",
    "price_table",
    "range_words",
]

ByPeriod: TypeAlias = Annotated[str, typer.Option("--by", metavar="PERIOD", help="hour, day, week or month.")]
Label: TypeAlias = Annotated[str | None, typer.Option("--label", help="Only with this label.")]
Model: TypeAlias = Annotated[str | None, typer.Option("--model", help="Only of this model.")]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", metavar="WHEN", help="From then on: 2026-03-08, RFC 3339, ms, or 90d."),
]
Prices: TypeAlias = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="A price table (TOML or JSON): costs, too."),
]
Until: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Before then.")]


def price_table(file: Path | None) -> PriceTable | None:
    """The price table in the file, when one is given."""
    if file is None:
        return None
    from convostore.schemas.prices import PriceTable

    try:
        with file.open("rb") as opened_file:
            return PriceTable.read(opened_file, name=file.name)
    except OSError as error:
        raise typer.BadParameter(f"--prices {file}: {error.strerror}") from None


def currency(prices: PriceTable | None) -> dict[str, str]:
    """What names the currency of costs in JSON."""
    return {} if prices is None else {"currency": prices.currency}


def asked(by: str | None, user: str | None, since: str | None, until: str | None, tz: str) -> dict[str, Any]:
    """The range and whose figures, as keyword arguments of the queries."""
    from convostore.cli.dates import parse_moment, zone_named
    from convostore.cli.filters import now_ms
    from convostore.schemas.periods import By
    from convostore.store import ALL_USERS

    zone = zone_named(tz)
    if by is not None and by not in {member.value for member in By}:
        raise typer.BadParameter(f"{by!r} is none of hour, day, week, month", param_hint="--by")
    return {
        "user": ALL_USERS if user is None else user,
        "since": None if since is None else parse_moment(since, "since", zone, now_ms()),
        "until": None if until is None else parse_moment(until, "until", zone, now_ms()),
        "tz": tz,
        **({} if by is None else {"by": by}),
    }


def range_words(question: Mapping[str, Any]) -> str:
    """The range and the zone of a question, as the title of a picture names them."""
    from convostore.cli.dates import show_moment, zone_named

    zone = zone_named(question["tz"])
    ends = [f"{name} {show_moment(question[name], zone)}" for name in ("since", "until") if question[name]]
    return f"{', '.join(ends) or 'all of it'}, times in {question['tz']}"
