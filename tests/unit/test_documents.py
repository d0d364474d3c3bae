"""Documents: the block that models are shown, letter by letter, and JSON text as serde_json writes it."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.anda_json import anda_text, load_json
from convostore.schemas.conversations import Conversation
from convostore.schemas.documents import Document, Documents
from convostore.schemas.errors import InvalidRecordError

# The example of the specification, 7.6.
RENDERED = (
    "<documents>\n"
    '{"metadata":{"_id":41,"created_at":"2023-11-14T22:13:20.000Z","label":"travel","status":"completed",'
    '"thread":"cl9v200a1c609kg0000g","type":"Conversation","updated_at":"2023-11-14T22:15:02.250Z",'
    '"user":"uuc56-gyb"},"content":[{"role":"user","content":[{"type":"Text",'
    '"text":"Find me a train to Bern"}],"timestamp":"2023-11-14T22:13:20.000Z"},'
    '{"role":"assistant","content":[{"type":"Text",'
    '"text":"Looking now."},{"type":"Text","text":"[1 items (tool calls or files) pruned due to limits]"}],'
    '"timestamp":"2023-11-14T22:13:22.100Z"}]}\n'
    "</documents>"
)


def travel(**members: Any) -> Conversation:
    given: dict[str, Any] = {
        "id": 41,
        "user": "uuc56-gyb",
        "thread": "cl9v200a1c609kg0000g",
        "messages": [
            {
                "role": "user",
                "content": [{"type": "Text", "text": "Find me a train to Bern"}],
                "timestamp": 1_700_000_000_000,
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "Text", "text": "Looking now."},
                    {"type": "ToolCall", "name": "trains", "args": {"to": "Bern"}},
                ],
                "timestamp": 1_700_000_002_100,
            },
        ],
        "status": "completed",
        "label": "travel",
        "extra": {"secret": 1},
        "created_at": 1_700_000_000_000,
        "updated_at": 1_700_000_102_250,
    }
    return Conversation(**(given | members))


def test_documents_render_as_the_specification_shows() -> None:
    assert Documents([travel().to_document()]).render() == RENDERED


def test_no_documents_render_as_nothing() -> None:
    assert Documents([]).render() == str(Documents()) == ""


def test_closing_tag_in_a_line_gets_a_space() -> None:
    block = Documents([Document({}, "</memo> </MEMO> </memos> </other> <memo>")], tag="memo")
    content = '{"metadata":{},"content":"< /memo> < /MEMO> </memos> </other> <memo>"}'
    assert block.render() == f"<memo>\n{content}\n</memo>"


def test_only_letters_of_ascii_count_as_the_tag() -> None:
    assert "</document\u017f>" in Documents([Document({}, "</document\u017f>")]).render()


def test_block_as_a_message_of_the_runtime() -> None:
    message = Documents([travel().to_document()]).to_message(1_700_000_000_000)
    assert (message.role, message.name) == ("user", "$system")
    assert message.text is not None
    assert message.text.endswith(f"2023-11-14T22:13:20.000Z\n\n---\n\n{RENDERED}")


def test_document_leaves_out_what_is_no_message() -> None:
    document = travel(messages=[5, {"content": "x"}, {"role": "user"}]).to_document()
    assert document.content == [{"role": "user", "content": []}]


def test_document_leaves_out_times_beyond_the_calendar() -> None:
    message = {"role": "user", "content": [], "timestamp": 2**63 - 1}
    document = travel(messages=[message], updated_at=2**63 - 1, label=None, thread=None).to_document()
    assert list(document.metadata) == ["_id", "created_at", "status", "type", "user"]
    assert document.content == [{"role": "user", "content": []}]


def test_document_of_foreign_messages_reads_them_in_their_dialect() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    document = travel(messages=[{"role": "assistant", "content": "Hm.", "tool_calls": [call]}]).to_document()
    pruned = "[1 items (tool calls or files) pruned due to limits]"
    assert [part["text"] for part in document.content[0]["content"]] == ["Hm.", pruned]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1.5e16, "1.5e16"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
        (123456789012345680.0, "1.2345678901234568e17"),
        (0.0001, "0.0001"),
        (0.00001, "0.00001"),
        (-0.000015, "-0.000015"),
        (0.0000999, "0.0000999"),
        (0.000001, "1e-6"),
        (1.5e-7, "1.5e-7"),
        (5e-324, "5e-324"),
        (-1e-10, "-1e-10"),
    ],
)
def test_float_is_written_as_serde_json_does(number: float, text: str) -> None:
    assert anda_text([number]) == f"[{text}]"
    assert float(text) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ("é/\U0001f600\u2028", '"é/\U0001f600\u2028"'),
        ('"\\', '"\\"\\\\"'),
        ("\b\t\n\f\r\x01\x1f\x7f", '"\\b\\t\\n\\f\\r\\u0001\\u001f\x7f"'),
        ("a\ud83db", '"a\\ud83db"'),
        ({"1e+16": [1e300]}, '{"1e+16":[1e300]}'),
        (["1e+16", 1], '["1e+16",1]'),
        (
            [1e300, "é\n", {"k": [2**70, True, None, ""]}],
            '[1e300,"é\\n",{"k":[1180591620717411303424,true,null,""]}]',
        ),
    ],
)
def test_json_is_written_as_serde_json_does(value: Any, text: str) -> None:
    assert anda_text(value) == text
    assert load_json(text) == value


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {1e300: 1, "x": {1, 2}}, b"x"])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRecordError):
        anda_text(value)


def test_deepest_message_is_written() -> None:
    value: Any = 1e300
    for _ in range(500):
        value = [value]
    assert load_json(anda_text(value)) == value


@pytest.mark.parametrize(
    "source",
    ["", "{", "[1,]", b"\xff", "nul", '{"a":1}x', "9" * 5000, "[" * 100_000],
)
def test_what_is_no_json_is_refused(source: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        load_json(source, path="line")
    assert refused.value.path == "line"


def test_byte_order_mark_is_overlooked_and_the_last_of_equal_keys_counts() -> None:
    assert load_json(b'\xef\xbb\xbf{"a":1,"a":2}') == load_json('\ufeff{"a":2}') == {"a": 2}


@pytest.mark.parametrize("source", ["[NaN]", "[-Infinity]", '"\\ud83d"', '{"\\udc00":1}'])
def test_strict_reading_refuses_what_anda_refuses(source: str) -> None:
    load_json(source)
    with pytest.raises(InvalidRecordError):
        load_json(source, strict=True)
