# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``aot/private/export_llm.py`` assumes of ExecuTorch's exporter."""

import inspect

from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.private import export_llm as private
from executorch.examples.models.llama import export_llama_lib as exporter
from executorch.extension.llm.export import export_llm


def test_the_exporter_asks_one_function_for_partitioners():
    for function in exporter._to_edge_and_lower_llama_xnnpack, exporter._get_xnnpack_partitioners:
        assert "get_xnnpack_partitioner" in function.__code__.co_names
    assert "dynamic_quant_only_partitioner" in inspect.signature(exporter.get_xnnpack_partitioner).parameters


def test_each_export_gets_one_partitioner_of_ours():
    official = exporter.get_xnnpack_partitioner
    with private.partitioner_of_exporter(EtXnnpackPartitioner) as made:
        first = exporter.get_xnnpack_partitioner(dynamic_quant_only_partitioner=True, enable_bf16=False)
        rest = exporter.get_xnnpack_partitioner(dynamic_quant_only_partitioner=False, enable_bf16=False)
        assert made == [first] and isinstance(first, EtXnnpackPartitioner)
        assert not isinstance(rest, EtXnnpackPartitioner)
    assert exporter.get_xnnpack_partitioner is official


def test_the_exporter_is_run_as_its_command(monkeypatch):
    runs = []
    monkeypatch.setattr(export_llm, "main", lambda: runs.append(True))
    private.run_exporter()
    assert runs == [True]
