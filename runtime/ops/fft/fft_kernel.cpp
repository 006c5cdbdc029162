// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fft_kernel.h"

#include <cmath>

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

FftTransform to_fft_transform(schema::FftKind kind) {
  switch (kind) {
    case schema::FftKind::Complex:
      return FftTransform::Complex;
    case schema::FftKind::Inverse:
      return FftTransform::Inverse;
    case schema::FftKind::RealToComplex:
      return FftTransform::RealToComplex;
    case schema::FftKind::ComplexToReal:
      break;
  }
  return FftTransform::ComplexToReal;
}

double scale_of(schema::FftNorm norm, size_t length) {
  const double n = static_cast<double>(length);
  switch (norm) {
    case schema::FftNorm::Unscaled:
      return 1;
    case schema::FftNorm::RootLength:
      return 1 / std::sqrt(n);
    case schema::FftNorm::Length:
      break;
  }
  return 1 / n;
}

} // namespace

FftParameters fft_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Fft>();
  const Shape& x = node.input(0).shape;
  const size_t axis = attributes.axis();
  FftParameters parameters;
  parameters.transform = to_fft_transform(attributes.kind());
  parameters.outer = x.numel(0, axis);
  const bool to_real = attributes.kind() == schema::FftKind::ComplexToReal;
  parameters.length = to_real ? static_cast<size_t>(node.sizes().resolve(attributes.length())) : x[axis];
  parameters.inner = x.numel(axis + 1, x.rank);
  parameters.scale = scale_of(attributes.norm(), parameters.length);
  parameters.full = attributes.full();
  return parameters;
}

std::unique_ptr<Kernel> make_fft(const NodeContext& node) {
  return node.input(0).dtype == DType::Float64 ? make_kernel_of<Fft<double>, fft_parameters>(node)
                                               : make_kernel_of<Fft<float>, fft_parameters>(node);
}

} // namespace executorch::backends::et_xnnpack
