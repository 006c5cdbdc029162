// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pass.h"

#include <limits>
#include <unordered_map>

#include "runtime/kernels/elementwise/rounded_affine.h"
#include "runtime/ops/common/common.h"
#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {
namespace {

class PassMaker {
 public:
  PassMaker(const Blob& blob, const Plan& plan, Span<const TensorType> types, const Sizes& sizes, const Step& step)
      : blob_(blob), plan_(plan), types_(types), sizes_(sizes), step_(step), is_merged_(step.nodes.size()) {
    for (size_t n = first(); n < step.nodes.size(); ++n) {
      for (const uint32_t id : *node(n).inputs()) {
        const auto [found, is_new] = reader_.try_emplace(id, n);
        found->second = is_new ? n : kNobody; // or several
      }
    }
    for (const uint32_t id : step.outputs) {
      reader_[id] = kNobody;
    }
  }

  std::vector<FusedElementwise::Node> run() {
    std::unordered_map<size_t, FusedElementwise::Node> merged; // by their last node
    for (size_t n = first(); n < step_.nodes.size(); ++n) {
      merge_from(n, merged);
    }
    std::vector<FusedElementwise::Node> nodes;
    for (size_t n = first(); n < step_.nodes.size(); ++n) {
      if (const auto found = merged.find(n); found != merged.end()) {
        nodes.push_back(std::move(found->second));
      } else if (!is_merged_[n]) {
        const BoundNode bound(blob_, step_.nodes[n], types_, sizes_);
        nodes.push_back(
            {plan_.choices[step_.nodes[n]].row(bound.context()),
             {node(n).inputs()->begin(), node(n).inputs()->end()},
             value(result(n))});
      }
    }
    return nodes;
  }

 private:
  static constexpr size_t kNobody = std::numeric_limits<size_t>::max();

  size_t first() const {
    return step_.kind == Step::Kind::Led ? 1 : 0;
  }
  const schema::Node& node(size_t n) const {
    return blob_.node(step_.nodes[n]);
  }
  uint32_t input(size_t n, uint32_t k) const {
    return node(n).inputs()->Get(k);
  }
  uint32_t result(size_t n) const {
    return node(n).outputs()->Get(0);
  }
  FusedElementwise::Value value(uint32_t id) const {
    return {id, element_size(types_[id].storage())};
  }

  // The only node that reads the result of node `n`, which nobody else needs, or kNobody.
  size_t next(size_t n) const {
    const auto found = reader_.find(result(n));
    return found == reader_.end() ? kNobody : found->second;
  }

  bool is_cast(size_t n, DType from, DType to) const {
    return n != kNobody && node(n).attributes_type() == schema::Attributes::Cast &&
        types_[input(n, 0)].storage() == from && types_[result(n)].storage() == to;
  }
  // Whether node `n` is this operation between numbers of Float32, with the result of node `before` as its first operand.
  bool is_binary(size_t n, schema::BinaryKind kind, size_t before) const {
    const auto is_float = [this](uint32_t id) { return types_[id].storage() == DType::Float32; };
    return n != kNobody && node(n).attributes_type() == schema::Attributes::Binary &&
        node(n).attributes_as_Binary()->kind() == kind && input(n, 0) == result(before) && is_float(input(n, 0)) &&
        is_float(input(n, 1)) && is_float(result(n));
  }

  // Makes one row of the nodes from `n` on if they are a RoundedAffine.
  void merge_from(size_t n, std::unordered_map<size_t, FusedElementwise::Node>& merged) {
    if (is_merged_[n] || node(n).attributes_type() != schema::Attributes::Cast) {
      return;
    }
    const DType from = types_[input(n, 0)].storage(), to = types_[result(n)].storage();
    const bool reduced_x = is_reduced_float(from);
    const DType type = reduced_x ? from : to;
    if (!is_reduced_float(type) || (!reduced_x && from != DType::Float32)) {
      return;
    }
    std::vector<size_t> chain{n};
    if (!reduced_x) {
      chain.push_back(next(n));
    }
    const size_t widened = chain.back();
    if (!is_cast(widened, type, DType::Float32)) {
      return;
    }
    const size_t scaled = next(widened);
    if (!is_binary(scaled, schema::BinaryKind::Mul, widened) ||
        node(scaled).attributes_as_Binary()->clamp() != nullptr) {
      return;
    }
    const size_t shifted = next(scaled);
    if (!is_binary(shifted, schema::BinaryKind::Add, scaled)) {
      return;
    }
    chain.insert(chain.end(), {scaled, shifted});
    RoundedAffine affine{type, reduced_x, 0, 0, RoundedAffine::Result::Float32};
    affine.min = clamp_min(node(shifted).attributes_as_Binary()->clamp());
    affine.max = clamp_max(node(shifted).attributes_as_Binary()->clamp());
    if (const size_t rounded = next(shifted); is_cast(rounded, DType::Float32, type)) {
      chain.push_back(rounded);
      affine.result = RoundedAffine::Result::Reduced;
      if (const size_t again = next(rounded); is_cast(again, type, DType::Float32)) {
        chain.push_back(again);
        affine.result = RoundedAffine::Result::Rounded;
      }
    }
    for (const size_t part : chain) {
      is_merged_[part] = true;
    }
    FusedElementwise::Node& all = merged[chain.back()];
    all.row = rounded_affine_row(affine);
    all.operands = {input(n, 0), input(scaled, 1), input(shifted, 1)};
    all.result = value(result(chain.back()));
  }

  const Blob& blob_;
  const Plan& plan_;
  const Span<const TensorType> types_;
  const Sizes& sizes_;
  const Step& step_;
  std::unordered_map<uint32_t, size_t> reader_; // by value: the node of the step that alone needs it
  std::vector<bool> is_merged_; // by node of the step
};

} // namespace

std::unique_ptr<FusedElementwise> make_pass(
    const Blob& blob,
    const Plan& plan,
    Span<const TensorType> types,
    const Sizes& sizes,
    const Step& step,
    Span<const uint32_t> inputs) {
  std::vector<FusedElementwise::Value> values;
  for (const uint32_t id : inputs) {
    const uint32_t read = id == kNone ? blob.node(step.nodes.front()).outputs()->Get(0) : id;
    values.push_back({read, element_size(types[read].storage())});
  }
  return std::make_unique<FusedElementwise>(
      PassMaker(blob, plan, types, sizes, step).run(),
      Span<const FusedElementwise::Value>(values.data(), values.size()),
      Span<const uint32_t>(step.outputs.data(), step.outputs.size()));
}

} // namespace executorch::backends::et_xnnpack
