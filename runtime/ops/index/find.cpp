// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cinttypes>
#include <cmath>

#include "index_kernel.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

// The size that a node says it finds, of `most` at most.
StatusOr<size_t> found_size(const NodeContext& node, const schema::Size* size, size_t most) {
  const int64_t found = node.sizes().resolve(size);
  ETX_CHECK(
      found >= 0 && static_cast<uint64_t>(found) <= most,
      InvalidProgram,
      "it cannot find %" PRId64 " of %zu elements",
      found,
      most);
  return static_cast<size_t>(found);
}

Status infer_nonzero(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const TensorType& x = node.input(0);
  ETX_CHECK(x.dtype == DType::Bool, InvalidProgram, "its input is %s, but must be Bool", x.to_string().c_str());
  ETX_ASSIGN_OR_RETURN(
      const size_t found, found_size(node, node.attributes<schema::Nonzero>().size(), x.shape.numel()));
  return set_output(outputs, DType::Int64, {found, x.shape.rank});
}

Status infer_repeat_indices(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 1));
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(
      dtype == DType::Int32 || dtype == DType::Int64,
      InvalidProgram,
      "its input is %s, but must hold integers",
      node.input(0).to_string().c_str());
  const size_t most = node.input(0).shape[0] == 0 ? 0 : kMaxTensorBytes;
  ETX_ASSIGN_OR_RETURN(const size_t found, found_size(node, node.attributes<schema::RepeatIndices>().size(), most));
  return set_output(outputs, DType::Int64, {found});
}

Status infer_non_max_suppression(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(node.check_wide_float().status());
  ETX_RETURN_IF_ERROR(check_rank(node, 1, 1));
  const size_t count = node.input(1).shape[0];
  ETX_RETURN_IF_ERROR(check_shape(node, 0, {count, 4}));
  ETX_RETURN_IF_ERROR(check_size({DType::Float64, {count, 8}})); // scratch memory
  const auto& attributes = node.attributes<schema::NonMaxSuppression>();
  ETX_CHECK(!std::isnan(attributes.threshold()), InvalidProgram, "its threshold is no number");
  ETX_ASSIGN_OR_RETURN(const size_t found, found_size(node, attributes.size(), count));
  return set_output(outputs, DType::Int64, {found});
}

} // namespace

const OpImpl kNonzeroOp{infer_nonzero, choose_only_kernel<make_nonzero>, /*takes_quantized=*/false};
const OpImpl kRepeatIndicesOp{infer_repeat_indices, choose_only_kernel<make_repeat_indices>, /*takes_quantized=*/false};
const OpImpl kNonMaxSuppressionOp{
    infer_non_max_suppression, choose_only_kernel<make_non_max_suppression>, /*takes_quantized=*/false};

} // namespace executorch::backends::et_xnnpack
