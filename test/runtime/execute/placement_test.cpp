// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/execute/executable.h>

#include <gtest/gtest.h>
#include <runtime/base/memory.h>

#include "graph_def.h"
#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;

constexpr uint32_t kRows = 16, kSize = 64;
constexpr size_t kValueBytes = kRows * kSize * sizeof(float) + kTailBytes;

class PlacementTest : public ::testing::Test {
 protected:
  uint32_t product(uint32_t x) {
    return g_.node(linear(), {x, g_.constant({kSize, kSize}, some_numbers(kSize * kSize))}, {kRows, kSize});
  }

  // Loads the graph as it is, and gets it ready for a call.
  std::unique_ptr<Executable> load() {
    bytes_ = g_.build();
    StatusOr<Blob> blob = open_blob({bytes_.data(), bytes_.size()});
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.fuse_elementwise = false;
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr, settings);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    const ArgumentSize size{Shape{kRows, kSize}};
    const Status status = (*executable)->reshape({&size, 1}, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    return std::move(*executable);
  }

  // Output 0 of a call.
  static std::vector<float> run(Executable& executable, size_t num_outputs) {
    std::vector<float> x(kRows * kSize + kTailBytes);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i % 7) - 3;
    }
    std::vector<std::vector<float>> results(num_outputs, std::vector<float>(x.size()));
    const void* const input = x.data();
    std::vector<void*> outputs;
    for (std::vector<float>& result : results) {
      outputs.push_back(result.data());
    }
    const Status status = executable.run({&input, 1}, {outputs.data(), outputs.size()});
    EXPECT_TRUE(status.ok()) << status.message();
    results[0].resize(kRows * kSize);
    return results[0];
  }

  GraphDef g_;
  std::vector<uint8_t> bytes_;
};

TEST_F(PlacementTest, ElementwiseOperatorsWriteOverWhatNobodyReadsLater) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const uint32_t x = g_.input({kRows, kSize});
  uint32_t y = product(x);
  for (const UnaryKind kind : {UnaryKind::Gelu, UnaryKind::Abs, UnaryKind::Neg, UnaryKind::Tanh}) {
    y = g_.node(unary(kind), {y}, {kRows, kSize});
  }
  const uint32_t both = g_.node(binary(BinaryKind::Add), {y, x}, {kRows, kSize});
  g_.output(product(both));
  EXPECT_LE(load()->arena_bytes(), kValueBytes);
}

TEST_F(PlacementTest, KeepsWhatIsReadLater) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const uint32_t y = product(g_.input({kRows, kSize}));
  const uint32_t z = g_.node(unary(UnaryKind::Abs), {y}, {kRows, kSize});
  g_.output(product(g_.node(binary(BinaryKind::Add), {y, z}, {kRows, kSize})));
  const std::unique_ptr<Executable> executable = load();
  EXPECT_GT(executable->arena_bytes(), kValueBytes);
  EXPECT_LE(executable->arena_bytes(), 2 * kValueBytes);
}

// The second operand is a view of one row of the first, which is read again for each row of the sum.
TEST_F(PlacementTest, KeepsWhatIsBroadcast) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const uint32_t y = product(g_.input({kRows, kSize}));
  const uint32_t row = g_.node(slice(0, 0, 1), {y}, {1, kSize});
  g_.output(product(g_.node(binary(BinaryKind::Add), {y, row}, {kRows, kSize})));
  const std::vector<float> result = run(*load(), 1);
  g_.output(y); // keeps its memory out of the arena
  EXPECT_EQ(run(*load(), 2), result);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
