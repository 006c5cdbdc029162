// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "operator.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace executorch::backends::et_xnnpack {
namespace {

// In place of weights that nobody will read.
alignas(kAlignment) constexpr char kNothing[kTailBytes] = {};

const char* status_name(xnn_status status) {
  switch (status) {
    case xnn_status_success:
      return "success";
    case xnn_status_uninitialized:
      return "uninitialized";
    case xnn_status_invalid_parameter:
      return "invalid parameter";
    case xnn_status_invalid_state:
      return "invalid state";
    case xnn_status_unsupported_parameter:
      return "unsupported parameter";
    case xnn_status_unsupported_hardware:
      return "unsupported hardware";
    case xnn_status_out_of_memory:
      return "out of memory";
    case xnn_status_reallocation_required:
      return "reallocation required";
    default:
      return "unknown status";
  }
}

StatusOr<Buffer> zeros(size_t bytes) {
  ETX_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate_temporary(bytes));
  std::memset(buffer.data(), 0, bytes + kTailBytes);
  return buffer;
}

} // namespace

Status check_xnn(xnn_status status, const char* function) {
  if (status == xnn_status_success) {
    return {};
  }
  const Error code = status == xnn_status_out_of_memory ? Error::MemoryAllocationFailed : Error::Internal;
  return failure(code, "%s: %s", function, status_name(status));
}

size_t packed_bytes(const std::function<xnn_status(xnn_weights_cache_t cache, xnn_operator_t* op)>& create) {
  size_t bytes = 0;
  xnn_weights_cache_provider cache{};
  cache.context = &bytes;
  cache.look_up = [](void*, const xnn_weights_cache_look_up_key*) -> size_t { return SIZE_MAX; };
  cache.reserve_space = [](void* context, size_t size) -> void* {
    *static_cast<size_t*>(context) = size;
    return nullptr; // it fails, and has said how many
  };
  cache.is_finalized = [](void*) { return true; };
  (void)create_operator("xnn_create", [&](xnn_operator_t* op) { return create(&cache, op); });
  return bytes;
}

PackedOperator::PackedOperator() {
  cache_.context = this;
  cache_.look_up = [](void* self, const xnn_weights_cache_look_up_key*) {
    return static_cast<PackedOperator*>(self)->look_up();
  };
  cache_.reserve_space = [](void* self, size_t bytes) { return static_cast<PackedOperator*>(self)->reserve(bytes); };
  cache_.look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key*, void* packed, size_t bytes) {
    return static_cast<PackedOperator*>(self)->insert(packed, bytes);
  };
  cache_.is_finalized = [](void*) { return true; };
  // The offsets that this cache gives to XNNPACK are addresses.
  cache_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  cache_.delete_cache = [](void*) { return xnn_status_success; };
}

size_t PackedOperator::look_up() {
  looked_up_ = true;
  return packed_.data == nullptr ? SIZE_MAX : reinterpret_cast<size_t>(packed_.data);
}

void* PackedOperator::reserve(size_t bytes) {
  if (only_measures_) {
    measured_ = {bytes, !looked_up_};
    return nullptr;
  }
  StatusOr<std::shared_ptr<Buffer>> buffer = guarded([&]() -> StatusOr<std::shared_ptr<Buffer>> {
    ETX_ASSIGN_OR_RETURN(Buffer memory, constants_ == nullptr ? Buffer::allocate(bytes) : constants_->allocate(bytes));
    return std::make_shared<Buffer>(std::move(memory));
  });
  if (!buffer.ok()) {
    status_ = buffer.status();
    return nullptr;
  }
  fresh_ = std::move(*buffer);
  return fresh_->data();
}

size_t PackedOperator::insert(void* packed, size_t bytes) {
  if (packed_.data == nullptr) {
    packed_ = {packed, bytes, !looked_up_, fresh_};
  } else if (packed_.size != bytes) {
    status_ = failure(Error::Internal, "the packed weights have %zu bytes instead of %zu", packed_.size, bytes);
  }
  return reinterpret_cast<size_t>(packed_.data); // `packed` is null if it was looked up
}

Status PackedOperator::load(
    ConstantSource& constants,
    const PackingKey& key,
    Operand weight,
    std::optional<Operand> bias,
    const char* function,
    const Create& create) {
  function_ = function;
  weight_ = weight;
  bias_ = bias;
  std::string name = key.text() + "|" + constants.identity(weight.index);
  if (bias.has_value()) {
    name += "|" + constants.identity(bias->index);
  }
  StatusOr<PackedMemory> packed =
      constants.find_or_pack(name, [&] { return measure(create); }, [&] { return pack(constants, create); });
  ETX_RETURN_IF_ERROR(Status(packed.status()));
  packed_ = std::move(*packed);
  return operator_ == nullptr ? create_packed(create) : Status();
}

Status PackedOperator::create_again(const Create& create) {
  ETX_CHECK(packed_.data != nullptr, Internal, "%s: it has no packed weights to start from", function_);
  return create_packed(create);
}

StatusOr<OperatorPtr> PackedOperator::create_another(const Create& create) {
  OperatorPtr first = std::move(operator_);
  const Status status = create_again(create);
  OperatorPtr another = std::exchange(operator_, std::move(first));
  ETX_RETURN_IF_ERROR(Status(status));
  return another;
}

// How many bytes XNNPACK packs, and when. It says so only when it asks for the memory.
StatusOr<ConstantSource::Measured> PackedOperator::measure(const Create& create) {
  only_measures_ = true;
  const Status status = this->create(create, kNothing, bias_.has_value() ? kNothing : nullptr);
  only_measures_ = false;
  operator_.reset();
  if (!measured_.has_value()) {
    ETX_RETURN_IF_ERROR(Status(status));
    return failure(Error::Internal, "%s: it packs nothing", function_);
  }
  return *measured_;
}

StatusOr<PackedMemory> PackedOperator::pack(const ConstantSource& constants, const Create& create) {
  ETX_ASSIGN_OR_RETURN(const ConstantData weight, constants.load(weight_.index));
  ConstantData bias;
  if (bias_.has_value()) {
    ETX_ASSIGN_OR_RETURN(bias, constants.load(bias_->index));
  }
  constants_ = &constants;
  Status status = this->create(create, weight.data, bias.data);
  constants_ = nullptr;
  ETX_RETURN_IF_ERROR(std::move(status));
  return std::exchange(packed_, {});
}

// Some kinds of operators pack before they ask whether that is needed: then anything will do.
Status PackedOperator::create_packed(const Create& create) {
  if (!packed_.is_packed_first) {
    return this->create(create, kNothing, bias_.has_value() ? kNothing : nullptr);
  }
  ETX_ASSIGN_OR_RETURN(const Buffer weight, zeros(weight_.bytes));
  ETX_ASSIGN_OR_RETURN(const Buffer bias, zeros(bias_.has_value() ? bias_->bytes : 0));
  return this->create(create, weight.data(), bias_.has_value() ? bias.data() : nullptr);
}

Status PackedOperator::create(const Create& create, const void* weight, const void* bias) {
  looked_up_ = false;
  StatusOr<OperatorPtr> result =
      create_operator(function_, [&](xnn_operator_t* op) { return create(weight, bias, &cache_, op); });
  fresh_.reset();
  ETX_RETURN_IF_ERROR(std::exchange(status_, Status()));
  ETX_RETURN_IF_ERROR(Status(result.status()));
  operator_ = std::move(*result);
  return {};
}

} // namespace executorch::backends::et_xnnpack
