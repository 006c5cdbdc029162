// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include "runtime/base/constant_source.h"
#include "weights.h"

namespace executorch::backends::et_xnnpack {

// The constant operands of one node. Borrows everything.
class NodeConstants : public ConstantSource {
 public:
  NodeConstants(Weights& weights, const schema::Node& node) : weights_(weights), node_(node) {}

  std::string identity(size_t i) const override;
  StatusOr<ConstantData> load(size_t i) const override;
  StatusOr<ConstantData> load_reduced(size_t i, DType type) const override;
  StatusOr<Buffer> allocate(size_t bytes) const override;
  StatusOr<PackedMemory> find_or_pack(const std::string& key, const Measure& measure, const Pack& pack) override;

 private:
  uint32_t value(size_t i) const {
    return node_.inputs()->Get(static_cast<uint32_t>(i));
  }

  Weights& weights_;
  const schema::Node& node_;
};

} // namespace executorch::backends::et_xnnpack
