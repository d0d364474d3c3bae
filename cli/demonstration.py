"""The sample of ``demo``: three conversations of a made-up travel desk, loaded once and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from convostore.cli.dates import zone_named
from convostore.cli.output import print_json, print_line, print_table
from convostore.cli.views import (
    HEAD_COLUMNS,
    HEAD_NUMBERS,
    entry_json,
    entry_text,
    head_json,
    head_lines,
    head_row,
)

if TYPE_CHECKING:
    from convostore.store import ConversationStore

__all__ = ["USER", "run", "sample"]

USER = "demo"
_BEGAN = 1_772_960_400_000  # 2026-03-08 09:00 UTC
_MINUTE = 60_000


def sample() -> list[dict[str, Any]]:
    """The conversations as Anda records without ids, messages in two dialects."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "find_trains", "arguments": '{"to":"Bern"}'},
    }
    trains = '[{"leaves":"10:02","changes":0},{"leaves":"10:32","changes":1}]'
    return [
        _record(
            "Trains to Bern",
            "completed",
            {"input_tokens": 1_204, "output_tokens": 96, "cached_tokens": 512, "requests": 2},
            [
                {"role": "system", "content": "You are a travel desk. Answer in one sentence."},
                {"role": "user", "content": "Find me a train to Bern tomorrow morning."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": trains},
                {"role": "assistant", "content": "The 10:02 is direct; the 10:32 needs one change."},
            ],
            0,
        ),
        _record(
            "Hotel in Lisbon",
            "idle",
            {"input_tokens": 640, "output_tokens": 58, "cached_tokens": 0, "requests": 1},
            [
                {
                    "role": "user",
                    "content": [{"type": "Text", "text": "A quiet hotel in Lisbon for two nights?"}],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "Reasoning", "text": "Quiet: away from the nightlife."},
                        {"type": "Text", "text": "Lapa is calm and near the tram. From which day on?"},
                    ],
                },
            ],
            90,
        ),
        _record(
            "Refund",
            "failed",
            {"input_tokens": 310, "output_tokens": 0, "cached_tokens": 0, "requests": 1},
            [{"role": "user", "content": "My flight was cancelled. How do I get my money back?"}],
            180,
            failed_reason="the booking service did not answer",
        ),
    ]


def _record(
    label: str, status: str, usage: dict[str, int], messages: list[dict[str, Any]], minute: int, **more: Any
) -> dict[str, Any]:
    began = _BEGAN + minute * _MINUTE
    timed = [{**message, "timestamp": began + place * _MINUTE} for place, message in enumerate(messages)]
    return {
        "_id": 0,
        "user": USER,
        "messages": timed,
        "resources": [],
        "artifacts": [],
        "status": status,
        **more,
        "usage": usage,
        "label": label,
        "created_at": began,
        "updated_at": began + len(messages) * _MINUTE,
    }


def _chunks() -> Iterator[bytes]:
    for record in sample():
        yield json.dumps(record).encode() + b"\n"


def run(store: ConversationStore, tz: str, *, as_json: bool) -> None:
    """Load the sample, once however often it runs, and show it."""
    zone = zone_named(tz)
    store.setup()
    report = store.import_conversations(_chunks(), format="anda", file="demo")
    heads = [head for head in store.find(user=USER, limit=100) if head.source and head.source.file == "demo"]
    first = heads[-1]
    entries = store.messages(first.id, limit=50).items
    if as_json:
        shown = {**head_json(first), "entries": [entry_json(entry) for entry in entries]}
        listed = [head_json(head) for head in heads]
        print_json(
            {"import": report.to_json(), "conversations": listed, "shown": shown, "usage": _usage(heads)}
        )
        return
    print_line(f"A sample of {report.read} conversations ({report.imported} new) of the user {USER!r}:")
    print_line()
    print_table(HEAD_COLUMNS, [head_row(head, zone) for head in heads], right=HEAD_NUMBERS)
    print_line()
    print_line(f"convostore show {first.id}:")
    print_line()
    for line in head_lines(first, zone):
        print_line(line)
    for entry in entries:
        print_line()
        print_line(entry_text(entry, zone))
    print_line()
    print_line("Usage in all:")
    for name, count in _usage(heads).items():
        print_line(f"  {name:<14} {count:>6,}")


def _usage(heads: list[Any]) -> dict[str, int]:
    counters = [head.usage.to_json() for head in heads]
    return {name: sum(one[name] for one in counters) for name in counters[0]}
