"""Files that are broken, hostile or odd: each a line in the report, never a crash, and the rest comes in."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard

from convostore.schemas.errors import ImportFormatError
from support.accounts import Account
from support.branched_exports import chatgpt, node

HI = {"role": "user", "content": "hi"}
GOOD = {"id": "good", "messages": [HI]}


def data(*values: Any) -> bytes:
    return json.dumps(values).encode()


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def tree(*nodes: dict[str, Any], **members: Any) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for one in nodes:
        mapping |= one
    return {"conversation_id": "g1", "title": "T", "mapping": mapping, **members}


def total(account: Account) -> int:
    """How many messages the conversations have together."""
    return sum(head.message_count for head in account.heads())


# Trees


def test_circle_of_parents_is_cut_and_named(account: Account) -> None:
    circle = tree(node("a", "c", "user", "1", 1.0), node("b", "a", "user", "2", 2.0),
                  node("c", "b", "user", "3", 3.0), current_node="b")  # fmt: skip
    report = account.imported(data(circle, {**chatgpt(), "conversation_id": "g2"}))
    assert (report.failed, report.imported - report.branches) == (0, 2)
    assert any("circles of parents were cut" in note for note in report.notes)
    held = {id: texts for id, texts in account.texts().items() if id.startswith("g1")}
    assert sorted({text for texts in held.values() for text in texts}) == ["1", "2", "3"]


def test_node_that_is_its_own_parent_is_a_root(account: Account) -> None:
    report = account.imported(data(tree(node("a", "a", "user", "1", 1.0))))
    assert account.texts() == {"g1": ["1"]}
    assert any("circles" in note for note in report.notes)


def test_two_roots_are_two_lines(account: Account) -> None:
    account.imported(data(tree(node("a", "", "user", "1", 1.0), node("b", "", "user", "2", 2.0))))
    assert account.texts() == {"g1": ["2"], "g1/a": ["1"]}


def test_child_older_than_its_parent_comes_after_it(account: Account) -> None:
    account.imported(data(tree(node("b", "a", "assistant", "2", 1.0), node("a", "", "user", "1", 9.0))))
    assert account.texts() == {"g1": ["1", "2"]}
    assert account.made() == [9000, 1000]
    assert account.head().created_at == 1000


def test_nodes_without_message_link_and_an_empty_conversation_is_empty(account: Account) -> None:
    linked = tree(node("a", "", "user", "1", 1.0), {"n": {"id": "n", "parent": "a"}},
                  {"m": {"id": "m", "message": None, "parent": "n"}},
                  node("b", "m", "user", "2", 2.0))  # fmt: skip
    empty = {"conversation_id": "g2", "title": "E", "mapping": {}}
    hollow = {"conversation_id": "g3", "mapping": {"n": {"id": "n", "message": None, "parent": None}}}
    report = account.imported(data(linked, empty, hollow))
    assert report.failed == 0
    assert account.texts() == {"g1": ["1", "2"], "g2": [], "g3": []}


def test_ids_that_occur_twice_fail_by_name_or_are_the_same(account: Account) -> None:
    other = {**chatgpt(), "title": "another"}
    report = account.imported(data(chatgpt(), chatgpt(), other))
    assert (report.imported, report.failed) == (4, 1)
    assert report.problems[0].id == "g1" and report.problems[0].position == "[2]"
    assert total(account) == 4 + 4 + 4 + 1


# Texts


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(b"\xef\xbb\xbf", id="byte order mark"),
        pytest.param(b"\r\n \r\n", id="blank lines"),
    ],
)
def test_what_stands_before_the_text_does_not_matter(account: Account, odd: bytes) -> None:
    assert account.imported(odd + lines(GOOD)).imported == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"), id="mark and CRLF"),
        pytest.param(lambda text: codecs.BOM_UTF16_LE + text.decode().encode("utf-16-le"), id="UTF-16LE"),
        pytest.param(lambda text: codecs.BOM_UTF16_BE + text.decode().encode("utf-16-be"), id="UTF-16BE"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(zstandard.ZstdCompressor().compress, id="zstd"),
        pytest.param(lambda text: b"[" + b",".join(text.splitlines()) + b"]", id="an array"),
        pytest.param(lambda text: json.dumps([*map(json.loads, text.splitlines())], indent=1).encode(),
                     id="indented"),
        pytest.param(lambda text: text.rstrip(b"\n"), id="without an end"),
    ],
)  # fmt: skip
def test_lines_in_another_form_are_the_same_conversations(
    account: Account, change: Callable[[bytes], bytes]
) -> None:
    both = lines(GOOD, {"id": "b", "messages": [HI, {"role": "assistant", "content": "ü"}]})
    assert account.imported(change(both), file="x.png").imported == 2
    assert {head.source.id for head in account.heads() if head.source} == {"good", "b"}
    assert account.take(both).imported == 0


def test_array_where_lines_were_expected_and_the_reverse(account: Account) -> None:
    one, other = chatgpt(), {**chatgpt(), "conversation_id": "g2"}
    assert account.imported(lines(one, other)).imported == 8
    assert account.imported(data(one, other)).unchanged == 8


def test_invalid_utf8_fails_at_its_line_or_item(account: Account) -> None:
    bad = b'{"id": "b", "messages": [{"role": "user", "content": "\xff"}]}\n'
    report = account.imported(lines(GOOD) + bad + lines({**GOOD, "id": "c"}))
    assert (report.imported, report.failed, report.problems[0].position) == (2, 1, 2)
    assert "UTF-8" in report.problems[0].reason
    second = data({**chatgpt(), "conversation_id": "g2"})[1:]
    array = account.imported(data(chatgpt())[:-1] + b', {"title": "\xff\xfe", "mapping": {}},' + second)
    assert (array.imported, array.failed) == (8, 1)
    assert array.problems[0].position == "[1]" and "UTF-8" in array.problems[0].reason


@pytest.mark.parametrize(
    "whole", [data(chatgpt(), {**chatgpt(), "conversation_id": "g2"}), lines(GOOD, GOOD)]
)
def test_truncated_file_names_where_it_ends_and_keeps_what_was_whole(account: Account, whole: bytes) -> None:
    report = account.imported(whole[:-30])
    assert report.failed == 1 and "ends" in report.problems[0].reason
    assert report.imported in (1, 4)


@pytest.mark.parametrize("value", [7, 1.5, True, None, [], {}, float("nan"), 10**30, "\ud800"])
def test_other_kind_where_text_should_be_is_kept_or_named(account: Account, value: Any) -> None:
    odd = tree(node("a", "", "user", value, 1.0), title=value, conversation_id=value, current_node=value)
    strange = {"id": "b", "messages": [{"role": value, "content": value}], "metadata": value}
    report = account.imported(data(odd, {**chatgpt(), "conversation_id": "g2"}))
    assert report.imported - report.branches == 2
    report = account.imported(lines(GOOD, strange))
    assert (report.read, report.imported + report.failed) == (2, 2)


def test_deep_nesting_is_kept_or_named(account: Account) -> None:
    def deep(levels: int) -> bytes:
        return b'{"id":"%d","messages":[{"role":"user","content":%s1%s}]}\n' % (
            levels, b"[" * levels, b"]" * levels,
        )  # fmt: skip

    report = account.imported(lines(GOOD) + deep(150) + deep(400) + deep(5_000) + deep(200_000))
    assert (report.read, report.imported) == (5, 2 + (report.failed == 2))
    assert all("deep" in problem.reason for problem in report.problems)


def test_lines_of_megabytes_come_in(account: Account) -> None:
    long = {"id": "long", "messages": [{"role": "user", "content": 'x"\\\u2028' * 500_000}] * 2}
    report = account.imported(lines(long, GOOD) + b"y" * (3 << 20) + b"\n" + b'{"' + b"\\" * (2 << 20))
    assert (report.imported, report.failed) == (2, 2)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n\n", b"\xef\xbb\xbf", b"null", b"[]", b"{}", b"7", b'"text"', b"[[]]", b"[" * 100_000, b"}{",
        b"\0" * 1000, b"\xff" * 100, b"\x89PNG\r\n\x1a\n" + b"\0" * 100, b"<html>", b"%PDF-1.7",
        gzip.compress(b"", mtime=0), gzip.compress(lines(GOOD), mtime=0)[:-9],
        b"\x28\xb5\x2f\xfd", codecs.BOM_UTF16_LE + b"a",
        b"\x9f", b"\xa1", b"\xbf" * 50, b"\xdb" + b"\xff" * 8, b"[{}, 1]", b'{"a": 1}', b"SQLite format 3\0",
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused_or_holds_nothing(account: Account, content: bytes) -> None:
    try:
        report = account.take(content)
    except ImportFormatError as error:
        assert str(error)
    else:
        assert (report.imported, report.read) == (0, report.failed + report.skipped)
    assert account.heads() == []


# Zip files


def zipped(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return held.getvalue()


CLAUDE = {
    "uuid": "c1",
    "name": "T",
    "account": {"uuid": "acc"},
    "created_at": "2026-01-02T03:04:05Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "hi", "created_at": "2026-01-02T03:04:05Z",
         "files": [{"file_name": "cat.png"}],
         "attachments": [{"file_name": "a.txt", "file_type": "txt", "extracted_content": "abc"}]},
    ],
}  # fmt: skip


def test_zip_of_claude_ai_brings_texts_and_files_and_names_what_it_leaves(account: Account) -> None:
    source = zipped(
        ("users.json", b"[]"), ("projects.json", b"[]"), ("files/cat.png", b"\x89PNG"),
        ("conversations.json", data(CLAUDE)),
    )  # fmt: skip
    report = account.imported(source, file="claude.zip")
    assert (report.format, report.imported, report.resources) == ("claude-ai", 1, 2)
    assert any("2 other files" in note and "users.json" in note for note in report.notes)
    head = account.head()
    named = account.store.get(head.id).resources
    resources = [account.store.resources.get(one.id, user=account.user) for one in named]
    assert {(one.name, one.blob) for one in resources} == {("a.txt", b"abc"), ("cat.png", b"\x89PNG")}
    assert head.source is not None and head.source.file == "claude.zip/conversations.json"


def test_file_that_is_not_in_the_zip_is_named(account: Account) -> None:
    report = account.imported(zipped(("conversations.json", data(CLAUDE))))
    assert any("1 files that messages name are not in the zip file, such as 'cat.png'" in note
               for note in report.notes)  # fmt: skip


def test_zip_of_other_names_is_looked_into(account: Account) -> None:
    members = ("readme.txt", b"hi"), ("a/my export.bak", data(chatgpt())), ("users.json", b'[{"u": 1}]')
    report = account.imported(zipped(*members))
    assert report.imported == 4
    assert any("users.json" in note for note in report.notes)
    with pytest.raises(ImportFormatError, match="known format"):
        account.take(zipped(("users.json", b'[{"u": 1}]')))


def test_zip_in_a_zip_is_named(account: Account) -> None:
    inner = zipped(("conversations.json", data(chatgpt())))
    with pytest.raises(ImportFormatError, match=r"'inner.zip': unpack it first"):
        account.take(zipped(("inner.zip", inner)))
    report = account.imported(zipped(("inner.zip", inner), ("conversations.json", data(chatgpt()))))
    assert report.imported == 4 and any("inner.zip" in note for note in report.notes)


def test_zip_is_opened_through_compression_and_in_it(account: Account) -> None:
    packed = gzip.compress(zipped(("conversations.json", gzip.compress(data(chatgpt())))))
    assert account.imported(packed).imported == 4


def test_member_of_a_name_that_was_there_before_fails_by_name(account: Account) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        source = zipped(("conversations.json", data(chatgpt())), ("conversations.json", data(GOOD)))
    report = account.imported(source)
    assert (report.imported, report.failed) == (4, 1)
    assert "same name" in report.problems[0].reason


@pytest.mark.parametrize("end", [30, 200, -1])
def test_zip_that_is_cut_off_is_refused(account: Account, end: int) -> None:
    with pytest.raises(ImportFormatError, match="zip file is broken"):
        account.take(zipped(("conversations.json", data(chatgpt())))[:end])


def test_member_that_is_broken_is_named_and_the_next_one_read(account: Account) -> None:
    second = data({**chatgpt(), "conversation_id": "g2"})
    source = bytearray(zipped(("conversations-1.json", data(chatgpt())), ("conversations-2.json", second)))
    place = source.index(b"conversations-1.json") + 60
    source[place : place + 20] = b"\xff" * 20
    report = account.imported(bytes(source))
    assert report.imported >= 4 and (report.error or report.failed)
    assert "conversations-1.json" in str(report.to_json())


def test_bomb_whose_size_is_a_lie_is_not_unpacked(account: Account) -> None:
    bomb = bytearray(zipped(("conversations.json", b"[" + b" " * (64 << 20))))
    for place in _places(bomb, struct.pack("<I", (64 << 20) + 1)):
        bomb[place : place + 4] = struct.pack("<I", 1000)
    try:
        report = account.take(bytes(bomb))
    except ImportFormatError as error:
        assert "broken" in str(error)
    else:
        assert report.imported == 0 and not report


def _places(data: bytes | bytearray, wanted: bytes) -> Iterator[int]:
    place = data.find(wanted)
    while place >= 0:
        yield place
        place = data.find(wanted, place + 1)


def test_names_that_climb_out_or_are_absurd_write_nothing_anywhere(
    account: Account, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    names = ["../up.json", "..\\up.json", "/abs.json", "C:\\x.json", "a/../../conversations.json", "x" * 3000]
    source = zipped(*((name, data(chatgpt())) for name in names), ("conversations.json", data(chatgpt())))
    report = account.imported(source)
    assert (report.imported, report.failed) == (4, 5)
    assert {problem.position for problem in report.problems} == set(names[:5])
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b"]
