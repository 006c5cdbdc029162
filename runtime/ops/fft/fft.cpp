// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fft_kernel.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::FftKind;

Status check_length(int64_t length) {
  ETX_CHECK(
      length >= 1 && length <= static_cast<int64_t>(FftPlan::kMaxLength),
      InvalidProgram,
      "there is no transform of %lld elements, only of 1 to %zu",
      static_cast<long long>(length),
      FftPlan::kMaxLength);
  return {};
}

Status infer_fft(const NodeContext& node, Span<TensorType> outputs) {
  const auto& attributes = node.attributes<schema::Fft>();
  const FftKind kind = attributes.kind();
  const bool from_real = kind == FftKind::RealToComplex, to_real = kind == FftKind::ComplexToReal;
  ETX_RETURN_IF_ERROR(node.check_operands(from_real ? 1 : 2, 0, to_real ? 1 : 2));
  ETX_ASSIGN_OR_RETURN(const DType dtype, node.check_wide_float());
  const Shape& x = node.input(0).shape;
  const size_t axis = attributes.axis();
  ETX_RETURN_IF_ERROR(check_axis(node, axis));
  ETX_CHECK(
      !attributes.full() || from_real, InvalidProgram, "only a transform of real numbers gives all or half of them");
  ETX_CHECK(
      to_real || entry_of(attributes.length()) == 0, InvalidProgram, "only a transform to real numbers has a length");
  if (!from_real) {
    ETX_RETURN_IF_ERROR(check_shape(node, 1, x));
  }
  Shape y = x;
  if (to_real) {
    const int64_t length = node.sizes().resolve(attributes.length());
    ETX_RETURN_IF_ERROR(check_length(length));
    y[axis] = static_cast<size_t>(length);
    ETX_CHECK(
        x[axis] == y[axis] / 2 + 1,
        InvalidProgram,
        "%zu complex elements are not those of %zu real ones, which are %zu",
        x[axis],
        y[axis],
        y[axis] / 2 + 1);
    return set_output(outputs, dtype, y);
  }
  ETX_RETURN_IF_ERROR(check_length(static_cast<int64_t>(x[axis])));
  if (from_real && !attributes.full()) {
    y[axis] = x[axis] / 2 + 1;
  }
  ETX_RETURN_IF_ERROR(set_output(outputs, dtype, y, 1));
  return set_output(outputs, dtype, y);
}

} // namespace

const OpImpl kFftOp{infer_fft, choose_only_kernel<make_fft>};

} // namespace executorch::backends::et_xnnpack
