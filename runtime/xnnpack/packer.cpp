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
  provider.reserve_space = [](void* context, size_t bytes) {
    Cache& cache = *static_cast<Cache*>(context);
    return cache.answer<void*>(nullptr, [&] { return cache.reserve(bytes); });
  };
  provider.look_up_or_insert = [](void* context, const xnn_weights_cache_look_up_key*, void* packed, size_t bytes) {
    Cache& cache = *static_cast<Cache*>(context);
    return cache.answer(SIZE_MAX, [&] { return cache.insert(packed, bytes); });
  };
  provider.is_finalized = [](void*) { return true; };
  // What XNNPACK knows as offsets are addresses.
  provider.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider.delete_cache = [](void*) { return xnn_status_success; };
}

template <typename T, typename Function>
T Packer::Cache::answer(T otherwise, const Function& function) {
  StatusOr<T> result = guarded([&]() -> StatusOr<T> { return function(); });
  if (!result.ok()) {
    status = result.status();
    return otherwise;
  }
  return *result;
}

size_t Packer::Cache::look_up() {
  looked_up = true;
  return known == nullptr ? SIZE_MAX : reinterpret_cast<size_t>(known->data);
}

void* Packer::Cache::reserve(size_t bytes) {
  if (only_measures) {
    measured = bytes;
    return nullptr;
  }
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
    Packer& packer = *static_cast<Packer*>(context);
    return packer.cache_.answer(xnn_status_out_of_memory, [&] { return packer.defer(*packing, *node); });
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
  Weights::Reservation reservation;
  if (!node.key.empty()) {
    ETX_ASSIGN_OR_RETURN(
        cache.known, weights.find_packed(node.key, [this, &node] { return packed_bytes(node); }, &reservation));
  }
  ETX_RETURN_IF_ERROR(create_operator(node, weights));
  if (cache.known != nullptr) {
    node.packed.push_back(std::move(cache.known));
  }
  if (reservation && cache.fresh.size() == 1) {
    node.packed.push_back(reservation.publish(std::move(cache.fresh.front())));
    weights.use(node.key, node.packed.back());
  } else {
    for (PackedBytes& bytes : cache.fresh) {
      node.packed.push_back(std::make_shared<const PackedBytes>(std::move(bytes)));
    }
  }
  cache.known = nullptr;
  cache.fresh.clear();
  cache.buffers.clear();
  return {};
}

// How many bytes XNNPACK packs for a node. It says so only when it asks for the memory.
StatusOr<size_t> Packer::packed_bytes(Node& node) {
  const std::vector<const void*> none(node.operands.size());
  node.cache.only_measures = true;
  const xnn_status status =
      et_xnnpack_create_node(&node.node, node.operands.data(), none.data(), none.size(), &node.cache.provider);
  node.cache.only_measures = node.cache.looked_up = false;
  if (!node.cache.measured.has_value()) {
    ETX_RETURN_IF_ERROR(check_xnn(status, "xnn_create_runtime"));
    return failure(Error::Internal, "XNNPACK packs nothing");
  }
  return *node.cache.measured;
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
