"""The report: all numbers, nothing loaded from elsewhere, no text taken for markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from convostore.cli.charts.page import html_of
from convostore.cli.report import Answers, report_page
from convostore.store import FailuresRow, UsageRow, WaitingRow
from support.figure_rows import heat_rows, made_rows, top_rows

ATTACK = '<script src="//evil.example/x.js"></script><img src=x onerror=alert(1)>"\'&{{ 7*7 }}'


class Elements(HTMLParser):
    """The elements of a page with their attributes, and what is wrong with their nesting."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "img", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def rows() -> list[UsageRow]:
    found: list[UsageRow] = made_rows(UsageRow, 14, "day", "America/New_York", "2026-03-01")
    found[5] = UsageRow(found[5].start, found[5].label, *([0] * 7))
    return found


@pytest.fixture(scope="module")
def html(rows: list[UsageRow]) -> str:
    found = Answers(
        by="day",
        zone="America/New_York",
        currency="EUR",
        usage=rows,
        series={"Failures": made_rows(FailuresRow, 14, "day", "America/New_York", "2026-03-01")},
        tops={"Users": top_rows(["alice", ATTACK, None, "\ud800\x1b[31m"]), "Models": []},
        heat=heat_rows(),
        waiting=[WaitingRow("submitted", 3, 2, 400, 5_000, 60_000, 7_200_000)],
    )
    return html_of(report_page(found, [f"conversations labelled {ATTACK}"]))


def test_the_page_names_zone_and_range_and_has_the_numbers(html: str, rows: list[UsageRow]) -> None:
    assert "2026-03-01 to 2026-03-14, times in America/New_York, by day" in html
    for row in rows:
        cells = (row.label, f"{row.input_tokens:,}", f"{row.messages:,}")
        assert all(f">{cell}<" in html for cell in cells) or row is rows[5]
    total = sum(row.input_tokens for row in rows)
    assert f"<dd>{total:,}</dd>" in html
    assert f"{sum(row.unknown for row in rows):,} appends did not say their usage" in html
    assert f">{rows[5].label}<" not in html.split("<h2>Failures")[0].split("<tbody>")[1]
    assert "A period in which nothing happened has no row." in html
    assert ">2h<" in html and ">400ms<" in html


def test_the_page_loads_nothing_and_runs_nothing(html: str) -> None:
    elements = Elements(html)
    assert elements.wrong == [] and elements.open == []
    assert {"script", "link", "img", "iframe", "object", "embed", "base", "form"}.isdisjoint(
        tag for tag, _ in elements.found
    )
    for tag, attributes in elements.found:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "action", "data"):
                assert value is not None and value.startswith(("#", "data:image/png;")), (tag, name, value)
    assert re.search(r"https?:", html) is None
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    assert "default-src 'none'" in html


def test_texts_of_users_are_no_markup(html: str) -> None:
    assert "<script" not in html
    assert "&lt;script src=" in html and "{{ 7*7 }}" in html
    assert "\\ud800\\x1b[31m" in html and html.encode()


def test_ids_are_unique_and_every_reference_has_one(html: str) -> None:
    ids = [value for _, attributes in Elements(html).found if (value := attributes.get("id"))]
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r"href=\"#([^\"]+)\"", html)) | set(re.findall(r"url\(#([^)]+)\)", html))
    assert wanted and wanted <= set(ids)
    assert html.count('role="img"') == 4
