// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matmul.h"

#include "../ops/op.h"
#include "matrix_product.h"

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
    if (const auto* clamp = node.attributes<schema::Linear>().clamp(); clamp != nullptr) {
      product_.min = clamp->min();
      product_.max = clamp->max();
    }
    return matrix_product_scratch(product_, num_threads);
  }
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

} // namespace

std::unique_ptr<Kernel> make_linear(const NodeContext& node) {
  return has_half_weight(node) ? make_half_linear(node) : std::make_unique<Linear>();
}

std::unique_ptr<Kernel> make_batch_matmul(const NodeContext&) {
  return std::make_unique<BatchMatMul>();
}

} // namespace executorch::backends::et_xnnpack
