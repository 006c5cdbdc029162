// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Attention in plain loops, to compare the kernel with.

#include <runtime/kernels/attention/attention.h>

#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

struct AttentionOptions {
  float scale = 0.3f;
  bool causal = false;
  std::optional<Tensor> mask = std::nullopt;
  size_t start = 0;
  bool by_token = false;
};

inline AttentionParameters parameters_of(
    const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  AttentionParameters parameters;
  parameters.query = query.shape();
  parameters.key = key.shape();
  parameters.value = value.shape();
  if (options.mask) {
    parameters.mask = options.mask->shape();
    parameters.mask_is_bool = options.mask->type.dtype == DType::Bool;
  }
  parameters.scale = options.scale;
  parameters.causal = options.causal;
  parameters.start = options.start;
  parameters.by_token = options.by_token;
  return parameters;
}

inline PlainCase make_case(
    const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  Shape shape = query.shape();
  shape[shape.rank - 1] = value.shape().last();
  return {
      plain_kernel<Attention>(parameters_of(query, key, value, options)),
      {query, key, value, options.mask},
      {{DType::Float32, shape}}};
}

inline Tensor reference(const PlainCase& kernel_case, const AttentionOptions& options) {
  const Tensor &query = *kernel_case.inputs[0], &key = *kernel_case.inputs[1], &value = *kernel_case.inputs[2];
  const size_t rank = query.shape().rank;
  const size_t rows = query.shape()[rank - 2], width = query.shape()[rank - 1];
  const size_t keys = key.shape()[rank - 2], value_width = value.shape().last();
  const size_t group = rank < 3 || key.shape()[rank - 3] == 0 ? 1 : query.shape()[rank - 3] / key.shape()[rank - 3];
  Tensor y(DType::Float32, kernel_case.outputs[0].shape);

  Shape row_shape = query.shape();
  row_shape[rank - 1] = 1;
  Shape score_shape = query.shape();
  score_shape[rank - 1] = keys;
  Index at(score_shape);
  for (size_t row = 0; row < row_shape.numel(); ++row) {
    const size_t head = row / rows / group;
    std::vector<double> scores(keys);
    double highest = -kInfinity, sum = 0;
    bool nan = false;
    for (size_t k = 0; k < keys; ++k, at.next()) {
      for (size_t e = 0; e < width; ++e) {
        scores[k] += static_cast<double>(query.data<float>()[row * width + e]) *
            key.data<float>()[(head * keys + k) * width + e];
      }
      scores[k] *= options.scale;
      if (options.mask && options.mask->type.dtype == DType::Bool) {
        scores[k] = options.mask->data<uint8_t>()[at.in(options.mask->shape())] != 0 ? scores[k] : -kInfinity;
      } else if (options.mask) {
        scores[k] += options.mask->data<float>()[at.in(options.mask->shape())];
      }
      if (options.causal && k > options.start + row % rows) {
        scores[k] = -kInfinity;
      }
      nan = nan || std::isnan(scores[k]);
      highest = std::max(highest, scores[k]);
    }
    const bool empty = highest == -kInfinity && !nan;
    for (double& score : scores) {
      score = empty ? 0 : std::exp(score - highest);
      sum += score;
    }
    for (size_t e = 0; e < value_width; ++e) {
      double total = 0;
      for (size_t k = 0; k < keys; ++k) {
        total += scores[k] * value.data<float>()[(head * keys + k) * value_width + e];
      }
      y.data<float>()[row * value_width + e] = static_cast<float>(empty ? 0 : total / sum);
    }
  }
  return y;
}

// By products of bfloat16. Of operands that are such numbers anyway weights are all that is rounded: to 8 bits, of values
// of up to `largest`.
inline void check_bfloat16(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const AttentionOptions& options = {},
    float largest = 2,
    float tolerance = 1e-5f) {
  const Tensor x = rounded(query, DType::BFloat16), k = rounded(key, DType::BFloat16),
               v = rounded(value, DType::BFloat16);
  AttentionParameters parameters = parameters_of(x, k, v, options);
  parameters.bfloat16 = true;
  PlainCase kernel_case = make_case(x, k, v, options);
  const Tensor expected = reference(kernel_case, options);
  kernel_case.make = plain_kernel<Attention>(parameters);
  check_kernel(kernel_case, expected, {largest / 512 + tolerance, tolerance}, Isas::OnlyBFloat16);

  parameters.type = DType::BFloat16;
  kernel_case.make = plain_kernel<Attention>(parameters);
  kernel_case.inputs[1] = narrowed(k, DType::BFloat16);
  kernel_case.inputs[2] = narrowed(v, DType::BFloat16);
  check_kernel(kernel_case, expected, {largest / 512 + tolerance, tolerance}, Isas::OnlyBFloat16);
}

// Both kinds of products. The larger the scores, the less float arithmetic can promise.
inline void check(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const AttentionOptions& options = {},
    float tolerance = 5e-6f) {
  const PlainCase kernel_case = make_case(query, key, value, options);
  check_kernel(kernel_case, reference(kernel_case, options), {tolerance, tolerance});
  check_bfloat16(query, key, value, options, /*largest=*/2, std::max(tolerance, 1e-5f));
}

inline Tensor bool_mask(const Shape& shape, size_t one_false_in) {
  Tensor mask(DType::Bool, shape);
  for (size_t i = 0; i < mask.numel(); ++i) {
    mask.data<uint8_t>()[i] = i * 2654435761u / 7 % one_false_in != 0;
  }
  return mask;
}

} // namespace executorch::backends::et_xnnpack::testing
