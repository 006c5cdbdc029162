// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "move_kernel.h"
#include "runtime/kernels/common/with_type.h"
#include "xnnpack_move.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Of an operator that moves or repeats elements of its only input.
Status set_moved(Span<TensorType> outputs, const TensorType& x, const Shape& y) {
  ETX_RETURN_IF_ERROR(set_output(outputs, x.dtype, y));
  outputs[0].exact_in = x.exact_in;
  return {};
}

Status infer_reshape(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const TensorType& x = node.input(0);
  ETX_ASSIGN_OR_RETURN(const Shape y, node.sizes().resolve(node.attributes<schema::Reshape>().shape()));
  ETX_RETURN_IF_ERROR(set_moved(outputs, x, y));
  ETX_CHECK(
      x.shape.numel() == y.numel(),
      InvalidProgram,
      "%s cannot be reshaped to %s",
      x.to_string().c_str(),
      y.to_string().c_str());
  return {};
}

Status infer_transpose(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const TensorType& x = node.input(0);
  const auto* perm = node.attributes<schema::Transpose>().perm();
  const size_t count = perm == nullptr ? 0 : perm->size();
  ETX_CHECK(count == x.shape.rank, InvalidProgram, "it permutes %zu axes of %s", count, x.to_string().c_str());
  std::array<bool, kMaxRank> taken{};
  Shape y;
  for (uint32_t i = 0; i < count; ++i) {
    const unsigned axis = perm->Get(i);
    ETX_CHECK(axis < count && !taken[axis], InvalidProgram, "axis %u is out of range or taken twice", axis);
    taken[axis] = true;
    y.append(x.shape[axis]);
  }
  return set_moved(outputs, x, y);
}

Status infer_expand(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const TensorType& x = node.input(0);
  ETX_ASSIGN_OR_RETURN(const Shape y, node.sizes().resolve(node.attributes<schema::Expand>().shape()));
  StatusOr<Shape> common = broadcast(x.shape, y);
  ETX_CHECK(
      common.ok() && *common == y,
      InvalidProgram,
      "%s does not expand to %s",
      x.to_string().c_str(),
      y.to_string().c_str());
  return set_moved(outputs, x, y);
}

Status check_part(const NodeContext& node, size_t i, size_t axis) {
  const TensorType& first = node.input(0);
  const TensorType& part = node.input(i);
  bool match = part.dtype == first.dtype && part.shape.rank == first.shape.rank;
  for (size_t k = 0; match && k < first.shape.rank; ++k) {
    match = k == axis || part.shape[k] == first.shape[k];
  }
  ETX_CHECK(
      match,
      InvalidProgram,
      "input %zu is %s, which does not fit input 0, %s, on axis %zu",
      i,
      part.to_string().c_str(),
      first.to_string().c_str(),
      axis);
  return {};
}

Status infer_concat(const NodeContext& node, Span<TensorType> outputs) {
  ETX_CHECK(node.num_inputs() >= 1, InvalidProgram, "it has no inputs");
  ETX_RETURN_IF_ERROR(node.check_operands(node.num_inputs()));
  const size_t axis = node.attributes<schema::Concat>().axis();
  Shape y = node.input(0).shape;
  ETX_RETURN_IF_ERROR(check_axis(node, axis));
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    ETX_RETURN_IF_ERROR(check_part(node, i, axis));
    ETX_CHECK(
        !__builtin_add_overflow(y[axis], node.input(i).shape[axis], &y[axis]),
        InvalidProgram,
        "the size of axis %zu overflows",
        axis);
  }
  return set_output(outputs, node.input(0).dtype, y);
}

// XNNPACK calls a function for each run of neighbours, which shows where runs are short and many.
bool has_long_runs(const NodeContext& node) {
  constexpr size_t kMinRun = 8, kMany = 4096; // elements
  const size_t axis = node.attributes<schema::Concat>().axis();
  const Shape& y = node.output().shape;
  bool result = true;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    result &= node.input(i).shape.numel(axis, y.rank) >= kMinRun;
  }
  return result || y.numel() < kMany;
}

Limit concat_limit(const NodeContext& node) {
  if (node.num_inputs() < 2 || node.num_inputs() > 5) {
    return "XNNPACK copies operands one by one, which is for few of them.";
  }
  if (const Limit limit = operand_limit(node); limit != nullptr) {
    return limit;
  }
  return has_long_runs(node) ? nullptr : "XNNPACK is slow with many runs of less than 8 neighbours.";
}

Status infer_slice(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Slice>();
  const TensorType& x = node.input(0);
  const size_t axis = attributes.axis();
  ETX_RETURN_IF_ERROR(check_axis(node, axis));
  ETX_CHECK(attributes.step() >= 1, InvalidProgram, "its step is 0 and must be positive");
  const int64_t start = node.sizes().resolve(attributes.start());
  const int64_t size = node.sizes().resolve(attributes.size());
  ETX_RETURN_IF_ERROR(check_slice(node, axis, start, size, attributes.step()));
  Shape y = x.shape;
  y[axis] = static_cast<size_t>(size);
  return set_moved(outputs, x, y);
}

Limit slice_limit(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Slice>();
  if (attributes.step() != 1) {
    return "XNNPACK takes steps of 1 only.";
  }
  return entry_of(attributes.start()) >= 0 && entry_of(attributes.size()) > 0
      ? operand_limit(node)
      : "XNNPACK takes slices with a start and a size that are known.";
}

// Whether a tensor of this type can hold the number.
bool holds(DType dtype, float value) {
  if (is_float(dtype)) {
    return true;
  }
  if (dtype == DType::Bool) {
    return value == 0 || value == 1;
  }
  return with_type(dtype, [value](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    constexpr float kExact = 1 << 24; // up to which Float32 has all integers
    const float low = std::max(-kExact, static_cast<float>(Limits::lowest()));
    const float high = std::min(kExact, static_cast<float>(Limits::max()));
    return value >= low && value <= high && std::trunc(value) == value;
  });
}

// Fails unless an axis of `size` elements has what padding of this mode and width repeats.
Status check_padding(schema::PadMode mode, size_t size, size_t width) {
  size_t most = SIZE_MAX;
  switch (mode) {
    case schema::PadMode::Constant:
      break;
    case schema::PadMode::Reflect:
      most = size == 0 ? 0 : size - 1;
      break;
    case schema::PadMode::Replicate:
      most = size == 0 ? 0 : SIZE_MAX;
      break;
    case schema::PadMode::Circular:
      most = size;
      break;
  }
  ETX_CHECK(width <= most, InvalidProgram, "padding of %zu repeats more than the %zu elements there are", width, size);
  return {};
}

Status infer_pad(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Pad>();
  const TensorType& x = node.input(0);
  const size_t before = attributes.before() == nullptr ? 0 : attributes.before()->size();
  const size_t after = attributes.after() == nullptr ? 0 : attributes.after()->size();
  ETX_CHECK(
      before == x.shape.rank && after == x.shape.rank,
      InvalidProgram,
      "it pads %zu and %zu axes of %s",
      before,
      after,
      x.to_string().c_str());
  ETX_CHECK(
      holds(x.dtype, attributes.value()),
      InvalidProgram,
      "it pads %s with %g, which elements of that type cannot be",
      x.to_string().c_str(),
      static_cast<double>(attributes.value()));
  const schema::PadMode mode = attributes.mode();
  Shape y = x.shape;
  for (uint32_t axis = 0; axis < y.rank; ++axis) {
    const size_t first = attributes.before()->Get(axis), last = attributes.after()->Get(axis);
    ETX_RETURN_IF_ERROR(check_padding(mode, y[axis], std::max(first, last)));
    y[axis] += first + last;
  }
  return set_output(outputs, x.dtype, y);
}

// Integers are moved as they are if they mean the same before and after.
bool is_moved_as_it_is(const NodeContext& node) {
  return !node.is_quantized() || has_one_quantization(node);
}

constexpr const char* kSlowInXnnpack = "The kernel is faster than XNNPACK's.";

Choice choose_moving(const NodeContext& node, MakeKernel make, const char* reason) {
  return is_moved_as_it_is(node) ? Choice::kernel(std::move(make), reason)
                                 : choose_kernel(node, std::move(make), reason);
}

Choice choose_moving_in_xnnpack(
    const NodeContext& node, const ChoiceOptions& options, Limit limit, MakeXnnpackKernel xnnpack, MakeKernel make) {
  if (limit == nullptr && options.xnnpack && is_moved_as_it_is(node)) {
    return choose_xnnpack_or_kernel(node, options, limit, xnnpack, std::move(make));
  }
  return choose_moving(node, std::move(make), limit == nullptr ? "XNNPACK takes integers of one scale." : limit);
}

Choice choose_reshape(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  if (options.views && is_moved_as_it_is(node)) {
    return Choice::view("The result has the elements of the operand in the same order.");
  }
  return choose_moving(node, make_copy, "The result needs memory of its own.");
}

Choice choose_transpose(const NodeContext& node, const Cpu&, const ChoiceOptions&) {
  return choose_moving(node, make_transpose, kSlowInXnnpack);
}

Choice choose_expand(const NodeContext& node, const Cpu&, const ChoiceOptions&) {
  return choose_moving(node, make_expand, kNoOperator);
}

Choice choose_pad(const NodeContext& node, const Cpu&, const ChoiceOptions&) {
  const bool is_constant = node.attributes<schema::Pad>().mode() == schema::PadMode::Constant;
  return is_constant || node.input(0).shape.rank == 0 ? choose_moving(node, make_constant_pad, kSlowInXnnpack)
                                                      : choose_moving(node, make_edge_pad, kNoOperator);
}

// Whether many rows are short.
bool has_short_rows(const NodeContext& node) {
  constexpr size_t kLongestRow = 4096; // bytes
  const size_t axis = node.attributes<schema::Concat>().axis();
  const Shape& y = node.output().shape;
  return y.numel(0, axis) > 1 && y.numel(axis, y.rank) * element_size(node.output().storage()) <= kLongestRow;
}

Choice choose_concat(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  const bool is_in_float16 = options.float16 && is_float32(node);
  if (has_short_rows(node) && is_moved_as_it_is(node) && !is_in_float16) {
    return choose_moving(node, make_concat_rows, kSlowInXnnpack);
  }
  return choose_moving_in_xnnpack(node, options, concat_limit(node), make_xnnpack_concat, make_concat);
}

Choice choose_slice(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  return choose_moving_in_xnnpack(node, options, slice_limit(node), make_xnnpack_slice, make_slice);
}

} // namespace

const OpImpl kReshapeOp{infer_reshape, choose_reshape};
const OpImpl kTransposeOp{infer_transpose, choose_transpose};
const OpImpl kExpandOp{infer_expand, choose_expand};
const OpImpl kConcatOp{infer_concat, choose_concat};
const OpImpl kSliceOp{infer_slice, choose_slice};
const OpImpl kPadOp{infer_pad, choose_pad};

} // namespace executorch::backends::et_xnnpack
