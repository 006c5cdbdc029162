// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/sort.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// In ascending order, which NaN ends.
template <typename T>
bool less(T a, T b) {
  return a < b || (a == a && b != b);
}

template <typename T>
void check_sort(const Tensor& x, size_t axis, size_t count = 0) {
  for (const bool descending : {false, true}) {
    SCOPED_TRACE(
        x.type.to_string() + " along " + std::to_string(axis) + (descending ? ", descending" : "") +
        (count == 0 ? "" : ", the first " + std::to_string(count)));
    const size_t size = x.shape()[axis];
    const size_t inner = x.shape().numel(axis + 1, x.shape().rank);
    const size_t kept = count == 0 ? size : count;
    Shape shape = x.shape();
    shape[axis] = kept;
    Tensor y(DType::Int64, shape);
    for (size_t i = 0; size > 0 && i < x.numel() / size; ++i) {
      const size_t begin = i / inner * size * inner + i % inner;
      std::vector<int64_t> indices(size);
      std::iota(indices.begin(), indices.end(), 0);
      const auto comes_first = [&](int64_t a, int64_t b) {
        const T p = x.data<T>()[begin + static_cast<size_t>(a) * inner];
        const T q = x.data<T>()[begin + static_cast<size_t>(b) * inner];
        return descending ? less(q, p) : less(p, q);
      };
      std::sort(indices.begin(), indices.end(), [&](int64_t a, int64_t b) {
        return comes_first(a, b) || (!comes_first(b, a) && a < b);
      });
      for (size_t k = 0; k < kept; ++k) {
        y.data<int64_t>()[(i / inner * kept + k) * inner + i % inner] = indices[k];
      }
    }
    const SortParameters parameters{x.type.dtype, x.shape(), axis, descending, count};
    check_kernel(plain_case<Sort>(parameters, {x}, {y.type}), y);
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
      const uint64_t pattern = bits >> (64 - 8 * sizeof(T));
      std::memcpy(&x.data<T>()[i], &pattern, sizeof(T));
      if (kind < 2) {
        x.data<T>()[i] = static_cast<T>(few[bits >> 8 & 7]);
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
    for (const size_t count : {1, 2, 3, 17, 50, 233, 234, 5000}) {
      if (count <= size) {
        check_sort<T>(random_numbers<T>(dtype, {3, size}), 1, count);
        check_sort<T>(random_numbers<T>(dtype, {2, size, 3}), 1, count);
      }
    }
  }
  check_sort<T>(random_numbers<T>(dtype, {300, 5}), 0, 7);
  check_sort<T>(random_numbers<T>(dtype, {150, 300}), 1, 4);
  for (const size_t count : {1, 20}) {
    check_sort<T>(iota(dtype, {1, 1000}), 1, count); // every element or none comes before those so far
    check_sort<T>(Tensor(dtype, {2, 1000}), 1, count);
    check_sort<T>(Tensor(dtype, {0, 1000}), 1, count);
  }
}

TEST(Sort, Floats) {
  check_sorts<float>(DType::Float32);
  check_sort<float>(random_floats({2, 1000}), 1);
  check_sort<float>(repeated({2, 1000}, {kNaN, 1}), 1);
  check_sort<float>(repeated({2, 1000}, {2}), 1);
}

TEST(Sort, Float64) {
  check_sorts<double>(DType::Float64);
  check_selections<double>(DType::Float64);
}

TEST(Sort, Integers) {
  check_sorts<int32_t>(DType::Int32);
  check_sorts<int64_t>(DType::Int64);
  check_sorts<int8_t>(DType::Int8);
  check_sorts<uint8_t>(DType::UInt8);
}

TEST(Sort, Booleans) {
  Tensor x(DType::Bool, {3, 1001});
  for (size_t i = 0; i < x.numel(); ++i) {
    x.bytes[i] = i * i % 7 < 3;
  }
  check_sort<uint8_t>(x, 1);
  check_sort<uint8_t>(x, 1, 10);
}

TEST(Sort, FirstFloats) {
  check_selections<float>(DType::Float32);
  check_sort<float>(random_floats({2, 32000}), 1, 50);
  for (const size_t count : {1, 5, 40, 100}) {
    check_sort<float>(repeated({2, 1000}, {kNaN, 1}), 1, count);
    check_sort<float>(repeated({2, 1000}, {kNaN}), 1, count);
    check_sort<float>(repeated({2, 1000}, {0.0f, -0.0f}), 1, count);
    check_sort<float>(repeated({2, 1000}, {kInfinity, -kInfinity, 3}), 1, count);
    // Fewer numbers than are wanted at the beginning, at the end or in the middle, NaN in all other indices.
    for (const size_t begin : {0, 500, 997}) {
      Tensor x = repeated({1, 1000}, {kNaN});
      const float numbers[] = {2, -1, 2};
      std::copy_n(numbers, 3, x.data<float>() + begin);
      check_sort<float>(x, 1, count);
    }
  }
}

TEST(Sort, FirstIntegers) {
  check_selections<int32_t>(DType::Int32);
  check_selections<int64_t>(DType::Int64);
  check_selections<int8_t>(DType::Int8);
  check_selections<uint8_t>(DType::UInt8);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
