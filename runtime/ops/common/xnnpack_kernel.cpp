// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/quantize/special.h"
#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/xnnpack/parts.h"

namespace executorch::backends::et_xnnpack {

Status XnnpackKernel::load(const NodeContext& node, ConstantSource& constants) {
  ETX_RETURN_IF_ERROR(create_operators(node, constants));
  rounded_.resize(float16_ ? node.num_inputs() : 0);
  for (size_t i = 0; i < rounded_.size(); ++i) {
    if (node.has_input(i) && node.is_constant(i) && !packs(i)) {
      ETX_RETURN_IF_ERROR(round(node, i, constants));
    }
  }
  return {};
}

Status XnnpackKernel::round(const NodeContext& node, size_t i, ConstantSource& constants) {
  const size_t count = node.input(i).shape.numel(), bytes = count * sizeof(uint16_t);
  const auto pack = [&]() -> StatusOr<PackedMemory> {
    ETX_ASSIGN_OR_RETURN(const ConstantData loaded, constants.load(i));
    ETX_ASSIGN_OR_RETURN(Buffer buffer, constants.allocate(bytes));
    narrow(DType::Float16, static_cast<const float*>(loaded.data), buffer.data(), count);
    std::memset(buffer.data() + bytes, 0, kTailBytes);
    const auto memory = std::make_shared<Buffer>(std::move(buffer));
    return PackedMemory{memory->data(), bytes, false, memory};
  };
  const std::string key = "Float16 of " + constants.identity(i) + " " + node.input(i).to_string();
  const auto measure = [bytes]() -> StatusOr<ConstantSource::Measured> { return ConstantSource::Measured{bytes}; };
  ETX_ASSIGN_OR_RETURN(rounded_[i], constants.find_or_pack(key, measure, pack));
  return {};
}

StatusOr<size_t> XnnpackKernel::reshape(const NodeContext& node, size_t /*num_threads*/) {
  steps_.clear();
  scratch_bytes_ = 0;
  addresses_.clear();
  addresses_.reserve(node.num_inputs() + node.num_outputs() + 1);
  can_overwrite_.assign(node.num_inputs(), false);
  for (size_t i = 0; is_elementwise() && i < node.num_inputs(); ++i) {
    can_overwrite_[i] = node.input(i).shape.numel() == node.output().shape.numel() &&
        element_size(node.input(i).storage()) == element_size(node.output().storage());
  }
  ETX_RETURN_IF_ERROR(reshape_operators(node));
  return scratch_bytes_;
}

size_t XnnpackKernel::add_scratch(size_t bytes) {
  const size_t offset = scratch_bytes_;
  scratch_bytes_ += bytes == 0 ? 0 : round_up_to_alignment(bytes + kTailBytes);
  return offset;
}

void XnnpackKernel::run(const KernelArguments& arguments) {
  const size_t num_inputs = arguments.inputs.size(), num_outputs = arguments.outputs.size();
  const bool is_set_up = addresses_.size() == num_inputs + num_outputs + 1 &&
      std::equal(arguments.inputs.begin(), arguments.inputs.end(), addresses_.begin()) &&
      std::equal(arguments.outputs.begin(), arguments.outputs.end(), addresses_.begin() + num_inputs) &&
      addresses_.back() == arguments.scratch;
  if (!is_set_up) {
    addresses_.clear();
    if (Status status = set_up(arguments); !status.ok()) {
      *arguments.status = std::move(status);
      return;
    }
    addresses_.insert(addresses_.end(), arguments.inputs.begin(), arguments.inputs.end());
    addresses_.insert(addresses_.end(), arguments.outputs.begin(), arguments.outputs.end());
    addresses_.push_back(arguments.scratch);
  }
  begin(arguments);
  for (const xnn_operator_t step : steps_) {
    if (const xnn_status status = xnn_run_operator(step, arguments.pool); status != xnn_status_success) {
      *arguments.status = check_xnn(status, "xnn_run_operator");
      return;
    }
  }
  finish(arguments);
}

Status XnnpackDynamicQuantization::create(bool is_unsigned) {
  is_unsigned_ = is_unsigned;
  ETX_ASSIGN_OR_RETURN(operator_, create_operator("xnn_create_convert_nc_f32_qd8", [is_unsigned](xnn_operator_t* op) {
                         return is_unsigned ? xnn_create_convert_nc_f32_qdu8(/*flags=*/0, op)
                                            : xnn_create_convert_nc_f32_qd8(/*flags=*/0, op);
                       }));
  return {};
}

Status XnnpackDynamicQuantization::reshape(size_t count, size_t size, pthreadpool_t pool) {
  count_ = count;
  size_ = size;
  const auto reshape = is_unsigned_ ? xnn_reshape_convert_nc_f32_qdu8 : xnn_reshape_convert_nc_f32_qd8;
  return check_xnn(reshape(operator_.get(), count, size, size, size, pool), "xnn_reshape_convert_nc_f32_qd8");
}

Status XnnpackDynamicQuantization::set_up(const void* x, void* y, void* parameters) {
  auto* const to = static_cast<xnn_quantization_params*>(parameters);
  return check_xnn(
      is_unsigned_ ? setup_dynamic_quantization(xnn_setup_convert_nc_f32_qdu8, operator_.get(), x, y, to)
                   : setup_dynamic_quantization(xnn_setup_convert_nc_f32_qd8, operator_.get(), x, y, to),
      "xnn_setup_convert_nc_f32_qd8");
}

bool XnnpackDynamicQuantization::loses_nan() {
  return !xnnpack_has(Part::Rounding);
}

void XnnpackDynamicQuantization::remember_columns(
    const float* scale, size_t columns, size_t groups, const float* bias) {
  columns_ = columns;
  nan_columns_.clear();
  for (size_t i = 0; i < columns; ++i) {
    const float* const end = scale + (i + 1) * groups;
    if (std::any_of(end - groups, end, [](float x) { return std::isnan(x); }) ||
        (bias != nullptr && std::isnan(bias[i]))) {
      nan_columns_.push_back(i);
    }
  }
}

void XnnpackDynamicQuantization::mend(
    const void* x, const void* parameters, void* y, size_t y_size, pthreadpool_t pool) const {
  constexpr size_t kGrain = 1 << 14;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const auto* const numbers = static_cast<const float*>(x);
  const auto* const of_rows = static_cast<const xnn_quantization_params*>(parameters);
  auto* const results = static_cast<float*>(y);
  parallel_for(pool, count_, std::max(kGrain / size_, size_t{1}), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      // A range that is larger than any float makes an infinite scale.
      if (!std::isfinite(of_rows[i].scale) || has_special(numbers + i * size_, size_)) {
        std::fill_n(results + i * y_size, y_size, kNaN);
      }
      for (const size_t column : nan_columns_) {
        for (size_t at = column; at < y_size; at += columns_) {
          results[i * y_size + at] = kNaN;
        }
      }
    }
  });
}

XnnpackShape::XnnpackShape(const Shape& shape) : rank(shape.rank), dims(shape.dims) {
  if (rank == 0) {
    rank = 1;
    dims[0] = 1;
  }
}

size_t XnnpackShape::rows() const {
  size_t product = 1;
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    product *= dims[axis];
  }
  return product;
}

Status reshape_unary(xnn_operator_t op, const Shape& shape, pthreadpool_t pool) {
  const XnnpackShape x(shape);
  return check_xnn(
      xnn_reshape_unary_elementwise_nc(op, x.rows(), x.channels(), x.channels(), x.channels(), pool),
      "xnn_reshape_unary_elementwise_nc");
}

StatusOr<OperatorPtr> create_clamp(float min, float max, xnn_datatype datatype) {
  xnn_unary_params params{};
  params.clamp.min = min;
  params.clamp.max = max;
  return create_operator("xnn_create_unary_elementwise_nc", [&](xnn_operator_t* op) {
    return create_unary(xnn_unary_clamp, datatype, datatype, &params, op);
  });
}

bool is_range_in_float16(const schema::Clamp* clamp) {
  const float limits[] = {clamp_min(clamp), clamp_max(clamp)};
  uint16_t numbers[2];
  narrow(DType::Float16, limits, numbers, 2);
  float rounded[2];
  widen(DType::Float16, numbers, rounded, 2);
  return rounded[0] < rounded[1];
}

} // namespace executorch::backends::et_xnnpack
