// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "recurrent.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/recurrent/recurrent.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/low_precision_product.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

HWY_INLINE Vector set(float value) {
  return hn::Set(kFloats, value);
}

HWY_INLINE Vector sigmoid(Vector x) {
  const Vector e = exp_nonpositive(hn::Neg(hn::Abs(x)));
  const Vector y = divide(set(1), hn::Add(set(1), e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), hn::Mul(e, y), y);
}

HWY_INLINE Vector hyperbolic_tangent(Vector x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(kFloats, x));
}

// Gates at element i, and where the results go; the last vector may be partial.
template <bool kPartial>
struct Lanes {
  const RecurrentCell& c;
  size_t i, count;

  HWY_INLINE Vector load(const float* from) const {
    return kPartial ? hn::LoadN(kFloats, from + i, count) : hn::LoadU(kFloats, from + i);
  }
  HWY_INLINE void store(Vector v, float* to) const {
    if (kPartial) {
      hn::StoreN(v, kFloats, to + i, count);
    } else {
      hn::StoreU(v, kFloats, to + i);
    }
  }
  HWY_INLINE Vector x(size_t gate) const {
    return load(c.x + gate * c.size);
  }
  HWY_INLINE Vector product(size_t gate) const {
    return load(c.product + gate * c.size);
  }
  HWY_INLINE Vector gate(size_t gate) const {
    return hn::Add(x(gate), product(gate));
  }
};

struct Lstm {
  template <bool kPartial>
  static HWY_INLINE void step(const Lanes<kPartial>& l) {
    const Vector input = sigmoid(l.gate(0)), forget = sigmoid(l.gate(1));
    const Vector update = hyperbolic_tangent(l.gate(2)), output = sigmoid(l.gate(3));
    const Vector cell = hn::MulAdd(forget, l.load(l.c.state), hn::Mul(input, update));
    l.store(cell, l.c.cell);
    l.store(hn::Mul(output, hyperbolic_tangent(cell)), l.c.h);
  }
};

struct Gru {
  template <bool kPartial>
  static HWY_INLINE void step(const Lanes<kPartial>& l) {
    const Vector reset = sigmoid(l.gate(0)), keep = sigmoid(l.gate(1));
    const Vector update = hyperbolic_tangent(hn::MulAdd(reset, l.product(2), l.x(2)));
    const Vector before = l.load(l.c.state);
    l.store(hn::MulAdd(keep, hn::Sub(before, update), update), l.c.h);
  }
};

struct Tanh {
  template <bool kPartial>
  static HWY_INLINE void step(const Lanes<kPartial>& l) {
    l.store(hyperbolic_tangent(l.gate(0)), l.c.h);
  }
};

struct Relu {
  template <bool kPartial>
  static HWY_INLINE void step(const Lanes<kPartial>& l) {
    l.store(at_least(hn::Zero(kFloats), l.gate(0)), l.c.h);
  }
};

template <typename Kind>
void cell(const RecurrentCell& c) {
  size_t i = 0;
  for (; i + kLanes <= c.size; i += kLanes) {
    Kind::step(Lanes<false>{c, i, kLanes});
  }
  if (i < c.size) {
    Kind::step(Lanes<true>{c, i, c.size - i});
  }
}

RecurrentCellFunction choose_cell(RecurrentCellType type) {
  switch (type) {
    case RecurrentCellType::Lstm:
      return cell<Lstm>;
    case RecurrentCellType::Gru:
      return cell<Gru>;
    case RecurrentCellType::Tanh:
      return cell<Tanh>;
    case RecurrentCellType::Relu:
      break;
  }
  return cell<Relu>;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_cell);

namespace {

constexpr size_t kGrain = 4096; // elements
constexpr LowPrecision kPrecision{DType::Float32};

// The same product with a packed weight.
LowPrecisionProduct in_panels(const MatrixProduct& product) {
  LowPrecisionProduct p;
  p.x = product.a;
  p.x_stride = product.a_stride;
  p.panels = product.b;
  p.precision = kPrecision;
  p.bias = product.bias;
  p.y = product.c;
  p.y_stride = product.c_stride;
  p.rows = product.rows;
  p.depth = product.depth;
  p.columns = product.columns;
  return p;
}

size_t scratch_of(const MatrixProduct& product, bool is_packed, size_t num_threads) {
  return is_packed ? low_precision_product_scratch(in_panels(product), num_threads)
                   : matrix_product_scratch(product, num_threads);
}

void multiply(const MatrixProduct& product, bool is_packed, bool backward, void* scratch, pthreadpool_t pool) {
  if (is_packed) {
    LowPrecisionProduct packed = in_panels(product);
    packed.backward = backward;
    multiply_low_precision(packed, scratch, pool);
  } else {
    multiply_matrices(product, scratch, pool);
  }
}

// Rows and columns of a weight.
std::pair<size_t, size_t> weight_shape(const RecurrentParameters& p, size_t i) {
  return i == 1 ? std::pair(p.gates, p.output) : std::pair(p.output, p.hidden);
}

} // namespace

std::optional<std::string> Recurrent::packed_layout(const RecurrentParameters& p, size_t i) {
  const bool packs = (i == 1 && p.packs_weight) || (i == 5 && p.packs_projection);
  return packs ? std::optional(low_precision_layout(kPrecision)) : std::nullopt;
}

size_t Recurrent::packed_bytes(const RecurrentParameters& p, size_t i) {
  const auto [rows, columns] = weight_shape(p, i);
  return low_precision_panels_bytes(kPrecision, rows, columns);
}

Status Recurrent::pack(const RecurrentParameters& p, size_t i, const void* original, void* packed) {
  const auto [rows, columns] = weight_shape(p, i);
  const size_t tap = 0;
  pack_low_precision(kPrecision, original, rows, columns, {&tap, 1}, columns, packed);
  return {};
}

size_t Recurrent::reshape(const RecurrentParameters& parameters, size_t num_threads) {
  p_ = parameters;
  cell_ = ETX_DISPATCH(choose_cell)(p_.type);

  product_ = {};
  product_.rows = p_.batch;
  product_.columns = product_.c_stride = p_.gates;
  product_.depth = product_.a_stride = product_.b_stride = p_.output;
  product_.b_transposed = true;
  projection_ = {};
  projection_.rows = p_.batch;
  projection_.columns = projection_.c_stride = p_.output;
  projection_.depth = projection_.a_stride = projection_.b_stride = p_.hidden;
  projection_.b_transposed = true;

  const auto up = [](size_t floats) { return round_up(floats, 16); };
  products_ = 0;
  zeros_ = products_ + up(p_.batch * p_.gates);
  cells_ = zeros_ + up(p_.batch * std::max(p_.output, p_.hidden));
  unprojected_ = cells_ + up(p_.type == RecurrentCellType::Lstm ? p_.batch * p_.hidden : 0);
  matrices_ = unprojected_ + up(p_.projects ? p_.batch * p_.hidden : 0);
  const size_t one = scratch_of(product_, p_.packs_weight, num_threads);
  const size_t other = p_.projects ? scratch_of(projection_, p_.packs_projection, num_threads) : 0;
  return matrices_ * sizeof(float) + std::max(one, other);
}

void Recurrent::run(const KernelArguments& arguments) {
  float* const scratch = static_cast<float*>(arguments.scratch);
  std::fill_n(scratch + zeros_, p_.batch * std::max(p_.output, p_.hidden), 0.0f);
  const float* h = arguments.input<float>(3) == nullptr ? scratch + zeros_ : arguments.input<float>(3);
  const float* cells = arguments.input<float>(4) == nullptr ? scratch + zeros_ : arguments.input<float>(4);
  for (size_t i = 0; i < p_.steps; ++i) {
    const size_t step = p_.reverse ? p_.steps - 1 - i : i;
    float* const y = arguments.output<float>(0) + step * p_.batch * p_.output;
    advance(arguments, step, h, cells, y);
    h = y;
    cells = scratch + cells_;
  }
  std::memcpy(arguments.output<float>(1), h, p_.batch * p_.output * sizeof(float));
  if (p_.type == RecurrentCellType::Lstm) {
    std::memcpy(arguments.output<float>(2), cells, p_.batch * p_.hidden * sizeof(float));
  }
}

void Recurrent::advance(
    const KernelArguments& arguments, size_t step, const float* h, const float* cells, float* y) const {
  const float* const x = arguments.input<float>(0) + step * p_.batch * p_.gates;
  const bool backward = step % 2 == 1;
  float* const scratch = static_cast<float*>(arguments.scratch);
  MatrixProduct product = product_;
  product.a = h;
  product.b = arguments.input<float>(1);
  product.bias = arguments.input<float>(2);
  product.c = scratch + products_;
  multiply(product, p_.packs_weight, backward, scratch + matrices_, arguments.pool);
  float* const out = p_.projects ? scratch + unprojected_ : y;
  const bool is_lstm = p_.type == RecurrentCellType::Lstm;
  parallel_for(arguments.pool, p_.batch, kGrain / p_.hidden + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      RecurrentCell cell{};
      cell.size = p_.hidden;
      cell.x = x + row * p_.gates;
      cell.product = product.c + row * p_.gates;
      cell.state = (is_lstm ? cells : h) + row * p_.hidden;
      cell.cell = scratch + cells_ + row * p_.hidden;
      cell.h = out + row * p_.hidden;
      cell_(cell);
    }
  });
  if (p_.projects) {
    MatrixProduct projection = projection_;
    projection.a = out;
    projection.b = arguments.input<float>(5);
    projection.c = y;
    multiply(projection, p_.packs_projection, backward, scratch + matrices_, arguments.pool);
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
