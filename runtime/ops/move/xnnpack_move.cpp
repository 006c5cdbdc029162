// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_move.h"

#include <array>

#include "runtime/ops/common/xnnpack_kernel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Of three functions of XNNPACK the one for elements of so many bytes.
template <typename Function>
Function for_elements(size_t bytes, Function x8, Function x16, Function x32) {
  return bytes == 1 ? x8 : bytes == 2 ? x16 : x32;
}

size_t element_bytes(const NodeContext& node, bool float16) {
  return float16 ? sizeof(uint16_t) : element_size(node.output().storage());
}

// Copies each operand into its part of every row.
class XnnpackConcat : public XnnpackKernel {
 public:
  XnnpackConcat(const NodeContext& node, bool float16)
      : XnnpackKernel(float16), element_bytes_(element_bytes(node, float16)) {}

 protected:
  Status create_operators(const NodeContext& node, ConstantSource&) override {
    const auto create =
        for_elements(element_bytes_, xnn_create_copy_nc_x8, xnn_create_copy_nc_x16, xnn_create_copy_nc_x32);
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      ETX_ASSIGN_OR_RETURN(OperatorPtr copy, create_operator("xnn_create_copy_nc", [&](xnn_operator_t* op) {
                             return create(/*flags=*/0, op);
                           }));
      copies_.push_back(std::move(copy));
    }
    starts_.resize(node.num_inputs());
    return {};
  }

  Status reshape_operators(const NodeContext& node) override {
    const size_t axis = node.attributes<schema::Concat>().axis();
    const Shape& y = node.output().shape;
    const size_t rows = y.numel(0, axis), row = y.numel(axis, y.rank);
    const auto reshape =
        for_elements(element_bytes_, xnn_reshape_copy_nc_x8, xnn_reshape_copy_nc_x16, xnn_reshape_copy_nc_x32);
    size_t start = 0;
    for (size_t i = 0; i < copies_.size(); ++i) {
      const size_t part = node.input(i).shape.numel(axis, y.rank);
      ETX_RETURN_IF_ERROR(check_xnn(reshape(copies_[i].get(), rows, part, part, row, pool()), "xnn_reshape_copy_nc"));
      add_step(copies_[i].get());
      starts_[i] = start * element_bytes_;
      start += part;
    }
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    const auto setup = for_elements(element_bytes_, xnn_setup_copy_nc_x8, xnn_setup_copy_nc_x16, xnn_setup_copy_nc_x32);
    for (size_t i = 0; i < copies_.size(); ++i) {
      ETX_RETURN_IF_ERROR(check_xnn(
          setup(copies_[i].get(), input(arguments, i), arguments.output<char>(0) + starts_[i]), "xnn_setup_copy_nc"));
    }
    return {};
  }

 private:
  const size_t element_bytes_;
  std::vector<OperatorPtr> copies_; // by operand
  std::vector<size_t> starts_; // in the first row, in bytes
};

class XnnpackSlice : public XnnpackKernel {
 public:
  XnnpackSlice(const NodeContext& node, bool float16)
      : XnnpackKernel(float16), element_bytes_(element_bytes(node, float16)) {}

 protected:
  Status create_operators(const NodeContext&, ConstantSource&) override {
    const auto create =
        for_elements(element_bytes_, xnn_create_slice_nd_x8, xnn_create_slice_nd_x16, xnn_create_slice_nd_x32);
    ETX_ASSIGN_OR_RETURN(
        slice_, create_operator("xnn_create_slice_nd", [&](xnn_operator_t* op) { return create(/*flags=*/0, op); }));
    return {};
  }

  Status reshape_operators(const NodeContext& node) override {
    const auto& attributes = node.attributes<schema::Slice>();
    const Shape& x = node.input(0).shape;
    std::array<size_t, kMaxRank> starts{};
    starts[attributes.axis()] = static_cast<size_t>(node.sizes().resolve(attributes.start()));
    const auto reshape =
        for_elements(element_bytes_, xnn_reshape_slice_nd_x8, xnn_reshape_slice_nd_x16, xnn_reshape_slice_nd_x32);
    add_step(slice_.get());
    return check_xnn(
        reshape(slice_.get(), x.rank, x.dims.data(), starts.data(), node.output().shape.dims.data(), pool()),
        "xnn_reshape_slice_nd");
  }

  Status set_up(const KernelArguments& arguments) override {
    const auto setup =
        for_elements(element_bytes_, xnn_setup_slice_nd_x8, xnn_setup_slice_nd_x16, xnn_setup_slice_nd_x32);
    return check_xnn(setup(slice_.get(), input(arguments, 0), arguments.outputs[0]), "xnn_setup_slice_nd");
  }

 private:
  const size_t element_bytes_;
  OperatorPtr slice_;
};

} // namespace

std::unique_ptr<Kernel> make_xnnpack_concat(const NodeContext& node, bool float16) {
  return std::make_unique<XnnpackConcat>(node, float16);
}

std::unique_ptr<Kernel> make_xnnpack_slice(const NodeContext& node, bool float16) {
  return std::make_unique<XnnpackSlice>(node, float16);
}

} // namespace executorch::backends::et_xnnpack
