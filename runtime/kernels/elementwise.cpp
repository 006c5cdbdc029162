// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../ops/op.h"
#include "data_movement.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;

// Both let NaN through.
float at_least(float x, float low) {
  return x < low ? low : x;
}
float at_most(float x, float high) {
  return x > high ? high : x;
}

float apply(UnaryKind kind, float x, float alpha, float low, float high) {
  switch (kind) {
    case UnaryKind::Abs:
      return std::fabs(x);
    case UnaryKind::Ceil:
      return std::ceil(x);
    case UnaryKind::Clamp:
      return at_most(at_least(x, low), high);
    case UnaryKind::Copy:
      return x;
    case UnaryKind::Cos:
      return std::cos(x);
    case UnaryKind::Elu:
      return x > 0 ? x : alpha * std::expm1(x);
    case UnaryKind::Exp:
      return std::exp(x);
    case UnaryKind::Floor:
      return std::floor(x);
    case UnaryKind::Gelu:
      return 0.5f * x * std::erfc(x * -0.70710678f);
    case UnaryKind::GeluTanh:
      return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    case UnaryKind::HardSigmoid:
      return at_most(at_least(x + 3, 0), 6) / 6;
    case UnaryKind::HardSwish:
      return x * at_most(at_least(x + 3, 0), 6) / 6;
    case UnaryKind::LeakyRelu:
      return x > 0 ? x : x * alpha;
    case UnaryKind::Log:
      return std::log(x);
    case UnaryKind::Neg:
      return -x;
    case UnaryKind::Reciprocal:
      return 1 / x;
    case UnaryKind::Round:
      return std::nearbyint(x);
    case UnaryKind::Rsqrt:
      return 1 / std::sqrt(x);
    case UnaryKind::Sigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryKind::Sign:
      return static_cast<float>((x > 0) - (x < 0));
    case UnaryKind::Silu:
      return x / (1 + std::exp(-x));
    case UnaryKind::Sin:
      return std::sin(x);
    case UnaryKind::Sqrt:
      return std::sqrt(x);
    case UnaryKind::Square:
      return x * x;
    case UnaryKind::Tanh:
      return std::tanh(x);
  }
  return x;
}

// With the sign of b.
float remainder(float a, float b) {
  const float rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The largest integer not above a / b, without the rounding error of that quotient.
float floor_div(float a, float b) {
  if (b == 0) {
    return a / b;
  }
  const float rest = std::fmod(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    quotient -= 1;
  }
  if (quotient == 0) {
    return std::copysign(0.0f, a / b);
  }
  const float floored = std::floor(quotient);
  return quotient - floored > 0.5f ? floored + 1 : floored;
}

float apply(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::Add:
      return a + b;
    case BinaryKind::Sub:
      return a - b;
    case BinaryKind::Mul:
      return a * b;
    case BinaryKind::Div:
      return a / b;
    case BinaryKind::Maximum:
      return a > b || std::isnan(a) ? a : b;
    case BinaryKind::Minimum:
      return a < b || std::isnan(a) ? a : b;
    case BinaryKind::Pow:
      return std::pow(a, b);
    case BinaryKind::Prelu:
      return a > 0 ? a : a * b;
    case BinaryKind::SquaredDifference:
      return (a - b) * (a - b);
    case BinaryKind::Atan2:
      return std::atan2(a, b);
    case BinaryKind::Copysign:
      return std::copysign(a, b);
    case BinaryKind::FloorDiv:
      return floor_div(a, b);
    case BinaryKind::Remainder:
      return remainder(a, b);
    case BinaryKind::Fmod:
      return std::fmod(a, b);
    case BinaryKind::BitAnd:
    case BinaryKind::BitOr:
    case BinaryKind::BitXor:
      break; // of integers only
  }
  return a;
}

class Unary final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Unary>();
    kind_ = attributes.kind();
    alpha_ = attributes.alpha();
    if (attributes.clamp() != nullptr) {
      low_ = attributes.clamp()->min();
      high_ = attributes.clamp()->max();
    }
    count_ = node.output().shape.numel();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* input = static_cast<const float*>(arguments.inputs[0]);
    float* output = static_cast<float*>(arguments.outputs[0]);
    for (size_t i = 0; i < count_; ++i) {
      output[i] = apply(kind_, input[i], alpha_, low_, high_);
    }
  }

 private:
  UnaryKind kind_ = UnaryKind::Copy;
  float alpha_ = 1, low_ = 0, high_ = 0;
  size_t count_ = 0;
};

class Binary final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Binary>();
    kind_ = attributes.kind();
    low_ = attributes.clamp() == nullptr ? -std::numeric_limits<float>::infinity() : attributes.clamp()->min();
    high_ = attributes.clamp() == nullptr ? std::numeric_limits<float>::infinity() : attributes.clamp()->max();
    shape_ = node.output().shape;
    for (size_t i = 0; i < 2; ++i) {
      const Shape& input = node.input(i).shape;
      strides_[i] = {};
      size_t stride = 1;
      for (size_t axis = input.rank; axis-- > 0; stride *= input[axis]) {
        strides_[i][axis + shape_.rank - input.rank] = input[axis] == 1 ? 0 : stride;
      }
    }
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* a = static_cast<const float*>(arguments.inputs[0]);
    const float* b = static_cast<const float*>(arguments.inputs[1]);
    float* output = static_cast<float*>(arguments.outputs[0]);
    for (size_t i = 0; i < shape_.numel(); ++i) {
      size_t rest = i, at_a = 0, at_b = 0;
      for (size_t axis = shape_.rank; axis-- > 0; rest /= shape_[axis]) {
        at_a += rest % shape_[axis] * strides_[0][axis];
        at_b += rest % shape_[axis] * strides_[1][axis];
      }
      output[i] = at_most(at_least(apply(kind_, a[at_a], b[at_b]), low_), high_);
    }
  }

 private:
  BinaryKind kind_ = BinaryKind::Add;
  float low_ = 0, high_ = 0;
  Shape shape_;
  std::array<size_t, kMaxRank> strides_[2]{};
};

} // namespace

std::unique_ptr<Kernel> make_unary(const NodeContext& node) {
  if (node.attributes<schema::Unary>().kind() == UnaryKind::Copy) {
    return make_copy(node);
  }
  return std::make_unique<Unary>();
}

std::unique_ptr<Kernel> make_binary(const NodeContext&) {
  return std::make_unique<Binary>();
}

} // namespace executorch::backends::et_xnnpack
