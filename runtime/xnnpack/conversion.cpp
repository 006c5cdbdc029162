// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "conversion.h"

#include "versions.h"

namespace executorch::backends::et_xnnpack {

StatusOr<FloatConversion> FloatConversion::create(To to) {
  const bool narrows = to == To::Float16;
  const xnn_datatype float32 = xnn_datatype_fp32, float16 = xnn_datatype_fp16;
  ETX_ASSIGN_OR_RETURN(
      OperatorPtr op, create_operator("xnn_create_unary_elementwise_nc", [&](xnn_operator_t* result) {
        return create_unary(
            xnn_unary_convert, narrows ? float32 : float16, narrows ? float16 : float32, nullptr, result);
      }));
  return FloatConversion(std::move(op));
}

Status FloatConversion::reshape(size_t count, pthreadpool_t pool) {
  return check_xnn(
      xnn_reshape_unary_elementwise_nc(operator_.get(), 1, count, count, count, pool),
      "xnn_reshape_unary_elementwise_nc");
}

Status FloatConversion::run(const void* from, void* to, pthreadpool_t pool) {
  ETX_RETURN_IF_ERROR(
      check_xnn(xnn_setup_unary_elementwise_nc(operator_.get(), from, to), "xnn_setup_unary_elementwise_nc"));
  return check_xnn(xnn_run_operator(operator_.get(), pool), "xnn_run_operator");
}

} // namespace executorch::backends::et_xnnpack
