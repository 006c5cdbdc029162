// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Memory runs out at each place where something large is allocated, one after the other: while a delegate
// is loaded and while it runs. Each time that is an error, and with enough memory all works again.
// Of what XNNPACK allocates to reshape operators all counts at 4ea82e5; of later versions only large pieces.

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <runtime/execute/executable.h>

#include "counted_memory.h"
#include "data_map.h"
#include "guarded_buffer.h"
#include "memory_graphs.h"
#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

class MemoryFailureTest : public ::testing::TestWithParam<SampleGraph> {
 protected:
  MemoryFailureTest() : bytes_(GetParam().def.build()) {
    add_weights_for_memory(weights_);
  }
  ~MemoryFailureTest() override {
    allocations_left = kUnlimited;
    smallest = 0;
  }

  StatusOr<std::unique_ptr<Executable>> load() {
    StatusOr<Blob> blob = open_blob(span(bytes_));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    return Executable::create(std::move(*blob), &weights_);
  }

  // With any content, at the planned sizes, at the end of a page.
  Status run(Executable& executable) {
    const Blob& blob = executable.blob();
    StatusOr<Sizes> sizes = planned_sizes(blob.graph());
    StatusOr<std::vector<TensorType>> types = infer_types(blob, *sizes);
    std::vector<ArgumentSize> arguments;
    std::vector<std::unique_ptr<GuardedBuffer>> memory;
    const auto add = [&](uint32_t id) {
      memory.push_back(std::make_unique<GuardedBuffer>(id == kNone ? 0 : (*types)[id].bytes(), true));
    };
    for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
      const uint32_t id = blob.graph().inputs()->Get(i)->value();
      arguments.push_back({id == kNone ? Shape{} : (*types)[id].shape, 1});
      add(id);
    }
    for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
      add(blob.graph().outputs()->Get(i)->value());
    }
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (size_t i = 0; i < memory.size(); ++i) {
      if (i < arguments.size()) {
        inputs.push_back(memory[i]->data());
      } else {
        outputs.push_back(memory[i]->data());
      }
    }
    allocations_left = limit_;
    ETX_RETURN_IF_ERROR(executable.reshape({arguments.data(), arguments.size()}, nullptr));
    return executable.run({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()});
  }

  std::vector<uint8_t> bytes_;
  DataMap weights_;
  int limit_ = kUnlimited;
};

TEST_P(MemoryFailureTest, WhileLoading) { // Robustness: R8 W5
  for (int limit = 0;; ++limit) {
    SCOPED_TRACE(limit);
    allocations_left = limit;
    const Status status = load().status();
    // Bytes are copied to be packed where they end too close to the end of a page.
    const bool used_all = allocations_left >= 0 && allocations_left <= 2;
    allocations_left = kUnlimited;
    EXPECT_EQ(weights_.in_use(), 0);
    if (status.ok()) {
      EXPECT_TRUE(used_all);
      break;
    }
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed) << status.message();
  }
  StatusOr<std::unique_ptr<Executable>> executable = load();
  ASSERT_TRUE(executable.ok());
  EXPECT_TRUE(run(**executable).ok());
}

TEST_P(MemoryFailureTest, WhileRunning) { // Robustness: R5 R8
  smallest = xnnpack_version().find("4ea82e5") == 0 ? 0 : kLarge;
  for (limit_ = 0;; ++limit_) {
    SCOPED_TRACE(limit_);
    allocations_left = kUnlimited;
    StatusOr<std::unique_ptr<Executable>> executable = load();
    ASSERT_TRUE(executable.ok());
    const Status status = run(**executable);
    if (status.ok()) {
      EXPECT_TRUE(GetParam().name != "large" || limit_ >= (is_xnnpack_of_executorch() ? 2 : 3)) << limit_;
      break;
    }
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed) << status.message();
    const int limit = std::exchange(limit_, kUnlimited);
    EXPECT_TRUE(run(**executable).ok());
    limit_ = limit;
  }
}

// Packed weights are in huge pages, but where there is no room for these.
TEST(ChunkMemoryFailureTest, LoadsWithoutChunks) { // Robustness: R8
  GraphDef g;
  const uint32_t w = g.constant({1024, 1024}, some_numbers(1024 * 1024));
  g.output(g.node(linear(), {g.input({1, 1024}), w}, {1, 1024}));
  const std::vector<uint8_t> bytes = g.build();
  const auto load = [&] {
    StatusOr<Blob> blob = open_blob(span(bytes));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    return Executable::create(std::move(*blob), nullptr).status();
  };
  constexpr int kEnough = 100;
  mappings_left = kEnough;
  EXPECT_TRUE(load().ok());
#if defined(MADV_HUGEPAGE) && !defined(ET_XNNPACK_SANITIZED)
  EXPECT_LT(mappings_left, kEnough);
#endif
  mappings_left = 0;
  EXPECT_TRUE(load().ok());
  largest = size_t{1} << 20;
  EXPECT_EQ(load().code(), Error::MemoryAllocationFailed);
  largest = SIZE_MAX;
  mappings_left = kUnlimited;
}

// The operator is created anew for another number of images. XNNPACK does not check whether it got the few bytes of
// padding for each, so only what is larger fails.
TEST(DynamicConvolutionMemoryFailureTest, KeepsTheOperator) {
  GraphDef g;
  const int64_t images = g.ranged(schema::DimOp::InputDim, 0, 0, 1, 8, 2);
  const uint32_t w = g.integers({4, 3, 3, 4}, {{0.1f, 0.1f, 0.1f, 0.1f}, {0, 0, 0, 0}, 0});
  const schema::Size2D one(1, 1);
  const schema::Padding2D border(1, 1, 1, 1);
  const AttributesDef dynamic = attributes([=](flatbuffers::FlatBufferBuilder& b) {
    return schema::CreateConv2d(b, &one, &border, &one, 1, nullptr, /*dynamic_quantization=*/true);
  });
  g.output(g.node(dynamic, {g.input({images, 4, 4, 4}), w}, {images, 4, 4, 4}));
  const std::vector<uint8_t> bytes = g.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const auto reshape = [&](size_t count) {
    const ArgumentSize size{Shape{count, 4, 4, 4}, 0};
    return (*executable)->reshape({&size, 1}, nullptr);
  };
  int failed = 0;
  smallest = 512;
  for (int limit = 0; limit < 100; ++limit) {
    EXPECT_TRUE(reshape(2).ok());
    allocations_left = limit;
    const Status status = reshape(3);
    allocations_left = kUnlimited;
    if (status.ok()) {
      break;
    }
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed) << status.message();
    ++failed;
  }
  smallest = 0;
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 100);
}

// Tables of an entry for each row or column of a result, where a program of a few bytes or a call asks for many.
TEST(TableMemoryFailureTest, IsAnErrorOfTheNode) {
  constexpr int64_t kMany = 1 << 26;
  const auto check = [](const GraphDef& def, const std::string& node) {
    SCOPED_TRACE(node);
    const std::vector<uint8_t> bytes = def.build();
    StatusOr<Blob> blob = open_blob(span(bytes));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const ArgumentSize size{Shape{1, 4, 4, 1}, 0};
    for (int call = 0; call < 2; ++call) {
      largest = size_t{1} << 30;
      const Status status = (*executable)->reshape({&size, 1}, nullptr);
      largest = SIZE_MAX;
      EXPECT_EQ(status.code(), Error::MemoryAllocationFailed);
      EXPECT_THAT(status.message(), ::testing::HasSubstr("0 " + node));
    }
  };
  const auto graph = [](const AttributesDef& attributes, std::vector<int64_t> shape) {
    GraphDef g;
    g.output(g.node(attributes, {g.input({1, 4, 4, 1})}, std::move(shape)));
    return g;
  };
  const auto many = static_cast<uint32_t>(kMany);
  check(graph(resize2d(schema::ResizeKind::Nearest, {kMany, 1}), {1, kMany, 1, 1}), "Resize2d");
  check(graph(resize2d(schema::ResizeKind::Bicubic, {1, kMany}), {1, 1, kMany, 1}), "Resize2d");
  const auto average = schema::AdaptivePoolKind::Average;
  check(graph(adaptive_pool2d(average, {many, 1}), {1, kMany, 1, 1}), "AdaptivePool2d");
  check(graph(adaptive_pool2d(average, {1, many}), {1, 1, kMany, 1}), "AdaptivePool2d");
}

INSTANTIATE_TEST_SUITE_P(Samples, MemoryFailureTest, ::testing::ValuesIn(graphs_for_memory()), [](const auto& sample) {
  return sample.param.name;
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
