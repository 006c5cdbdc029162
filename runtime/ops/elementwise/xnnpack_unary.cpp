// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

#include "runtime/ops/common/xnnpack_kernel.h"
#include "xnnpack_elementwise.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::UnaryKind;

// XNNPACK's unary operator for a kind where that is better than our row; unary_limit() has the reasons for the rest.
// Copies, negations and reciprocals are not among these, but XnnpackCopy and XnnpackWithOne.
xnn_unary_operator unary_operator(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Abs:
      return xnn_unary_abs;
    case UnaryKind::Ceil:
      return xnn_unary_ceiling;
    case UnaryKind::Clamp:
      return xnn_unary_clamp;
    case UnaryKind::Elu:
      return xnn_unary_elu;
    case UnaryKind::Floor:
      return xnn_unary_floor;
    case UnaryKind::Gelu:
      return xnn_unary_gelu;
    case UnaryKind::HardSwish:
      return xnn_unary_hardswish;
    case UnaryKind::LeakyRelu:
      return xnn_unary_leaky_relu;
    case UnaryKind::Round:
      return xnn_unary_bankers_rounding;
    case UnaryKind::Sigmoid:
      return xnn_unary_sigmoid;
    case UnaryKind::Square:
      return xnn_unary_square;
    case UnaryKind::Tanh:
      return xnn_unary_tanh;
    default:
      return xnn_unary_invalid;
  }
}

xnn_unary_params unary_params(const schema::Unary& attributes) {
  xnn_unary_params params{};
  switch (attributes.kind()) {
    case UnaryKind::Clamp:
      params.clamp.min = attributes.clamp()->min();
      params.clamp.max = attributes.clamp()->max();
      break;
    case UnaryKind::Elu:
      params.elu.alpha = attributes.alpha();
      break;
    case UnaryKind::LeakyRelu:
      params.leaky_relu.negative_slope = attributes.alpha();
      break;
    default:
      break;
  }
  return params;
}

class XnnpackUnary : public XnnpackKernel {
 public:
  explicit XnnpackUnary(bool float16) : XnnpackKernel(float16) {}

  bool reads_output() const override {
    return clamp_ != nullptr;
  }

 protected:
  Status create_operators(const NodeContext& node, ConstantSource&) override {
    const auto& attributes = node.attributes<schema::Unary>();
    // XNNPACK's own sigmoid of a finite number beyond 4e26 is NaN on AVX-512.
    if (attributes.kind() == UnaryKind::Sigmoid) {
      ETX_ASSIGN_OR_RETURN(clamp_, create_clamp(-128, 128, float_type()));
    }
    const xnn_unary_params params = unary_params(attributes);
    ETX_ASSIGN_OR_RETURN(operator_, create_operator("xnn_create_unary_elementwise_nc", [&](xnn_operator_t* op) {
                           return create_unary(
                               unary_operator(attributes.kind()), float_type(), float_type(), &params, op);
                         }));
    return {};
  }

  bool is_elementwise() const override {
    return true;
  }

  Status reshape_operators(const NodeContext& node) override {
    if (clamp_ != nullptr) {
      ETX_RETURN_IF_ERROR(reshape_unary(clamp_.get(), node.input(0).shape, pool()));
      add_step(clamp_.get());
    }
    add_step(operator_.get());
    return reshape_unary(operator_.get(), node.input(0).shape, pool());
  }

  Status set_up(const KernelArguments& arguments) override {
    const void* x = input(arguments, 0);
    void* const y = arguments.outputs[0];
    if (clamp_ != nullptr) {
      ETX_RETURN_IF_ERROR(
          check_xnn(xnn_setup_unary_elementwise_nc(clamp_.get(), x, y), "xnn_setup_unary_elementwise_nc"));
      x = y;
    }
    return check_xnn(xnn_setup_unary_elementwise_nc(operator_.get(), x, y), "xnn_setup_unary_elementwise_nc");
  }

 private:
  OperatorPtr clamp_, operator_;
};

class XnnpackCopy : public XnnpackKernel {
 public:
  explicit XnnpackCopy(bool float16) : XnnpackKernel(float16) {}

 protected:
  Status create_operators(const NodeContext&, ConstantSource&) override {
    ETX_ASSIGN_OR_RETURN(operator_, create_operator("xnn_create_copy_nc", [this](xnn_operator_t* op) {
                           return is_float16() ? xnn_create_copy_nc_x16(0, op) : xnn_create_copy_nc_x32(0, op);
                         }));
    return {};
  }

  bool is_elementwise() const override {
    return true;
  }

  Status reshape_operators(const NodeContext& node) override {
    const auto reshape = is_float16() ? xnn_reshape_copy_nc_x16 : xnn_reshape_copy_nc_x32;
    add_step(operator_.get());
    return check_xnn(reshape(operator_.get(), node.input(0).shape.numel(), 1, 1, 1, pool()), "xnn_reshape_copy_nc");
  }

  Status set_up(const KernelArguments& arguments) override {
    const auto setup = is_float16() ? xnn_setup_copy_nc_x16 : xnn_setup_copy_nc_x32;
    return check_xnn(setup(operator_.get(), input(arguments, 0), arguments.outputs[0]), "xnn_setup_copy_nc");
  }

 private:
  OperatorPtr operator_;
};

// A number with what XNNPACK may read behind it; static, since an object that holds it would need an aligned operator new.
template <typename T>
struct WithTail {
  T number;
  char tail[kTailBytes] = {};
};
alignas(kAlignment) constexpr WithTail<float> kOne{1}, kMinusOne{-1};
alignas(kAlignment) constexpr WithTail<uint16_t> kFloat16One{0x3C00}, kFloat16MinusOne{0xBC00};

// 1 / x, or -1 * x: XNNPACK's own negation subtracts from 0, so that 0 does not become -0.
class XnnpackWithOne : public XnnpackKernel {
 public:
  XnnpackWithOne(UnaryKind kind, bool float16) : XnnpackKernel(float16), is_negative_(kind == UnaryKind::Neg) {}

 protected:
  Status create_operators(const NodeContext&, ConstantSource&) override {
    ETX_ASSIGN_OR_RETURN(operator_, create_operator("xnn_create_binary_elementwise_nd", [this](xnn_operator_t* op) {
                           const xnn_quantization_params none{};
                           return xnn_create_binary_elementwise_nd(
                               is_negative_ ? xnn_binary_multiply : xnn_binary_divide,
                               float_type(),
                               &none,
                               &none,
                               &none,
                               /*flags=*/0,
                               op);
                         }));
    return {};
  }

  bool is_elementwise() const override {
    return true;
  }

  Status reshape_operators(const NodeContext& node) override {
    const XnnpackShape x(node.input(0).shape);
    const size_t one = 1;
    add_step(operator_.get());
    return check_xnn(
        xnn_reshape_binary_elementwise_nd(operator_.get(), 1, &one, x.rank, x.dims.data(), pool()),
        "xnn_reshape_binary_elementwise_nd");
  }

  Status set_up(const KernelArguments& arguments) override {
    return check_xnn(
        xnn_setup_binary_elementwise_nd(operator_.get(), factor(), input(arguments, 0), arguments.outputs[0]),
        "xnn_setup_binary_elementwise_nd");
  }

 private:
  const void* factor() const {
    if (is_float16()) {
      return is_negative_ ? &kFloat16MinusOne : &kFloat16One;
    }
    return is_negative_ ? static_cast<const void*>(&kMinusOne) : &kOne;
  }

  const bool is_negative_;
  OperatorPtr operator_;
};

} // namespace

bool has_xnnpack_unary(UnaryKind kind) {
  const bool has_class = kind == UnaryKind::Copy || kind == UnaryKind::Neg || kind == UnaryKind::Reciprocal;
  return has_class || unary_operator(kind) != xnn_unary_invalid;
}

std::unique_ptr<Kernel> make_xnnpack_unary(const NodeContext& node, bool float16) {
  switch (node.attributes<schema::Unary>().kind()) {
    case UnaryKind::Copy:
      return std::make_unique<XnnpackCopy>(float16);
    case UnaryKind::Neg:
    case UnaryKind::Reciprocal:
      return std::make_unique<XnnpackWithOne>(node.attributes<schema::Unary>().kind(), float16);
    default:
      return std::make_unique<XnnpackUnary>(float16);
  }
}

} // namespace executorch::backends::et_xnnpack
