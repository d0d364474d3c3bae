"""Planning an append: what its one command asks and changes, and why it did not fit."""

from __future__ import annotations

from typing import Any

import pytest
from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.conversations import ConversationStatus as Status
from convostore.schemas.errors import ConflictError, LeaseLostError, StatusError, TooLargeError
from convostore.schemas.resources import Resource
from convostore.store import appending, requests
from convostore.store.appending import Append, block, command, known_keys, needs_log_seal, needs_seal
from convostore.store.baselines import advanced
from convostore.store.codec import U64_MAX, decode_u64, encode_u64
from convostore.store.layout import Bounds, Limits

OWNER = {"_id": 1, "user": "alice"}
BOUNDS = Bounds()
NOW = 5_000_000


def asked(messages: Any = ("hi",), **options: Any) -> Append:
    given = {
        "artifacts": None,
        "resources": None,
        "usage": {},
        "status": None,
        "author": None,
        "dialect": None,
        "key": None,
        "keys": None,
        "took": None,
        "expected": None,
        "unfinished": False,
        "force": False,
        **options,
    }
    return requests.append_request(list(messages), now=NOW, make_key=ObjectId, **given)


def head(**members: Any) -> dict[str, Any]:
    return {
        "status": "submitted",
        "usage": {"input_tokens": 0},
        "version": 4,
        "revision": 3,
        "lineage": 9,
        "structure": 2,
        "next_entry": 3,
        "embedded_count": 3,
        "embedded_bytes": 100,
        "log": [],
        "log_start": 0,
        **members,
    }


def test_a_plain_append_names_user_key_and_bounds_and_no_version() -> None:
    call = asked()
    query, update = command(call, OWNER, BOUNDS)
    assert query["user"] == "alice" and query["_id"] == 1
    assert query["log.k"] == {"$ne": call.keys[0]}
    assert query["embedded_count"] == {"$lt": BOUNDS.hard_count}
    assert query["embedded_bytes"] == {"$lt": BOUNDS.hard_bytes}
    assert "version" not in query and "status" not in query
    assert update["$inc"]["version"] == update["$inc"]["revision"] == 1
    assert update["$inc"]["next_entry"] == update["$inc"]["embedded_count"] == 1


def test_entries_are_pushed_without_ids_and_never_cut() -> None:
    _, update = command(asked(["a", "b"]), OWNER, BOUNDS)
    (push,) = [update["$push"]["messages"]]
    assert set(push) == {"$each"}
    assert [entry["m"] for entry in push["$each"]] == ["a", "b"]
    assert all("id" not in entry for entry in push["$each"])


def test_what_a_caller_gives_is_a_value_and_never_a_name() -> None:
    hostile = {"$set": {"user": "mallory"}, "$each": [1], "a.b": 1}
    query, update = command(asked([hostile], key="$ne", author=None), OWNER, BOUNDS)
    assert update["$push"]["messages"]["$each"][0]["m"] == hostile
    assert query["log.k"] == {"$ne": "$ne"}
    assert set(update) <= {"$push", "$inc", "$max", "$min", "$set", "$unset"}


def test_a_callers_key_is_first_looked_for_where_nothing_was_sealed() -> None:
    query, _ = command(asked(key="k"), OWNER, BOUNDS)
    assert query["log_start"] == 0
    query, _ = command(asked(key="k"), OWNER, BOUNDS, head(log_start=7))
    assert query["log_start"] == 7


def test_a_status_is_guarded_by_what_it_may_follow_unless_forced() -> None:
    query, update = command(asked(status="completed"), OWNER, BOUNDS)
    assert "cancelled" not in query["status"]["$in"]
    assert update["$set"]["status"] == "completed"
    query, _ = command(asked(status="completed", force=True), OWNER, BOUNDS)
    assert "status" not in query


def test_cancelled_stays_once_it_was_seen() -> None:
    query, update = command(asked(status="working"), OWNER, BOUNDS, head(status="cancelled"))
    assert "status" not in query
    assert "status" not in update.get("$set", {})


def test_a_receipt_must_hold_now_and_its_lease_goes() -> None:
    query, update = command(asked(took="r"), OWNER, BOUNDS)
    assert query["taken.receipt"] == "r"
    assert query["taken.until"] == {"$gt": Int64(NOW)}
    assert {"taken", "taken_steering", "taken_follow_ups"} <= set(update["$unset"])


@pytest.mark.parametrize("stored", [0, 2**62, 2**63, U64_MAX - 1, U64_MAX])
@pytest.mark.parametrize("count", [1, 2**62, U64_MAX])
def test_a_counter_stops_at_the_end_of_its_range(stored: int, count: int) -> None:
    usage = {"input_tokens": encode_u64(stored)}
    query, update = command(asked(usage={"input_tokens": count}), OWNER, BOUNDS, head(usage=usage))
    path = "usage.input_tokens"
    if path in update["$inc"]:
        assert stored + update["$inc"][path] == min(stored + count, U64_MAX)
        # Whoever counts meanwhile cannot carry it past what the server adds up.
        assert decode_u64(query[path]["$lt"]) + count <= 2**63
    else:
        assert decode_u64(update["$set"][path]) == min(stored + count, U64_MAX)
        assert decode_u64(query[path]) == stored


def test_large_messages_are_guarded_by_the_structure_their_pieces_were_stored_under() -> None:
    call = asked(["x" * 100_000])
    assert call.heavy
    query, _ = command(call, OWNER, BOUNDS, head())
    assert (query["lineage"], query["structure"]) == (9, 2)
    assert "structure" not in command(asked(), OWNER, BOUNDS, head())[0]


# Why it did not fit


def test_other_writers_are_the_reason_when_nothing_else_is() -> None:
    assert block(asked(), head(), BOUNDS) == "raced"


@pytest.mark.parametrize(
    "members", [{"embedded_count": BOUNDS.hard_count}, {"embedded_bytes": BOUNDS.hard_bytes}]
)
def test_a_full_run_waits_for_a_seal(members: dict[str, int]) -> None:
    assert block(asked(), head(**members), BOUNDS) == "full"
    assert block(asked(), head(**{name: count - 1 for name, count in members.items()}), BOUNDS) == "raced"


def test_a_past_version_is_told_with_both() -> None:
    with pytest.raises(ConflictError) as conflict:
        block(asked(expected=3), head(), BOUNDS)
    assert (conflict.value.field, conflict.value.expected, conflict.value.actual) == ("version", 3, 4)


@pytest.mark.parametrize(
    "lease", [None, {"receipt": "other", "until": NOW + 1}, {"receipt": "r", "until": NOW}]
)
def test_a_receipt_that_does_not_hold_is_told(lease: Any) -> None:
    with pytest.raises(LeaseLostError):
        block(asked(took="r"), head(**({"taken": lease} if lease else {})), BOUNDS)


def test_a_status_gives_way_to_cancelled_or_is_refused() -> None:
    cancelled = head(status="cancelled")
    assert block(asked(status=Status.WORKING), cancelled, BOUNDS) == "status"
    with pytest.raises(StatusError):
        block(asked(status=Status.COMPLETED), cancelled, BOUNDS)


def test_attachments_have_a_limit() -> None:
    call = asked(artifacts=[Resource(id=1, name="a")])
    with pytest.raises(TooLargeError):
        block(call, head(attachment_bytes=Limits.ATTACHMENTS), BOUNDS)


def test_a_counter_near_its_end_is_written_whole() -> None:
    call = asked(usage={"input_tokens": 1})
    assert block(call, head(usage={"input_tokens": Int64(2**62)}), BOUNDS) == "usage"


# What earlier calls stored


def test_a_known_key_gives_its_ids_and_revision() -> None:
    first = asked(["a", "b"], key="k")
    log = [asked().record(), first.record(), asked(["x", "y", "z"]).record()]
    known = known_keys(first, head(log=log, next_entry=6, log_start=4), [])
    assert known.ids == {"k": (1, 2)}
    assert known.revision == 6


def test_a_key_in_sealed_records_is_known_too() -> None:
    first = asked(["a", "b"], key="k")
    sealed = {"_id": {"from": 3}, "recs": [first.record(), asked().record()], "next": 10}
    known = known_keys(first, head(log_start=4), [sealed])
    assert known.ids == {"k": (7, 8)}
    assert known.revision == 3


def test_keys_of_messages_are_known_one_by_one() -> None:
    first = asked(["a", "b"], keys=["ka", "kb"])
    again = asked(["b", "c"], keys=["kb", "kc"])
    known = known_keys(again, head(log=[first.record()], next_entry=2), [])
    assert known.ids == {"kb": (1,)}
    assert again.only([1]).keys == ("kc",)
    assert again.only([1]).messages == ("c",)


@pytest.mark.parametrize(
    "other", [{"messages": ["b"]}, {"usage": {"requests": 1}}, {"status": "working"}], ids=str
)
def test_a_key_with_other_content_is_a_conflict(other: dict[str, Any]) -> None:
    log = [asked(["a"], key="k").record()]
    call = asked(**{"messages": ["a"], "key": "k", **other})
    with pytest.raises(ConflictError) as conflict:
        known_keys(call, head(log=log), [])
    assert conflict.value.field == "key"


# When to seal


def test_a_seal_is_due_over_the_soft_bound_and_only_for_some_writers() -> None:
    bounds = Bounds(soft_count=80, step=16)
    due = [count for count in range(1, 200) if needs_seal(head(embedded_count=count), 1, bounds)]
    assert [count for count in due if count < 160] == [80, 96, 112, 128, 144]
    assert due[5:] == list(range(160, 200))


def test_a_batch_that_steps_over_a_turn_takes_it() -> None:
    bounds = Bounds(soft_count=80, step=16)
    assert needs_seal(head(embedded_count=95), 20, bounds)
    assert not needs_seal(head(embedded_count=95), 5, bounds)


def test_bytes_alone_make_a_seal_due() -> None:
    assert needs_seal(head(embedded_count=3, embedded_bytes=2 * BOUNDS.soft_bytes + 1), 1, BOUNDS)


def test_a_log_is_sealed_over_its_soft_bound() -> None:
    due = [held for held in range(300) if needs_log_seal(head(revision=held, log_start=0), BOUNDS)]
    assert due and min(due) > BOUNDS.log_soft
    assert all(held % BOUNDS.step == 0 for held in due)


# What is noted of a write


def test_a_reply_of_the_same_structure_is_taken_as_it_is() -> None:
    noted = {**head(), "segments": ["s"]}
    reply = {"structure": 2, "embedded_count": 5, "embedded_bytes": 150, "version": 5}
    assert advanced(noted, reply, added=2, size=50) == {**noted, **reply}


def test_after_a_seal_in_between_run_and_manifest_stay_as_noted() -> None:
    noted = {**head(), "segments": ["s"]}
    reply = {"structure": 3, "embedded_count": 2, "embedded_bytes": 60, "version": 5}
    known = advanced(noted, reply, added=2, size=50)
    assert (known["structure"], known["segments"]) == (2, ["s"])
    assert (known["embedded_count"], known["embedded_bytes"], known["version"]) == (5, 150, 5)


def test_the_reply_that_is_asked_for_is_of_fixed_size() -> None:
    assert not {"messages", "segments", "log", "resources", "artifacts"} & set(appending.REPLY)
