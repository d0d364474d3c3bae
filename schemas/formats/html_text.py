"""Text as HTML in which nothing of it is markup, and Markdown as HTML that loads nothing. Pure.

Markdown is rendered by markdown-it-py without raw HTML. Images at an address become links, links lead only
to the web and to mail.
"""

from __future__ import annotations

import html
import re
from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

__all__ = ["escaped", "is_shown_whole", "is_web", "rich"]

_WEB = re.compile(r"(?:https?|mailto):[^\s\"'<>]+", re.IGNORECASE)
_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"} | {127: "\u2421"}
_HALF = re.compile("[\ud800-\udfff]")
_ODD = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# Beyond these the parser takes long, or leaves out what lies too deep.
_LONGEST = 100_000
_DEEP = re.compile(r"^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])[ \t]*){12}", re.MULTILINE)


def is_shown_whole(text: str) -> bool:
    """Whether each character of the text can stand in a page as it is."""
    return not _ODD.search(text)


def escaped(text: str) -> str:
    """The text, to stand between tags or in an attribute.

    Controls are shown as their pictures, halves of surrogate pairs as U+FFFD.
    """
    if _ODD.search(text):
        text = _HALF.sub("\ufffd", text.translate(_CONTROLS))
    return html.escape(text)


def is_web(address: str) -> bool:
    """Whether a link may lead there."""
    return _WEB.fullmatch(address) is not None


def rich(text: str) -> str:
    """Markdown as HTML; what is too long or nested too deeply for that, as plain text."""
    if len(text) > _LONGEST or _DEEP.search(text):
        return f'<div class="plain">{escaped(text)}</div>'
    if _ODD.search(text):
        text = _HALF.sub("\ufffd", text.translate(_CONTROLS))
    return f'<div class="rich">{_MARKDOWN.render(text)}</div>'


class _Renderer(RendererHTML):
    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        address = str(token.attrGet("src") or "")
        if address.startswith("data:image/"):
            return super().image(tokens, idx, options, env)
        shown = escaped(token.content or address)
        return f'<a href="{escaped(address)}" rel="noreferrer">{shown}</a>' if is_web(address) else shown

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        address = str(tokens[idx].attrGet("href") or "")
        return f'<a href="{escaped(address)}" rel="noreferrer">' if is_web(address) else "<a>"


def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
    # Definitions of references would not be seen.
    return made.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])


_MARKDOWN = _markdown()
