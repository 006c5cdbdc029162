// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "move_kernel.h"

#include <cstring>
#include <vector>

#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/ops/op.h"
#include "runtime/program/quantization.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Of input 0 and the output.
size_t element_bytes(const NodeContext& node) {
  return element_size(node.output().storage());
}

std::array<size_t, kMaxRank> padding_before(const NodeContext& node) {
  std::array<size_t, kMaxRank> before{};
  for (uint32_t axis = 0; axis < node.input(0).shape.rank; ++axis) {
    before[axis] = node.attributes<schema::Pad>().before()->Get(axis);
  }
  return before;
}

// The number as an element of this type.
std::array<char, 8> element_of(const TensorType& type, float value) {
  std::array<char, 8> element{};
  const auto store = [&](auto number) { std::memcpy(element.data(), &number, sizeof(number)); };
  if (type.quantization != nullptr) {
    value = static_cast<float>(quantize_number(*type.quantization, type.quantized_dtype, value));
  }
  if (is_reduced_float(type.storage())) {
    narrow(type.dtype, &value, element.data(), 1);
  } else if (type.storage() == DType::Bool) {
    store(static_cast<uint8_t>(value != 0));
  } else {
    with_type(type.storage(), [&](auto zero) { store(static_cast<decltype(zero)>(value)); });
  }
  return element;
}

// REQUIRES: not Constant
EdgePadding edge_padding(schema::PadMode mode) {
  switch (mode) {
    case schema::PadMode::Reflect:
      return EdgePadding::Reflect;
    case schema::PadMode::Replicate:
      return EdgePadding::Replicate;
    case schema::PadMode::Circular:
      return EdgePadding::Circular;
    case schema::PadMode::Constant:
      break;
  }
  return {};
}

} // namespace

BoxCopiesParameters copy_parameters(const NodeContext& node) {
  return copied(node.output().shape, element_bytes(node));
}

BoxCopiesParameters transpose_parameters(const NodeContext& node) {
  const Shape& x = node.input(0).shape;
  std::array<size_t, kMaxRank> perm{};
  for (uint32_t axis = 0; axis < x.rank; ++axis) {
    perm[axis] = node.attributes<schema::Transpose>().perm()->Get(axis);
  }
  return transposed(x, {perm.data(), x.rank}, element_bytes(node));
}

BoxCopiesParameters expand_parameters(const NodeContext& node) {
  return expanded(node.input(0).shape, node.output().shape, element_bytes(node));
}

BoxCopiesParameters slice_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Slice>();
  const auto start = static_cast<size_t>(node.sizes().resolve(attributes.start()));
  return sliced(
      node.input(0).shape, node.output().shape, attributes.axis(), start, attributes.step(), element_bytes(node));
}

BoxCopiesParameters concat_parameters(const NodeContext& node) {
  std::vector<Shape> inputs;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    inputs.push_back(node.input(i).shape);
  }
  const size_t axis = node.attributes<schema::Concat>().axis();
  return concatenated({inputs.data(), inputs.size()}, node.output().shape, axis, element_bytes(node));
}

ConcatRowsParameters concat_rows_parameters(const NodeContext& node) {
  const size_t axis = node.attributes<schema::Concat>().axis();
  ConcatRowsParameters parameters;
  parameters.rows = node.output().shape.numel(0, axis);
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    const Shape& x = node.input(i).shape;
    parameters.units.push_back(x.numel(axis, x.rank) * element_bytes(node));
  }
  return parameters;
}

BoxCopiesParameters constant_pad_parameters(const NodeContext& node) {
  const Shape& x = node.input(0).shape;
  const std::array<size_t, kMaxRank> before = padding_before(node);
  const float value = node.attributes<schema::Pad>().value();
  return padded(x, node.output().shape, {before.data(), x.rank}, element_bytes(node), element_of(node.output(), value));
}

EdgePadParameters edge_pad_parameters(const NodeContext& node) {
  const EdgePadding padding = edge_padding(node.attributes<schema::Pad>().mode());
  return {node.input(0).shape, node.output().shape, padding_before(node), padding, element_bytes(node)};
}

} // namespace executorch::backends::et_xnnpack
