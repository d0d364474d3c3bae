"""A page of HTML that needs nothing but itself: pictures as SVG, tables, no script (extra ``analytics``).

Importing this module imports jinja2, which escapes every text. A content security policy in the page forbids
loading anything, whatever a text in it may say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["Page", "Section", "html_of", "inline_svg"]

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
# What surrounds a drawing in the file and says nothing about it.
_ASIDE = frozenset({"metadata"})


@dataclass(frozen=True, slots=True)
class Section:
    """A picture (SVG, as :func:`inline_svg` gives it) and a table; ``numbers`` are its columns of numbers."""

    title: str
    picture: str = ""
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numbers: Sequence[int] = ()
    notes: Sequence[str] = ()
    folded: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """What a report says: lines about it, numbers over all with their names, remarks, sections."""

    title: str
    about: Sequence[str] = ()
    numbers: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    sections: Sequence[Section] = field(default_factory=tuple)


def html_of(page: Page) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=PackageLoader("convostore.cli.charts", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html: str = environment.get_template("page.html").render(page=page)
    return html


def inline_svg(svg: bytes, name: str, description: str) -> str:
    """A file of SVG as an element for a page: without what only a file needs, its ids led by ``name``."""
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        parent.tag = parent.tag.removeprefix(_SVG)
        for child in list(parent):
            if child.tag.removeprefix(_SVG) in _ASIDE:
                parent.remove(child)
        for attribute, value in list(parent.attrib.items()):
            if attribute == "id":
                parent.set("id", f"{name}-{value}")
            elif attribute == _LINK:
                del parent.attrib[attribute]
                parent.set("href", value.replace("#", f"#{name}-", 1))
            elif "url(#" in value:
                parent.set(attribute, value.replace("url(#", f"url(#{name}-"))
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-label", description)
    return ElementTree.tostring(root, encoding="unicode", method="html")
