// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantized_linear.h"

#include <algorithm>

#include "runtime/base/memory.h"
#include "runtime/kernels/quantize/choose_qparams.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/quantized_linear.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/transpose-inl.h"
#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Floats>;
using Bytes = hn::Rebind<int8_t, Floats>;
constexpr Integers kIntegers{};
constexpr Bytes kBytes{};

HWY_INLINE Vector widen(hn::Vec<Bytes> bytes) {
  return hn::ConvertTo(kFloats, hn::PromoteTo(kIntegers, bytes));
}

// kRows rows from `row` on of kColumns columns from `column` on.
template <size_t kRows, size_t kColumns>
HWY_INLINE void multiply_tile(const QuantizedProduct& p, size_t row, size_t column) {
  const size_t size = p.depth / p.groups;
  Vector total[kColumns][kRows], sum[kColumns][kRows];
  const auto clear = [](auto& sums) HWY_ATTR {
    HWY_UNROLL(4)
    for (auto& of_column : sums) {
      HWY_UNROLL(4)
      for (Vector& v : of_column) {
        v = hn::Zero(kFloats);
      }
    }
  };
  clear(total);
  for (size_t g = 0; g < p.groups; ++g) {
    Vector offset[kColumns];
    HWY_UNROLL(4)
    for (size_t c = 0; c < kColumns; ++c) {
      offset[c] = hn::Set(kFloats, p.offset(column + c, g));
    }
    clear(sum);
    const auto step = [&](size_t i, const auto& load_bytes, const auto& load_floats) HWY_ATTR {
      Vector x[kRows];
      HWY_UNROLL(4)
      for (size_t r = 0; r < kRows; ++r) {
        x[r] = load_floats(p.x + (row + r) * p.depth + g * size + i);
      }
      HWY_UNROLL(4)
      for (size_t c = 0; c < kColumns; ++c) {
        const int8_t* const from = p.weight + (column + c) * p.depth + g * size + i;
        if constexpr (kRows < 4) {
          __builtin_prefetch(from + kColumns * p.depth, 0, 2); // rows are too short for a prefetcher of the CPU to see
        }
        const Vector w = hn::Sub(widen(load_bytes(from)), offset[c]);
        HWY_UNROLL(4)
        for (size_t r = 0; r < kRows; ++r) {
          sum[c][r] = hn::MulAdd(w, x[r], sum[c][r]);
        }
      }
    };
    size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      step(
          i,
          [](const int8_t* from) HWY_ATTR { return hn::LoadU(kBytes, from); },
          [](const float* from) HWY_ATTR { return hn::LoadU(kFloats, from); });
    }
    if (i < size) {
      const size_t rest = size - i;
      step(
          i,
          [rest](const int8_t* from) HWY_ATTR { return hn::LoadN(kBytes, from, rest); },
          [rest](const float* from) HWY_ATTR { return hn::LoadN(kFloats, from, rest); });
    }
    HWY_UNROLL(4)
    for (size_t c = 0; c < kColumns; ++c) {
      const Vector scale = hn::Set(kFloats, p.scale[(column + c) * p.groups + g]);
      HWY_UNROLL(4)
      for (size_t r = 0; r < kRows; ++r) {
        total[c][r] = hn::MulAdd(sum[c][r], scale, total[c][r]);
      }
    }
  }
  HWY_UNROLL(4)
  for (size_t c = 0; c < kColumns; ++c) {
    const float bias = p.bias == nullptr ? 0.0f : p.bias[column + c];
    HWY_UNROLL(4)
    for (size_t r = 0; r < kRows; ++r) {
      const float y = hn::ReduceSum(kFloats, total[c][r]) + bias;
      p.y[(row + r) * p.columns + column + c] = y < p.min ? p.min : y > p.max ? p.max : y;
    }
  }
}

template <size_t kRows>
HWY_INLINE void multiply_rows(const QuantizedProduct& p, size_t row, size_t begin, size_t end) {
  constexpr size_t kColumns = 4; // hide the latency of sums
  size_t column = begin;
  for (; column + kColumns <= end; column += kColumns) {
    multiply_tile<kRows, kColumns>(p, row, column);
  }
  for (; column < end; ++column) {
    multiply_tile<kRows, 1>(p, row, column);
  }
}

// Columns [begin, end) of the result.
void multiply_quantized(const QuantizedProduct& p, size_t begin, size_t end) {
  size_t row = 0;
  for (; row + 4 <= p.rows; row += 4) {
    multiply_rows<4>(p, row, begin, end);
  }
  for (; row + 2 <= p.rows; row += 2) {
    multiply_rows<2>(p, row, begin, end);
  }
  for (; row < p.rows; ++row) {
    multiply_rows<1>(p, row, begin, end);
  }
}

// Of a group of kLanes columns from `column` on, of which there are `columns`: what is subtracted from integers, and
// what they are multiplied by. Zeros for columns that there are not.
HWY_INLINE void group_scales(
    const QuantizedProduct& p, size_t column, size_t columns, size_t group, Vector* offset, Vector* scale) {
  const float* const first = p.scale + column * p.groups + group;
  if (columns == kLanes && p.zero_point == nullptr) {
    const auto index = hn::Mul(hn::Iota(kIntegers, 0), hn::Set(kIntegers, static_cast<int32_t>(p.groups)));
    *offset = hn::Set(kFloats, p.offset(column, group));
    *scale = hn::GatherIndex(kFloats, first, index);
    return;
  }
  HWY_ALIGN float offsets[kLanes] = {}, scales[kLanes] = {};
  for (size_t c = 0; c < columns; ++c) {
    offsets[c] = p.offset(column + c, group);
    scales[c] = first[c * p.groups];
  }
  *offset = hn::Load(kFloats, offsets);
  *scale = hn::Load(kFloats, scales);
}

// Writes columns [column, column + width) as a panel of floats, [depth, width].
void write_panel(const void* product, size_t column, size_t width, float* to) {
  constexpr size_t kCopied = 256; // numbers of a column, so that squares read them from the cache
  const auto& p = *static_cast<const QuantizedProduct*>(product);
  const size_t size = p.depth / p.groups;
  HWY_ALIGN int8_t copy[kLanes][kCopied + HWY_MAX_BYTES] = {};
  for (size_t first = 0; first < width; first += kLanes, column += kLanes) {
    const size_t columns = std::min(kLanes, p.columns - std::min(p.columns, column));
    const int8_t* const weight = p.weight + column * p.depth;
    for (size_t begin = 0, end = 0; begin < p.depth; begin = end) {
      end = size < kCopied ? begin + kCopied / size * size : std::min(begin + kCopied, (begin / size + 1) * size);
      end = std::min(end, p.depth);
      for (size_t c = 0; c < columns; ++c) {
        std::copy(weight + c * p.depth + begin, weight + c * p.depth + end, copy[c]);
      }
      for (size_t i = begin; i < end;) {
        const size_t group = i / size, group_end = std::min(end, (group + 1) * size);
        Vector offset, scale;
        group_scales(p, column, columns, group, &offset, &scale);
        for (; i < group_end; i += kLanes) {
          hn::Vec<Bytes> square[kLanes];
          HWY_UNROLL(16)
          for (size_t c = 0; c < kLanes; ++c) {
            square[c] = hn::LoadU(kBytes, copy[c] + (i - begin));
          }
          transpose_halves(kBytes, square);
          const size_t count = std::min(kLanes, group_end - i);
          float* const y = to + i * width + first;
          HWY_UNROLL(16)
          for (size_t k = 0; k < kLanes; ++k) {
            if (k < count) {
              hn::StoreU(hn::Mul(hn::Sub(widen(square[k]), offset), scale), kFloats, y + k * width);
            }
          }
        }
        i = group_end;
      }
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_quantized);
HWY_EXPORT(write_panel);

namespace {

// Up to how many rows weights are read as they are, with one scale for each column and with several.
constexpr size_t kFewRows = 16, kFewRowsOfGroups = 8;
constexpr size_t kGrain = 65536; // bytes of weights, or elements

} // namespace

LowPrecisionProduct product_in_floats(
    const QuantizedLinearParameters& parameters, decltype(LowPrecisionProduct::write_panel) write_panel) {
  LowPrecisionProduct product;
  product.precision.type = DType::Float32;
  product.write_panel = write_panel;
  product.rows = parameters.rows;
  product.depth = product.x_stride = parameters.depth;
  product.columns = product.y_stride = parameters.columns;
  product.min = parameters.min;
  product.max = parameters.max;
  return product;
}

void fake_quantize_rows(const float* x, float* y, size_t rows, size_t depth, pthreadpool_t pool) {
  parallel_for(pool, rows, kGrain / depth + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      fake_quantize_to_int8(x + row * depth, y + row * depth, depth);
    }
  });
}

size_t QuantizedLinear::reshape(const QuantizedLinearParameters& parameters, size_t num_threads) {
  parameters_ = parameters;
  product_ = {};
  product_.rows = parameters.rows;
  product_.depth = parameters.depth;
  product_.columns = parameters.columns;
  product_.groups = parameters.groups;
  product_.min = parameters.min;
  product_.max = parameters.max;
  few_rows_ = product_.rows <= (product_.groups == 1 ? kFewRows : kFewRowsOfGroups);
  rows_bytes_ =
      parameters.dynamic_quantization ? round_up_to_alignment(product_.rows * product_.depth * sizeof(float)) : 0;
  const LowPrecisionProduct in_floats = product_in_floats(parameters, ETX_DISPATCH(write_panel));
  return rows_bytes_ + (few_rows_ ? 0 : low_precision_product_scratch(in_floats, std::max<size_t>(num_threads, 1)));
}

void QuantizedLinear::run(const KernelArguments& arguments) {
  QuantizedProduct p = product_;
  p.x = arguments.input<float>(0);
  if (parameters_.dynamic_quantization) {
    float* const rounded = static_cast<float*>(arguments.scratch);
    fake_quantize_rows(p.x, rounded, p.rows, p.depth, arguments.pool);
    p.x = rounded;
  }
  p.weight = arguments.input<int8_t>(1);
  p.scale = arguments.input<float>(2);
  p.bias = arguments.input<float>(3);
  p.zero_point = arguments.input<int32_t>(4);
  p.y = arguments.output<float>(0);
  if (few_rows_) {
    const auto multiply = ETX_DISPATCH(multiply_quantized);
    const size_t grain = kGrain / (p.depth * p.rows + 1) + 4;
    parallel_for(arguments.pool, p.columns, grain / 4 * 4, [&](size_t begin, size_t end) { multiply(p, begin, end); });
    return;
  }
  LowPrecisionProduct product = product_in_floats(parameters_, ETX_DISPATCH(write_panel));
  product.x = p.x;
  product.panels = &p;
  product.bias = p.bias;
  product.y = p.y;
  multiply_low_precision(product, static_cast<char*>(arguments.scratch) + rows_bytes_, arguments.pool);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
