// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/recurrent/recurrent_kernel.h>

#include <runtime/kernels/recurrent/recurrent.h>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A node computes what its kernel computes with the parameters that the node stands for.
TEST(RecurrentKernel, Parameters) {
  const std::pair<schema::RecurrentKind, RecurrentCellType> kinds[] = {
      {schema::RecurrentKind::Lstm, RecurrentCellType::Lstm},
      {schema::RecurrentKind::Gru, RecurrentCellType::Gru},
      {schema::RecurrentKind::Tanh, RecurrentCellType::Tanh},
      {schema::RecurrentKind::Relu, RecurrentCellType::Relu}};
  ASSERT_EQ(std::size(kinds), std::size(schema::EnumValuesRecurrentKind()));
  for (const auto& [kind, type] : kinds) {
    SCOPED_TRACE(schema::EnumNameRecurrentKind(kind));
    const bool is_lstm = kind == schema::RecurrentKind::Lstm;
    const size_t hidden = 7, output = is_lstm ? 5 : hidden; // with a projection
    const size_t gates = is_lstm ? 4 * hidden : kind == schema::RecurrentKind::Gru ? 3 * hidden : hidden;
    std::vector<std::optional<Tensor>> inputs{
        random_floats({3, 2, gates}),
        random_floats({gates, output}),
        random_floats({gates}),
        random_floats({2, output})};
    std::vector<TensorSpec> outputs{{DType::Float32, {3, 2, output}}, {DType::Float32, {2, output}}};
    if (is_lstm) {
      inputs.push_back(random_floats({2, hidden}));
      inputs.push_back(random_floats({output, hidden}));
      outputs.push_back({DType::Float32, {2, hidden}});
    }
    for (const bool reverse : {false, true}) {
      PlainCase plain = plain_case<Recurrent>(
          RecurrentParameters{type, 3, 2, gates, hidden, output, is_lstm, reverse}, inputs, outputs);
      KernelCase node{
          make_recurrent,
          schema::Attributes::Recurrent,
          [of = kind, reverse](auto& builder) { return schema::CreateRecurrent(builder, of, reverse).Union(); },
          {inputs.begin(), inputs.end()},
          outputs[0],
          {outputs.begin() + 1, outputs.end()}};
      for (size_t i = 0; i < outputs.size(); ++i) {
        plain.checked = node.checked = i;
        check_kernel(node, run_kernel(plain), {1e-5f, 1e-5f});
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
