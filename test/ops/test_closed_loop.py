# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Schema, rows and samples cover each other."""

import dataclasses
import enum

import harness
import pytest
from executorch.backends.et_xnnpack.aot.ops import ROWS
from executorch.backends.et_xnnpack.serialization import schema
from samples import all_samples


@pytest.fixture(scope="module")
def coverage():
    return [harness.coverage(sample) for sample in all_samples()]


@pytest.mark.large  # with the next ones: all samples are lowered for them
def test_every_member_of_the_union_is_emitted(coverage):
    emitted = set().union(*(c.operators for c in coverage))
    assert set(schema.ATTRIBUTES) - emitted == set()


#: The enums that attributes have, types of elements aside.
KINDS = {type(f.default) for a in schema.ATTRIBUTES.values() for f in dataclasses.fields(a)}
KINDS = sorted((k for k in KINDS if issubclass(k, enum.IntEnum) and k is not schema.DType), key=lambda k: k.__name__)


@pytest.mark.large
@pytest.mark.parametrize("kinds", KINDS, ids=lambda k: k.__name__)
def test_every_kind_is_emitted(coverage, kinds):
    emitted = set().union(*(c.kinds for c in coverage))
    assert {kind for kind in kinds if (kinds, kind) not in emitted} == set()


@pytest.mark.large
def test_every_row_has_a_sample(coverage):
    lowered = set().union(*(c.targets for c in coverage))
    assert set(ROWS) - lowered == set()


def test_names_of_samples_are_unique():
    names = [sample.name for sample in all_samples()]
    assert len(names) == len(set(names))
