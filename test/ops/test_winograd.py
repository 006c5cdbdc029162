# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions with fewer multiplications, in programs."""

import functools

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import nn

pytestmark = harness.needs_runtime

FEWER = "Winograd's tiles of {0} x {0} take fewer multiplications."


def images(batch, height, width, channels=64):
    return (torch.randn(batch, channels, height, width, generator=torch.Generator().manual_seed(batch + height)),)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(64, 72, 3, padding=1), nn.ReLU(), nn.Conv2d(72, 40, 3), nn.ReLU6()).eval()


@pytest.fixture(scope="module")
def edge(model):
    return lower(model)


def lower(model, **options):
    sizes = {0: torch.export.Dim("batch", max=4), 2: torch.export.Dim("height", min=4, max=40)}
    sizes[3] = torch.export.Dim("width", min=4, max=40)
    exported = torch.export.export(model, images(2, 20, 24), dynamic_shapes=(sizes,))
    return to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner(**options)])


def text(edge):
    return et_xnnpack.inspect(harness.only_delegate(edge).processed_bytes)


def load(edge):
    method = harness.load_method(_buffer(edge))
    assert method is not None
    return method


@functools.cache
def _buffer(edge):
    """A program reads its buffer as long as it is used."""
    return edge.to_executorch().buffer


@pytest.fixture(params=(0, 2, 4))
def tile(request):
    before = et_xnnpack.get_option("winograd_tile")
    et_xnnpack.set_option("winograd_tile", request.param)
    yield request.param
    et_xnnpack.set_option("winograd_tile", before)


def test_the_plan_names_the_kernel(edge, tile):
    for size in (2, 4):
        assert text(edge).count(FEWER.format(size)) == (2 if size == tile else 0)


@pytest.mark.parametrize("num_threads", (0, 1))
def test_all_sizes_up_to_the_bound(model, edge, tile, num_threads):
    with et_xnnpack.load_options(num_threads=num_threads):
        method = load(edge)
    for size in ((4, 40, 40), (1, 4, 4), (2, 4, 40), (1, 21, 18), (4, 7, 5), (1, 4, 5), (4, 40, 40)):
        x = images(*size)
        check(method.execute(x)[0], model(*x))


def check(actual, expected):
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=1e-5)


def test_nan_reaches_what_sees_it(model, edge, tile):
    (x,) = images(1, 16, 17)
    x[0, 5, 7, 8] = torch.nan
    x[0, 6, 0, 0] = torch.inf
    actual, expected = load(edge).execute((x,))[0], model(x)
    assert torch.equal(actual.isnan(), expected.isnan())
    check(actual.nan_to_num(), expected.nan_to_num())


def test_a_program_asks_for_it(model):
    wish = lower(model, runtime_options={"winograd_tile": 0})
    x = images(1, 12, 12)
    exact = load(wish).execute(x)[0]
    with et_xnnpack.load_options(winograd_tile=2):
        other = load(wish).execute(x)[0]
    check(exact, model(*x))
    check(other, model(*x))
    assert not torch.equal(exact, other)


def test_packed_weights_of_each_tile(model, edge, tmp_path):
    x = images(2, 12, 13)
    path = str(tmp_path / "packed")
    results = {}
    for tile in (4, 2, 0, 4, 2, 0):
        with et_xnnpack.load_options(winograd_tile=tile, packed_cache_path=path, weight_cache=False):
            result = load(edge).execute(x)[0]
        check(result, model(*x))
        assert torch.equal(results.setdefault(tile, result), result)
    assert not torch.equal(results[0], results[2])
    assert not torch.equal(results[2], results[4])
