// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "suppress.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "runtime/kernels/simd/isa.h"
#include "suppress_boxes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/index/suppress.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Marks those behind box `i` that overlap it too much. The order of operands decides what becomes of NaN.
void drop_overlapping(const Boxes<float>& boxes, size_t i, size_t count, float threshold) {
  const Floats f;
  const hn::RebindToUnsigned<Floats> u;
  const Vector x1 = hn::Set(f, boxes.x1[i]), y1 = hn::Set(f, boxes.y1[i]);
  const Vector x2 = hn::Set(f, boxes.x2[i]), y2 = hn::Set(f, boxes.y2[i]);
  const Vector area = hn::Set(f, boxes.area[i]), most = hn::Set(f, threshold), zero = hn::Zero(f);
  const auto larger = [](Vector a, Vector b) { return hn::IfThenElse(hn::Lt(a, b), b, a); };
  const auto smaller = [](Vector a, Vector b) { return hn::IfThenElse(hn::Lt(b, a), b, a); };
  for (size_t j = i + 1; j < count; j += kLanes) {
    const Vector left = larger(x1, hn::LoadU(f, boxes.x1 + j)), top = larger(y1, hn::LoadU(f, boxes.y1 + j));
    const Vector right = smaller(x2, hn::LoadU(f, boxes.x2 + j)), bottom = smaller(y2, hn::LoadU(f, boxes.y2 + j));
    const Vector both = hn::Mul(larger(zero, hn::Sub(right, left)), larger(zero, hn::Sub(bottom, top)));
    const Vector either = hn::Sub(hn::Add(area, hn::LoadU(f, boxes.area + j)), both);
    const auto is_dropped = hn::Gt(divide(both, either), most);
    uint32_t* const dropped = boxes.dropped + j;
    hn::StoreU(hn::Or(hn::LoadU(u, dropped), hn::BitCast(u, hn::VecFromMask(f, is_dropped))), u, dropped);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(drop_overlapping);

namespace {

// The same of any type.
template <typename T>
void drop_overlapping_plainly(const Boxes<T>& boxes, size_t i, size_t count, double threshold) {
  for (size_t j = i + 1; j < count; ++j) {
    const T width = std::min(boxes.x2[i], boxes.x2[j]) - std::max(boxes.x1[i], boxes.x1[j]);
    const T height = std::min(boxes.y2[i], boxes.y2[j]) - std::max(boxes.y1[i], boxes.y1[j]);
    const T both = std::max(T(0), width) * std::max(T(0), height);
    if (both / (boxes.area[i] + boxes.area[j] - both) > threshold) {
      boxes.dropped[j] = 1;
    }
  }
}

// No number of type float is above the one and not above the other.
float round_down(double threshold) {
  constexpr float kMost = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();
  if (std::isinf(threshold) || threshold < -kMost) {
    return threshold > 0 ? kInfinity : -kInfinity;
  }
  const auto rounded = static_cast<float>(std::min(threshold, double{kMost}));
  return rounded > threshold ? std::nextafter(rounded, -kInfinity) : rounded;
}

size_t element_bytes(DType dtype) {
  return dtype == DType::Float64 ? sizeof(double) : sizeof(float);
}

} // namespace

size_t NonMaxSuppression::reshape(const NonMaxSuppressionParameters& parameters, size_t) {
  parameters_ = parameters;
  return parameters.count * sizeof(int64_t) + 6 * (parameters.count + kBoxPadding) * element_bytes(parameters.dtype);
}

// Leaves the indices of the boxes that stay at the beginning of the scratch memory.
template <typename T>
size_t NonMaxSuppression::find(const KernelArguments& arguments) const {
  const size_t count = parameters_.count, padded = count + kBoxPadding;
  const T* const boxes = arguments.input<T>(0);
  const T* const scores = arguments.input<T>(1);
  auto* const order = static_cast<int64_t*>(arguments.scratch);
  std::iota(order, order + count, int64_t{0});
  std::sort(order, order + count, [scores](int64_t a, int64_t b) {
    const T x = scores[a], y = scores[b];
    if (std::isnan(x) != std::isnan(y)) {
      return std::isnan(x);
    }
    return x > y || (!(x < y) && a < b);
  });
  T* const columns = reinterpret_cast<T*>(order + count);
  std::memset(columns, 0, 6 * padded * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T* const box = boxes + 4 * order[i];
    for (size_t k = 0; k < 4; ++k) {
      columns[k * padded + i] = box[k];
    }
    columns[4 * padded + i] = (box[2] - box[0]) * (box[3] - box[1]);
  }
  const auto column = [&](size_t k) { return columns + k * padded; };
  const Boxes<T> sorted{
      column(0), column(1), column(2), column(3), column(4), reinterpret_cast<decltype(Boxes<T>::dropped)>(column(5))};
  const float threshold = round_down(parameters_.threshold);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (sorted.dropped[i] != 0) {
      continue;
    }
    order[kept++] = order[i];
    if constexpr (std::is_same_v<T, float>) {
      ETX_DISPATCH(drop_overlapping)(sorted, i, count, threshold);
    } else {
      drop_overlapping_plainly(sorted, i, count, parameters_.threshold);
    }
  }
  return kept;
}

size_t NonMaxSuppression::find_size(const KernelArguments& arguments) {
  kept_ = parameters_.dtype == DType::Float64 ? find<double>(arguments) : find<float>(arguments);
  return kept_;
}

void NonMaxSuppression::run(const KernelArguments& arguments) const {
  if (kept_ > 0) {
    std::memcpy(arguments.outputs[0], arguments.scratch, kept_ * sizeof(int64_t));
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
