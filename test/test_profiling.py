# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The time of each operator, and of each phase of a load, in ExecuTorch's event tracer, by ETDump and Inspector."""

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib


class Model(torch.nn.Module):
    """Nodes in XNNPACK, a kernel of ours between them, and a pass of several nodes."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.LayerNorm(14)
        self.linear = torch.nn.Linear(14, 5)

    def forward(self, x):
        y = self.norm(self.convolution(x))
        y = torch.sin(y) * torch.cos(y) + torch.erf(y)
        return self.linear(y).relu()


MODEL = Model().eval()
EXAMPLE = (torch.rand(4, 3, 16, 16),)


@pytest.fixture(scope="module")
def program():
    shapes = {"x": {0: torch.export.Dim("batch", min=1, max=4)}}
    exported = torch.export.export(MODEL, EXAMPLE, dynamic_shapes=shapes)
    manager = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()], generate_etrecord=True)
    return manager.to_executorch()


#: Events that are no operators, with the name of the block of events that they are in.
PHASES = {"open": "Default", "plan": "Default", "pack": "Default", "load constants": "Default", "reshape": "Execute"}


def profile(program, folder, batches, tolerance=1e-5):
    """Calls with these batches: events inside of the delegate, and the milliseconds of each whole call."""
    module = portable_lib._load_for_executorch_from_buffer(program.buffer, enable_etdump=True)
    for batch in batches:
        x = EXAMPLE[0][:batch]
        torch.testing.assert_close(module.run_method("forward", (x,))[0], MODEL(x), atol=tolerance, rtol=tolerance)
    module.write_etdump_result_to_file(str(folder / "etdump"))
    program.get_etrecord().save(str(folder / "etrecord.bin"))
    inspector = Inspector(etdump_path=str(folder / "etdump"), etrecord=str(folder / "etrecord.bin"))
    events = [event for block in inspector.event_blocks if block.name == "Execute" for event in block.events]
    inside = [event for event in events if event.is_delegated_op and event.name not in PHASES]
    (call,) = [event for event in events if event.name == "DELEGATE_CALL"]
    return inside, call.perf_data.raw


@pytest.mark.parametrize("options", [{}, {"force_fp16": True}, {"num_threads": 1}], ids=str)
def test_every_operator_is_an_event(options, program, tmp_path):
    with et_xnnpack.load_options(**options):
        tolerance = 1e-2 if options.get("force_fp16") else 1e-5
        events, calls = profile(program, tmp_path, batches=[4, 1, 3], tolerance=tolerance)
    fused = [
        names.decode().removeprefix("with ").split(", ") for e in events for names in e.delegate_debug_metadatas[:1]
    ]
    assert [len(names) for names in fused] == [4]
    nodes = sorted(int(name.split()[0]) for name in [e.name for e in events] + fused[0])
    assert nodes == list(range(len(nodes)))
    origins = {event.name.split()[1]: event.op_types for event in events}
    assert origins["Conv2d"] == ["aten.convolution.default"]
    assert origins["LayerNorm"] == ["aten.layer_norm.default"]
    assert origins["Linear"] == ["aten.linear.default"]
    assert len(calls) == 3
    for i, call in enumerate(calls):
        times = [event.perf_data.raw[i] for event in events]
        assert min(times) >= 0
        assert 0 < sum(times) <= call


@pytest.mark.parametrize("batches", [[4, 4, 4], [4, 1, 3]], ids=str)
def test_each_phase_of_a_load_is_an_event_and_each_call_is_prepared(batches, program, tmp_path):
    profile(program, tmp_path, batches=batches)
    blocks = Inspector(etdump_path=str(tmp_path / "etdump")).event_blocks
    phases = {e.name: (block.name, e.perf_data.raw) for block in blocks for e in block.events if e.name in PHASES}
    assert {name: block for name, (block, _) in phases.items()} == PHASES
    assert [len(times) for _, times in phases.values()] == [1, 1, 1, 1, len(batches)]
    (load,) = [e.perf_data.raw[0] for block in blocks for e in block.events if e.name == "Method::init"]
    assert 0 < sum(times[0] for block, times in phases.values() if block == "Default") <= load


def test_without_the_option_there_are_none(program, tmp_path):
    with et_xnnpack.load_options(profiling=False):
        events, calls = profile(program, tmp_path, batches=[2])
    assert not events
    assert len(calls) == 1
