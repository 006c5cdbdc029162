// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "float64_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kColumns = 16; // neighbouring rows that are computed together

// `rows` rows, next to one another, of elements `stride` apart. NaN makes the sum of its row NaN.
void softmax_together(const double* x, size_t size, size_t stride, size_t rows, bool log, double* y) {
  double most[kColumns], total[kColumns] = {};
  std::fill_n(most, rows, -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < size; ++i) {
    for (size_t r = 0; r < rows; ++r) {
      most[r] = std::max(most[r], x[i * stride + r]);
    }
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t r = 0; r < rows; ++r) {
      const double shifted = x[i * stride + r] - most[r];
      const double power = std::exp(shifted);
      total[r] += power;
      y[i * stride + r] = log ? shifted : power;
    }
  }
  if (log) {
    std::transform(total, total + rows, total, [](double sum) { return std::log(sum); });
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t r = 0; r < rows; ++r) {
      double& to = y[i * stride + r];
      to = log ? to - total[r] : to / total[r];
    }
  }
}

} // namespace

size_t Float64Softmax::reshape(const SoftmaxParameters& parameters, size_t /*num_threads*/) {
  rows_ = AxisRows(parameters.shape, parameters.axis);
  log_ = parameters.log;
  return 0;
}

void Float64Softmax::run(const KernelArguments& arguments) const {
  const double* const x = arguments.input<double>(0);
  double* const y = arguments.output<double>(0);
  parallel_for(arguments.pool, rows_.count(), rows_.grain(), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end;) {
      const size_t rows = std::min({kColumns, rows_.inner - row % rows_.inner, end - row});
      const size_t offset = rows_.offset(row);
      softmax_together(x + offset, rows_.size, rows_.inner, rows, log_, y + offset);
      row += rows;
    }
  });
}

} // namespace executorch::backends::et_xnnpack
