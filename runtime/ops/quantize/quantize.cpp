// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantize_kernel.h"

#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Inputs 1 and 2, scale and zero point: for all of input 0, or for blocks of it.
Status check_parameters(const NodeContext& node) {
  const TensorType& scale = node.input(1);
  const TensorType& zero_point = node.input(2);
  ETX_CHECK(
      scale.dtype == DType::Float32 && zero_point.dtype == DType::Int32 && scale.shape == zero_point.shape,
      InvalidProgram,
      "scale %s and zero point %s must be Float32 and Int32 of the same shape",
      scale.to_string().c_str(),
      zero_point.to_string().c_str());
  const Shape& x = node.input(0).shape;
  bool divides = scale.shape.rank == 0 || scale.shape.rank == x.rank;
  for (size_t axis = 0; divides && axis < scale.shape.rank; ++axis) {
    const size_t blocks = scale.shape[axis];
    divides = blocks != 0 ? x[axis] % blocks == 0 : x[axis] == 0;
  }
  ETX_CHECK(
      divides,
      InvalidProgram,
      "a scale of shape %s does not divide an input of shape %s into blocks",
      scale.shape.to_string().c_str(),
      x.to_string().c_str());
  return {};
}

Status check_range(DType dtype, int32_t min, int32_t max) {
  ETX_CHECK(
      dtype == DType::Int8 || dtype == DType::UInt8,
      InvalidProgram,
      "it cannot quantize to dtype %d, which is not Int8 or UInt8",
      static_cast<int>(dtype));
  const bool is_signed = dtype == DType::Int8;
  ETX_CHECK(
      (is_signed ? INT8_MIN : 0) <= min && min <= max && max <= (is_signed ? INT8_MAX : UINT8_MAX),
      InvalidProgram,
      "a range of %d to %d of %s is empty, or has integers that are not of this type",
      min,
      max,
      name_of(dtype));
  return {};
}

Status infer_quantize(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3));
  const auto& attributes = node.attributes<schema::Quantize>();
  ETX_CHECK(
      node.input(0).dtype == DType::Float32,
      InvalidProgram,
      "it quantizes Float32, not an input of %s",
      node.input(0).to_string().c_str());
  ETX_RETURN_IF_ERROR(check_range(to_dtype(attributes.dtype()), attributes.min(), attributes.max()));
  ETX_RETURN_IF_ERROR(check_parameters(node));
  return set_output(outputs, to_dtype(attributes.dtype()), node.input(0).shape);
}

Status infer_dequantize(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3));
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(
      dtype == DType::Int8 || dtype == DType::UInt8 || dtype == DType::Int32,
      InvalidProgram,
      "it dequantizes Int8, UInt8 or Int32, not an input of %s",
      node.input(0).to_string().c_str());
  ETX_RETURN_IF_ERROR(check_parameters(node));
  return set_output(outputs, DType::Float32, node.input(0).shape);
}

} // namespace

const OpImpl kQuantizeOp{infer_quantize, choose_row<make_quantize_row, make_quantize>};
const OpImpl kDequantizeOp{infer_dequantize, choose_row<make_dequantize_row, make_dequantize>};

} // namespace executorch::backends::et_xnnpack
