// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matmul.h"

#include <algorithm>
#include <limits>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class MatMul : public Kernel {
 public:
  void run(const KernelArguments& arguments) override {
    const float* a = static_cast<const float*>(arguments.inputs[0]);
    const float* b = static_cast<const float*>(arguments.inputs[1]);
    const float* bias = arguments.inputs.size() > 2 ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    float* output = static_cast<float*>(arguments.outputs[0]);
    for (size_t i = 0; i < batch_ * m_; ++i) {
      for (size_t j = 0; j < n_; ++j) {
        float sum = bias == nullptr ? 0 : bias[j];
        for (size_t k = 0; k < k_; ++k) {
          sum += a[i * k_ + k] * (b + i / m_ * k_ * n_)[transposed_ ? j * k_ + k : k * n_ + j];
        }
        sum = sum < min_ ? min_ : sum;
        output[i * n_ + j] = sum > max_ ? max_ : sum;
      }
    }
  }

 protected:
  size_t batch_ = 1, m_ = 0, n_ = 0, k_ = 0;
  bool transposed_ = false;
  float min_ = -kInfinity, max_ = kInfinity;
};

class Linear final : public MatMul {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto* clamp = node.attributes<schema::Linear>().clamp();
    const Shape& x = node.input(0).shape;
    m_ = x.numel(0, x.rank - 1);
    k_ = x.last();
    n_ = node.input(1).shape[0];
    transposed_ = true;
    min_ = clamp == nullptr ? -kInfinity : clamp->min();
    max_ = clamp == nullptr ? kInfinity : clamp->max();
    return size_t{0};
  }
};

class BatchMatMul final : public MatMul {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    transposed_ = node.attributes<schema::BatchMatMul>().transpose_b();
    const Shape& a = node.input(0).shape;
    const Shape& b = node.input(1).shape;
    batch_ = a.numel(0, a.rank - 2);
    m_ = a[a.rank - 2];
    k_ = a.last();
    n_ = transposed_ ? b[b.rank - 2] : b.last();
    return size_t{0};
  }
};

} // namespace

std::unique_ptr<Kernel> make_linear(const NodeContext&) {
  return std::make_unique<Linear>();
}

std::unique_ptr<Kernel> make_batch_matmul(const NodeContext&) {
  return std::make_unique<BatchMatMul>();
}

} // namespace executorch::backends::et_xnnpack
