// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/scan.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Adds up and multiplies floats in double precision, integers with wrapping.
template <typename T>
void check_scan(const Tensor& x, uint8_t axis) {
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  const size_t size = x.shape()[axis];
  const size_t inner = x.shape().numel(axis + 1u, x.shape().rank);
  for (const auto kind : {schema::ScanKind::Sum, schema::ScanKind::Prod}) {
    SCOPED_TRACE(x.type.to_string() + " along " + std::to_string(axis) + ", " + schema::EnumNameScanKind(kind));
    const bool sums = kind == schema::ScanKind::Sum;
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
    check_kernel(
        {make_scan,
         schema::Attributes::Scan,
         [=](auto& builder) { return schema::CreateScan(builder, kind, axis).Union(); },
         {x},
         y.type},
        y);
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

TEST(ScanKernel, Floats) {
  check_scans<float>([](const Shape& shape) { return random_floats(shape); });
  Tensor special = random_floats({6, 40});
  special.data<float>()[47] = kNaN;
  special.data<float>()[90] = kInfinity;
  special.data<float>()[95] = -kInfinity;
  check_scan<float>(special, 1);
  check_scan<float>(special, 0);
}

TEST(ScanKernel, Integers) {
  check_scans<int32_t>([](const Shape& shape) { return iota(DType::Int32, shape); });
  check_scans<int64_t>([](const Shape& shape) { return iota(DType::Int64, shape); });
  check_scans<int8_t>([](const Shape& shape) { return iota(DType::Int8, shape); });
  check_scans<uint8_t>([](const Shape& shape) { return iota(DType::UInt8, shape); });
}

// In ascending order, which NaN ends.
template <typename T>
bool less(T a, T b) {
  return a < b || (a == a && b != b);
}

template <typename T>
void check_sort(const Tensor& x, uint8_t axis, uint32_t count = 0) {
  for (const bool descending : {false, true}) {
    SCOPED_TRACE(
        x.type.to_string() + " along " + std::to_string(axis) + (descending ? ", descending" : "") +
        (count == 0 ? "" : ", the first " + std::to_string(count)));
    const size_t size = x.shape()[axis];
    const size_t inner = x.shape().numel(axis + 1u, x.shape().rank);
    const size_t kept = count == 0 ? size : count;
    Shape shape = x.shape();
    shape[axis] = kept;
    Tensor y(DType::Int64, shape);
    for (size_t i = 0; size > 0 && i < x.numel() / size; ++i) {
      const size_t begin = i / inner * size * inner + i % inner;
      std::vector<int64_t> places(size);
      std::iota(places.begin(), places.end(), 0);
      const auto comes_first = [&](int64_t a, int64_t b) {
        const T p = x.data<T>()[begin + static_cast<size_t>(a) * inner];
        const T q = x.data<T>()[begin + static_cast<size_t>(b) * inner];
        return descending ? less(q, p) : less(p, q);
      };
      std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
        return comes_first(a, b) || (!comes_first(b, a) && a < b);
      });
      for (size_t k = 0; k < kept; ++k) {
        y.data<int64_t>()[(i / inner * kept + k) * inner + i % inner] = places[k];
      }
    }
    check_kernel(
        {make_sort,
         schema::Attributes::Sort,
         [=](auto& builder) { return schema::CreateSort(builder, axis, descending, count).Union(); },
         {x},
         y.type},
        y);
  }
}

// Numbers of all sizes, with ties.
template <typename T>
Tensor random_numbers(DType dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  std::mt19937_64 random(x.numel());
  for (size_t i = 0; i < x.numel(); ++i) {
    const uint64_t bits = random();
    const unsigned kind = bits % 10;
    if constexpr (std::is_floating_point_v<T>) {
      const float few[] = {0, -0.0f, kNaN, -kNaN, kInfinity, -kInfinity, 1e-45f, -1e-45f};
      const auto pattern = static_cast<uint32_t>(bits >> 32);
      std::memcpy(&x.data<T>()[i], &pattern, sizeof(pattern));
      if (kind < 2) {
        x.data<T>()[i] = few[bits >> 8 & 7];
      }
    } else {
      x.data<T>()[i] = static_cast<T>(kind < 5 ? bits >> 32 : bits >> 8 & 3);
    }
  }
  return x;
}

template <typename T>
void check_sorts(DType dtype) {
  for (const size_t size : {0, 1, 2, 17, 64, 199, 200, 201, 1000, 5000}) {
    check_sort<T>(random_numbers<T>(dtype, {3, size}), 1);
    check_sort<T>(random_numbers<T>(dtype, {2, size, 3}), 1);
  }
  check_sort<T>(random_numbers<T>(dtype, {300, 5}), 0);
}

// Some are sorted, some selected.
template <typename T>
void check_selections(DType dtype) {
  for (const size_t size : {1, 2, 68, 69, 70, 200, 1000, 5000}) {
    for (const uint32_t count : {1u, 2u, 3u, 17u, 50u, 233u, 234u, 5000u}) {
      if (count <= size) {
        check_sort<T>(random_numbers<T>(dtype, {3, size}), 1, count);
        check_sort<T>(random_numbers<T>(dtype, {2, size, 3}), 1, count);
      }
    }
  }
  check_sort<T>(random_numbers<T>(dtype, {300, 5}), 0, 7);
  check_sort<T>(random_numbers<T>(dtype, {150, 300}), 1, 4);
  for (const uint32_t count : {1u, 20u}) {
    check_sort<T>(iota(dtype, {1, 1000}), 1, count); // every element or none comes before those so far
    check_sort<T>(Tensor(dtype, {2, 1000}), 1, count);
    check_sort<T>(Tensor(dtype, {0, 1000}), 1, count);
  }
}

TEST(SortKernel, Floats) {
  check_sorts<float>(DType::Float32);
  check_sort<float>(random_floats({2, 1000}), 1);
  check_sort<float>(repeated({2, 1000}, {kNaN, 1}), 1);
  check_sort<float>(repeated({2, 1000}, {2}), 1);
}

TEST(SortKernel, Integers) {
  check_sorts<int32_t>(DType::Int32);
  check_sorts<int64_t>(DType::Int64);
  check_sorts<int8_t>(DType::Int8);
  check_sorts<uint8_t>(DType::UInt8);
}

TEST(SortKernel, Booleans) {
  Tensor x(DType::Bool, {3, 1001});
  for (size_t i = 0; i < x.numel(); ++i) {
    x.bytes[i] = i * i % 7 < 3;
  }
  check_sort<uint8_t>(x, 1);
  check_sort<uint8_t>(x, 1, 10);
}

TEST(SortKernel, FirstFloats) {
  check_selections<float>(DType::Float32);
  check_sort<float>(random_floats({2, 32000}), 1, 50);
  for (const uint32_t count : {1u, 5u, 40u, 100u}) {
    check_sort<float>(repeated({2, 1000}, {kNaN, 1}), 1, count);
    check_sort<float>(repeated({2, 1000}, {kNaN}), 1, count);
    check_sort<float>(repeated({2, 1000}, {0.0f, -0.0f}), 1, count);
    check_sort<float>(repeated({2, 1000}, {kInfinity, -kInfinity, 3}), 1, count);
    // Fewer numbers than are wanted at the beginning, at the end or in the middle, NaN in all other places.
    for (const size_t begin : {0, 500, 997}) {
      Tensor x = repeated({1, 1000}, {kNaN});
      const float numbers[] = {2, -1, 2};
      std::copy_n(numbers, 3, x.data<float>() + begin);
      check_sort<float>(x, 1, count);
    }
  }
}

TEST(SortKernel, FirstIntegers) {
  check_selections<int32_t>(DType::Int32);
  check_selections<int64_t>(DType::Int64);
  check_selections<int8_t>(DType::Int8);
  check_selections<uint8_t>(DType::UInt8);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
