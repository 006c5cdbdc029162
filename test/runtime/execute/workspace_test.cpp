// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/execute/workspace.h>

#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <runtime/execute/executable.h>

#include "delegate.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr int32_t kWidth = 32;

// Products of XNNPACK with kernels of ours between them, for up to 256 rows.
GraphDef network() {
  GraphDef g;
  const int64_t rows = g.ranged(schema::DimOp::InputDim, 0, 0, 1, 256, 256);
  const uint32_t x = g.input({rows, kWidth});
  const uint32_t w = g.named({kWidth, kWidth}, "w");
  const uint32_t a = g.node(linear(), {x, w}, {rows, kWidth});
  const uint32_t b = g.node(layer_norm(), {a, kNone, kNone}, {rows, kWidth});
  const uint32_t c = g.node(linear(), {b, w}, {rows, kWidth});
  const uint32_t d = g.node(linear(), {c, w}, {rows, kWidth});
  g.output(g.node(softmax(1), {d}, {rows, kWidth}));
  return g;
}

class WorkspaceTest : public ::testing::Test {
 protected:
  WorkspaceTest() : blob_(network().build()) {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    weights_.add("w", some_numbers(kWidth * kWidth));
    for (const int32_t rows : {1, 7, 64, 256}) {
      Method alone(backend_, blob_, &weights_);
      expected_[rows] = run(alone, rows);
    }
  }

  static std::vector<float> run(Method& method, int32_t rows) {
    TensorArgument x({rows, kWidth}, some_numbers(static_cast<size_t>(rows) * kWidth));
    TensorArgument y({256, kWidth});
    EXPECT_EQ(method.execute({x.value(), y.value()}), Error::Ok);
    return y.numbers();
  }
  Method load(const DataMap& weights, const std::string& sharing, bool shrink) {
    std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
    std::copy(sharing.begin(), sharing.end(), text.begin());
    return Method(backend_, blob_, &weights, {option("workspace_sharing", text), option("shrink_memory", shrink)});
  }

  std::unique_ptr<Executable> create(std::shared_ptr<Workspace> workspace, bool shrink = false) {
    StatusOr<Blob> blob = open_blob(span(blob_));
    Executable::Settings settings;
    settings.workspace = std::move(workspace);
    settings.shrink_memory = shrink;
    return std::move(*Executable::create(std::move(*blob), &weights_, settings));
  }
  void expect_right(Executable& executable, int32_t rows) {
    std::vector<float> x = some_numbers(static_cast<size_t>(rows) * kWidth), y(x.size() + 64);
    x.resize(x.size() + 64);
    const ArgumentSize size{Shape{static_cast<size_t>(rows), kWidth}, 0};
    ASSERT_TRUE(executable.reshape({&size, 1}, nullptr).ok());
    const void* in = x.data();
    void* out = y.data();
    ASSERT_TRUE(executable.run({&in, 1}, {&out, 1}).ok());
    y.resize(y.size() - 64);
    EXPECT_EQ(y, expected_[rows]) << rows;
  }

  EtXnnpackBackend backend_;
  std::vector<uint8_t> blob_;
  DataMap weights_;
  std::map<int32_t, std::vector<float>> expected_;
};

TEST_F(WorkspaceTest, IsAsLargeAsTheSizesOfTheCallsNeed) {
  const auto executable = create(nullptr);
  expect_right(*executable, 7);
  const size_t small = executable->workspace().bytes();
  expect_right(*executable, 256);
  const size_t large = executable->workspace().bytes();
  EXPECT_GT(large, 4 * small);
  expect_right(*executable, 7);
  EXPECT_EQ(executable->workspace().bytes(), large);
}

// Of a chain of layers two tensors live at a time, with a sum at its end one more.
TEST_F(WorkspaceTest, ReusesWhatLayersBehindHaveLeft) {
  constexpr int32_t kRows = 64, kLayers = 16;
  GraphDef g;
  const uint32_t x = g.input({kRows, kWidth});
  const uint32_t w = g.named({kWidth, kWidth}, "w");
  const uint32_t first = g.node(linear(), {x, w}, {kRows, kWidth});
  uint32_t y = first;
  for (int32_t i = 1; i < kLayers; ++i) {
    y = g.node(linear(), {y, w}, {kRows, kWidth});
  }
  const uint32_t sum = g.node(binary(schema::BinaryKind::Add), {first, y}, {kRows, kWidth});
  g.output(g.node(linear(), {sum, w}, {kRows, kWidth}));
  blob_ = g.build();
  const auto executable = create(nullptr);
  Method alone(backend_, blob_, &weights_);
  expected_[kRows] = run(alone, kRows);
  expected_[kRows].resize(kRows * kWidth);
  expect_right(*executable, kRows);
  EXPECT_LT(executable->workspace().bytes(), 4 * kRows * kWidth * sizeof(float));
}

TEST_F(WorkspaceTest, ShrinksIfAsked) {
  const auto executable = create(nullptr, true);
  expect_right(*executable, 7);
  const size_t small = executable->workspace().bytes();
  for (int round = 0; round < 3; ++round) {
    expect_right(*executable, 256);
    EXPECT_GT(executable->workspace().bytes(), small);
    expect_right(*executable, 7);
    EXPECT_EQ(executable->workspace().bytes(), small);
  }
}

TEST_F(WorkspaceTest, IsOneForThoseThatShareIt) {
  const std::shared_ptr<Workspace> workspace = std::make_shared<Workspace>();
  const auto first = create(workspace), second = create(workspace), third = create(workspace, true);
  for (int round = 0; round < 3; ++round) {
    for (Executable* executable : {first.get(), second.get(), third.get()}) {
      for (const int32_t rows : {7, 64, 1, 256, 256, 7, 7}) {
        expect_right(*executable, rows);
        expect_right(*first, 64);
      }
    }
  }
  const auto alone = create(nullptr);
  expect_right(*alone, 256);
  expect_right(*second, 256);
  EXPECT_EQ(workspace->bytes(), alone->workspace().bytes());
}

TEST_F(WorkspaceTest, IsThereForTheRestIfOneGoes) {
  const std::shared_ptr<Workspace> workspace = std::make_shared<Workspace>();
  const auto first = create(workspace);
  auto second = create(workspace);
  expect_right(*second, 64);
  expect_right(*first, 7);
  second = nullptr;
  expect_right(*first, 256);
  second = create(workspace);
  expect_right(*first, 256);
  expect_right(*second, 1);
}

TEST_F(WorkspaceTest, MethodsOnAllThreadsMayShareIt) {
  for (const char* sharing : {"none", "model", "global"}) {
    SCOPED_TRACE(sharing);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        DataMap weights; // Method looks whether all was given back
        weights.add("w", some_numbers(kWidth * kWidth));
        for (int round = 0; round < 8; ++round) {
          Method method = load(weights, sharing, t == 1);
          for (const int32_t rows : {256, 7, 64}) {
            EXPECT_EQ(run(method, rows), expected_[rows]);
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
