// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/norm/group_norm.h>

#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// y, mean and rstd.
std::vector<Tensor> reference(const PlainCase& kernel_case, size_t axis, size_t groups, double epsilon) {
  const Tensor& x = *kernel_case.inputs[0];
  const Shape& shape = x.shape();
  const size_t outer = shape.numel(1, axis), channels = shape[axis], inner = shape.numel(axis + 1, shape.rank);
  Tensor y(DType::Float32, shape), means(DType::Float32, {shape[0], groups}), rstds(DType::Float32, {shape[0], groups});
  const size_t count = channels / groups;
  for (size_t n = 0; n < shape[0]; ++n) {
    for (size_t group = 0; group < groups; ++group) {
      const auto for_all = [&](const auto& function) {
        for (size_t o = 0; o < outer; ++o) {
          for (size_t c = group * count; c < (group + 1) * count; ++c) {
            for (size_t i = 0; i < inner; ++i) {
              function(((n * outer + o) * channels + c) * inner + i, c);
            }
          }
        }
      };
      const double size = static_cast<double>(outer * count * inner);
      double mean = 0, variance = 0;
      for_all([&](size_t at, size_t) { mean += static_cast<double>(x.data<float>()[at]) / size; });
      for_all([&](size_t at, size_t) {
        const double d = static_cast<double>(x.data<float>()[at]) - mean;
        variance += d * d / size;
      });
      const double rstd = 1 / std::sqrt(variance + epsilon);
      means.data<float>()[n * groups + group] = static_cast<float>(mean);
      rstds.data<float>()[n * groups + group] = static_cast<float>(rstd);
      for_all([&](size_t at, size_t c) {
        const double weight = kernel_case.inputs[1] ? static_cast<double>(kernel_case.inputs[1]->data<float>()[c]) : 1;
        const double bias = kernel_case.inputs[2] ? static_cast<double>(kernel_case.inputs[2]->data<float>()[c]) : 0;
        const double d = static_cast<double>(x.data<float>()[at]) - mean;
        y.data<float>()[at] = static_cast<float>(d * rstd * weight + bias);
      });
    }
  }
  return {y, means, rstds};
}

void check(const Tensor& x, uint8_t axis, uint32_t groups, bool affine = true, Tolerance tolerance = {4e-6f, 4e-6f}) {
  const Shape& shape = x.shape();
  GroupNormParameters parameters;
  parameters.images = shape[0];
  parameters.outer = shape.numel(1, axis);
  parameters.channels = shape[axis];
  parameters.inner = shape.numel(axis + size_t{1}, shape.rank);
  parameters.groups = groups;
  parameters.epsilon = 1e-3f;
  parameters.channels_last = axis + size_t{1} == shape.rank;
  PlainCase kernel_case{plain_kernel<GroupNorm>(parameters), {x, std::nullopt, std::nullopt}, {x.type}};
  if (affine) {
    kernel_case.inputs[1] = random_floats({x.shape()[axis]});
    kernel_case.inputs[2] = random_floats({x.shape()[axis]});
  }
  const std::vector<Tensor> expected = reference(kernel_case, axis, groups, static_cast<double>(1e-3f));
  check_kernel(kernel_case, expected[0], tolerance);
  kernel_case.outputs = {x.type, expected[1].type, expected[2].type};
  for (size_t i = 0; i < 3; ++i) {
    kernel_case.checked = i;
    check_kernel(kernel_case, expected[i], tolerance);
  }
}

TEST(GroupNormKernel, Groups) {
  for (const uint32_t groups : {1u, 2u, 4u, 12u}) {
    SCOPED_TRACE(groups);
    check(random_floats({2, 12, 5, 7}), 1, groups);
    check(random_floats({2, 5, 7, 12}), 3, groups);
    check(random_floats({2, 5, 12, 7}), 2, groups);
    check(random_floats({3, 12}), 1, groups, true, {2e-5f, 2e-5f});
  }
}

TEST(GroupNormKernel, ManyChannelsAndPixels) {
  check(random_floats({2, 33, 50, 20}), 1, 3);
  check(random_floats({2, 50, 20, 33}), 3, 3);
  check(random_floats({1, 3, 70000}), 1, 1);
  check(random_floats({1, 70000, 3}), 2, 1);
  check(random_floats({2, 3, 20000}), 2, 4);
}

TEST(GroupNormKernel, LargeMean) {
  check(random_floats({2, 8, 40, 9}, 9999, 10001), 1, 2, false);
  check(random_floats({2, 40, 9, 8}, 9999, 10001), 3, 2, false);
}

TEST(GroupNormKernel, NotANumberStaysInItsGroup) {
  Tensor x = random_floats({2, 6, 8});
  x.data<float>()[50] = kNaN;
  check(x, 1, 3);
  check(x, 2, 4);
}

TEST(GroupNormKernel, Empty) {
  check(random_floats({0, 6, 4}), 1, 3);
  check(random_floats({0, 4, 6}), 2, 3);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
