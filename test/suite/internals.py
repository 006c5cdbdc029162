# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tests of the official XNNPACK delegate that assert what it does not do, or how it does it.

A test of this list has to fail with its ``error``; if it passes, it does not belong here any more.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Internal:
    reason: str  #: what the test asserts, and what is true of et_xnnpack
    error: str  #: is part of what the test says


def _because(reason: str, error: str, *tests: str) -> dict[str, Internal]:
    return {test: Internal(reason, error) for test in tests}


#: By "file.test".
INTERNALS = {
    **_because(
        "what it refuses is expected outside; here it is delegated",
        "Expected to",
        "add.test_add_with_alpha",
        "avgpool2d.test_fp32_avgpool2d_ceil_mode_unsupported",
        "avgpool2d.test_fp32_avgpool2d_count_include_pad_unsupported",
        "avgpool2d.test_fp32_avgpool2d_divisor_override",
        "avgpool2d.test_fp32_avgpool2d_single_element_kernel_size_divisor_override",
        "batch_norm.test_fp32_batch_norm3d_not_partitioned",
        "batch_norm.test_training_bn_not_partitioned",
        "bilinear2d.test_fp32_static_resize_bilinear2d_antialiased",
        "clone.test_fp32_clone_channels_last_to_contiguous_not_partitioned",
        "clone.test_fp32_clone_with_channels_last_not_partitioned",
        "conv2d.test_fp32_conv3d_single_element_stride_doesnt_partition",
        "gelu.test_fp16_gelu",
        "max_dim.test_fp16_max_dim_with_indicies",
        "max_dim.test_fp32_max_dim_with_indices",
        "maxpool2d.test_fp32_maxpool2d_unsupported",
        "maxpool2d.test_fp32_maxpool2d_unsupported_stride",
        "mean_dim.test_fp32_mean_dim_unsupported",
        "mean_dim.test_fp32_mean_dim_unsupported_3d",
        "mean_dim.test_fp32_mean_dim_unsupported_keepdim_false",
        "pow.test_fp32_pow_unsupported",
        "slice_copy.test_fp32_slice_copy_dim_0",
        "slice_copy.test_fp32_slice_copy_stride_non_1",
        "slice_copy.test_fp32_static_slice_with_dynamic_dim",
        "slice_copy.test_qs8_per_channel_slice_copy_mismatched_qparams_falls_back",
        "slice_copy.test_qs8_slice_copy_mismatched_qparams_falls_back",
        "sub.test_add_with_alpha",
    ),
    **_because(
        "what it refuses is expected outside; here it is delegated",
        "AssertionError: False is not true",
        "bilinear2d.test_fp32_bilinear2d_dynamic_bilinear2d_not_partitioned",
    ),
    **_because(
        "it lowers one operator at a time, with a call for each; here one call takes them all",
        "Expected to find",
        "conv2d.test_dq_conv2d_parallel",
        "conv2d.test_dq_conv2d_seq",
        "conv2d.test_dq_conv2d_transpose_parallel",
        "conv2d.test_dq_conv2d_transpose_seq",
        "linear.test_qd8_f32_per_channel_shared_dq_chain",
        "linear.test_qd8_per_channel_linear_parallel",
        "linear.test_qd8_per_channel_linear_parallel_and_sequential",
        "linear.test_qd8_per_channel_linear_sequential",
    ),
    **_because(
        "it raises an error; here the operator computes in float32 and the report says why, or it can be quantized so",
        "not raised",
        "check_quant_params.test_in_per_channel_quant",
        "check_quant_params.test_in_per_tensor_quant",
        "check_quant_params.test_inject_invalid_zp",
        "conv2d.test_qs8_conv_transpose_2d_quantize_per_channel_multi_axis",
        "linear.test_linear_qd8_per_token_groupwise_unsupported_groupsize",
    ),
    **_because(
        "it leaves outside what its precision does not cover, or keeps weights as arguments; here all is inside",
        "Expected",
        "linear.test_linear_qc8_as_fp32",
        "linear.test_linear_qd8_as_fp32",
        "linear.test_linear_qs8_as_fp32",
        "linear.test_linear_with_force_non_static_weights_for_f32_linear",
        "linear.test_qd8_f16_per_tensor_linear",
        "linear.test_qd8_f32_per_tensor_linear",
        "lstm.test_lstm_with_force_non_static_weights_for_f32_linear",
    ),
}
