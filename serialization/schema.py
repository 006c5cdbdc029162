# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The Python face of ``schema.fbs``.

Everything here is derived from the module that flatc generates, so an attribute has
one home, the schema. Enums become ``IntEnum``, structs become named tuples, and each
member of the ``Attributes`` union becomes a frozen dataclass with the schema's field
names and defaults (vectors are tuples)::

    Conv2d(stride=Size2D(2, 2), padding=Padding2D(1, 1, 1, 1), dilation=Size2D(1, 1))
"""

import dataclasses
import enum
import re
from collections import namedtuple

from . import schema_generated as generated

NONE = 0xFFFFFFFF  # an absent operand


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _enum(name: str) -> type[enum.IntEnum]:
    members = vars(getattr(generated, name))
    return enum.IntEnum(name, {k: v for k, v in members.items() if not k.startswith("_")})


def _fields(name: str) -> dict[str, object]:
    """Field names of a generated object, in the schema's spelling, with their defaults."""
    return {_snake(k): v for k, v in vars(getattr(generated, name + "T")()).items()}


def _struct(name: str):
    return namedtuple(name, _fields(name))


DType = _enum("DType")
Storage = _enum("Storage")
DimOp = _enum("DimOp")
UnaryKind = _enum("UnaryKind")
BinaryKind = _enum("BinaryKind")
AdaptivePoolKind = _enum("AdaptivePoolKind")
ReduceKind = _enum("ReduceKind")
ArgReduceKind = _enum("ArgReduceKind")
ScanKind = _enum("ScanKind")
CompareKind = _enum("CompareKind")
ResizeKind = _enum("ResizeKind")
UpdateKind = _enum("UpdateKind")
BagKind = _enum("BagKind")
PadMode = _enum("PadMode")
SampleKind = _enum("SampleKind")
GridPaddingMode = _enum("GridPaddingMode")
RecurrentKind = _enum("RecurrentKind")
QParamsKind = _enum("QParamsKind")
AttributesType = _enum("Attributes")
Feature = _enum("Feature")

Size2D = _struct("Size2D")
Padding2D = _struct("Padding2D")
Clamp = _struct("Clamp")

# A scalar enum field of the generated classes is a plain int; this gives it back its type.
_ENUM_FIELDS = {
    ("Unary", "kind"): UnaryKind,
    ("Binary", "kind"): BinaryKind,
    ("AdaptivePool2d", "kind"): AdaptivePoolKind,
    ("Reduce", "kind"): ReduceKind,
    ("ArgReduce", "kind"): ArgReduceKind,
    ("Scan", "kind"): ScanKind,
    ("Compare", "kind"): CompareKind,
    ("Cast", "dtype"): DType,
    ("Quantize", "dtype"): DType,
    ("Resize2d", "kind"): ResizeKind,
    ("IndexPut", "kind"): UpdateKind,
    ("Scatter", "kind"): UpdateKind,
    ("EmbeddingBag", "kind"): BagKind,
    ("Pad", "mode"): PadMode,
    ("GridSample", "kind"): SampleKind,
    ("GridSample", "padding_mode"): GridPaddingMode,
    ("Recurrent", "kind"): RecurrentKind,
    ("ChooseQParams", "kind"): QParamsKind,
}


def _attributes(name: str) -> type:
    fields = []
    for field, default in _fields(name).items():
        if (name, field) in _ENUM_FIELDS:
            default = _ENUM_FIELDS[name, field](default)
        fields.append((field, object, dataclasses.field(default=default)))
    cls = dataclasses.make_dataclass(name, fields, frozen=True)
    cls.__module__ = __name__
    return cls


def is_vector(attributes: type, field: str) -> bool:
    """Whether a field of an attribute class has any number of elements."""
    name = "".join(word.capitalize() for word in field.split("_"))
    return hasattr(getattr(generated, attributes.__name__), f"{name}Length")


#: Attribute classes by name, in the order of the union.
ATTRIBUTES: dict[str, type] = {t.name: _attributes(t.name) for t in AttributesType if t.name != "NONE"}
globals().update(ATTRIBUTES)


def to_generated(attributes):
    """The generated object (``Conv2dT`` ...) that packs ``attributes`` into a buffer."""
    result = getattr(generated, type(attributes).__name__ + "T")()
    for (name, _), field in zip(vars(result).copy().items(), dataclasses.fields(attributes), strict=True):
        value = getattr(attributes, field.name)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            struct = getattr(generated, type(value).__name__ + "T")()
            for slot, item in zip(list(vars(struct)), value, strict=True):
                setattr(struct, slot, item)
            value = struct
        elif isinstance(value, tuple):
            value = list(value)
        setattr(result, name, value)
    return result
