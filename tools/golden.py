#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Writes ``test/golden/v1``: blobs that every later runtime must read, and what they compute.

The blobs are those of samples that together have every operator. Beside them lies a copy of the
schema, and a text for each blob (read by ``test/runtime/golden_test.cpp``) with its weights and, for
some calls, arguments and results in physical order::

    tolerance <relative> <absolute>
    weight <key> <dtype> <rank> <sizes> <numbers>
    call
    in integer <number>
    in <dtype> <rank> <sizes> <numbers>
    out <dtype> <rank> <sizes> <numbers>

After the first release the files of a format are never written again; serialization/format.md has
the rules. What is new then goes beside them: ``tools/golden.py --add`` keeps what is there.
"""

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "test" / "golden" / "v1"
sys.path.insert(0, str(ROOT / "test"))

import conftest  # noqa: E402, F401
import harness  # noqa: E402
from executorch.backends.et_xnnpack.serialization import schema, schema_generated  # noqa: E402
from executorch.backends.et_xnnpack.serialization.arrays import NUMPY_DTYPES  # noqa: E402
from executorch.backends.et_xnnpack.serialization.serialize import serialize  # noqa: E402
from samples import all_samples  # noqa: E402

CALLS = 3  # of each sample at most, but none after
ENOUGH = 16_000  # characters

SAMPLES = """
    attention_grouped attention_bool_mask_broadcast attention_dynamic_causal
    attention_cached attention_cached_integers
    image_and_vector_channels_last size_from_other_input zero_size
    conv2d_bn_relu6 conv2d_groups conv2d_dynamic_size conv2d_runtime_depthwise conv_transpose2d_output_padding conv1d
    gelu relu6 leaky_relu add_broadcast squared_difference prelu clamp_special
    embedding gather index_pair_middle index_put_add scatter_reduce_amax slice_scatter_dynamic masked_scatter
    embedding_bag_weights
    linear_dynamic bmm_dynamic
    where_integers cast_to_bool isnan remainder_integers bitwise_xor arange_step causal_mask size_as_number
    layer_norm_dynamic rms_norm_rank1 group_norm_statistics
    avg_pool2d_ceil_exclude_padding avg_pool2d_divisor max_pool2d_dilation adaptive_avg_pool2d
    adaptive_avg_pool2d_at_least adaptive_max_pool2d_nan max_pool2d_indices adaptive_max_pool2d_indices
    lstm_projection gru_both_directions
    sum_integers mean_two_axes amax_nan argmax cumsum prod any_two_axes sort_descending topk_dynamic
    topk
    bilinear_corners bicubic_smaller nearest1d_dynamic nearest1d_scale_dynamic nearest_exact_scale
    grid_sample_bicubic_reflection
    view_dynamic_split permute_dynamic expand_dynamic cat_dynamic slice_dynamic_step pad_value pad_reflect_1d
    pad_circular_1d roll_dynamic repeat_interleave_dynamic
    softmax_middle_axis log_softmax_middle_axis
    quantize_unsigned quantize_per_channel_middle dequantize_bias quantized_island int8_conv int8_block
    choose_per_token linear_8da4w_channel rotary_halves
    state_index_put state_bools state_crossed
    mask_and_nonzero repeat_interleave_rows nms
""".split()


def line(word: str, array: np.ndarray, dtype: str) -> str:
    numbers = [f"{x:.9g}" if array.dtype == np.float32 else str(int(x)) for x in array.ravel()]
    return " ".join([word, dtype, str(array.ndim), *map(str, array.shape), *numbers])


def physical(tensor: torch.Tensor, dim_order) -> np.ndarray:
    if dim_order is not None:
        tensor = tensor.permute(dim_order)
    return tensor.detach().contiguous().numpy()


def make(sample) -> tuple[bytes, str]:
    """Blob and text of a sample."""
    lowered = harness.lower_sample(sample)
    (graph,) = lowered.optimized.values()
    serialized = serialize(graph)
    lines = [f"tolerance {sample.rtol} {sample.atol}"]
    constants = [v.constant for v in graph.values.values() if v.constant is not None]
    constants += [i.state.initial for i in graph.inputs if i.state is not None]
    dtypes = {v: k.name for k, v in NUMPY_DTYPES.items()}
    for constant in dict.fromkeys(constants):
        if constant.digest in serialized.weights:
            lines.append(line(f"weight {constant.digest}", constant.array, dtypes[constant.array.dtype]))
    states = {}

    def record(graph, arguments, states):
        results = harness.interpreter.run(graph, arguments, states)
        lines.append("call")
        for source, argument in zip(graph.arguments, arguments, strict=True):
            if source.value is None:
                lines.append(f"in integer {int(argument)}")
            else:
                value = physical(argument, source.dim_order)
                lines.append(line("in", value, dtypes[value.dtype]))
        for target, result in zip(graph.results, results, strict=True):
            value = physical(result, target.dim_order)
            lines.append(line("out", value, dtypes[value.dtype]))
        return results

    for number, inputs in enumerate(sample.calls()):
        if number < CALLS and sum(map(len, lines)) < ENOUGH:
            harness.interpret(lowered, inputs, lowered.optimized, states, record)
    return serialized.blob, "\n".join(lines) + "\n"


def missing() -> set[str]:
    """Operators that no blob has."""
    found = set()
    for path in FOLDER.glob("*.etx"):
        nodes = schema_generated.GraphT.InitFromPackedBuf(path.read_bytes(), 0).nodes
        found |= {schema.AttributesType(node.attributesType).name for node in nodes}
    return set(schema.ATTRIBUTES) - found


def write(sample) -> None:
    if not (FOLDER / f"{sample.name}.etx").exists():
        blob, text = make(sample)
        (FOLDER / f"{sample.name}.etx").write_bytes(blob)
        (FOLDER / f"{sample.name}.txt").write_text(text)
        print(f"{sample.name}: {len(blob)} + {len(text)} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--add", action="store_true", help="only what no file has yet; all files stay")
    arguments = parser.parse_args()
    if FOLDER.exists() and not arguments.add:
        shutil.rmtree(FOLDER)
    FOLDER.mkdir(parents=True, exist_ok=True)
    by_name = {sample.name: sample for sample in all_samples()}
    for name in SAMPLES:
        write(by_name[name])
    left = missing()  # what is new: a sample of each, first one that has its name
    named = {s.name: any(operator.lower() in s.name.replace("_", "") for operator in left) for s in by_name.values()}
    for sample in sorted(by_name.values(), key=lambda s: not named[s.name]):
        if not left:
            break
        graphs = harness.lower_sample(sample).optimized.values()
        operators = {node.op for graph in graphs for node in graph.nodes}
        if len(graphs) == 1 and operators & left:
            write(sample)
            left -= operators
    for file in (ROOT / "serialization").glob("*.fbs"):
        shutil.copy(file, FOLDER)


if __name__ == "__main__":
    main()
