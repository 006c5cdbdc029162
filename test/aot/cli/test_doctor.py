# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack doctor``: facts, a self-test, and what it says when something is wrong."""

import importlib.metadata
import re

import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.aot.cli import doctor
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from harness import needs_runtime

pytestmark = needs_runtime


def test_all_is_well(command):
    found = command("doctor", "--json").json
    facts, test = found["facts"], found["self_test"]
    assert found["is_well"] and found["problems"] == []
    assert facts["executorch"] == facts["built_with_executorch"] == importlib.metadata.version("executorch")
    assert facts["torch"] == torch.__version__
    assert facts["instruction_set"] and facts["cpu"] and facts["xnnpack"] == et_xnnpack.xnnpack_version()
    assert facts["pool_threads"] >= 1
    assert facts["backends"]["EtXnnpackBackend"] is True and "XnnpackBackend" in facts["backends"]
    assert test["is_fully_delegated"]
    assert {"XNNPACK", "kernel", "fused pass"} <= test["computed_by"].keys()
    assert test["difference, pool"] < 1e-4 and test["difference, 1 thread"] < 1e-4


def test_microkernels_of_xnnpack(command):
    found = command("doctor", "--json").json["facts"]["xnnpack_kernels"]
    if " names" not in et_xnnpack.xnnpack_version():
        assert found == {}
        return
    assert {"f32_gemm_minmax", "f32_igemm_minmax"} <= found.keys()
    assert any(re.match("qs8_qc8w_gemm", family) for family in found)
    assert any(re.match("qdu?8_f32_qc8w_gemm", family) for family in found)
    assert all(re.match(r"\d+x\d+(v|c\d+)?(s\d+)?_", variant) for variant in found["f32_gemm_minmax"])
    printed = command("doctor").out
    assert f"f32_gemm_minmax: {', '.join(found['f32_gemm_minmax'])}\n" in printed


def test_what_is_wrong(command, monkeypatch):
    monkeypatch.setattr(doctor, "_TOLERANCE", 0.0)
    monkeypatch.setattr(doctor, "_requirement", lambda package: "1.0")
    monkeypatch.setattr(et_xnnpack._module, "instruction_set", lambda: "")
    printed = command("doctor", code=ExitCode.NO).out
    assert "goes with 1.0" in printed
    assert printed.count("results differ from eager PyTorch") == 2
    assert "which this CPU or build lacks" in printed
    assert "all is well" not in printed


def test_without_the_runtime_lowering_is_tested(command, monkeypatch):
    monkeypatch.setattr(et_xnnpack, "is_available", lambda: False)
    found = command("doctor", "--json", code=ExitCode.NO).json
    assert found["self_test"]["is_fully_delegated"] and "computed_by" not in found["self_test"]
    (problem,) = found["problems"]
    assert problem.startswith("the compiled part of et_xnnpack is not installed")
