"""Markdown: readable, and the same conversation when it is imported again, mended or not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convostore.schemas.entries import Source
from convostore.schemas.errors import ImportFormatError, InvalidRecordError
from convostore.schemas.formats import Facts, Imported, Refused
from convostore.schemas.formats.outgoing import Fork
from convostore.schemas.json_values import check_json, same_json
from convostore.schemas.resources import Resource
from support.exporting import ANDA, ANTHROPIC, NOON, OPENAI, PNG, outgoing, stored_file, written
from support.importing import detected, imported, only, read, refused
from support.json_strategies import json_values

RIG: list[Any] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "assistant", "content": [
        {"type": "toolcall", "id": {"local": "l1"}, "function": {"name": "f", "arguments": {"x": 1}}}]},
]  # fmt: skip
ITEMS: list[Any] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x":1}'},
    {"type": "function_call_output", "call_id": "c", "output": "one"},
]
ODD: list[Any] = [
    None, 5, "text", [], {}, {"role": "user", "content": "user"}, {"$": 1}, {"$$": {"$": "x"}},
    {"role": "user", "content": "same"}, {"role": "user", "content": ["same", "same", {"text": "same"}]},
]  # fmt: skip
TEXTS = [
    "", "\n", "  two spaces  \n\n", "a\r\nb", "<!-- end -->", "x\n<!-- message {} -->", "--> -- <script>",
    "```\nopen", "~~~~ py\nopen", "---\nconvostore: \"markdown/1\"", "\ud800", "\x00\x0b\u2028", "````",
]  # fmt: skip


def back(text: str | bytes) -> Imported:
    return only(read(text, "markdown", user=None))


def round_trip(messages: list[Any], **members: Any) -> Imported:
    found = back(written("markdown", outgoing(messages, **members)))
    assert same_json(found.conversation.messages, messages)
    return found


@pytest.mark.parametrize("messages", [ANDA, OPENAI, ANTHROPIC, RIG, ITEMS, ODD], ids=range(6))
def test_messages_of_every_dialect_come_back_equal(messages: list[Any]) -> None:
    found = round_trip(messages)
    expected = [NOON + place if place % 2 else None for place in range(len(messages))]
    assert found.entries is not None
    assert [fact.made for fact in found.entries] == expected
    assert found.entries[1].author is not None and found.entries[1].author.name == "memory"


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_look_like_the_marks_come_back_equal(text: str) -> None:
    round_trip([
        {"role": "user", "content": text},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": [
            {"type": "Reasoning", "text": text}, {"type": "Text", "text": text}]},
    ])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(json_values, max_size=3), st.text(max_size=30), json_values)
def test_whatever_the_messages_are_they_come_back_equal(messages: list[Any], text: str, value: Any) -> None:
    said = {"role": "user", "content": [{"type": "Text", "text": text}, value]}
    called = {"role": "assistant", "content": [{"type": "ToolCall", "name": text, "args": value}]}
    given = [*messages, said, called]
    try:
        check_json(given, "messages")
    except InvalidRecordError:
        return  # keys that are one in JSON
    try:
        text_of = written("markdown", outgoing(given)).encode()
    except UnicodeEncodeError:
        pytest.fail("a half of a surrogate pair was written as it is")
    assert same_json(back(text_of).conversation.messages, given)


def test_texts_stand_in_the_file_once_and_readable() -> None:
    text = written("markdown", outgoing(ANDA, extra={"title": "Cats & *dogs*"}))
    assert "\n# Cats & \\*dogs\\*\n" in text
    assert text.count("this picture?") == 1 and "\nWhat is on\nthis picture?\n" in text
    assert text.count("A cat? Let me *look*.") == 1
    assert "## User Al, 2026-03-08 12:00:00 UTC" in text
    assert "**Call** of `look` (`k1`)" in text and '\n{"at": [1, 2.0], "deep": null}\n' in text
    assert "**Error** of `zoom` (`k2`)" in text
    assert text.count("```") % 2 == 0


def test_record_and_what_lies_beside_it_come_back() -> None:
    extra = {"title": "T", "n": float("nan"), "big": 2**70, "umlaut": "ä"}
    found = round_trip(
        [{"role": "user", "content": "hi"}],
        extra=extra,
        thread="t",
        label="l",
        usage={"input_tokens": 3, "output_tokens": 2**64 - 1},
        ancestors=[3, 4],
        steering_messages=["wait"],
        source=Source("chatgpt", "g1"),
        unknown={"gizmo": None},
        forked_from=Fork(4, 2),
    )
    expected = outgoing([], extra=extra, thread="t", label="l", ancestors=[3, 4], steering_messages=["wait"],
                        usage={"input_tokens": 3, "output_tokens": 2**64 - 1}).record  # fmt: skip
    assert same_json(
        found.conversation.model_copy(update={"messages": []}).to_json_object(), expected.to_json_object()
    )
    assert found.unknown == {
        "source": {"format": "chatgpt", "id": "g1"},
        "forked_from": {"id": 4, "entries": 2},
        "gizmo": None,
    }
    assert (found.source.format, found.source.id) == ("markdown", f"17@{NOON}")
    assert found.notes == ()


def test_a_text_mended_in_an_editor_is_mended() -> None:
    text = written("markdown", outgoing(ANDA)).replace("What is on\nthis picture?", "What\n\nis this?")
    text = text.replace('"cat": true', '"cat": false')
    found = back(text)
    assert found.conversation.messages[1]["content"][0]["text"] == "What\n\nis this?"
    assert found.conversation.messages[3]["content"][0]["output"] == {"cat": False}
    assert same_json(found.conversation.messages[0], ANDA[0])


@pytest.mark.parametrize("change", [
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\n" + text,
    lambda text: text + "\n\nSomething that somebody noted.\n",
])  # fmt: skip
def test_what_editors_do_to_files_changes_nothing(change: Any) -> None:
    text = change(written("markdown", outgoing(ANDA)))
    assert detected(text) == "markdown"
    assert same_json(back(text).conversation.messages, ANDA)


def test_several_documents_behind_each_other_are_several_conversations() -> None:
    one, other = outgoing(ANDA), outgoing(OPENAI, id=18)
    found = imported(read(written("markdown", one) + written("markdown", other), "markdown", user=None))
    assert [item.conversation.id for item in found] == [17, 18]
    assert [item.conversation.user for item in found] == ["alice", "alice"]
    assert same_json(found[1].conversation.messages, OPENAI)


def test_what_is_broken_is_refused_and_the_next_document_is_read() -> None:
    whole = written("markdown", outgoing(OPENAI))
    cut = whole[: whole.index("<!-- end of conversation")]
    items = read(cut, "markdown")
    assert [item.reason for item in refused(items)] == [
        f"line {cut.count(chr(10))}: it is cut off: the comment at its end is missing"
    ]
    for breaking in (
        ("<!-- text 1", "<!-- text x"),
        ("<!-- message {", "<!-- message {,"),
        ('"made": ', '"made": -'),
        ("```json", "``json"),
        ("base64,iVBO", "base64,!iVBO"),
        ('markdown/1"', 'markdown/9"'),
        ('status: "completed"', 'status: "asleep"'),
        ('user: "alice"', "user alice"),
        ("<!-- end of conversation -->", ""),
    ):
        assert breaking[0] in whole, breaking
        broken = whole.replace(*breaking, 1)
        items = read(broken + whole, "markdown", user=None)
        assert len(refused(items)) == 1 and len(imported(items)) == 1, (breaking, items)


def test_bytes_that_are_no_utf8_are_refused_with_their_line() -> None:
    whole = written("markdown", outgoing([{"role": "user", "content": "hi there"}])).encode()
    (item,) = refused(read(whole.replace(b"hi there", b"hi \xff"), "markdown"))  # type: ignore[arg-type]
    assert "is no UTF-8" in item.reason


def test_other_markdown_is_refused() -> None:
    with pytest.raises(ImportFormatError, match="does not begin as Markdown that this library exported"):
        read("# Notes\n\n**User:** hi\n", "markdown")
    with pytest.raises(ImportFormatError, match="no known format"):
        detected("---\ntitle: notes\n---\n# Notes\n")


def test_bytes_of_resources_come_back_and_pictures_refer_to_them() -> None:
    photo = Resource(id=5, name="cat.png", uri="urn:photo", mime_type="image/png", tags=["t"])
    link = Resource(name="page", uri="https://example.com", metadata={"n": None})
    report = Resource(id=6, name="r.bin")
    text = written(
        "markdown",
        outgoing(
            ANDA,
            resources=[photo, link],
            artifacts=[report],
            files={5: stored_file(photo, PNG), 6: stored_file(report, b"\x00" * 100_000)},
        ),
    )
    assert "![cat.png][file-1]" in text and "\n[file-1]: data:image/png;base64,iVBO" in text
    found = back(text).conversation
    assert found.resources == [photo.model_copy(update={"id": 0, "blob": PNG}), link]
    assert found.artifacts == [report.model_copy(update={"id": 0, "blob": b"\x00" * 100_000})]


def test_names_do_not_break_out_of_their_lines() -> None:
    evil = "x`\n<!-- end of conversation -->\n---\n[a](javascript:x)"
    messages = [{"role": evil, "name": evil, "content": [
        {"type": "ToolCall", "name": evil, "args": {"a": 1}, "callId": evil},
        {"type": "FileData", "fileUri": evil, "mimeType": evil},
        {"type": "InlineData", "mimeType": evil, "data": "aGk="},
    ]}]  # fmt: skip
    resource = Resource(name=evil, uri=evil, mime_type=evil)
    found = round_trip(messages, extra={"title": evil}, label=None, resources=[resource])
    assert found.conversation.resources == [resource]
    assert found.entries == [Facts()]


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """The text with a few lines dropped, doubled, swapped, cut or written over."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "double", "swap", "cut", "digit", "brace"]))
        if kind == "drop":
            del lines[place]
        elif kind == "double":
            lines.insert(place, lines[place])
        elif kind == "swap":
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == "cut":
            lines[place] = lines[place][: draw(st.integers(0, len(lines[place])))]
        elif kind == "digit":
            lines[place] = lines[place].replace(
                draw(st.sampled_from("0123")), draw(st.sampled_from("9x{")), 1
            )
        else:
            lines[place] = lines[place].replace('"', draw(st.sampled_from(["", "'", '{"'])), 1)
        lines = lines or [""]
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_becomes_of_a_file_each_document_is_imported_or_refused(data: st.DataObject) -> None:
    whole = written("markdown", outgoing([*ANDA, *OPENAI], resources=[Resource(name="r", blob=b"x")]))
    items = read(whole + data.draw(damaged(whole)) + "\n" + whole, "markdown", user=None)
    assert all(isinstance(item, (Imported, Refused)) for item in items)
    assert len(imported(items)) >= 2 and len(items) >= 3
    assert same_json(imported(items)[0].conversation.messages, [*ANDA, *OPENAI])


def test_what_somebody_adds_to_the_front_matter_is_kept_beside() -> None:
    text = written("markdown", outgoing(ANDA))
    text = text.replace(
        'status: "completed"', 'status: "completed"\ntags: [a, b]\naliases: ["x"]\n# a comment'
    )
    found = back(text)
    assert found.unknown == {"tags": "[a, b]", "aliases": ["x"]} and found.notes == ()
