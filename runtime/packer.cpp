// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "packer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace executorch::backends::et_xnnpack {

Packer::Packer(Weights& weights) : weights_(weights) {
  callbacks_.cache.context = this;
  callbacks_.cache.look_up = [](void* context, const xnn_weights_cache_look_up_key*) {
    return of(context).look_up();
  };
  callbacks_.cache.reserve_space = [](void* context, size_t bytes) { return of(context).reserve(bytes); };
  callbacks_.cache.look_up_or_insert =
      [](void* context, const xnn_weights_cache_look_up_key*, void* packed, size_t bytes) {
        return of(context).insert(packed, bytes);
      };
  callbacks_.cache.is_finalized = [](void*) { return true; };
  // What XNNPACK knows as offsets are addresses.
  callbacks_.cache.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  callbacks_.cache.delete_cache = [](void*) { return xnn_status_success; };
  callbacks_.begin = [](void* context, const et_xnnpack_packing* packing, const void** data) {
    return of(context).begin(*packing, data);
  };
  callbacks_.end = [](void* context) { of(context).end(); };
}

Status Packer::create_runtime(
    xnn_subgraph_t subgraph, std::vector<uint32_t> values, xnn_workspace_t workspace, xnn_runtime_t* runtime) {
  values_ = std::move(values);
  const auto is_deferred = std::make_unique<bool[]>(values_.size());
  std::transform(values_.begin(), values_.end(), is_deferred.get(), [](uint32_t value) { return value != kNone; });
  callbacks_.is_deferred = is_deferred.get();
  callbacks_.num_values = values_.size();
  const xnn_status status =
      et_xnnpack_create_runtime(subgraph, workspace, XNN_FLAG_NO_OPERATOR_FUSION, &callbacks_, runtime);
  end(); // nodes that pack although none of their operands is deferred
  ETX_RETURN_IF_ERROR(std::move(status_));
  return check_xnn(status, "xnn_create_runtime");
}

xnn_status Packer::begin(const et_xnnpack_packing& packing, const void** data) {
  key_.assign(static_cast<const char*>(packing.description), packing.size);
  for (size_t i = 0; i < packing.num_operands; ++i) {
    const uint32_t value = values_[packing.operands[i]];
    key_ += "|" + weights_.identity(value);
  }
  if (packing.is_complete) {
    known_ = weights_.find_packed(key_);
    is_shared_ = known_ == nullptr;
  }
  if (known_ != nullptr && !known_->needs_original) {
    return xnn_status_success;
  }
  for (size_t i = 0; i < packing.num_operands; ++i) {
    StatusOr<const void*> original = weights_.load(values_[packing.operands[i]]);
    if (!original.ok()) {
      status_ = original.status();
      return xnn_status_invalid_parameter;
    }
    data[i] = *original;
  }
  return xnn_status_success;
}

void Packer::end() {
  if (known_ != nullptr) {
    packed_.push_back(std::move(known_));
  }
  if (is_shared_ && fresh_.size() == 1) {
    packed_.push_back(weights_.publish(key_, std::move(fresh_.front())));
  } else {
    for (PackedBytes& bytes : fresh_) {
      packed_.push_back(std::make_shared<const PackedBytes>(std::move(bytes)));
    }
    if (is_shared_) {
      weights_.abandon(key_);
    }
  }
  known_ = nullptr;
  is_shared_ = looked_up_ = false;
  fresh_.clear();
  buffers_.clear();
  weights_.release();
}

size_t Packer::look_up() {
  looked_up_ = true;
  return known_ == nullptr ? SIZE_MAX : reinterpret_cast<size_t>(known_->data);
}

void* Packer::reserve(size_t bytes) {
  StatusOr<Buffer> buffer = Buffer::allocate_populated(bytes);
  if (!buffer.ok()) {
    status_ = buffer.status();
    return nullptr;
  }
  buffers_.push_back(std::make_shared<Buffer>(std::move(*buffer)));
  return buffers_.back()->data();
}

size_t Packer::insert(void* packed, size_t bytes) {
  if (known_ != nullptr && known_->size != bytes) {
    status_ = failure(Error::Internal, "packed weights have %zu bytes, not %zu", known_->size, bytes);
  }
  if (known_ != nullptr) {
    return reinterpret_cast<size_t>(known_->data); // `packed` is null if it was looked up
  }
  fresh_.push_back({packed, bytes, !looked_up_, buffers_.back()});
  return reinterpret_cast<size_t>(packed);
}

} // namespace executorch::backends::et_xnnpack
