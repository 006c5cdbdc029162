// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "packer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace executorch::backends::et_xnnpack {

Packer::Cache::Cache() {
  provider.context = this;
  provider.look_up = [](void* context, const xnn_weights_cache_look_up_key*) {
    return static_cast<Cache*>(context)->look_up();
  };
  provider.reserve_space = [](void* context, size_t bytes) { return static_cast<Cache*>(context)->reserve(bytes); };
  provider.look_up_or_insert = [](void* context, const xnn_weights_cache_look_up_key*, void* packed, size_t bytes) {
    return static_cast<Cache*>(context)->insert(packed, bytes);
  };
  provider.is_finalized = [](void*) { return true; };
  // What XNNPACK knows as offsets are addresses.
  provider.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider.delete_cache = [](void*) { return xnn_status_success; };
}

size_t Packer::Cache::look_up() {
  looked_up = true;
  return known == nullptr ? SIZE_MAX : reinterpret_cast<size_t>(known->data);
}

void* Packer::Cache::reserve(size_t bytes) {
  StatusOr<Buffer> buffer = weights->allocate(bytes);
  if (!buffer.ok()) {
    status = buffer.status();
    return nullptr;
  }
  buffers.push_back(std::make_shared<Buffer>(std::move(*buffer)));
  return buffers.back()->data();
}

size_t Packer::Cache::insert(void* packed, size_t bytes) {
  if (known != nullptr && known->size != bytes) {
    status = failure(Error::Internal, "packed weights have %zu bytes, not %zu", known->size, bytes);
  }
  if (known != nullptr) {
    return reinterpret_cast<size_t>(known->data); // `packed` is null if it was looked up
  }
  fresh.push_back({packed, bytes, !looked_up, buffers.back()});
  return reinterpret_cast<size_t>(packed);
}

Status Packer::create_runtime(
    xnn_subgraph_t subgraph,
    std::vector<uint32_t> values,
    const Weights& weights,
    xnn_workspace_t workspace,
    uint32_t flags,
    xnn_runtime_t* runtime) {
  values_ = std::move(values);
  cache_.weights = &weights;
  const auto is_deferred = std::make_unique<bool[]>(values_.size());
  std::transform(values_.begin(), values_.end(), is_deferred.get(), [](uint32_t value) { return value != kNone; });
  callbacks_.cache = cache_.provider;
  callbacks_.context = this;
  callbacks_.defer = [](void* context, const et_xnnpack_packing* packing, const et_xnnpack_node* node) {
    return static_cast<Packer*>(context)->defer(*packing, *node);
  };
  callbacks_.is_deferred = is_deferred.get();
  callbacks_.num_values = values_.size();
  const xnn_status status =
      et_xnnpack_create_runtime(subgraph, workspace, flags | XNN_FLAG_NO_OPERATOR_FUSION, &callbacks_, runtime);
  cache_.weights = nullptr;
  ETX_RETURN_IF_ERROR(std::move(cache_.status));
  return check_xnn(status, "xnn_create_runtime");
}

xnn_status Packer::defer(const et_xnnpack_packing& packing, const et_xnnpack_node& node) {
  Node& deferred = nodes_.emplace_back();
  deferred.node = node;
  deferred.operands.assign(packing.operands, packing.operands + packing.num_operands);
  if (packing.is_complete) {
    deferred.key.assign(static_cast<const char*>(packing.description), packing.size);
    for (const uint32_t operand : deferred.operands) {
      deferred.key += "|" + cache_.weights->identity(values_[operand]);
    }
  }
  return xnn_status_success;
}

Status Packer::pack(size_t index, Weights& weights) {
  Node& node = nodes_[index];
  Cache& cache = node.cache;
  if (!node.key.empty()) {
    cache.known = weights.find_packed(node.key);
  }
  const bool is_awaited = !node.key.empty() && cache.known == nullptr; // by others
  const Status status = create_operator(node, weights);
  if (cache.known != nullptr) {
    node.packed.push_back(std::move(cache.known));
  }
  if (is_awaited && status.ok() && cache.fresh.size() == 1) {
    node.packed.push_back(weights.publish(node.key, std::move(cache.fresh.front())));
  } else {
    for (PackedBytes& bytes : cache.fresh) {
      node.packed.push_back(std::make_shared<const PackedBytes>(std::move(bytes)));
    }
    if (is_awaited) {
      weights.abandon(node.key);
    }
  }
  cache.known = nullptr;
  cache.fresh.clear();
  cache.buffers.clear();
  return status;
}

Status Packer::create_operator(Node& node, Weights& weights) {
  std::vector<Weights::Original> originals;
  std::vector<const void*> data(node.operands.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const uint32_t value = values_[node.operands[i]];
    if (node.cache.known == nullptr) {
      ETX_ASSIGN_OR_RETURN(Weights::Original original, weights.load(value));
      originals.push_back(std::move(original));
    } else if (node.cache.known->is_packed_first) {
      ETX_ASSIGN_OR_RETURN(Weights::Original anything, weights.placeholder(value));
      originals.push_back(std::move(anything));
    } else {
      continue;
    }
    data[i] = originals.back().data;
  }
  node.cache.weights = &weights;
  const xnn_status status =
      et_xnnpack_create_node(&node.node, node.operands.data(), data.data(), data.size(), &node.cache.provider);
  node.cache.weights = nullptr;
  ETX_RETURN_IF_ERROR(std::move(node.cache.status));
  return check_xnn(status, "xnn_create_runtime");
}

} // namespace executorch::backends::et_xnnpack
