"""Pictures of figures over time, by matplotlib (extra ``analytics``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from convostore.schemas.errors import InvalidRecordError, UnavailableError

if TYPE_CHECKING:
    from convostore.store import UsageRow

__all__ = ["plot_usage"]

_KINDS = (".png", ".svg")
_BARS = 400
"""Up to so many periods are bars; more become a line, which stays legible."""


def plot_usage(rows: Sequence[UsageRow], file: Path, *, by: str, zone: str) -> None:
    """Draw tokens, split into input, output and cached, over requests and messages, by period.

    Raises:
        InvalidRecordError: the file's name ends with neither ``.png`` nor ``.svg``.
        UnavailableError: matplotlib is not installed.

    """
    if file.suffix.lower() not in _KINDS:
        raise InvalidRecordError("plot", f"{file.name} ends with neither .png nor .svg")
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import dates, pyplot, ticker
    except ImportError as error:
        raise UnavailableError(
            'pictures need matplotlib: pip install "convostore[analytics]"', capability="plots"
        ) from error
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(11, 6), sharex=True, height_ratios=(3, 2))
    local = ZoneInfo(zone)
    times = [datetime.fromtimestamp(row.start / 1000, timezone.utc).astimezone(local) for row in rows]
    _stack(
        above,
        times,
        {
            "input": [row.input_tokens for row in rows],
            "output": [row.output_tokens for row in rows],
        },
        by,
    )
    above.set_ylabel("tokens")
    above.set_title(f"Usage by {by} ({zone})", loc="left")
    _stack(below, times, {"messages": [row.messages for row in rows]}, by)
    requests = [row.requests for row in rows]
    below.plot(times, requests, color="black", linewidth=1, drawstyle="steps-post", label="requests")
    below.set_ylabel("messages, requests")
    for axes in (above, below):
        axes.yaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        axes.margins(x=0.01)
        axes.set_ylim(0, max(axes.get_ylim()[1] * 1.15, 1))
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper left", frameon=False, ncols=3)
    locator = dates.AutoDateLocator(tz=ZoneInfo(zone))
    below.xaxis.set_major_locator(locator)
    below.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=ZoneInfo(zone)))
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 28.0}


def _stack(axes: Any, times: Sequence[datetime], series: dict[str, list[int]], by: str) -> None:
    """Bars on each other, or areas when there are too many periods for bars."""
    if len(times) > _BARS:
        axes.stackplot(times, list(series.values()), labels=list(series), step="post", linewidth=0)
        return
    bottom = [0] * len(times)
    for name, values in series.items():
        axes.bar(times, values, bottom=bottom, width=_DAYS[by] * 0.9, align="edge", label=name)
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
