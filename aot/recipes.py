# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Export recipes: ``ExportRecipe.get_recipe(EtXnnpackRecipeType.FP32)`` for ``executorch.export``."""

import dataclasses
import fnmatch

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.export import (
    AOQuantizationConfig,
    BackendRecipeProvider,
    ExportRecipe,
    LoweringRecipe,
    QuantizationRecipe,
    RecipeType,
    recipe_registry,
)
from torchao.core.config import AOBaseConfig
from torchao.quantization import (
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    MappingType,
    PerAxis,
    PerGroup,
    quantize_,
)
from torchao.quantization.transform_module import register_quantize_module_handler

from .partitioner import EtXnnpackPartitioner
from .quantizer import EtXnnpackQuantizer
from .selection import check_names

BACKEND = "et_xnnpack"
GROUP_SIZE = 32
INT8_MODULES = ("*.value", "*.v_proj")  # in attention, where rounding to 4 bits costs the most


class EtXnnpackRecipeType(RecipeType):
    """Precisions. Those of groups take the keyword ``group_size``, 32 unless given.

    INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP also takes ``int8_modules``, patterns of qualified names whose
    weights get 8 bits instead of 4: those that make the values of attention, unless given.
    """

    FP32 = "et_xnnpack_fp32"
    FP16 = "et_xnnpack_fp16"  #: inputs of float16, too
    INT8_STATIC_PER_CHANNEL = "et_xnnpack_int8_static_per_channel"  #: needs example inputs to calibrate with
    INT8_STATIC_PER_TENSOR = "et_xnnpack_int8_static_per_tensor"
    INT8_DYNAMIC = "et_xnnpack_int8_dynamic"
    INT8_DYNAMIC_INT4_WEIGHT_PER_CHANNEL = "et_xnnpack_8da4w_per_channel"
    INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP = "et_xnnpack_8da4w_per_group"
    INT8_WEIGHT = "et_xnnpack_int8_weight"
    INT4_WEIGHT = "et_xnnpack_int4_weight"

    @classmethod
    def get_backend_name(cls) -> str:
        return BACKEND


class HalfConfig(AOBaseConfig):
    """Makes a model float16."""


@register_quantize_module_handler(HalfConfig)
def _half(module: torch.nn.Module, config: HalfConfig) -> torch.nn.Module:
    return module.half()


_GROUPED = (EtXnnpackRecipeType.INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP, EtXnnpackRecipeType.INT4_WEIGHT)


def _pt2e(is_per_channel: bool, is_dynamic: bool) -> QuantizationRecipe:
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=is_dynamic)
    return QuantizationRecipe(quantizers=[EtXnnpackQuantizer().set_global(config)])


@dataclasses.dataclass
class Int4Config(AOBaseConfig):
    """Makes linear layers of a model 8da4w, but those of some names with weights of 8 bits."""

    group_size: int
    int8_modules: tuple[str, ...]


@register_quantize_module_handler(Int4Config)
def _int4(module: torch.nn.Module, config: Int4Config) -> torch.nn.Module:
    def is_int8(layer: torch.nn.Module, name: str) -> bool:
        return isinstance(layer, torch.nn.Linear) and any(fnmatch.fnmatchcase(name, p) for p in config.int8_modules)

    def is_int4(layer: torch.nn.Module, name: str) -> bool:
        return isinstance(layer, torch.nn.Linear) and not is_int8(layer, name)

    wide = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=PerAxis(0))
    narrow = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4,
        weight_granularity=PerGroup(config.group_size),
        weight_mapping_type=MappingType.ASYMMETRIC,  # more accurate than SYMMETRIC
    )
    quantize_(module, wide, filter_fn=is_int8)
    quantize_(module, narrow, filter_fn=is_int4)
    return module


def _of_whole(config: AOBaseConfig) -> QuantizationRecipe:
    configs = [AOQuantizationConfig(config, filter_fn=lambda module, name: name == "")]
    return QuantizationRecipe(quantizers=None, ao_quantization_configs=configs)


def _quantization(
    recipe_type: EtXnnpackRecipeType, group_size: int, int8_modules: tuple[str, ...]
) -> QuantizationRecipe | None:
    t = EtXnnpackRecipeType
    if recipe_type == t.FP32:
        return None
    if recipe_type == t.FP16:
        return _of_whole(HalfConfig())
    if recipe_type == t.INT8_STATIC_PER_CHANNEL:
        return _pt2e(is_per_channel=True, is_dynamic=False)
    if recipe_type == t.INT8_STATIC_PER_TENSOR:
        return _pt2e(is_per_channel=False, is_dynamic=False)
    if recipe_type == t.INT8_DYNAMIC:
        return _pt2e(is_per_channel=True, is_dynamic=True)
    if recipe_type == t.INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP:
        return _of_whole(Int4Config(group_size, int8_modules))
    config = {
        t.INT8_DYNAMIC_INT4_WEIGHT_PER_CHANNEL: lambda: Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerAxis(0)
        ),
        t.INT8_WEIGHT: Int8WeightOnlyConfig,
        t.INT4_WEIGHT: lambda: IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(group_size)),
    }[recipe_type]()
    return QuantizationRecipe(quantizers=None, ao_quantization_configs=[AOQuantizationConfig(config)])


class EtXnnpackRecipeProvider(BackendRecipeProvider):
    @property
    def backend_name(self) -> str:
        return BACKEND

    def get_supported_recipes(self) -> list[RecipeType]:
        return list(EtXnnpackRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **options) -> ExportRecipe | None:
        """Raises ValueError for options that the recipe does not have, and TypeError for values of another type."""
        if not isinstance(recipe_type, EtXnnpackRecipeType):
            return None
        known = {"group_size"} if recipe_type in _GROUPED else set()
        if recipe_type == EtXnnpackRecipeType.INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP:
            known.add("int8_modules")
        if unknown := set(options) - known:
            raise ValueError(f"{recipe_type.value} has no option {', '.join(sorted(unknown))}")
        group_size = options.get("group_size", GROUP_SIZE)
        if not isinstance(group_size, int) or isinstance(group_size, bool):
            raise TypeError(f"group_size is {group_size!r}, but must be a number of weights")
        if group_size < 2:
            raise ValueError(f"group_size is {group_size}, but must be 2 or more")
        int8_modules = options.get("int8_modules", INT8_MODULES)
        check_names("int8_modules", int8_modules)
        lowering = LoweringRecipe(
            partitioners=[EtXnnpackPartitioner()],
            edge_compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        return ExportRecipe(
            name=recipe_type.value,
            quantization_recipe=_quantization(recipe_type, group_size, tuple(int8_modules)),
            lowering_recipe=lowering,
            executorch_backend_config=ExecutorchBackendConfig(),
        )


recipe_registry.register_backend_recipe_provider(EtXnnpackRecipeProvider())
