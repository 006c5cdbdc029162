// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "../kernels/reduce.h"

#include <algorithm>

#include "../subgraph_builder.h"
#include "common.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status check_axes(const flatbuffers::Vector<uint8_t>* axes, size_t rank) {
  ETX_CHECK(axes != nullptr && axes->size() != 0, InvalidProgram, "has no axes");
  for (uint32_t i = 0; i < axes->size(); ++i) {
    const unsigned axis = axes->Get(i);
    ETX_CHECK(axis < rank, InvalidProgram, "axis %u is not below rank %zu", axis, rank);
    ETX_CHECK(i == 0 || axes->Get(i - 1) < axis, InvalidProgram, "the axes do not ascend");
  }
  return {};
}

Status infer_reduce(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  ETX_RETURN_IF_ERROR(node.check_float());
  const auto& attributes = node.attributes<schema::Reduce>();
  ETX_CHECK(
      attributes.kind() <= schema::ReduceKind::MAX,
      InvalidProgram,
      "unknown kind %d",
      static_cast<int>(attributes.kind()));
  const Shape& x = node.input(0).shape;
  const auto* axes = attributes.axes();
  ETX_RETURN_IF_ERROR(check_axes(axes, x.rank));
  Shape y;
  for (size_t axis = 0; axis < x.rank; ++axis) {
    const bool reduced = std::find(axes->begin(), axes->end(), axis) != axes->end();
    if (!reduced) {
      y.append(x[axis]);
    } else if (attributes.keep_dims()) {
      y.append(1);
    }
  }
  return set_output(outputs, DType::Float32, y);
}

Status infer_softmax(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  ETX_RETURN_IF_ERROR(node.check_float());
  const unsigned axis = node.attributes<schema::Softmax>().axis();
  const Shape& x = node.input(0).shape;
  ETX_CHECK(axis < x.rank, InvalidProgram, "axis %u is not below rank %zu", axis, x.rank);
  return set_output(outputs, DType::Float32, x);
}

bool softmax_in_xnnpack(const NodeContext& node) {
  return node.attributes<schema::Softmax>().axis() + 1u == node.input(0).shape.rank && fits_xnnpack(node);
}

Status define_softmax(const NodeContext&, SubgraphBuilder& subgraph) {
  ETX_ASSIGN_OR_RETURN(const uint32_t x, subgraph.input(0));
  ETX_ASSIGN_OR_RETURN(const uint32_t y, subgraph.output());
  return check_xnn(xnn_define_softmax(subgraph.get(), x, y, 0), "xnn_define_softmax");
}

} // namespace

// As fast as XNNPACK, which loses digits on long columns.
const OpImpl kReduceOp{infer_reduce, nullptr, nullptr, make_reduce};
const OpImpl kSoftmaxOp{infer_softmax, softmax_in_xnnpack, define_softmax, make_softmax};

} // namespace executorch::backends::et_xnnpack
