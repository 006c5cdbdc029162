// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "constant_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/program/constant.h"

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::runtime::Result;

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

// Rounds numbers of `from`, Float32 or a type of 16 bits, to the type of 16 bits `to`. `x` may have any alignment.
void round_bytes(DType from, const char* x, DType to, char* y, size_t count) {
  constexpr size_t kBlock = 1024;
  float block[kBlock];
  for (size_t i = 0; i < count; i += kBlock) {
    const size_t size = std::min(kBlock, count - i);
    if (from == DType::Float32) {
      std::memcpy(block, x + i * sizeof(float), size * sizeof(float));
    } else {
      widen_bytes(from, x + i * sizeof(uint16_t), block, size);
    }
    narrow(to, block, y + i * sizeof(uint16_t), size);
  }
}

bool is_zero(const char* data, size_t bytes) {
  return bytes == 0 || (data[0] == 0 && std::memcmp(data, data + 1, bytes - 1) == 0);
}

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % element_size(dtype) == 0;
}

} // namespace

StatusOr<TensorType> ConstantReader::type(uint32_t value) const {
  ETX_ASSIGN_OR_RETURN(const Shape shape, Sizes().resolve(blob_.value(value).dims()));
  return TensorType{to_dtype(blob_.value(value).dtype()), shape};
}

StatusOr<ConstantReader::Original> ConstantReader::load(uint32_t value) const {
  ETX_ASSIGN_OR_RETURN(const TensorType type, this->type(value));
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
  ETX_ASSIGN_OR_RETURN(Buffer copied, Buffer::allocate_temporary(type.bytes()));
  populate(copied);
  ETX_RETURN_IF_ERROR(copy(constant, type, copied.data()));
  const void* const data = copied.data();
  return Original{data, std::make_shared<Buffer>(std::move(copied))};
}

StatusOr<ConstantReader::Original> ConstantReader::load_reduced(uint32_t value, DType to) const {
  ETX_ASSIGN_OR_RETURN(const TensorType type, this->type(value));
  const schema::Constant& constant = *blob_.value(value).constant();
  const DType stored = stored_type(constant, type.dtype);
  const size_t count = type.shape.numel();
  ETX_ASSIGN_OR_RETURN(std::shared_ptr<const FreeableBuffer> buffer, borrow(constant, count * element_size(stored)));
  if (stored == to && is_aligned(buffer->data(), to)) {
    const void* const data = buffer->data();
    return Original{data, std::move(buffer)};
  }
  ETX_ASSIGN_OR_RETURN(Buffer copied, Buffer::allocate_temporary(count * element_size(to)));
  populate(copied);
  round_bytes(stored, static_cast<const char*>(buffer->data()), to, copied.data(), count);
  const void* const data = copied.data();
  return Original{data, std::make_shared<Buffer>(std::move(copied))};
}

void ConstantReader::populate(const Buffer& buffer) const {
  // While the system provides many pages at once, no thread can map an original.
  if (!on_several_threads_) {
    et_xnnpack::populate(buffer.data(), buffer.size());
  }
}

std::string ConstantReader::identity(uint32_t value) const {
  return et_xnnpack::identity(*blob_.value(value).constant());
}

Status ConstantReader::copy(const schema::Constant& constant, const TensorType& type, void* to) const {
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

StatusOr<Buffer> ConstantReader::own(const schema::Constant& constant, const TensorType& type) const {
  const size_t stored_bytes = type.shape.numel() * element_size(stored_type(constant, type.dtype));
  {
    ETX_ASSIGN_OR_RETURN(const std::shared_ptr<const FreeableBuffer> buffer, borrow(constant, stored_bytes));
    if (is_zero(static_cast<const char*>(buffer->data()), stored_bytes)) {
      return Buffer::allocate_zeros(type.bytes());
    }
  }
  ETX_ASSIGN_OR_RETURN(Buffer result, Buffer::allocate(type.bytes()));
  ETX_RETURN_IF_ERROR(copy(constant, type, result.data()));
  return result;
}

StatusOr<PackedBytes> ConstantReader::keep(
    const schema::Constant& constant, const TensorType& type, bool copied) const {
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

// Is given back under the lock.
struct ConstantReader::Borrowed {
  explicit Borrowed(Mutex<LockLevel::Data>& data_mutex) : mutex(data_mutex) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    const std::lock_guard lock(mutex);
    buffer.reset();
  }

  Mutex<LockLevel::Data>& mutex;
  std::optional<FreeableBuffer> buffer;
};

StatusOr<std::shared_ptr<const FreeableBuffer>> ConstantReader::borrow(
    const schema::Constant& constant, size_t bytes) const {
  const auto borrowed = std::make_shared<Borrowed>(data_mutex_); // before the lock: if it goes it locks
  const std::lock_guard lock(data_mutex_);
  ETX_ASSIGN_OR_RETURN(FreeableBuffer buffer, get(constant, bytes));
  borrowed->buffer.emplace(std::move(buffer));
  return std::shared_ptr<const FreeableBuffer>(borrowed, &*borrowed->buffer);
}

StatusOr<FreeableBuffer> ConstantReader::get(const schema::Constant& constant, size_t bytes) const {
  if (constant.data() != nullptr) {
    return FreeableBuffer(constant.data()->data(), constant.data()->size(), /*free_fn=*/nullptr);
  }
  const char* key = constant.key()->c_str();
  ETX_CHECK(named_data_ != nullptr, InvalidProgram, "weight %s: the program carries no named data", key);
  Result<FreeableBuffer> data = named_data_->get_data(key);
  ETX_CHECK(data.error() != Error::NotFound, InvalidProgram, "weight %s is not in the program or its .ptd files", key);
  if (!data.ok()) {
    // What InvalidExternalData says here is that packed weights are damaged.
    const Error code = data.error() == Error::InvalidExternalData ? Error::AccessFailed : data.error();
    return failure(code, "weight %s cannot be read: %s", key, executorch::runtime::to_string(data.error()));
  }
  ETX_CHECK(
      data->size() >= bytes, InvalidProgram, "weight %s has %zu bytes, but %zu are needed", key, data->size(), bytes);
  ETX_CHECK(data->data_safe().ok(), NotSupported, "weight %s is not in memory that this CPU can address", key);
  return std::move(*data);
}

bool ConstantReader::has_data(const char* key) const {
  const Result<uint32_t> count = named_data_ == nullptr ? Result<uint32_t>(0u) : named_data_->get_num_keys();
  for (uint32_t i = 0; count.ok() && i < *count; ++i) {
    const Result<const char*> other = named_data_->get_key(i);
    if (other.ok() && std::strcmp(*other, key) == 0) {
      return true;
    }
  }
  return false;
}

} // namespace executorch::backends::et_xnnpack
