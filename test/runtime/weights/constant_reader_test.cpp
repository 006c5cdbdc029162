// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/weights/constant_reader.h>

#include <cstring>
#include <optional>

#include <runtime/kernels/simd/reduced_float.h>

#include "data_map.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Not a multiple of the pieces in which numbers are rounded.
constexpr size_t kCount = 2500;

std::vector<uint16_t> narrowed(const std::vector<float>& x, DType type) {
  std::vector<uint16_t> y(x.size());
  narrow(type, x.data(), y.data(), x.size());
  return y;
}

std::vector<float> widened(const std::vector<uint16_t>& x, DType type) {
  std::vector<float> y(x.size());
  widen(type, x.data(), y.data(), x.size());
  return y;
}

// A constant of Float32 that the program has in another type, perhaps.
class ConstantReaderTest : public ::testing::TestWithParam<DType> {
 protected:
  void load(DType stored) {
    GraphDef g;
    const uint32_t w = g.named({static_cast<int64_t>(kCount)}, "w");
    g.values[w].constant->storage = stored == DType::BFloat16 ? schema::Storage::BFloat16
        : stored == DType::Float16                            ? schema::Storage::Float16
                                                              : schema::Storage::Plain;
    g.output(g.node(unary(schema::UnaryKind::Neg), {w}, {static_cast<int64_t>(kCount)}));
    bytes_ = g.build();
    StatusOr<Blob> blob = open_blob(span(bytes_));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    blob_.emplace(std::move(*blob));
    numbers_ = some_numbers(kCount);
    if (!is_reduced_float(stored)) {
      data_.add("w", numbers_);
      return;
    }
    const std::vector<uint16_t> reduced = narrowed(numbers_, stored);
    numbers_ = widened(reduced, stored);
    std::vector<uint8_t> content(kCount * sizeof(uint16_t));
    std::memcpy(content.data(), reduced.data(), content.size());
    data_.add("w", std::move(content));
  }

  std::vector<uint8_t> bytes_;
  std::vector<float> numbers_;
  std::optional<Blob> blob_;
  DataMap data_;
};

TEST_P(ConstantReaderTest, RoundsTo16Bits) {
  for (const DType stored : {DType::Float32, DType::BFloat16, DType::Float16}) {
    for (const size_t shift : {0, 2, 1}) {
      SCOPED_TRACE(std::string(name_of(stored)) + " at " + std::to_string(shift));
      load(stored);
      data_.misalign(shift);
      const ConstantReader reader(*blob_, &data_);
      {
        StatusOr<ConstantReader::Original> found = reader.load_reduced(0, GetParam());
        ASSERT_TRUE(found.ok()) << found.status().message();
        const auto* const data = static_cast<const uint16_t*>(found->data);
        EXPECT_EQ(std::vector<uint16_t>(data, data + kCount), narrowed(numbers_, GetParam()));
        const bool is_borrowed = stored == GetParam() && shift % 2 == 0;
        EXPECT_EQ(data_.in_use(), is_borrowed ? 1 : 0);
      }
      StatusOr<ConstantReader::Original> wide = reader.load(0);
      ASSERT_TRUE(wide.ok()) << wide.status().message();
      const auto* const data = static_cast<const float*>(wide->data);
      EXPECT_EQ(std::vector<float>(data, data + kCount), numbers_);
    }
  }
}

TEST_P(ConstantReaderTest, RefusesTooFewBytes) {
  load(DType::Float32);
  data_.add("w", std::vector<uint8_t>(kCount * sizeof(uint16_t)));
  const ConstantReader reader(*blob_, &data_);
  EXPECT_EQ(reader.load_reduced(0, GetParam()).status().code(), Error::InvalidProgram);
}

INSTANTIATE_TEST_SUITE_P(
    Types,
    ConstantReaderTest,
    ::testing::Values(DType::BFloat16, DType::Float16),
    [](const ::testing::TestParamInfo<DType>& type) { return name_of(type.param); });

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
