// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "node_constants.h"

#include <utility>

namespace executorch::backends::et_xnnpack {
namespace {

// Keeps the packed weights alive as those of the process do, so that others find them.
PackedMemory memory_of(const PackedPtr& packed) {
  return {packed->data, packed->size, packed->is_packed_first, packed};
}

} // namespace

std::string NodeConstants::identity(size_t i) const {
  return weights_.constants().identity(value(i));
}

StatusOr<ConstantData> NodeConstants::load(size_t i) const {
  if (const void* const kept = weights_.kept(value(i)); kept != nullptr) {
    return ConstantData{kept, nullptr};
  }
  ETX_ASSIGN_OR_RETURN(ConstantReader::Original original, weights_.constants().load(value(i)));
  return ConstantData{original.data, std::move(original.memory)};
}

StatusOr<ConstantData> NodeConstants::load_reduced(size_t i, DType type) const {
  ETX_ASSIGN_OR_RETURN(ConstantReader::Original original, weights_.constants().load_reduced(value(i), type));
  return ConstantData{original.data, std::move(original.memory)};
}

StatusOr<Buffer> NodeConstants::allocate(size_t bytes) const {
  return weights_.allocate(bytes);
}

StatusOr<PackedMemory> NodeConstants::find_or_pack(const std::string& key, const Measure& measure, const Pack& pack) {
  Weights::Reservation reservation;
  ETX_ASSIGN_OR_RETURN(PackedPtr packed, weights_.find_packed(key, measure, &reservation));
  if (packed != nullptr) {
    return memory_of(packed);
  }
  ETX_ASSIGN_OR_RETURN(PackedMemory fresh, pack());
  if (fresh.data == nullptr) {
    return fresh;
  }
  packed = reservation.publish({fresh.data, fresh.size, fresh.is_packed_first, std::move(fresh.memory)});
  weights_.use(key, packed);
  return memory_of(packed);
}

} // namespace executorch::backends::et_xnnpack
