// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What differs between the public headers of XNNPACK, from the one that we build to that of 2026. Each function here
// calls the function that it is given with the parameters that this one has.

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <xnnpack.h>

#include "runtime/base/memory.h"

namespace executorch::backends::et_xnnpack {

// An address that becomes a pointer to whatever XNNPACK declares.
struct Address {
  const void* data;

  Address(const void* address) : data(address) {} // NOLINT(google-explicit-constructor)
  template <typename T>
  operator T*() const { // NOLINT(google-explicit-constructor)
    return static_cast<T*>(const_cast<void*>(data));
  }
};

// Creates an operator that packs weights. Until 2025 a code cache came before the weights cache.
template <typename Function, typename... Arguments>
xnn_status create_with_weights(
    Function create, xnn_weights_cache_t cache, xnn_operator_t* operator_out, Arguments... arguments) {
  if constexpr (std::is_invocable_v<Function, Arguments..., std::nullptr_t, xnn_weights_cache_t, xnn_operator_t*>) {
    return create(arguments..., nullptr, cache, operator_out);
  } else {
    return create(arguments..., cache, operator_out);
  }
}

// Creates an elementwise operator of one operand, not quantized. Later versions also take a table of all results.
template <typename Function = decltype(&xnn_create_unary_elementwise_nc)>
xnn_status create_unary(
    xnn_unary_operator type,
    xnn_datatype from,
    xnn_datatype to,
    const xnn_unary_params* params,
    xnn_operator_t* operator_out,
    Function create = xnn_create_unary_elementwise_nc) {
  const xnn_quantization_params* const none = nullptr;
  const uint32_t flags = 0;
  if constexpr (std::is_invocable_v<
                    Function,
                    xnn_unary_operator,
                    xnn_datatype,
                    xnn_datatype,
                    const xnn_unary_params*,
                    std::nullptr_t,
                    const xnn_quantization_params*,
                    const xnn_quantization_params*,
                    uint32_t,
                    xnn_operator_t*>) {
    return create(type, from, to, params, nullptr, none, none, flags, operator_out);
  } else {
    return create(type, from, to, params, none, none, flags, operator_out);
  }
}

// Reshapes an operator that wants `bytes` of workspace. They stand between the arguments `head` and `tail`, in older
// versions with their alignment; where operators of some versions need none, `bytes` becomes 0.
template <typename Function, typename... Head, typename... Tail>
xnn_status reshape_with_workspace(
    Function reshape, const std::tuple<Head...>& head, size_t* bytes, const std::tuple<Tail...>& tail) {
  *bytes = 0;
  if constexpr (std::is_invocable_v<Function, Head..., size_t*, size_t*, Tail...>) {
    size_t alignment = 1;
    const xnn_status status = std::apply(reshape, std::tuple_cat(head, std::make_tuple(bytes, &alignment), tail));
    return status == xnn_status_success && alignment > kAlignment ? xnn_status_unsupported_parameter : status;
  } else if constexpr (std::is_invocable_v<Function, Head..., size_t*, Tail...>) {
    return std::apply(reshape, std::tuple_cat(head, std::make_tuple(bytes), tail));
  } else {
    return std::apply(reshape, std::tuple_cat(head, tail));
  }
}

// Gives such an operator its workspace, which stands between `head` and `tail`, if it has one.
template <typename Function, typename... Head, typename... Tail>
xnn_status setup_with_workspace(
    Function setup, const std::tuple<Head...>& head, void* workspace, const std::tuple<Tail...>& tail) {
  if constexpr (std::is_invocable_v<Function, Head..., void*, Tail...>) {
    return std::apply(setup, std::tuple_cat(head, std::make_tuple(workspace), tail));
  } else {
    return std::apply(setup, std::tuple_cat(head, tail));
  }
}

// How many images or rows have their own scale, and what XNNPACK reads and writes behind them: as many as its largest
// tile has rows but one (XNN_MAX_MR), which the header of the version that we build does not say (third-party/xnnpack_rows.h).
inline size_t parameters_for(size_t count) {
  constexpr size_t kRowsOfTile = 32;
  return count + (XNN_EXTRA_QUANTIZATION_PARAMS > kRowsOfTile - 1 ? XNN_EXTRA_QUANTIZATION_PARAMS : kRowsOfTile - 1);
}

// Gives the operator of dynamic quantization its operands. Later versions can sum up rows, too, which we do not need.
template <typename Function>
xnn_status setup_dynamic_quantization(
    Function setup, xnn_operator_t op, const void* x, void* y, xnn_quantization_params* parameters) {
  if constexpr (std::is_invocable_v<Function, xnn_operator_t, Address, Address, float*, xnn_quantization_params*>) {
    return setup(op, Address(x), Address(y), static_cast<float*>(nullptr), parameters);
  } else {
    return setup(op, Address(x), Address(y), parameters);
  }
}

} // namespace executorch::backends::et_xnnpack
