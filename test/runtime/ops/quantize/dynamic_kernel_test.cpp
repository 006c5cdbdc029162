// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/quantize/dynamic_kernel.h>

#include <runtime/kernels/gemm/quantized_linear.h>
#include <runtime/kernels/quantize/choose_qparams.h>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A node computes what its kernel computes with the parameters that the node stands for.
TEST(QuantizedLinearKernel, Parameters) {
  for (const bool is_4bit : {false, true}) {
    for (const bool dynamic_quantization : {false, true}) {
      const Tensor x = random_floats({2, 3, 12}), bias = random_floats({5});
      const Tensor weight = iota(is_4bit ? DType::UInt8 : DType::Int8, {5, is_4bit ? size_t{6} : 12});
      const Tensor scale = random_floats({5, 3}, 0.01f, 0.05f), zero_point = iota(DType::Int32, {5, 3});
      const TensorSpec y{DType::Float32, {2, 3, 5}};
      const std::vector<std::optional<Tensor>> inputs{x, weight, scale, bias, zero_point};
      const QuantizedLinearParameters parameters{6, 12, 5, 3, dynamic_quantization, -1, 2};
      const PlainCase plain = is_4bit
          ? plain_case<Int4Linear>(Int4LinearParameters{parameters, true, true, true}, inputs, {y})
          : plain_case<QuantizedLinear>(parameters, inputs, {y});
      const Tensor expected = run_kernel(plain);
      const auto attributes = [=](auto& builder) {
        const schema::Clamp clamp(-1, 2);
        return schema::CreateQuantizedLinear(builder, is_4bit ? 4 : 8, dynamic_quantization, &clamp).Union();
      };
      KernelCase node{
          is_4bit ? make_int4_linear : make_quantized_linear,
          schema::Attributes::QuantizedLinear,
          attributes,
          {inputs.begin(), inputs.end()},
          y};
      for (const std::vector<size_t>& constants : std::vector<std::vector<size_t>>{{}, {1, 2, 3, 4}, {2, 3}, {1, 4}}) {
        node.constants = constants;
        check_kernel(node, expected, {1e-4f, 1e-4f}, Isas::WithoutByteDot);
      }
    }
  }
}

// Of weights of 8 bits with one scale for each column there are two kernels; this one packs them.
TEST(WeightOnlyLinearKernel, Parameters) {
  for (const size_t rows : {1, 2, 3, 6, 130}) {
    for (const bool has_bias : {false, true}) {
      const Tensor x = random_floats({rows, 37}), weight = iota(DType::Int8, {70, 37});
      const Tensor scale = random_floats({70, 1}, 0.01f, 0.05f);
      const TensorSpec y{DType::Float32, {rows, 70}};
      std::vector<std::optional<Tensor>> inputs{x, weight, scale};
      if (has_bias) {
        inputs.push_back(random_floats({70}));
      }
      const QuantizedLinearParameters parameters{rows, 37, 70, 1, false, -1, 2};
      std::vector<std::optional<Tensor>> plain_inputs = inputs;
      plain_inputs.resize(5);
      const Tensor expected = run_kernel(plain_case<QuantizedLinear>(parameters, plain_inputs, {y}));
      const auto attributes = [](auto& builder) {
        const schema::Clamp clamp(-1, 2);
        return schema::CreateQuantizedLinear(builder, 8, false, &clamp).Union();
      };
      KernelCase node{
          make_weight_only_linear, schema::Attributes::QuantizedLinear, attributes, {inputs.begin(), inputs.end()}, y};
      node.constants = {1};
      check_kernel(node, expected, {1e-4f, 1e-4f}, Isas::WithoutByteDot);
    }
  }
}

TEST(ChooseQParamsKernel, Parameters) {
  const Tensor x = random_floats({2, 3, 5, 7}, -1, 9);
  const std::pair<schema::QParamsKind, QParamsRule> rules[] = {
      {schema::QParamsKind::Asymmetric, QParamsRule::Asymmetric},
      {schema::QParamsKind::Symmetric, QParamsRule::Symmetric},
      {schema::QParamsKind::Nearest, QParamsRule::Nearest}};
  for (const auto& [kind, rule] : rules) {
    const std::vector<TensorSpec> types{{DType::Float32, {2, 3, 1, 1}}, {DType::Int32, {2, 3, 1, 1}}};
    PlainCase plain = plain_case<ChooseQParams>(ChooseQParamsParameters{6, 35, {-100, 120, rule, 0.5f}}, {x}, types);
    KernelCase node{
        make_choose_qparams,
        schema::Attributes::ChooseQParams,
        [by = kind](auto& builder) { return schema::CreateChooseQParams(builder, by, 2, -100, 120, 0.5f).Union(); },
        {x},
        types[0],
        {types[1]}};
    for (const size_t output : {0, 1}) {
      plain.checked = node.checked = output;
      check_kernel(node, run_kernel(plain));
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
