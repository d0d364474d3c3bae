"""What an import did: a line, a table by file and what was not taken for people; all of it as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convostore.store import ImportReport

__all__ = ["as_json", "say", "write"]

_SHOWN = 10
_COUNTS = (
    "read",
    "imported",
    "updated",
    "unchanged",
    "renumbered",
    "skipped",
    "failed",
    "branches",
    "messages",
)


def as_json(names: Sequence[str], done: Sequence[ImportReport], dry_run: bool) -> dict[str, Any]:
    """The sums over all files, and what was done with each; every problem names its file."""
    files = []
    for name, one in zip(names, done, strict=True):
        told: dict[str, Any] = {"file": name, **one.to_json()}
        told["problems"] = [{"file": name, **problem} for problem in told["problems"]]
        files.append(told)
    return {"dry_run": dry_run, **_totals(done), "files": files}


def write(path: Path, told: dict[str, Any]) -> None:
    """Write the report to a file."""
    path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def say(names: Sequence[str], done: Sequence[ImportReport], dry_run: bool) -> None:
    """Print a line of sums; a table by file where there are several or not all was taken; what was not."""
    from convostore.cli.output import plain, print_line

    total = _totals(done)
    parts = [f"{total[count]:,} {count}" for count in _COUNTS[1:-2] if total[count]]
    branches = f", {total['branches']:,} of them branches," if total["branches"] else ""
    would = "would be: " if dry_run else ""
    print_line(
        f"read {total['read']:,} conversations{branches} with {total['messages']:,} messages; "
        f"{would}{', '.join(parts) or 'nothing to do'}"
    )
    left = _SHOWN
    for name, one in zip(names, done, strict=True):
        where = f"{plain(name, 100)}: " if len(names) > 1 else ""
        for problem in one.problems[:left]:
            position = plain(str(problem.position), 200)
            print_line(f"  {where}{problem.kind} at {position}: {plain(problem.reason, 300)}")
        for note in one.notes[: max(0, left - len(one.problems))]:
            print_line(f"  {where}note: {plain(note, 300)}")
        if one.error:
            print_line(f"  {where}{plain(one.error, 500)}")
        left = max(0, left - len(one.problems) - len(one.notes))
    hidden = sum(len(one.problems) + len(one.notes) + one.more_problems + one.more_notes for one in done)
    if hidden > _SHOWN:
        print_line(f"  and {hidden - _SHOWN:,} more; --report FILE has them all")
    if len(names) > 1 or total["skipped"] or total["failed"]:
        _table(names, done)


def _table(names: Sequence[str], done: Sequence[ImportReport]) -> None:
    from convostore.cli.output import print_table

    shown = [count for count in _COUNTS if count not in ("renumbered", "branches") or _totals(done)[count]]
    rows = [
        [name, one.format, *(f"{getattr(one, count):,}" for count in shown)]
        for name, one in zip(names, done, strict=True)
    ]
    print_table(["file", "format", *shown], rows, right=range(2, 2 + len(shown)))


def _totals(done: Sequence[ImportReport]) -> dict[str, int]:
    return {count: sum(getattr(one, count) for one in done) for count in _COUNTS}
