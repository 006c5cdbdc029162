// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "runtime/ops/common/common.h"
#include "runtime/ops/common/xnnpack_kernel.h"
#include "runtime/program/quantization.h"
#include "xnnpack_elementwise.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BinaryKind;

// XNNPACK's maximum and minimum drop a NaN in one of the operands.
xnn_binary_operator binary_operator(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add:
      return xnn_binary_add;
    case BinaryKind::Sub:
      return xnn_binary_subtract;
    case BinaryKind::Mul:
      return xnn_binary_multiply;
    case BinaryKind::Div:
      return xnn_binary_divide;
    case BinaryKind::Prelu:
      return xnn_binary_prelu;
    case BinaryKind::SquaredDifference:
      return xnn_binary_squared_difference;
    case BinaryKind::Copysign:
      return xnn_binary_copysign;
    case BinaryKind::Maximum:
    case BinaryKind::Minimum:
    case BinaryKind::Pow:
    case BinaryKind::Atan2:
    case BinaryKind::FloorDiv:
    case BinaryKind::Remainder:
    case BinaryKind::Fmod:
    case BinaryKind::BitAnd:
    case BinaryKind::BitOr:
    case BinaryKind::BitXor:
      break;
  }
  return xnn_binary_invalid;
}

xnn_quantization_params quantization_of(const TensorType& type) {
  xnn_quantization_params result{};
  if (type.quantization != nullptr) {
    result.scale = scale_of(type);
    result.zero_point = zero_point_of(type);
  }
  return result;
}

class XnnpackBinary : public XnnpackKernel {
 public:
  XnnpackBinary(const NodeContext& node, bool float16)
      : XnnpackKernel(float16), datatype_(node.is_quantized() ? xnn_datatype_qint8 : float_type()) {}

  bool reads_output() const override {
    return clamp_ != nullptr;
  }

 protected:
  Status create_operators(const NodeContext& node, ConstantSource&) override {
    const auto& attributes = node.attributes<schema::Binary>();
    const xnn_quantization_params a = quantization_of(node.input(0)), b = quantization_of(node.input(1)),
                                  y = quantization_of(node.output());
    ETX_ASSIGN_OR_RETURN(operator_, create_operator("xnn_create_binary_elementwise_nd", [&](xnn_operator_t* op) {
                           return xnn_create_binary_elementwise_nd(
                               binary_operator(attributes.kind()), datatype_, &a, &b, &y, /*flags=*/0, op);
                         }));
    const float min = clamp_min(attributes.clamp()), max = clamp_max(attributes.clamp());
    if (min != -kInfinity || max != kInfinity) {
      ETX_ASSIGN_OR_RETURN(clamp_, create_clamp(min, max, datatype_));
    }
    return {};
  }

  bool is_elementwise() const override {
    return true;
  }

  Status reshape_operators(const NodeContext& node) override {
    const XnnpackShape a(node.input(0).shape), b(node.input(1).shape);
    ETX_RETURN_IF_ERROR(check_xnn(
        xnn_reshape_binary_elementwise_nd(operator_.get(), a.rank, a.dims.data(), b.rank, b.dims.data(), pool()),
        "xnn_reshape_binary_elementwise_nd"));
    add_step(operator_.get());
    if (clamp_ != nullptr) {
      ETX_RETURN_IF_ERROR(reshape_unary(clamp_.get(), node.output().shape, pool()));
      add_step(clamp_.get());
    }
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    void* const y = arguments.outputs[0];
    ETX_RETURN_IF_ERROR(check_xnn(
        xnn_setup_binary_elementwise_nd(operator_.get(), input(arguments, 0), input(arguments, 1), y),
        "xnn_setup_binary_elementwise_nd"));
    return clamp_ == nullptr
        ? Status()
        : check_xnn(xnn_setup_unary_elementwise_nc(clamp_.get(), y, y), "xnn_setup_unary_elementwise_nc");
  }

 private:
  const xnn_datatype datatype_;
  OperatorPtr operator_, clamp_;
};

} // namespace

bool has_xnnpack_binary(BinaryKind kind) {
  return binary_operator(kind) != xnn_binary_invalid;
}

std::unique_ptr<Kernel> make_xnnpack_binary(const NodeContext& node, bool float16) {
  return std::make_unique<XnnpackBinary>(node, float16);
}

} // namespace executorch::backends::et_xnnpack
