// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <vector>

#include "runtime/base/caches.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/elementwise/fused_elementwise.h"
#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// Kernels of images, [N, H, W, C], that run one after the other on strips of rows: each makes as many rows as the
// next one needs for its strip, so that what lies between two of them stays in the second-level cache. What one makes may go
// through elementwise operators first.
//
// A band of rows of the last result is for one thread, from top to bottom. Of what lies between two kernels it keeps the
// last rows, those that the next strip sees as well. The first rows of a band see some that belong to the band before,
// and are made twice; where that would be too much, what lies in front of the window is made as a whole first.
class StripChain {
 public:
  struct Member {
    Kernel* kernel; // whose reshape_strips() has succeeded
    Shape input, output; // of operand 0 and the result
    size_t input_size; // bytes of an element of operand 0
    // Takes the result, as its input 0, and gives one of the same shape; null: nothing. It has taken over its sizes.
    const FusedElementwise* tail = nullptr;
  };
  struct Arguments {
    KernelArguments kernel;
    KernelArguments tail; // if there is one; it has outputs only behind the last kernel
  };

  static constexpr size_t kMaxMembers = 3; // one in front of the window, and one behind it

  // Takes over new sizes. Member `window` may see several rows, the others see the row that they make. No image is empty.
  void reshape(std::vector<Member> members, size_t window, size_t num_threads, const Caches& caches);

  // Of memory for run().
  size_t scratch_bytes() const {
    return whole_bytes_ + num_threads_ * band_bytes_ + tails_bytes_;
  }

  // Computes what the last member or its tail gives from input 0 of the first one. `arguments` are those of each member,
  // without scratch memory.
  void run(Span<const Arguments> arguments, char* scratch, pthreadpool_t pool);

 private:
  // Rows that lie between two members.
  struct Between {
    RowRange rows;
    char* data;
  };
  struct Band;

  size_t line(size_t member) const; // numbers in a row of its result
  size_t line_bytes(size_t member) const; // bytes in a row of what lies behind it
  RowRange seen(size_t first, size_t member, RowRange rows) const;
  size_t most_rows(size_t member, size_t strip) const;
  size_t rows_of_part(size_t member) const;
  void choose_bands();
  void choose_strip(const Caches& caches);
  void lay_out();

  Band new_band(Span<const Arguments> arguments, char* scratch, size_t thread);
  void make_whole(Span<const Arguments> arguments, char* scratch, pthreadpool_t pool);
  void make_band(Band& band, RowRange rows) const;
  void make_rows(size_t member, RowRange rows, const char* input, char* to, Band& band) const;
  const char* input_of(size_t member, RowRange rows, Band& band) const;

  std::vector<Member> members_;
  size_t window_ = 0, num_threads_ = 1;
  size_t first_ = 0; // of the members that run in bands: 1 if the result of the first one is made as a whole
  size_t bands_ = 1; // of each image
  size_t strip_ = 1; // rows of the last result
  // Of scratch memory: of the result that is made as a whole, of a thread, and of the tails.
  size_t whole_bytes_ = 0, band_bytes_ = 0, tails_bytes_ = 0;
  std::array<size_t, kMaxMembers> between_{}; // in that of a thread, by the member that makes what lies there
  size_t part_ = 0, kernel_scratch_ = 0; // likewise: rows on the way to a tail, and scratch memory of kernels
  std::vector<Status> failures_; // by thread
};

} // namespace executorch::backends::et_xnnpack
