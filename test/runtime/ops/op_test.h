// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// One node by itself: inferred, run in XNNPACK, run by its in-tree kernel.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/ops/op.h>

#include "../sizes_of.h"

namespace executorch::backends::et_xnnpack::testing {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename Table>
using Offset = flatbuffers::Offset<Table>;

struct Operand {
  std::optional<TensorType> type; // none: absent
  bool is_constant = false;
  std::vector<float> data; // empty: small numbers of both signs
};

inline Operand tensor(const Shape& shape, std::vector<float> data = {}) {
  return {TensorType{DType::Float32, shape}, false, std::move(data)};
}
inline Operand weight(const Shape& shape, std::vector<float> data = {}) {
  return {TensorType{DType::Float32, shape}, true, std::move(data)};
}
inline Operand typed(DType dtype, const Shape& shape) {
  return {TensorType{dtype, shape}, false, {}};
}
inline Operand absent() {
  return {};
}

// This one, and whether what is up to its maker is ours: products in blocks, and sums of Int8. Tests are to find the same
// everywhere.
Cpu cpu_with_blocks(bool has_blocks);

class OpCase {
 public:
  // `attributes(builder)` gives the offset of the attributes; `sizes` are what their
  // negative entries stand for.
  template <typename Attributes>
  OpCase(
      const Attributes& attributes,
      std::vector<Operand> operands,
      std::vector<int64_t> sizes = {},
      size_t num_outputs = 1)
      : operands_(std::move(operands)), num_outputs_(num_outputs), sizes_(std::move(sizes)) {
    finish(attributes(builder_));
  }

  // The first output.
  StatusOr<TensorType> infer() const;
  StatusOr<std::vector<TensorType>> infer_all() const;
  // With a result of this type, in XNNPACK where that takes products of Float32. Without `xnnpack` a kernel.
  Choice choose(const TensorType& output, bool xnnpack = true) const;
  Choice choose(const TensorType& output, const ChoiceOptions& options, const Cpu& cpu = cpu_with_blocks(false)) const;
  bool in_xnnpack() const;
  // With a result of this type, which may be quantized.
  bool in_xnnpack(const TensorType& output) const;
  // Whether a kernel of ours computes it because XNNPACK is one without our parts.
  bool lacks_part() const;
  bool in_float16() const;
  // By the kernel that has XNNPACK compute it. `pool`: null for the calling thread.
  // REQUIRES: infer() succeeds. Fails the test if something else goes wrong.
  std::vector<float> run_in_xnnpack(bool float16 = false, pthreadpool_t pool = nullptr) const;
  std::vector<float> run_kernel() const;
  size_t num_operands() const {
    return operands_.size();
  }
  const std::vector<float>& data(size_t i) const {
    return operands_[i].data;
  }

 private:
  class Context;

  template <typename Table>
  void finish(Offset<Table> attributes) {
    finish(schema::AttributesTraits<Table>::enum_value, attributes.Union());
  }
  void finish(schema::Attributes type, Offset<void> attributes);
  const schema::Node& node() const {
    return *flatbuffers::GetRoot<schema::Node>(builder_.GetBufferPointer());
  }
  const OpImpl& op() const {
    return op_impl(node().attributes_type());
  }

  Builder builder_;
  std::vector<Operand> operands_;
  size_t num_outputs_;
  Sizes sizes_;
};

// Expects the case to be inferred as Float32 of this shape.
void expect_shape(const OpCase& op, const Shape& shape);
// Expects the outputs of the case to have these types, as text.
void expect_types(const OpCase& op, const std::vector<std::string>& types);
// Expects infer to fail with InvalidProgram and a message with this part.
void expect_refused(const OpCase& op, const std::string& part);
// Expects XNNPACK to run the case and to agree with the kernel, NaN with NaN; in float16 where it has
// that, if float16 holds the numbers. Expects nothing of one that lacks a part of ours for the case.
void expect_agreement(const OpCase& op, float tolerance = 1e-5f);
// The same of a case that XNNPACK runs in float16 alone, because a kernel of ours is faster in float32.
void expect_agreement_in_float16(const OpCase& op);
// Expects values that differ by `tolerance * max(1, |expected|)` at most, NaN only for NaN.
void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance);

} // namespace executorch::backends::et_xnnpack::testing
