// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BagKind;
using schema::UpdateKind;

Operand ints(const Shape& shape) {
  return typed(DType::Int64, shape);
}

OpCase index_put(uint8_t axis, std::vector<Operand> operands, UpdateKind kind = UpdateKind::Assign) {
  return OpCase([&](Builder& b) { return schema::CreateIndexPut(b, axis, kind); }, std::move(operands));
}

OpCase scatter(uint8_t axis, std::vector<Operand> operands, UpdateKind kind = UpdateKind::Assign) {
  return OpCase([&](Builder& b) { return schema::CreateScatter(b, axis, kind); }, std::move(operands));
}

OpCase slice_scatter(
    std::vector<Operand> operands,
    std::vector<int64_t> start,
    std::vector<uint32_t> step,
    std::vector<int64_t> sizes = {}) {
  const std::vector<schema::Size> starts = sizes_of(start);
  const auto attributes = [&](Builder& b) { return schema::CreateSliceScatterDirect(b, &starts, &step); };
  return OpCase(attributes, std::move(operands), std::move(sizes));
}

OpCase masked_scatter(std::vector<Operand> operands) {
  return OpCase([](Builder& b) { return schema::CreateMaskedScatter(b); }, std::move(operands));
}

OpCase embedding_bag(std::vector<Operand> operands, BagKind kind = BagKind::Sum, bool last_offset = false) {
  return OpCase([&](Builder& b) { return schema::CreateEmbeddingBag(b, kind, -1, last_offset); }, std::move(operands));
}

TEST(IndexPutOp, KeepsTheShape) {
  expect_shape(index_put(1, {tensor({2, 5, 3}), tensor({2, 4, 3}), ints({4})}), {2, 5, 3});
  expect_shape(index_put(0, {tensor({2, 5}), tensor({4, 6}), ints({4, 1}), typed(DType::Int32, {6})}), {2, 5});
  expect_shape(index_put(0, {tensor({2}), tensor({}), ints({})}, UpdateKind::Add), {2});
}

TEST(IndexPutOp, Refuses) {
  expect_refused(index_put(0, {tensor({2}), tensor({2})}), "indices");
  expect_refused(index_put(2, {tensor({2, 5}), tensor({2, 5}), ints({1})}), "axes");
  expect_refused(index_put(0, {tensor({2}), tensor({1}), tensor({1})}), "integers");
  expect_refused(index_put(0, {tensor({2, 3}), tensor({1}), ints({1})}), "shape");
  expect_refused(index_put(0, {tensor({2}), ints({1}), ints({1})}), "it cannot write");
  expect_refused(index_put(0, {tensor({2, 2}), tensor({3}), ints({3}), ints({2})}), "broadcast");
  expect_refused(index_put(0, {tensor({2}), absent(), ints({1})}), "absent");
  const Operand half = typed(DType::Float16, {2});
  expect_refused(
      index_put(0, {half, typed(DType::Float16, {1}), ints({1})}, UpdateKind::Add), "Add does not take Float16");
}

TEST(ScatterOp, KeepsTheShape) {
  expect_shape(scatter(1, {tensor({3, 4}), tensor({2, 9}), ints({2, 9})}, UpdateKind::Maximum), {3, 4});
}

TEST(ScatterOp, Refuses) {
  expect_refused(scatter(0, {tensor({3}), tensor({2})}), "inputs");
  const Operand half = typed(DType::BFloat16, {3});
  expect_refused(scatter(0, {half, half, ints({3})}, UpdateKind::Maximum), "Maximum does not take BFloat16");
  expect_refused(scatter(1, {tensor({3}), tensor({2}), ints({2})}), "gather");
  expect_refused(scatter(0, {tensor({3, 2}), tensor({2, 3}), ints({2, 3})}), "gather");
  expect_refused(scatter(0, {tensor({3}), tensor({3}), ints({2})}), "shape");
  expect_refused(scatter(0, {tensor({3}), ints({2}), ints({2})}), "it cannot write");
  expect_refused(scatter(0, {tensor({3}), tensor({2}), tensor({2})}), "integers");
}

TEST(SliceScatterOp, KeepsTheShape) {
  expect_shape(slice_scatter({tensor({3, 7}), tensor({3, 3})}, {0, 2}, {1, 2}), {3, 7});
  expect_shape(slice_scatter({tensor({3, 7}), tensor({1, 7})}, {-1, 0}, {1, 1}, {2}), {3, 7});
  expect_shape(slice_scatter({tensor({3}), tensor({0})}, {3}, {1}), {3});
}

TEST(SliceScatterOp, Refuses) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  expect_refused(slice_scatter({tensor({3}), tensor({1, 1})}, {0}, {1}), "it cannot write");
  expect_refused(slice_scatter({tensor({3}), ints({1})}, {0}, {1}), "it cannot write");
  expect_refused(slice_scatter({tensor({3}), tensor({1})}, {}, {1}), "starts");
  expect_refused(slice_scatter({tensor({3}), tensor({1})}, {0}, {1, 1}), "steps");
  expect_refused(slice_scatter({tensor({3}), tensor({1})}, {0}, {0}), "inside");
  expect_refused(slice_scatter({tensor({3}), tensor({2})}, {0}, {3}), "inside");
  expect_refused(slice_scatter({tensor({3}), tensor({0})}, {4}, {1}), "inside");
  expect_refused(slice_scatter({tensor({3}), tensor({1})}, {-1}, {1}, {-2}), "inside");
  expect_refused(slice_scatter({tensor({3}), tensor({2})}, {-1}, {0xFFFFFFFF}, {kMax}), "inside");
}

TEST(MaskedScatterOp, Infers) {
  expect_shape(masked_scatter({tensor({3, 2}), typed(DType::Bool, {3, 2}), tensor({9})}), {3, 2});
  expect_refused(masked_scatter({tensor({3, 2}), ints({3, 2}), tensor({9})}), "mask");
  expect_refused(masked_scatter({tensor({3, 2}), typed(DType::Bool, {2}), tensor({9})}), "shape");
  expect_refused(masked_scatter({tensor({3, 2}), typed(DType::Bool, {3, 2}), ints({9})}), "it cannot write");
}

TEST(EmbeddingBagOp, Infers) {
  expect_shape(embedding_bag({tensor({9, 4}), ints({7}), ints({3})}), {3, 4});
  expect_shape(embedding_bag({tensor({9, 4}), ints({7}), ints({3}), tensor({7})}, BagKind::Sum, true), {2, 4});
  expect_refused(embedding_bag({ints({9, 4}), ints({7}), ints({3})}), "table");
  expect_refused(embedding_bag({tensor({9}), ints({7}), ints({3})}), "rank");
  expect_refused(embedding_bag({tensor({9, 4}), ints({7, 1}), ints({3})}), "rank");
  expect_refused(embedding_bag({tensor({9, 4}), ints({7}), tensor({3})}), "integers");
  expect_refused(embedding_bag({tensor({9, 4}), ints({7}), ints({0})}, BagKind::Mean, true), "last");
  expect_refused(embedding_bag({tensor({9, 4}), ints({7}), ints({3}), tensor({7})}, BagKind::Max), "weights");
  expect_refused(embedding_bag({tensor({9, 4}), ints({7}), ints({3}), tensor({6})}), "shape");
  expect_refused(embedding_bag({tensor({9, 4}), ints({7}), ints({3}), ints({7})}), "weights");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
