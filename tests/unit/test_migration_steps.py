"""The steps of migrations, without a server: what they read, refuse and plan."""

from __future__ import annotations

from typing import Any

import bson
import pytest
from bson.int64 import Int64
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.errors import ConvostoreError, InvalidRecordError, UnavailableError
from convostore.store import migrations
from convostore.store.codec import OPTIONS
from convostore.store.heads import embedded, message_count
from convostore.store.layout import SCHEMA_VERSION, Bounds
from convostore.store.migrations import STEPS, Found, m0001_anda_records, m0002_first_release, version_of
from convostore.store.testing import memory_store
from support.older_documents import (
    IMPORTED,
    LATER,
    LONG,
    Document,
    anda,
    invalid_records,
    valid_records,
    written_by_the_first_release,
)


def as_read(document: Document) -> tuple[Document, bytes]:
    """The document as the driver gives it, and its bytes."""
    data = bson.encode(document, codec_options=OPTIONS)
    return bson.decode(data, OPTIONS), data


def heads() -> dict[int, Document]:
    lines = [one for one in written_by_the_first_release() if one["collection"] == "conversations"]
    found = [as_read(one["document"])[0] for one in lines if "document" in one]
    return {int(one["_id"]): one for one in found}


def test_the_steps_lead_from_one_version_to_the_next_and_end_at_this_releases() -> None:
    assert [step.number for step in STEPS] == list(range(1, SCHEMA_VERSION + 1))
    assert all(step.pre and step.post and step.name.isidentifier() for step in STEPS)


@pytest.mark.parametrize("found", [None, "2", True, 0, -1, 1.0, [2]])
def test_what_no_release_writes_as_a_version_is_none(found: Any) -> None:
    assert version_of({"schema_version": found}) == 0


@pytest.mark.parametrize("number", range(len(valid_records())))
def test_the_same_record_is_always_the_same_head(number: int) -> None:
    one, other = (migrations.as_head(*as_read(valid_records()[number])) for _ in range(2))
    for log in (one["log"], other["log"]):
        for record in log:
            record.pop("k")
    for head in (one, other):
        for name in ("steering_messages", "follow_up_messages"):
            for item in head.get(name, []):
                item.pop("id")
    assert one == other and one["schema_version"] == SCHEMA_VERSION
    assert message_count(one) == len(embedded(one)) == len(valid_records()[number]["messages"])


def test_another_content_is_another_lineage() -> None:
    one = migrations.as_head(*as_read(anda(601, 3)))
    other = migrations.as_head(*as_read(anda(601, 4)))
    assert one["lineage"] != other["lineage"] and 0 < one["lineage"] < 2**63


@pytest.mark.parametrize("path", [path for path in invalid_records() if "no number" not in path])
def test_what_is_no_record_is_refused_with_its_place(path: str) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        migrations.as_head(*as_read(invalid_records()[path]))
    assert str(refused.value).startswith(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(anda(1))), json_values)
def test_a_record_with_any_member_changed_is_read_or_refused_by_an_error_of_ours(
    name: str, value: Any
) -> None:
    document = {**anda(601), name: value}
    try:
        read = as_read(document)
    except (bson.errors.InvalidDocument, UnicodeEncodeError, OverflowError):
        return  # no database holds it
    try:
        head = migrations.as_head(*read)
    except ConvostoreError:
        return
    assert head["schema_version"] == SCHEMA_VERSION
    # What can be read can be stored.
    change = m0001_anda_records.planned(*read, Bounds())
    bson.encode({**change.update, "segments": []}, codec_options=OPTIONS)


def test_the_update_of_an_old_head_names_only_places_and_leaves_appends_alone() -> None:
    for head in heads().values():
        change = m0002_first_release.planned(head, Found(), LATER)
        assert set(change.query) == {"_id", "user", "schema_version", "lineage", "structure", "log_start"}
        for operator, members in change.update.items():
            assert operator in ("$set", "$min", "$inc")
            for name in members:
                plain = ("schema_version", "log_before", "dirty", "embedded_bytes", "states")
                assert name in plain or (name.startswith("log.") and name.endswith(".qs"))


def test_an_append_after_an_import_has_no_times_of_its_own() -> None:
    head = heads()[IMPORTED]
    made = {int(entry["id"]): entry.get("made") for entry in embedded(head)}
    change = m0002_first_release.planned(head, Found((), made), LATER)
    assert not any(name.startswith("log.") for name in change.update["$set"])


def test_a_lifted_head_needs_nothing_more() -> None:
    head = heads()[LONG]
    sealed = [
        as_read(one["document"])[0]
        for one in written_by_the_first_release()
        if one["collection"] == "changes" and one.get("document", {}).get("c") == LONG
    ]
    found = Found(sealed)
    change = m0002_first_release.planned(head, found, LATER)
    assert len(change.amended) == len(sealed)
    for document, (_, update) in zip(sealed, change.amended, strict=True):
        document |= update["$set"]
    lifted = {**head, **change.update["$set"]}
    lifted["embedded_bytes"] += change.update["$inc"]["embedded_bytes"]
    assert m0002_first_release.mended(lifted, Found(sealed), LATER) is None
    assert m0002_first_release.mended({**lifted, "log_before": Int64(0)}, Found(sealed), LATER) is not None


def test_mongomock_has_nothing_to_migrate() -> None:
    with memory_store() as store:
        with pytest.raises(UnavailableError) as refused:
            store.migrations.run()
        assert refused.value.capability == "migrations"
