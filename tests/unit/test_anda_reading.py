"""Reading the record: kindly, in every form that Anda's programs write; strictly, as Anda itself does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from convostore.schemas.anda_records import AndaOptions, read_anda
from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.errors import ConvostoreError, InvalidRecordError, SchemaVersionError
from convostore.schemas.usage import Usage

FULL: dict[str, Any] = {
    "_id": 7,
    "user": "uuc56-gyb",
    "messages": [],
    "resources": [],
    "artifacts": [],
    "status": "working",
    "usage": {"input_tokens": 1, "output_tokens": 2, "requests": 3},
    "period": 472222,
    "created_at": 1_700_000_000_000,
    "updated_at": 1_700_000_003_120,
}
HASH = "Mzi-aU9QxfM4gUmGzfBoZFOoiLhPQk15KvS5ICOY85I="


def without(*names: str, **members: Any) -> dict[str, Any]:
    return {name: value for name, value in (FULL | members).items() if name not in names}


def notes_of(value: Any, **options: Any) -> list[str]:
    return [note.partition(":")[0] for note in read_anda(value, AndaOptions(**options)).notes]


def test_complete_record_is_read_either_way_without_notes() -> None:
    for strict in (False, True):
        read = read_anda(FULL, AndaOptions(strict=strict))
        assert (read.conversation.id, read.conversation.status, read.version) == (
            7,
            ConversationStatus.WORKING,
            1,
        )
        assert read.conversation.usage == Usage(input_tokens=1, output_tokens=2, requests=3)
        assert (read.notes, dict(read.unknown), read.lossy) == ((), {}, False)


@pytest.mark.parametrize("name", [name for name in FULL if name != "user"])
@pytest.mark.parametrize("value", ["absent", None])
def test_missing_member_is_refused_strictly_and_gets_its_default_kindly(name: str, value: Any) -> None:
    given = without(name) if value == "absent" else FULL | {name: None}
    with pytest.raises(InvalidRecordError) as refused:
        Conversation.from_json(given, strict=True)
    assert refused.value.path == name
    assert notes_of(given | {"period": 0} if name == "created_at" else given) == [name]


def test_defaults_put_nobody_to_work() -> None:
    read = Conversation.from_json({"user": "alice", "created_at": 5})
    assert (read.status, read.updated_at, read.messages) == (ConversationStatus.COMPLETED, 5, [])
    assert Conversation.from_json({"user": "alice"}).created_at == 0


def test_missing_user_is_anonymous_only_in_version_2() -> None:
    for strict in (False, True):
        assert Conversation.from_json(without("user"), version=2, strict=strict).user == "2vxsx-fae"
        for given in (without("user"), without("user", label="x"), FULL | {"user": None}):
            with pytest.raises(InvalidRecordError, match="user: is missing"):
                Conversation.from_json(given, strict=strict)
    assert read_anda(without("user"), AndaOptions(user="alice")).conversation.user == "alice"


@pytest.mark.parametrize(
    "name",
    [
        "thread",
        "failed_reason",
        "steering_messages",
        "follow_up_messages",
        "child",
        "ancestors",
        "label",
        "extra",
    ],
)
def test_null_is_absent_for_optional_members(name: str) -> None:
    for strict in (False, True):
        assert getattr(Conversation.from_json(FULL | {name: None}, strict=strict), name) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_id", -1),
        ("_id", 2**64),
        ("_id", 7.0),
        ("_id", True),
        ("_id", "7"),
        ("user", 5),
        ("user", ""),
        ("user", {"$ne": None}),
        ("user", "rwlgt-iiaaa-aaaaa-aaaaa-caj"),
        ("user", "x" * 257),
        ("thread", 5),
        ("thread", "a\x00"),
        ("messages", {}),
        ("messages", "hi"),
        ("resources", {}),
        ("resources[0]", ["x"]),
        ("artifacts[0].size", [{"name": "a", "size": -1, "_id": 0, "tags": []}]),
        (
            "resources[1].hash",
            [{"name": "a", "_id": 0, "tags": []}, {"name": "b", "hash": "AQID", "_id": 0, "tags": []}],
        ),
        ("resources[0].blob", [{"name": "a", "blob": "?", "_id": 0, "tags": []}]),
        ("resources[0].tags[0]", [{"name": "a", "tags": [5], "_id": 0}]),
        ("status", "done"),
        ("status", "Working"),
        ("status", 5),
        ("failed_reason", 5),
        ("usage", []),
        ("usage.requests", {"input_tokens": 1, "output_tokens": 2, "requests": -1}),
        ("usage.input_tokens", {"input_tokens": 1.0, "output_tokens": 2, "requests": 1}),
        ("steering_messages", "x"),
        ("steering_messages[1]", ["x", 5]),
        ("child", 1.5),
        ("ancestors", 6),
        ("ancestors[1]", [1, "2"]),
        ("label", 5),
        ("period", -1),
        ("created_at", "2023-11-14T22:13:20Z"),
        ("updated_at", 1.7e12),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_wrong_value_is_refused_with_its_path(name: str, value: Any, strict: bool) -> None:
    member = name.partition("[")[0].partition(".")[0]
    with pytest.raises(InvalidRecordError) as refused:
        Conversation.from_json(FULL | {member: value}, strict=strict)
    assert refused.value.path == name


@pytest.mark.parametrize("source", ["[]", "5", '"x"', "null", "", b"\xff", b"{}", {}, {1: 2}])
def test_what_is_no_record_is_refused(source: Any) -> None:
    with pytest.raises(InvalidRecordError):
        Conversation.from_json(source)


def test_member_that_is_no_json_is_refused_with_its_path() -> None:
    with pytest.raises(InvalidRecordError) as refused:
        Conversation.from_json(FULL | {"messages": [{}, {"at": [b"x"]}]})
    assert (refused.value.path, refused.value.index) == ("messages[1].at[0]", 1)
    with pytest.raises(InvalidRecordError, match=r"foo\.a"):
        Conversation.from_json(FULL | {"foo": {"a": {1}}})


def test_messages_are_read_as_they_are() -> None:
    messages = [{"role": 5}, "x", None, [1.0, 1, True], {"b": 1, "a": 2}]
    text = json.dumps(FULL | {"messages": messages})
    for strict in (False, True):
        assert json.dumps(Conversation.from_json(text, strict=strict).messages) == json.dumps(messages)


@pytest.mark.parametrize(
    ("given", "user"),
    [
        ("2VXSX-FAE", "2vxsx-fae"),
        ("b64:AQ==", "uuc56-gyb"),
        ("b64:", "aaaaa-aa"),
        ("b64:AQ", "uuc56-gyb"),
        ("AQ==", "uuc56-gyb"),
        ("BA==", "2vxsx-fae"),
        ("AAAAAAAAAAABAQ==", "rwlgt-iiaaa-aaaaa-aaaaa-cai"),
        (
            "qWrteTy292gPO-WRxA8QJlPaUR78WW67n-5q1QI=",
            "dn73l-5njnl-wxspf-w65ua-6o7fs-hca6e-bgkpn-fchx4-lfxlx-h7onl-kqe",
        ),
    ],
)
def test_user_in_bytes_is_read_as_a_principal(given: str, user: str) -> None:
    read = read_anda(FULL | {"user": given})
    assert read.conversation.user == user
    assert [note.partition(":")[0] for note in read.notes] == ["user"]
    if given.lower() != user:
        with pytest.raises(InvalidRecordError):
            Conversation.from_json(FULL | {"user": given}, strict=True)


@pytest.mark.parametrize(
    "user", ["alice", "user-1", "AQ", "dXNlcg==", "b64:?", f"b64:{'A' * 40}", "AAAAAAAAAAEBAQ"]
)
def test_opaque_user_stays_as_it_is(user: str) -> None:
    read = read_anda(FULL | {"user": user})
    assert (read.conversation.user, read.notes) == (user, ())


@pytest.mark.parametrize(
    ("user", "thread", "read"),
    [
        ("uuc56-gyb", "cl9v200a1c609kg0000g", "cl9v200a1c609kg0000g"),
        ("uuc56-gyb", "ZVPxAAoLDATSAAAB", "ZVPxAAoLDATSAAAB"),
        ("b64:AQ==", "b64:ZVPxAAoLDATSAAAB", "cl9v200a1c609kg0000g"),
        ("AQ==", "ZVPxAAoLDATSAAAB", "cl9v200a1c609kg0000g"),
        ("AQ==", "session-1", "session-1"),
        ("uuc56-gyb", "cl9v200a1c609kg0000h", "cl9v200a1c609kg0000h"),
    ],
)
def test_thread_in_base64_is_an_xid_only_beside_a_user_in_base64(user: str, thread: str, read: str) -> None:
    assert Conversation.from_json(FULL | {"user": user, "thread": thread}).thread == read


def test_strict_reading_takes_only_xids_and_principals() -> None:
    Conversation.from_json(FULL | {"thread": "cl9v200a1c609kg0000g"}, strict=True)
    for given in ({"thread": "session-1"}, {"user": "alice"}):
        with pytest.raises(InvalidRecordError):
            Conversation.from_json(FULL | given, strict=True)


def test_texts_that_andadb_escaped_are_as_they_were() -> None:
    given = FULL | {
        "user": "b64:AQ==",
        "messages": [{"role": "user", "content": ["txt:b64:x", "txt:txt:y", "z"], "txt:i64:k": "txt:"}],
        "resources": [{"_id": 0, "tags": [], "name": "txt:b64:n", "blob": "b64:aGk="}],
        "label": "txt:txt:l",
    }
    read = Conversation.from_json(given)
    assert read.messages == [{"role": "user", "content": ["b64:x", "txt:y", "z"], "i64:k": ""}]
    assert (read.resources[0].name, read.resources[0].blob, read.label) == ("b64:n", b"hi", "txt:l")
    assert Conversation.from_json(FULL | {"label": "txt:l"}).label == "txt:l"


@pytest.mark.parametrize("blob", ["b64:aGk=", "aGk=", "aGk", [104, 105]])
def test_bytes_of_resources_are_read_in_every_form(blob: Any) -> None:
    for strict in (False, True):
        given = FULL | {"resources": [{"_id": 0, "tags": [], "name": "a", "blob": blob}]}
        assert Conversation.from_json(given, strict=strict).resources[0].blob == b"hi"


def test_hash_that_is_not_that_of_the_bytes_is_computed_anew() -> None:
    wrong = {"_id": 3, "tags": [], "name": "a", "blob": "aGVsbG8=", "hash": "A" * 43 + "="}
    right = wrong | {"hash": HASH}
    assert notes_of(FULL | {"artifacts": [wrong, right]}) == ["artifacts[0].hash"]
    read = Conversation.from_json(FULL | {"artifacts": [wrong, right]})
    assert read.artifacts[0] == read.artifacts[1]
    kept = Conversation.from_json(FULL | {"artifacts": [wrong]}, strict=True)
    assert kept.artifacts[0].hash == b"\x00" * 32


def test_resource_gets_defaults_kindly_only() -> None:
    assert notes_of(FULL | {"resources": [{}]}) == [
        "resources[0]._id",
        "resources[0].tags",
        "resources[0].name",
    ]
    for lacking in ({"tags": [], "name": "a"}, {"_id": 0, "name": "a"}, {"_id": 0, "tags": []}):
        with pytest.raises(InvalidRecordError, match=r"resources\[0\]\.\w+: is missing"):
            Conversation.from_json(FULL | {"resources": [lacking]}, strict=True)


@pytest.mark.parametrize("counter", ["input_tokens", "output_tokens", "requests"])
def test_counter_may_be_missing_kindly_only(counter: str) -> None:
    usage = {name: count for name, count in FULL["usage"].items() if name != counter}
    assert notes_of(FULL | {"usage": usage}) == [f"usage.{counter}"]
    with pytest.raises(InvalidRecordError) as refused:
        Conversation.from_json(FULL | {"usage": usage}, strict=True)
    assert refused.value.path == f"usage.{counter}"


def test_members_without_a_name_are_given_beside_the_record() -> None:
    given = FULL | {
        "title": "t",
        "usage": FULL["usage"] | {"reasoning_tokens": 9},
        "resources": [
            {"_id": 0, "tags": [], "name": "a"},
            {"_id": 0, "tags": [], "name": "b", "mimeType": "x"},
        ],
    }
    unknown = {"title": "t", "usage": {"reasoning_tokens": 9}, "resources": {"1": {"mimeType": "x"}}}
    for strict in (False, True):
        assert read_anda(given, AndaOptions(strict=strict)).unknown == unknown
    notes: list[str] = []
    Conversation.from_json(given, notes=notes)
    assert {note.partition(":")[0] for note in notes} == {"title", "usage", "resources"}


@pytest.mark.parametrize(
    ("given", "read", "noted"),
    [
        ([1, 4, 6], [1, 4, 6], False),
        ([6, 4, 1], [1, 4, 6], True),
        ([6], [6], False),
        ([], [], False),
        ([4, 9, 6], [4, 9, 6], True),
        ([4, 4], [4, 4], True),
    ],
)
def test_ancestors_are_turned_to_run_from_the_root(given: list[int], read: list[int], noted: bool) -> None:
    for strict in (False, True):
        assert Conversation.from_json(FULL | {"ancestors": given}, strict=strict).ancestors == read
    assert notes_of(FULL | {"ancestors": given}) == ["ancestors"] * noted


def test_period_that_contradicts_creation_is_computed_anew() -> None:
    assert Conversation.from_json(FULL | {"period": 17}).period == 472222
    assert notes_of(FULL | {"period": 17}) == ["period"]
    assert notes_of(FULL | {"period": 0}) == []


@pytest.mark.parametrize(
    ("members", "version"),
    [
        ({}, 1),
        ({"label": "x"}, 2),
        ({"extra": None}, 3),
        ({"child": 5}, 4),
        ({"child": None, "label": "x"}, 4),
    ],
)
def test_version_is_inferred_unless_told(members: dict[str, Any], version: int) -> None:
    assert read_anda(FULL | members).version == version
    assert read_anda(FULL | members, AndaOptions(version=3)).version == 3


def test_strict_reading_of_a_told_version_knows_what_that_version_knows() -> None:
    given = FULL | {"child": 5, "label": "x"}
    read = read_anda(given, AndaOptions(strict=True, version=2))
    assert (read.conversation.child, read.conversation.label, read.unknown) == (None, "x", {"child": 5})
    assert read_anda(given, AndaOptions(version=2)).conversation.child == 5
    with pytest.raises(InvalidRecordError, match="idle"):
        Conversation.from_json(FULL | {"status": "idle"}, strict=True, version=2)
    assert Conversation.from_json(FULL | {"status": "idle"}, strict=True).status == "idle"


def test_unknown_version_is_refused() -> None:
    with pytest.raises(SchemaVersionError):
        Conversation.from_json(FULL, version=5)


def test_every_failure_is_an_error_of_the_project() -> None:
    for name in FULL:
        for value in (
            None,
            5,
            -1,
            1.5,
            True,
            "x",
            [],
            [1],
            {},
            {"a": 1},
            [[]],
            [None],
            "\ud83d",
            b"x",
            {1},
            object(),
        ):
            try:
                Conversation.from_json(FULL | {name: value})
            except ConvostoreError as error:
                assert isinstance(error, InvalidRecordError) and error.path.startswith(name)


def test_callers_lists_are_not_shared() -> None:
    given = FULL | {"messages": [1]}
    Conversation.from_json(given).messages.append(2)
    assert given["messages"] == [1]
