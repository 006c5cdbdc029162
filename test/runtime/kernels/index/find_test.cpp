// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/index/find.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

Tensor int64s(const std::vector<int64_t>& values, Shape shape) {
  Tensor y(DType::Int64, shape);
  std::copy(values.begin(), values.end(), y.data<int64_t>());
  return y;
}

// Blocks of one thread begin anywhere in a row of the last axis; any byte but 0 is true.
TEST(NonzeroKernel, FindsIndicesInOrder) {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{17}, Shape{40001}, Shape{3, 5}, Shape{131, 7, 57}, Shape{1, 4099}, Shape{0, 3}}) {
    for (const size_t every : {1, 3, 4096, 100000}) {
      Tensor x(DType::Bool, shape);
      std::vector<int64_t> found;
      Index at(shape);
      size_t rows = 0;
      for (size_t i = 0; i < x.numel(); ++i, at.next()) {
        x.bytes[i] = i % every == every / 2 ? static_cast<uint8_t>(i % 255 + 1) : 0;
        for (size_t axis = 0; axis < shape.rank && x.bytes[i] != 0; ++axis) {
          found.push_back(static_cast<int64_t>(at[axis]));
        }
        rows += x.bytes[i] != 0;
      }
      const Tensor y = int64s(found, {rows, shape.rank});
      check_kernel(plain_case<Nonzero>(shape, {x}, {y.type}), y);
    }
  }
}

TEST(RepeatIndicesKernel, RepeatsEach) {
  const Tensor y = int64s({0, 0, 2, 3, 3, 3}, {6});
  Tensor repeats(DType::Int32, {5});
  const int32_t counts[] = {2, 0, 1, 3, 0};
  std::copy(std::begin(counts), std::end(counts), repeats.data<int32_t>());
  check_kernel(plain_case<RepeatIndices>(RepeatIndicesParameters{5, DType::Int32}, {repeats}, {y.type}), y);
  const Tensor wide = int64s({2, 0, 1, 3, 0}, {5});
  check_kernel(plain_case<RepeatIndices>(RepeatIndicesParameters{5, DType::Int64}, {wide}, {y.type}), y);
}

TEST(RepeatIndicesKernel, RefusesWhatIsNegativeOrTooMuch) {
  for (const int64_t bad : {int64_t{-1}, INT64_MIN, INT64_MAX, (int64_t{1} << 40) + 1}) {
    const Tensor repeats = int64s({1, bad, 1}, {3});
    const RepeatIndicesParameters parameters{3, DType::Int64};
    EXPECT_FALSE(try_kernel(plain_case<RepeatIndices>(parameters, {repeats}, {{DType::Int64, {3}}})).ok());
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
