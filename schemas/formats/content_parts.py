"""Content parts as OpenAI's chat has them, and programs around it, in Anda's form. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from convostore.schemas.formats.attachments import data_uri, linked
from convostore.schemas.formats.parts import file_part, inline_part, rest_of, text
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource

__all__ = ["content_parts", "image_part", "text_in"]

_TEXTS = frozenset({"text", "input_text", "output_text"})


def content_parts(content: JSON, resources: list[Resource]) -> list[JSON]:
    """The parts of a content: a text, or a list; the resources of images at an address are added."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [text(content)]
    return [_part(part, resources) for part in content] if isinstance(content, list) else [content]


def _part(part: JSON, resources: list[Resource]) -> JSON:
    if isinstance(part, str):
        return text(part)
    if not isinstance(part, dict):
        return part
    kind = part.get("type")
    if isinstance(kind, str) and kind in _TEXTS:
        found = text_in(part.get("text"))
        rest = {name: item for name, item in rest_of(part, "type", "text").items() if item != []}
        if found is not None and found[1].keys().isdisjoint(rest):
            return text(found[0], rest | found[1])
    if kind in ("image_url", "input_image"):
        return image_part(part, resources) or part
    return part


def text_in(value: JSON) -> tuple[str, dict[str, JSON]] | None:
    """A text, as it is or as ``value`` of an object, and annotations there; None when it is neither."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, dict) or not set(value) <= {"value", "annotations"}:
        return None
    said = value.get("value")
    beside = {name: item for name, item in rest_of(value, "value").items() if item != []}
    return (said, beside) if isinstance(said, str) else None


def image_part(part: Mapping[str, JSON], resources: list[Resource]) -> JSON:
    """The image under ``image_url``: its bytes, or a reference and its resource; None when there is none."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or not url:
        return None
    rest = rest_of(part, "type", "image_url") | (rest_of(image, "url") if isinstance(image, dict) else {})
    inside = data_uri(url)
    if inside is not None:
        return inline_part(*inside, rest)
    resource = linked(url)
    resources.append(resource)
    return file_part(resource, rest)
