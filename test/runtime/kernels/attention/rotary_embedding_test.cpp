// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/attention/rotary_embedding.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// `rows` of x for each row of cos and sin.
void check(bool interleaved, size_t rows, size_t positions, size_t size) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(positions) + " x " + std::to_string(size));
  const Shape shape{rows, positions, size};
  const PlainCase kernel_case{
      plain_kernel<RotaryEmbedding>(
          RotaryEmbeddingParameters{shape, {positions, size}, {1, positions, size}, interleaved}),
      {random_floats(shape), random_floats({positions, size}), random_floats({1, positions, size})},
      {{DType::Float32, shape}}};
  const float* const x = kernel_case.inputs[0]->data<float>();
  const float* const cos = kernel_case.inputs[1]->data<float>();
  const float* const sin = kernel_case.inputs[2]->data<float>();
  Tensor expected(DType::Float32, {rows, positions, size});
  for (size_t i = 0; i < rows * positions * size; ++i) {
    const size_t at = i % size, start = i - at, angle = i % (positions * size);
    const size_t other = interleaved ? at ^ 1 : (at + size / 2) % size;
    const bool first = interleaved ? at % 2 == 0 : at < size / 2;
    const double turned = static_cast<double>(x[start + other]) * (first ? -1 : 1);
    const double y =
        static_cast<double>(x[i]) * static_cast<double>(cos[angle]) + turned * static_cast<double>(sin[angle]);
    expected.data<float>()[i] = static_cast<float>(y);
  }
  check_kernel(kernel_case, expected, {2e-6f, 2e-6f});
}

TEST(RotaryEmbeddingKernel, Sizes) {
  for (const bool interleaved : {false, true}) {
    for (const size_t size : {2, 4, 6, 14, 16, 30, 32, 64, 96, 130}) {
      check(interleaved, 3, 5, size);
    }
    check(interleaved, 1, 1, 64);
    check(interleaved, 40, 33, 64);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
