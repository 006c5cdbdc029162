// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What tests of the rules of open_blob share.

#include <initializer_list>

#include "../sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {

// Ids of small_graph(), which most tests start from.
constexpr uint32_t kX = 0, kW = 1, kB = 2, kNegative = 3, kY = 4, kNorm = 5, kOut = 6;

// Whether the bytes are refused with this code and a message with all these parts.
inline ::testing::AssertionResult refuses(
    Span<const uint8_t> bytes, Error code, std::initializer_list<const char*> parts) {
  const StatusOr<Blob> blob = open_blob(bytes);
  if (blob.ok()) {
    return ::testing::AssertionFailure() << "it was opened";
  }
  const Status& status = blob.status();
  if (status.code() != code) {
    return ::testing::AssertionFailure() << "code " << static_cast<int>(status.code()) << ": " << status.message();
  }
  for (const char* part : parts) {
    if (status.message().find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "'" << part << "' is not in: " << status.message();
    }
  }
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult refuses(const GraphDef& def, std::initializer_list<const char*> parts) {
  return refuses(span(def.build()), Error::InvalidProgram, parts);
}

inline ::testing::AssertionResult opens(Span<const uint8_t> bytes) {
  const StatusOr<Blob> blob = open_blob(bytes);
  return blob.ok() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << blob.status().message();
}

inline ::testing::AssertionResult opens(const GraphDef& def) {
  return opens(span(def.build()));
}

// x [dims] -> one node -> output
inline GraphDef one_node(
    AttributesDef attributes_def, const std::vector<std::vector<int64_t>>& inputs, const std::vector<int64_t>& output) {
  GraphDef g;
  std::vector<uint32_t> operands;
  for (const auto& dims : inputs) {
    operands.push_back(g.input(dims));
  }
  g.output(g.node(std::move(attributes_def), operands, output));
  g.nodes[0].debug_handle = 77;
  return g;
}

} // namespace executorch::backends::et_xnnpack::testing
