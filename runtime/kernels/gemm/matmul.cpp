// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matmul.h"

#include <optional>
#include <string>

#include "runtime/ops/common/common.h"
#include "runtime/ops/common/in_float.h"
#include "matrix_product.h"
#include "narrow_product.h"

namespace executorch::backends::et_xnnpack {
namespace {

class MatMul : public Kernel {
 public:
  void run(const KernelArguments& arguments) override {
    product_.a = arguments.input<float>(0);
    product_.b = arguments.input<float>(1);
    product_.bias = arguments.input<float>(2);
    product_.c = arguments.output<float>(0);
    multiply_matrices(product_, arguments.scratch, arguments.pool);
  }

 protected:
  MatrixProduct product_;
};

class Linear final : public MatMul {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const Shape& x = node.input(0).shape;
    product_ = {};
    product_.rows = x.numel(0, x.rank - 1);
    product_.depth = x.last();
    product_.columns = node.input(1).shape[0];
    product_.a_stride = product_.b_stride = product_.depth;
    product_.b_transposed = true;
    product_.c_stride = product_.columns;
    const auto* clamp = node.attributes<schema::Linear>().clamp();
    product_.min = clamp_min(clamp);
    product_.max = clamp_max(clamp);
    return matrix_product_scratch(product_, num_threads);
  }
};

// The weight stays in 16 or 8 bits.
class NarrowLinear final : public Kernel {
 public:
  std::optional<std::string> packed_layout(const NodeContext& node, size_t i) const override {
    return i == 1 ? std::optional(narrow_layout(node.input(1).stored)) : std::nullopt;
  }
  size_t packed_bytes(const NodeContext& node, size_t) const override {
    const Shape& weight = node.input(1).shape;
    return narrow_panels_bytes(node.input(1).stored, weight[0], weight[1]);
  }
  Status pack(const NodeContext& node, size_t, const void* original, void* packed) const override {
    const Shape& weight = node.input(1).shape;
    const size_t whole = 0;
    pack_narrow(node.input(1).stored, original, weight[0], weight[1], {&whole, 1}, weight[1], packed);
    return {};
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const Shape& x = node.input(0).shape;
    product_ = {};
    product_.type = node.input(1).stored;
    ETX_RETURN_IF_ERROR(scales_.assign(node.input(1), node.input(1).shape[0]));
    product_.scale = scales_.scales();
    product_.zero_point = scales_.zero_points();
    product_.rows = x.numel(0, x.rank - 1);
    product_.depth = product_.x_stride = x.last();
    product_.columns = product_.y_stride = node.input(1).shape[0];
    const auto* clamp = node.attributes<schema::Linear>().clamp();
    product_.min = clamp_min(clamp);
    product_.max = clamp_max(clamp);
    return narrow_product_scratch(product_, num_threads);
  }

  void run(const KernelArguments& arguments) override {
    NarrowProduct product = product_;
    product.x = arguments.input<float>(0);
    product.panels = arguments.input<void>(1);
    product.bias = arguments.input<float>(2);
    product.y = arguments.output<float>(0);
    multiply_narrow(product, arguments.scratch, arguments.pool);
  }

 private:
  NarrowScales scales_;
  NarrowProduct product_;
};

class BatchMatMul final : public MatMul {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const Shape& a = node.input(0).shape;
    const Shape& b = node.input(1).shape;
    product_ = {};
    product_.batch = a.numel(0, a.rank - 2);
    product_.rows = a[a.rank - 2];
    product_.depth = a.last();
    product_.b_transposed = node.attributes<schema::BatchMatMul>().transpose_b();
    product_.columns = product_.b_transposed ? b[b.rank - 2] : b.last();
    product_.a_stride = product_.depth;
    product_.b_stride = b.last();
    product_.c_stride = product_.columns;
    product_.a_batch = product_.rows * product_.depth;
    product_.b_batch = product_.depth * product_.columns;
    product_.c_batch = product_.rows * product_.columns;
    return matrix_product_scratch(product_, num_threads);
  }
};

// Operand b, a constant, stays in 16 bits.
class NarrowBatchMatMul final : public Kernel {
 public:
  std::optional<std::string> packed_layout(const NodeContext& node, size_t i) const override {
    if (i != 1) {
      return std::nullopt;
    }
    return narrow_layout(node.input(1).stored) + (is_transposed(node) ? " of rows" : " of columns");
  }
  size_t packed_bytes(const NodeContext& node, size_t) const override {
    const Shape& b = node.input(1).shape;
    return b.numel(0, b.rank - 2) * matrix_bytes(node);
  }
  Status pack(const NodeContext& node, size_t, const void* original, void* packed) const override {
    const Shape& b = node.input(1).shape;
    const size_t rows = b[b.rank - 2], columns = b.last();
    Array<size_t> taps;
    ETX_RETURN_IF_ERROR(taps.assign(is_transposed(node) ? 1 : rows));
    for (size_t k = 0; k < taps.size(); ++k) {
      taps[k] = k * columns;
    }
    const size_t outputs = is_transposed(node) ? rows : columns;
    const size_t stride = is_transposed(node) ? columns : 1, run = is_transposed(node) ? columns : 1;
    for (size_t i = 0; i < b.numel(0, b.rank - 2); ++i) {
      pack_narrow(
          node.input(1).stored,
          static_cast<const float*>(original) + i * rows * columns,
          outputs,
          stride,
          {taps.data(), taps.size()},
          run,
          static_cast<char*>(packed) + i * matrix_bytes(node));
    }
    return {};
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const Shape& a = node.input(0).shape;
    const Shape& b = node.input(1).shape;
    batch_ = a.numel(0, a.rank - 2);
    matrix_bytes_ = matrix_bytes(node);
    product_ = {};
    product_.type = node.input(1).stored;
    product_.rows = a[a.rank - 2];
    product_.depth = product_.x_stride = a.last();
    product_.columns = product_.y_stride = is_transposed(node) ? b[b.rank - 2] : b.last();
    return narrow_product_scratch(product_, num_threads);
  }

  void run(const KernelArguments& arguments) override {
    NarrowProduct product = product_;
    for (size_t i = 0; i < batch_; ++i) {
      product.x = arguments.input<float>(0) + i * product.rows * product.depth;
      product.panels = arguments.input<char>(1) + i * matrix_bytes_;
      product.y = arguments.output<float>(0) + i * product.rows * product.columns;
      multiply_narrow(product, arguments.scratch, arguments.pool);
    }
  }

 private:
  static bool is_transposed(const NodeContext& node) {
    return node.attributes<schema::BatchMatMul>().transpose_b();
  }
  static size_t matrix_bytes(const NodeContext& node) {
    const Shape& b = node.input(1).shape;
    const size_t rows = b[b.rank - 2], columns = b.last();
    const bool transposed = is_transposed(node);
    return narrow_panels_bytes(node.input(1).stored, transposed ? rows : columns, transposed ? columns : rows);
  }

  size_t batch_ = 0, matrix_bytes_ = 0;
  NarrowProduct product_;
};

} // namespace

bool keeps_batch_matmul_weight(const NodeContext& node) {
  const TensorType& b = node.input(1);
  return node.is_constant(1) && b.quantization == nullptr && is_narrow(b) &&
      b.shape.numel(b.shape.rank - 2, b.shape.rank) >= kMinKeptWeights;
}

bool keeps_linear_weight(const NodeContext& node) {
  return node.is_constant(1) && is_narrow(node.input(1));
}

std::unique_ptr<Kernel> make_linear(const NodeContext& node) {
  if (keeps_linear_weight(node)) {
    return std::make_unique<NarrowLinear>();
  }
  return std::make_unique<Linear>();
}

std::unique_ptr<Kernel> make_linear_of_integers(const NodeContext& node) {
  return make_in_float_but_weight(
      [](const NodeContext& in_float) -> std::unique_ptr<Kernel> {
        return keeps_linear_weight(in_float) ? std::make_unique<NarrowLinear>() : nullptr;
      },
      node);
}

std::unique_ptr<Kernel> make_batch_matmul(const NodeContext& node) {
  if (keeps_batch_matmul_weight(node)) {
    return std::make_unique<NarrowBatchMatMul>();
  }
  return std::make_unique<BatchMatMul>();
}

} // namespace executorch::backends::et_xnnpack
