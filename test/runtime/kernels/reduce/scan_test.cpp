// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/scan.h>

#include <functional>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Adds up and multiplies floats in double precision, integers with wrapping.
template <typename T>
void check_scan(const Tensor& x, size_t axis) {
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  const size_t size = x.shape()[axis];
  const size_t inner = x.shape().numel(axis + 1, x.shape().rank);
  for (const ScanOp op : {ScanOp::Sum, ScanOp::Prod}) {
    SCOPED_TRACE(
        x.type.to_string() + " along " + std::to_string(axis) + ", " + (op == ScanOp::Sum ? "sums" : "products"));
    const bool sums = op == ScanOp::Sum;
    Tensor y(x.type.dtype, x.shape());
    for (size_t i = 0; size > 0 && i < x.numel() / size; ++i) {
      const size_t begin = i / inner * size * inner + i % inner;
      Total total = sums ? 0 : 1;
      for (size_t k = 0; k < size; ++k) {
        const auto v = static_cast<Total>(x.data<T>()[begin + k * inner]);
        total = sums ? total + v : total * v;
        y.data<T>()[begin + k * inner] = static_cast<T>(total);
      }
    }
    check_kernel(plain_case<Scan>(ScanParameters{op, x.type.dtype, x.shape(), axis}, {x}, {y.type}), y);
  }
}

template <typename T>
void check_scans(const std::function<Tensor(const Shape&)>& make) {
  for (const size_t rows : {1, 2, 3, 4, 5, 8, 11}) {
    check_scan<T>(make({rows, 37}), 1);
    check_scan<T>(make({37, rows}), 0);
  }
  for (const size_t inner : {1, 2, 15, 16, 17, 33, 64}) {
    check_scan<T>(make({3, 21, inner}), 1);
  }
  check_scan<T>(make({2, 3, 4, 5}), 0);
  check_scan<T>(make({2, 3, 4, 5}), 2);
  check_scan<T>(make({300, 130}), 1);
  check_scan<T>(make({130, 300}), 0);
  check_scan<T>(make({7}), 0);
  check_scan<T>(make({0, 3}), 0);
  check_scan<T>(make({0, 3}), 1);
  check_scan<T>(make({3, 0}), 1);
}

TEST(Scan, Floats) {
  check_scans<float>([](const Shape& shape) { return random_floats(shape); });
  Tensor special = random_floats({6, 40});
  special.data<float>()[47] = kNaN;
  special.data<float>()[90] = kInfinity;
  special.data<float>()[95] = -kInfinity;
  check_scan<float>(special, 1);
  check_scan<float>(special, 0);
}

TEST(Scan, Float64) {
  check_scans<double>([](const Shape& shape) {
    Tensor x(DType::Float64, shape);
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<double>()[i] = 1.0 / static_cast<double>(i + 1);
    }
    return x;
  });
}

TEST(Scan, Integers) {
  check_scans<int32_t>([](const Shape& shape) { return iota(DType::Int32, shape); });
  check_scans<int64_t>([](const Shape& shape) { return iota(DType::Int64, shape); });
  check_scans<int8_t>([](const Shape& shape) { return iota(DType::Int8, shape); });
  check_scans<uint8_t>([](const Shape& shape) { return iota(DType::UInt8, shape); });
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
