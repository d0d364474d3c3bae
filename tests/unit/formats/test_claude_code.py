"""Claude Code's sessions: answers put together, branches, sub-agents, and what is broken in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Item, Noticed, Origin, Refused
from convostore.schemas.usage import Usage
from support.importing import (
    all_messages,
    changed,
    detected,
    imported,
    kinds,
    only,
    read,
    refused,
    sample,
    times,
    whole,
)


def line(
    uuid: str, parent: str | None, kind: str = "user", content: Any = None, second: int = 0, **members: Any
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": uuid if content is None else content}
    message |= members.pop("message", {})
    at = f"2026-01-02T03:04:{second:02}.123Z"
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": at,
            "isSidechain": False, "message": message, **members}  # fmt: skip


def answer(
    uuid: str, parent: str | None, id: str, block: Any, second: int = 0, **members: Any
) -> dict[str, Any]:
    usage = {"input_tokens": 4, "output_tokens": second, "cache_read_input_tokens": 9}
    message = {"id": id, "model": "m", "usage": usage, "stop_reason": None}
    return line(uuid, parent, "assistant", [block], second, message=message, **members)


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Read", "input": {"n": id}}


def result(uuid: str, parent: str, id: str, second: int = 0, **members: Any) -> dict[str, Any]:
    return line(
        uuid, parent, "user", [{"type": "tool_result", "tool_use_id": id, "content": "x"}], second, **members
    )


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\r\n" for value in values)


def uuids(messages: list[Any]) -> list[list[str]]:
    return [[one.get("uuid") for one in message["source"]["lines"]] for message in messages]


def sessions(text: str) -> list[Item]:
    return [item for item in read(text, "claude-code") if not isinstance(item, Noticed)]


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"}
SESSION = [
    {"type": "summary", "summary": "Old title", "leafUuid": "elsewhere"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    {
        "type": "progress",
        "uuid": "p0",
        "parentUuid": None,
        "sessionId": "s1",
        "timestamp": "2026-01-02T03:04:00Z",
    },
    line("u1", "p0", second=1, cwd="/repo"),
    answer("a1", "u1", "m1", THOUGHT, 2),
    answer("a2", "a1", "m1", {"type": "text", "text": "so"}, 3),
    answer("a3", "a2", "m1", call("t1"), 4),
    result("r1", "a3", "t1", 5, toolUseResult={"file": "y"}),
    {"type": "system", "subtype": "stop_hook", "uuid": "y1", "parentUuid": "r1", "sessionId": "s1"},
    answer("b1", "y1", "m2", {"type": "text", "text": "left"}, 6),
    answer("c1", "y1", "m3", {"type": "image", "source": {"type": "url", "url": "u"}}, 8),
    line("side1", None, content="do it", second=7, isSidechain=True, agentId="ag"),
    answer("side2", "side1", "m4", {"type": "text", "text": "did"}, 7, isSidechain=True, agentId="ag"),
    {"type": "ai-title", "sessionId": "s1", "aiTitle": "Reading"},
    {"type": "odd", "sessionId": "s1", "value": None},
]


def test_lines_of_an_answer_are_one_message_and_the_newest_path_is_the_conversation() -> None:
    (found,) = sessions(lines(*SESSION))
    assert isinstance(found, Imported)
    record = found.conversation
    assert uuids(record.messages) == [["u1"], ["a1", "a2", "a3"], ["r1"], ["c1"]]
    assert [message["role"] for message in record.messages] == ["user", "assistant", "user", "assistant"]
    assert record.messages[1]["content"] == [THOUGHT, {"type": "text", "text": "so"}, call("t1")]
    assert (
        record.messages[0]["content"] == "u1" and record.messages[0]["source"]["lines"][0]["cwd"] == "/repo"
    )
    assert found.entries is not None
    assert [fact.made for fact in found.entries] == [1_767_323_045_123 + n * 1000 for n in (-4, -3, 0, 3)]
    assert {fact.dialect for fact in found.entries} == {"anthropic"}
    assert (found.source.id, record.extra) == ("s1", {"title": "Reading"})


def test_rewound_branch_leaves_through_lines_that_are_no_messages() -> None:
    (found,) = imported(sessions(lines(*SESSION)))
    rewound, side = found.branches
    assert (rewound.source.id, rewound.origin) == ("s1/b1", Origin("s1", 3))
    assert uuids(whole(found, rewound)) == [["u1"], ["a1", "a2", "a3"], ["r1"], ["b1"]]
    assert (side.source.id, side.origin) == ("s1/agent-ag", Origin("s1", 0))
    assert side.unknown == {"sidechain": True, "agentId": "ag"} and uuids(list(side.messages)) == [
        ["side1"],
        ["side2"],
    ]


def test_usage_counts_once_for_each_answer_the_largest() -> None:
    (found,) = imported(sessions(lines(*SESSION)))
    assert found.conversation.usage == Usage(
        input_tokens=8, output_tokens=4 + 8, cached_tokens=18, requests=2
    )
    assert [one.usage.output_tokens for one in found.branches] == [6, 7]
    assert [one.usage.requests for one in found.branches] == [1, 1]


def test_lines_that_are_no_messages_are_kept_beside_or_named() -> None:
    (found,) = imported(sessions(lines(*SESSION)))
    assert [one["type"] for one in found.unknown["lines"]] == [
        "progress", "system", "ai-title", "odd", "summary", "file-history-snapshot",
    ]  # fmt: skip
    bulky = {"type": "progress", "sessionId": "s1", "data": "x" * 50_000}
    (found,) = imported(sessions(lines(*SESSION, bulky, bulky)))
    assert len(found.unknown["lines"]) == 5
    assert found.notes[0] == "lines that are no messages were left out, of the type 'progress': 1"
    assert [note.rpartition(": ")[2] for note in found.notes] == ["1", "1", "1"]


def test_results_of_tools_that_ran_side_by_side_all_follow_their_answer() -> None:
    text = lines(
        line("u", None, second=0),
        answer("a1", "u", "m1", call("t1"), 1),
        answer("a2", "a1", "m1", call("t2"), 2),
        answer("a3", "a2", "m1", call("t3"), 3),
        result("r2", "a2", "t2", 4),
        result("r1", "a1", "t1", 5),
        result("r3", "a3", "t3", 6),
        answer("b", "r1", "m2", {"type": "text", "text": "done"}, 7),
    )
    (found,) = imported(sessions(text))
    assert uuids(found.conversation.messages) == [["u"], ["a1", "a2", "a3"], ["r2"], ["r3"], ["r1"], ["b"]]
    assert found.branches == ()


def test_answer_that_goes_on_after_a_result_stays_in_its_order() -> None:
    text = lines(
        line("u", None), answer("a1", "u", "m1", call("t1"), 1), result("r1", "a1", "t1", 2),
        answer("a2", "r1", "m1", call("t2"), 3), result("r2", "a2", "t2", 4),
    )  # fmt: skip
    (found,) = imported(sessions(text))
    assert uuids(found.conversation.messages) == [["u"], ["a1", "a2"], ["r1"], ["r2"]]


def test_second_result_of_one_call_is_an_alternative() -> None:
    text = lines(
        line("u", None),
        answer("a", "u", "m", call("t"), 1),
        result("r", "a", "t", 2),
        result("s", "a", "t", 3),
    )
    (found,) = imported(sessions(text))
    assert uuids(found.conversation.messages) == [["u"], ["a"], ["s"]]
    assert [(one.origin.after, uuids(list(one.messages))) for one in found.branches] == [(2, [["r"]])]


def test_session_goes_on_from_another_where_its_first_line_names_a_parent_there() -> None:
    text = lines(
        line("f", "e", second=20, sessionId="s2"),
        line("a", None, second=1),
        answer("b", "a", "m1", {"type": "text", "text": "x"}, 2),
        line("e", "b", second=3),
        line("i", "b", second=30, sessionId="s3"),
        line("j", "b", second=31, sessionId="s3"),
    )
    one, two, three = imported(sessions(text))
    assert [item.source.id for item in (one, two, three)] == ["s1", "s2", "s3"]
    assert (one.origin, two.origin, three.origin) == (None, Origin("s1", 3), Origin("s1", 2))
    assert uuids(two.conversation.messages) == [["a"], ["b"], ["e"], ["f"]]
    assert uuids(three.conversation.messages) == [["a"], ["b"], ["j"]]
    assert (one.conversation.usage.requests, two.conversation.usage.requests) == (1, 0)
    (branch,) = one.branches
    assert (branch.source.id, branch.origin) == ("s1/i", Origin("s1", 2))


def test_without_any_parents_the_order_is_the_conversation() -> None:
    text = lines(*(line(f"u{n}", None, second=n) for n in range(6)))
    assert len(only(sessions(text)).conversation.messages) == 6  # type: ignore[union-attr]


def test_file_of_a_sub_agent_is_known_again_as_that_branch() -> None:
    own = [one for one in SESSION if one.get("isSidechain")]
    (found,) = imported(sessions(lines(*own)))
    assert found.source.id == "s1/agent-ag" and len(found.conversation.messages) == 2


def test_newest_line_that_is_older_than_its_child_is_followed_down() -> None:
    text = lines(line("a", None, second=5), line("b", "a", second=50), line("c", "b", second=10))
    assert uuids(only(sessions(text)).conversation.messages) == [["a"], ["b"], ["c"]]


def test_web_form_is_one_session_without_links() -> None:
    asked = {
        "type": "user",
        "timestamp": "2026-01-02T03:04:05Z",
        "message": {"role": "user", "content": "hi"},
    }
    log = [asked, {"type": "assistant", "message": {"content": [call("t")]}}, 7]
    text = json.dumps({"loglines": log, "branch": "main"})
    assert detected(text) == "claude-code"
    odd, found = sessions(text)
    assert isinstance(odd, Refused) and odd.position == "1.loglines[2]"
    assert isinstance(found, Imported) and found.unknown == {"branch": "main"}
    assert [message["role"] for message in found.conversation.messages] == ["user", "assistant"]
    assert found.source.id.startswith("sha256:")


def test_array_of_lines_gives_the_same() -> None:
    text = json.dumps(SESSION)
    assert detected(text) == "claude-code"
    (found,) = imported(sessions(text))
    assert found.source == imported(sessions(lines(*SESSION)))[0].source


def test_broken_and_cut_lines_are_named_and_the_rest_is_read() -> None:
    data = lines(SESSION[3]).encode() + b'{"type": "user", "uuid": "\xff"}\n' + lines(5).encode()
    items = read(data + b'{"type": "user", "mess', "claude-code")
    assert [item.position for item in refused(items)] == [2, 3, 4]
    assert len(imported(items)) == 1


@pytest.mark.parametrize("depth", [900, 970, 980, 990, 5000])
def test_line_that_is_nested_too_deeply_is_named_and_the_rest_is_read(depth: int) -> None:
    deep = '{"type": "user", "uuid": "d", "parentUuid": null, "message": ' + "[" * depth + "]" * depth + "}\n"
    items = sessions(lines(*SESSION) + deep + lines(line("z", "c1", second=40)))
    assert [item.position for item in refused(items)] in ([], [len(SESSION) + 1])
    assert uuids(imported(items)[0].conversation.messages)[-1] == ["z"]


def test_circle_of_parents_and_a_line_twice_end_and_lose_nothing() -> None:
    first = line("a", "b", second=1)
    text = lines(first, line("b", "a", second=2), first, line("a", "b", second=3, content="other"))
    items = read(text, "claude-code")
    (found,) = imported(items)
    assert len(all_messages(found)) == 3
    assert sorted(one.text.partition(":")[0] for one in items if isinstance(one, Noticed)) == [
        "circles of parents were cut",
        "lines that occur twice are taken once",
    ]


def test_session_without_messages_is_skipped_by_name() -> None:
    silent = {"type": "queue-operation", "sessionId": "s9", "operation": "enqueue"}
    _, skipped = sessions(lines(*SESSION, silent))
    assert isinstance(skipped, Refused) and skipped.skipped and skipped.id == "s9"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(SESSION))
def test_whatever_a_member_becomes_every_message_is_in_some_line(value: Any) -> None:
    # A first line that is a list would make all of it an array.
    items = read(lines(SESSION[0], *value), "claude-code")
    spoken = []
    for one in value:
        message = one.get("message") if isinstance(one, dict) else None
        content = message.get("content") if isinstance(message, dict) else message
        if isinstance(one, dict) and one.get("type") in ("user", "assistant") and content is not None:
            spoken.append(one)
    found = [message for item in imported(items) for message in own_messages(item)]
    twice = sum("twice" in one.text for one in items if isinstance(one, Noticed)) * len(value)
    assert sum(len(message["source"]["lines"]) for message in found) + twice >= len(spoken)
    odd = [one for one in value if not isinstance(one, (dict, list))]
    assert len([item for item in refused(items) if not item.skipped]) >= len(odd)


def own_messages(item: Imported) -> list[Any]:
    inherited = 0 if item.origin is None else item.origin.after
    return all_messages(item)[inherited:]


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    ["representative.jsonl", "fork-two-sessions.jsonl", "lone-sidechain-root.jsonl", "sidechain-2025.jsonl",
     "teammates-2026.jsonl", "real-short-session-2026.jsonl", "d-kimuson-real.jsonl",
     "polylogue-acompact.jsonl", "simonw-web-session.json"],
)  # fmt: skip
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"claude-code/{name}")
    assert detected(data) == "claude-code"
    items = read(data, "claude-code")
    found = imported(items)
    assert not refused(items) and len(found) == expected["conversations"]
    seen = []
    for item, wanted in zip(found, expected["convs"], strict=True):
        own = own_messages(item)
        assert sum(map(len, uuids(item.conversation.messages))) == wanted["active"]
        assert sum(map(len, uuids(own))) == wanted["total"] and len(own) == wanted["merged_by_message_id"]
        roles = [message["role"] for message in own for _ in message["source"]["lines"]]
        assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
        assert wanted["title"] is None or item.source.id.partition("/")[0] == wanted["title"]
        assert item.conversation.created_at == wanted["first"] and min(times([item])) <= wanted["first"]
        seen += own
    blocks = kinds(message for message in seen if isinstance(message["content"], list))
    assert (blocks["tool_use"], blocks["tool_result"]) == (expected["calls"], expected["results"])
    branches = [one for item in found for one in item.branches if not one.unknown]
    assert len(branches) == (0 if name.startswith("fork") else expected["branch_points"])
