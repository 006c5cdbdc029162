# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The recipe ``et_xnnpack`` of Optimum-ExecuTorch, which knows it once this module is imported.

``main_export("model_folder", "text-generation", optimum_recipe.NAME, "output_folder")`` of
``optimum.exporters.executorch`` then lowers with et_xnnpack.
"""

try:
    from optimum.exporters.executorch.recipe_registry import register_recipe
except ModuleNotFoundError as error:
    raise ImportError(
        f"this needs Optimum-ExecuTorch, but there is no module {error.name}: run `pip install optimum-executorch`"
    ) from error

from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir.passes import MemoryPlanningPass

from .aot.partitioner import EtXnnpackPartitioner

NAME = "et_xnnpack"


@register_recipe(NAME)
def export_to_executorch_with_et_xnnpack(model, **options) -> dict[str, ExecutorchProgramManager]:
    """The programs of a model of Optimum-ExecuTorch, by the name of their file: always one, ``model``.

    model: one of ``optimum.exporters.executorch.integrations``, which gives its methods and its metadata.
    options: those of ``EtXnnpackPartitioner``; ``main_export`` takes them as ``recipe_kwargs``.

    Prints how much is delegated, what is not, and why. Raises what the partitioner raises.
    """
    partitioner = EtXnnpackPartitioner(**options)
    methods = model.export()
    if len(methods) == 1:
        methods = {"forward": next(iter(methods.values()))}
    edge = to_edge_transform_and_lower(
        methods,
        partitioner=[partitioner],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        constant_methods=model.metadata,
    )
    print(partitioner.report)
    # As in Optimum's own recipes: the runners give the memory of the inputs.
    planning = MemoryPlanningPass(alloc_graph_input=False)
    return {"model": edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))}
