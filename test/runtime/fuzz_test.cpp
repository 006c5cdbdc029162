// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Blobs that are damaged in ways a file can be. Each is refused with an Error or runs; a sanitizer
// would see anything else. The same damage every time.

#include <random>

#include <gtest/gtest.h>
#include <runtime/execute/executable.h>
#include <xnnpack.h>

#include "data_map.h"
#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::Error;

// What a damaged blob may cost: a good one of the samples needs far less.
constexpr size_t kMaxBytes = 1 << 22;
constexpr int kRounds = 4000;

struct Outcome {
  size_t refused = 0, not_loaded = 0, too_large = 0, failed = 0, ran = 0;
};

// Zeros for each tensor, and behind it what XNNPACK may read.
std::vector<std::vector<uint64_t>> buffers(const std::vector<TensorType>& types) {
  std::vector<std::vector<uint64_t>> result;
  for (const TensorType& type : types) {
    result.emplace_back((type.bytes() + XNN_EXTRA_BYTES) / sizeof(uint64_t) + 1);
  }
  return result;
}

void try_blob(const std::vector<uint8_t>& bytes, const DataMap& weights, Outcome* outcome) {
  StatusOr<Blob> blob = open_blob(span(bytes));
  if (!blob.ok()) {
    const Error code = blob.status().code();
    EXPECT_TRUE(
        code == Error::InvalidProgram || code == Error::DelegateInvalidCompatibility || code == Error::NotSupported)
        << static_cast<int>(code) << blob.status().message();
    EXPECT_FALSE(blob.status().message().empty());
    ++outcome->refused;
    return;
  }
  StatusOr<Sizes> sizes = planned_sizes(blob->graph());
  ASSERT_TRUE(sizes.ok()) << sizes.status().message();
  StatusOr<std::vector<TensorType>> types = infer_types(*blob, *sizes);
  ASSERT_TRUE(types.ok()) << types.status().message();
  for (const TensorType& type : *types) {
    if (type.bytes() > kMaxBytes) {
      ++outcome->too_large;
      return;
    }
  }
  std::vector<ArgumentSize> arguments;
  std::vector<TensorType> inputs, outputs;
  for (uint32_t i = 0; i < blob->num_inputs(); ++i) {
    const uint32_t id = blob->graph().inputs()->Get(i)->value();
    inputs.push_back(id == kNone ? TensorType{} : (*types)[id]);
    arguments.push_back({inputs.back().shape, 2}); // the integer counts where there is no tensor
  }
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), &weights);
  if (!executable.ok()) {
    EXPECT_FALSE(executable.status().message().empty());
    ++outcome->not_loaded;
    return;
  }
  for (int call = 0; call < 2; ++call) {
    Status status = (*executable)->reshape({arguments.data(), arguments.size()}, nullptr);
    if (status.ok()) {
      if ((*executable)->arena_bytes() > 4 * kMaxBytes) {
        ++outcome->too_large;
        return;
      }
      outputs.clear();
      for (size_t i = 0; i < (*executable)->blob().num_outputs(); ++i) {
        outputs.push_back((*executable)->output_type(i));
      }
      std::vector<std::vector<uint64_t>> from = buffers(inputs), to = buffers(outputs);
      std::vector<const void*> from_data;
      std::vector<void*> to_data;
      for (const auto& buffer : from) {
        from_data.push_back(buffer.data());
      }
      for (auto& buffer : to) {
        to_data.push_back(buffer.data());
      }
      status = (*executable)->run({from_data.data(), from_data.size()}, {to_data.data(), to_data.size()});
    }
    ++(status.ok() ? outcome->ran : outcome->failed);
  }
}

class FuzzTest : public ::testing::TestWithParam<SampleGraph> {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    bytes_ = GetParam().def.build();
    weights_.add("w", some_numbers(12));
    weights_.add("table", some_numbers(6));
  }

  std::vector<uint8_t> bytes_;
  DataMap weights_;
  Outcome outcome_;
};

TEST_P(FuzzTest, EveryTruncation) {
  for (size_t size = 0; size < bytes_.size(); ++size) {
    try_blob({bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(size)}, weights_, &outcome_);
  }
  EXPECT_GT(outcome_.refused, bytes_.size() / 2);
}

TEST_P(FuzzTest, FlippedBits) {
  std::mt19937 random(17);
  for (int i = 0; i < kRounds; ++i) {
    SCOPED_TRACE(i);
    std::vector<uint8_t> damaged = bytes_;
    for (size_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    }
    try_blob(damaged, weights_, &outcome_);
  }
  EXPECT_GT(outcome_.refused, 0u);
  EXPECT_GT(outcome_.ran, 0u);
}

TEST_P(FuzzTest, OtherWords) {
  constexpr uint32_t kWords[] = {0, 1, 2, 3, 7, 8, 255, 65535, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  std::mt19937 random(18);
  for (int i = 0; i < kRounds; ++i) {
    SCOPED_TRACE(i);
    std::vector<uint8_t> damaged = bytes_;
    const uint32_t word = kWords[random() % std::size(kWords)];
    const size_t size = size_t{1} << random() % 3;
    const size_t at = random() % (damaged.size() / size) * size;
    std::memcpy(damaged.data() + at, &word, size);
    try_blob(damaged, weights_, &outcome_);
  }
  EXPECT_GT(outcome_.refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Samples, FuzzTest, ::testing::ValuesIn(sample_graphs()), [](const auto& sample) {
  return sample.param.name;
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
