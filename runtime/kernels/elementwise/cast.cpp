// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "cast.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/simd/reduced_float.h"

namespace executorch::backends::et_xnnpack {
namespace {

template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) == 1) {
    // As PyTorch does.
    using Wide = std::conditional_t<std::is_same_v<From, double> && std::is_unsigned_v<To>, int64_t, int32_t>;
    return static_cast<To>(converted<Wide>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // What x86 gives for a number out of range, instead of undefined behaviour.
    constexpr To kOutOfRange = std::numeric_limits<To>::min();
    constexpr From kLimit = -static_cast<From>(kOutOfRange);
    return x >= -kLimit && x < kLimit ? static_cast<To>(x) : kOutOfRange;
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To, typename Function>
void convert(const void* x, void* y, size_t count, const Function& function) {
  const From* const from = static_cast<const From*>(x);
  To* const to = static_cast<To*>(y);
  for (size_t i = 0; i < count; ++i) {
    to[i] = function(from[i]);
  }
}

// By way of Float32 if one of the types is a 16-bit float.
void convert(DType from, const void* x, DType to, void* y, size_t count) {
  if (from == to) {
    std::memcpy(y, x, count * element_size(to));
  } else if (is_reduced_float(from) && to == DType::Float32) {
    widen(from, x, static_cast<float*>(y), count);
  } else if (from == DType::Float32 && is_reduced_float(to)) {
    narrow(to, static_cast<const float*>(x), y, count);
  } else if (is_reduced_float(from) || is_reduced_float(to)) {
    constexpr size_t kBlock = 256;
    float block[kBlock];
    for (size_t i = 0; i < count; i += kBlock) {
      const size_t size = std::min(kBlock, count - i);
      convert(from, static_cast<const char*>(x) + i * element_size(from), DType::Float32, block, size);
      convert(DType::Float32, block, to, static_cast<char*>(y) + i * element_size(to), size);
    }
  } else {
    with_type(from, [&](auto a) {
      using From = decltype(a);
      if (to == DType::Bool) {
        return convert<From, bool>(x, y, count, [](From value) { return value != From(0); });
      }
      with_type(to, [&](auto b) {
        convert<From, decltype(b)>(x, y, count, [](From value) { return converted<decltype(b)>(value); });
      });
    });
  }
}

class CastRow final : public Row {
 public:
  CastRow(DType from, DType to) : from_(from), to_(to) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    if (operands[0].moves) {
      return convert(from_, operands[0].data, to_, y, count);
    }
    convert(from_, operands[0].data, to_, y, 1);
    const size_t size = element_size(to_);
    for (size_t i = 1; i < count; ++i) {
      std::memcpy(static_cast<char*>(y) + i * size, y, size);
    }
  }

 private:
  DType from_, to_;
};

} // namespace

std::unique_ptr<Row> cast_row(DType from, DType to) {
  return std::make_unique<CastRow>(from, to);
}

} // namespace executorch::backends::et_xnnpack
