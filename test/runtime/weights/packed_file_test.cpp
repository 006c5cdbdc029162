// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The file of packed weights: what is in it, and everything that can happen to it. A model loads
// right in any case.

#include <runtime/weights/packed_file.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <runtime/weights/checksum.h>
#include <runtime/execute/executable.h>

#include "data_map.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSize = 24;

// x * w, then a convolution by ours and one by XNNPACK's way for each channel.
GraphDef network(const std::string& weight) {
  GraphDef g;
  const uint32_t x = g.input({36, kSize});
  const uint32_t y = g.node(linear(), {x, g.named({kSize, kSize}, weight)}, {36, kSize});
  const uint32_t image = g.node(reshape({1, 6, 6, kSize}), {y}, {1, 6, 6, kSize});
  const uint32_t groups = static_cast<uint32_t>(kSize);
  const auto depthwise = [&](uint32_t in, int64_t size, uint32_t padding) {
    const schema::Padding2D all(padding, padding, padding, padding);
    const uint32_t kernel = g.named({kSize, size, size, 1}, "kernel " + std::to_string(size));
    return g.node(conv2d({1, 1}, all, {1, 1}, groups), {in, kernel}, {1, 6, 6, kSize});
  };
  g.output(depthwise(depthwise(image, 7, 3), 3, 1));
  return g;
}

constexpr size_t kCount = 3; // packed weights of the network

constexpr int64_t kRows = 1000; // of a table that is large enough to wait for the first call

// x * w, and a table that a kernel of ours reads.
GraphDef network_with_table() {
  GraphDef g;
  const uint32_t x = g.input({36, kSize});
  g.output(g.node(linear(), {x, g.named({kSize, kSize}, "a")}, {36, kSize}));
  g.output(g.node(transpose({1, 0}), {g.named({kRows, kSize}, "table")}, {kSize, kRows}));
  return g;
}

class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    std::string name = ::testing::TempDir() + "packed-XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/weights";
    data_.add("a", some_numbers(kSize * kSize));
    data_.add("b", some_numbers(kSize * kSize, 2));
    data_.add("kernel 7", some_numbers(kSize * 49, 3));
    data_.add("kernel 3", some_numbers(kSize * 9, 4));
    expected_["a"] = compute("a", "");
    expected_["b"] = compute("b", "");
    EXPECT_NE(expected_["a"], expected_["b"]);
  }
  ~PackedFileTest() override {
    chmod(folder_.c_str(), 0700);
    for (const std::string& name : files()) {
      unlink((folder_ + "/" + name).c_str());
      rmdir((folder_ + "/" + name).c_str());
    }
    rmdir(folder_.c_str());
  }

  std::unique_ptr<Executable> load(
      const std::string& weight, const std::string& path, PackedWeights* shared = nullptr) {
    data_.forget();
    std::optional<PackedFile> file;
    if (!path.empty()) {
      file.emplace(path);
    }
    std::unique_ptr<Executable> executable = create(weight, file ? &*file : nullptr, shared);
    problem_ = file ? file->problem() : "";
    return executable;
  }

  std::unique_ptr<Executable> create(const std::string& weight, PackedFile* file, PackedWeights* shared) const {
    StatusOr<std::unique_ptr<Executable>> executable = create(network(weight), file, shared);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    return std::move(*executable);
  }
  StatusOr<std::unique_ptr<Executable>> create(const GraphDef& graph, PackedFile* file, PackedWeights* shared) const {
    const std::vector<uint8_t> bytes = graph.build();
    StatusOr<Blob> blob = open_blob(span(bytes));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.packed_weights = shared;
    settings.packed_file = file;
    return Executable::create(std::move(*blob), &data_, settings);
  }
  StatusOr<std::unique_ptr<Executable>> load_with_table(PackedWeights* shared = nullptr) {
    data_.forget();
    PackedFile file(path_);
    return create(network_with_table(), &file, shared);
  }

  // What the table is turned into.
  static Status run_with_table(Executable& executable, std::vector<float>* turned) {
    const std::vector<float> x = some_numbers(36 * kSize, 9);
    std::vector<float> y(36 * kSize);
    turned->assign(kRows * kSize, 0);
    const ArgumentSize size{Shape{36, kSize}, 0};
    ETX_RETURN_IF_ERROR(executable.reshape({&size, 1}, nullptr));
    const void* in = x.data();
    void* outs[] = {y.data(), turned->data()};
    return executable.run({&in, 1}, {outs, 2});
  }
  // A table that is not copied.
  std::vector<float> add_table() {
    data_.misalign(sizeof(float)); // so that it does not end with a page
    const std::vector<float> table = some_numbers(kRows * kSize, 5);
    data_.add("table", table);
    std::vector<float> turned(table.size());
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < kSize; ++j) {
        turned[j * kRows + i] = table[i * kSize + j];
      }
    }
    return turned;
  }

  static std::vector<float> run(Executable& executable) {
    std::vector<float> x = some_numbers(36 * kSize, 9), y(36 * kSize);
    x.resize(x.size() + 64);
    y.resize(y.size() + 64);
    const ArgumentSize size{Shape{36, kSize}, 0};
    EXPECT_TRUE(executable.reshape({&size, 1}, nullptr).ok());
    const void* in = x.data();
    void* out = y.data();
    EXPECT_TRUE(executable.run({&in, 1}, {&out, 1}).ok());
    y.resize(36 * kSize);
    return y;
  }

  // Loads a model and runs it, as the backend does.
  std::vector<float> compute(const std::string& weight, const std::string& path, PackedWeights* shared = nullptr) {
    std::unique_ptr<Executable> executable = load(weight, path, shared);
    if (is_damaged(*executable)) {
      PackedFile file = PackedFile::damaged(path);
      executable = create(weight, &file, shared);
      problem_ = file.problem();
    }
    return run(*executable);
  }
  static bool is_damaged(Executable& executable) {
    const ArgumentSize size{Shape{36, kSize}, 0};
    return executable.reshape({&size, 1}, nullptr).code() == Error::InvalidExternalData;
  }

  // Loads a model that way and checks what it computes.
  void expect_right(const std::string& weight = "a") {
    EXPECT_EQ(compute(weight, path_), expected_[weight]);
  }
  // The same, without reading any weight.
  void expect_cached(const std::string& weight = "a") {
    expect_right(weight);
    EXPECT_THAT(data_.asked(), IsEmpty());
    EXPECT_EQ(problem_, "");
  }
  void expect_packed_again(const std::string& why) {
    expect_right();
    EXPECT_THAT(data_.asked(), ::testing::Contains("a"));
    EXPECT_THAT(problem_, HasSubstr(why));
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    DIR* const folder = opendir(folder_.c_str());
    while (const dirent* entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") {
        names.push_back(name);
      }
    }
    closedir(folder);
    return names;
  }
  std::string content() const {
    std::ifstream stream(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  std::vector<std::string> keys() const {
    const std::string bytes = content();
    uint64_t at = 0, count = 0;
    uint32_t length = 0;
    const auto read = [&](auto* number) {
      std::memcpy(number, bytes.data() + at, sizeof(*number));
      at += sizeof(*number);
    };
    std::memcpy(&at, bytes.data() + 32, sizeof(at)); // the index
    read(&length);
    at += length;
    read(&count);
    std::vector<std::string> result;
    for (uint64_t i = 0; i < count; ++i) {
      at += 28;
      read(&length);
      result.push_back(bytes.substr(at, length));
      at += length;
    }
    return result;
  }
  // All packed weights, but not the index.
  void damage_all() const {
    std::string damaged = content();
    uint64_t index;
    std::memcpy(&index, damaged.data() + 32, sizeof(index));
    for (size_t i = 64; i < index; i += 64) {
      damaged[i] = static_cast<char>(damaged[i] ^ 16);
    }
    put(damaged);
  }
  void put(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
  }

  // Runs the function in a process of its own; what it returns.
  template <typename Function>
  static int in_process(const Function& function) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(function());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  std::string folder_, path_;
  DataMap data_;
  std::map<std::string, std::vector<float>> expected_;
  std::string problem_; // of the last load
};

TEST_F(PackedFileTest, IsWrittenOnceAndSavesPacking) {
  expect_right();
  const std::string first = content();
  EXPECT_THAT(files(), ElementsAre("weights"));
  EXPECT_GT(first.size(), kSize * kSize * sizeof(float));
  expect_cached();
  EXPECT_EQ(content(), first);
}

TEST_F(PackedFileTest, HoldsSeveralModelsAndConverges) {
  expect_right("a");
  const size_t one = content().size();
  expect_right("b");
  const std::string both = content();
  EXPECT_GT(both.size(), one);
  EXPECT_LT(both.size(), 2 * one) << "the kernels are the same";
  for (int i = 0; i < 3; ++i) {
    expect_cached("a");
    expect_cached("b");
  }
  EXPECT_EQ(content(), both);
}

TEST_F(PackedFileTest, WorksTogetherWithSharingInTheProcess) {
  PackedWeights shared;
  const auto first = load("a", "", &shared);
  const auto second = load("a", path_, &shared); // packs nothing, but writes
  expect_cached("a");
  const auto third = load("a", path_, &shared);
  EXPECT_EQ(shared.count(), kCount);
  EXPECT_EQ(run(*second), expected_["a"]);
  EXPECT_EQ(run(*third), expected_["a"]);
}

TEST_F(PackedFileTest, IsReadWhileItIsReplacedOrDeleted) {
  expect_right("a");
  const auto mapped = load("a", path_);
  expect_right("b");
  EXPECT_EQ(run(*mapped), expected_["a"]);
  unlink(path_.c_str());
  EXPECT_EQ(run(*mapped), expected_["a"]);
  expect_packed_again("");
  expect_cached("a");
}

TEST_F(PackedFileTest, IsWrittenAnewIfItWasCutOff) {
  expect_right();
  const std::string whole = content();
  for (size_t size = 8; size < whole.size(); size += 1 + size / 9) {
    SCOPED_TRACE(size);
    put(whole.substr(0, size));
    expect_packed_again("damaged");
    EXPECT_EQ(content(), whole);
  }
  put(whole + "x");
  expect_packed_again("damaged");
  EXPECT_EQ(content(), whole);
}

TEST_F(PackedFileTest, FlippedBitsAreFound) {
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

TEST_F(PackedFileTest, AFileOfAnotherKindStaysAsItIs) {
  for (const std::string& text : {std::string(), std::string("#!"), std::string(5000, 'x'), std::string(5000, '\0')}) {
    put(text);
    expect_packed_again("another kind of file");
    EXPECT_EQ(content(), text);
    EXPECT_THAT(files(), ElementsAre("weights"));
  }
}

TEST_F(PackedFileTest, NeitherDoesItWriteOverAnythingElse) {
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

TEST_F(PackedFileTest, AFileForAnotherCpuOrBuildIsReplaced) {
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
TEST_F(PackedFileTest, AnEntryOfAnotherSizeIsPackedAgain) {
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

TEST_F(PackedFileTest, AnotherVersionIsReplaced) {
  expect_right();
  std::string other = content();
  other[8] = static_cast<char>(other[8] + 1);
  put(other);
  expect_packed_again("another version");
  expect_cached();
}

// Whatever an index says, nothing outside of the file is read.
TEST_F(PackedFileTest, AForgedIndexIsRefused) {
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

TEST_F(PackedFileTest, AReadOnlyFolderIsNoProblem) {
  chmod(folder_.c_str(), 0555);
  const int result = in_process([&] {
    if (geteuid() == 0 && seteuid(65534) != 0) { // root may write anywhere
      return 2;
    }
    const bool is_right = compute("a", path_) == expected_["a"];
    return is_right && problem_.find("Permission denied") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(PackedFileTest, AReadOnlyFolderWithAFileSavesPacking) {
  expect_right("a");
  chmod(folder_.c_str(), 0555);
  chmod(path_.c_str(), 0444);
  const int result = in_process([&] {
    if (geteuid() == 0 && seteuid(65534) != 0) {
      return 2;
    }
    const bool is_right = compute("a", path_) == expected_["a"] && data_.asked().empty();
    const bool other_is_right = compute("b", path_) == expected_["b"];
    return is_right && other_is_right ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
  expect_cached("a");
}

TEST_F(PackedFileTest, AFullDiskIsNoProblem) {
  for (const size_t limit : {0, 10, 100, 3000, 6000}) {
    SCOPED_TRACE(limit);
    const int result = in_process([&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limits{limit, limit};
      setrlimit(RLIMIT_FSIZE, &limits);
      const bool is_right = compute("a", path_) == expected_["a"];
      return is_right && problem_.find("cannot write it: File too large") != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(result, 0);
    EXPECT_THAT(files(), IsEmpty());
  }
}

// Killed at any moment: the file is whole or not there, and what was begun is cleaned up.
TEST_F(PackedFileTest, AKilledProcessLeavesNoDamage) {
  std::mt19937 random(17);
  int killed = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    if (round % 3 == 0) {
      unlink(path_.c_str());
    }
    const pid_t child = fork();
    if (child == 0) {
      while (true) {
        load("a", path_);
        load("b", path_);
        unlink(path_.c_str());
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 6000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    expect_right("a");
    EXPECT_EQ(problem_, "");
    expect_right("b");
    EXPECT_EQ(problem_, "");
  }
  EXPECT_EQ(killed, 60);
  unlink(path_.c_str());
  expect_right("a");
  EXPECT_THAT(files(), ElementsAre("weights"));
}

TEST_F(PackedFileTest, ProcessesMayWriteAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < 30; ++round) {
        const std::string weight = (i + round) % 2 == 0 ? "a" : "b";
        if (compute(weight, path_) != expected_[weight] || problem_.find("damaged") != std::string::npos) {
          _exit(1);
        }
        if (round % 7 == i) {
          unlink(path_.c_str());
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  expect_right("a");
  expect_right("b");
  expect_cached("a");
  expect_cached("b");
  EXPECT_THAT(files(), ElementsAre("weights"));
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

TEST_F(PackedFileTest, MethodsThatShareMayBeCalledAtOnce) {
  expect_right();
  for (const bool damaged : {false, true}) {
    if (damaged) {
      damage_all();
    }
    PackedWeights shared;
    std::vector<std::unique_ptr<Executable>> methods(4);
    for (std::unique_ptr<Executable>& method : methods) {
      method = load("a", path_, &shared);
    }
    std::vector<std::thread> threads;
    for (std::unique_ptr<Executable>& method : methods) {
      threads.emplace_back([&] {
        EXPECT_EQ(is_damaged(*method), damaged);
        if (damaged) {
          PackedFile file = PackedFile::damaged(path_);
          method = create("a", &file, &shared);
        }
        EXPECT_EQ(run(*method), expected_.at("a"));
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(shared.count(), kCount);
    expect_cached("a");
  }
}

TEST_F(PackedFileTest, LargeConstantsAreReadByTheFirstCall) {
  const std::vector<float> expected = add_table();
  std::vector<float> turned;
  for (const bool packed : {false, true}) {
    auto executable = load_with_table();
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ(data_.asked(), packed ? std::vector<std::string>() : std::vector<std::string>{"a"});
    data_.forget();
    for (int call = 0; call < 2; ++call) {
      ASSERT_TRUE(run_with_table(**executable, &turned).ok());
      EXPECT_EQ(turned, expected);
      EXPECT_THAT(data_.asked(), ElementsAre("table"));
    }
    EXPECT_EQ(data_.in_use(), 1);
  }
  EXPECT_EQ(data_.in_use(), 0);
}

TEST_F(PackedFileTest, LargeConstantsAreThereOnce) {
  const std::vector<float> expected = add_table();
  PackedWeights shared;
  std::vector<std::unique_ptr<Executable>> methods(4);
  for (std::unique_ptr<Executable>& method : methods) {
    method = std::move(*load_with_table(&shared));
  }
  data_.forget();
  std::vector<std::thread> threads;
  for (std::unique_ptr<Executable>& method : methods) {
    threads.emplace_back([&] {
      std::vector<float> turned;
      EXPECT_TRUE(run_with_table(*method, &turned).ok());
      EXPECT_EQ(turned, expected);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(data_.asked(), ElementsAre("table"));
}

TEST_F(PackedFileTest, LoadingMissesALargeConstantThatIsNowhere) {
  for (int i = 0; i < 2; ++i) {
    auto executable = load_with_table();
    EXPECT_EQ(executable.status().code(), Error::InvalidProgram);
    EXPECT_THAT(executable.status().message(), HasSubstr("table"));
  }
}

TEST_F(PackedFileTest, TheFirstCallFailsIfALargeConstantIsTooSmall) {
  data_.add("table", some_numbers(5));
  auto executable = load_with_table();
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::vector<float> turned;
  for (int i = 0; i < 2; ++i) {
    const Status status = run_with_table(**executable, &turned);
    EXPECT_EQ(status.code(), Error::InvalidProgram);
    EXPECT_THAT(status.message(), HasSubstr("weight table has 20 bytes, 96000 are needed"));
  }
  const std::vector<float> expected = add_table();
  EXPECT_TRUE(run_with_table(**executable, &turned).ok());
  EXPECT_EQ(turned, expected);
}

TEST_F(PackedFileTest, ThreadsMayWriteAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        PackedFile file(path_, "identity");
        const std::string key = "key " + std::to_string((i + round) % 5);
        auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(640)));
        std::fill_n(memory->data(), 640, key.back());
        std::optional<PackedBytes> found = file.find(key);
        if (found) {
          EXPECT_EQ(std::memcmp(found->data, memory->data(), 640), 0);
        } else {
          file.finish({{key, std::make_shared<const PackedBytes>(PackedBytes{memory->data(), 640, false, memory})}});
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
