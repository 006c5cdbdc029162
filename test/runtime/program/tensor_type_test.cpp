// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/program/tensor_type.h>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

TEST(ShapeTest, CountsElements) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank, 3u);
  EXPECT_EQ(shape.last(), 4u);
  EXPECT_EQ(shape.numel(), 24u);
  EXPECT_EQ(shape.numel(1, 3), 12u);
  EXPECT_EQ(shape.numel(2, 2), 1u);
  EXPECT_EQ(Shape{}.numel(), 1u);
  EXPECT_EQ((Shape{3, 0, 2}).numel(), 0u);
}

TEST(ShapeTest, ComparesRankAndSizes) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  Shape longer{2, 3, 4};
  longer.rank = 2;
  EXPECT_EQ(longer, (Shape{2, 3})) << "sizes behind the rank do not count";
}

TEST(ShapeTest, PrintsItself) {
  EXPECT_EQ(Shape{}.to_string(), "[]");
  EXPECT_EQ((Shape{2, 3}).to_string(), "[2, 3]");
  EXPECT_EQ((TensorType{DType::Bool, {7}}).to_string(), "Bool[7]");
}

TEST(TensorTypeTest, KnowsBytes) {
  EXPECT_EQ((TensorType{DType::Float32, {3}}).bytes(), 12u);
  EXPECT_EQ((TensorType{DType::Int32, {3}}).bytes(), 12u);
  EXPECT_EQ((TensorType{DType::Int64, {3}}).bytes(), 24u);
  EXPECT_EQ((TensorType{DType::Bool, {3}}).bytes(), 3u);
  EXPECT_EQ((TensorType{DType::Int8, {3}}).bytes(), 3u);
  EXPECT_EQ((TensorType{DType::UInt8, {3}}).bytes(), 3u);
  EXPECT_EQ(element_size(static_cast<DType>(200)), 0u);
  EXPECT_EQ((TensorType{DType::Float16, {3}}).bytes(), 6u);
  EXPECT_EQ((TensorType{DType::BFloat16, {3}}).bytes(), 6u);
}

TEST(TensorTypeTest, RefusesMoreThanOneTebibyte) { // Robustness: I3
  EXPECT_TRUE(check_size({DType::Float32, {kMaxTensorBytes / 4}}).ok());
  EXPECT_TRUE(check_size({DType::Bool, {kMaxTensorBytes}}).ok());
  EXPECT_FALSE(check_size({DType::Bool, {kMaxTensorBytes, 2}}).ok());
  EXPECT_FALSE(check_size({DType::Int64, {kMaxTensorBytes / 4}}).ok());
  EXPECT_FALSE(check_size({DType::Bool, {SIZE_MAX, SIZE_MAX}}).ok());
  // 2^64 elements, which would be none in 64 bits.
  const Status status = check_size({DType::Bool, {size_t{1} << 32, size_t{1} << 32}});
  EXPECT_EQ(status.code(), Error::InvalidProgram);
  EXPECT_NE(status.message().find("Bool[4294967296, 4294967296]"), std::string::npos) << status.message();
}

TEST(TensorTypeTest, TakesAnyEmptyTensor) { // Robustness: V4
  EXPECT_TRUE(check_size({DType::Float32, {0, SIZE_MAX, SIZE_MAX}}).ok());
  EXPECT_TRUE(check_size({DType::Float32, {SIZE_MAX, SIZE_MAX, 0}}).ok());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
