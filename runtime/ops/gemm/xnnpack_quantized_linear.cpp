// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/ops/common/common.h"
#include "runtime/ops/common/xnnpack_kernel.h"
#include "runtime/xnnpack/kleidiai.h"
#include "xnnpack_linear.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr const char* kCreate = "xnn_create_fully_connected_nc";
constexpr uint8_t kZeroPoint = 8; // of 4-bit weights

// A product of Float32, quantized dynamically by row or not, by weights of 8 or 4 bits.
class XnnpackQuantizedLinear : public XnnpackKernel {
 public:
  explicit XnnpackQuantizedLinear(const NodeContext& node)
      : is_dynamic_(node.attributes<schema::QuantizedLinear>().dynamic_quantization()),
        takes_rows_(is_dynamic_ && prefers_kleidiai()),
        is_4bit_(node.attributes<schema::QuantizedLinear>().bits() == 4),
        is_grouped_(node.input(2).shape[1] != 1),
        is_unsigned_(
            is_dynamic_ &&
            takes_unsigned_rows(
                is_grouped_    ? RoundedProduct::Int4InGroups
                    : is_4bit_ ? RoundedProduct::Int4
                               : RoundedProduct::Int8)) {}

  bool reads_output() const override {
    return add_ != nullptr || clamp_ != nullptr;
  }

 protected:
  Status create_operators(const NodeContext& node, ConstantSource& constants) override {
    // XNNPACK packs the scales, and reads them even if all is packed already.
    ETX_ASSIGN_OR_RETURN(const ConstantData loaded, constants.load(2));
    const float* const scale = static_cast<const float*>(loaded.data);
    Buffer reduced; // the scales of groups, which XNNPACK takes as BFloat16
    if (is_grouped_) {
      const size_t count = node.input(2).shape.numel();
      ETX_ASSIGN_OR_RETURN(reduced, Buffer::allocate(count * sizeof(uint16_t)));
      narrow(DType::BFloat16, scale, reduced.data(), count);
    }
    const size_t depth = node.input(0).shape.last(), columns = node.input(1).shape[0];
    // Of as many scales as a fifth of the weight; the key has their name.
    const std::string scales = constants.identity(2);
    PackingKey key(kCreate);
    key.add(
           is_dynamic_,
           takes_rows_,
           is_unsigned_,
           is_4bit_,
           node.input(2).shape[1],
           depth,
           columns,
           is_bias_packed(node))
        .add_bytes(scales.data(), scales.size());
    std::optional<PackedOperator::Operand> bias;
    if (is_bias_packed(node)) {
      bias = {3, node.input(3).bytes()};
    }
    const auto create = create_product(node, scale, reinterpret_cast<const uint16_t*>(reduced.data()));
    ETX_RETURN_IF_ERROR(product_.load(constants, key, {1, node.input(1).bytes()}, bias, kCreate, create));
    if (is_dynamic_) {
      if (takes_rows_) {
        return {};
      }
      if (XnnpackDynamicQuantization::loses_nan()) {
        ConstantData added;
        if (bias.has_value()) {
          ETX_ASSIGN_OR_RETURN(added, constants.load(3));
        }
        quantization_.remember_columns(scale, columns, node.input(2).shape[1], static_cast<const float*>(added.data));
      }
      return quantization_.create(is_unsigned_);
    }
    return node.has_input(3) ? create_bias(node, constants) : Status();
  }

  bool packs(size_t i) const override {
    return i > 0;
  }

  Status reshape_operators(const NodeContext& node) override {
    const Shape& x = node.input(0).shape;
    const size_t depth = x.last(), rows = x.numel() / depth;
    columns_ = node.output().shape.last();
    if (is_dynamic_ && !takes_rows_) {
      ETX_RETURN_IF_ERROR(quantization_.reshape(rows, depth, pool()));
      quantized_offset_ = add_scratch(XnnpackDynamicQuantization::bytes(rows, depth));
      parameters_offset_ = add_scratch(XnnpackDynamicQuantization::parameter_bytes(rows));
      add_step(quantization_.get());
    }
    size_t workspace_bytes = 0;
    ETX_RETURN_IF_ERROR(check_xnn(reshape_product(rows, &workspace_bytes), "xnn_reshape_fully_connected_nc"));
    workspace_offset_ = add_scratch(workspace_bytes);
    add_step(product_.get());
    if (add_ != nullptr) {
      const XnnpackShape y(node.output().shape);
      const size_t columns = y.channels();
      ETX_RETURN_IF_ERROR(check_xnn(
          xnn_reshape_binary_elementwise_nd(add_.get(), y.rank, y.dims.data(), 1, &columns, pool()),
          "xnn_reshape_binary_elementwise_nd"));
      add_step(add_.get());
    }
    if (clamp_ != nullptr) {
      ETX_RETURN_IF_ERROR(reshape_unary(clamp_.get(), node.output().shape, pool()));
      add_step(clamp_.get());
    }
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    const void* x = input(arguments, 0);
    void* const y = arguments.outputs[0];
    void* const parameters = scratch(arguments, parameters_offset_);
    if (is_dynamic_ && !takes_rows_) {
      void* const quantized = scratch(arguments, quantized_offset_);
      ETX_RETURN_IF_ERROR(quantization_.set_up(x, quantized, parameters));
      x = quantized;
    }
    void* const workspace = scratch(arguments, workspace_offset_);
    ETX_RETURN_IF_ERROR(check_xnn(
        setup_product(x, y, workspace, static_cast<const xnn_quantization_params*>(parameters)),
        "xnn_setup_fully_connected_nc"));
    if (add_ != nullptr) {
      ETX_RETURN_IF_ERROR(check_xnn(
          xnn_setup_binary_elementwise_nd(add_.get(), y, bias_.data(), y), "xnn_setup_binary_elementwise_nd"));
    }
    return clamp_ == nullptr
        ? Status()
        : check_xnn(xnn_setup_unary_elementwise_nc(clamp_.get(), y, y), "xnn_setup_unary_elementwise_nc");
  }

  void finish(const KernelArguments& arguments) override {
    if (is_dynamic_ && !takes_rows_ && XnnpackDynamicQuantization::loses_nan()) {
      const void* const parameters = scratch(arguments, parameters_offset_);
      quantization_.mend(input(arguments, 0), parameters, arguments.outputs[0], columns_, arguments.pool);
    }
  }

 private:
  // Where XNNPACK multiplies floats by integers it scales the bias, too, so the bias is added by an operator of its
  // own.
  bool is_bias_packed(const NodeContext& node) const {
    return is_dynamic_ && node.has_input(3);
  }

  Status create_bias(const NodeContext& node, ConstantSource& constants) {
    ETX_ASSIGN_OR_RETURN(const ConstantData loaded, constants.load(3));
    const size_t bytes = node.input(3).bytes();
    ETX_ASSIGN_OR_RETURN(bias_, Buffer::allocate(bytes));
    std::memcpy(bias_.data(), loaded.data, bytes);
    std::memset(bias_.data() + bytes, 0, kTailBytes);
    ETX_ASSIGN_OR_RETURN(add_, create_operator("xnn_create_binary_elementwise_nd", [](xnn_operator_t* op) {
                           const xnn_quantization_params none{};
                           return xnn_create_binary_elementwise_nd(
                               xnn_binary_add, xnn_datatype_fp32, &none, &none, &none, /*flags=*/0, op);
                         }));
    const schema::Clamp* clamp = node.attributes<schema::QuantizedLinear>().clamp();
    if (clamp != nullptr) {
      ETX_ASSIGN_OR_RETURN(clamp_, create_clamp(clamp->min(), clamp->max(), xnn_datatype_fp32));
    }
    return {};
  }

  PackedOperator::Create create_product(
      const NodeContext& node, const float* scale, const uint16_t* reduced_scale) const {
    const schema::Clamp* clamp = node.attributes<schema::QuantizedLinear>().clamp();
    const bool is_clamped_behind = !is_dynamic_ && node.has_input(3);
    const float min = is_clamped_behind ? -kInfinity : clamp_min(clamp);
    const float max = is_clamped_behind ? kInfinity : clamp_max(clamp);
    const size_t depth = node.input(0).shape.last(), columns = node.input(1).shape[0];
    const size_t group = depth / node.input(2).shape[1];
    const uint32_t flags = takes_rows_ ? kTakesRows : 0;
    return [=](const void* weight_data, const void* bias_data, xnn_weights_cache_t cache, xnn_operator_t* op) {
      const Address weight(weight_data), bias(bias_data);
      const auto create = [&](auto function, auto... how) {
        return create_with_weights(
            function, cache, op, depth, columns, depth, columns, how..., weight, bias, min, max, flags);
      };
#ifdef ET_XNNPACK_KLEIDIAI
      if (takes_rows_) {
        if (is_grouped_) {
          return create(xnn_create_fully_connected_nc_qp8_f32_qb4w, group, kZeroPoint, reduced_scale);
        }
        return is_4bit_ ? create(xnn_create_fully_connected_nc_qp8_f32_qc4w, kZeroPoint, scale)
                        : create(xnn_create_fully_connected_nc_qp8_f32_qc8w, scale);
      }
#endif
      if (is_grouped_) {
        return is_unsigned_ ? create(xnn_create_fully_connected_nc_qdu8_f32_qb4w, group, kZeroPoint, reduced_scale)
                            : create(xnn_create_fully_connected_nc_qd8_f32_qb4w, group, kZeroPoint, reduced_scale);
      }
      if (is_dynamic_ && is_4bit_) {
        return is_unsigned_ ? create(xnn_create_fully_connected_nc_qdu8_f32_qc4w, kZeroPoint, scale)
                            : create(xnn_create_fully_connected_nc_qd8_f32_qc4w, kZeroPoint, scale);
      }
      if (is_dynamic_) {
        return is_unsigned_ ? create(xnn_create_fully_connected_nc_qdu8_f32_qc8w, scale)
                            : create(xnn_create_fully_connected_nc_qd8_f32_qc8w, scale);
      }
      return is_4bit_ ? create(xnn_create_fully_connected_nc_f32_qc4w, kZeroPoint, scale)
                      : create(xnn_create_fully_connected_nc_f32_qc8w, scale);
    };
  }

  xnn_status reshape_product(size_t rows, size_t* workspace_bytes) {
    const auto reshape = [&](auto function) {
      return reshape_with_workspace(
          function, std::make_tuple(product_.get(), rows), workspace_bytes, std::make_tuple(pool()));
    };
#ifdef ET_XNNPACK_KLEIDIAI
    if (takes_rows_) {
      if (is_grouped_) {
        return reshape(xnn_reshape_fully_connected_nc_qp8_f32_qb4w);
      }
      return is_4bit_ ? reshape(xnn_reshape_fully_connected_nc_qp8_f32_qc4w)
                      : reshape(xnn_reshape_fully_connected_nc_qp8_f32_qc8w);
    }
#endif
    if (is_grouped_) {
      return is_unsigned_ ? reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qb4w)
                          : reshape(xnn_reshape_fully_connected_nc_qd8_f32_qb4w);
    }
    if (is_dynamic_ && is_4bit_) {
      return is_unsigned_ ? reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qc4w)
                          : reshape(xnn_reshape_fully_connected_nc_qd8_f32_qc4w);
    }
    if (is_dynamic_) {
      return is_unsigned_ ? reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qc8w)
                          : reshape(xnn_reshape_fully_connected_nc_qd8_f32_qc8w);
    }
    return is_4bit_ ? reshape(xnn_reshape_fully_connected_nc_f32_qc4w)
                    : reshape(xnn_reshape_fully_connected_nc_f32_qc8w);
  }

  xnn_status setup_product(Address x, Address y, void* workspace, const xnn_quantization_params* parameters) {
    const auto setup = [&](auto function) {
      return setup_with_workspace(
          function, std::make_tuple(product_.get(), x, y), workspace, std::make_tuple(parameters));
    };
#ifdef ET_XNNPACK_KLEIDIAI
    if (takes_rows_) {
      if (is_grouped_) {
        return xnn_setup_fully_connected_nc_qp8_f32_qb4w(product_.get(), x, y, workspace);
      }
      return is_4bit_ ? xnn_setup_fully_connected_nc_qp8_f32_qc4w(product_.get(), x, y, workspace)
                      : xnn_setup_fully_connected_nc_qp8_f32_qc8w(product_.get(), x, y, workspace);
    }
#endif
    if (is_grouped_) {
      return is_unsigned_ ? setup(xnn_setup_fully_connected_nc_qdu8_f32_qb4w)
                          : setup(xnn_setup_fully_connected_nc_qd8_f32_qb4w);
    }
    if (is_dynamic_ && is_4bit_) {
      return is_unsigned_ ? setup(xnn_setup_fully_connected_nc_qdu8_f32_qc4w)
                          : setup(xnn_setup_fully_connected_nc_qd8_f32_qc4w);
    }
    if (is_dynamic_) {
      return is_unsigned_ ? setup(xnn_setup_fully_connected_nc_qdu8_f32_qc8w)
                          : setup(xnn_setup_fully_connected_nc_qd8_f32_qc8w);
    }
    return is_4bit_ ? xnn_setup_fully_connected_nc_f32_qc4w(product_.get(), x, y)
                    : xnn_setup_fully_connected_nc_f32_qc8w(product_.get(), x, y);
  }

  const bool is_dynamic_; // operand 0, by row
  const bool takes_rows_; // which the product rounds and packs itself
  const bool is_4bit_;
  const bool is_grouped_;
  const bool is_unsigned_; // the rounded rows
  PackedOperator product_;
  XnnpackDynamicQuantization quantization_;
  Buffer bias_; // that is added behind
  OperatorPtr add_, clamp_;
  size_t columns_ = 0; // of the last reshape()
  size_t quantized_offset_ = 0, parameters_offset_ = 0, workspace_offset_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_xnnpack_quantized_linear(const NodeContext& node) {
  return std::make_unique<XnnpackQuantizedLinear>(node);
}

} // namespace executorch::backends::et_xnnpack
