// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "packed_weights.h"

#include <utility>

#include "checksum.h"
#include "runtime/base/interpreter.h"

namespace executorch::backends::et_xnnpack {

std::vector<std::string> find_damaged(const PackedByKey& packed, pthreadpool_t pool) {
  std::vector<const std::string*> keys;
  std::vector<Seal*> seals;
  std::vector<Span<const char>> parts;
  for (const auto& [key, bytes] : packed) {
    if (bytes->is_unverified()) {
      keys.push_back(&key);
      seals.push_back(bytes->seal.get());
      parts.emplace_back(static_cast<const char*>(bytes->data), bytes->size);
    }
  }
  std::vector<std::string> damaged;
  const std::vector<uint64_t> sums = checksums(parts, pool);
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == seals[i]->checksum) {
      seals[i]->is_verified = true;
    } else {
      damaged.push_back(*keys[i]);
    }
  }
  return damaged;
}

PackedWeights& PackedWeights::of_process() {
  // Never destroyed: loaded methods may outlive static destruction.
  static PackedWeights* const weights = new PackedWeights;
  return *weights;
}

PackedPtr PackedWeights::find_or_reserve(const std::string& key) {
  std::unique_lock<TableMutex> lock(mutex_);
  while (true) {
    Entry& entry = entries_[key];
    if (PackedPtr packed = entry.packed.lock()) {
      return packed;
    }
    if (!entry.reserved) {
      entry.reserved = true;
      return nullptr;
    }
    {
      const Waiting waiting;
      ready_.wait(lock);
      lock.unlock(); // before others are kept out again
    }
    lock.lock();
  }
}

// Packed weights that are no longer found when they go.
struct PackedWeights::Shared : GoesUnlocked<> {
  Shared(PackedWeights* owner, const std::string& name, PackedBytes&& packed)
      : weights(owner), key(name), bytes(std::move(packed)) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    weights->remove_if_unused(key);
  }

  PackedWeights* const weights;
  const std::string key;
  const PackedBytes bytes;
};

PackedPtr PackedWeights::publish(const std::string& key, PackedBytes bytes) {
  const auto shared = std::make_shared<Shared>(this, key, std::move(bytes));
  PackedPtr packed(shared, &shared->bytes);
  {
    const std::lock_guard<TableMutex> lock(mutex_);
    Entry& entry = entries_.find(key)->second;
    entry.reserved = false;
    entry.packed = packed;
  }
  ready_.notify_all();
  return packed;
}

void PackedWeights::abandon(const std::string& key) {
  {
    const std::lock_guard<TableMutex> lock(mutex_);
    entries_.erase(key);
  }
  ready_.notify_all();
}

void PackedWeights::remove_if_unused(const std::string& key) {
  const std::lock_guard<TableMutex> lock(mutex_);
  const auto found = entries_.find(key);
  // Another thread may have packed them again meanwhile, or be about to.
  if (found != entries_.end() && !found->second.reserved && found->second.packed.expired()) {
    entries_.erase(found);
  }
}

void PackedWeights::forget(const std::string& key, const PackedPtr& packed) {
  PackedPtr current; // destroyed after the lock: it may be the last owner of what others have packed meanwhile
  const std::lock_guard<TableMutex> lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    current = found->second.packed.lock();
    if (current == packed) {
      entries_.erase(found);
    }
  }
}

size_t PackedWeights::count() const {
  const std::lock_guard<TableMutex> lock(mutex_);
  size_t result = 0;
  for (const auto& [key, entry] : entries_) {
    result += !entry.packed.expired();
  }
  return result;
}

size_t PackedWeights::bytes() const {
  std::vector<PackedPtr> all; // destroyed after the lock, which the end of its last owner takes, too
  const std::lock_guard<TableMutex> lock(mutex_);
  size_t result = 0;
  for (const auto& [key, entry] : entries_) {
    all.push_back(entry.packed.lock());
    result += all.back() == nullptr ? 0 : all.back()->size;
  }
  return result;
}

} // namespace executorch::backends::et_xnnpack
