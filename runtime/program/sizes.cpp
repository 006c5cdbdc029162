// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "sizes.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "scale.h"

namespace executorch::backends::et_xnnpack {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// As int(a * factor) in Python.
Status scale(int64_t a, double factor, int64_t* result) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const double product = static_cast<double>(a) * factor;
  // NaN is no such number either.
  ETX_CHECK(std::abs(product) < kTwoTo63, InvalidArgument, "a size overflows 64 bits");
  *result = static_cast<int64_t>(product);
  return {};
}

// Computes one entry from earlier ones. InputDim, InputInt and FoundSize are not handled here.
Status compute(const schema::DimExpr& expr, const std::vector<int64_t>& values, int64_t* result) {
  if (expr.op() == schema::DimOp::Const) {
    *result = expr.a();
    return {};
  }
  const int64_t a = values[static_cast<size_t>(expr.a())];
  if (expr.op() == schema::DimOp::Scale) {
    return scale(a, scale_factor(expr), result);
  }
  const int64_t b = values[static_cast<size_t>(expr.b())];
  bool overflow = false;
  switch (expr.op()) {
    case schema::DimOp::Add:
      overflow = __builtin_add_overflow(a, b, result);
      break;
    case schema::DimOp::Mul:
      overflow = __builtin_mul_overflow(a, b, result);
      break;
    case schema::DimOp::FloorDiv:
    case schema::DimOp::Mod: {
      ETX_CHECK(b > 0, InvalidArgument, "a size is divided by %" PRId64 ", which is not positive", b);
      *result = expr.op() == schema::DimOp::FloorDiv ? floor_div(a, b) : (a % b < 0 ? a % b + b : a % b);
      break;
    }
    case schema::DimOp::Min:
      *result = std::min(a, b);
      break;
    case schema::DimOp::Max:
      *result = std::max(a, b);
      break;
    case schema::DimOp::Const:
    case schema::DimOp::InputDim:
    case schema::DimOp::InputInt:
    case schema::DimOp::Scale:
    case schema::DimOp::FoundSize:
      break;
  }
  ETX_CHECK(!overflow, InvalidArgument, "a size overflows 64 bits");
  return {};
}

size_t count(const schema::Graph& graph) {
  return graph.exprs() == nullptr ? 0 : graph.exprs()->size();
}

} // namespace

StatusOr<Shape> Sizes::resolve(const flatbuffers::Vector<const schema::Size*>* sizes) const {
  Shape shape;
  if (sizes == nullptr) {
    return shape;
  }
  ETX_CHECK(
      sizes->size() <= kMaxRank,
      InvalidProgram,
      "a shape has rank %u, but at most %zu is possible",
      sizes->size(),
      kMaxRank);
  for (const schema::Size* size : *sizes) {
    const int64_t value = resolve(size);
    ETX_CHECK(value >= 0, InvalidArgument, "a shape has the negative size of %" PRId64, value);
    shape.append(static_cast<size_t>(value));
  }
  return shape;
}

StatusOr<Sizes> evaluate_sizes(const schema::Graph& graph, Span<const ArgumentSize> arguments) {
  ETX_ASSIGN_OR_RETURN(const Waves waves, Waves::of(graph));
  return evaluate_sizes(graph, arguments, waves, {});
}

StatusOr<Sizes> evaluate_sizes(
    const schema::Graph& graph, Span<const ArgumentSize> arguments, const Waves& waves, Span<const int64_t> found) {
  std::vector<int64_t> values(count(graph));
  for (size_t i = 0; i < values.size(); ++i) {
    const schema::DimExpr& expr = *graph.exprs()->Get(static_cast<uint32_t>(i));
    const uint32_t wave = waves.of_expr(i);
    if (wave > found.size()) {
      continue;
    }
    if (expr.op() == schema::DimOp::FoundSize) {
      values[i] = found[wave - 1];
    } else if (expr.op() == schema::DimOp::InputDim) {
      const Shape& shape = arguments[static_cast<size_t>(expr.a())].shape;
      values[i] = static_cast<int64_t>(shape[static_cast<size_t>(expr.b())]);
    } else if (expr.op() == schema::DimOp::InputInt) {
      values[i] = arguments[static_cast<size_t>(expr.a())].integer;
    } else {
      ETX_RETURN_IF_ERROR(compute(expr, values, &values[i]));
    }
  }
  if (graph.ranges() != nullptr) {
    for (const schema::DimRange* range : *graph.ranges()) {
      const int64_t value = values[range->expr()];
      if (waves.of_expr(range->expr()) > found.size()) {
        continue;
      }
      ETX_CHECK(
          value >= range->min() && value <= range->max(),
          InvalidArgument,
          "%s %" PRId64 ", but the model was exported for %" PRId64 " to %" PRId64,
          waves.of_expr(range->expr()) == 0 ? "a dynamic size is" : "a size that is found in data is",
          value,
          range->min(),
          range->max());
    }
  }
  return Sizes(std::move(values));
}

StatusOr<Sizes> planned_sizes(const schema::Graph& graph) {
  std::vector<int64_t> values(count(graph));
  std::vector<bool> planned(values.size());
  if (graph.ranges() != nullptr) {
    for (const schema::DimRange* range : *graph.ranges()) {
      values[range->expr()] = range->planned();
      planned[range->expr()] = true;
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const schema::DimExpr& expr = *graph.exprs()->Get(static_cast<uint32_t>(i));
    // An argument without a range only serves to compute an entry that has one.
    const bool argument = expr.op() == schema::DimOp::InputDim || expr.op() == schema::DimOp::InputInt ||
        expr.op() == schema::DimOp::FoundSize;
    if (!planned[i] && !argument) {
      ETX_RETURN_IF_ERROR(compute(expr, values, &values[i]));
    }
  }
  return Sizes(std::move(values));
}

} // namespace executorch::backends::et_xnnpack
