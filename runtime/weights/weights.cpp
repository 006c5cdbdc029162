// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "weights.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "runtime/base/interpreter.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Constants from this size on are not copied.
constexpr size_t kLargeBytes = 64 << 10;

// The address sanitizer sees a write behind one piece of memory, not one from a weight to the next in an arena.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kUsesArena = false;
#elif defined(__has_feature)
constexpr bool kUsesArena = !__has_feature(address_sanitizer);
#else
constexpr bool kUsesArena = true;
#endif

} // namespace

const void* Weights::kept(uint32_t value) const {
  const auto found = kept_by_value_.find(value);
  return found == kept_by_value_.end() ? nullptr : found->second;
}

StatusOr<const void*> Weights::constant(uint32_t value) {
  if (const void* const known = kept(value); known != nullptr) {
    return known;
  }
  ETX_CHECK(blob_.is_constant(value), Internal, "value %u is not a constant", value);
  ETX_ASSIGN_OR_RETURN(PackedPtr kept, keep(value));
  kept_by_value_[value] = kept->data;
  kept_.push_back(std::move(kept));
  return kept_by_value_[value];
}

bool Weights::can_wait(uint32_t value) const {
  const schema::Constant& constant = *blob_.value(value).constant();
  StatusOr<TensorType> type = constants_.type(value);
  return file_ != nullptr && type.ok() && !is_copied(constant, *type) && kept_by_value_.count(value) == 0 &&
      constants_.has_data(constant.key()->c_str());
}

Status Weights::run(const std::vector<PackingTask>& tasks, pthreadpool_t pool) {
  std::vector<Status> results(tasks.size());
  std::atomic<bool> failed{false};
  constants_.use_threads(threads_of(pool) > 1);
  const Waiting waiting; // for other threads, in which ExecuTorch may log
  parallel_for(pool, tasks.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end && !failed; ++i) {
      results[i] = guarded(tasks[i]);
      if (!results[i].ok()) {
        failed = true;
      }
    }
  });
  constants_.use_threads(false);
  const auto bad = std::find_if(results.begin(), results.end(), [](const Status& result) { return !result.ok(); });
  return bad == results.end() ? Status() : std::move(*bad);
}

bool Weights::is_copied(const schema::Constant& constant, const TensorType& type) const {
  return constant.key() == nullptr || type.bytes() < kLargeBytes || constant.storage() != schema::Storage::Plain;
}

StatusOr<PackedPtr> Weights::keep(uint32_t value) {
  const schema::Constant& constant = *blob_.value(value).constant();
  ETX_ASSIGN_OR_RETURN(const TensorType type, constants_.type(value));
  const bool copy = is_copied(constant, type);
  std::string key = "kept " + type.to_string() + constants_.identity(value);
  if (!copy) {
    // The memory may be gone with the program.
    key += " " + std::to_string(reinterpret_cast<uintptr_t>(constants_.named_data()));
  }
  PackedPtr known = shared_ == nullptr ? nullptr : shared_->find_or_reserve(key);
  if (known != nullptr) {
    return known;
  }
  Reservation reservation(this, key);
  ETX_ASSIGN_OR_RETURN(PackedBytes bytes, constants_.keep(constant, type, copy));
  return reservation.publish(std::move(bytes));
}

PackedPtr Weights::share(const std::string& key, PackedBytes bytes) {
  return shared_ == nullptr ? std::make_shared<const PackedBytes>(std::move(bytes))
                            : shared_->publish(key, std::move(bytes));
}

StatusOr<Buffer> Weights::allocate(size_t bytes) {
  ETX_ASSIGN_OR_RETURN(Buffer buffer, kUsesArena ? arena_.allocate(bytes) : Buffer::allocate(bytes));
  constants_.populate(buffer);
  return buffer;
}

Weights::Reservation::~Reservation() {
  if (weights_ != nullptr && weights_->shared_ != nullptr) {
    weights_->shared_->abandon(*key_);
  }
}

PackedPtr Weights::Reservation::publish(PackedBytes bytes) {
  PackedPtr packed = weights_->share(*key_, std::move(bytes));
  weights_ = nullptr;
  return packed;
}

StatusOr<PackedPtr> Weights::find_packed(
    const std::string& key, const ConstantSource::Measure& measure, Reservation* reservation) {
  {
    const std::lock_guard<TableMutex> lock(packed_mutex_);
    const auto own = packed_.find(key);
    if (own != packed_.end()) {
      return own->second;
    }
  }
  PackedPtr found = shared_ == nullptr ? nullptr : shared_->find_or_reserve(key);
  if (found == nullptr) {
    Reservation own(this, key);
    std::optional<PackedBytes> in_file = file_ == nullptr ? std::nullopt : file_->find(key);
    if (in_file.has_value()) {
      ETX_ASSIGN_OR_RETURN(const ConstantSource::Measured expected, measure());
      if (in_file->size == expected.size && in_file->is_packed_first == expected.is_packed_first) {
        found = own.publish(std::move(*in_file));
      }
    }
    if (found == nullptr) {
      *reservation = std::move(own);
      return found;
    }
  }
  use(key, found);
  return found;
}

void Weights::use(const std::string& key, const PackedPtr& packed) {
  const std::lock_guard<TableMutex> lock(packed_mutex_);
  packed_.emplace(key, packed);
}

PackedByKey Weights::unverified() const {
  PackedByKey result;
  for (const auto& [key, bytes] : packed_) {
    if (bytes->is_unverified()) {
      result.emplace(key, bytes);
    }
  }
  return result;
}

} // namespace executorch::backends::et_xnnpack
