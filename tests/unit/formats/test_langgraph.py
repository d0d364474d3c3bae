"""LangGraph's checkpoints: one conversation of many states, forks, times, waiting inputs, refusals."""

from __future__ import annotations

import base64
import importlib.util
import json
import random
import sys
from typing import Any

import pytest

from convostore.schemas.errors import InvalidRecordError, UnavailableError
from convostore.schemas.formats import Origin
from convostore.schemas.formats.langgraph_values import _serializer, decode
from support.importing import (
    all_messages,
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

needs_langgraph = pytest.mark.skipif(
    importlib.util.find_spec("langgraph") is None, reason="needs the extra langgraph"
)

BASE = 1_767_323_045_000


def human(id: str, content: str) -> dict[str, Any]:
    return {"type": "human", "content": content, "id": id, "additional_kwargs": {}, "name": None}


def ai(id: str, content: str, **more: Any) -> dict[str, Any]:
    return {"type": "ai", "content": content, "id": id, "tool_calls": [], **more}


def binary(value: Any) -> dict[str, Any]:
    data = json.dumps(value).encode()
    return {"$binary": {"base64": base64.b64encode(data).decode(), "subType": "00"}}


def checkpoint(number: int, parent: int | None, values: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The document of a checkpoint, made ``number`` seconds and as many microseconds after the first."""
    held = {"v": 4, "ts": f"2026-01-02T03:04:{5 + number:02}.{number:06}+00:00", "id": f"c{number}",
            "channel_values": values, "channel_versions": dict.fromkeys(values, number)}  # fmt: skip
    return {
        "_id": {"$oid": f"{number:024x}"}, "thread_id": "t", "checkpoint_ns": "",
        "checkpoint_id": f"c{number}", "parent_checkpoint_id": None if parent is None else f"c{parent}",
        "type": "json", "checkpoint": binary(held),
        "metadata": {"step": ["json", binary(number)], "source": binary("loop")}, **more,
    }  # fmt: skip


ONE, TWO = human("h1", "one"), ai("a1", "two")
OTHER, THREE = ai("a1", "another two"), human("h2", "three")
CHAIN = [
    checkpoint(0, None, {"__start__": {"messages": [{"role": "user", "content": "one"}]}}),
    checkpoint(1, 0, {"messages": [ONE]}),
    checkpoint(2, 1, {"messages": [ONE, TWO], "notes": {"k": 1}}),
    checkpoint(3, 2, {"messages": [ONE, TWO, THREE]}),
    checkpoint(4, 1, {"messages": [ONE, OTHER], "notes": {"k": 2}}),
]


def listed(number: int, parent: int | None, messages: list[Any]) -> dict[str, Any]:
    """A checkpoint as LangGraph lists it."""
    named = {"thread_id": "t", "checkpoint_ns": ""}
    return {
        "config": {"configurable": {**named, "checkpoint_id": f"c{number}"}},
        "checkpoint": {"ts": f"2026-01-02T03:04:{5 + number:02}+00:00", "id": f"c{number}",
                       "channel_values": {"messages": messages}},
        "metadata": {"step": number},
        "parent_config": {"configurable": {**named, "checkpoint_id": f"c{parent}"}},
    }  # fmt: skip


LISTED = [listed(1, 0, [ONE]), listed(2, 1, [ONE, TWO]), listed(3, 1, [ONE, OTHER])]


def lines(*documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def test_newest_checkpoint_is_the_conversation_and_others_are_branches() -> None:
    assert detected(lines(*CHAIN)) == "langgraph"
    found = only(read(lines(*CHAIN), "langgraph"))
    said = [message["content"][0]["text"] for message in found.conversation.messages]
    assert (found.source.id, said) == ("t", ["one", "another two"])
    assert found.entries is not None
    assert [fact.made for fact in found.entries] == [BASE, BASE + 4000]
    (branch,) = found.branches
    assert branch.origin == Origin("t", 1) and [fact.made for fact in branch.entries] == [
        BASE + 2000,
        BASE + 3000,
    ]
    assert [message["content"][0]["text"] for message in whole(found, branch)] == ["one", "two", "three"]
    assert found.unknown == {
        "checkpoint_id": "c4",
        "metadata": {"step": 4, "source": "loop"},
        "channel_values": {"notes": {"k": 2}},
    }
    assert (found.conversation.created_at, found.conversation.updated_at) == (BASE, BASE + 4000)


def test_checkpoints_may_be_listed() -> None:
    found = only(read(json.dumps(LISTED), "langgraph"))
    assert (found.source.id, len(found.conversation.messages), len(found.branches)) == ("t", 2, 1)
    assert detected(json.dumps(LISTED)) == "langgraph"


def test_order_of_the_documents_does_not_matter() -> None:
    expected = only(read(lines(*CHAIN), "langgraph"))
    for seed in range(10):
        shuffled = random.Random(seed).sample(CHAIN, len(CHAIN))
        found = only(read(lines(*shuffled), "langgraph"))
        assert found.source == expected.source and found.branches == expected.branches
        assert (found.conversation, found.entries) == (expected.conversation, expected.entries)


def test_branches_keep_their_identity_when_the_thread_grows() -> None:
    before = only(read(lines(*CHAIN), "langgraph"))
    more = checkpoint(5, 4, {"messages": [ONE, OTHER, THREE]})
    after = only(read(lines(*CHAIN, more), "langgraph"))
    assert after.branches == before.branches and after.source.sha256 != before.source.sha256
    assert after.conversation.messages[:2] == before.conversation.messages
    assert len(after.conversation.messages) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([human("h9", "wait")], ("user", "wait")),
        ([{"role": "user", "content": "wait"}], ("user", "wait")),
        ([["human", "wait"]], ("user", "wait")),
        (["user", "wait"], ("user", "wait")),
        ("wait", ("user", "wait")),
    ],
)
def test_an_input_that_no_step_took_in_belongs_to_the_conversation(given: Any, said: Any) -> None:
    waiting = checkpoint(5, 3, {"messages": [ONE, TWO, THREE], "__start__": {"messages": given}})
    found = only(read(lines(*CHAIN[:4], waiting), "langgraph"))
    last = found.conversation.messages[-1]
    content = last["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert (len(found.conversation.messages), (last["role"], text)) == (4, said)
    assert found.entries is not None and found.entries[-1].made == BASE + 5000 and not found.branches


def test_threads_and_namespaces_are_conversations_of_their_own() -> None:
    documents = [
        {**CHAIN[1], "thread_id": thread, "checkpoint_ns": namespace}
        for thread in ("t", "u")
        for namespace in ("", "sub:1")
    ]
    found = imported(read(lines(*documents), "langgraph"))
    assert [one.source.id for one in found] == ["t", "t/sub:1", "u", "u/sub:1"]


def test_messages_that_were_taken_out_begin_a_line_of_their_own() -> None:
    summary = ai("s", "summary")
    found = only(read(lines(*CHAIN[:4], checkpoint(6, 3, {"messages": [summary, THREE]})), "langgraph"))
    assert [message["source"]["id"] for message in found.conversation.messages] == ["s", "h2"]
    (branch,) = found.branches
    assert branch.origin.after == 0 and len(branch.messages) == 3


def test_what_cannot_be_read_is_refused_and_the_rest_taken() -> None:
    broken = checkpoint(7, 4, {}, type="pickle")
    torn = checkpoint(8, 4, {}, checkpoint={"$binary": {"base64": "eyI=", "subType": "00"}})
    items = read(lines(*CHAIN, broken, torn, {"a": 1}), "langgraph")
    assert len(imported(items)) == 1
    assert [one.id for one in refused(items)] == [None, "c7", "c8"]
    assert "pickle" in refused(items)[1].reason


def test_threads_without_messages_and_channels_of_changes_are_said() -> None:
    (empty,) = refused(read(lines(checkpoint(0, None, {"count": 3})), "langgraph"))
    assert empty.skipped and "no messages" in empty.reason
    changes = checkpoint(0, None, {})
    changes["checkpoint"] = binary({"ts": "2026-01-02T03:04:05Z", "channel_values": {},
                                    "channel_versions": {"messages": 2}})  # fmt: skip
    (partial,) = refused(
        read(lines(CHAIN[1], {**changes, "checkpoint_id": "c9"} | {"thread_id": "u"}), "langgraph")
    )
    assert not partial.skipped and "changes" in partial.reason and partial.id == "u"


def test_pending_writes_are_no_conversation() -> None:
    write = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c1", "task_id": "k", "task_path": "",
             "idx": 0, "channel": "messages", "type": "json", "value": binary([TWO])}  # fmt: skip
    assert detected(lines(write)) == "langgraph"
    (alone,) = refused(read(lines(write, {**write, "idx": 1}), "langgraph"))
    assert alone.skipped and alone.reason.startswith("2 pending writes")
    assert len(only(read(lines(*CHAIN, write), "langgraph")).branches) == 1


def test_other_forms_than_the_serializers_are_refused() -> None:
    assert decode("null", b"") is None
    assert decode("bytes", b"abc") == {"$binary": {"base64": "YWJj", "subType": "00"}}
    with pytest.raises(InvalidRecordError, match="pickle"):
        decode("pickle", b"\x80\x04N.")
    with pytest.raises(InvalidRecordError, match="json"):
        decode("json", b"{")


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ormsgpack", None)
    _serializer.cache_clear()
    try:
        with pytest.raises(UnavailableError, match=r"convostore\[langgraph\]") as caught:
            read(lines(checkpoint(0, None, {}, type="msgpack")), "langgraph")
        assert caught.value.capability == "langgraph"
    finally:
        _serializer.cache_clear()


@needs_langgraph
def test_langgraphs_own_serializer_is_read_as_data() -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    call = {"name": "look", "args": {"q": 1}, "id": "k", "type": "tool_call"}
    messages = [
        HumanMessage("hi", id="h"),
        AIMessage("", id="a", tool_calls=[call], usage_metadata={
            "input_tokens": 5, "output_tokens": 3, "total_tokens": 8}),
        ToolMessage("4", id="t", tool_call_id="k", name="look"),
    ]  # fmt: skip
    held = {"ts": "2026-01-02T03:04:05+00:00", "id": "c1", "channel_values": {"messages": messages}}
    kind, data = JsonPlusSerializer().dumps_typed(held)
    given = {"$binary": {"base64": base64.b64encode(data).decode(), "subType": "00"}}
    found = only(read(lines(checkpoint(1, None, {}, type=kind, checkpoint=given)), "langgraph"))
    assert kind == "msgpack"
    assert [message["role"] for message in found.conversation.messages] == ["user", "assistant", "tool"]
    assert found.conversation.messages[1]["content"] == [
        {"type": "ToolCall", "name": "look", "args": {"q": 1}, "callId": "k"}
    ]
    assert found.conversation.usage.input_tokens == 5


@needs_langgraph
def test_classes_named_in_a_checkpoint_are_never_made() -> None:
    import ormsgpack

    touched = "support.this_module_is_not_there"
    for code, held in (
        (0, (touched, "run", "x")),
        (1, (touched, "run", ("x",))),
        (2, (touched, "C", {"a": 1})),
        (5, (touched, "C", {"a": 1}, "model_validate_json")),
        (3, ("os", "system", "x", "run")),
    ):
        data = ormsgpack.packb({"v": ormsgpack.Ext(code, ormsgpack.packb(held))})
        assert decode("msgpack", data) == {"v": json.loads(json.dumps(held[2]))}
    assert touched not in sys.modules
    inside = ormsgpack.packb([1, {"a": b"abc", 5: (1, 2)}], option=ormsgpack.OPT_NON_STR_KEYS)
    assert decode("msgpack", ormsgpack.packb(ormsgpack.Ext(7, inside))) == [
        1, {"a": {"$binary": {"base64": "YWJj", "subType": "00"}}, "5": [1, 2]}
    ]  # fmt: skip
    with pytest.raises(InvalidRecordError, match="msgpack"):
        decode("msgpack", b"\xc1")


@pytest.mark.shared
@needs_langgraph
@pytest.mark.parametrize(
    "name", ["json-serde-0.2.3.json", "mongo-0.5.1-checkpoints.jsonl", "piotr-mongo-checkpoint.json"]
)
def test_samples_hold_what_they_should(name: str) -> None:
    data, expected = sample(f"langgraph-checkpoint/{name}")
    assert detected(data) == "langgraph"
    found = only(read(data, "langgraph"))
    every = all_messages(found)
    assert len(found.conversation.messages) == expected["active"] and len(every) == expected["total"]
    made = times([found])
    assert (min(made), max(made)) == (expected["first"], expected["last"])
    told = kinds(message for message in every if isinstance(message["content"], list))
    assert (told["ToolCall"], told["ToolOutput"]) == (expected["calls"], expected["results"])


@pytest.mark.shared
def test_sample_of_writes_is_skipped() -> None:
    data, expected = sample("langgraph-checkpoint/mongo-0.5.1-checkpoint_writes.jsonl")
    (item,) = refused(read(data, detected(data)))
    assert item.skipped and expected["total"] == 0
