"""OpenAI chat JSON Lines: what every layout gives, what is refused, and that it goes out as it came."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from convostore.schemas.errors import ConvostoreError, InvalidRecordError
from convostore.schemas.formats import FORMATS, ByteInput, Imported, ReadOptions, Refused, detect
from convostore.schemas.formats.openai_chat import write
from convostore.schemas.json_values import same_json

OPTIONS = ReadOptions(user="alice", file="f.jsonl")
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": []}]


def read(text: str | bytes, options: ReadOptions = OPTIONS) -> list[Imported | Refused]:
    data = text.encode() if isinstance(text, str) else text
    source = ByteInput([data])
    found = detect(source)
    assert found.name == "openai" and found.read is not None
    return [item for item in found.read(source, options) if isinstance(item, (Imported, Refused))]


def imported(items: Iterable[Imported | Refused]) -> list[Imported]:
    return [item for item in items if isinstance(item, Imported)]


def refused(items: Iterable[Imported | Refused]) -> list[Refused]:
    return [item for item in items if isinstance(item, Refused)]


def dump(*values: Any) -> str:
    return "\n".join(json.dumps(value) for value in values)


def test_line_becomes_a_completed_conversation_with_its_messages_untouched() -> None:
    line = {"id": "run-1", "metadata": {"trial": 0}, "messages": MESSAGES, "tools": [], "parallel": None}
    (found,) = imported(read(dump(line)))
    record = found.conversation
    assert (record.user, record.status.value, record.extra) == ("alice", "completed", {"trial": 0})
    assert same_json(record.messages, MESSAGES)
    assert (record.id, record.created_at, record.updated_at) == (0, 0, 0)
    assert (found.source.format, found.source.id, found.source.file) == ("openai", "run-1", "f.jsonl")
    assert found.unknown == {"tools": [], "parallel": None}
    assert found.entries is not None
    assert [(fact.made, fact.dialect) for fact in found.entries] == [(None, "openai")] * 2
    assert found.position == 1


@pytest.mark.parametrize(
    "text",
    [
        dump({"messages": MESSAGES}),
        json.dumps([{"messages": MESSAGES}]),
        json.dumps([{"messages": MESSAGES}], indent=1),
        json.dumps({"messages": MESSAGES}, indent=1),
        dump(MESSAGES),
        json.dumps(MESSAGES, indent=1),
        dump(*MESSAGES),
        "\ufeff" + dump({"messages": MESSAGES}) + "\r\n\r\n",
    ],
)
def test_every_layout_gives_the_same_conversation(text: str) -> None:
    (found,) = imported(read(text))
    assert same_json(found.conversation.messages, MESSAGES)
    assert found.source.id == imported(read(dump({"messages": MESSAGES})))[0].source.id


def test_several_lists_are_several_conversations() -> None:
    assert len(imported(read(dump(MESSAGES, MESSAGES[:1])))) == 2
    assert len(imported(read(json.dumps([{"messages": MESSAGES}, {"messages": []}])))) == 2


def test_without_an_id_the_content_is_the_identity_and_each_occurrence_has_its_own() -> None:
    first, second, third = imported(read(dump(MESSAGES, MESSAGES[:1], MESSAGES)))
    assert len({first.source.id, second.source.id, third.source.id}) == 3
    assert third.source.id == f"{first.source.id}#2"
    again = imported(read(dump(MESSAGES, MESSAGES[:1], MESSAGES)))
    assert [item.source.id for item in again] == [first.source.id, second.source.id, third.source.id]


def test_number_as_id_is_kept_as_a_number() -> None:
    (found,) = imported(read(dump({"id": 5, "messages": MESSAGES})))
    assert found.source.id == "5" and found.unknown == {"id": 5}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("2024-01-01T00:00:00Z", 1_704_067_200_000),
        ("2024-01-01T05:30:00.250+05:30", 1_704_067_200_250),
        (1_704_067_200, 1_704_067_200_000),
        (1_704_067_200.125, 1_704_067_200_125),
        (1_704_067_200_000, 1_704_067_200_000),
    ],
)
def test_created_at_of_a_message_is_its_time_and_the_earliest_that_of_the_conversation(
    given: Any, made: int
) -> None:
    messages = [{"role": "user", "content": "x", "created_at": "2025-01-01T00:00:00Z"}, MESSAGES[1]]
    messages.append({"role": "user", "content": "y", "created_at": given})
    (found,) = imported(read(dump({"messages": messages})))
    assert found.entries is not None and [fact.made for fact in found.entries][1:] == [None, made]
    assert found.conversation.created_at == made
    assert found.conversation.updated_at == 1_735_689_600_000
    assert same_json(found.conversation.messages, messages)


@pytest.mark.parametrize(
    "given", ["2024-02-30", "2024-01-01T00:00:00", -1, True, 5 * 10**10, 10**20, [], "soon"]
)
def test_created_at_that_is_no_time_is_refused_with_its_line(given: Any) -> None:
    good = {"messages": MESSAGES}
    bad = {"messages": [{"role": "user", "content": "x", "created_at": given}]}
    items = read(dump(good, bad, good))
    (wrong,) = refused(items)
    assert wrong.position == 2 and "messages[0].created_at" in wrong.reason
    assert len(imported(items)) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "an empty list"),
        ("null", "null"),
        ("7", "value of int"),
        ("{}", "messages: is missing"),
        ('{"messages":7}', "messages: is no list"),
        ('{"messages":[{"content":"x"}]}', "messages[0]"),
        ('{"messages":[null]}', "messages[0]"),
        ('{"role":"user","content":"x"}', "single message"),
    ],
)
def test_line_that_is_no_conversation_is_named(line: str, reason: str) -> None:
    items = read(dump({"id": "a", "messages": MESSAGES}) + f"\n{line}\n")
    (wrong,) = refused(items)
    assert wrong.position == 2 and reason in wrong.reason
    assert len(imported(items)) == 1


def test_one_message_a_line_names_bad_lines_and_keeps_the_good_ones() -> None:
    text = (
        '{"role":"user","content":"1"}\n\n{"role":"user","content":"cut\n'
        '\ufeff{"role":"user","content":"bom"}\n{"role":"user","content":"1","content":"2"}\n'
        '[]\nnull\n{}\n{"role":"user","content":NaN}'
    )
    items = read(text)
    (found,) = imported(items)
    assert [message["content"] for message in found.conversation.messages[:3]] == ["1", "bom", "2"]
    assert len(found.conversation.messages) == 4
    assert [item.position for item in refused(items)] == [3, 6, 7, 8]
    assert any("occurs twice" in note for note in found.notes)
    assert any("4 lines were refused" in note for note in found.notes)


@pytest.mark.parametrize("user", [None, "", "a\x00b", "x" * 257])
def test_conversations_need_a_valid_user(user: str | None) -> None:
    with pytest.raises(ConvostoreError):
        read(dump(MESSAGES), ReadOptions(user=user))


def test_format_says_that_it_names_no_user() -> None:
    assert not FORMATS["openai"].names_user
    with pytest.raises(InvalidRecordError, match="names no user"):
        read(dump(MESSAGES), ReadOptions())


@pytest.mark.parametrize(
    "line",
    [
        {"id": "run-1", "metadata": {"trial": 0}, "messages": MESSAGES},
        {"id": "run-1", "metadata": None, "messages": MESSAGES, "tools": [1, 1.0]},
        {"id": 7, "messages": []},
        {"messages": MESSAGES, "odd": "\ud800"},
    ],
)
def test_line_goes_out_as_it_came(line: dict[str, Any]) -> None:
    (found,) = imported(read(dump({"id": "first", "messages": MESSAGES}) + "\n" + dump(line)))[1:]
    text = "".join(write(found.conversation, found.conversation.messages, found.source, found.unknown))
    assert text.endswith("\n") and text.count("\n") == 1
    back = json.loads(text)
    assert same_json({name: back[name] for name in sorted(back)}, {name: line[name] for name in sorted(line)})


def test_conversation_from_elsewhere_goes_out_under_its_own_id_as_strict_json() -> None:
    (found,) = imported(read(dump([{"role": "user", "content": "x"}])))
    record = found.conversation.model_copy(update={"id": 12, "extra": {"loss": float("nan"), "id": 2**60}})
    text = "".join(write(record, record.messages))
    assert text.isascii()
    value = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert value == {
        "id": "12",
        "metadata": {"loss": {"$float": "NaN"}, "id": 2**60},
        "messages": [{"role": "user", "content": "x"}],
    }


def test_list_that_only_begins_like_messages_is_read_conversation_by_conversation() -> None:
    good = {"id": "b", "messages": MESSAGES}
    source = ByteInput([json.dumps([{"id": "a", "role": ""}, good]).encode()])
    reader = FORMATS["openai"].read
    assert reader is not None
    odd, found = reader(source, OPTIONS)
    assert isinstance(odd, Refused) and isinstance(found, Imported) and found.source.id == "b"
