// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/image/grid_sample.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr SampleMethod kMethods[] = {SampleMethod::Bilinear, SampleMethod::Nearest, SampleMethod::Bicubic};
constexpr GridPadding kPaddings[] = {GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection};

PlainCase sample(const Tensor& x, const Tensor& grid, SampleMethod method, GridPadding padding, bool align_corners) {
  const Shape y{x.shape()[0], grid.shape()[1], grid.shape()[2], x.shape()[3]};
  const GridSampleParameters parameters{x.shape(), y, method, padding, align_corners};
  return {plain_kernel<GridSample>(parameters), {x, grid}, {{DType::Float32, y}}};
}

// A grid that visits the middle of every element gives the image back.
TEST(GridSampleKernel, Identity) {
  for (const bool align_corners : {false, true}) {
    for (const SampleMethod method : kMethods) {
      for (const GridPadding padding : kPaddings) {
        const Tensor x = random_floats({2, 5, 9, 3});
        Tensor grid(DType::Float32, {2, 5, 9, 2});
        Index at(grid.shape());
        for (size_t i = 0; i < grid.numel(); ++i, at.next()) {
          const size_t pixel = at[3] == 0 ? at[2] : at[1], size = at[3] == 0 ? 9 : 5;
          const double p = static_cast<double>(pixel), n = static_cast<double>(size);
          grid.data<float>()[i] = static_cast<float>(align_corners ? 2 * p / (n - 1) - 1 : (2 * p + 1) / n - 1);
        }
        check_kernel(sample(x, grid, method, padding, align_corners), x, {1e-5f, 1e-5f});
      }
    }
  }
}

TEST(GridSampleKernel, Padding) {
  const Tensor x = floats({1, 1, 2, 1}, {1, 2});
  const Tensor grid = floats({1, 1, 4, 2}, {-2, 0, 0, 0, 2, 0, 3, 0}); // x at -1.5, 0.5, 2.5, 3.5
  const auto expect = [&](GridPadding padding, const std::vector<float>& values) {
    check_kernel(sample(x, grid, SampleMethod::Bilinear, padding, false), floats({1, 1, 4, 1}, values), {1e-6f, 1e-6f});
  };
  expect(GridPadding::Zeros, {0, 1.5f, 0, 0});
  expect(GridPadding::Border, {1, 1.5f, 2, 2});
  expect(GridPadding::Reflection, {1.5f, 1.5f, 1.5f, 1});
}

TEST(GridSampleKernel, NotANumberAndFarAway) {
  const Tensor x = random_floats({1, 4, 4, 2});
  const Tensor grid = floats({1, 1, 6, 2}, {kNaN, 0, 0, kNaN, kInfinity, 0, 0, -kInfinity, 1e30f, -1e30f, 3e9f, 3e9f});
  for (const SampleMethod method : kMethods) {
    for (const GridPadding padding : kPaddings) {
      run_kernel(sample(x, grid, method, padding, false)); // reads nothing outside the image
    }
  }
}

// Places that are none have NaN for weights, which what is outside of the image counts with.
TEST(GridSampleKernel, NotANumberBesideZeros) {
  const Tensor x = repeated({1, 4, 4, 2}, {1});
  const Tensor grid = floats({1, 1, 4, 2}, {kNaN, 0, 9, kNaN, -kInfinity, 0, 1e30f, 0});
  for (const SampleMethod method : {SampleMethod::Bilinear, SampleMethod::Bicubic}) {
    const Tensor expected = floats({1, 1, 4, 2}, {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, 0, 0});
    check_kernel(sample(x, grid, method, GridPadding::Zeros, false), expected);
  }
  check_kernel(sample(x, grid, SampleMethod::Nearest, GridPadding::Zeros, false), repeated({1, 1, 4, 2}, {0}));
}

// The last of so many elements is no float.
TEST(GridSampleKernel, TheEndOfALongAxis) {
  constexpr size_t kSize = (size_t{1} << 24) + 4;
  Tensor x = repeated({1, 1, kSize, 1}, {1});
  x.data<float>()[kSize - 1] = 2;
  const Tensor grid = floats({1, 1, 2, 2}, {1, 0, 3, 0});
  check_kernel(sample(x, grid, SampleMethod::Nearest, GridPadding::Border, true), floats({1, 1, 2, 1}, {2, 2}));
  for (const SampleMethod method : {SampleMethod::Bilinear, SampleMethod::Bicubic}) {
    run_kernel(sample(x, grid, method, GridPadding::Border, true)); // reads nothing outside the image
  }
}

TEST(GridSampleKernel, ManyPixels) {
  const Tensor x = repeated({3, 7, 6, 5}, {2});
  const Tensor grid = random_floats({3, 90, 40, 2}, -1, 1);
  const PlainCase kernel_case = sample(x, grid, SampleMethod::Bilinear, GridPadding::Border, true);
  check_kernel(kernel_case, repeated({3, 90, 40, 5}, {2}), {1e-5f, 1e-5f});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
