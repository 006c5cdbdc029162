# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A pytest plugin that puts our partitioner into tests of the installed ExecuTorch.

Its backend suite asks ``all_flows`` which ways of lowering to try: it finds ours alone, quantized
as ``ET_XNNPACK_SUITE_FLOW`` names it. The official delegate's own tests name their partitioner:
they get ours under that name. Every test leaves one line of JSON in the file that
``ET_XNNPACK_SUITE_RESULTS`` names.
"""

import dataclasses
import functools
import json
import os
import sys
import warnings

import pytest

warnings.filterwarnings("ignore")

import executorch.backends.test.suite.flow as flow_module  # noqa: E402
import faster_export  # noqa: E402
import torch  # noqa: E402
from executorch.backends import et_xnnpack  # noqa: E402
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, count_delegation  # noqa: E402
from executorch.backends.test.harness import Tester  # noqa: E402
from executorch.backends.test.harness.stages import StageType, ToEdgeTransformAndLower  # noqa: E402
from executorch.backends.test.suite import reporting  # noqa: E402
from executorch.backends.test.suite.flows import xnnpack as official_flows  # noqa: E402
from executorch.exir import EdgeCompileConfig  # noqa: E402

faster_export.patch_torch()

FLOW = os.environ.get("ET_XNNPACK_SUITE_FLOW", "fp32")
SEED = 0

lowered: list[tuple[int, dict[str, int], list[str]]] = []  # of the test that runs: calls, outside, reasons


class Lower(ToEdgeTransformAndLower):
    """Lowers with our partitioner and notes what became of the program."""

    def __init__(self, partitioners=None, edge_compile_config=None):
        self.partitioner = EtXnnpackPartitioner()
        config = edge_compile_config or EdgeCompileConfig(_check_ir_validity=FLOW == "fp32")
        super().__init__(EtXnnpackPartitioner, [self.partitioner], config)

    def run(self, artifact, inputs=None, generate_etrecord=False):
        super().run(artifact, inputs, generate_etrecord)
        note(self.edge_dialect_program.exported_program(), self.partitioner)


def note(program, partitioner) -> None:
    report = partitioner.report
    reasons = [] if report is None else sorted({f"{r.target}: {r.reason}" for r in report.refusals})
    lowered.append((*count_delegation(program), reasons))


def _make_tester(module, inputs, *args, **options):
    stages = {**Tester.default_stage_classes(), StageType.TO_EDGE_TRANSFORM_AND_LOWER: Lower}
    return Tester(module, inputs, stages, *args, **options)


def _replace_flows() -> None:
    name = "xnnpack" if FLOW == "fp32" else f"xnnpack_{FLOW}"
    (official,) = (f for f in vars(official_flows).values() if getattr(f, "name", None) == name)
    name = f"et_xnnpack_{FLOW}"
    flow = dataclasses.replace(official, name=name, backend="et_xnnpack", tester_factory=_make_tester)
    flow_module.all_flows = lambda: {name: flow}
    if reporting.get_active_test_session() is None:
        reporting.begin_test_session(None, seed=SEED)  # the same weights and inputs every time


def _replace_official_partitioners() -> None:
    import executorch.backends.xnnpack.partition.xnnpack_partitioner as official
    import executorch.backends.xnnpack.test.tester  # noqa: F401  (holds the names to replace)

    class Ours(EtXnnpackPartitioner):
        """Takes the official one's arguments, which choose among its precisions."""

        def __init__(self, *args, **kwargs):
            super().__init__()

        def partition(self, exported_program):
            result = super().partition(exported_program)
            lowered.append((len(self.report.delegated), {}, []))
            return result

    names = [n for n, v in vars(official).items() if isinstance(v, type) and issubclass(v, official.XnnpackPartitioner)]
    for module in [m for n, m in sys.modules.items() if n.startswith("executorch.")]:
        for name in names:
            if isinstance(getattr(module, name, None), type):
                setattr(module, name, Ours)


assert et_xnnpack.is_available(), "the compiled part of et_xnnpack is missing: run `make build`"
_replace_flows()
_replace_official_partitioners()
torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    lowered.clear()
    torch.manual_seed(SEED)
    try:
        return (yield)
    finally:
        faster_export.forget_programs()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        report.user_properties.append(("et_xnnpack", json.dumps(_summary(item, call, report))))
    return report


def _summary(item, call, report) -> dict[str, object]:
    error = "" if call.excinfo is None else _root_cause(call.excinfo.value)
    return {
        "file": item.path.stem.removeprefix("test_"),
        "test": item.name,
        "outcome": report.outcome,
        "full": bool(lowered) and all(calls == 1 and not outside for calls, outside, _ in lowered),
        "outside": sorted({name for _, outside, _ in lowered for name in outside}),
        "reasons": sorted({reason for *_, reasons in lowered for reason in reasons}),
        "error": error[:300],
    }


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


class _Writer:
    """Lives in the process that controls all others."""

    def __init__(self, path: str):
        self.write = functools.partial(print, file=open(path, "w"), flush=True)

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties:
            if name == "et_xnnpack":
                self.write(value)
        if report.when == "???":  # a process died in this test
            test = report.nodeid.rpartition("::")[2]
            file = os.path.basename(report.nodeid.partition("::")[0])
            lost = {"file": file.removeprefix("test_").removesuffix(".py"), "test": test, "outcome": "crashed"}
            self.write(json.dumps({**lost, "full": False, "outside": [], "reasons": [], "error": "the process died"}))


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(os.environ["ET_XNNPACK_SUITE_RESULTS"]))
