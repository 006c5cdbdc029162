// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantized_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/memory.h"
#include "runtime/ops/common/common.h"
#include "runtime/kernels/simd/isa.h"
#include "matrix_product.h"
#include "quantized_product.h"

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
namespace {

HWY_EXPORT(multiply_quantized);
HWY_EXPORT(widen_columns);

using schema::QParamsKind;

constexpr size_t kFewRows = 16; // up to which weights are read as they are
constexpr size_t kBlock = 64; // columns that are widened at a time
constexpr size_t kGrain = 65536; // bytes of weights, or elements

struct Range {
  float low = 0, high = 0; // of integers
  QParamsKind kind = QParamsKind::Nearest;
  float epsilon = 0;
};

struct Parameters {
  float scale, zero_point;
};

Parameters choose(const Range& range, const float* x, size_t count) {
  float min = 0, max = 0;
  bool is_nan = false;
  for (size_t i = 0; i < count; ++i) {
    min = std::min(min, x[i]);
    max = std::max(max, x[i]);
    is_nan |= std::isnan(x[i]);
  }
  if (is_nan) {
    min = max = std::numeric_limits<float>::quiet_NaN(); // and so is the scale
  }
  if (range.kind == QParamsKind::Symmetric) {
    const float scale = std::max(std::max(-min, max) / ((range.high - range.low) / 2), range.epsilon);
    return {scale, std::floor((range.high + range.low + 1) / 2)};
  }
  const float scale = std::max((max - min) / (range.high - range.low), range.epsilon);
  const float low = min / scale, high = max / scale;
  float zero_point = range.low - std::nearbyint(low);
  if (range.kind == QParamsKind::Nearest) {
    zero_point = std::nearbyint((range.low + low) + (range.high + high) > 0 ? range.low - low : range.high - high);
  }
  return {scale, std::min(std::max(zero_point, range.low), range.high)};
}

// Rounds to 8 bits and back.
void round_row(const float* x, float* y, size_t count) {
  const Parameters p = choose({-128, 127, QParamsKind::Nearest, 0x1p-23f}, x, count);
  const float inverse = 1 / p.scale;
  for (size_t i = 0; i < count; ++i) {
    const float q = std::nearbyint(x[i] * inverse) + p.zero_point;
    y[i] = (std::min(std::max(q, -128.0f), 127.0f) - p.zero_point) * p.scale;
  }
}

// The even elements, then the odd ones.
void split(float* x, const float* from, size_t count) {
  for (size_t i = 0; i < count / 2; ++i) {
    x[i] = from[2 * i];
    x[count / 2 + i] = from[2 * i + 1];
  }
}

class QuantizedLinear final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const auto& attributes = node.attributes<schema::QuantizedLinear>();
    const Shape& x = node.input(0).shape;
    rounds_ = attributes.dynamic_quantization();
    p_.is_4bit = attributes.bits() == 4;
    p_.depth = x.last();
    p_.rows = x.numel(0, x.rank - 1);
    p_.columns = node.input(1).shape[0];
    p_.groups = node.input(2).shape[1];
    const auto* clamp = attributes.clamp();
    p_.min = clamp_min(clamp);
    p_.max = clamp_max(clamp);
    multiply_ = ETX_DISPATCH(multiply_quantized);
    widen_ = ETX_DISPATCH(widen_columns);
    few_ = p_.rows <= kFewRows;
    row_scratch_ = rounds_ || (few_ && p_.is_4bit) ? round_up_to_alignment(p_.rows * p_.depth * sizeof(float)) : 0;
    block_scratch_ = thread_scratch_ = 0;
    if (!few_) {
      block_scratch_ = round_up_to_alignment(kBlock * p_.depth * sizeof(float));
      thread_scratch_ = block_scratch_ + round_up_to_alignment(matrix_product_scratch(block_product(kBlock), 1));
    }
    return 2 * row_scratch_ + thread_scratch_ * std::max<size_t>(num_threads, 1);
  }

  void run(const KernelArguments& arguments) override {
    QuantizedProduct p = p_;
    p.x = prepared(arguments);
    p.weight = arguments.input<uint8_t>(1);
    p.scale = arguments.input<float>(2);
    p.bias = arguments.input<float>(3);
    p.zero_point = arguments.input<int32_t>(4);
    p.y = arguments.output<float>(0);
    if (few_) {
      const size_t grain = kGrain / (p.row_bytes() * p.rows + 1) + 4;
      parallel_for(
          arguments.pool, p.columns, grain / 4 * 4, [&](size_t begin, size_t end) { multiply_(p, begin, end); });
      return;
    }
    const size_t blocks = (p.columns + kBlock - 1) / kBlock;
    parallel_for_with_thread(arguments.pool, blocks, [&](size_t thread, size_t block) {
      char* const scratch = static_cast<char*>(arguments.scratch) + 2 * row_scratch_ + thread * thread_scratch_;
      float* const weights = reinterpret_cast<float*>(scratch);
      const size_t begin = block * kBlock, end = std::min(p.columns, begin + kBlock);
      widen_(p, begin, end, weights);
      MatrixProduct product = block_product(end - begin);
      product.a = p.x;
      product.b = weights;
      product.bias = p.bias == nullptr ? nullptr : p.bias + begin;
      product.c = p.y + begin;
      multiply_matrices(product, scratch + block_scratch_, nullptr);
    });
  }

 private:
  MatrixProduct block_product(size_t columns) const {
    MatrixProduct product;
    product.rows = p_.rows;
    product.columns = columns;
    product.depth = product.a_stride = product.b_stride = p_.depth;
    product.b_transposed = true;
    product.c_stride = p_.columns;
    product.min = p_.min;
    product.max = p_.max;
    return product;
  }

  // The rows of x as the product takes them.
  const float* prepared(const KernelArguments& arguments) const {
    const float* x = arguments.input<float>(0);
    char* scratch = static_cast<char*>(arguments.scratch);
    const auto each_row = [&](const auto& function) {
      float* const y = reinterpret_cast<float*>(scratch);
      parallel_for(arguments.pool, p_.rows, kGrain / p_.depth + 1, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          function(y + row * p_.depth, x + row * p_.depth);
        }
      });
      x = y;
      scratch += row_scratch_;
    };
    if (rounds_) {
      each_row([&](float* y, const float* row) { round_row(row, y, p_.depth); });
    }
    if (few_ && p_.is_4bit) {
      each_row([&](float* y, const float* row) { split(y, row, p_.depth); });
    }
    return x;
  }

  QuantizedProduct p_;
  void (*multiply_)(const QuantizedProduct&, size_t, size_t) = nullptr;
  void (*widen_)(const QuantizedProduct&, size_t, size_t, float*) = nullptr;
  bool rounds_ = false, few_ = false;
  size_t row_scratch_ = 0, block_scratch_ = 0, thread_scratch_ = 0;
};

class ChooseQParams final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::ChooseQParams>();
    range_ = {
        static_cast<float>(attributes.min()),
        static_cast<float>(attributes.max()),
        attributes.kind(),
        attributes.epsilon()};
    const Shape& x = node.input(0).shape;
    rows_ = x.numel(0, x.rank - attributes.axes());
    size_ = x.numel(x.rank - attributes.axes(), x.rank);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    float* const scale = arguments.output<float>(0);
    int32_t* const zero_point = arguments.output<int32_t>(1);
    parallel_for(arguments.pool, rows_, kGrain / (size_ + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const Parameters p = choose(range_, arguments.input<float>(0) + row * size_, size_);
        scale[row] = p.scale;
        zero_point[row] =
            p.zero_point >= range_.low && p.zero_point <= range_.high ? static_cast<int32_t>(p.zero_point) : 0;
      }
    });
  }

 private:
  Range range_;
  size_t rows_ = 0, size_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_quantized_linear(const NodeContext&) {
  return std::make_unique<QuantizedLinear>();
}
std::unique_ptr<Kernel> make_choose_qparams(const NodeContext&) {
  return std::make_unique<ChooseQParams>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
