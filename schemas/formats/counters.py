"""Token counters as other programs name them, as Anda's. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.identifiers import MAX_U64
from convostore.schemas.json_values import JSON
from convostore.schemas.usage import Usage

__all__ = ["usage_of"]

_INPUT = ("input_tokens", "prompt_tokens", "prompt_eval_count", "request_tokens", "inputTokens")
_OUTPUT = ("output_tokens", "completion_tokens", "eval_count", "response_tokens", "outputTokens")
_CACHED = ("cache_read_input_tokens", "cached_input_tokens", "cached_tokens", "cache_read_tokens")
_DETAILS = ("input_tokens_details", "prompt_tokens_details", "input_token_details")
_CACHED_OF_DETAILS = ("cached_tokens", "cache_read")


def usage_of(value: JSON, remarks: Remarks, *, requests: int = 1) -> Usage | None:
    """What one answer used; None when no counter counts anything, which means that it is not known.

    The numbers are the source's own: Anthropic's input, say, is without what came from the cache. A counter
    that is none (negative, a fraction, text) is left out and remarked.
    """
    if not isinstance(value, dict):
        return None
    cached = [value.get(name) for name in _CACHED]
    for details in map(value.get, _DETAILS):
        # OpenAI's agents write the details of all requests as a list of one.
        held = details[0] if isinstance(details, list) and details else details
        cached += [held.get(name) for name in _CACHED_OF_DETAILS] if isinstance(held, dict) else []
    found = [
        _first((value.get(name) for name in _INPUT), remarks),
        _first((value.get(name) for name in _OUTPUT), remarks),
        _first(cached, remarks),
    ]
    if not any(found):
        return None
    return Usage(
        input_tokens=found[0] or 0,
        output_tokens=found[1] or 0,
        cached_tokens=found[2] or 0,
        requests=requests,
    )


def _first(values: Iterable[JSON], remarks: Remarks) -> int | None:
    for value in values:
        if value is None:
            continue
        if type(value) is int and 0 <= value <= MAX_U64:
            return value
        remarks.add("counters of usage that count nothing are left out", value)
    return None
