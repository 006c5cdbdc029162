// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantize.h"

#include <algorithm>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/move/strided_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/quantize/quantize.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

HWY_INLINE hn::Vec<hn::RebindToSigned<Floats>> quantized(Vector x, const QuantizeParameters& p) {
  const Vector scaled = hn::Round(hn::Mul(x, hn::Set(kFloats, p.inverse_scale)));
  const Vector moved = hn::Add(scaled, hn::Set(kFloats, p.zero_point));
  Vector inside = clamped(moved, hn::Set(kFloats, p.min), hn::Set(kFloats, p.max));
#if !(HWY_TARGET & HWY_ALL_NEON) // which converts NaN to 0 itself
  inside = hn::IfThenElse(hn::IsNaN(moved), hn::Zero(kFloats), inside);
#endif
  return hn::ConvertTo(hn::RebindToSigned<Floats>(), inside);
}

// Four vectors at a time, where the instruction set can make one vector of them.
template <typename T>
HWY_INLINE size_t quantize_vectors(const float* x, T* q, size_t count, const QuantizeParameters& p) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Repartition<int16_t, Floats> halves;
  const hn::Repartition<T, Floats> bytes;
  const auto load = [&](size_t at) HWY_ATTR { return quantized(hn::LoadU(kFloats, x + at), p); };
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    const auto low = hn::OrderedDemote2To(halves, load(i), load(i + kLanes));
    const auto high = hn::OrderedDemote2To(halves, load(i + 2 * kLanes), load(i + 3 * kLanes));
    hn::StoreU(hn::OrderedDemote2To(bytes, low, high), bytes, q + i);
  }
#endif
  return i;
}

template <typename T>
void quantize_row(const float* x, T* q, size_t count, const QuantizeParameters& p) {
  const hn::Rebind<T, Floats> to;
  size_t i = quantize_vectors(x, q, count, p);
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::DemoteTo(to, quantized(hn::LoadU(kFloats, x + i), p)), to, q + i);
  }
  if (i < count) {
    hn::StoreN(hn::DemoteTo(to, quantized(hn::LoadN(kFloats, x + i, count - i), p)), to, q + i, count - i);
  }
}

template <typename T>
HWY_INLINE Vector dequantized(hn::Vec<hn::Rebind<T, Floats>> q, Vector scale, Vector zero_point) {
  const hn::RebindToSigned<Floats> integers;
  if constexpr (sizeof(T) == 4) {
    return hn::Mul(hn::Sub(hn::ConvertTo(kFloats, q), zero_point), scale);
  } else {
    return hn::Mul(hn::Sub(hn::ConvertTo(kFloats, hn::PromoteTo(integers, q)), zero_point), scale);
  }
}

template <typename T>
void dequantize_row(const T* q, float* x, size_t count, float scale, float zero_point) {
  const hn::Rebind<T, Floats> from;
  const Vector factor = hn::Set(kFloats, scale), zero = hn::Set(kFloats, zero_point);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(dequantized<T>(hn::LoadU(from, q + i), factor, zero), kFloats, x + i);
  }
  if (i < count) {
    hn::StoreN(dequantized<T>(hn::LoadN(from, q + i, count - i), factor, zero), kFloats, x + i, count - i);
  }
}

QuantizeRow<int8_t> quantize_int8() {
  return quantize_row<int8_t>;
}
QuantizeRow<uint8_t> quantize_uint8() {
  return quantize_row<uint8_t>;
}
DequantizeRow<int8_t> dequantize_int8() {
  return dequantize_row<int8_t>;
}
DequantizeRow<uint8_t> dequantize_uint8() {
  return dequantize_row<uint8_t>;
}
DequantizeRow<int32_t> dequantize_int32() {
  return dequantize_row<int32_t>;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(quantize_int8);
HWY_EXPORT(quantize_uint8);
HWY_EXPORT(dequantize_int8);
HWY_EXPORT(dequantize_uint8);
HWY_EXPORT(dequantize_int32);

template <>
QuantizeRow<int8_t> quantize_row<int8_t>() {
  return ETX_DISPATCH(quantize_int8)();
}
template <>
QuantizeRow<uint8_t> quantize_row<uint8_t>() {
  return ETX_DISPATCH(quantize_uint8)();
}
template <>
DequantizeRow<int8_t> dequantize_row<int8_t>() {
  return ETX_DISPATCH(dequantize_int8)();
}
template <>
DequantizeRow<uint8_t> dequantize_row<uint8_t>() {
  return ETX_DISPATCH(dequantize_uint8)();
}
template <>
DequantizeRow<int32_t> dequantize_row<int32_t>() {
  return ETX_DISPATCH(dequantize_int32)();
}

namespace {

constexpr size_t kGrain = 32768; // elements

// function(begin, count, scale): a piece of x that has one scale.
template <typename Function>
void for_pieces(const ScaleRuns& runs, pthreadpool_t pool, const Function& function) {
  if (runs.count() == 0) {
    return;
  }
  const size_t size = runs.size(), pieces = divide_up(size, kGrain);
  parallel_for(pool, runs.count() * pieces, kGrain / size + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t run = i / pieces, at = i % pieces * kGrain;
      function(run * size + at, std::min(kGrain, size - at), runs.scale(run));
    }
  });
}

// Calls function(T()) with the type of quantized elements.
template <typename Function>
auto with_integer(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::Int8:
      return function(int8_t());
    case DType::UInt8:
      return function(uint8_t());
    default:
      return function(int32_t());
  }
}

QuantizeParameters row_parameters(float scale, int32_t zero_point, int32_t min, int32_t max) {
  return {1.0f / scale, static_cast<float>(zero_point), static_cast<float>(min), static_cast<float>(max)};
}

// Rows have one scale for all. An operand that does not move is as good as one element.
template <typename T>
class FusedQuantize final : public Row {
 public:
  FusedQuantize(int32_t min, int32_t max) : min_(min), max_(max) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    T* const q = static_cast<T*>(y);
    const float scale = *static_cast<const float*>(operands[1].data);
    const int32_t zero_point = *static_cast<const int32_t*>(operands[2].data);
    const size_t different = operands[0].moves ? count : 1;
    row_(static_cast<const float*>(operands[0].data), q, different, row_parameters(scale, zero_point, min_, max_));
    std::fill(q + different, q + count, q[0]);
  }

 private:
  const QuantizeRow<T> row_ = quantize_row<T>();
  const int32_t min_, max_;
};

template <typename T>
class FusedDequantize final : public Row {
 public:
  void run(const RowOperand* operands, void* y, size_t count) const override {
    float* const x = static_cast<float*>(y);
    const float scale = *static_cast<const float*>(operands[1].data);
    const auto zero_point = static_cast<float>(*static_cast<const int32_t*>(operands[2].data));
    const size_t different = operands[0].moves ? count : 1;
    row_(static_cast<const T*>(operands[0].data), x, different, scale, zero_point);
    std::fill(x + different, x + count, x[0]);
  }

 private:
  const DequantizeRow<T> row_ = dequantize_row<T>();
};

} // namespace

ScaleRuns::ScaleRuns(const Shape& x, const Shape& scale) : size_(x.numel()) {
  size_t axes = scale.rank; // before those that one block has whole
  while (axes > 0 && scale[axes - 1] == 1) {
    --axes;
  }
  run_ = x.numel(axes, x.rank);
  if (axes == 0) {
    return;
  }
  run_ *= scale[axes - 1] == 0 ? 1 : x[axes - 1] / scale[axes - 1];
  const Strides strides = dense_strides(scale);
  for (rank_ = 0; rank_ < axes; ++rank_) {
    const bool is_last = rank_ + 1 == axes;
    const size_t block = is_last || scale[rank_] == 0 ? 1 : x[rank_] / scale[rank_];
    axes_[rank_] = {is_last ? scale[rank_] : x[rank_], block, strides[rank_]};
  }
}

size_t ScaleRuns::scale(size_t i) const {
  size_t result = 0;
  for (size_t axis = rank_; axis-- > 0; i /= axes_[axis].size) {
    result += i % axes_[axis].size / axes_[axis].block * axes_[axis].stride;
  }
  return result;
}

size_t QuantizeTensor::reshape(const QuantizeTensorParameters& parameters, size_t /*num_threads*/) {
  parameters_ = parameters;
  runs_ = ScaleRuns(parameters.shape, parameters.scale);
  return 0;
}

void QuantizeTensor::run(const KernelArguments& arguments) {
  const auto run_as = [&](auto zero) {
    using T = decltype(zero);
    const QuantizeRow<T> row = quantize_row<T>();
    const float* const x = arguments.input<float>(0);
    T* const y = arguments.output<T>(0);
    for_pieces(runs_, arguments.pool, [&](size_t begin, size_t count, size_t k) {
      const float scale = arguments.input<float>(1)[k];
      const int32_t zero_point = arguments.input<int32_t>(2)[k];
      row(x + begin, y + begin, count, row_parameters(scale, zero_point, parameters_.min, parameters_.max));
    });
  };
  parameters_.dtype == DType::Int8 ? run_as(int8_t()) : run_as(uint8_t());
}

size_t DequantizeTensor::reshape(const DequantizeTensorParameters& parameters, size_t /*num_threads*/) {
  dtype_ = parameters.dtype;
  runs_ = ScaleRuns(parameters.shape, parameters.scale);
  return 0;
}

void DequantizeTensor::run(const KernelArguments& arguments) {
  with_integer(dtype_, [&](auto zero) {
    using T = decltype(zero);
    const DequantizeRow<T> row = dequantize_row<T>();
    const T* const x = arguments.input<T>(0);
    float* const y = arguments.output<float>(0);
    for_pieces(runs_, arguments.pool, [&](size_t begin, size_t count, size_t k) {
      const auto zero_point = static_cast<float>(arguments.input<int32_t>(2)[k]);
      row(x + begin, y + begin, count, arguments.input<float>(1)[k], zero_point);
    });
  });
}

std::unique_ptr<Row> make_quantize_row(DType dtype, int32_t min, int32_t max) {
  if (dtype == DType::Int8) {
    return std::make_unique<FusedQuantize<int8_t>>(min, max);
  }
  return std::make_unique<FusedQuantize<uint8_t>>(min, max);
}

std::unique_ptr<Row> make_dequantize_row(DType dtype) {
  return with_integer(
      dtype, [](auto zero) -> std::unique_ptr<Row> { return std::make_unique<FusedDequantize<decltype(zero)>>(); });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
