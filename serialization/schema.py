# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The Python face of ``schema.fbs``.

Everything here is derived from what flatc generates, so an attribute has one home, the
schema. Enums become ``IntEnum``, structs become named tuples, and each member of the
``Attributes`` union becomes a frozen dataclass with the schema's field names and defaults
(vectors are tuples; what is a ``Size`` there is an int or a symbolic expression here)::

    Conv2d(stride=Size2D(2, 2), padding=Padding2D(1, 1, 1, 1), dilation=Size2D(1, 1))
"""

import dataclasses
import enum
import json
from collections import namedtuple
from pathlib import Path

from . import schema_generated as generated

NONE = generated.InputT().value  # an absent operand, and an input that is no tensor

_PREFIX = "executorch_backends_et_xnnpack_schema_"
# Enums, structs and tables with the types of their fields.
_DEFINITIONS = {
    name.removeprefix(_PREFIX): definition
    for name, definition in json.loads(Path(generated.__file__).with_name("schema.schema.json").read_text())[
        "definitions"
    ].items()
}


@dataclasses.dataclass(frozen=True)
class FieldType:
    """The type of a field in the schema."""

    name: str | None  #: of an enum, struct or table; None: a number or text
    is_vector: bool


def _field_types(name: str) -> dict[str, FieldType]:
    """The types of the fields of a table or struct, by their names in the schema."""
    types = {}
    for field, definition in _DEFINITIONS[name]["properties"].items():
        is_vector = definition.get("type") == "array"
        reference = (definition["items"] if is_vector else definition).get("$ref", "")
        types[field] = FieldType(reference.rpartition(_PREFIX)[2] or None, is_vector)
    return types


def _enum(name: str) -> type[enum.IntEnum]:
    members = vars(getattr(generated, name))
    return enum.IntEnum(name, {k: v for k, v in members.items() if not k.startswith("_")})


def _is_struct(name: str) -> bool:
    return "properties" in _DEFINITIONS[name] and not hasattr(getattr(generated, name), "GetRootAs")


ENUMS: dict[str, type[enum.IntEnum]] = {n: _enum(n) for n, d in _DEFINITIONS.items() if "enum" in d}
STRUCTS: dict[str, type[tuple]] = {n: namedtuple(n, _field_types(n)) for n in _DEFINITIONS if _is_struct(n)}
AttributesType = ENUMS.pop("Attributes")


def _attributes(name: str) -> type:
    fields = []
    defaults = vars(getattr(generated, name + "T")()).values()
    for (field, type_), default in zip(_field_types(name).items(), defaults, strict=True):
        if type_.name in ENUMS and not type_.is_vector:
            default = ENUMS[type_.name](default)
        elif type_ == FieldType("Size", False):
            default = 0
        fields.append((field, object, dataclasses.field(default=default, metadata={"type": type_})))
    cls = dataclasses.make_dataclass(name, fields, frozen=True)
    cls.__module__ = __name__
    return cls


#: Attribute classes by name, in the order of the union.
ATTRIBUTES: dict[str, type] = {t.name: _attributes(t.name) for t in AttributesType if t.name != "NONE"}
globals().update(ENUMS | STRUCTS | ATTRIBUTES)
#: The classes of operators that find the size of their result in data.
FINDERS = (ATTRIBUTES["Nonzero"], ATTRIBUTES["RepeatIndices"], ATTRIBUTES["NonMaxSuppression"])


def field_type(field: dataclasses.Field) -> FieldType:
    """The type that a field of an attribute class has in the schema."""
    return field.metadata["type"]


def size(number: int):
    """The generated object of a ``Size``."""
    result = generated.SizeT()
    result.value = number
    return result


def to_generated(attributes, encode):
    """The generated object (``Conv2dT`` ...) that packs ``attributes`` into a buffer.

    ``encode`` gives the number that stands for a size, an int or a symbolic expression.
    """
    result = getattr(generated, type(attributes).__name__ + "T")()
    for slot, field in zip(list(vars(result)), dataclasses.fields(attributes), strict=True):
        type_, value = field_type(field), getattr(attributes, field.name)
        if value is not None:
            one = _encoder(type_.name, encode)
            setattr(result, slot, [one(item) for item in value] if type_.is_vector else one(value))
    return result


def _encoder(name: str | None, encode):
    """A function to the generated form of a value whose type in the schema has this name."""
    if name == "Size":
        return lambda value: size(encode(value))
    if name in STRUCTS:
        return lambda value: _struct(name, value)
    return lambda value: value


def _struct(name: str, value):
    result = getattr(generated, name + "T")()
    for slot, item in zip(list(vars(result)), value, strict=True):
        setattr(result, slot, item)
    return result
