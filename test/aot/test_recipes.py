# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Each recipe makes one delegate call of a model that ``executorch.export`` exports."""

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.aot.recipes import BACKEND, EtXnnpackRecipeType
from executorch.export import ExportRecipe, RecipeType, export, recipe_registry
from torch import nn

R = EtXnnpackRecipeType
TOLERANCE = {R.FP32: 1e-5, R.FP16: 5e-3, R.INT8_WEIGHT: 0.02}


def model():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval()


def example(dtype=torch.float32):
    return (torch.randn(4, 64, generator=torch.Generator().manual_seed(1)).to(dtype),)


@pytest.mark.parametrize("recipe", R, ids=lambda r: r.name)
def test_delegates_whole(recipe):
    inputs = example(torch.float16 if recipe == R.FP16 else torch.float32)
    session = export(model(), [inputs], ExportRecipe.get_recipe(recipe))
    program = session.get_executorch_program()
    (plan,) = program.execution_plan
    assert [d.id for d in plan.delegates] == ["EtXnnpackBackend"]
    assert plan.operators == []
    if not et_xnnpack.is_available():
        return

    (actual,) = harness.load_method(session.get_pte_buffer()).execute(inputs)
    expected = model()(*example())
    error = (actual.float() - expected).abs().max() / expected.abs().max()
    assert error < TOLERANCE.get(recipe, 0.15)


def test_group_size_is_an_option():
    recipe = ExportRecipe.get_recipe(R.INT4_WEIGHT, group_size=16)
    (config,) = recipe.quantization_recipe.ao_quantization_configs
    assert config.ao_base_config.granularity.group_size == 16


@pytest.mark.parametrize(
    "recipe,options,message",
    (
        (R.FP32, {"group_size": 32}, "et_xnnpack_fp32 has no option group_size"),
        (R.INT4_WEIGHT, {"groups": 32}, "has no option groups"),
        (R.INT4_WEIGHT, {"group_size": 0}, "group_size is 0"),
        (R.INT4_WEIGHT, {"group_size": 1}, "group_size is 1, but must be 2 or more"),
        (R.INT4_WEIGHT, {"group_size": "many"}, "group_size is 'many'"),
        (R.INT4_WEIGHT, {"group_size": True}, "group_size is True"),
        *(
            (R.INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP, {"int8_modules": wrong}, "int8_modules takes a list of names, not")
            for wrong in ("x", None, 5, [1])
        ),
    ),
)
def test_wrong_options_are_refused(recipe, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ExportRecipe.get_recipe(recipe, **options)


def test_recipes_of_others_are_refused():
    class Other(RecipeType):
        X = "x"

        @classmethod
        def get_backend_name(cls):
            return BACKEND

    with pytest.raises(ValueError, match="'x' not supported"):
        ExportRecipe.get_recipe(Other.X)
    assert BACKEND in recipe_registry.list_backends()
