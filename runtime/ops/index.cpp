// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "../kernels/index.h"

#include "common.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status check_index(const NodeContext& node, size_t i) {
  const DType dtype = node.input(i).dtype;
  ETX_CHECK(
      dtype == DType::Int32 || dtype == DType::Int64,
      InvalidProgram,
      "input %zu is %s, must hold integers",
      i,
      node.input(i).to_string().c_str());
  return {};
}

Status infer_index(const NodeContext& node, Span<TensorType> outputs) {
  ETX_CHECK(node.num_inputs() >= 2, InvalidProgram, "has no indices");
  ETX_RETURN_IF_ERROR(node.check_operands(node.num_inputs()));
  const Shape& x = node.input(0).shape;
  const size_t axis = node.attributes<schema::Index>().axis();
  const size_t last = axis + node.num_inputs() - 1;
  ETX_CHECK(last <= x.rank, InvalidProgram, "indexes axes %zu to %zu of rank %zu", axis, last, x.rank);
  Shape places;
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    ETX_RETURN_IF_ERROR(check_index(node, i));
    ETX_ASSIGN_OR_RETURN(places, broadcast(places, node.input(i).shape));
  }
  const size_t rank = axis + places.rank + x.rank - last;
  ETX_CHECK(rank <= kMaxRank, InvalidProgram, "rank %zu is above %zu", rank, kMaxRank);
  Shape y;
  for (size_t i = 0; i < axis; ++i) {
    y.append(x[i]);
  }
  for (size_t i = 0; i < places.rank; ++i) {
    y.append(places[i]);
  }
  for (size_t i = last; i < x.rank; ++i) {
    y.append(x[i]);
  }
  return set_output(outputs, node.input(0).dtype, y);
}

Status infer_gather(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(check_index(node, 1));
  const Shape& x = node.input(0).shape;
  const Shape& y = node.input(1).shape;
  const size_t axis = node.attributes<schema::Gather>().axis();
  bool match = y.rank == x.rank && axis < x.rank;
  for (size_t i = 0; match && i < x.rank; ++i) {
    match = i == axis || y[i] <= x[i];
  }
  ETX_CHECK(
      match,
      InvalidProgram,
      "cannot gather %s of %s on axis %zu",
      y.to_string().c_str(),
      x.to_string().c_str(),
      axis);
  return set_output(outputs, node.input(0).dtype, y);
}

} // namespace

const OpImpl kIndexOp{infer_index, nullptr, nullptr, make_index};
const OpImpl kGatherOp{infer_gather, nullptr, nullptr, make_gather};

} // namespace executorch::backends::et_xnnpack
