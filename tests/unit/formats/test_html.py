"""Pages: readable, nothing of a conversation is markup, nothing is loaded."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from convostore.schemas.entries import Source
from convostore.schemas.errors import SchemaVersionError
from convostore.schemas.formats.outgoing import Fork
from convostore.schemas.resources import Resource
from support.exporting import ANDA, ANTHROPIC, OPENAI, PNG, STANDARD, outgoing, stored_file, written

VOID = {"meta", "img", "br", "hr"}
EVIL = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>\"' javascript:alert(1) ]]>"


class Page(HTMLParser):
    """The tags of a page, in order, each closed where it must be, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def addresses(self) -> list[str]:
        found = [attrs.get(name) for _, attrs in self.tags for name in ("src", "href")]
        return [one for one in found if one is not None]


def page(messages: list[Any], **members: Any) -> Page:
    text = written("html", outgoing(messages, **members))
    text.encode()
    return Page(text)


@pytest.mark.parametrize("messages", [ANDA, OPENAI, ANTHROPIC, [None, 1, "x", {"a": [EVIL]}]], ids=range(4))
def test_pages_are_well_formed_and_load_nothing(messages: list[Any]) -> None:
    found = page(messages)
    assert {tag for tag, _ in found.tags} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
    } == set()
    assert [attrs for tag, attrs in found.tags if any(name.startswith("on") for name in attrs)] == []
    for tag, attrs in found.tags:
        for name in ("src", "srcset", "poster", "data", "background"):
            assert (attrs.get(name) or "data:").startswith("data:"), tag
    policies = [attrs["content"] for tag, attrs in found.tags if attrs.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"]
    assert "url(" not in written("html", outgoing(messages)) and "@import" not in written(
        "html", outgoing([])
    )


def test_everything_said_is_there_to_read() -> None:
    found = page(ANDA, extra={"title": "Cats"}, source=Source("chatgpt", "g1"), forked_from=Fork(4, 2))
    for text in (
        "Cats", "alice", "from chatgpt, g1", "from conversation 4 after 2 messages", "Be brief.",
        "What is on\nthis picture?", "A cat? Let me *look*.", "Let me see:", "Call of look (k1)",
        '{"at": [1, 2.0], "deep": null}', "Result of look (k1)", '{"cat": true}', "Error of zoom (k2)",
        "no zoom", "A cat", "print('cat')", "Of the kind hologram", "2026-03-08 12:00:00 UTC", "by memory",
    ):  # fmt: skip
        assert text in found.text, text
    assert [attrs["src"] for tag, attrs in found.tags if tag == "img"] == [
        f"data:image/png;base64,{STANDARD}"
    ]


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool", EVIL])
def test_nothing_that_was_said_is_markup(role: str) -> None:
    messages = [{"role": role, "name": EVIL, "content": [
        {"type": "Text", "text": EVIL},
        {"type": "Text", "text": f"[{EVIL}](javascript:alert(1)) ![x](javascript:y) <b onclick=x>b</b>"},
        {"type": "Reasoning", "text": EVIL},
        {"type": "ToolCall", "name": EVIL, "args": EVIL, "callId": EVIL},
        {"type": "ToolOutput", "name": EVIL, "output": {EVIL: EVIL}},
        {"type": "FileData", "fileUri": f"https://e.com/{EVIL}", "mimeType": EVIL},
        {"type": "FileData", "fileUri": "javascript:alert(1)"},
        {"type": "InlineData", "mimeType": f"image/png\" onerror=\"{EVIL}", "data": "aGk="},
        {"type": EVIL},
    ]}]  # fmt: skip
    members = {name: EVIL for name in ("thread", "label", "failed_reason", "user")}
    resource = Resource(name=EVIL, uri="javascript:alert(1)", mime_type=EVIL, blob=b"x")
    found = page(messages, extra={"title": EVIL}, source=Source(EVIL, EVIL), resources=[resource], **members)
    assert "script" not in {tag for tag, _ in found.tags}
    assert {name for _, attrs in found.tags for name in attrs if name.startswith("on")} == set()
    assert [one for one in found.addresses() if not one.startswith(("data:", "https://", "#"))] == []
    assert found.text.count("alert(1)") > 10


def test_replies_are_rendered_and_their_pictures_from_elsewhere_are_links() -> None:
    table, picture = "| a | b |\n|---|---|\n| 1 | 2 |", "![cat](https://example.com/cat.png)"
    text = f"**bold** `code`\n\n{table}\n\n{picture}\n\n[x]: /y\n"
    found = page([{"role": "assistant", "content": text}, {"role": "user", "content": text}])
    kinds = [tag for tag, _ in found.tags]
    assert kinds.count("strong") == 1 and kinds.count("table") == 1 and "img" not in kinds
    assert ("a", {"href": "https://example.com/cat.png", "rel": "noreferrer"}) in found.tags
    assert "[x]: /y" in found.text and "**bold**" in found.text


def test_files_are_in_the_page_each_once() -> None:
    photo = Resource(id=5, name="cat.png", uri="urn:photo", mime_type="image/png")
    report = Resource(id=6, name="r.pdf", mime_type="application/pdf")
    twice = [*ANDA, {"role": "user", "content": [{"type": "FileData", "fileUri": "urn:photo"}]}]
    files = {5: stored_file(photo, PNG), 6: stored_file(report, b"pdf")}
    far = Resource(name="far", uri="https://far.example")
    found = page(twice, resources=[photo, far], artifacts=[report], files=files)
    pictures = [attrs["src"] for tag, attrs in found.tags if tag == "img"]
    assert pictures == [f"data:image/png;base64,{STANDARD}"] * 2  # the inline one, and the resource
    assert "#file-1" in found.addresses() and "https://far.example" in found.addresses()
    saved = [attrs for tag, attrs in found.tags if tag == "a" and "download" in attrs]
    assert saved == [{"download": "r.pdf", "href": "data:application/pdf;base64,cGRm"}]


def test_characters_that_no_page_can_hold_are_shown_by_signs_and_noted() -> None:
    notes: list[str] = []
    messages = [{"role": role, "content": "a\x00b\ud800c\x1b"} for role in ("user", "assistant")]
    text = written("html", outgoing(messages), notes)
    assert text.encode().decode().count("a\u2400b\ufffdc\u241b") == 2
    assert notes == ["characters that no page can show are shown by signs"] * 2
    with pytest.raises(SchemaVersionError, match="conversation 17: in the format html"):
        written("html", outgoing(messages), strict=True)


def test_text_that_markdown_would_take_long_for_or_cut_off_is_shown_plain() -> None:
    deep = ">" * 200 + " deep"
    found = page([{"role": "assistant", "content": deep}, {"role": "assistant", "content": "a*" * 60_000}])
    assert deep in found.text and "a*" * 60_000 in found.text


def test_long_results_are_folded_and_short_ones_open() -> None:
    text = written("html", outgoing([
        {"role": "tool", "tool_call_id": "c", "content": "x" * 5000},
        {"role": "tool", "tool_call_id": "c", "content": "short"},
        {"role": "tool", "tool_call_id": "c", "content": '{"a": {"b": ' + '["' + "y" * 90 + '"]}}'},
    ]))  # fmt: skip
    assert len(re.findall("<details>", text)) == 1 and len(re.findall("<details open>", text)) == 2
    assert "{\n  &quot;a&quot;: {\n" in text
