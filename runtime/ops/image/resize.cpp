// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "image_kernel.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status check_scale(double scale) {
  ETX_CHECK(
      scale >= 0 && scale <= std::numeric_limits<float>::max(),
      InvalidProgram,
      "its scale is %g, but must be a number that is not negative",
      scale);
  return {};
}

Status infer_resize2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 4));
  const auto& attributes = node.attributes<schema::Resize2d>();
  ETX_RETURN_IF_ERROR(check_scale(attributes.scale_height()));
  ETX_RETURN_IF_ERROR(check_scale(attributes.scale_width()));
  ETX_ASSIGN_OR_RETURN(const Shape size, node.sizes().resolve(attributes.shape()));
  const Shape& x = node.input(0).shape;
  ETX_CHECK(
      size.rank == 2 && x[1] != 0 && x[2] != 0,
      InvalidProgram,
      "it cannot resize %s to %s",
      x.to_string().c_str(),
      size.to_string().c_str());
  return set_output(outputs, DType::Float32, {x[0], size[0], size[1], x[3]});
}

Status infer_grid_sample(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 4));
  ETX_RETURN_IF_ERROR(check_rank(node, 1, 4));
  const Shape& x = node.input(0).shape;
  const Shape& grid = node.input(1).shape;
  ETX_CHECK(
      x[1] != 0 && x[2] != 0 && grid[0] == x[0] && grid[3] == 2,
      InvalidProgram,
      "it cannot sample %s at %s",
      x.to_string().c_str(),
      grid.to_string().c_str());
  return set_output(outputs, DType::Float32, {x[0], grid[1], grid[2], x[3]});
}

} // namespace

const OpImpl kResize2dOp{infer_resize2d, choose_only_kernel<make_resize2d>};
const OpImpl kGridSampleOp{infer_grid_sample, choose_only_kernel<make_grid_sample>};

} // namespace executorch::backends::et_xnnpack
