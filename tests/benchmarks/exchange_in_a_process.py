"""Import or export in a process of its own and print what it took: ``URI STEP CONVERSATIONS MESSAGES``."""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Iterator

from convostore.store import ConversationStore

KIB = 1024


def source(conversations: int, messages: int) -> Iterator[bytes]:
    """Conversations of so many messages each as OpenAI chat JSON Lines, made as they are read."""
    dice = random.Random(1)
    text = " ".join(str(dice.random()) for _ in range(40))
    for number in range(conversations):
        yield f'{{"id": "run-{number}", "messages": ['.encode()
        for place in range(messages):
            start = dice.randrange(300)
            one = {"role": "user", "content": f"{place} {text[start : start + 450]}"}
            yield (b"" if place == 0 else b", ") + json.dumps(one).encode()
        yield b"]}\n"


def peak() -> int:
    """The highest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def main(uri: str, step: str, conversations: int, messages: int) -> None:
    size = 0

    def counted(pieces: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal size
        for piece in pieces:
            size += len(piece)
            yield piece

    def discard(piece: bytes) -> None:
        nonlocal size
        size += len(piece)

    with ConversationStore.connect(uri) as store:
        store.setup()
        before = peak()
        if step == "import":
            imported = store.import_conversations(
                counted(source(conversations, messages)), format="openai", user="bench"
            )
            assert imported.imported == conversations, imported.to_json()
            count = imported.messages
        else:
            count = store.export_conversations(discard, user="bench").messages
    print(json.dumps({"before": before, "peak": peak(), "bytes": size, "messages": count}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
