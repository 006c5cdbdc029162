// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Files of packed weights that are damaged, of another build or of something else. A model loads right in any case.

#include "packed_file_test.h"

#include <numeric>
#include <random>

#include <fcntl.h>

#include <runtime/weights/checksum.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(PackedFileTest, IsWrittenAnewIfItWasCutOff) {
  expect_right();
  const std::string whole = content();
  for (size_t size = 8; size < whole.size(); size += 1 + size / 9) {
    SCOPED_TRACE(size);
    put(whole.substr(0, size));
    expect_packed_again("damaged");
    EXPECT_EQ(content(), whole);
  }
  put("");
  expect_packed_again("empty");
  EXPECT_EQ(content(), whole);
  put(whole + "x");
  expect_packed_again("damaged");
  EXPECT_EQ(content(), whole);
}

TEST_F(PackedFileTest, FlippedBitsAreFound) { // Robustness: W2
  expect_right();
  const std::string whole = content();
  std::mt19937 random(3);
  for (size_t i = 0; i < whole.size(); i += i < 200 || i + 900 > whole.size() ? 1 : 61) {
    SCOPED_TRACE(i);
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << random() % 8));
    put(damaged);
    expect_right();
    if (i < 8) {
      EXPECT_THAT(problem_, HasSubstr("another kind of file"));
      EXPECT_EQ(content(), damaged);
    } else if (content() != whole) { // between two entries
      EXPECT_EQ(problem_, "");
      EXPECT_EQ(content(), damaged);
    }
  }
}

// A damaged place is not carried over when something is added.
TEST_F(PackedFileTest, DamageIsNotSpread) {
  expect_right("a");
  std::string damaged = content();
  damaged[200] = static_cast<char>(damaged[200] ^ 16);
  put(damaged);
  const auto first = load("a", path_); // has not been called yet
  load("b", path_);
  expect_right("b");
  EXPECT_TRUE(is_damaged(*first));
  expect_right("a");
  expect_cached("a");
  expect_cached("b");
}

// Nobody gets what somebody has found to be damaged, and who has it does not compute with it.
TEST_F(PackedFileTest, DamageIsNotShared) {
  expect_right();
  damage_all();
  PackedWeights shared;
  const auto first = load("a", path_, &shared);
  const auto second = load("a", "", &shared);
  EXPECT_EQ(problem_, "") << "nothing is read when a model is loaded";
  EXPECT_EQ(compute("a", path_, &shared), expected_["a"]);
  EXPECT_TRUE(is_damaged(*first));
  EXPECT_TRUE(is_damaged(*second));
  EXPECT_TRUE(is_damaged(*first)) << "and it stays so";
  expect_cached("a");
  EXPECT_EQ(compute("a", "", &shared), expected_["a"]);
}

TEST_F(PackedFileTest, AFileOfAnotherKindStaysAsItIs) { // Robustness: W1
  for (const std::string& text :
       {std::string("#!"), std::string("ETXPACK"), std::string(5000, 'x'), std::string(5000, '\0')}) {
    put(text);
    expect_packed_again("another kind of file");
    EXPECT_EQ(content(), text);
    EXPECT_THAT(files(), ElementsAre("weights"));
  }
}

TEST_F(PackedFileTest, NeitherDoesItWriteOverAnythingElse) { // Robustness: W1
  mkdir(path_.c_str(), 0700);
  expect_packed_again("not a file");
  rmdir(path_.c_str());
  mkfifo(path_.c_str(), 0600);
  expect_packed_again("not a file");
  unlink(path_.c_str());
  path_ = folder_ + "/no/such/folder";
  expect_packed_again("No such file or directory");
  path_ = folder_ + "/" + std::string(300, 'n');
  expect_packed_again("File name too long");
  path_ = "/dev/null";
  expect_packed_again("not a file");
}

TEST_F(PackedFileTest, AFileForAnotherCpuOrBuildIsReplaced) { // Robustness: W3
  {
    PackedFile other(path_, "another CPU");
    auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(64)));
    const auto packed = std::make_shared<const PackedBytes>(PackedBytes{memory->data(), 64, false, memory});
    other.finish({{"key", packed}});
    EXPECT_EQ(other.problem(), "");
  }
  EXPECT_TRUE(PackedFile(path_, "another CPU").find("key").has_value());
  expect_packed_again("another CPU or build (another CPU)");
  expect_cached();
  EXPECT_FALSE(PackedFile(path_, "another CPU").find("key").has_value());
}

// By a kernel of ours and by XNNPACK, with and without a look whether packing is needed.
TEST_F(PackedFileTest, AnEntryOfAnotherSizeIsPackedAgain) { // Robustness: W2
  expect_right();
  const std::vector<std::string> all = keys();
  ASSERT_EQ(all.size(), kCount);
  for (const std::string& key : all) {
    const PackedBytes right = *PackedFile(path_).find(key);
    for (const size_t size : {right.size - 64, right.size + 64}) {
      SCOPED_TRACE(size);
      auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(size)));
      std::memset(memory->data(), 0, size);
      const PackedBytes other{memory->data(), size, right.is_packed_first, memory};
      unlink(path_.c_str());
      PackedFile(path_).finish({{key, std::make_shared<const PackedBytes>(other)}});
      ASSERT_EQ(PackedFile(path_).find(key)->size, size);
      expect_right();
      EXPECT_EQ(PackedFile(path_).find(key)->size, right.size);
      expect_cached();
    }
  }
}

// A wrong word on when XNNPACK packs would have it pack weights that nobody has read.
TEST_F(PackedFileTest, AnEntryOfAnotherKindIsPackedAgain) { // Robustness: W2
  expect_right();
  for (const std::string& key : keys()) {
    const PackedBytes right = *PackedFile(path_).find(key);
    auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(right.size)));
    std::memset(memory->data(), 0, right.size);
    const PackedBytes other{memory->data(), right.size, !right.is_packed_first, memory};
    unlink(path_.c_str());
    PackedFile(path_).finish({{key, std::make_shared<const PackedBytes>(other)}});
    ASSERT_EQ(PackedFile(path_).find(key)->is_packed_first, !right.is_packed_first);
    expect_right();
    EXPECT_EQ(PackedFile(path_).find(key)->is_packed_first, right.is_packed_first);
    expect_cached();
  }
}

TEST_F(PackedFileTest, AnotherVersionIsReplaced) {
  expect_right();
  std::string other = content();
  other[8] = static_cast<char>(other[8] + 1);
  put(other);
  expect_packed_again("another version");
  expect_cached();
}

// Whatever an index says, nothing outside of the file is read.
TEST_F(PackedFileTest, AForgedIndexIsRefused) { // Robustness: W2
  expect_right();
  const std::string whole = content();
  const auto number_at = [&](size_t at) {
    uint64_t number;
    std::memcpy(&number, whole.data() + at, sizeof(number));
    return number;
  };
  const size_t index = number_at(32);
  const size_t first = index + 4 + PackedFile::packing_identity().size() + 8;
  for (const size_t at : {first - 8, first, first + 8, first + 24}) {
    for (const uint64_t forged :
         {~uint64_t{0}, ~uint64_t{63}, uint64_t{1} << 63, uint64_t{whole.size()}, uint64_t{index}}) {
      SCOPED_TRACE(at - first);
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &forged, sizeof(forged));
      const uint64_t sum = checksum(bytes.data() + index, bytes.size() - index);
      std::memcpy(bytes.data() + 48, &sum, sizeof(sum));
      const uint64_t header = checksum(bytes.data(), 56);
      std::memcpy(bytes.data() + 56, &header, sizeof(header));
      put(bytes);
      expect_packed_again("damaged");
      EXPECT_EQ(content(), whole);
    }
  }
}

TEST_F(PackedFileTest, DamageInAnyPartOfALargeEntryIsFound) {
  constexpr size_t kBytes = 3 * kChecksumChunk + 100;
  const auto entry = [](char first) {
    auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(kBytes)));
    std::iota(memory->data(), memory->data() + kBytes, first);
    return std::make_shared<const PackedBytes>(PackedBytes{memory->data(), kBytes, false, memory});
  };
  const PackedByKey both{{"a", entry(1)}, {"b", entry(2)}};
  PackedFile(path_, "identity").finish(both);
  const std::string whole = content();
  const size_t begin = 64; // of "a"
  const pthreadpool_t pool = pthreadpool_create(3);
  for (size_t at = 0; at < kBytes; at += kChecksumChunk / 2 + 50) {
    std::string damaged = whole;
    damaged[begin + at] = static_cast<char>(damaged[begin + at] ^ 4);
    put(damaged);
    for (const pthreadpool_t threads : {pthreadpool_t{}, pool}) {
      SCOPED_TRACE(std::to_string(at) + (threads == nullptr ? "" : " threads"));
      const PackedFile file(path_, "identity");
      EXPECT_FALSE(file.find("c").has_value());
      PackedByKey found;
      for (const char* key : {"a", "b"}) {
        found[key] = std::make_shared<const PackedBytes>(*file.find(key));
        EXPECT_TRUE(found[key]->is_unverified());
      }
      EXPECT_THAT(find_damaged(found, threads), ElementsAre("a"));
      EXPECT_THAT(find_damaged(found, threads), ElementsAre("a"));
      EXPECT_TRUE(found["a"]->is_unverified());
      EXPECT_FALSE(found["b"]->is_unverified());
      EXPECT_EQ(std::memcmp(found["b"]->data, both.at("b")->data, kBytes), 0);
    }
    PackedFile(path_, "identity").finish(both); // lacks nothing
    EXPECT_EQ(content(), damaged);
    PackedFile replaced = PackedFile::damaged(path_, "identity");
    EXPECT_FALSE(replaced.find("b").has_value());
    EXPECT_EQ(replaced.problem(), "it is damaged");
    replaced.finish(both);
    EXPECT_EQ(content(), whole);
  }
  pthreadpool_destroy(pool);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
