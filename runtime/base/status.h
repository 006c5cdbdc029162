// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <executorch/runtime/core/error.h>

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Error;

// The outcome of something that can fail: Ok, or a code and a message for people, which is printable. A call returns many
// that are Ok, so these are only two words and own nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error code, std::string_view message);
  // Memory ran out, or else something threw; takes no memory to say so.
  explicit Status(Error code) noexcept : code_(code) {}
  Status(const Status& other);
  Status(Status&& other) noexcept = default;
  Status& operator=(const Status& other);
  Status& operator=(Status&& other) noexcept = default;
  ~Status() = default;

  bool ok() const {
    return code_ == Error::Ok;
  }
  Error code() const {
    return code_;
  }
  const std::string& message() const;
  // The same failure, saying where it happened: "where: message".
  Status in(const std::string& where) &&;

 private:
  Error code_ = Error::Ok;
  std::unique_ptr<const std::string> message_; // null: that of the code
};

// A failure with a printf-style message.
[[gnu::format(printf, 2, 3)]] Status failure(Error code, const char* format, ...);

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {} // NOLINT(google-explicit-constructor): either is returned
  StatusOr(T value) : value_(std::move(value)) {} // NOLINT(google-explicit-constructor)

  bool ok() const {
    return value_.has_value();
  }
  const Status& status() const {
    return status_;
  }
  // REQUIRES: ok()
  T& operator*() {
    return *value_;
  }
  T* operator->() {
    return &*value_;
  }

 private:
  Status status_;
  std::optional<T> value_;
};

// What function() returns, a Status or StatusOr; or, if something of the standard library throws in it, the Status that
// says so. Stands wherever those who call us know no exceptions: ExecuTorch, XNNPACK, threads of the pool.
template <typename Function>
auto guarded(const Function& function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Status(Error::MemoryAllocationFailed);
  } catch (const std::length_error&) {
    return Status(Error::MemoryAllocationFailed);
  } catch (...) {
    return Status(Error::Internal);
  }
}

#define ETX_CONCAT_INNER(a, b) a##b
#define ETX_CONCAT(a, b) ETX_CONCAT_INNER(a, b)

#define ETX_RETURN_IF_ERROR(expression)                       \
  do {                                                        \
    if (Status etx_status = (expression); !etx_status.ok()) { \
      return etx_status;                                      \
    }                                                         \
  } while (false)

// The same, saying where it happened; `where` is only made if it did.
#define ETX_RETURN_IF_ERROR_IN(expression, where)             \
  do {                                                        \
    if (Status etx_status = (expression); !etx_status.ok()) { \
      return std::move(etx_status).in(where);                 \
    }                                                         \
  } while (false)

#define ETX_ASSIGN_OR_RETURN(target, expression) \
  ETX_ASSIGN_OR_RETURN_AS(ETX_CONCAT(etx_result_, __LINE__), target, expression)
#define ETX_ASSIGN_OR_RETURN_AS(result, target, expression) \
  auto result = (expression);                               \
  if (!result.ok()) {                                       \
    return result.status();                                 \
  }                                                         \
  target = std::move(*result)

// Fails with `code` and the printf-style message unless `condition` holds.
#define ETX_CHECK(condition, code, ...)         \
  do {                                          \
    if (!(condition)) {                         \
      return failure(Error::code, __VA_ARGS__); \
    }                                           \
  } while (false)

} // namespace executorch::backends::et_xnnpack
