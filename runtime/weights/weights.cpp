// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "runtime/kernels/simd/half.h"
#include "runtime/base/waiting.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/program/constant.h"

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::runtime::Result;

// Constants from this size on are not copied.
constexpr size_t kLargeBytes = 64 << 10;

StatusOr<TensorType> constant_type(const Blob& blob, uint32_t value) {
  ETX_ASSIGN_OR_RETURN(const Shape shape, Sizes().resolve(blob.value(value).dims()));
  return TensorType{to_dtype(blob.value(value).dtype()), shape};
}

// `x` may have any alignment.
void widen_bytes(DType from, const char* x, float* y, size_t count) {
  constexpr size_t kBlock = 1024;
  uint16_t block[kBlock];
  for (size_t i = 0; i < count; i += kBlock) {
    const size_t size = std::min(kBlock, count - i);
    std::memcpy(block, x + i * sizeof(uint16_t), size * sizeof(uint16_t));
    widen(from, block, y + i, size);
  }
}

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % element_size(dtype) == 0;
}

} // namespace

StatusOr<const void*> Weights::constant(uint32_t value) {
  const auto known = kept_by_value_.find(value);
  if (known != kept_by_value_.end()) {
    return known->second;
  }
  ETX_CHECK(blob_.is_constant(value), Internal, "value %u is not a constant", value);
  ETX_ASSIGN_OR_RETURN(PackedPtr kept, keep(value));
  kept_by_value_[value] = kept->data;
  kept_.push_back(std::move(kept));
  return kept_by_value_[value];
}

bool Weights::can_wait(uint32_t value) const {
  const schema::Constant& constant = *blob_.value(value).constant();
  StatusOr<TensorType> type = constant_type(blob_, value);
  return file_ != nullptr && type.ok() && !is_copied(constant, *type) && kept_by_value_.count(value) == 0 &&
      has_data(constant.key()->c_str());
}

Status Weights::run(const std::vector<PackingTask>& tasks, pthreadpool_t pool) {
  std::vector<Status> results(tasks.size());
  std::atomic<bool> failed{false};
  on_several_threads_ = pool != nullptr && pthreadpool_get_threads_count(pool) > 1;
  const Waiting waiting; // for other threads, in which ExecuTorch may log
  parallel_for(pool, tasks.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end && !failed; ++i) {
      results[i] = guarded(tasks[i]);
      if (!results[i].ok()) {
        failed = true;
      }
    }
  });
  on_several_threads_ = false;
  const auto bad = std::find_if(results.begin(), results.end(), [](const Status& result) { return !result.ok(); });
  return bad == results.end() ? Status() : std::move(*bad);
}

StatusOr<Weights::Original> Weights::load(uint32_t value) const {
  ETX_ASSIGN_OR_RETURN(const TensorType type, constant_type(blob_, value));
  const schema::Constant& constant = *blob_.value(value).constant();
  if (constant.storage() == schema::Storage::Plain) {
    ETX_ASSIGN_OR_RETURN(std::shared_ptr<const FreeableBuffer> buffer, borrow(constant, type.bytes()));
    const void* data = buffer->data();
    // XNNPACK packs bytes a vector at a time.
    const bool ends_well = element_size(type.dtype) > 1 || is_tail_readable(data, type.bytes(), kTailBytes);
    if (is_aligned(data, type.dtype) && ends_well) {
      return Original{data, std::move(buffer)};
    }
  }
  ETX_ASSIGN_OR_RETURN(Buffer copied, allocate(type.bytes()));
  ETX_RETURN_IF_ERROR(copy(constant, type, copied.data()));
  const void* const data = copied.data();
  return Original{data, std::make_shared<Buffer>(std::move(copied))};
}

StatusOr<Buffer> Weights::allocate(size_t bytes) const {
  // While the system provides many pages at once, no thread can map an original.
  return on_several_threads_ ? Buffer::allocate(bytes) : Buffer::allocate_populated(bytes);
}

StatusOr<Weights::Original> Weights::placeholder(uint32_t value) const {
  ETX_ASSIGN_OR_RETURN(const TensorType type, constant_type(blob_, value));
  ETX_ASSIGN_OR_RETURN(Buffer zeros, Buffer::allocate(type.bytes()));
  char* const data = zeros.data();
  std::memset(data, 0, type.bytes() + kTailBytes);
  return Original{data, std::make_shared<Buffer>(std::move(zeros))};
}

std::string Weights::identity(uint32_t value) const {
  return et_xnnpack::identity(*blob_.value(value).constant());
}

Status Weights::copy(const schema::Constant& constant, const TensorType& type, void* to) const {
  const DType stored = stored_type(constant, type.dtype);
  const size_t count = type.shape.numel();
  ETX_ASSIGN_OR_RETURN(
      const std::shared_ptr<const FreeableBuffer> buffer, borrow(constant, count * element_size(stored)));
  if (stored != type.dtype) {
    widen_bytes(stored, static_cast<const char*>(buffer->data()), static_cast<float*>(to), count);
  } else if (count > 0) {
    std::memcpy(to, buffer->data(), type.bytes());
  }
  return {};
}

// Is given back under the lock.
struct Weights::Borrowed {
  explicit Borrowed(std::mutex& data_mutex) : mutex(data_mutex) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    const std::lock_guard<std::mutex> lock(mutex);
    buffer.reset();
  }

  std::mutex& mutex;
  std::optional<FreeableBuffer> buffer;
};

StatusOr<std::shared_ptr<const FreeableBuffer>> Weights::borrow(const schema::Constant& constant, size_t bytes) const {
  const auto borrowed = std::make_shared<Borrowed>(data_mutex_); // before the lock: if it goes it locks
  const std::lock_guard<std::mutex> lock(data_mutex_);
  ETX_ASSIGN_OR_RETURN(FreeableBuffer buffer, get(constant, bytes));
  borrowed->buffer.emplace(std::move(buffer));
  return std::shared_ptr<const FreeableBuffer>(borrowed, &*borrowed->buffer);
}

StatusOr<FreeableBuffer> Weights::get(const schema::Constant& constant, size_t bytes) const {
  if (constant.data() != nullptr) {
    return FreeableBuffer(constant.data()->data(), constant.data()->size(), /*free_fn=*/nullptr);
  }
  const char* key = constant.key()->c_str();
  ETX_CHECK(named_data_ != nullptr, InvalidProgram, "weight %s: the program carries no named data", key);
  Result<FreeableBuffer> data = named_data_->get_data(key);
  ETX_CHECK(data.ok(), InvalidProgram, "weight %s is not in the program or its .ptd files", key);
  ETX_CHECK(
      data->size() >= bytes, InvalidProgram, "weight %s has %zu bytes, but %zu are needed", key, data->size(), bytes);
  ETX_CHECK(data->data_safe().ok(), NotSupported, "weight %s is not in memory that this CPU can address", key);
  return std::move(*data);
}

bool Weights::has_data(const char* key) const {
  const Result<uint32_t> count = named_data_ == nullptr ? Result<uint32_t>(0u) : named_data_->get_num_keys();
  for (uint32_t i = 0; count.ok() && i < *count; ++i) {
    const Result<const char*> other = named_data_->get_key(i);
    if (other.ok() && std::strcmp(*other, key) == 0) {
      return true;
    }
  }
  return false;
}

bool Weights::is_copied(const schema::Constant& constant, const TensorType& type) const {
  return constant.key() == nullptr || type.bytes() < kLargeBytes || constant.storage() != schema::Storage::Plain;
}

StatusOr<PackedPtr> Weights::keep(uint32_t value) {
  const schema::Constant& constant = *blob_.value(value).constant();
  ETX_ASSIGN_OR_RETURN(const TensorType type, constant_type(blob_, value));
  const bool copy = is_copied(constant, type);
  std::string key = "kept " + type.to_string() + identity(value);
  if (!copy) {
    // The memory may be gone with the program.
    key += " " + std::to_string(reinterpret_cast<uintptr_t>(named_data_));
  }
  PackedPtr known = shared_ == nullptr ? nullptr : shared_->find_or_reserve(key);
  if (known != nullptr) {
    return known;
  }
  Reservation reservation(this, key);
  ETX_ASSIGN_OR_RETURN(PackedBytes bytes, keep_anew(constant, type, copy));
  return reservation.publish(std::move(bytes));
}

PackedPtr Weights::share(const std::string& key, PackedBytes bytes) {
  return shared_ == nullptr ? std::make_shared<const PackedBytes>(std::move(bytes))
                            : shared_->publish(key, std::move(bytes));
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
    const std::string& key, const std::function<StatusOr<size_t>()>& bytes, Reservation* reservation) {
  {
    const std::lock_guard<std::mutex> lock(packed_mutex_);
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
      ETX_ASSIGN_OR_RETURN(const size_t expected, bytes());
      if (in_file->size == expected) {
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
  const std::lock_guard<std::mutex> lock(packed_mutex_);
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

StatusOr<PackedBytes> Weights::keep_anew(const schema::Constant& constant, const TensorType& type, bool copied) const {
  if (!copied) {
    ETX_ASSIGN_OR_RETURN(FreeableBuffer buffer, get(constant, type.bytes()));
    const void* data = buffer.data();
    if (is_aligned(data, type.dtype) && is_tail_readable(data, type.bytes())) {
      return PackedBytes{data, type.bytes(), false, std::make_shared<FreeableBuffer>(std::move(buffer))};
    }
  }
  ETX_ASSIGN_OR_RETURN(Buffer own, Buffer::allocate_populated(type.bytes()));
  ETX_RETURN_IF_ERROR(copy(constant, type, own.data()));
  const char* const address = own.data();
  return PackedBytes{address, type.bytes(), false, std::make_shared<Buffer>(std::move(own))};
}

} // namespace executorch::backends::et_xnnpack
