// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduce_kernel.h"

#include <algorithm>

#include "xnnpack_softmax.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::ReduceKind;

Status check_axes(const NodeContext& node, const flatbuffers::Vector<uint8_t>* axes) {
  ETX_CHECK(axes != nullptr && axes->size() != 0, InvalidProgram, "it has no axes");
  for (uint32_t i = 0; i < axes->size(); ++i) {
    const unsigned axis = axes->Get(i);
    ETX_RETURN_IF_ERROR(check_axis(node, axis));
    ETX_CHECK(i == 0 || axes->Get(i - 1) < axis, InvalidProgram, "the axes do not ascend");
  }
  return {};
}

bool reduces(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::Mean:
      return dtype == DType::Float32 || dtype == DType::Float64;
    case ReduceKind::Sum:
    case ReduceKind::Max:
    case ReduceKind::Min:
    case ReduceKind::Prod:
      return is_number(dtype);
    case ReduceKind::Any:
    case ReduceKind::All:
      return dtype == DType::Bool;
  }
  return false;
}

Status infer_reduce(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Reduce>();
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(
      reduces(attributes.kind(), dtype),
      InvalidProgram,
      "there is no %s of %s",
      schema::EnumNameReduceKind(attributes.kind()),
      name_of(dtype));
  const Shape& x = node.input(0).shape;
  const auto* axes = attributes.axes();
  ETX_RETURN_IF_ERROR(check_axes(node, axes));
  Shape y;
  for (size_t axis = 0; axis < x.rank; ++axis) {
    const bool reduced = std::find(axes->begin(), axes->end(), axis) != axes->end();
    if (!reduced) {
      y.append(x[axis]);
    } else if (attributes.keep_dims()) {
      y.append(1);
    }
  }
  return set_output(outputs, dtype, y);
}

Status check_number(const NodeContext& node) {
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(is_number(dtype), InvalidProgram, "it takes numbers, not an input of %s", name_of(dtype));
  return {};
}

Status infer_arg_reduce(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::ArgReduce>();
  ETX_RETURN_IF_ERROR(check_axis(node, attributes.axis()));
  ETX_RETURN_IF_ERROR(check_number(node));
  const Shape& x = node.input(0).shape;
  Shape y;
  for (size_t axis = 0; axis < x.rank; ++axis) {
    if (axis != attributes.axis()) {
      y.append(x[axis]);
    }
  }
  ETX_CHECK(x[attributes.axis()] != 0 || y.numel() == 0, InvalidProgram, "the axis is empty");
  return set_output(outputs, DType::Int64, y);
}

Status infer_scan(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Scan>();
  ETX_RETURN_IF_ERROR(check_axis(node, attributes.axis()));
  ETX_RETURN_IF_ERROR(check_number(node));
  return set_output(outputs, node.input(0).dtype, node.input(0).shape);
}

Status infer_sort(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Sort>();
  const unsigned axis = attributes.axis();
  ETX_RETURN_IF_ERROR(check_axis(node, axis));
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(is_number(dtype) || dtype == DType::Bool, InvalidProgram, "it cannot sort an input of %s", name_of(dtype));
  const Shape& x = node.input(0).shape;
  ETX_CHECK(x[axis] <= UINT32_MAX, InvalidProgram, "an axis of %zu elements is too long to be sorted", x[axis]);
  ETX_CHECK(
      attributes.count() <= x[axis],
      InvalidProgram,
      "it cannot give the first %u of %zu elements",
      attributes.count(),
      x[axis]);
  Shape y = x;
  if (attributes.count() != 0) {
    y[axis] = attributes.count();
  }
  return set_output(outputs, DType::Int64, y);
}

Status infer_softmax(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  ETX_ASSIGN_OR_RETURN(const DType dtype, node.check_wide_float());
  ETX_RETURN_IF_ERROR(check_axis(node, node.attributes<schema::Softmax>().axis()));
  return set_output(outputs, dtype, node.input(0).shape);
}

Limit softmax_limit(const NodeContext& node, const Cpu& cpu) {
  const auto& attributes = node.attributes<schema::Softmax>();
  if (node.is_quantized()) {
    return "XNNPACK has no softmax of integers with these scales.";
  }
  if (attributes.log()) {
    return "XNNPACK has no logarithm of softmax.";
  }
  const Shape& x = node.input(0).shape;
  if (attributes.axis() + 1u != x.rank) {
    return "XNNPACK has softmax over the last axis only.";
  }
  return x.last() <= cpu.short_softmax_rows ? "The kernel computes several short rows at once." : operand_limit(node);
}

// On ARM XNNPACK keeps the sum of a row in Float16 while it sums up, too: infinite for one of more than 65504.
Choice choose_softmax(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  if (node.input(0).dtype == DType::Float64) {
    return Choice::kernel(make_float64_softmax, kFloat64);
  }
  return choose_xnnpack_or_kernel(
      node,
      options,
      softmax_limit(node, cpu),
      [](const NodeContext& in_float32, bool) { return make_xnnpack_softmax(in_float32); },
      make_softmax,
      "In Float16 it keeps the sum of a row in Float16, which is too little for long rows.");
}

Choice choose_reduce(const NodeContext& node, const Cpu&, const ChoiceOptions&) {
  const schema::ReduceKind kind = node.attributes<schema::Reduce>().kind();
  const bool adds = kind == schema::ReduceKind::Sum || kind == schema::ReduceKind::Mean;
  if (adds && node.input(0).dtype == DType::Float32) {
    return choose_kernel(
        node, make_sum_floats, "The kernel is as fast as XNNPACK, which loses digits on long columns.");
  }
  return choose_kernel(
      node,
      make_reduce,
      node.input(0).dtype == DType::Float64 ? kFloat64
          : adds                            ? "XNNPACK adds no such integers."
                                            : "The kernel is as fast as XNNPACK where that has one.");
}

} // namespace

const OpImpl kReduceOp{infer_reduce, choose_reduce};
const OpImpl kArgReduceOp{infer_arg_reduce, choose_only_kernel<make_arg_reduce>};
const OpImpl kScanOp{infer_scan, choose_only_kernel<make_scan>};
const OpImpl kSortOp{infer_sort, choose_only_kernel<make_sort>};
const OpImpl kSoftmaxOp{infer_softmax, choose_softmax};

} // namespace executorch::backends::et_xnnpack
