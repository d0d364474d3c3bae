"""What commands print: JSON for programs, tables and lines for people. Writes to standard output."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from convostore.schemas.json_output import foreign_json

__all__ = ["error_json", "on_terminal", "plain", "print_json", "print_line", "print_table"]

_MORE = "\u2026"


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def print_line(text: str = "") -> None:
    """One line of text for people."""
    sys.stdout.write(f"{text}\n")


def print_json(value: Any) -> None:
    """One JSON value on a line of its own, in ASCII, readable by every parser, given out at once."""
    sys.stdout.write(f"{foreign_json(value)}\n")
    sys.stdout.flush()


def error_json(error: BaseException, kind: str, message: str) -> str:
    """An error as a JSON object: its kind, its one line, and its facts as far as JSON can say them."""
    facts = {
        name: value for name, value in vars(error).items() if _is_plain(value) and not name.startswith("_")
    }
    return foreign_json({"error": {"type": kind, "message": message, **facts}})


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) and value != ""


def plain(text: str, limit: int | None = None) -> str:
    """The text on one line without characters that a terminal obeys, cut to ``limit`` characters."""
    cut = text if limit is None else text[: limit * 4]
    shown = "".join(" " if character in "\t\n\r" else _visible(character) for character in cut)
    if limit is not None and len(shown) > limit:
        return shown[: limit - 1] + _MORE
    return shown


def lines_of(text: str) -> str:
    """The text with its lines and tabs, without other characters that a terminal obeys."""
    return "".join(character if character in "\t\n" else _visible(character) for character in text)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    # Joiners and direction marks belong to scripts and emoji; what orders a terminal about does not.
    if (
        unicodedata.category(character) in ("Cf", "Zs", "Zl", "Zp")
        and character not in "\u202a\u202b\u202d\u202e"
    ):
        return character
    return character.encode("unicode_escape").decode("ascii")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """A table, as wide as a terminal or whole where there is none; ``right`` are columns of numbers."""
    shown = [[plain(cell) for cell in row] for row in rows]
    if not on_terminal():
        _print_aligned([list(columns), *shown], right)
        return
    # rich is slow to load, and only a terminal needs what it does.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(
            column, justify="right" if place in right else "left", overflow="ellipsis", no_wrap=True
        )
    for row in shown:
        table.add_row(*map(Text, row))
    Console(highlight=False, file=sys.stdout).print(table)


def _print_aligned(rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print_line("  ".join(cells).rstrip())
