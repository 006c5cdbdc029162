// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cinttypes>

#include "row_kernel.h"
#include "runtime/ops/common/choose.h"
#include "size_kernel.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status check_same_dtype(const NodeContext& node, size_t a, size_t b) {
  ETX_CHECK(
      node.input(a).dtype == node.input(b).dtype,
      InvalidProgram,
      "its inputs %s and %s must have the same dtype",
      node.input(a).to_string().c_str(),
      node.input(b).to_string().c_str());
  return {};
}

Status infer_compare(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(check_same_dtype(node, 0, 1));
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(is_number(dtype) || dtype == DType::Bool, InvalidProgram, "it cannot compare %s", name_of(dtype));
  ETX_ASSIGN_OR_RETURN(const Shape shape, broadcast(node.input(0).shape, node.input(1).shape));
  return set_output(outputs, DType::Bool, shape);
}

Status infer_where(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3));
  ETX_CHECK(
      node.input(0).dtype == DType::Bool,
      InvalidProgram,
      "the condition is %s, but must be Bool",
      node.input(0).to_string().c_str());
  ETX_RETURN_IF_ERROR(check_same_dtype(node, 1, 2));
  ETX_ASSIGN_OR_RETURN(const Shape operands, broadcast(node.input(1).shape, node.input(2).shape));
  ETX_ASSIGN_OR_RETURN(const Shape shape, broadcast(node.input(0).shape, operands));
  return set_output(outputs, node.input(1).dtype, shape);
}

Status infer_cast(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const DType dtype = to_dtype(node.attributes<schema::Cast>().dtype());
  ETX_RETURN_IF_ERROR(set_output(outputs, dtype, node.input(0).shape));
  if (dtype == DType::Float32 && is_reduced_float(node.input(0).dtype)) {
    outputs[0].exact_in = node.input(0).dtype;
  }
  return {};
}

StatusOr<size_t> size(const NodeContext& node, const schema::Size* entry) {
  const int64_t result = node.sizes().resolve(entry);
  ETX_CHECK(result >= 0, InvalidProgram, "its size is %" PRId64 " and must not be negative", result);
  return static_cast<size_t>(result);
}

Status infer_iota(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(0));
  ETX_ASSIGN_OR_RETURN(const size_t count, size(node, node.attributes<schema::Iota>().size()));
  return set_output(outputs, DType::Int64, {count});
}

Status infer_size_value(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(0));
  return set_output(outputs, DType::Int64, {});
}

} // namespace

const OpImpl kCompareOp{infer_compare, choose_row<make_compare_row>};
const OpImpl kWhereOp{infer_where, choose_row<make_where_row>};
const OpImpl kCastOp{infer_cast, choose_row<make_cast_row>};
const OpImpl kIotaOp{infer_iota, choose_only_kernel<make_iota>};
const OpImpl kSizeValueOp{infer_size_value, choose_only_kernel<make_size_value>};

} // namespace executorch::backends::et_xnnpack
