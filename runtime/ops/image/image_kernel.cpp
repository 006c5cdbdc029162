// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "image_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::GridPaddingMode;
using schema::ResizeKind;
using schema::SampleKind;

ResizeMethod method_of(ResizeKind kind) {
  switch (kind) {
    case ResizeKind::Nearest:
      return ResizeMethod::Nearest;
    case ResizeKind::NearestExact:
      return ResizeMethod::NearestExact;
    case ResizeKind::Bilinear:
      return ResizeMethod::Bilinear;
    case ResizeKind::Bicubic:
      break;
  }
  return ResizeMethod::Bicubic;
}

SampleMethod method_of(SampleKind kind) {
  switch (kind) {
    case SampleKind::Bilinear:
      return SampleMethod::Bilinear;
    case SampleKind::Nearest:
      return SampleMethod::Nearest;
    case SampleKind::Bicubic:
      break;
  }
  return SampleMethod::Bicubic;
}

GridPadding padding_of(GridPaddingMode mode) {
  switch (mode) {
    case GridPaddingMode::Zeros:
      return GridPadding::Zeros;
    case GridPaddingMode::Border:
      return GridPadding::Border;
    case GridPaddingMode::Reflection:
      break;
  }
  return GridPadding::Reflection;
}

} // namespace

Resize2dParameters resize2d_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Resize2d>();
  Resize2dParameters parameters;
  parameters.x = node.input(0).shape;
  parameters.y = node.output().shape;
  parameters.method = method_of(attributes.kind());
  parameters.align_corners = attributes.align_corners();
  parameters.scale_height = attributes.scale_height();
  parameters.scale_width = attributes.scale_width();
  parameters.whole_steps = attributes.whole_steps();
  return parameters;
}

GridSampleParameters grid_sample_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::GridSample>();
  GridSampleParameters parameters;
  parameters.x = node.input(0).shape;
  parameters.y = node.output().shape;
  parameters.method = method_of(attributes.kind());
  parameters.padding = padding_of(attributes.padding_mode());
  parameters.align_corners = attributes.align_corners();
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
