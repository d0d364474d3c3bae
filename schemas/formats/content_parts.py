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
        said = text_in(part.get("text"))
        if said is not None:
            return text(
                said, {name: item for name, item in rest_of(part, "type", "text").items() if item != []}
            )
    if kind in ("image_url", "input_image"):
        return image_part(part, resources) or part
    return part


def text_in(value: JSON) -> str | None:
    """A text, as it is or in an object as its ``value``; None when it is neither."""
    if isinstance(value, dict) and set(value) <= {"value", "annotations"}:
        value = value.get("value")
    return value if isinstance(value, str) else None


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
