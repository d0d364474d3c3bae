"""What every JSON object of rig has in common: unknown members kept, silent ones left out. Pure data."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, SerializerFunctionWrapHandler, model_serializer

__all__ = ["Filled", "Shape", "Str"]

# pydantic's own text type refuses lone surrogates, which JSON can say.
Str: TypeAlias = InstanceOf[str]
Filled: TypeAlias = Annotated[InstanceOf[str], Field(min_length=1)]


class Shape(BaseModel):
    """A JSON object of rig: unknown members are kept, members that say nothing are left out when written."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        for name, field in type(self).model_fields.items():
            if (field.default is None or field.default is False) and written[name] is field.default:
                del written[name]
        return written

    def to_json(self) -> dict[str, Any]:
        """The JSON object as rig writes it: absent members left out, ``is_error`` only when true."""
        return self.model_dump()
