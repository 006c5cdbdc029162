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

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Floats>;
using Bytes = hn::Rebind<int8_t, Floats>;
using UnsignedBytes = hn::Rebind<uint8_t, Floats>;
constexpr Integers kIntegers{};
constexpr Bytes kBytes{};
constexpr UnsignedBytes kUnsignedBytes{};

// A vector of weights, or with 4 bits the two vectors of even and of odd ones.
struct Weights8 {
  static constexpr size_t kVectors = 1;
  static HWY_INLINE void get(hn::Vec<UnsignedBytes> bytes, Vector offset, Vector (&w)[1]) {
    w[0] = hn::Sub(hn::ConvertTo(kFloats, hn::PromoteTo(kIntegers, hn::BitCast(kBytes, bytes))), offset);
  }
  static HWY_INLINE void store(const Vector (&w)[1], float* y) {
    hn::StoreU(w[0], kFloats, y);
  }
};
struct Weights4 {
  static constexpr size_t kVectors = 2;
  static HWY_INLINE void get(hn::Vec<UnsignedBytes> bytes, Vector offset, Vector (&w)[2]) {
    const auto both = hn::PromoteTo(kIntegers, bytes);
    w[0] = hn::Sub(hn::ConvertTo(kFloats, hn::And(both, hn::Set(kIntegers, 15))), offset);
    w[1] = hn::Sub(hn::ConvertTo(kFloats, hn::ShiftRight<4>(both)), offset);
  }
  static HWY_INLINE void store(const Vector (&w)[2], float* y) {
    hn::StoreInterleaved2(w[0], w[1], kFloats, y);
  }
};

// kRows rows from `row` on of kColumns columns from `column` on.
template <typename Weights, size_t kRows, size_t kColumns>
HWY_INLINE void multiply_tile(const QuantizedProduct& p, size_t row, size_t column) {
  constexpr size_t kVectors = Weights::kVectors;
  const size_t bytes = p.row_bytes(), size = bytes / p.groups;
  Vector total[kColumns][kRows];
  for (auto& of_column : total) {
    for (Vector& v : of_column) {
      v = hn::Zero(kFloats);
    }
  }
  for (size_t g = 0; g < p.groups; ++g) {
    Vector sum[kColumns][kRows], offset[kColumns];
    for (size_t c = 0; c < kColumns; ++c) {
      offset[c] = hn::Set(kFloats, p.offset(column + c, g));
      for (Vector& v : sum[c]) {
        v = hn::Zero(kFloats);
      }
    }
    const auto step = [&](size_t i, const auto& load_bytes, const auto& load_floats) HWY_ATTR {
      Vector x[kRows][kVectors];
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t k = 0; k < kVectors; ++k) {
          x[r][k] = load_floats(p.x + (row + r) * p.depth + k * bytes + g * size + i);
        }
      }
      for (size_t c = 0; c < kColumns; ++c) {
        Vector w[kVectors];
        Weights::get(load_bytes(p.weight + (column + c) * bytes + g * size + i), offset[c], w);
        for (size_t r = 0; r < kRows; ++r) {
          for (size_t k = 0; k < kVectors; ++k) {
            sum[c][r] = hn::MulAdd(w[k], x[r][k], sum[c][r]);
          }
        }
      }
    };
    size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      step(
          i,
          [](const uint8_t* from) HWY_ATTR { return hn::LoadU(kUnsignedBytes, from); },
          [](const float* from) HWY_ATTR { return hn::LoadU(kFloats, from); });
    }
    if (i < size) {
      const size_t rest = size - i;
      step(
          i,
          [rest](const uint8_t* from) HWY_ATTR { return hn::LoadN(kUnsignedBytes, from, rest); },
          [rest](const float* from) HWY_ATTR { return hn::LoadN(kFloats, from, rest); });
    }
    for (size_t c = 0; c < kColumns; ++c) {
      const Vector scale = hn::Set(kFloats, p.scale[(column + c) * p.groups + g]);
      for (size_t r = 0; r < kRows; ++r) {
        total[c][r] = hn::MulAdd(sum[c][r], scale, total[c][r]);
      }
    }
  }
  for (size_t c = 0; c < kColumns; ++c) {
    const float bias = p.bias == nullptr ? 0.0f : p.bias[column + c];
    for (size_t r = 0; r < kRows; ++r) {
      const float y = hn::ReduceSum(kFloats, total[c][r]) + bias;
      p.y[(row + r) * p.columns + column + c] = y < p.min ? p.min : y > p.max ? p.max : y;
    }
  }
}

template <typename Weights, size_t kRows>
HWY_INLINE void multiply_rows(const QuantizedProduct& p, size_t row, size_t begin, size_t end) {
  constexpr size_t kColumns = 4; // hide the latency of sums
  size_t column = begin;
  for (; column + kColumns <= end; column += kColumns) {
    multiply_tile<Weights, kRows, kColumns>(p, row, column);
  }
  for (; column < end; ++column) {
    multiply_tile<Weights, kRows, 1>(p, row, column);
  }
}

template <typename Weights>
void multiply_columns(const QuantizedProduct& p, size_t begin, size_t end) {
  size_t row = 0;
  for (; row + 4 <= p.rows; row += 4) {
    multiply_rows<Weights, 4>(p, row, begin, end);
  }
  for (; row < p.rows; ++row) {
    multiply_rows<Weights, 1>(p, row, begin, end);
  }
}

// The weights of a column as numbers.
template <typename Weights>
void widen_column(const QuantizedProduct& p, size_t column, float* y) {
  constexpr size_t kVectors = Weights::kVectors;
  const size_t bytes = p.row_bytes(), size = bytes / p.groups;
  const uint8_t* from = p.weight + column * bytes;
  for (size_t g = 0; g < p.groups; ++g, from += size, y += size * kVectors) {
    const Vector scale = hn::Set(kFloats, p.scale[column * p.groups + g]);
    const Vector offset = hn::Set(kFloats, p.offset(column, g));
    const auto widen = [&](hn::Vec<UnsignedBytes> vector, float* to) HWY_ATTR {
      Vector w[kVectors];
      Weights::get(vector, offset, w);
      for (Vector& v : w) {
        v = hn::Mul(v, scale);
      }
      Weights::store(w, to);
    };
    size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      widen(hn::LoadU(kUnsignedBytes, from + i), y + i * kVectors);
    }
    if (i < size) {
      HWY_ALIGN float rest[kLanes * kVectors];
      widen(hn::LoadN(kUnsignedBytes, from + i, size - i), rest);
      std::copy_n(rest, (size - i) * kVectors, y + i * kVectors);
    }
  }
}

void widen_columns(const QuantizedProduct& p, size_t begin, size_t end, float* y) {
  for (size_t column = begin; column < end; ++column, y += p.depth) {
    if (p.is_4bit) {
      widen_column<Weights4>(p, column, y);
    } else {
      widen_column<Weights8>(p, column, y);
    }
  }
}

// Columns [begin, end) of the result.
void multiply_quantized(const QuantizedProduct& p, size_t begin, size_t end) {
  if (p.is_4bit) {
    multiply_columns<Weights4>(p, begin, end);
  } else {
    multiply_columns<Weights8>(p, begin, end);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_quantized);
HWY_EXPORT(widen_columns);

namespace {

constexpr size_t kFewRows = 16; // up to which weights are read as they are
constexpr size_t kBlock = 64; // columns that are widened at a time
constexpr size_t kGrain = 65536; // bytes of weights, or elements

// The even elements, then the odd ones.
void split(const float* from, float* x, size_t count) {
  for (size_t i = 0; i < count / 2; ++i) {
    x[i] = from[2 * i];
    x[count / 2 + i] = from[2 * i + 1];
  }
}

} // namespace

size_t QuantizedLinear::reshape(const QuantizedLinearParameters& parameters, size_t num_threads) {
  product_ = {};
  product_.rows = parameters.rows;
  product_.depth = parameters.depth;
  product_.columns = parameters.columns;
  product_.groups = parameters.groups;
  product_.is_4bit = parameters.is_4bit;
  product_.min = parameters.min;
  product_.max = parameters.max;
  dynamic_quantization_ = parameters.dynamic_quantization;
  few_rows_ = product_.rows <= kFewRows;
  const bool prepares = dynamic_quantization_ || (few_rows_ && product_.is_4bit);
  rows_bytes_ = prepares ? round_up_to_alignment(product_.rows * product_.depth * sizeof(float)) : 0;
  block_bytes_ = thread_bytes_ = 0;
  if (!few_rows_) {
    block_bytes_ = round_up_to_alignment(kBlock * product_.depth * sizeof(float));
    thread_bytes_ = block_bytes_ + round_up_to_alignment(matrix_product_scratch(block_product(kBlock), 1));
  }
  return 2 * rows_bytes_ + thread_bytes_ * std::max<size_t>(num_threads, 1);
}

void QuantizedLinear::run(const KernelArguments& arguments) {
  QuantizedProduct p = product_;
  p.x = prepared(arguments);
  p.weight = arguments.input<uint8_t>(1);
  p.scale = arguments.input<float>(2);
  p.bias = arguments.input<float>(3);
  p.zero_point = arguments.input<int32_t>(4);
  p.y = arguments.output<float>(0);
  if (few_rows_) {
    const auto multiply = ETX_DISPATCH(multiply_quantized);
    const size_t grain = kGrain / (p.row_bytes() * p.rows + 1) + 4;
    parallel_for(arguments.pool, p.columns, grain / 4 * 4, [&](size_t begin, size_t end) { multiply(p, begin, end); });
    return;
  }
  const auto widen = ETX_DISPATCH(widen_columns);
  const size_t blocks = (p.columns + kBlock - 1) / kBlock;
  parallel_for_with_thread(arguments.pool, blocks, [&](size_t thread, size_t block) {
    char* const scratch = static_cast<char*>(arguments.scratch) + 2 * rows_bytes_ + thread * thread_bytes_;
    float* const weights = reinterpret_cast<float*>(scratch);
    const size_t begin = block * kBlock, end = std::min(p.columns, begin + kBlock);
    widen(p, begin, end, weights);
    MatrixProduct product = block_product(end - begin);
    product.a = p.x;
    product.b = weights;
    product.bias = p.bias == nullptr ? nullptr : p.bias + begin;
    product.c = p.y + begin;
    multiply_matrices(product, scratch + block_bytes_, nullptr);
  });
}

MatrixProduct QuantizedLinear::block_product(size_t columns) const {
  MatrixProduct product;
  product.rows = product_.rows;
  product.columns = columns;
  product.depth = product.a_stride = product.b_stride = product_.depth;
  product.b_transposed = true;
  product.c_stride = product_.columns;
  product.min = product_.min;
  product.max = product_.max;
  return product;
}

// The rows of x as the product takes them.
const float* QuantizedLinear::prepared(const KernelArguments& arguments) const {
  const size_t depth = product_.depth;
  const float* x = arguments.input<float>(0);
  char* scratch = static_cast<char*>(arguments.scratch);
  const auto each_row = [&](void (*function)(const float*, float*, size_t)) {
    float* const y = reinterpret_cast<float*>(scratch);
    parallel_for(arguments.pool, product_.rows, kGrain / depth + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        function(x + row * depth, y + row * depth, depth);
      }
    });
    x = y;
    scratch += rows_bytes_;
  };
  if (dynamic_quantization_) {
    each_row(fake_quantize_to_int8);
  }
  if (few_rows_ && product_.is_4bit) {
    each_row(split);
  }
  return x;
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
