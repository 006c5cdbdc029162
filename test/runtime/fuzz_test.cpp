// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Blobs that are damaged in ways a file can be, and inputs like those that the fuzzer makes (test/fuzz). Each is refused with
// an Error or runs; a sanitizer would see anything else. The same damage every time.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <mutator.h>
#include <target.h>
#include <try_blob.h>

#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr int kRounds = 4000;

struct Outcome {
  size_t refused = 0, ran = 0;

  void add(const Attempt& attempt) {
    const Trial trial = try_blob(attempt);
    EXPECT_EQ(trial.broken, "");
    refused += trial.end == Trial::End::Refused;
    ran += trial.ran;
  }
};

class FuzzTest : public ::testing::TestWithParam<SampleGraph> {
 protected:
  const std::vector<uint8_t> bytes_ = GetParam().def.build();
  Outcome outcome_;
};

TEST_P(FuzzTest, EveryTruncation) {
  for (size_t size = 0; size < bytes_.size(); ++size) {
    outcome_.add({{bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(size)}, {}});
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
    outcome_.add({damaged, {}});
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
    outcome_.add({damaged, {}});
  }
  EXPECT_GT(outcome_.refused, 0u);
}

TEST_P(FuzzTest, OtherContent) { // Robustness: I6
  constexpr int kChanges = kRounds / 8;
  std::mt19937 random(19);
  std::vector<uint8_t> latest = bytes_;
  size_t changed = 0;
  for (int i = 0; i < kChanges; ++i) {
    SCOPED_TRACE(i);
    std::vector<uint8_t> mutated = mutate_blob(i % 4 == 0 ? bytes_ : latest, random);
    changed += mutated != bytes_;
    outcome_.add({mutated, {static_cast<uint8_t>(random()), static_cast<uint8_t>(random()), 0, 2, 3}});
    latest = std::move(mutated);
  }
  EXPECT_GT(changed, size_t{kChanges / 2});
  EXPECT_GT(outcome_.refused, 0u);
  EXPECT_GT(outcome_.ran, 0u);
}

INSTANTIATE_TEST_SUITE_P(Samples, FuzzTest, ::testing::ValuesIn(sample_graphs()), [](const auto& sample) {
  return sample.param.name;
});

// Such a tensor has no bytes, so that nothing else keeps it from being made.
TEST(TryBlobTest, LeavesOutWhatExecuTorchCannotHold) {
  constexpr uint8_t kAsExecuTorch = 1;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{0, int64_t{1} << 31}, {1 << 16, 0, 1 << 16}}) {
    GraphDef g;
    g.output(g.node(unary(schema::UnaryKind::Neg), {g.input(shape)}, shape));
    const Trial trial = try_blob({g.build(), {0, kAsExecuTorch}});
    EXPECT_EQ(trial.end, Trial::End::Loaded);
    EXPECT_EQ(trial.broken, "");
  }
}

class TargetTest : public ::testing::TestWithParam<Target> {};

TEST_P(TargetTest, RandomBytes) {
  constexpr int kInputs = 400;
  constexpr size_t kMost = 80;
  std::mt19937 random(20);
  for (int i = 0; i < kInputs; ++i) {
    std::vector<uint8_t> bytes(random() % kMost);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
    ASSERT_EQ(GetParam().attempt(bytes.data(), bytes.size()), "") << ::testing::PrintToString(bytes);
  }
}

std::string name_of(const ::testing::TestParamInfo<Target>& target) {
  return target.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, TargetTest, ::testing::ValuesIn(targets()), name_of);

// What once failed: test/reproducers/README.md.
class ReproducerTest : public ::testing::TestWithParam<Target> {};

std::vector<std::filesystem::path> reproducers_of(const std::string& target) {
  const std::string extension = target == "blob" ? ".etx" : "." + target;
  std::vector<std::filesystem::path> result;
  for (const auto& entry : std::filesystem::directory_iterator(ET_XNNPACK_REPRODUCERS)) {
    if (entry.path().extension() == extension) {
      result.push_back(entry.path());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

TEST_P(ReproducerTest, IsRefusedOrRuns) {
  for (const std::filesystem::path& path : reproducers_of(GetParam().name)) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_FALSE(bytes.empty());
    EXPECT_EQ(GetParam().attempt(bytes.data(), bytes.size()), "");
  }
}

TEST(Reproducers, AreOfTargets) {
  size_t count = 0;
  for (const Target& target : targets()) {
    count += reproducers_of(target.name).size();
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ET_XNNPACK_REPRODUCERS)) {
    const std::string extension = entry.path().extension().string();
    files += extension != ".md" && extension != ".program"; // those are in Python
  }
  EXPECT_EQ(count, files);
  EXPECT_GT(count, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, ReproducerTest, ::testing::ValuesIn(targets()), name_of);

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
