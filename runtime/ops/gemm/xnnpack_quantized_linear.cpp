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

// A product of Float32, quantized dynamically by row, by weights of 8 or 4 bits.
class XnnpackQuantizedLinear : public XnnpackKernel {
 public:
  explicit XnnpackQuantizedLinear(const NodeContext& node)
      : takes_rows_(prefers_kleidiai()),
        is_4bit_(node.attributes<schema::QuantizedLinear>().bits() == 4),
        is_grouped_(node.input(2).shape[1] != 1),
        is_unsigned_(takes_unsigned_rows(
            is_grouped_    ? RoundedProduct::Int4InGroups
                : is_4bit_ ? RoundedProduct::Int4
                           : RoundedProduct::Int8)) {}

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
    key.add(takes_rows_, is_unsigned_, is_4bit_, node.input(2).shape[1], depth, columns, node.has_input(3))
        .add_bytes(scales.data(), scales.size());
    std::optional<PackedOperator::Operand> bias;
    if (node.has_input(3)) {
      bias = {3, node.input(3).bytes()};
    }
    const auto create = create_product(node, scale, reinterpret_cast<const uint16_t*>(reduced.data()));
    ETX_RETURN_IF_ERROR(product_.load(constants, key, {1, node.input(1).bytes()}, bias, kCreate, create));
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

  bool packs(size_t i) const override {
    return i > 0;
  }
  bool loads_always(const NodeContext&, size_t i) const override {
    return i == 2 || (i == 3 && !takes_rows_ && XnnpackDynamicQuantization::loses_nan());
  }

  Status reshape_operators(const NodeContext& node) override {
    const Shape& x = node.input(0).shape;
    const size_t depth = x.last(), rows = x.numel() / depth;
    columns_ = node.output().shape.last();
    if (!takes_rows_) {
      ETX_RETURN_IF_ERROR(quantization_.reshape(rows, depth, pool()));
      quantized_offset_ = add_scratch(XnnpackDynamicQuantization::bytes(rows, depth));
      parameters_offset_ = add_scratch(XnnpackDynamicQuantization::parameter_bytes(rows));
      add_step(quantization_.get());
    }
    size_t workspace_bytes = 0;
    ETX_RETURN_IF_ERROR(check_xnn(reshape_product(rows, &workspace_bytes), "xnn_reshape_fully_connected_nc"));
    workspace_offset_ = add_scratch(workspace_bytes);
    add_step(product_.get());
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    const void* x = input(arguments, 0);
    void* const y = arguments.outputs[0];
    void* const parameters = scratch(arguments, parameters_offset_);
    if (!takes_rows_) {
      void* const quantized = scratch(arguments, quantized_offset_);
      ETX_RETURN_IF_ERROR(quantization_.set_up(x, quantized, parameters));
      x = quantized;
    }
    void* const workspace = scratch(arguments, workspace_offset_);
    return check_xnn(
        setup_product(x, y, workspace, static_cast<const xnn_quantization_params*>(parameters)),
        "xnn_setup_fully_connected_nc");
  }

  void finish(const KernelArguments& arguments) override {
    if (!takes_rows_ && XnnpackDynamicQuantization::loses_nan()) {
      const void* const parameters = scratch(arguments, parameters_offset_);
      quantization_.mend(input(arguments, 0), parameters, arguments.outputs[0], columns_, arguments.pool);
    }
  }

 private:
  PackedOperator::Create create_product(
      const NodeContext& node, const float* scale, const uint16_t* reduced_scale) const {
    const schema::Clamp* clamp = node.attributes<schema::QuantizedLinear>().clamp();
    const float min = clamp_min(clamp), max = clamp_max(clamp);
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
      if (is_4bit_) {
        return is_unsigned_ ? create(xnn_create_fully_connected_nc_qdu8_f32_qc4w, kZeroPoint, scale)
                            : create(xnn_create_fully_connected_nc_qd8_f32_qc4w, kZeroPoint, scale);
      }
      return is_unsigned_ ? create(xnn_create_fully_connected_nc_qdu8_f32_qc8w, scale)
                          : create(xnn_create_fully_connected_nc_qd8_f32_qc8w, scale);
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
    if (is_4bit_) {
      return is_unsigned_ ? reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qc4w)
                          : reshape(xnn_reshape_fully_connected_nc_qd8_f32_qc4w);
    }
    return is_unsigned_ ? reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qc8w)
                        : reshape(xnn_reshape_fully_connected_nc_qd8_f32_qc8w);
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
    if (is_4bit_) {
      return is_unsigned_ ? setup(xnn_setup_fully_connected_nc_qdu8_f32_qc4w)
                          : setup(xnn_setup_fully_connected_nc_qd8_f32_qc4w);
    }
    return is_unsigned_ ? setup(xnn_setup_fully_connected_nc_qdu8_f32_qc8w)
                        : setup(xnn_setup_fully_connected_nc_qd8_f32_qc8w);
  }

  const bool takes_rows_; // which the product rounds and packs itself
  const bool is_4bit_;
  const bool is_grouped_;
  const bool is_unsigned_; // the rounded rows
  PackedOperator product_;
  XnnpackDynamicQuantization quantization_;
  size_t columns_ = 0; // of the last reshape()
  size_t quantized_offset_ = 0, parameters_offset_ = 0, workspace_offset_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_xnnpack_quantized_linear(const NodeContext& node) {
  return std::make_unique<XnnpackQuantizedLinear>(node);
}

} // namespace executorch::backends::et_xnnpack
