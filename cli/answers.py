"""How ``stats`` gives an answer out: a table, a chart, JSON, CSV, a file, a picture."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from convostore.cli.charts.shapes import Chart, Grid, Ranking

__all__ = ["AsChart", "AsCsv", "Output", "PlotFile", "TableFile", "check_suffix", "need"]

_PICTURES = (".png", ".svg")
_TABLES = (".csv", ".json", ".parquet", ".arrow")

PlotFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Also a picture: .png or .svg (extra: analytics)."),
]
TableFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Into a file instead: .csv, .json, or .parquet, .arrow (extra: analytics).",
    ),
]
AsChart: TypeAlias = Annotated[bool, typer.Option("--chart", help="A chart for the terminal.")]
AsCsv: TypeAlias = Annotated[bool, typer.Option("--csv", help="Comma-separated values.")]


@dataclass(frozen=True, slots=True)
class Output:
    """Where an answer goes and in which form; made, and so checked, before anything is asked."""

    plot: Path | None = None
    out: Path | None = None
    chart: bool = False
    csv: bool = False
    json: bool = False

    def __post_init__(self) -> None:
        given = [
            name
            for name, value in (
                ("--out", self.out),
                ("--chart", self.chart),
                ("--csv", self.csv),
                ("--json", self.json),
            )
            if value
        ]
        if len(given) > 1:
            raise typer.BadParameter(f"give one of {', '.join(given)}")
        if self.plot is not None:
            check_suffix(self.plot, _PICTURES, "--plot")
            need("matplotlib", "pictures")
        if self.out is not None:
            check_suffix(self.out, _TABLES, "--out")
            if self.out.suffix.lower() in (".parquet", ".arrow"):
                need("pyarrow", f"{self.out.suffix} files")

    @property
    def wants_shape(self) -> bool:
        """Whether anything is drawn."""
        return self.chart or self.plot is not None

    def give(
        self,
        rows: Sequence[Any],
        kind: type,
        shape: Chart | Ranking | Grid | None,
        *,
        zone: str,
        nothing: str = "nothing was found",
        **named: Any,
    ) -> None:
        """Give the rows out; ``named`` is what names the answer in JSON beside its zone."""
        from convostore.cli.output import print_json, print_line, print_table
        from convostore.cli.tables import (
            cells,
            csv_text,
            headings,
            number_columns,
            remarks_of,
            rows_json,
            write_rows,
        )

        if self.out is not None:
            write_rows(self.out, rows, kind, zone, **named)
            typer.echo(f"wrote {len(rows):,} rows to {self.out}", err=True)
        elif self.json:
            print_json(rows_json(rows, zone=zone, **named))
        elif self.csv:
            sys.stdout.write(csv_text(rows, kind))
        elif not rows:
            typer.echo(nothing, err=True)
        elif self.chart and shape is not None:
            _print_chart(shape)
        else:
            print_table(headings(rows), cells(rows), right=number_columns(rows))
        if not (self.out or self.json or self.csv):
            for line in remarks_of(rows):
                print_line(line)
        if self.plot is not None:
            _draw(shape, self.plot)


def check_suffix(file: Path, kinds: Sequence[str], option: str) -> None:
    """Refuse a file whose name says no kind that can be written.

    Raises:
        typer.BadParameter: it ends with none of ``kinds``.

    """
    if file.suffix.lower() not in kinds:
        wanted = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
        raise typer.BadParameter(f"{option}: {file.name} does not end with {wanted}")


def need(package: str, what: str) -> None:
    """Refuse what needs a package that is not installed, without importing it.

    Raises:
        UnavailableError: it is not.

    """
    if importlib.util.find_spec(package) is None:
        from convostore.schemas.errors import UnavailableError

        raise UnavailableError(
            f'{what} need {package}: pip install "convostore[analytics]"', capability=package
        )


def _print_chart(shape: Chart | Ranking | Grid) -> None:
    from rich.console import Console

    from convostore.cli.charts.terminal import text_of

    width = shutil.get_terminal_size().columns
    # Off a terminal rich leaves out colours, and with NO_COLOR.
    console = Console(file=sys.stdout, highlight=False, width=max(width, 20))
    console.print(text_of(shape, console.width), no_wrap=True, overflow="ellipsis", crop=True)


def _draw(shape: Chart | Ranking | Grid | None, file: Path) -> None:
    if shape is None:
        typer.echo(f"convostore: there is nothing to draw: {file} was not written", err=True)
        raise typer.Exit(1)
    from convostore.cli.charts.drawing import picture
    from convostore.cli.files import writing

    content = picture(shape, file.suffix.lower().removeprefix("."))
    with writing(file) as write:
        write(content)
    typer.echo(f"drew {file}", err=True)
