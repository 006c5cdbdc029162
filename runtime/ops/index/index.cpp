// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index_kernel.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::UpdateKind;

Status check_index(const NodeContext& node, size_t i) {
  const DType dtype = node.input(i).dtype;
  ETX_CHECK(
      dtype == DType::Int32 || dtype == DType::Int64,
      InvalidProgram,
      "input %zu is %s, but must hold integers",
      i,
      node.input(i).to_string().c_str());
  return {};
}

// The shape of what the operands from `first` on pick from operand 0.
StatusOr<Shape> picked_shape(const NodeContext& node, size_t first, size_t axis) {
  ETX_CHECK(node.num_inputs() > first, InvalidProgram, "it has no indices");
  ETX_RETURN_IF_ERROR(node.check_operands(node.num_inputs()));
  const Shape& x = node.input(0).shape;
  const size_t last = axis + node.num_inputs() - first;
  ETX_CHECK(last <= x.rank, InvalidProgram, "it indexes axes %zu to %zu of a tensor of rank %zu", axis, last, x.rank);
  Shape positions;
  for (size_t i = first; i < node.num_inputs(); ++i) {
    ETX_RETURN_IF_ERROR(check_index(node, i));
    ETX_ASSIGN_OR_RETURN(positions, broadcast(positions, node.input(i).shape));
  }
  const size_t rank = axis + positions.rank + x.rank - last;
  ETX_CHECK(rank <= kMaxRank, InvalidProgram, "the rank of its result, %zu, is above %zu", rank, kMaxRank);
  Shape y;
  for (size_t i = 0; i < axis; ++i) {
    y.append(x[i]);
  }
  for (size_t i = 0; i < positions.rank; ++i) {
    y.append(positions[i]);
  }
  for (size_t i = last; i < x.rank; ++i) {
    y.append(x[i]);
  }
  return y;
}

Status infer_index(const NodeContext& node, Span<TensorType> outputs) {
  ETX_ASSIGN_OR_RETURN(const Shape y, picked_shape(node, 1, node.attributes<schema::Index>().axis()));
  return set_output(outputs, node.input(0).dtype, y);
}

Status check_kind(const NodeContext& node, UpdateKind kind) {
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(
      kind == UpdateKind::Assign || is_number(dtype) || dtype == DType::Bool,
      InvalidProgram,
      "%s does not take %s",
      schema::EnumNameUpdateKind(kind),
      name_of(dtype));
  return {};
}

// Fails unless input i has this shape and the dtype of input 0.
Status check_values(const NodeContext& node, size_t i, const Shape& shape) {
  ETX_CHECK(
      node.input(i).dtype == node.input(0).dtype,
      InvalidProgram,
      "it cannot write %s to %s",
      node.input(i).to_string().c_str(),
      node.input(0).to_string().c_str());
  return check_shape(node, i, shape);
}

Status infer_index_put(const NodeContext& node, Span<TensorType> outputs) {
  const auto& attributes = node.attributes<schema::IndexPut>();
  ETX_ASSIGN_OR_RETURN(const Shape picked, picked_shape(node, 2, attributes.axis()));
  ETX_RETURN_IF_ERROR(check_kind(node, attributes.kind()));
  ETX_RETURN_IF_ERROR(check_size({DType::Int64, picked})); // the positions in scratch memory
  ETX_RETURN_IF_ERROR(check_values(node, 1, picked));
  return set_output(outputs, node.input(0).dtype, node.input(0).shape);
}

// Fails unless input 1 is an index for Gather on this axis of input 0.
Status check_gather(const NodeContext& node, size_t i, size_t axis) {
  ETX_RETURN_IF_ERROR(check_index(node, i));
  const Shape& x = node.input(0).shape;
  const Shape& y = node.input(i).shape;
  bool match = y.rank == x.rank && axis < x.rank;
  for (size_t k = 0; match && k < x.rank; ++k) {
    match = k == axis || y[k] <= x[k];
  }
  ETX_CHECK(
      match,
      InvalidProgram,
      "it cannot gather %s of %s on axis %zu",
      y.to_string().c_str(),
      x.to_string().c_str(),
      axis);
  return check_size({DType::Int64, y}); // the offsets in scratch memory
}

Status infer_gather(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(check_gather(node, 1, node.attributes<schema::Gather>().axis()));
  return set_output(outputs, node.input(0).dtype, node.input(1).shape);
}

Status infer_scatter(const NodeContext& node, Span<TensorType> outputs) {
  const auto& attributes = node.attributes<schema::Scatter>();
  ETX_RETURN_IF_ERROR(node.check_operands(3));
  ETX_RETURN_IF_ERROR(check_kind(node, attributes.kind()));
  ETX_RETURN_IF_ERROR(check_gather(node, 2, attributes.axis()));
  ETX_RETURN_IF_ERROR(check_values(node, 1, node.input(2).shape));
  return set_output(outputs, node.input(0).dtype, node.input(0).shape);
}

Status infer_slice_scatter(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  const auto& attributes = node.attributes<schema::SliceScatter>();
  const Shape& x = node.input(0).shape;
  const Shape& values = node.input(1).shape;
  ETX_CHECK(
      values.rank == x.rank && node.input(1).dtype == node.input(0).dtype,
      InvalidProgram,
      "it cannot write %s to %s",
      node.input(1).to_string().c_str(),
      node.input(0).to_string().c_str());
  const size_t starts = attributes.start() == nullptr ? 0 : attributes.start()->size();
  const size_t steps = attributes.step() == nullptr ? 0 : attributes.step()->size();
  ETX_CHECK(
      starts == x.rank && steps == x.rank,
      InvalidProgram,
      "it has %zu starts and %zu steps for a tensor of rank %zu",
      starts,
      steps,
      x.rank);
  for (uint32_t axis = 0; axis < x.rank; ++axis) {
    const int64_t start = node.sizes().resolve(attributes.start()->Get(axis));
    const int64_t size = static_cast<int64_t>(values[axis]), step = attributes.step()->Get(axis);
    ETX_RETURN_IF_ERROR(check_slice(node, axis, start, size, step));
  }
  return set_output(outputs, node.input(0).dtype, x);
}

Status infer_masked_scatter(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3));
  ETX_CHECK(
      node.input(1).dtype == DType::Bool,
      InvalidProgram,
      "the mask is %s, but must be Bool",
      node.input(1).to_string().c_str());
  ETX_RETURN_IF_ERROR(check_shape(node, 1, node.input(0).shape));
  ETX_RETURN_IF_ERROR(check_values(node, 2, node.input(2).shape));
  return set_output(outputs, node.input(0).dtype, node.input(0).shape);
}

Status infer_embedding_bag(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3, 1));
  const auto& attributes = node.attributes<schema::EmbeddingBag>();
  const schema::BagKind kind = attributes.kind();
  ETX_CHECK(
      node.input(0).dtype == DType::Float32,
      InvalidProgram,
      "the table is %s, but must be Float32",
      node.input(0).to_string().c_str());
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 2));
  for (size_t i = 1; i < 3; ++i) {
    ETX_RETURN_IF_ERROR(check_index(node, i));
    ETX_RETURN_IF_ERROR(check_rank(node, i, 1));
  }
  if (node.has_input(3)) {
    ETX_CHECK(kind == schema::BagKind::Sum, InvalidProgram, "it has weights, which only sums take");
    ETX_CHECK(
        node.input(3).dtype == DType::Float32,
        InvalidProgram,
        "the weights are %s, but must be Float32",
        node.input(3).to_string().c_str());
    ETX_RETURN_IF_ERROR(check_shape(node, 3, node.input(1).shape));
  }
  const size_t offsets = node.input(2).shape[0];
  const size_t closing = attributes.include_last_offset() ? 1 : 0;
  ETX_CHECK(offsets >= closing, InvalidProgram, "it has no last offset");
  return set_output(outputs, DType::Float32, {offsets - closing, node.input(0).shape[1]});
}

template <std::unique_ptr<Kernel> (*kMake)(const NodeContext&)>
Choice choose_in_place(const NodeContext&, const Cpu&, const ChoiceOptions&) {
  return Choice::kernel(kMake, kNoOperator).working_in_place();
}

} // namespace

const OpImpl kIndexOp{infer_index, choose_only_kernel<make_index>};
const OpImpl kGatherOp{infer_gather, choose_only_kernel<make_gather>};
const OpImpl kIndexPutOp{infer_index_put, choose_in_place<make_index_put>, /*takes_quantized=*/false};
const OpImpl kScatterOp{infer_scatter, choose_in_place<make_scatter>, /*takes_quantized=*/false};
const OpImpl kSliceScatterOp{infer_slice_scatter, choose_in_place<make_slice_scatter>, /*takes_quantized=*/false};
const OpImpl kMaskedScatterOp{infer_masked_scatter, choose_only_kernel<make_masked_scatter>};
const OpImpl kEmbeddingBagOp{infer_embedding_bag, choose_only_kernel<make_embedding_bag>};

} // namespace executorch::backends::et_xnnpack
