"""Sheets of an hour: in however many parts, they say what a plain sum over its rows says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.conversations import ConversationStatus
from convostore.store import crediting
from convostore.store.codec import U64_MAX, decode_u64, document_size, encode_u64
from convostore.store.sheets import sheets_of

HOUR = 480_000
COUNTERS = ("n", "i", "o", "k", "x", "b", "d")
STATUSES = {"submitted": "ss", "working": "sw", "failed": "sf"}


def rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    counters = st.dictionaries(
        st.sampled_from(COUNTERS), st.integers(1, 4) | st.sampled_from([2**31, 2**33]), min_size=1
    )
    places = st.tuples(
        st.integers(0, 5) | st.just(2**63 + 1), st.integers(0, 3), st.sampled_from(["", "small", "large"])
    )

    def made(found: dict[tuple[int, int, str], dict[str, int]]) -> list[dict[str, Any]]:
        return [
            {
                "_id": {"c": encode_u64(id), "l": id, "q": HOUR * 4 + quarter, "m": model},
                "user": f"user-{id % 3}",
                "label": (None, "", "work")[id % 3],
                **({"status": list(STATUSES)[id % 3]} if "b" in counted else {}),
                **{short: encode_u64(count) for short, count in counted.items()},
            }
            for (id, quarter, model), counted in found.items()
        ]

    return st.dictionaries(places, counters, max_size=12).map(made)


def says(group: Iterable[dict[str, Any]]) -> tuple[Counter[str], set[int], set[str]]:
    """Counters, active conversations and their users of some rows."""
    sums: Counter[str] = Counter()
    ids, users = set(), set()
    for row in group:
        sums.update({short: decode_u64(row[short]) for short in COUNTERS if short in row})
        if "status" in row:
            sums[STATUSES[row["status"]]] += 1
        if any(short in row for short in ("n", "k", "b")):
            ids.add(decode_u64(row["_id"]["c"]))
            users.add(row["user"])
    return sums, ids, users


def said(documents: Iterable[dict[str, Any]]) -> tuple[Counter[str], set[int], set[str]]:
    """The same, of documents of sheets."""
    sums: Counter[str] = Counter()
    ids, users = set(), set()
    for one in documents:
        letters = (*COUNTERS, *STATUSES.values())
        sums.update({short: decode_u64(one[short]) for short in letters if short in one})
        ids.update(map(decode_u64, one["cs"]))
        users.update(one["us"])
    return sums, ids, users


def grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


@given(rows(), st.integers(1, 8))
def test_an_hour_in_parts(given_rows: list[dict[str, Any]], most: int) -> None:
    sheets = sheets_of(HOUR, given_rows, most)
    whole = says(given_rows)
    assert [(sheet["_id"]["h"], sheet["_id"]["p"]) for sheet in sheets] == [
        (HOUR, place) for place in range(len(sheets))
    ]
    assert said({**sheet["t"], "cs": sheet["cs"], "us": sheet["us"]} for sheet in sheets) == whole
    if given_rows:
        assert (sheets[0]["t"]["cn"], sheets[0]["t"]["un"]) == (len(whole[1]), len(whole[2]))
    assert all("cn" not in sheet["t"] for sheet in sheets[1:])
    ids = [id for sheet in sheets for id in sheet["cs"]]
    assert len(ids) == len(set(map(decode_u64, ids)))

    quarters = grouped((one for sheet in sheets for one in sheet["q"]), lambda one: one["q"])
    expected = grouped(given_rows, lambda row: row["_id"]["q"])
    assert {place: said(group) for place, group in quarters.items()} == {
        place: says(group) for place, group in expected.items()
    }
    slots = grouped(
        (one for sheet in sheets for one in sheet["s"]),
        lambda one: (one["q"], one.get("l"), one["m"]),
    )
    expected = grouped(given_rows, lambda row: (row["_id"]["q"], row["label"], row["_id"]["m"]))
    assert {place: said(group) for place, group in slots.items()} == {
        place: says(group) for place, group in expected.items()
    }


@given(rows())
def test_tokens_by_model(given_rows: list[dict[str, Any]]) -> None:
    (sheet,) = sheets_of(HOUR, given_rows)
    tokens = {
        (one["q"], model): (decode_u64(given_), decode_u64(made))
        for one in sheet["q"]
        for model, given_, made, _ in one.get("tk", ())
    }
    expected = grouped(given_rows, lambda row: (row["_id"]["q"], row["_id"]["m"]))
    sums = {place: says(group)[0] for place, group in expected.items()}
    assert tokens == {place: (one["i"], one["o"]) for place, one in sums.items() if one["i"] or one["o"]}


def test_a_counter_stops_at_its_greatest_number() -> None:
    most = {"i": encode_u64(U64_MAX)}
    given_rows = [
        {"_id": {"c": id, "l": id, "q": HOUR * 4, "m": ""}, "user": "a", "label": None, **most}
        for id in (1, 2)
    ]
    (sheet,) = sheets_of(HOUR, given_rows)
    assert decode_u64(sheet["t"]["i"]) == U64_MAX
    assert decode_u64(sheet["q"][0]["tk"][0][1]) == U64_MAX


def test_no_sheet_is_larger_than_a_document_may_be() -> None:
    given_rows = [
        {
            "_id": {"c": id, "l": id, "q": HOUR * 4 + quarter, "m": model},
            "user": f"{id:05}" + "\N{GRINNING FACE}" * 251,
            "label": None,
            "n": 1,
        }
        for id in range(3_000)
        for quarter in range(4)
        for model in ("small", "large")
    ]
    sheets = sheets_of(HOUR, given_rows)
    assert len(sheets) > 5
    assert max(document_size(sheet) for sheet in sheets) < 15 << 20
    assert sheets[0]["t"]["un"] == 3_000
    assert sum(len(sheet["us"]) for sheet in sheets) == 3_000


def test_an_hour_without_rows_says_nothing() -> None:
    (sheet,) = sheets_of(HOUR, [])
    assert (sheet["t"], sheet["cs"], sheet["q"], sheet["s"]) == ({}, [], [], [])


def test_every_status_has_letters() -> None:
    assert set(crediting.STATUSES) == {status.value for status in ConversationStatus}
    assert not set(crediting.STATUSES.values()) & set(crediting.LETTERS)
