// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_linear.h"

#include <vector>

#include "runtime/ops/common/xnnpack_kernel.h"
#include "runtime/ops/common/xnnpack_product.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr const char* kCreate = "xnn_create_fully_connected_nc";
constexpr auto kTable = std::make_tuple(
    product_row<ProductFormat::Float32>(
        xnn_create_fully_connected_nc_f32, xnn_reshape_fully_connected_nc_f32, xnn_setup_fully_connected_nc_f32),
    product_row<ProductFormat::Float16>(
        xnn_create_fully_connected_nc_f16, xnn_reshape_fully_connected_nc_f16, xnn_setup_fully_connected_nc_f16),
    product_row<ProductFormat::Int8>(
        xnn_create_fully_connected_nc_qs8, xnn_reshape_fully_connected_nc_qs8, xnn_setup_fully_connected_nc_qs8),
    product_row<ProductFormat::Int8ByChannel>(
        xnn_create_fully_connected_nc_qs8_qc8w,
        xnn_reshape_fully_connected_nc_qs8_qc8w,
        xnn_setup_fully_connected_nc_qs8_qc8w));

size_t rows_of(const Shape& x) {
  return x.numel(0, x.rank - 1);
}

// A product with constants: of rows, or of the pixels of images where `Attributes` are those of a convolution of 1 x 1.
template <typename Attributes>
class XnnpackLinear : public XnnpackKernel {
 public:
  XnnpackLinear(const NodeContext& node, bool float16)
      : XnnpackKernel(float16), format_(product_format(node, float16, /*dynamic_quantization=*/false)) {}

 protected:
  Status create_operators(const NodeContext& node, ConstantSource& constants) override {
    PackingKey key(kCreate);
    describe_product(node, format_, key);
    std::optional<PackedOperator::Operand> bias;
    if (node.has_input(2)) {
      bias = {2, node.input(2).bytes()};
    }
    return product_.load(constants, key, {1, node.input(1).bytes()}, bias, kCreate, create(node));
  }

  // An operator for each thread, since one has a single place for its addresses.
  Status reshape_strips(const NodeContext& node, size_t num_threads) override {
    const Shape &x = node.input(0).shape, &weight = node.input(1).shape;
    columns_of_image_ = x[x.rank - 2];
    depth_ = weight.last();
    for (OperatorOfThread& own : of_threads_) {
      own.rows = 0;
    }
    while (of_threads_.size() < num_threads) {
      ETX_ASSIGN_OR_RETURN(OperatorPtr another, product_.create_another(create(node)));
      of_threads_.push_back({std::move(another), 0});
    }
    return {};
  }

  void run_strip(const KernelArguments& arguments, const Strip& strip) override {
    Status status = run_rows(of_threads_[strip.thread], strip);
    if (!status.ok()) {
      *arguments.status = std::move(status);
    }
  }

  bool packs(size_t i) const override {
    return i > 0;
  }

  Status reshape_operators(const NodeContext& node) override {
    add_step(product_.get());
    return check_xnn(
        reshape_product(product_.get(), rows_of(node.input(0).shape), pool()), "xnn_reshape_fully_connected_nc");
  }

  Status set_up(const KernelArguments& arguments) override {
    return check_xnn(
        setup_product(product_.get(), input(arguments, 0), arguments.outputs[0]), "xnn_setup_fully_connected_nc");
  }

 private:
  PackedOperator::Create create(const NodeContext& node) const {
    const ProductWeights weights(node, node.attributes<Attributes>().clamp());
    const size_t columns = node.input(1).shape[0], depth = node.input(1).shape.last();
    return [format = format_, columns, depth, weights](
               const void* weight, const void* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return with_product_row(kTable, format, [&](const auto& row) {
        const auto create = [&](auto... how) {
          return create_with_weights(row.create, cache, op, depth, columns, depth, columns, how...);
        };
        return weights.apply<std::decay_t<decltype(row)>::kFormat>(create, weight, bias);
      });
    };
  }

  struct OperatorOfThread {
    OperatorPtr product;
    size_t rows; // of the last reshape; 0: it has none
  };

  Status run_rows(OperatorOfThread& own, const Strip& strip) {
    const size_t rows = strip.rows.count() * columns_of_image_;
    if (own.rows != rows) {
      own.rows = 0;
      ETX_RETURN_IF_ERROR(
          check_xnn(reshape_product(own.product.get(), rows, nullptr), "xnn_reshape_fully_connected_nc"));
      own.rows = rows;
    }
    const float* const x = static_cast<const float*>(strip.input) + strip.rows.begin * columns_of_image_ * depth_;
    ETX_RETURN_IF_ERROR(check_xnn(setup_product(own.product.get(), x, strip.output), "xnn_setup_fully_connected_nc"));
    return check_xnn(xnn_run_operator(own.product.get(), nullptr), "xnn_run_operator");
  }

  xnn_status reshape_product(xnn_operator_t product, size_t rows, pthreadpool_t pool) {
    return with_product_row(kTable, format_, [&](const auto& row) { return row.reshape(product, rows, pool); });
  }

  xnn_status setup_product(xnn_operator_t product, Address x, Address y) {
    return with_product_row(kTable, format_, [&](const auto& row) { return row.set_up(product, x, y); });
  }

  const ProductFormat format_;
  PackedOperator product_;
  std::vector<OperatorOfThread> of_threads_; // for strips
  size_t columns_of_image_ = 0, depth_ = 0;
};

// A product of Float32 with a weight or bias that is computed.
class XnnpackDynamicLinear : public XnnpackKernel {
 protected:
  Status create_operators(const NodeContext& node, ConstantSource&) override {
    const schema::Clamp* clamp = node.attributes<schema::Linear>().clamp();
    ETX_ASSIGN_OR_RETURN(
        product_, create_operator("xnn_create_dynamic_fully_connected_nc_f32", [&](xnn_operator_t* op) {
          return xnn_create_dynamic_fully_connected_nc_f32(clamp_min(clamp), clamp_max(clamp), /*flags=*/0, op);
        }));
    return {};
  }

  Status reshape_operators(const NodeContext& node) override {
    const size_t rows = rows_of(node.input(0).shape);
    const size_t columns = node.input(1).shape[0], depth = node.input(1).shape[1];
    size_t workspace_bytes = 0;
    ETX_RETURN_IF_ERROR(check_xnn(
        reshape_with_workspace(
            xnn_reshape_dynamic_fully_connected_nc_f32,
            std::make_tuple(product_.get(), rows, depth, columns, depth, columns),
            &workspace_bytes,
            std::make_tuple(pool())),
        "xnn_reshape_dynamic_fully_connected_nc_f32"));
    add_scratch(workspace_bytes);
    add_step(product_.get());
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    return check_xnn(
        xnn_setup_dynamic_fully_connected_nc_f32(
            product_.get(),
            arguments.scratch,
            arguments.input<float>(0),
            arguments.input<float>(1),
            arguments.input<float>(2),
            arguments.output<float>(0)),
        "xnn_setup_dynamic_fully_connected_nc_f32");
  }

 private:
  OperatorPtr product_;
};

// Matrices of Float32 or Float16, of which the right ones may be constants in Float32.
class XnnpackBatchMatMul : public XnnpackKernel {
 public:
  explicit XnnpackBatchMatMul(bool float16) : XnnpackKernel(float16) {}

 protected:
  Status create_operators(const NodeContext& node, ConstantSource& constants) override {
    const uint32_t flags = node.attributes<schema::BatchMatMul>().transpose_b() ? XNN_FLAG_TRANSPOSE_B : 0;
    // XNNPACK asks no weights cache for these.
    ConstantData b;
    if (node.is_constant(1)) {
      ETX_ASSIGN_OR_RETURN(b, constants.load(1));
    }
    ETX_ASSIGN_OR_RETURN(product_, create_operator("xnn_create_batch_matrix_multiply_nc", [&](xnn_operator_t* op) {
                           if (is_float16()) {
                             return xnn_create_batch_matrix_multiply_nc_f16(flags, op);
                           }
                           if (b.data == nullptr) {
                             return xnn_create_batch_matrix_multiply_nc_f32(flags, op);
                           }
                           const Sizes sizes(node);
                           return xnn_create_batch_matrix_multiply_nc_f32_const_weights(
                               node.input(1).shape.numel(0, sizes.num_batch_axes),
                               sizes.depth,
                               sizes.columns,
                               static_cast<const float*>(b.data),
                               flags,
                               op);
                         }));
    return {};
  }

  bool packs(size_t i) const override {
    return i == 1;
  }
  bool loads_always(const NodeContext&, size_t i) const override {
    return i == 1;
  }

  Status reshape_operators(const NodeContext& node) override {
    const Sizes sizes(node);
    size_t workspace_bytes = 0;
    const auto reshape = [&](auto function) {
      return reshape_with_workspace(
          function,
          std::make_tuple(
              product_.get(),
              sizes.num_batch_axes,
              node.input(0).shape.dims.data(),
              node.input(1).shape.dims.data(),
              sizes.rows,
              sizes.depth,
              sizes.columns),
          &workspace_bytes,
          std::make_tuple(pool()));
    };
    ETX_RETURN_IF_ERROR(check_xnn(
        is_float16() ? reshape(xnn_reshape_batch_matrix_multiply_nc_f16)
                     : reshape(xnn_reshape_batch_matrix_multiply_nc_f32),
        "xnn_reshape_batch_matrix_multiply_nc"));
    add_scratch(workspace_bytes);
    add_step(product_.get());
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    const Address a(input(arguments, 0)), b(input(arguments, 1)), y(arguments.outputs[0]);
    return check_xnn(
        is_float16() ? xnn_setup_batch_matrix_multiply_nc_f16(product_.get(), arguments.scratch, a, b, y)
                     : xnn_setup_batch_matrix_multiply_nc_f32(product_.get(), arguments.scratch, a, b, y),
        "xnn_setup_batch_matrix_multiply_nc");
  }

 private:
  struct Sizes {
    explicit Sizes(const NodeContext& node) {
      const Shape& a = node.input(0).shape;
      const Shape& b = node.input(1).shape;
      num_batch_axes = a.rank - 2;
      rows = a[a.rank - 2];
      depth = a.last();
      columns = b[b.rank - (node.attributes<schema::BatchMatMul>().transpose_b() ? 2 : 1)];
    }

    size_t num_batch_axes, rows, depth, columns;
  };

  OperatorPtr product_;
};

} // namespace

std::unique_ptr<Kernel> make_xnnpack_linear(const NodeContext& node, bool float16) {
  const bool has_constants = node.is_constant(1) && (!node.has_input(2) || node.is_constant(2));
  if (has_constants) {
    return std::make_unique<XnnpackLinear<schema::Linear>>(node, float16);
  }
  return std::make_unique<XnnpackDynamicLinear>();
}

std::unique_ptr<Kernel> make_xnnpack_pixel_product(const NodeContext& node, bool float16) {
  return std::make_unique<XnnpackLinear<schema::Conv2d>>(node, float16);
}

std::unique_ptr<Kernel> make_xnnpack_batch_matmul(const NodeContext&, bool float16) {
  return std::make_unique<XnnpackBatchMatMul>(float16);
}

} // namespace executorch::backends::et_xnnpack
