// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/xnnpack/conversion.h>

#include <gtest/gtest.h>
#include <runtime/kernels/simd/reduced_float.h>
#include <runtime/xnnpack/library.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using To = FloatConversion::To;

// In XNNPACK as in our own functions, there and back, in other sizes and on other pools.
TEST(FloatConversionTest, RoundsToTheNearest) {
  if (!xnnpack_has_float16()) {
    return; // nothing converts where nothing computes in float16
  }
  StatusOr<FloatConversion> narrowing = FloatConversion::create(To::Float16);
  StatusOr<FloatConversion> widening = FloatConversion::create(To::Float32);
  ASSERT_TRUE(narrowing.ok()) << narrowing.status().message();
  ASSERT_TRUE(widening.ok()) << widening.status().message();
  for (const size_t count : {1, 1000, 7, 70000, 64}) {
    SCOPED_TRACE(count);
    pthreadpool_t const pool = count % 2 == 0 ? pthreadpool_create(3) : nullptr;
    std::vector<float> x = some_numbers(count + 32), back(count + 32), expected_back(count);
    std::vector<uint16_t> half(count + 64), expected(count);
    narrow(DType::Float16, x.data(), expected.data(), count);
    widen(DType::Float16, expected.data(), expected_back.data(), count);
    EXPECT_TRUE(narrowing->reshape(count, pool).ok());
    EXPECT_TRUE(narrowing->run(x.data(), half.data(), pool).ok());
    EXPECT_TRUE(widening->reshape(count, pool).ok());
    EXPECT_TRUE(widening->run(half.data(), back.data(), pool).ok());
    half.resize(count);
    back.resize(count);
    EXPECT_EQ(half, expected);
    EXPECT_EQ(back, expected_back);
    pthreadpool_destroy(pool);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
