// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "rounded_rows.h"

#include <limits>

#include "operator.h"
#include "versions.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kDepth = 64, kColumns = 1;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The operators exist together with their microkernels. With numbers that have a sign only those for AMX are as good:
// they pack 64 columns at once, all others 16 at most.
template <typename Signed, typename Unsigned>
bool is_better(const Signed& create_signed, const Unsigned& create_unsigned) {
  return packed_bytes(create_unsigned) != 0 && packed_bytes(create_signed) < 64 * kDepth / 2;
}

bool find_takes_unsigned_rows(RoundedProduct product) {
  const uint8_t weight[kColumns * kDepth + kTailBytes] = {};
  const float scale[kColumns] = {1.0f};
  const uint16_t group_scale[kColumns * 2] = {0x3F80, 0x3F80}; // 1 in bfloat16
  const auto linear = [&](auto function, auto... how) {
    return [=, data = &weight[0]](xnn_weights_cache_t cache, xnn_operator_t* op) {
      return create_with_weights(
          function,
          cache,
          op,
          kDepth,
          kColumns,
          kDepth,
          kColumns,
          how...,
          Address(data),
          Address(nullptr),
          -kInfinity,
          kInfinity,
          0u);
    };
  };
  const auto convolution = [&](auto function) {
    return [&, function](xnn_weights_cache_t cache, xnn_operator_t* op) {
      return create_with_weights(
          function,
          cache,
          op,
          0u,
          0u,
          0u,
          0u,
          1u,
          1u,
          1u,
          1u,
          1u,
          1u,
          1u,
          kDepth,
          kColumns,
          kDepth,
          kColumns,
          static_cast<const float*>(scale),
          Address(weight),
          Address(nullptr),
          -kInfinity,
          kInfinity,
          0u);
    };
  };
  const float* const scales = scale;
  const uint16_t* const group_scales = group_scale;
  switch (product) {
    case RoundedProduct::Int8:
      return is_better(
          linear(xnn_create_fully_connected_nc_qd8_f32_qc8w, scales),
          linear(xnn_create_fully_connected_nc_qdu8_f32_qc8w, scales));
    case RoundedProduct::Int4:
      return is_better(
          linear(xnn_create_fully_connected_nc_qd8_f32_qc4w, uint8_t{8}, scales),
          linear(xnn_create_fully_connected_nc_qdu8_f32_qc4w, uint8_t{8}, scales));
    case RoundedProduct::Int4InGroups:
      return is_better(
          linear(xnn_create_fully_connected_nc_qd8_f32_qb4w, kDepth / 2, uint8_t{8}, group_scales),
          linear(xnn_create_fully_connected_nc_qdu8_f32_qb4w, kDepth / 2, uint8_t{8}, group_scales));
    case RoundedProduct::Convolution:
      return is_better(
          convolution(xnn_create_convolution2d_nhwc_qd8_f32_qc8w),
          convolution(xnn_create_convolution2d_nhwc_qdu8_f32_qc8w));
  }
  return false;
}

template <RoundedProduct kProduct>
bool takes_unsigned() {
  static const bool result = kHasUnsignedRows && find_takes_unsigned_rows(kProduct);
  return result;
}

} // namespace

bool takes_unsigned_rows(RoundedProduct product) {
  switch (product) {
    case RoundedProduct::Int8:
      return takes_unsigned<RoundedProduct::Int8>();
    case RoundedProduct::Int4:
      return takes_unsigned<RoundedProduct::Int4>();
    case RoundedProduct::Int4InGroups:
      return takes_unsigned<RoundedProduct::Int4InGroups>();
    case RoundedProduct::Convolution:
      return takes_unsigned<RoundedProduct::Convolution>();
  }
  return false;
}

} // namespace executorch::backends::et_xnnpack
