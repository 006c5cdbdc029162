# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is delegated where the user says so."""

from partitions import partition


def test_blocked_operators_stay_outside():
    report, outside = partition(block_operators=["aten.gelu"])
    assert outside == {"aten.gelu.default": 3}
    assert {r.reason for r in report.refusals} == {"its operator is in block_operators"}


def test_an_operator_also_stands_for_what_it_is_decomposed_into():
    _, outside = partition(block_operators=["aten.linear.default"])
    assert set(outside) == {"aten.permute_copy.default", "aten.addmm.default"}


def test_only_allowed_operators_are_delegated():
    report, _ = partition(allow_operators=["aten.linear", "aten.ad*"])
    assert {t for targets in report.delegated for t in targets} == {"aten.linear.default", "aten.add.Tensor"}


def test_blocked_modules_stay_outside_with_all_that_is_in_them():
    report, outside = partition(block_modules=["layers.1"])
    assert sorted(outside) == ["aten.addmm.default", "aten.gelu.default", "aten.permute_copy.default"]
    assert len(report.delegated) == 2


def test_only_allowed_modules_are_delegated():
    report, _ = partition(allow_modules=["layers.?"])
    assert {t for targets in report.delegated for t in targets} == {"aten.linear.default", "aten.gelu.default"}
