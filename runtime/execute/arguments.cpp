// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "arguments.h"

#include <array>
#include <limits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include "runtime/kernels/common/with_type.h"

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::aten::Tensor;

// Whether the axes that have more than one element lie in memory as declared. Whoever makes a tensor may leave out the
// order of its axes, the strides, or both: then it is contiguous.
bool is_in_order(const Tensor& tensor, const std::array<uint8_t, kMaxRank>& declared) {
  const auto sizes = tensor.sizes();
  const auto order = tensor.dim_order();
  const auto strides = tensor.strides();
  const bool has_order = order.data() != nullptr || strides.data() == nullptr;
  const auto axis_in_memory = [&](size_t i) { return order.data() == nullptr ? i : size_t{order[i]}; };
  size_t left = sizes.size(); // axes in memory that are still to be compared
  int64_t stride = 1; // one that does not fit into its type is not compared
  for (size_t i = sizes.size(); i-- > 0;) {
    const size_t axis = declared[i];
    if (sizes[axis] == 1) {
      continue;
    }
    if (has_order) {
      while (left > 0 && axis_in_memory(left - 1) < sizes.size() && sizes[axis_in_memory(left - 1)] == 1) {
        --left;
      }
      if (left == 0 || axis_in_memory(--left) != axis) {
        return false;
      }
    }
    if (stride <= std::numeric_limits<StridesType>::max()) {
      if (strides.data() != nullptr && strides[axis] != stride) {
        return false;
      }
      stride *= sizes[axis];
    }
  }
  for (; has_order && left > 0; --left) {
    const size_t axis = axis_in_memory(left - 1);
    if (axis >= sizes.size() || sizes[axis] != 1) {
      return false;
    }
  }
  return true;
}

} // namespace

ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return ScalarType::Bool;
    case DType::Float16:
      return ScalarType::Half;
    case DType::BFloat16:
      return ScalarType::BFloat16;
    default:
      return with_type(
          dtype, [](auto zero) { return executorch::runtime::CppTypeToScalarType<decltype(zero)>::value; });
  }
}

Arguments::Argument Arguments::tensor(const schema::Value& value, const DimOrder* order) {
  Argument argument;
  argument.dtype = to_dtype(value.dtype());
  argument.scalar_type = et_xnnpack::scalar_type(argument.dtype);
  argument.rank = value.dims() == nullptr ? 0 : value.dims()->size();
  for (uint32_t i = 0; i < argument.rank; ++i) {
    argument.order[i] = order == nullptr ? static_cast<uint8_t>(i) : order->Get(i);
  }
  return argument;
}

Arguments::Arguments(const Blob& blob) {
  for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
    const schema::Input& input = *blob.graph().inputs()->Get(i);
    if (input.value() == kNone) {
      inputs_.emplace_back().is_integer = true;
    } else {
      inputs_.push_back(tensor(blob.value(input.value()), input.dim_order()));
    }
  }
  for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
    const schema::Output& output = *blob.graph().outputs()->Get(i);
    outputs_.push_back(tensor(blob.value(output.value()), output.dim_order()));
  }
}

Status Arguments::check_kind(const EValue* arg, const Argument& declared) {
  ETX_CHECK(arg != nullptr && arg->isTensor(), InvalidArgument, "it is not a tensor");
  const Tensor& tensor = arg->toTensor();
  ETX_CHECK(
      tensor.scalar_type() == declared.scalar_type,
      InvalidArgument,
      "it holds %s, but the model takes %s",
      executorch::runtime::toString(tensor.scalar_type()),
      name_of(declared.dtype));
  ETX_CHECK(
      static_cast<size_t>(tensor.dim()) == declared.rank,
      InvalidArgument,
      "it has %zd axes, but the model takes %zu",
      static_cast<ssize_t>(tensor.dim()),
      declared.rank);
  return {};
}

Status Arguments::check_order(const Tensor& tensor, const Argument& declared) {
  ETX_CHECK(
      tensor.numel() == 0 || is_in_order(tensor, declared.order),
      InvalidArgument,
      "its axes lie in memory in another order than the model was exported with "
      "(contiguous instead of channels_last, or the reverse)");
  return {};
}

Status Arguments::read_tensor(const EValue* arg, const Argument& declared, Shape* shape, const void** data) {
  ETX_RETURN_IF_ERROR(check_kind(arg, declared));
  const Tensor& tensor = arg->toTensor();
  ETX_RETURN_IF_ERROR(check_order(tensor, declared));
  *shape = {};
  for (size_t i = 0; i < declared.rank; ++i) {
    shape->append(static_cast<size_t>(tensor.sizes()[declared.order[i]]));
  }
  *data = tensor.const_data_ptr();
  ETX_CHECK(*data != nullptr || tensor.numel() == 0, InvalidArgument, "it has no data");
  return {};
}

Status Arguments::read(
    Span<EValue*> args, std::vector<ArgumentSize>* inputs, std::vector<const void*>* input_data) const {
  ETX_CHECK(
      args.size() == num_inputs() + num_outputs(),
      InvalidArgument,
      "it is called with %zu arguments, but the delegate has %zu inputs and %zu outputs",
      args.size(),
      num_inputs(),
      num_outputs());
  inputs->resize(num_inputs());
  input_data->resize(num_inputs());
  for (size_t i = 0; i < num_inputs(); ++i) {
    ArgumentSize& size = (*inputs)[i];
    if (inputs_[i].is_integer) {
      ETX_CHECK(
          args[i] != nullptr && args[i]->isInt(), InvalidArgument, "input %zu of the delegate is not an integer", i);
      size.integer = args[i]->toInt();
      (*input_data)[i] = nullptr;
      continue;
    }
    ETX_RETURN_IF_ERROR_IN(
        read_tensor(args[i], inputs_[i], &size.shape, &(*input_data)[i]),
        "input " + std::to_string(i) + " of the delegate");
  }
  for (size_t i = 0; i < num_outputs(); ++i) {
    ETX_CHECK(args[num_inputs() + i] != nullptr, InvalidArgument, "output %zu of the delegate is absent", i);
  }
  return {};
}

StatusOr<void*> Arguments::prepare_output(size_t i, const Shape& shape, EValue& arg) const {
  const Argument& declared = outputs_[i];
  ETX_RETURN_IF_ERROR(check_kind(&arg, declared));
  Tensor& tensor = arg.toTensor();
  std::array<SizesType, kMaxRank> sizes{};
  for (size_t k = 0; k < shape.rank; ++k) {
    ETX_CHECK(
        shape[k] <= static_cast<size_t>(std::numeric_limits<SizesType>::max()),
        InvalidArgument,
        "a tensor cannot have the sizes %s",
        shape.to_string().c_str());
    sizes[declared.order[k]] = static_cast<SizesType>(shape[k]);
  }
  const Error resized = executorch::runtime::resize_tensor(tensor, {sizes.data(), shape.rank});
  ETX_CHECK(
      resized == Error::Ok,
      InvalidArgument,
      "its memory is planned for fewer elements than %s",
      shape.to_string().c_str());
  ETX_RETURN_IF_ERROR(check_order(tensor, declared));
  void* const data = tensor.mutable_data_ptr();
  ETX_CHECK(data != nullptr || shape.numel() == 0, InvalidArgument, "it has no data");
  return data;
}

} // namespace executorch::backends::et_xnnpack
