// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "graph_call.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;

std::vector<uint8_t> some_content(const TensorType& type, uint32_t seed) {
  std::vector<uint8_t> bytes(type.bytes());
  if (type.dtype == DType::Float32) {
    const std::vector<float> numbers = some_numbers(type.shape.numel(), seed);
    std::copy_n(reinterpret_cast<const uint8_t*>(numbers.data()), bytes.size(), bytes.data());
  } else {
    for (size_t i = 0; i < bytes.size(); i += element_size(type.dtype)) {
      bytes[i] = (i / element_size(type.dtype) + seed) % 3 % 2;
    }
  }
  return bytes;
}

} // namespace

GraphCall make_call(const Blob& blob, std::mt19937* random) {
  GraphCall call;
  const schema::Graph& graph = blob.graph();
  StatusOr<Sizes> sizes = planned_sizes(graph);
  EXPECT_TRUE(sizes.ok());
  const auto resolve = [&] {
    for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
      const uint32_t id = graph.inputs()->Get(i)->value();
      if (id != kNone) {
        StatusOr<Shape> shape = sizes->resolve(blob.value(id).dims());
        EXPECT_TRUE(shape.ok()) << shape.status().message();
        call.sizes[i].shape = *shape;
      }
    }
  };
  call.sizes.resize(blob.num_inputs());
  resolve();
  for (uint32_t i = 0; graph.ranges() != nullptr && i < graph.ranges()->size(); ++i) {
    const schema::DimRange& range = *graph.ranges()->Get(i);
    const schema::DimExpr& expr = *graph.exprs()->Get(range.expr());
    if (expr.op() == DimOp::FoundSize) {
      continue;
    }
    int64_t value = range.planned();
    if (random != nullptr) {
      value = range.min() + static_cast<int64_t>((*random)() % static_cast<uint64_t>(range.max() - range.min() + 1));
    }
    ArgumentSize& size = call.sizes[static_cast<size_t>(expr.a())];
    if (expr.op() == DimOp::InputDim) {
      size.shape[static_cast<size_t>(expr.b())] = static_cast<size_t>(value);
    } else {
      size.integer = value;
    }
  }
  sizes = evaluate_sizes(graph, {call.sizes.data(), call.sizes.size()});
  EXPECT_TRUE(sizes.ok()) << sizes.status().message();
  resolve();
  for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
    const uint32_t id = graph.inputs()->Get(i)->value();
    const uint32_t seed = random == nullptr ? i : static_cast<uint32_t>((*random)());
    call.inputs.push_back(
        id == kNone ? std::vector<uint8_t>{}
                    : some_content({to_dtype(blob.value(id).dtype()), call.sizes[i].shape}, seed));
  }
  return call;
}

} // namespace executorch::backends::et_xnnpack::testing
