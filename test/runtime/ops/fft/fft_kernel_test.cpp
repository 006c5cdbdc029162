// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/fft/fft_kernel.h>

#include <cmath>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A node computes what its kernel computes with the parameters that the node stands for.
TEST(FftKernel, Parameters) {
  const std::tuple<schema::FftKind, FftTransform, schema::FftNorm, float> kinds[] = {
      {schema::FftKind::Complex, FftTransform::Complex, schema::FftNorm::Unscaled, 1.0f},
      {schema::FftKind::Inverse, FftTransform::Inverse, schema::FftNorm::Length, 1.0f / 6},
      {schema::FftKind::RealToComplex, FftTransform::RealToComplex, schema::FftNorm::RootLength, 1 / std::sqrt(6.0f)},
      {schema::FftKind::ComplexToReal, FftTransform::ComplexToReal, schema::FftNorm::Length, 1.0f / 6}};
  ASSERT_EQ(std::size(kinds), std::size(schema::EnumValuesFftKind()));
  for (const auto& [kind, transform, norm, scale] : kinds) {
    SCOPED_TRACE(schema::EnumNameFftKind(kind));
    const bool from_real = transform == FftTransform::RealToComplex, to_real = transform == FftTransform::ComplexToReal;
    const Shape x{2, to_real ? size_t{4} : size_t{6}, 3}, y{2, 6, 3};
    std::vector<std::optional<Tensor>> inputs{random_floats(x)};
    std::vector<TensorSpec> outputs{{DType::Float32, y}};
    if (!from_real) {
      inputs.push_back(random_floats(x));
    }
    if (!to_real) {
      outputs.push_back({DType::Float32, y});
    }
    PlainCase plain = plain_case<Fft<float>>(FftParameters{transform, 2, 6, 3, scale, from_real}, inputs, outputs);
    const auto attributes = [fft_kind = kind, fft_norm = norm, from_real, to_real](auto& builder) {
      const schema::Size length(to_real ? 6 : 0);
      return schema::CreateFft(builder, fft_kind, 1, fft_norm, from_real, &length).Union();
    };
    KernelCase node{
        make_fft,
        schema::Attributes::Fft,
        attributes,
        {inputs.begin(), inputs.end()},
        outputs[0],
        {outputs.begin() + 1, outputs.end()}};
    for (size_t i = 0; i < outputs.size(); ++i) {
      plain.checked = node.checked = i;
      check_kernel(node, run_kernel(plain), {1e-5f, 1e-5f});
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
