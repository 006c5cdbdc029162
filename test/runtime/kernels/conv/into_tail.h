// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <atomic>

#include <gtest/gtest.h>
#include <runtime/base/memory.h>
#include <runtime/base/status.h>
#include <runtime/kernels/common/arguments.h>
#include <runtime/kernels/common/tail.h>

namespace executorch::backends::et_xnnpack::testing {

// A convolution that has a Tail copy the output to where it belongs.
template <typename Conv, typename Parameters>
class IntoTail : public Conv {
 public:
  StatusOr<size_t> reshape(const Parameters& parameters, size_t num_threads) {
    elements_ = parameters.output.numel();
    line_ = parameters.output[3];
    ETX_ASSIGN_OR_RETURN(const size_t bytes, StatusOr<size_t>(Conv::reshape(parameters, num_threads)));
    scratch_ = round_up_to_alignment(bytes);
    return scratch_ + this->tail_bytes(num_threads);
  }
  void run(const KernelArguments& arguments) {
    float* const y = arguments.output<float>(0);
    KernelArguments without_output = arguments;
    without_output.outputs = {};
    const Copy tail(y, line_);
    this->run_into(without_output, static_cast<char*>(arguments.scratch) + scratch_, tail);
    EXPECT_EQ(tail.taken(), elements_);
  }

 private:
  class Copy final : public Tail {
   public:
    Copy(float* to, size_t line) : to_(to), line_(line) {}
    void take(size_t /*thread*/, size_t first, size_t count, const float* elements) const override {
      EXPECT_EQ(first % line_, 0u);
      EXPECT_EQ(count % line_, 0u);
      std::copy_n(elements, count, to_ + first);
      taken_ += count;
    }
    size_t taken() const {
      return taken_;
    }

   private:
    float* to_;
    size_t line_;
    mutable std::atomic<size_t> taken_{0};
  };

  size_t elements_ = 0, line_ = 0, scratch_ = 0;
};

} // namespace executorch::backends::et_xnnpack::testing
