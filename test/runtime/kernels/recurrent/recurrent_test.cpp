// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/recurrent/recurrent.h>

#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Cell = RecurrentCellType;

constexpr Cell kCells[] = {Cell::Lstm, Cell::Gru, Cell::Tanh, Cell::Relu};

struct Sizes3 {
  size_t steps, batch, hidden;
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// [rows of a] of a * b transposed, b [n, k].
std::vector<double> product(const std::vector<double>& a, const Tensor& b, size_t rows) {
  const size_t n = b.shape()[0], k = b.shape()[1];
  std::vector<double> c(rows * n);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t l = 0; l < k; ++l) {
        c[i * n + j] += a[i * k + l] * static_cast<double>(b.data<float>()[j * k + l]);
      }
    }
  }
  return c;
}

std::vector<double> doubles(const std::optional<Tensor>& tensor, size_t size) {
  std::vector<double> values(size);
  for (size_t i = 0; tensor && i < size; ++i) {
    values[i] = static_cast<double>(tensor->data<float>()[i]);
  }
  return values;
}

Tensor to_tensor(const Shape& shape, const std::vector<double>& values) {
  return floats(shape, std::vector<float>(values.begin(), values.end()));
}

// y, h and for Lstm c.
std::vector<Tensor> reference(const std::vector<std::optional<Tensor>>& in, Cell type, bool reverse, size_t hidden) {
  const size_t steps = in[0]->shape()[0], batch = in[0]->shape()[1], gates = in[0]->shape()[2];
  const size_t size = in[1]->shape()[1];
  const std::vector<double> bias = doubles(in[2], gates);
  std::vector<double> h = doubles(in[3], batch * size);
  std::vector<double> c = doubles(in.size() > 4 ? in[4] : std::nullopt, batch * hidden);
  std::vector<double> y(steps * batch * size);
  for (size_t i = 0; i < steps; ++i) {
    const size_t step = reverse ? steps - 1 - i : i;
    const std::vector<double> p = product(h, *in[1], batch);
    std::vector<double> out(batch * hidden);
    for (size_t b = 0; b < batch; ++b) {
      for (size_t j = 0; j < hidden; ++j) {
        const auto x = [&](size_t gate) {
          return static_cast<double>(in[0]->data<float>()[(step * batch + b) * gates + gate * hidden + j]);
        };
        const auto q = [&](size_t gate) { return p[b * gates + gate * hidden + j] + bias[gate * hidden + j]; };
        double& cell = c[b * hidden + j];
        double& result = out[b * hidden + j];
        switch (type) {
          case Cell::Lstm:
            cell = sigmoid(x(1) + q(1)) * cell + sigmoid(x(0) + q(0)) * std::tanh(x(2) + q(2));
            result = sigmoid(x(3) + q(3)) * std::tanh(cell);
            break;
          case Cell::Gru: {
            const double z = sigmoid(x(1) + q(1));
            result = (1 - z) * std::tanh(x(2) + sigmoid(x(0) + q(0)) * q(2)) + z * h[b * hidden + j];
            break;
          }
          case Cell::Tanh:
            result = std::tanh(x(0) + q(0));
            break;
          case Cell::Relu:
            result = std::isnan(x(0)) ? x(0) : std::max(x(0) + q(0), 0.0);
            break;
        }
      }
    }
    h = in.size() > 5 && in[5] ? product(out, *in[5], batch) : out;
    std::copy(h.begin(), h.end(), y.begin() + static_cast<ptrdiff_t>(step * batch * size));
  }
  return {to_tensor({steps, batch, size}, y), to_tensor({batch, size}, h), to_tensor({batch, hidden}, c)};
}

void check(Cell type, Sizes3 s, bool reverse = false, bool given = false, size_t projected = 0, float range = 1) {
  const size_t gates = type == Cell::Lstm ? 4 : type == Cell::Gru ? 3 : 1;
  const size_t size = projected == 0 ? s.hidden : projected;
  const bool is_lstm = type == Cell::Lstm;
  std::vector<std::optional<Tensor>> inputs{
      random_floats({s.steps, s.batch, gates * s.hidden}, -range, range),
      random_floats({gates * s.hidden, size}, -0.3f, 0.3f),
      std::nullopt,
      std::nullopt};
  std::vector<TensorSpec> outputs{{DType::Float32, {s.steps, s.batch, size}}, {DType::Float32, {s.batch, size}}};
  if (is_lstm) {
    inputs.resize(6);
    outputs.push_back({DType::Float32, {s.batch, s.hidden}});
  }
  if (given) {
    inputs[2] = random_floats({gates * s.hidden});
    inputs[3] = random_floats({s.batch, size});
    if (is_lstm) {
      inputs[4] = random_floats({s.batch, s.hidden});
    }
  }
  if (projected != 0) {
    inputs[5] = random_floats({projected, s.hidden}, -0.5f, 0.5f);
  }
  RecurrentParameters parameters{type, s.steps, s.batch, gates * s.hidden, s.hidden, size, projected != 0, reverse};
  const std::vector<Tensor> expected = reference(inputs, type, reverse, s.hidden);
  for (const bool packs : {false, true}) {
    parameters.packs_weight = packs;
    parameters.packs_projection = packs && projected != 0;
    std::vector<size_t> packed;
    if (packs) {
      packed = projected != 0 ? std::vector<size_t>{1, 5} : std::vector<size_t>{1};
    }
    PlainCase kernel_case = plain_case<Recurrent>(parameters, inputs, outputs, packed);
    for (size_t i = 0; i < (is_lstm ? 3u : 2u); ++i) {
      kernel_case.checked = i;
      check_kernel(kernel_case, expected[i], {1e-5f, 1e-5f});
    }
  }
}

TEST(Recurrent, Sizes) {
  for (const Cell type : kCells) {
    SCOPED_TRACE(static_cast<int>(type));
    for (const size_t hidden : {1, 3, 4, 16, 17, 33}) {
      check(type, {3, 2, hidden});
      check(type, {2, 7, hidden}, true, true);
    }
  }
}

TEST(Recurrent, LargeBatch) {
  for (const Cell type : kCells) {
    check(type, {2, 150, 20}, false, true);
    check(type, {2, 30, 200}, false, true);
  }
}

TEST(Recurrent, Projection) {
  check(Cell::Lstm, {3, 2, 17}, false, false, 5);
  check(Cell::Lstm, {3, 5, 7}, true, true, 9);
}

TEST(Recurrent, LargeGates) {
  for (const Cell type : {Cell::Lstm, Cell::Gru, Cell::Tanh}) {
    check(type, {3, 2, 19}, false, true, 0, 200);
  }
}

TEST(Recurrent, NoSteps) {
  check(Cell::Lstm, {0, 2, 5}, false, true);
  check(Cell::Gru, {0, 2, 5});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
