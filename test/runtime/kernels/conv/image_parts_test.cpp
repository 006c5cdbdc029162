// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/image_parts.h>

#include <vector>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

bool fits_all(size_t /*rows*/, size_t /*columns*/) {
  return true;
}

// Each pixel is in one part, and no part is larger than said.
void check(const Shape& output, const ImageParts& parts) {
  std::vector<int> times(output.numel(0, 3));
  for (size_t i = 0; i < parts.size(); ++i) {
    const ImageParts::Part part = parts[i];
    ASSERT_LE(part.rows, parts.rows());
    ASSERT_LE(part.columns, parts.columns());
    for (size_t r = part.row; r < part.row + part.rows; ++r) {
      for (size_t c = part.column; c < part.column + part.columns; ++c) {
        ++times[(part.image * output[1] + r) * output[2] + c];
      }
    }
  }
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
}

TEST(ImageParts, HaveEachPixelOnce) {
  for (const size_t images : {1u, 3u}) {
    for (const size_t height : {1u, 2u, 7u, 30u}) {
      for (const size_t width : {1u, 6u, 7u, 8u, 50u, 300u}) {
        for (const size_t threads : {1u, 2u, 5u}) {
          const Shape output{images, height, width, 4};
          check(output, ImageParts(output, threads, 7, fits_all));
          check(
              output, ImageParts(output, threads, 7, [](size_t rows, size_t columns) { return rows * columns < 20; }));
        }
      }
    }
  }
}

TEST(ImageParts, AreOfWholeRowsIfTheseAreEnough) {
  const ImageParts parts({1, 30, 40, 4}, 2, 7, fits_all);
  EXPECT_EQ(parts.columns(), 40u);
  EXPECT_GE(parts.size(), 4u);
}

TEST(ImageParts, DivideASingleRow) {
  EXPECT_GE(ImageParts({1, 1, 400, 4}, 2, 7, fits_all).size(), 4u);
  EXPECT_EQ(ImageParts({1, 1, 7, 4}, 2, 7, fits_all).size(), 1u);
  EXPECT_EQ(ImageParts({1, 1, 400, 4}, 1, 7, fits_all).size(), 1u);
}

TEST(ImageParts, AreSmallEnough) {
  const ImageParts parts({1, 100, 100, 4}, 1, 12, [](size_t rows, size_t columns) { return rows * columns <= 50; });
  EXPECT_EQ(parts.rows(), 1u);
  EXPECT_LE(parts.columns(), 50u);
  EXPECT_EQ(ImageParts({1, 5, 100, 4}, 1, 12, [](size_t, size_t) { return false; }).columns(), 12u);
}

TEST(ImageParts, AreNoneOfNothing) {
  for (const Shape& output : {Shape{0, 4, 4, 4}, Shape{1, 0, 4, 4}, Shape{1, 4, 0, 4}}) {
    EXPECT_EQ(ImageParts(output, 2, 7, fits_all).size(), 0u);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
