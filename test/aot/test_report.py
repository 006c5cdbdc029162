# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a report says of a program."""

import json

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, count_delegation
from executorch.exir import to_edge_transform_and_lower
from partitions import IDS, Encoder, X, lower, outside, partition
from torch import nn


def test_every_operator_outside_has_a_reason():
    def function(table, ids):
        return outside(table * 2, ids)

    lowered = lower(function, IDS)
    assert sorted(lowered.outside) == sorted(r.target for r in lowered.report.refusals), str(lowered.report)


def test_random_numbers_of_fixed_size_do_not_cut():
    lowered = lower(lambda table, x: (x.exp(), (torch.randn(2, 4) + x * 2).relu()), X)
    assert len(lowered.delegates) == 1, str(lowered.report)
    (refusal,) = lowered.report.refusals
    assert (refusal.target, refusal.reason) == (
        "aten.randn.default",
        "the operator draws random numbers, which ExecuTorch does anew at each call",
    )
    assert lowered.report.between == ((),)


def test_a_report_says_what_lies_between_calls():
    lowered = lower(lambda table, x: (x.exp() + F.dropout(x.exp()).abs()).sin(), X)
    assert len(lowered.delegates) == 2, str(lowered.report)
    (refusal,) = lowered.report.refusals
    assert refusal.reason == "the operator draws random numbers, which ExecuTorch does anew at each call"
    assert lowered.report.between == ((), (refusal.node,))
    assert lowered.report.to_dict()["between"] == [[], [refusal.node]]
    assert f"before call 2: {refusal.node}" in str(lowered.report)


def test_only_what_starts_a_path_between_calls_is_named():
    def function(table, x):
        ids = (x * 2).to(torch.int64)
        y = outside(outside(table, ids), IDS)
        return (y + 1).sin(), outside(table, ids)

    lowered = lower(function, torch.rand(1, 3))
    first, *_ = (r.node for r in lowered.report.refusals)
    assert len(lowered.report.refusals) == 3
    assert lowered.report.between == ((), (first,))


def test_a_report_is_data():
    report, outside = partition()
    assert report.is_full and not outside
    assert report.to_dict() == {
        "delegated": [
            {"aten.linear.default": 3, "aten.gelu.default": 3, "aten.add.Tensor": 3, "aten.layer_norm.default": 1}
        ],
        "between": [[]],
        "outside": [],
        "float_fallbacks": [],
        "buffers": [],
        "unmatched": [],
    }
    assert report.methods == {"forward": report}


def test_a_report_can_be_saved(tmp_path):
    report, _ = partition(block_operators=["aten.gelu"])
    report.save(tmp_path / "report.json")
    report.save(tmp_path / "report.txt")
    assert json.loads((tmp_path / "report.json").read_text()) == report.to_dict()
    assert "3 x aten.gelu.default: its operator is in block_operators" in (tmp_path / "report.txt").read_text()


def test_one_report_covers_all_methods(tmp_path):
    programs = {
        "encode": torch.export.export(Encoder().eval(), (X,)),
        "decode": torch.export.export(nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4)), (X,)),
    }
    partitioner = EtXnnpackPartitioner(block_operators=["aten.layer_norm"], block_modules=["layers.1"])
    manager = to_edge_transform_and_lower(programs, partitioner=[partitioner])
    report = partitioner.report
    assert list(report.methods) == ["encode", "decode"]
    assert not report.is_full and not report.methods["encode"].is_full and report.methods["decode"].is_full
    for name, of_method in report.methods.items():
        calls, outside = count_delegation(manager.exported_program(name))
        assert (calls, sum(outside.values())) == (len(of_method.delegated), len(of_method.refusals))
    assert report.delegated == report.methods["encode"].delegated + report.methods["decode"].delegated
    assert report.refusals == report.methods["encode"].refusals
    assert report.unmatched == () and "block_modules" in report.methods["decode"].unmatched[0]
    assert "decode: 3 nodes in 1 delegate call, 0 outside" in str(report)
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["methods"]["decode"]["outside"] == []
    to_edge_transform_and_lower(programs["decode"], partitioner=[partitioner])
    assert list(partitioner.report.methods) == ["forward"], "the report is of the last program"


def test_what_the_options_name_and_the_program_lacks_is_told(caplog):
    report, _ = partition(allow_modules=["layers.?", "layer.1", "no.such"], allow_operators=["aten.linear", "aten.erf"])
    assert report.unmatched[0].startswith("nothing in the program is 'aten.erf' of allow_operators")
    assert report.unmatched[1:] == (
        "nothing in the program is 'layer.1' of allow_modules; did you mean 'layers.1'?",
        "nothing in the program is 'no.such' of allow_modules",
    )
    assert report.unmatched[1] in caplog.text and report.unmatched[1] in str(report)
    caplog.clear()
    report, _ = partition(block_modules=["layers.1"], block_operators=["aten.erf"])
    assert report.unmatched == () and "nothing in the program" not in caplog.text
