"""One fixture of each foreign format, from the tests of its reader, for what must hold for all of them.

A format joins by one line in :data:`FIXTURES`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unit import test_anda_format as anda
from unit import test_openai_format as openai
from unit.formats import test_anthropic as anthropic
from unit.formats import test_chat_ui as chat_ui
from unit.formats import test_chatgpt as chatgpt
from unit.formats import test_claude_ai as claude_ai
from unit.formats import test_claude_code as claude_code
from unit.formats import test_codex as codex
from unit.formats import test_documents as databases
from unit.formats import test_langchain as langchain
from unit.formats import test_langgraph as langgraph
from unit.formats import test_librechat as librechat
from unit.formats import test_openai_agents as agents
from unit.formats import test_openai_responses as responses
from unit.formats import test_openwebui as openwebui
from unit.formats import test_pydantic_ai as pydantic_ai
from unit.formats import test_sharegpt as sharegpt

from support import branched_exports

__all__ = ["FIXTURES", "Fixture"]


@dataclass(frozen=True)
class Fixture:
    """An input of one format: ``value`` is one conversation, or the lines of one when it is a list.

    ``links`` are members that only say how messages hang together, or count or repeat what others say: an odd
    value there is not kept.
    """

    format: str
    value: Any
    links: frozenset[str] = frozenset()

    @property
    def is_lines(self) -> bool:
        return isinstance(self.value, list)

    def lets_go_of(self, path: Sequence[Any]) -> bool:
        """Whether something at that path need not be kept."""
        return not self.links.isdisjoint(path)

    def written(self, value: Any) -> bytes:
        """An input of the value, and of an untouched one after it where inputs hold several."""
        if self.is_lines:
            found = "".join(json.dumps(line) + "\n" for line in value)
        else:
            found = json.dumps([value, self.value])
        return found.encode()


# What the last line of an answer says counts for all of its lines.
MERGED = frozenset({"model", "role", "usage", "stop_reason"})

# Of older checkpoints nothing is kept but their messages.
OF_CHECKPOINTS = frozenset({"config", "parent_config", "metadata", "checkpoint"})

FIXTURES = {
    f"{found.format}-{place}": found
    for place, found in enumerate(
        (
            Fixture("anda", anda.RECORD),
            Fixture("openai", {"id": "a", "metadata": {"n": 1}, "messages": openai.MESSAGES, "tools": []}),
            Fixture("openai", openai.MESSAGES),
            Fixture("chatgpt", chatgpt.CONVERSATION, frozenset({"parent", "children"})),
            Fixture("chatgpt", branched_exports.chatgpt(), frozenset({"parent", "children"})),
            # Becomes bytes.
            Fixture("claude-ai", claude_ai.CONVERSATION, frozenset({"extracted_content"})),
            Fixture("librechat", librechat.CONVERSATION),
            Fixture(
                "librechat", {**librechat.CONVERSATION, "messages": librechat.nested(librechat.MESSAGES)}
            ),
            Fixture("openwebui", openwebui.ROW),
            Fixture("openwebui", branched_exports.openwebui_with_image()),
            Fixture("claude-code", claude_code.SESSION, MERGED),
            Fixture("claude-code", [json.loads(line) for line in branched_exports.sessions().splitlines()]),
            Fixture("codex", codex.ROLLOUT, frozenset({"payload", "timestamp"})),
            Fixture("chat-ui", chat_ui.DOCUMENT),
            Fixture("langchain", {"messages": list(map(langchain.to_dict, langchain.DATA))}),
            Fixture("langchain", list(map(langchain.constructor, langchain.DATA))),
            Fixture("langchain", {"session_id": "s", "messages": langchain.DATA}),
            Fixture("langchain", langchain.documents()),
            Fixture("anthropic", anthropic.MESSAGES),
            Fixture("anthropic", anthropic.REQUEST),
            Fixture("anthropic", [anthropic.FIRST]),
            Fixture("anthropic", {"custom_id": "c", "result": {"message": anthropic.LAST}}),
            # Headers may hold keys.
            Fixture("anthropic", anthropic.PAIRS, frozenset({"headers"})),
            Fixture("openai-responses", responses.ITEMS),
            Fixture("openai-responses", responses.response("resp_a", responses.ITEMS[2:])),
            Fixture("openai-responses", responses.page([responses.ided(0), responses.ided(1)])),
            Fixture("openai-responses", responses.run()),
            Fixture("pydantic-ai", {"messages": pydantic_ai.TALK}),
            Fixture("pydantic-ai", pydantic_ai.TALK),
            Fixture("pydantic-ai", {"messages": pydantic_ai.OLD}),
            Fixture("sharegpt", sharegpt.TALK),
            # Of the conversation's document the list of its messages says again which those are.
            Fixture("librechat", [databases.HEAD, databases.ASKED, databases.SAID], frozenset({"messages"})),
            Fixture("openai-agents", agents.SESSION_OF_TWO_TURNS, frozenset({"_id", "seq", "generation"})),
            Fixture(
                "langgraph",
                langgraph.LISTED,
                frozenset({"config", "parent_config", "metadata", "checkpoint"}),
            ),
        )
    )
}
"""The fixtures by a name for tests."""
