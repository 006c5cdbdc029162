// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "rotary_embedding.h"

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/rotary_embedding.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// `size` is even. y does not overlap the others.
void rotate_halves(const float* x, const float* cos, const float* sin, size_t size, float* y) {
  const Floats f;
  const size_t half = size / 2, lanes = hn::Lanes(f);
  const auto part = [&](size_t i, auto load, auto store) {
    const Vector a = load(x + i), b = load(x + half + i);
    store(hn::NegMulAdd(b, load(sin + i), hn::Mul(a, load(cos + i))), y + i);
    store(hn::MulAdd(a, load(sin + half + i), hn::Mul(b, load(cos + half + i))), y + half + i);
  };
  size_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    part(i, [&](const float* p) { return hn::LoadU(f, p); }, [&](Vector v, float* p) { hn::StoreU(v, f, p); });
  }
  if (const size_t rest = half - i; rest != 0) {
    part(
        i,
        [&](const float* p) { return hn::LoadN(f, p, rest); },
        [&](Vector v, float* p) { hn::StoreN(v, f, p, rest); });
  }
}

void rotate_pairs(const float* x, const float* cos, const float* sin, size_t size, float* y) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < size; i += 2) {
    y[i] = x[i] * cos[i] - x[i + 1] * sin[i];
    y[i + 1] = x[i + 1] * cos[i + 1] + x[i] * sin[i + 1];
  }
#else
  const Floats f;
  const size_t lanes = hn::Lanes(f);
  const auto rotated = [&](Vector v, Vector c, Vector s) {
    const Vector swapped = hn::Reverse2(f, v);
    return hn::MulAdd(hn::OddEven(swapped, hn::Neg(swapped)), s, hn::Mul(v, c));
  };
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    hn::StoreU(rotated(hn::LoadU(f, x + i), hn::LoadU(f, cos + i), hn::LoadU(f, sin + i)), f, y + i);
  }
  if (const size_t rest = size - i; rest != 0) {
    const Vector v = hn::LoadN(f, x + i, rest);
    hn::StoreN(rotated(v, hn::LoadN(f, cos + i, rest), hn::LoadN(f, sin + i, rest)), f, y + i, rest);
  }
#endif
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(rotate_halves);
HWY_EXPORT(rotate_pairs);

namespace {

constexpr size_t kGrain = 16384; // elements

Shape without_last_axis(const Shape& shape) {
  Shape result = shape;
  --result.rank;
  return result;
}

} // namespace

size_t RotaryEmbedding::reshape(const RotaryEmbeddingParameters& parameters, size_t) {
  const Shape& x = parameters.x;
  interleaved_ = parameters.interleaved;
  size_ = x.last();
  broadcast_ =
      Broadcast<2>(without_last_axis(x), {without_last_axis(parameters.cos), without_last_axis(parameters.sin)});
  return 0;
}

void RotaryEmbedding::run(const KernelArguments& arguments) const {
  const auto rotate = interleaved_ ? ETX_DISPATCH(rotate_pairs) : ETX_DISPATCH(rotate_halves);
  const float* const x = arguments.input<float>(0);
  const float* const cos = arguments.input<float>(1);
  const float* const sin = arguments.input<float>(2);
  float* const y = arguments.output<float>(0);
  const size_t inner = broadcast_.row_size();
  parallel_for(arguments.pool, broadcast_.rows(), kGrain / (inner * size_ + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const size_t c = broadcast_.offset(0, row), s = broadcast_.offset(1, row);
      for (size_t i = 0; i < inner; ++i) {
        const size_t at = (row * inner + i) * size_;
        const size_t cos_at = (c + (broadcast_.moves(0) ? i : 0)) * size_;
        const size_t sin_at = (s + (broadcast_.moves(1) ? i : 0)) * size_;
        rotate(x + at, cos + cos_at, sin + sin_at, size_, y + at);
      }
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
