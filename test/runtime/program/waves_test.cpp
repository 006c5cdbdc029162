// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/program/waves.h>

#include <gtest/gtest.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;

struct Found {
  GraphDef g;
  int64_t size = 0, more = 0;
  uint32_t mask = 0, places = 0;
};

// Node 0 finds a size, and node 1 reads one more than that.
Found found_size() {
  Found f;
  f.size = f.g.ranged(DimOp::FoundSize, 0, 0, 0, 4, 3);
  const int64_t one = f.g.expr(DimOp::Const, 1);
  f.more = f.g.expr(DimOp::Add, -1 - f.size, -1 - one);
  f.mask = f.g.input({4}, DType::Bool);
  f.places = f.g.node(nonzero(f.size), {f.mask}, {f.size, 1}, DType::Int64);
  f.g.output(f.g.node(iota(f.more), {}, {f.more}, DType::Int64));
  return f;
}

void expect_refused(const GraphDef& g, const std::string& text) {
  StatusOr<Blob> blob = open_blob(span(g.build()));
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.status().code(), Error::InvalidProgram);
  EXPECT_NE(blob.status().message().find(text), std::string::npos) << blob.status().message();
}

TEST(Waves, AreThoseOfWhatTheyDependOn) {
  const Found f = found_size();
  StatusOr<Blob> blob = open_blob(span(f.g.build()));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  const Waves& waves = blob->waves();
  EXPECT_EQ(waves.num_found(), 1u);
  EXPECT_EQ(waves.finder(1), 0u);
  EXPECT_EQ(waves.of_value(f.mask), 0u);
  EXPECT_EQ(waves.of_value(f.places), 1u);
  EXPECT_EQ(waves.of_node(1), 1u);
  EXPECT_EQ(waves.of_size(4), 0u);
  EXPECT_EQ(waves.of_size(f.more), 1u);
}

TEST(Waves, RefuseASizeThatNobodyFinds) {
  Found f = found_size();
  f.g.exprs[0] = schema::DimExpr(DimOp::FoundSize, 2, 0);
  expect_refused(f.g, "node 2 does not exist");
  f.g.exprs[0] = schema::DimExpr(DimOp::FoundSize, -1, 0);
  expect_refused(f.g, "node -1 does not exist");
  f.g.exprs[0] = schema::DimExpr(DimOp::FoundSize, 1, 0);
  expect_refused(f.g, "node 1 does not find this size");
  f = found_size();
  f.g.nodes[0].attributes = nonzero(f.more);
  expect_refused(f.g, "node 0 does not find this size");
  f = found_size();
  f.g.nodes[0].attributes = {};
  expect_refused(f.g, "node 0 does not find this size");
  f = found_size();
  f.g.expr(DimOp::FoundSize, 0);
  expect_refused(f.g, "node 0 does not find this size");
}

TEST(Waves, RefuseASizeWithoutARange) {
  Found f = found_size();
  f.g.ranges.clear();
  expect_refused(f.g, "has no range");
}

TEST(Waves, RefuseWhatComesBeforeTheSize) {
  GraphDef g;
  const int64_t size = g.ranged(DimOp::FoundSize, 1, 0, 0, 4, 3);
  const uint32_t mask = g.input({4}, DType::Bool);
  g.output(g.node(iota(size), {}, {size}, DType::Int64));
  g.output(g.node(nonzero(size), {mask}, {size, 1}, DType::Int64));
  expect_refused(g, "node 0 depends on a size that is not found before it");
}

TEST(Waves, RefuseInputsOfSuchASize) {
  GraphDef g;
  const int64_t size = g.ranged(DimOp::FoundSize, 0, 0, 0, 4, 3);
  const uint32_t mask = g.input({size}, DType::Bool);
  g.output(g.node(nonzero(size), {mask}, {size, 1}, DType::Int64));
  expect_refused(g, "the sizes of input 0 are found by a node");
}

TEST(Waves, RefuseMoreThanThereIs) {
  Found f = found_size();
  f.g.ranges[0] = schema::DimRange(static_cast<uint32_t>(-1 - f.size), 0, 9, 5);
  expect_refused(f.g, "it cannot find 5 of 4 elements");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
