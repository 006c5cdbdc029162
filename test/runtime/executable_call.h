// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// One call of an Executable.

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/execute/executable.h>

#include "graph_call.h"
#include "guarded_buffer.h"

namespace executorch::backends::et_xnnpack::testing {

// Loads a program. `data` is null if it names none.
inline std::unique_ptr<Executable> load_executable(
    const std::vector<uint8_t>& bytes, Executable::Settings settings = {}, const NamedDataMap* data = nullptr) {
  StatusOr<Blob> blob = open_blob({bytes.data(), bytes.size()});
  EXPECT_TRUE(blob.ok()) << blob.status().message();
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), data, std::move(settings));
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  return std::move(*executable);
}

struct Results {
  Status status;
  std::vector<std::vector<uint8_t>> outputs;
};

// Runs on memory that ends, or begins, at an unmapped page.
inline Results run(Executable& executable, const GraphCall& call, pthreadpool_t pool = nullptr, bool at_end = true) {
  Results results;
  results.status = executable.reshape({call.sizes.data(), call.sizes.size()}, pool);
  if (!results.status.ok()) {
    return results;
  }
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  const auto prepare = [&](size_t i, const TensorType& type) -> StatusOr<void*> {
    buffers.push_back(std::make_unique<GuardedBuffer>(type.bytes(), at_end));
    return outputs[i] = buffers.back()->data();
  };
  for (const std::vector<uint8_t>& content : call.inputs) {
    buffers.push_back(std::make_unique<GuardedBuffer>(content.size(), at_end));
    std::copy(content.begin(), content.end(), buffers.back()->data());
    inputs.push_back(buffers.back()->data());
  }
  for (size_t i = 0; i < executable.blob().num_outputs(); ++i) {
    outputs.push_back(nullptr);
    if (!executable.finds_output_type(i)) {
      (void)prepare(i, executable.output_type(i));
    }
  }
  const std::vector<void*> known = outputs;
  results.status = executable.run({inputs.data(), inputs.size()}, {known.data(), known.size()}, prepare);
  if (!results.status.ok()) {
    return results;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* data = static_cast<const uint8_t*>(outputs[i]);
    results.outputs.emplace_back(data, data + executable.output_type(i).bytes());
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(buffers[i]->intact()) << "argument " << i;
    if (i < inputs.size()) {
      EXPECT_TRUE(std::equal(call.inputs[i].begin(), call.inputs[i].end(), buffers[i]->data())) << "input " << i;
    }
  }
  return results;
}

} // namespace executorch::backends::et_xnnpack::testing
