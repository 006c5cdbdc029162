// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantize.h"

#include <algorithm>
#include <vector>

#include "runtime/ops/op.h"
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
  const Vector inside = clamped(moved, hn::Set(kFloats, p.min), hn::Set(kFloats, p.max));
  return hn::ConvertTo(hn::RebindToSigned<Floats>(), hn::IfThenElse(hn::IsNaN(moved), hn::Zero(kFloats), inside));
}

template <typename T>
void quantize_row(const float* x, T* q, size_t count, const QuantizeParameters& p) {
  const hn::Rebind<T, Floats> to;
  size_t i = 0;
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

// Cuts x into runs of neighbouring elements that share a scale.
class Runs {
 public:
  Runs() = default;
  Runs(const Shape& x, const Shape& scale) : size_(x.numel()) {
    size_t axes = scale.rank; // that are not within one block
    while (axes > 0 && scale[axes - 1] == 1) {
      --axes;
    }
    run_ = x.numel(axes, x.rank);
    if (axes == 0) {
      return;
    }
    run_ *= scale[axes - 1] == 0 ? 1 : x[axes - 1] / scale[axes - 1];
    const Strides strides = dense_strides(scale);
    for (size_t axis = 0; axis < axes; ++axis) {
      const bool is_last = axis + 1 == axes;
      const size_t block = is_last || scale[axis] == 0 ? 1 : x[axis] / scale[axis];
      axes_.push_back({is_last ? scale[axis] : x[axis], block, strides[axis]});
    }
  }

  size_t size() const {
    return run_;
  }
  size_t count() const {
    return size_ == 0 ? 0 : size_ / run_;
  }
  // Which scale run i has.
  size_t scale(size_t i) const {
    size_t result = 0;
    for (size_t axis = axes_.size(); axis-- > 0; i /= axes_[axis].size) {
      result += i % axes_[axis].size / axes_[axis].block * axes_[axis].stride;
    }
    return result;
  }

 private:
  struct Axis {
    size_t size, block, stride;
  };
  size_t size_ = 0, run_ = 1;
  std::vector<Axis> axes_;
};

// function(begin, count, scale): a piece of x that has one scale.
template <typename Function>
void for_pieces(const Runs& runs, pthreadpool_t pool, const Function& function) {
  if (runs.count() == 0) {
    return;
  }
  const size_t size = runs.size(), pieces = (size + kGrain - 1) / kGrain;
  parallel_for(pool, runs.count() * pieces, kGrain / size + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t run = i / pieces, at = i % pieces * kGrain;
      function(run * size + at, std::min(kGrain, size - at), runs.scale(run));
    }
  });
}

QuantizeParameters quantize_parameters(const schema::Quantize& attributes, float scale, int32_t zero_point) {
  return {
      1.0f / scale,
      static_cast<float>(zero_point),
      static_cast<float>(attributes.min()),
      static_cast<float>(attributes.max())};
}

template <typename T>
class Quantize final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    attributes_ = &node.attributes<schema::Quantize>();
    runs_ = Runs(node.input(0).shape, node.input(1).shape);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* const x = arguments.input<float>(0);
    T* const y = arguments.output<T>(0);
    for_pieces(runs_, arguments.pool, [&](size_t begin, size_t count, size_t k) {
      const float scale = arguments.input<float>(1)[k];
      row_(x + begin, y + begin, count, quantize_parameters(*attributes_, scale, arguments.input<int32_t>(2)[k]));
    });
  }

 private:
  const QuantizeRow<T> row_ = quantize_row<T>();
  const schema::Quantize* attributes_ = nullptr; // of the blob, which outlives kernels
  Runs runs_;
};

template <typename T>
class Dequantize final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    runs_ = Runs(node.input(0).shape, node.input(1).shape);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const T* const x = arguments.input<T>(0);
    float* const y = arguments.output<float>(0);
    for_pieces(runs_, arguments.pool, [&](size_t begin, size_t count, size_t k) {
      const auto zero_point = static_cast<float>(arguments.input<int32_t>(2)[k]);
      row_(x + begin, y + begin, count, arguments.input<float>(1)[k], zero_point);
    });
  }

 private:
  const DequantizeRow<T> row_ = dequantize_row<T>();
  Runs runs_;
};

// Rows have one scale for all. An operand that does not move is as good as one element.
template <typename T>
class FusedQuantize final : public Row {
 public:
  explicit FusedQuantize(const schema::Quantize& attributes) : attributes_(attributes) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    T* const q = static_cast<T*>(y);
    const float scale = *static_cast<const float*>(operands[1].data);
    const int32_t zero_point = *static_cast<const int32_t*>(operands[2].data);
    const size_t different = operands[0].moves ? count : 1;
    row_(
        static_cast<const float*>(operands[0].data), q, different, quantize_parameters(attributes_, scale, zero_point));
    std::fill(q + different, q + count, q[0]);
  }

 private:
  const QuantizeRow<T> row_ = quantize_row<T>();
  const schema::Quantize& attributes_; // of the blob, which outlives kernels
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

// Whether it stays so at any size.
bool has_one_scale(const NodeContext& node) {
  const Shape& scale = node.input(1).shape;
  return scale.rank == 0 || (node.is_constant(1) && scale.numel() == 1);
}

} // namespace

std::unique_ptr<Kernel> make_quantize(const NodeContext& node) {
  if (node.output().dtype == DType::Int8) {
    return std::make_unique<Quantize<int8_t>>();
  }
  return std::make_unique<Quantize<uint8_t>>();
}

std::unique_ptr<Kernel> make_dequantize(const NodeContext& node) {
  switch (node.input(0).dtype) {
    case DType::Int8:
      return std::make_unique<Dequantize<int8_t>>();
    case DType::UInt8:
      return std::make_unique<Dequantize<uint8_t>>();
    default:
      return std::make_unique<Dequantize<int32_t>>();
  }
}

std::unique_ptr<Row> make_quantize_row(const NodeContext& node) {
  if (!has_one_scale(node)) {
    return nullptr;
  }
  const auto& attributes = node.attributes<schema::Quantize>();
  if (node.output().dtype == DType::Int8) {
    return std::make_unique<FusedQuantize<int8_t>>(attributes);
  }
  return std::make_unique<FusedQuantize<uint8_t>>(attributes);
}

std::unique_ptr<Row> make_dequantize_row(const NodeContext& node) {
  if (!has_one_scale(node)) {
    return nullptr;
  }
  switch (node.input(0).dtype) {
    case DType::Int8:
      return std::make_unique<FusedDequantize<int8_t>>();
    case DType::UInt8:
      return std::make_unique<FusedDequantize<uint8_t>>();
    default:
      return std::make_unique<FusedDequantize<int32_t>>();
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
