// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "row_kernel.h"

#include <array>
#include <optional>

#include "runtime/kernels/elementwise/binary.h"
#include "runtime/kernels/elementwise/cast.h"
#include "runtime/kernels/elementwise/float64.h"
#include "runtime/kernels/elementwise/fused_elementwise.h"
#include "runtime/kernels/elementwise/logic.h"
#include "runtime/kernels/elementwise/lookup.h"
#include "runtime/kernels/elementwise/quantized_arithmetic.h"
#include "runtime/kernels/elementwise/quantized_binary.h"
#include "runtime/kernels/elementwise/unary.h"
#include "runtime/ops/common/common.h"
#include "runtime/ops/move/move_kernel.h"
#include "runtime/program/quantization.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BinaryKind;
using schema::CompareKind;
using schema::UnaryKind;

class RowKernel final : public Kernel {
 public:
  RowKernel(std::unique_ptr<Row> row, const NodeContext& node) : pass_(make_pass(std::move(row), node)) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    std::array<Shape, FusedElementwise::kMaxInputs> shapes;
    for (size_t k = 0; k < node.num_inputs(); ++k) {
      shapes[k] = node.input(k).shape;
    }
    return pass_.reshape({shapes.data(), node.num_inputs()}, node.output().shape, num_threads);
  }
  void run(const KernelArguments& arguments) override {
    pass_.run(arguments);
  }

 private:
  static FusedElementwise make_pass(std::unique_ptr<Row> row, const NodeContext& node) {
    const auto result = static_cast<uint32_t>(node.num_inputs());
    std::vector<FusedElementwise::Value> inputs;
    std::vector<uint32_t> operands;
    for (uint32_t k = 0; k < result; ++k) {
      inputs.push_back({k, element_size(node.input(k).storage())});
      operands.push_back(k);
    }
    std::vector<FusedElementwise::Node> nodes;
    nodes.push_back({std::move(row), std::move(operands), {result, element_size(node.output().storage())}});
    return {std::move(nodes), {inputs.data(), inputs.size()}, {&result, 1}};
  }

  FusedElementwise pass_;
};

BinaryFunction function_of(BinaryKind kind) {
  switch (kind) {
#define ETX_CASE(name)   \
  case BinaryKind::name: \
    return BinaryFunction::name;
    ETX_BINARY_FUNCTIONS(ETX_CASE)
#undef ETX_CASE
  }
  return {};
}

Comparison comparison_of(CompareKind kind) {
  switch (kind) {
    case CompareKind::Equal:
      return Comparison::Equal;
    case CompareKind::NotEqual:
      return Comparison::NotEqual;
    case CompareKind::Less:
      return Comparison::Less;
    case CompareKind::LessEqual:
      return Comparison::LessEqual;
    case CompareKind::Greater:
      return Comparison::Greater;
    case CompareKind::GreaterEqual:
      break;
  }
  return Comparison::GreaterEqual;
}

bool copies(const NodeContext& node) {
  return node.attributes<schema::Unary>().kind() == UnaryKind::Copy;
}

// REQUIRES: an element type that integers have
bool can_fail(BinaryKind kind) {
  return kind == BinaryKind::FloorDiv || kind == BinaryKind::Remainder || kind == BinaryKind::Fmod;
}

std::unique_ptr<Row> make_any_binary_row(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Binary>();
  const BinaryFunction function = function_of(attributes.kind());
  const DType dtype = node.input(0).dtype;
  if (dtype == DType::Float64) {
    return float64_binary_row(function);
  }
  if (dtype != DType::Float32) {
    return integer_row(function, dtype);
  }
  return binary_row({function, clamp_min(attributes.clamp()), clamp_max(attributes.clamp())});
}

bool is_byte(const TensorType& type) {
  return is_per_tensor(type, DType::Int8) || is_per_tensor(type, DType::UInt8);
}

ByteQuantization byte_quantization(const TensorType& type) {
  return {type.quantized_dtype, scale_of(type), zero_point_of(type)};
}

} // namespace

std::unique_ptr<Row> make_unary_row(const NodeContext& node) {
  if (copies(node)) {
    return nullptr;
  }
  const auto& attributes = node.attributes<schema::Unary>();
  if (node.input(0).dtype == DType::Float64) {
    return float64_unary_row(schema::EnumNameUnaryKind(attributes.kind()));
  }
  UnaryParameters parameters;
  parameters.function = schema::EnumNameUnaryKind(attributes.kind());
  parameters.alpha = attributes.alpha();
  if (attributes.clamp() != nullptr) {
    parameters.low = attributes.clamp()->min();
    parameters.high = attributes.clamp()->max();
  }
  return unary_row(parameters);
}

std::unique_ptr<Row> make_binary_row(const NodeContext& node) {
  const bool of_integers = !is_float(node.input(0).dtype);
  return of_integers && can_fail(node.attributes<schema::Binary>().kind()) ? nullptr : make_any_binary_row(node);
}

std::unique_ptr<Row> make_compare_row(const NodeContext& node) {
  return compare_row(comparison_of(node.attributes<schema::Compare>().kind()), node.input(0).dtype);
}

std::unique_ptr<Row> make_where_row(const NodeContext& node) {
  return where_row(element_size(node.input(1).dtype));
}

std::unique_ptr<Row> make_cast_row(const NodeContext& node) {
  return cast_row(node.input(0).dtype, node.output().dtype);
}

std::unique_ptr<Row> make_quantized_unary_row(const NodeContext& node) {
  const TensorType& x = node.input(0);
  const TensorType& y = node.output();
  const std::unique_ptr<Row> function = make_unary_row(node);
  if (is_byte(x) && is_byte(y)) {
    return lookup_row(function.get(), byte_quantization(x), byte_quantization(y));
  }
  if (is_byte(x) && y.quantization == nullptr) {
    return lookup_row(function.get(), byte_quantization(x));
  }
  if (function == nullptr && x.quantization == nullptr && is_byte(y)) {
    return quantize_bytes_row(byte_quantization(y));
  }
  return nullptr;
}

std::unique_ptr<Row> make_quantized_arithmetic_row(const NodeContext& node) {
  const BinaryKind kind = node.attributes<schema::Binary>().kind();
  const ByteQuantization a = byte_quantization(node.input(0)), b = byte_quantization(node.input(1));
  const ByteQuantization y = byte_quantization(node.output());
  return kind == BinaryKind::Mul ? quantized_product_row(a, b, y)
                                 : quantized_sum_row(a, b, y, /*subtracts=*/kind == BinaryKind::Sub);
}

std::unique_ptr<Row> make_quantized_binary_row(const NodeContext& node) {
  std::optional<ByteQuantization> parts[3];
  const TensorType* const types[] = {&node.input(0), &node.input(1), &node.output()};
  for (size_t i = 0; i < 3; ++i) {
    if (is_byte(*types[i])) {
      parts[i] = byte_quantization(*types[i]);
    } else if (types[i]->quantization != nullptr) {
      return nullptr;
    }
  }
  return quantized_binary_row(make_any_binary_row(node), parts[0], parts[1], parts[2]);
}

std::unique_ptr<Kernel> make_row_kernel(std::unique_ptr<Row> row, const NodeContext& node) {
  return row == nullptr ? nullptr : std::make_unique<RowKernel>(std::move(row), node);
}

std::unique_ptr<Kernel> make_unary(const NodeContext& node) {
  return copies(node) ? make_copy(node) : make_row_kernel(make_unary_row(node), node);
}

std::unique_ptr<Kernel> make_binary(const NodeContext& node) {
  return make_row_kernel(make_any_binary_row(node), node);
}

std::unique_ptr<Kernel> make_quantized_unary(const NodeContext& node) {
  if (copies(node) && has_one_quantization(node)) {
    return make_copy(node);
  }
  return make_row_kernel(make_quantized_unary_row(node), node);
}

} // namespace executorch::backends::et_xnnpack
