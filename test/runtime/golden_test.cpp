// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Blobs as they were written once (tools/golden.py) load and compute what they did then.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <runtime/execute/executable.h>

#include "data_map.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr char kHowTo[] =
    "This build cannot read, or reads otherwise, a blob in test/golden. Programs of users are like it. "
    "serialization/format.md has the rules for change; what breaks them must be undone, or gets a new "
    "identifier. Only before the first release may tools/golden.py write the blobs anew.";

struct GoldenTensor {
  TensorType type;
  std::vector<uint8_t> bytes;
};

struct GoldenCall {
  std::vector<ArgumentSize> sizes;
  std::vector<GoldenTensor> inputs; // without bytes for an integer
  std::vector<GoldenTensor> outputs;
};

struct Golden {
  std::vector<uint8_t> blob;
  double relative = 0, absolute = 0;
  DataMap weights;
  std::vector<GoldenCall> calls;
};

template <typename T>
void append(T value, std::vector<uint8_t>* bytes) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), begin, begin + sizeof(T));
}

// <rank> <sizes> <numbers>
GoldenTensor read_tensor(const std::string& dtype, std::istream& words) {
  GoldenTensor tensor;
  size_t rank = 0;
  words >> rank;
  for (size_t axis = 0; axis < rank; ++axis) {
    size_t size = 0;
    words >> size;
    tensor.type.shape.append(size);
  }
  for (const schema::DType value : schema::EnumValuesDType()) {
    const DType candidate = to_dtype(value);
    if (dtype == name_of(candidate)) {
      tensor.type.dtype = candidate;
    }
  }
  EXPECT_EQ(dtype, name_of(tensor.type.dtype));
  for (size_t i = 0; i < tensor.type.shape.numel(); ++i) {
    std::string word; // may be nan or inf, which a stream does not read as a number
    words >> word;
    if (tensor.type.dtype == DType::Float32) {
      append(std::strtof(word.c_str(), nullptr), &tensor.bytes);
    } else if (tensor.type.dtype == DType::Int32) {
      append(static_cast<int32_t>(std::strtol(word.c_str(), nullptr, 10)), &tensor.bytes);
    } else if (tensor.type.dtype == DType::Int64) {
      append(static_cast<int64_t>(std::strtoll(word.c_str(), nullptr, 10)), &tensor.bytes);
    } else {
      append(static_cast<uint8_t>(std::strtol(word.c_str(), nullptr, 10)), &tensor.bytes);
    }
  }
  EXPECT_FALSE(words.fail());
  return tensor;
}

void read(const std::filesystem::path& path, Golden* golden) {
  std::ifstream file(path, std::ios::binary);
  golden->blob.assign(std::istreambuf_iterator<char>(file), {});
  std::ifstream text(std::filesystem::path(path).replace_extension(".txt"));
  std::string line;
  while (std::getline(text, line)) {
    std::istringstream words(line);
    std::string what, word;
    words >> what;
    if (what == "tolerance") {
      words >> golden->relative >> golden->absolute;
    } else if (what == "weight") {
      std::string dtype;
      words >> word >> dtype;
      golden->weights.add(word, read_tensor(dtype, words).bytes);
    } else if (what == "call") {
      golden->calls.emplace_back();
    } else if (what == "in") {
      words >> word;
      ArgumentSize size;
      GoldenTensor tensor;
      if (word == "integer") {
        words >> size.integer;
      } else {
        tensor = read_tensor(word, words);
        size.shape = tensor.type.shape;
      }
      golden->calls.back().sizes.push_back(size);
      golden->calls.back().inputs.push_back(std::move(tensor));
    } else {
      ASSERT_EQ(what, "out") << path;
      words >> word;
      golden->calls.back().outputs.push_back(read_tensor(word, words));
    }
  }
  ASSERT_FALSE(golden->blob.empty());
  ASSERT_FALSE(golden->calls.empty());
}

void compare(const Golden& golden, const GoldenTensor& expected, const std::vector<uint8_t>& actual) {
  if (expected.type.dtype == DType::Int8) { // rounded from numbers that may differ
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_LE(std::abs(int8_t(actual[i]) - int8_t(expected.bytes[i])), golden.absolute) << "element " << i;
    }
    return;
  }
  if (expected.type.dtype != DType::Float32) {
    EXPECT_EQ(actual, expected.bytes);
    return;
  }
  for (size_t i = 0; i < expected.bytes.size(); i += sizeof(float)) {
    float a, e;
    std::memcpy(&a, &actual[i], sizeof(a));
    std::memcpy(&e, &expected.bytes[i], sizeof(e));
    if (a == e || (std::isnan(a) && std::isnan(e))) {
      continue;
    }
    ASSERT_LE(std::fabs(a - e), golden.absolute + golden.relative * std::fabs(e)) << "element " << i / sizeof(float);
  }
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ET_XNNPACK_GOLDEN)) {
    if (entry.path().extension() == ".etx") {
      result.push_back(entry.path());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

class GoldenTest : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenTest, ComputesWhatItDid) {
  SCOPED_TRACE(kHowTo);
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  Golden golden;
  read(GetParam(), &golden);
  StatusOr<Blob> blob = open_blob(span(golden.blob));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), &golden.weights);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (const GoldenCall& call : golden.calls) {
    Status status = (*executable)->reshape({call.sizes.data(), call.sizes.size()}, nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::vector<uint8_t>> memory, results;
    for (const GoldenTensor& tensor : call.inputs) {
      memory.push_back(tensor.bytes);
      memory.back().resize(tensor.bytes.size() + XNN_EXTRA_BYTES);
    }
    ASSERT_EQ(call.outputs.size(), (*executable)->blob().num_outputs());
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (!(*executable)->finds_output_type(i)) {
        ASSERT_EQ((*executable)->output_type(i), call.outputs[i].type);
      }
      results.emplace_back(call.outputs[i].bytes.size() + XNN_EXTRA_BYTES);
    }
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const auto& input : memory) {
      inputs.push_back(input.data());
    }
    for (auto& result : results) {
      outputs.push_back(result.data());
    }
    status = (*executable)->run({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()});
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ((*executable)->output_type(i), call.outputs[i].type);
      results[i].resize(call.outputs[i].bytes.size());
      compare(golden, call.outputs[i], results[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, ::testing::ValuesIn(files()), [](const auto& path) {
  return path.param.stem().string();
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
