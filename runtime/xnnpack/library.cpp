// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "library.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include <cpuinfo.h>

#include "operator.h"
#include "versions.h"

#ifdef ET_XNNPACK_XNNPACK_NAMES
// Of third-party/xnnpack_names.h, which is read with XNNPACK's private headers.
extern "C" const char* et_xnnpack_microkernel(size_t i);
extern "C" void et_xnnpack_choose_microkernels();
#endif

namespace executorch::backends::et_xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kTail = kTailBytes / sizeof(float);

void append_bytes(std::string& text, const char* what, const void* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  text += what;
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<const unsigned char*>(bytes)[i];
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

bool is_success(xnn_status status) {
  return status == xnn_status_success;
}

// Built with AVX512-FP16, XNNPACK of 2024 has tiles of 64 columns of which it stores the second half one column too
// far. 1 multiplied by 0, 1, 2, ... shows it.
bool multiplies_in_float16() {
  constexpr size_t kColumns = 128;
  std::vector<float> weight(kColumns + kTail);
  for (size_t i = 0; i < kColumns; ++i) {
    weight[i] = static_cast<float>(i);
  }
  StatusOr<OperatorPtr> product = create_operator("xnn_create_fully_connected_nc_f16", [&](xnn_operator_t* op) {
    return create_with_weights(
        xnn_create_fully_connected_nc_f16,
        nullptr,
        op,
        size_t{1},
        kColumns,
        size_t{1},
        kColumns,
        Address(weight.data()),
        Address(nullptr),
        -kInfinity,
        kInfinity,
        uint32_t{XNN_FLAG_FP32_STATIC_WEIGHTS});
  });
  StatusOr<OperatorPtr> widen = create_operator("xnn_create_unary_elementwise_nc", [](xnn_operator_t* op) {
    return create_unary(xnn_unary_convert, xnn_datatype_fp16, xnn_datatype_fp32, nullptr, op);
  });
  if (!product.ok() || !widen.ok()) {
    return false;
  }
  xnn_operator_t const multiply = product->get();
  xnn_operator_t const convert = widen->get();
  std::vector<uint16_t> x(1 + kTailBytes), y(kColumns + kTailBytes);
  std::vector<float> result(kColumns + kTail);
  x[0] = 0x3C00; // 1
  const bool done = is_success(xnn_reshape_fully_connected_nc_f16(multiply, 1, nullptr)) &&
      is_success(xnn_setup_fully_connected_nc_f16(multiply, x.data(), y.data())) &&
      is_success(xnn_run_operator(multiply, nullptr)) &&
      is_success(xnn_reshape_unary_elementwise_nc(convert, 1, kColumns, kColumns, kColumns, nullptr)) &&
      is_success(xnn_setup_unary_elementwise_nc(convert, y.data(), result.data())) &&
      is_success(xnn_run_operator(convert, nullptr));
  weight.resize(kColumns);
  result.resize(kColumns);
  return done && result == weight;
}

// Rows of one number each, quantized to 8 bits one by one.
struct QuantizedRows {
  std::vector<int8_t> numbers;
  std::vector<xnn_quantization_params> parameters;
  bool done = false;
};

QuantizedRows quantize_rows(const std::vector<float>& x, size_t rows, size_t depth) {
  QuantizedRows result;
  result.numbers.resize(rows * depth + kTailBytes);
  result.parameters.resize(parameters_for(rows) + kTailBytes);
  StatusOr<OperatorPtr> convert = create_operator(
      "xnn_create_convert_nc_f32_qd8", [](xnn_operator_t* op) { return xnn_create_convert_nc_f32_qd8(0, op); });
  result.done = convert.ok() &&
      is_success(xnn_reshape_convert_nc_f32_qd8(convert->get(), rows, depth, depth, depth, nullptr)) &&
      is_success(setup_dynamic_quantization(
          xnn_setup_convert_nc_f32_qd8, convert->get(), x.data(), result.numbers.data(), result.parameters.data())) &&
      is_success(xnn_run_operator(convert->get(), nullptr));
  return result;
}

// Whether the product of `rows` rows by weights of 1, of which each byte of `weight` holds one or two, is the sum of
// each row. A row that is multiplied with the parameters of another one is far from it.
template <typename Create, typename Reshape, typename Setup>
bool sums_rows(size_t rows, const Create& create, Reshape reshape, Setup setup) {
  constexpr size_t kDepth = 32, kColumns = 8;
  std::vector<float> x(rows * kDepth + kTail);
  for (size_t i = 0; i < rows * kDepth; ++i) {
    x[i] = static_cast<float>(1 << (i / kDepth % 16));
  }
  QuantizedRows quantized = quantize_rows(x, rows, kDepth);
  StatusOr<OperatorPtr> product = create_operator("xnn_create_fully_connected_nc_qd8", create);
  if (!product.ok() || !quantized.done) {
    return false;
  }
  std::vector<float> y(rows * kColumns + kTail);
  size_t workspace_bytes = 0;
  const xnn_operator_t op = product->get();
  if (!is_success(reshape_with_workspace(
          reshape, std::make_tuple(op, rows), &workspace_bytes, std::make_tuple(pthreadpool_t{})))) {
    return false;
  }
  StatusOr<Buffer> workspace = Buffer::allocate(workspace_bytes);
  if (!workspace.ok() ||
      !is_success(setup_with_workspace(
          setup,
          std::make_tuple(op, Address(quantized.numbers.data()), Address(y.data())),
          workspace->data(),
          std::make_tuple(static_cast<const xnn_quantization_params*>(quantized.parameters.data())))) ||
      !is_success(xnn_run_operator(op, nullptr))) {
    return false;
  }
  for (size_t i = 0; i < rows * kColumns; ++i) {
    const float expected = x[i / kColumns * kDepth] * kDepth;
    if (!(std::fabs(y[i] - expected) <= expected / 64)) {
      return false;
    }
  }
  return true;
}

bool sums_rows_of_any_number() {
  constexpr size_t kDepth = 32, kColumns = 8, kMostRows = 33;
  const std::vector<float> scale(kColumns, 1.0f);
  const std::vector<uint16_t> group_scale(kColumns, 0x3F80); // 1 in bfloat16
  const std::vector<int8_t> bytes(kColumns * kDepth + kTailBytes, 1);
  const std::vector<uint8_t> nibbles(kColumns * kDepth / 2 + kTailBytes, 0x99); // 9 - 8
  const auto create = [&](auto function, auto... how) {
    return [=](xnn_operator_t* op) {
      return create_with_weights(
          function,
          nullptr,
          op,
          kDepth,
          kColumns,
          kDepth,
          kColumns,
          how...,
          Address(nullptr),
          -kInfinity,
          kInfinity,
          0u);
    };
  };
  for (size_t rows = 1; rows <= kMostRows; ++rows) {
    const bool right = sums_rows(
                           rows,
                           create(xnn_create_fully_connected_nc_qd8_f32_qc8w, scale.data(), bytes.data()),
                           xnn_reshape_fully_connected_nc_qd8_f32_qc8w,
                           xnn_setup_fully_connected_nc_qd8_f32_qc8w) &&
        sums_rows(rows,
                  create(xnn_create_fully_connected_nc_qd8_f32_qc4w, uint8_t{8}, scale.data(), Address(nibbles.data())),
                  xnn_reshape_fully_connected_nc_qd8_f32_qc4w,
                  xnn_setup_fully_connected_nc_qd8_f32_qc4w) &&
        sums_rows(rows,
                  create(
                      xnn_create_fully_connected_nc_qd8_f32_qb4w,
                      kDepth,
                      uint8_t{8},
                      group_scale.data(),
                      Address(nibbles.data())),
                  xnn_reshape_fully_connected_nc_qd8_f32_qb4w,
                  xnn_setup_fully_connected_nc_qd8_f32_qb4w);
    if (!right) {
      return false;
    }
  }
  return true;
}

// How often the parameters of the last row are repeated behind it.
size_t count_repeated() {
  const QuantizedRows quantized = quantize_rows(std::vector<float>(1 + kTail, 1.0f), 1, 1);
  size_t repeated = 0;
  while (quantized.done && 1 + repeated < quantized.parameters.size() &&
         quantized.parameters[1 + repeated].scale == quantized.parameters[0].scale) {
    ++repeated;
  }
  return repeated;
}

// Bytes of a 4-bit weight in groups with so many columns.
size_t packed_group_bytes(size_t columns) {
  constexpr size_t kDepth = 32;
  const std::vector<uint16_t> scale(columns, 0x3F80);
  const std::vector<uint8_t> weight(columns * kDepth / 2 + kTailBytes);
  return packed_bytes([&](xnn_weights_cache_t cache, xnn_operator_t* op) {
    return create_with_weights(
        xnn_create_fully_connected_nc_qd8_f32_qb4w,
        cache,
        op,
        kDepth,
        columns,
        kDepth,
        columns,
        kDepth,
        uint8_t{8},
        scale.data(),
        Address(weight.data()),
        Address(nullptr),
        -kInfinity,
        kInfinity,
        0u);
  });
}

bool find_can_quantize_rows() {
  if constexpr (XNN_EXTRA_QUANTIZATION_PARAMS >= 15) {
    return true; // since XNNPACK itself makes so many copies of the last parameters, it is right
  }
  if (count_repeated() >= parameters_for(0)) {
    return true; // it was built with xnnpack_rows.h, so with xnnpack_unaligned.h, too
  }
  // Only tiles of 4 columns need xnnpack_unaligned.h: one column then takes less memory than 8.
  return packed_group_bytes(8) == packed_group_bytes(1) && sums_rows_of_any_number();
}

} // namespace

std::string xnnpack_version() {
  return ET_XNNPACK_XNNPACK_NAME;
}

std::string xnnpack_microkernels() {
  std::string text;
#ifdef ET_XNNPACK_XNNPACK_NAMES
  et_xnnpack_choose_microkernels();
  for (size_t i = 0; const char* name = et_xnnpack_microkernel(i); ++i) {
    const std::string_view whole = name; // "xnn_f32_..." or "(xnn_gemm_ukernel_fn) xnn_f32_..."
    text += whole.substr(whole.rfind("xnn_"));
    text += '\n';
  }
#endif
  return text;
}

std::string describe_xnnpack_build() {
  std::string text = "XNNPACK " + xnnpack_version();
  append_bytes(
      text, ", build ", xnn_experimental_get_build_identifier_data(), xnn_experimental_get_build_identifier_size());
#if CPUINFO_ARCH_X86 || CPUINFO_ARCH_X86_64 || CPUINFO_ARCH_ARM || CPUINFO_ARCH_ARM64
  if (cpuinfo_initialize()) {
    append_bytes(text, ", CPU ", &cpuinfo_isa, sizeof(cpuinfo_isa));
  }
#endif
  return text + ", addresses of " + std::to_string(sizeof(void*)) + " bytes";
}

bool xnnpack_has_float16() {
  static const bool result = multiplies_in_float16();
  return result;
}

bool xnnpack_can_quantize_rows() {
  static const bool result = find_can_quantize_rows();
  return result;
}

} // namespace executorch::backends::et_xnnpack
