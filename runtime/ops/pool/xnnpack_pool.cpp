// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_pool.h"

#include <array>
#include <cstdint>

#include "runtime/ops/common/common.h"
#include "runtime/ops/common/xnnpack_kernel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// XNNPACK divides by the elements inside the image, which a padding of zeros becomes part of.
class XnnpackAvgPool2d : public XnnpackKernel {
 public:
  explicit XnnpackAvgPool2d(bool float16) : XnnpackKernel(float16) {}

 protected:
  Status create_operators(const NodeContext& node, ConstantSource&) override {
    const auto& pool = node.attributes<schema::AvgPool2d>();
    const schema::Padding2D& all = *pool.padding();
    const schema::Padding2D& counted = *pool.padding_counted();
    const bool counts = (counted.top() | counted.right() | counted.bottom() | counted.left()) != 0;
    const schema::Padding2D padding = counts ? schema::Padding2D(0, 0, 0, 0) : all;
    const auto create = is_float16() ? xnn_create_average_pooling2d_nhwc_f16 : xnn_create_average_pooling2d_nhwc_f32;
    ETX_ASSIGN_OR_RETURN(pool_, create_operator("xnn_create_average_pooling2d_nhwc", [&](xnn_operator_t* op) {
                           return create(
                               padding.top(),
                               padding.right(),
                               padding.bottom(),
                               padding.left(),
                               pool.kernel()->height(),
                               pool.kernel()->width(),
                               pool.stride()->height(),
                               pool.stride()->width(),
                               -kInfinity,
                               kInfinity,
                               /*flags=*/0,
                               op);
                         }));
    if (counts) {
      before_ = {0, all.top(), all.left(), 0};
      after_ = {0, all.bottom(), all.right(), 0};
      ETX_ASSIGN_OR_RETURN(padding_, create_operator("xnn_create_constant_pad_nd", [this](xnn_operator_t* op) {
                             const uint32_t zero = 0;
                             return is_float16() ? xnn_create_constant_pad_nd_x16(&zero, 0, op)
                                                 : xnn_create_constant_pad_nd_x32(&zero, 0, op);
                           }));
    }
    return {};
  }

  Status reshape_operators(const NodeContext& node) override {
    Shape x = node.input(0).shape;
    if (padding_ != nullptr) {
      const auto reshape = is_float16() ? xnn_reshape_constant_pad_nd_x16 : xnn_reshape_constant_pad_nd_x32;
      ETX_RETURN_IF_ERROR(check_xnn(
          reshape(padding_.get(), x.rank, x.dims.data(), before_.data(), after_.data(), pool()),
          "xnn_reshape_constant_pad_nd"));
      for (size_t axis = 0; axis < x.rank; ++axis) {
        x[axis] += before_[axis] + after_[axis];
      }
      padded_offset_ = add_scratch(x.numel() * (is_float16() ? sizeof(uint16_t) : sizeof(float)));
      add_step(padding_.get());
    }
    const auto reshape = is_float16() ? xnn_reshape_average_pooling2d_nhwc_f16 : xnn_reshape_average_pooling2d_nhwc_f32;
    size_t workspace_bytes = 0, height = 0, width = 0;
    ETX_RETURN_IF_ERROR(check_xnn(
        reshape_with_workspace(
            reshape,
            std::make_tuple(pool_.get(), x[0], x[1], x[2], x[3], x[3], x[3]),
            &workspace_bytes,
            std::make_tuple(&height, &width, pool())),
        "xnn_reshape_average_pooling2d_nhwc"));
    workspace_offset_ = add_scratch(workspace_bytes);
    add_step(pool_.get());
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    const void* x = input(arguments, 0);
    if (padding_ != nullptr) {
      void* const padded = scratch(arguments, padded_offset_);
      const auto setup = is_float16() ? xnn_setup_constant_pad_nd_x16 : xnn_setup_constant_pad_nd_x32;
      ETX_RETURN_IF_ERROR(check_xnn(setup(padding_.get(), x, padded), "xnn_setup_constant_pad_nd"));
      x = padded;
    }
    const auto setup = [&](auto function) {
      return setup_with_workspace(
          function,
          std::make_tuple(pool_.get()),
          scratch(arguments, workspace_offset_),
          std::make_tuple(Address(x), Address(arguments.outputs[0])));
    };
    return check_xnn(
        is_float16() ? setup(xnn_setup_average_pooling2d_nhwc_f16) : setup(xnn_setup_average_pooling2d_nhwc_f32),
        "xnn_setup_average_pooling2d_nhwc");
  }

 private:
  OperatorPtr padding_, pool_;
  std::array<size_t, 4> before_{}, after_{};
  size_t padded_offset_ = 0, workspace_offset_ = 0;
};

// To a single pixel it is a mean over the image.
class XnnpackImageMean : public XnnpackKernel {
 public:
  explicit XnnpackImageMean(bool float16) : XnnpackKernel(float16) {}

 protected:
  Status create_operators(const NodeContext&, ConstantSource&) override {
    ETX_ASSIGN_OR_RETURN(mean_, create_operator("xnn_create_reduce_nd", [this](xnn_operator_t* op) {
                           const xnn_quantization_params none{};
                           return xnn_create_reduce_nd(
                               xnn_reduce_mean, float_type(), &none, &none, XNN_FLAG_KEEP_DIMS, op);
                         }));
    return {};
  }

  Status reshape_operators(const NodeContext& node) override {
    const Shape& x = node.input(0).shape;
    const std::array<int64_t, 2> axes{1, 2};
    size_t workspace_bytes = 0;
    ETX_RETURN_IF_ERROR(check_xnn(
        reshape_with_workspace(
            xnn_reshape_reduce_nd,
            std::make_tuple(mean_.get(), axes.size(), axes.data(), x.rank, x.dims.data()),
            &workspace_bytes,
            std::make_tuple(pool())),
        "xnn_reshape_reduce_nd"));
    // Float16 is summed up in Float32, in this workspace. Float32 asks for one, too, and does not use it.
    if (is_float16()) {
      add_scratch(workspace_bytes);
    }
    add_step(mean_.get());
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    void* const workspace = is_float16() ? arguments.scratch : nullptr;
    return check_xnn(
        xnn_setup_reduce_nd(mean_.get(), workspace, input(arguments, 0), arguments.outputs[0]), "xnn_setup_reduce_nd");
  }

 private:
  OperatorPtr mean_;
};

class XnnpackMaxPool2d : public XnnpackKernel {
 protected:
  Status create_operators(const NodeContext& node, ConstantSource&) override {
    return create(node);
  }

  Status reshape_operators(const NodeContext& node) override {
    const Shape& x = node.input(0).shape;
    // The operator keeps its table of addresses, which is wrong once pixels are another number of channels apart.
    if (channels_ != 0 && channels_ != x[3]) {
      ETX_RETURN_IF_ERROR(create(node));
    }
    channels_ = x[3];
    size_t height = 0, width = 0;
    add_step(pool_.get());
    return check_xnn(
        xnn_reshape_max_pooling2d_nhwc_s8(pool_.get(), x[0], x[1], x[2], x[3], x[3], x[3], &height, &width, pool()),
        "xnn_reshape_max_pooling2d_nhwc_s8");
  }

  Status set_up(const KernelArguments& arguments) override {
    return check_xnn(
        xnn_setup_max_pooling2d_nhwc_s8(pool_.get(), arguments.input<int8_t>(0), arguments.output<int8_t>(0)),
        "xnn_setup_max_pooling2d_nhwc_s8");
  }

 private:
  Status create(const NodeContext& node) {
    const auto& pool = node.attributes<schema::MaxPool2d>();
    ETX_ASSIGN_OR_RETURN(pool_, create_operator("xnn_create_max_pooling2d_nhwc_s8", [&](xnn_operator_t* op) {
                           return xnn_create_max_pooling2d_nhwc_s8(
                               pool.padding()->top(),
                               pool.padding()->right(),
                               pool.padding()->bottom(),
                               pool.padding()->left(),
                               pool.kernel()->height(),
                               pool.kernel()->width(),
                               pool.stride()->height(),
                               pool.stride()->width(),
                               pool.dilation()->height(),
                               pool.dilation()->width(),
                               INT8_MIN,
                               INT8_MAX,
                               /*flags=*/0,
                               op);
                         }));
    return {};
  }

  OperatorPtr pool_;
  size_t channels_ = 0; // at the last reshape()
};

} // namespace

std::unique_ptr<Kernel> make_xnnpack_avg_pool2d(const NodeContext&, bool float16) {
  return std::make_unique<XnnpackAvgPool2d>(float16);
}

std::unique_ptr<Kernel> make_xnnpack_adaptive_pool2d(const NodeContext&, bool float16) {
  return std::make_unique<XnnpackImageMean>(float16);
}

std::unique_ptr<Kernel> make_xnnpack_max_pool2d(const NodeContext&) {
  return std::make_unique<XnnpackMaxPool2d>();
}

} // namespace executorch::backends::et_xnnpack
