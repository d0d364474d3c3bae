"""``list``, ``show`` and ``tail``, as people and as programs use them."""

from __future__ import annotations

import json
import signal

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from support.command_line import Command

MARCH_8 = 1_772_928_000_000  # 2026-03-08 00:00 UTC
DAY = 86_400_000
HI = {"role": "user", "content": "hi"}


def test_list_shows_the_newest_first_in_columns(convostore: Command, store: ConversationStore) -> None:
    for number in range(3):
        store.create(
            Conversation(user="alice", messages=[{"role": "user", "content": f"text {number}"}], label="l")
        )
    found = convostore.fine("list")
    assert found.lines[0].split() == [
        "ID",
        "USER",
        "STATUS",
        "MESSAGES",
        "TOKENS",
        "UPDATED",
        "LABEL",
        "LAST",
    ]
    assert [line.split()[0] for line in found.lines[1:]] == ["3", "2", "1"]
    assert "text 2" in found.lines[1]
    assert len({line.index("alice") for line in found.lines[1:]}) == 1


def test_list_as_json_is_one_array_and_as_lines_one_object_each(
    convostore: Command, store: ConversationStore
) -> None:
    store.create(Conversation(id=2**64 - 1, user="alice", messages=[HI], extra={"nan": float("nan")}))
    store.create(Conversation(user="bob", status="working"))
    (first, second) = convostore.fine("list", "--json").json
    assert first["_id"] == 2**64 - 1 and first["extra"] == {"nan": {"$float": "NaN"}}
    assert (second["user"], second["status"], second["message_count"]) == ("bob", "working", 0)
    lines = convostore.fine("list", "--json-lines").lines
    assert [json.loads(line) for line in lines] == [first, second]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["--user", "bob"], [3]),
        (["--status", "idle", "--status", "working"], [3, 2]),
        (["--label", "x"], [2]),
        (["--thread", "t"], [1]),
        (["--since", "2026-03-09"], [3, 2]),
        (["--until", "2026-03-09"], [1]),
        (["--since", "2026-03-09", "--tz", "Asia/Tokyo"], [3, 2]),
        (["--since", "2026-03-09T00:00:01Z"], [3]),
        (["--since", str(MARCH_8 + DAY + 1)], [3]),
        (["--since", "1d"], []),
        (["--limit", "1"], [3]),
        (["--limit", "0"], [3, 2, 1]),
    ],
)
def test_list_filters(
    convostore: Command, store: ConversationStore, arguments: list[str], ids: list[int]
) -> None:
    store.create(Conversation(user="alice", created_at=MARCH_8, thread="t"))
    store.create(Conversation(user="alice", created_at=MARCH_8 + DAY, label="x", status="idle"))
    store.create(Conversation(user="bob", created_at=MARCH_8 + 2 * DAY, status="working"))
    assert [head["_id"] for head in convostore.fine("list", "--json", *arguments).json] == ids


def test_list_of_nothing_says_so_beside_the_output(convostore: Command, store: ConversationStore) -> None:
    found = convostore.fine("list")
    assert (found.out, found.err) == ("", "no conversations\n")
    assert convostore.fine("list", "--json").json == []


def test_show_tells_the_head_and_the_newest_messages(convostore: Command, store: ConversationStore) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    messages = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    one = store.create(Conversation(user="alice", messages=messages, failed_reason="why", status="failed"))
    store.steer(one.id, "stop it")
    found = convostore.fine("show", one.id, "--limit", "2", "--tz", "Europe/Berlin")
    text = found.out
    assert "reason        why" in text and "steering      stop it" in text
    assert '-> f({"a":1})' in text and "<- 42" in text and "old" not in text
    assert "+01:00" in text or "+02:00" in text
    assert "newest 2 of 3 messages" in text
    assert "old" in convostore.fine("show", one.id, "--limit", "0").out


def test_show_as_json_has_every_message_as_stored(convostore: Command, store: ConversationStore) -> None:
    message = {"role": "user", "content": "\ud800 \x1b[31m", "n": 2**70}
    one = store.create(Conversation(user="alice", messages=[message]))
    shown = convostore.fine("show", one.id, "--json").json
    assert [entry["message"] for entry in shown["entries"]] == [message]
    assert shown["entries"][0]["id"] == 0 and shown["_id"] == one.id


def test_text_of_others_cannot_command_the_terminal(convostore: Command, store: ConversationStore) -> None:
    evil = "a\x1b]0;pwned\x07b\x9b31m\u202ec\r\nd"
    one = store.create(Conversation(user="alice", messages=[{"role": evil, "content": evil}], label=evil))
    for found in (convostore.fine("show", one.id), convostore.fine("list")):
        assert not set("\x1b\x07\x9b\u202e\r") & set(found.out)
        assert "\\x1b]0;pwned" in found.out


def test_letters_of_all_scripts_are_written_as_utf8_in_any_locale(
    convostore: Command, store: ConversationStore
) -> None:
    text = "gr\u00fc\u00df \u4f60\u597d \U0001f469\u200d\U0001f467 \u05e9"
    one = store.create(Conversation(user="alice", messages=[{"role": "user", "content": text}]))
    for locale in ("C", "POSIX", "en_US.ISO-8859-1"):
        assert text in convostore("show", one.id, env={"LC_ALL": locale}).out


def test_tail_follows_new_messages_until_it_is_interrupted(
    convostore: Command, store: ConversationStore
) -> None:
    one = store.create(Conversation(user="alice", messages=[{"role": "user", "content": "before"}]))
    tailing = convostore.start("tail", one.id, "--last", "1", "--json")
    assert tailing.stdout is not None and tailing.stderr is not None
    first = json.loads(tailing.stdout.readline())
    assert first["message"]["content"] == "before"
    store.append(one.id, {"role": "user", "content": "after"})
    second = json.loads(tailing.stdout.readline())
    assert (second["conversation"], second["id"], second["message"]["content"]) == (one.id, 1, "after")
    tailing.send_signal(signal.SIGINT)
    _, err = tailing.communicate(timeout=60)
    assert tailing.returncode == 130
    assert b"run tail again" in err and b"Traceback" not in err


def test_tail_ends_when_its_conversation_is_deleted(convostore: Command, store: ConversationStore) -> None:
    one = store.create(Conversation(user="alice", messages=[HI]))
    tailing = convostore.start("tail", one.id, "--last", "1")
    assert tailing.stdout is not None
    assert tailing.stdout.readline().startswith(b"%d [0] user" % one.id)
    store.delete(one.id)
    _, err = tailing.communicate(timeout=60)
    assert tailing.returncode == 0 and b"was deleted" in err


def test_tail_of_no_conversation_is_refused(convostore: Command, store: ConversationStore) -> None:
    found = convostore("tail", "77")
    assert found.code == 1 and found.err == "convostore: conversation 77 does not exist\n"
