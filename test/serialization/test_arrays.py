# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Numbers in NumPy are those of PyTorch, and large constants take no more bits than they need."""

import numpy as np
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import Builder, Constant, parse
from executorch.backends.et_xnnpack.serialization import schema, schema_generated
from executorch.backends.et_xnnpack.serialization.arrays import BFLOAT16, NUMPY_DTYPES, convert, number, pack
from executorch.backends.et_xnnpack.serialization.schema import DType, Storage
from executorch.backends.et_xnnpack.serialization.serialize import serialize

SPECIAL = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-8, 6e-5, 65519.0, 65520.0, 1e30, 3.4e38, 1.00390625, 1.01171875]


def bits(x):
    if isinstance(x, torch.Tensor):
        x = x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]).numpy()
    return np.ascontiguousarray(x).view(np.uint8).tolist()


@pytest.mark.parametrize("to", (DType.Float32, DType.Float16, DType.BFloat16), ids=lambda d: d.name)
@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=lambda d: d.name)
def test_converts_as_pytorch(dtype, to):
    x = torch.tensor(SPECIAL if dtype.name.endswith(("32", "16")) and "Float" in dtype.name else [0, 1, 3, 100, 77])
    x = x.to(getattr(torch, dtype.name.lower()))
    array = x.view(torch.int16).numpy().view(BFLOAT16) if dtype == DType.BFloat16 else x.numpy()
    assert bits(convert(array, to)) == bits(x.to(getattr(torch, to.name.lower())))


def test_converts_one_repeated_number_without_repeating_it():
    x = np.broadcast_to(np.float32(1.5), (1000, 1000))
    y = convert(x, DType.BFloat16)
    assert y.strides == (0, 0) and y.shape == x.shape
    assert convert(y, DType.Float32)[7, 7] == 1.5


def test_nan_stays_nan():
    for dtype in (DType.Float16, DType.BFloat16):
        assert np.isnan(convert(number(float("nan"), dtype), DType.Float32))


def test_constants_of_16_bits_are_equal_by_content():
    a, b = (convert(np.array([1.0, 2.0], np.float32), DType.BFloat16) for _ in range(2))
    assert Constant(a) == Constant(b)
    assert Constant(a) != Constant(convert(np.array([1.0, 3.0], np.float32), DType.BFloat16))


@pytest.mark.parametrize("dtype", (DType.Float16, DType.BFloat16), ids=lambda d: d.name)
def test_text_has_their_numbers(dtype):
    text = f"const %a: {dtype.name}[3] = [0.5, -2, 1e+30]\n%y: {dtype.name}[3] = Unary(%a) kind=Copy\nout %y\n"
    assert str(parse(str(parse(text)))) == str(parse(text))


def floats(values):
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    "array,storage",
    (
        (floats(np.arange(256)), Storage.BFloat16),
        (floats(np.arange(2049)), Storage.Float16),
        (floats([2.0**-24, 65504]), Storage.Float16),
        (floats([1e30, -np.inf, 0.0, -0.0]).view(np.uint32) & 0xFFFF0000, None),
        (floats([0.1] * 4), Storage.Plain),
        (floats([2049]), Storage.Plain),
        (floats([1.0] * 5000 + [0.1]), Storage.Plain),
        (np.arange(4), Storage.Plain),
    ),
)
def test_packs_what_it_holds_exactly(array, storage):
    if storage is None:
        array, storage = array.view(np.float32), Storage.BFloat16
    packed, found = pack(array)
    assert found == storage
    if found == Storage.BFloat16:
        packed = convert(packed.view(BFLOAT16), DType.Float32)
    elif found == Storage.Float16:
        packed = convert(packed, DType.Float32)
    assert bits(packed) == bits(array)


def test_large_constants_are_packed_and_states_are_not():
    b = Builder()
    state = b.state("s", np.ones(200, np.float32))
    half, full = b.constant(np.full(200, 1.5, np.float32)), b.constant(np.full(200, 0.1, np.float32))
    y = b.node(schema.Binary(), state, half, shape=(200,))
    y = b.node(schema.Binary(), y, full, shape=(200,))
    b.update("s", y)
    b.output(b.node(schema.Unary(), y, shape=(200,)))
    serialized = serialize(b.build())
    assert sorted(len(w) for w in serialized.weights.values()) == [400, 800, 800]
    root = schema_generated.GraphT.InitFromPackedBuf(serialized.blob, 0)
    assert [v.constant.storage for v in root.values if v.constant] == [Storage.BFloat16, Storage.Plain]
    assert root.states[0].initial.storage == Storage.Plain
