// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_softmax.h"

#include "runtime/ops/common/xnnpack_kernel.h"

namespace executorch::backends::et_xnnpack {
namespace {

class XnnpackSoftmax : public XnnpackKernel {
 public:
  bool reads_output() const override {
    return true; // which it divides by the sum of the row
  }

 protected:
  Status create_operators(const NodeContext&, ConstantSource&) override {
    ETX_ASSIGN_OR_RETURN(softmax_, create_operator("xnn_create_softmax_nc_f32", [](xnn_operator_t* op) {
                           return xnn_create_softmax_nc_f32(/*flags=*/0, op);
                         }));
    return {};
  }

  Status reshape_operators(const NodeContext& node) override {
    const XnnpackShape x(node.input(0).shape);
    add_step(softmax_.get());
    return check_xnn(
        xnn_reshape_softmax_nc_f32(softmax_.get(), x.channels(), x.channels(), x.channels(), x.rows(), pool()),
        "xnn_reshape_softmax_nc_f32");
  }

  Status set_up(const KernelArguments& arguments) override {
    return check_xnn(
        xnn_setup_softmax_nc_f32(softmax_.get(), arguments.input<float>(0), arguments.output<float>(0)),
        "xnn_setup_softmax_nc_f32");
  }

 private:
  OperatorPtr softmax_;
};

} // namespace

std::unique_ptr<Kernel> make_xnnpack_softmax(const NodeContext&) {
  return std::make_unique<XnnpackSoftmax>();
}

} // namespace executorch::backends::et_xnnpack
