// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/quantize/choose_qparams.h>

#include <algorithm>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

Tensor integers(const Shape& shape, const std::vector<int32_t>& values) {
  Tensor tensor(DType::Int32, shape);
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return tensor;
}

void check_choice(
    QParamsRule rule, const Tensor& x, const std::vector<float>& scale, const std::vector<int32_t>& zero) {
  const Shape shape{x.shape()[0], 1};
  const ChooseQParamsParameters parameters{x.shape()[0], x.shape()[1], {-128, 127, rule, 0.001f}};
  PlainCase kernel_case = plain_case<ChooseQParams>(parameters, {x}, {{DType::Float32, shape}, {DType::Int32, shape}});
  check_kernel(kernel_case, floats(shape, scale), {1e-7f, 1e-6f});
  kernel_case.checked = 1;
  check_kernel(kernel_case, integers(shape, zero));
}

TEST(ChooseQParams, Rules) {
  const Tensor x = floats({4, 3}, {0, 255, 51, -255, -1, -2, -1, 0.5f, 1.55f, 0, 0, 0});
  check_choice(QParamsRule::Asymmetric, x, {1, 1, 0.01f, 0.001f}, {-128, 127, -28, -128});
  check_choice(QParamsRule::Nearest, x, {1, 1, 0.01f, 0.001f}, {-128, 127, -28, 127});
  check_choice(QParamsRule::Symmetric, x, {2, 2, 1.55f / 127.5f, 0.001f}, {0, 0, 0, 0});
}

TEST(ChooseQParams, ManyRows) {
  const Tensor x = repeated({5000, 9}, {-128, 127, 5});
  check_choice(QParamsRule::Asymmetric, x, std::vector<float>(5000, 1), std::vector<int32_t>(5000, 0));
}

TEST(ChooseQParams, InfinityAndNaNGiveSomeZeroPoint) {
  for (const QParamsRule rule : {QParamsRule::Asymmetric, QParamsRule::Nearest, QParamsRule::Symmetric}) {
    const Tensor x = floats({2, 2}, {kInfinity, -kInfinity, kNaN, 1});
    PlainCase kernel_case = plain_case<ChooseQParams>(
        ChooseQParamsParameters{2, 2, {-128, 127, rule, 0.001f}},
        {x},
        {{DType::Float32, {2, 1}}, {DType::Int32, {2, 1}}});
    kernel_case.checked = 1;
    const Tensor zero = run_kernel(kernel_case);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_GE(zero.data<int32_t>()[i], -128);
      EXPECT_LE(zero.data<int32_t>()[i], 127);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
