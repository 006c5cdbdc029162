// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Models whose packed weights go to a file, for tests of all that can happen to it.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <runtime/execute/executable.h>
#include <runtime/weights/packed_file.h>

#include "data_map.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {

constexpr int64_t kSize = 24;

// x * w, then a convolution by ours and one by XNNPACK's way for each channel.
inline GraphDef network(const std::string& weight) {
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
inline GraphDef network_with_table() {
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
    EXPECT_THAT(data_.asked(), ::testing::IsEmpty());
    EXPECT_EQ(problem_, "");
  }
  void expect_packed_again(const std::string& why) {
    expect_right();
    EXPECT_THAT(data_.asked(), ::testing::Contains("a"));
    EXPECT_THAT(problem_, ::testing::HasSubstr(why));
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

} // namespace executorch::backends::et_xnnpack::testing
