// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <vector>

#include "runtime/base/caches.h"
#include "runtime/base/shape.h"
#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// Kernels of images, [N, H, W, C] of Float32, that run one after the other on strips of rows: each makes as many rows as the
// next one needs for its strip, so that what lies between two of them stays in the second-level cache.
//
// A band of rows of the last result is for one thread, from top to bottom. Of what lies between two kernels it keeps the
// last rows, those that the next strip sees as well. The first rows of a band see some that belong to the band before,
// and are made twice; where that would be too much, what lies in front of the window is made as a whole first.
class StripChain {
 public:
  struct Member {
    Kernel* kernel; // whose reshape_strips() has succeeded
    Shape input, output; // of operand 0 and the result
  };

  static constexpr size_t kMaxMembers = 3; // one in front of the window, and one behind it

  // Takes over new sizes. Member `window` may see several rows, the others see the row that they make. No image is empty.
  void reshape(std::vector<Member> members, size_t window, size_t num_threads, const Caches& caches);

  // Of memory for run().
  size_t scratch_bytes() const {
    return whole_bytes_ + num_threads_ * band_bytes_;
  }

  // Computes output 0 of the last member from input 0 of the first one. `arguments` are those of each member.
  void run(Span<const KernelArguments> arguments, char* scratch, pthreadpool_t pool);

 private:
  // Rows that lie between two members.
  struct Between {
    RowRange rows;
    float* data;
  };
  struct Band;

  size_t line(size_t member) const; // numbers in a row of its result
  RowRange seen(size_t first, size_t member, RowRange rows) const;
  size_t bytes_between(size_t member, size_t strip) const;
  void choose_bands();
  void choose_strip(const Caches& caches);

  void make_whole(Span<const KernelArguments> arguments, float* whole, pthreadpool_t pool);
  void make_band(Band& band, RowRange rows) const;
  const float* input_of(size_t member, RowRange rows, Band& band) const;

  std::vector<Member> members_;
  size_t window_ = 0, num_threads_ = 1;
  size_t first_ = 0; // of the members that run in bands: 1 if the result of the first one is made as a whole
  size_t bands_ = 1; // of each image
  size_t strip_ = 1; // rows of the last result
  size_t whole_bytes_ = 0, band_bytes_ = 0; // of scratch memory: of that result, and of a thread
  std::array<size_t, kMaxMembers> offsets_{}; // in that of a thread, by the member that makes what lies there
  std::vector<Status> failures_; // by thread
};

} // namespace executorch::backends::et_xnnpack
