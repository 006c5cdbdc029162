// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <xnnpack.h>

#include "runtime/base/constant_source.h"
#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

// Fails with the name of the XNNPACK function and its status unless that is success.
Status check_xnn(xnn_status status, const char* function);

struct DeleteOperator {
  void operator()(xnn_operator_t op) const {
    xnn_delete_operator(op);
  }
};
using OperatorPtr = std::unique_ptr<xnn_operator, DeleteOperator>;

// What `create(xnn_operator_t*)` creates. Initializes XNNPACK before.
template <typename Create>
StatusOr<OperatorPtr> create_operator(const char* function, const Create& create) {
  ETX_RETURN_IF_ERROR(check_xnn(xnn_initialize(/*allocator=*/nullptr), "xnn_initialize"));
  xnn_operator_t op = nullptr;
  const xnn_status status = create(&op);
  OperatorPtr result(op);
  ETX_RETURN_IF_ERROR(check_xnn(status, function));
  // XNNPACK does not always say that it had no memory.
  ETX_CHECK(result != nullptr, MemoryAllocationFailed, "%s: there is no memory for the operator", function);
  return result;
}

// All that packed weights depend on but their content and the build of XNNPACK.
class PackingKey {
 public:
  explicit PackingKey(const char* what) : text_(what) {}

  template <typename... Numbers>
  PackingKey& add(Numbers... numbers) {
    (append(numbers), ...);
    return *this;
  }
  PackingKey& add_bytes(const void* data, size_t size) {
    text_.append(static_cast<const char*>(data), size);
    return *this;
  }
  const std::string& text() const {
    return text_;
  }

 private:
  template <typename Number>
  void append(Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    add_bytes(&number, sizeof(number));
  }

  std::string text_;
};

// How many bytes an operator packs that `create` creates; 0 if XNNPACK does not have it here. It is not created.
size_t packed_bytes(const std::function<xnn_status(xnn_weights_cache_t cache, xnn_operator_t* op)>& create);

// An operator of XNNPACK that packs a weight and a bias when it is created. It has them packed only if nobody has yet,
// and keeps them.
class PackedOperator {
 public:
  PackedOperator();
  PackedOperator(const PackedOperator&) = delete;
  PackedOperator& operator=(const PackedOperator&) = delete;

  // A constant operand of the node, and how many bytes it has.
  struct Operand {
    size_t index;
    size_t bytes;
  };
  // Creates the operator with this weight and, unless that is null, this bias.
  using Create =
      std::function<xnn_status(const void* weight, const void* bias, xnn_weights_cache_t cache, xnn_operator_t* op)>;

  // `function` is the name of what `create` calls.
  Status load(
      ConstantSource& constants,
      const PackingKey& key,
      Operand weight,
      std::optional<Operand> bias,
      const char* function,
      const Create& create);

  // Creates the operator anew from the weights that it has packed, or leaves it as it is and fails. `create` must be as
  // that for load().
  // REQUIRES: load() succeeded
  Status create_again(const Create& create);

  // Another operator with the same packed weights, which must not live longer. `create` and REQUIRES as above
  StatusOr<OperatorPtr> create_another(const Create& create);

  xnn_operator_t get() const {
    return operator_.get();
  }

 private:
  size_t look_up();
  void* reserve(size_t bytes);
  size_t insert(void* packed, size_t bytes);

  StatusOr<ConstantSource::Measured> measure(const Create& create);
  StatusOr<PackedMemory> pack(const ConstantSource& constants, const Create& create);
  Status create_packed(const Create& create);
  Status create(const Create& create, const void* weight, const void* bias);

  const char* function_ = "";
  Operand weight_{};
  std::optional<Operand> bias_;
  PackedMemory packed_; // what the operator reads

  // While an operator is created.
  const ConstantSource* constants_ = nullptr;
  bool only_measures_ = false; // gives no memory, so that XNNPACK fails when it has asked for it
  bool looked_up_ = false;
  std::optional<ConstantSource::Measured> measured_;
  std::shared_ptr<Buffer> fresh_;
  Status status_;

  xnn_weights_cache_provider cache_{}; // outlives operator_, which asks it for the address
  OperatorPtr operator_;
};

} // namespace executorch::backends::et_xnnpack
