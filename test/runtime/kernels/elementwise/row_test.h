// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <runtime/kernels/elementwise/fused_elementwise.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

// A pass of one row, made on the instruction set at hand.
inline PlainCase row_case(
    const std::function<std::unique_ptr<Row>()>& make, const std::vector<Tensor>& inputs, const TensorSpec& output) {
  std::vector<FusedElementwise::Value> values;
  std::vector<Shape> shapes;
  std::vector<uint32_t> operands;
  for (const Tensor& input : inputs) {
    operands.push_back(static_cast<uint32_t>(values.size()));
    values.push_back({operands.back(), element_size(input.type.dtype)});
    shapes.push_back(input.shape());
  }
  const auto result = static_cast<uint32_t>(inputs.size());
  const auto make_pass = [=] {
    std::vector<FusedElementwise::Node> nodes;
    nodes.push_back({make(), operands, {result, element_size(output.dtype)}});
    const auto pass = std::make_shared<FusedElementwise>(
        std::move(nodes),
        Span<const FusedElementwise::Value>(values.data(), values.size()),
        Span<const uint32_t>(&result, 1));
    return std::make_unique<TestedFunctions>(
        [=](size_t num_threads) -> StatusOr<size_t> {
          return pass->reshape({shapes.data(), shapes.size()}, output.shape, num_threads);
        },
        [=](const KernelArguments& arguments) { pass->run(arguments); });
  };
  return {make_pass, {inputs.begin(), inputs.end()}, {output}};
}

inline void check_row(
    const std::function<std::unique_ptr<Row>()>& make,
    const std::vector<Tensor>& inputs,
    const Tensor& expected,
    Tolerance tolerance = {}) {
  check_kernel(row_case(make, inputs, expected.type), expected, tolerance);
}

} // namespace executorch::backends::et_xnnpack::testing
