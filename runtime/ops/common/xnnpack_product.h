// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <tuple>

#include "common.h"
#include "runtime/xnnpack/versions.h"
#include "xnnpack_format.h"

namespace executorch::backends::et_xnnpack {

// The functions of XNNPACK that create, reshape and set up a product in one format.
template <ProductFormat kOfFormat, typename Create, typename Reshape, typename SetUp>
struct ProductFunctions {
  static constexpr ProductFormat kFormat = kOfFormat;

  Create create;
  Reshape reshape;
  SetUp set_up;
};

template <ProductFormat kFormat, typename Create, typename Reshape, typename SetUp>
constexpr ProductFunctions<kFormat, Create, Reshape, SetUp> product_row(Create create, Reshape reshape, SetUp set_up) {
  return {create, reshape, set_up};
}

// Calls `use` with the row of a table that has the format, and returns what that returns.
template <typename... Rows, typename Use>
xnn_status with_product_row(const std::tuple<Rows...>& table, ProductFormat format, const Use& use) {
  xnn_status status = xnn_status_unsupported_parameter;
  const auto try_row = [&](const auto& row) {
    if (row.kFormat == format) {
      status = use(row);
    }
  };
  std::apply([&](const auto&... rows) { (try_row(rows), ...); }, table);
  return status;
}

// What products take after their sizes when they are created. Borrows the scales from the blob.
struct ProductWeights {
  float min, max;
  ProductParameters parameters;
  const float* scale; // of the weight; null if it is not quantized

  ProductWeights(const NodeContext& node, const schema::Clamp* clamp)
      : min(clamp_min(clamp)), max(clamp_max(clamp)), parameters(product_parameters(node, clamp)), scale(nullptr) {
    if (const schema::Quantization* weight = node.input(1).quantization; weight != nullptr) {
      scale = weight->scale()->data();
    }
  }

  // Calls `create` with the arguments that the functions of the format take between the sizes and the weights cache.
  template <ProductFormat kFormat, typename Create>
  xnn_status apply(const Create& create, Address weight, Address bias) const {
    const auto create_int8 = [&](auto scales) {
      const ProductParameters& p = parameters;
      return create(p.x_zero_point, p.x_scale, scales, weight, bias, p.y_zero_point, p.y_scale, p.min, p.max, 0u);
    };
    if constexpr (kFormat == ProductFormat::Int8) {
      return create_int8(*scale);
    } else if constexpr (kFormat == ProductFormat::Int8ByChannel) {
      return create_int8(scale);
    } else if constexpr (kFormat == ProductFormat::DynamicInt8 || kFormat == ProductFormat::DynamicUInt8) {
      return create(scale, weight, bias, min, max, 0u);
    } else {
      const uint32_t flags = kFormat == ProductFormat::Float16 ? XNN_FLAG_FP32_STATIC_WEIGHTS : 0;
      return create(weight, bias, min, max, flags);
    }
  }
};

} // namespace executorch::backends::et_xnnpack
