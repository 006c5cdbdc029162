// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/index/suppress.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

template <typename T>
std::vector<int64_t> kept(const std::vector<T>& boxes, const std::vector<T>& scores, double threshold) {
  std::vector<int64_t> order(scores.size()), result;
  std::iota(order.begin(), order.end(), 0);
  const auto comes_first = [&](int64_t a, int64_t b) {
    return std::isnan(scores[a]) ? !std::isnan(scores[b]) : scores[a] > scores[b];
  };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return comes_first(a, b) || (!comes_first(b, a) && a < b);
  });
  const auto area = [&](const T* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  for (const int64_t i : order) {
    const bool stays = std::none_of(result.begin(), result.end(), [&](int64_t j) {
      const T *a = boxes.data() + 4 * j, *b = boxes.data() + 4 * i;
      const T width = std::max(T(0), std::min(a[2], b[2]) - std::max(a[0], b[0]));
      const T both = width * std::max(T(0), std::min(a[3], b[3]) - std::max(a[1], b[1]));
      return both / (area(a) + area(b) - both) > threshold;
    });
    if (stays) {
      result.push_back(i);
    }
  }
  return result;
}

template <typename T>
void check(DType dtype, size_t count, double threshold, bool special) {
  Tensor boxes(dtype, {count, 4}), scores(dtype, {count});
  const Tensor numbers = random_floats({count, 5}, 0, 1);
  std::vector<T> corners(4 * count), all_scores(count);
  for (size_t i = 0; i < count; ++i) {
    const float* of_box = numbers.data<float>() + 5 * i;
    for (size_t k = 0; k < 4; ++k) {
      corners[4 * i + k] = k < 2 ? of_box[k] : corners[4 * i + k - 2] + of_box[k] / 2;
    }
    all_scores[i] = std::floor(of_box[4] * 16); // many equal ones
    if (special && i % 7 == 3) {
      all_scores[i] = std::numeric_limits<T>::quiet_NaN();
    } else if (special && i % 7 == 5) {
      corners[4 * i + 2] = corners[4 * i]; // no area
    }
  }
  std::copy(corners.begin(), corners.end(), boxes.data<T>());
  std::copy(all_scores.begin(), all_scores.end(), scores.data<T>());
  const std::vector<int64_t> expected = kept(corners, all_scores, threshold);
  Tensor y(DType::Int64, {expected.size()});
  std::copy(expected.begin(), expected.end(), y.data<int64_t>());
  const NonMaxSuppressionParameters parameters{count, threshold, dtype};
  check_kernel(plain_case<NonMaxSuppression>(parameters, {boxes, scores}, {y.type}), y);
}

TEST(NonMaxSuppressionKernel, KeepsThoseWithTheHighestScores) {
  for (const size_t count : {0, 1, 2, 15, 16, 17, 100, 333}) {
    for (const double threshold : {-1.0, 0.0, 0.1, 0.5, 1.0, 1e300}) {
      for (const bool special : {false, true}) {
        check<float>(DType::Float32, count, threshold, special);
        check<double>(DType::Float64, count, threshold, special);
      }
    }
  }
}

// 0.3 of Float64 is above that of Float32, and what overlaps by just that much stays.
TEST(NonMaxSuppressionKernel, ComparesInFloat64) {
  Tensor boxes = floats({2, 4}, {0, 0, 10, 10, 0, 0, 10, 3}), scores = floats({2}, {2, 1});
  const NonMaxSuppressionParameters parameters{2, 0.3, DType::Float32};
  const float overlap = 30.0f / 100.0f;
  const bool is_dropped = static_cast<double>(overlap) > 0.3;
  Tensor y(DType::Int64, {is_dropped ? size_t{1} : size_t{2}});
  std::iota(y.data<int64_t>(), y.data<int64_t>() + y.numel(), 0);
  check_kernel(plain_case<NonMaxSuppression>(parameters, {boxes, scores}, {y.type}), y);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
