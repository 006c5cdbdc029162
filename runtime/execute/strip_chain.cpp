// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "strip_chain.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBandsPerThread = 2; // for threads of different speed
constexpr size_t kPartBytes = 24 << 10; // of rows on the way to a tail

// Of each image, of all images so many together.
size_t parts_of_image(size_t parts, size_t images, size_t rows) {
  return std::clamp<size_t>((parts + images - 1) / images, 1, rows);
}

size_t aligned(size_t bytes) {
  return round_up_to_alignment(bytes + kTailBytes); // XNNPACK may read behind them
}

} // namespace

// What one thread works on.
struct StripChain::Band {
  size_t thread;
  size_t image; // of the batch
  const char* input; // of member first_: its image
  char* part; // memory for rows on the way to a tail
  std::array<Arguments, kMaxMembers> arguments;
  std::array<Between, kMaxMembers> between; // by the member that makes it
};

void StripChain::reshape(std::vector<Member> members, size_t window, size_t num_threads, const Caches& caches) {
  members_ = std::move(members);
  window_ = window;
  num_threads_ = std::max<size_t>(num_threads, 1);
  failures_.resize(num_threads_);
  choose_bands();
  choose_strip(caches);
}

size_t StripChain::line(size_t member) const {
  return members_[member].output.numel(2, 4);
}

// REQUIRES: another member is behind it
size_t StripChain::line_bytes(size_t member) const {
  return line(member) * members_[member + 1].input_size;
}

// The rows of the input of `first` that `rows` of the result of `member` are made of.
RowRange StripChain::seen(size_t first, size_t member, RowRange rows) const {
  for (size_t m = member + 1; m-- > first && rows.count() > 0;) {
    rows = members_[m].kernel->rows_seen(rows);
  }
  return rows;
}

void StripChain::choose_bands() {
  constexpr size_t kWorthwhile = 8; // of so many rows one may be made twice
  const size_t last = members_.size() - 1;
  const size_t images = members_[last].output[0], rows = members_[last].output[1];
  const size_t input_rows = members_[0].input[1];
  first_ = 0;
  // That two neighbouring rows in the middle of the result both see.
  const size_t middle = rows / 2;
  const size_t above = middle > 0 ? seen(0, last, {middle - 1, middle}).end : 0;
  const size_t shared = above - std::min(above, seen(0, last, {middle, middle + 1}).begin);
  for (const size_t per_thread : {kBandsPerThread, size_t{1}}) {
    bands_ = num_threads_ == 1 ? 1 : parts_of_image(per_thread * num_threads_, images, rows);
    if (window_ == 0 || (bands_ - 1) * shared * kWorthwhile <= input_rows) {
      return;
    }
  }
  first_ = 1;
  bands_ = parts_of_image(kBandsPerThread * num_threads_, images, rows);
}

// How many rows of its result a member makes at most while the last one makes a strip, or makes as a whole at a time.
size_t StripChain::most_rows(size_t member, size_t strip) const {
  const size_t last = members_.size() - 1, rows = members_[last].output[1];
  size_t most = member < first_ ? std::min(strip, members_[member].output[1]) : 0;
  for (size_t row = 0; member >= first_ && row < rows; ++row) {
    most = std::max(most, seen(member + 1, last, {row, std::min(rows, row + strip)}).count());
  }
  return most;
}

// How many of them it makes before the tail takes them.
size_t StripChain::rows_of_part(size_t member) const {
  return std::max<size_t>(1, kPartBytes / (line(member) * sizeof(float) + 1));
}

void StripChain::choose_strip(const Caches& caches) {
  constexpr size_t kMostRows = 8;
  for (strip_ = kMostRows;; strip_ /= 2) {
    lay_out();
    if (strip_ == 1 || band_bytes_ <= caches.l2 / 2) {
      return;
    }
  }
}

void StripChain::lay_out() {
  const size_t last = members_.size() - 1;
  whole_bytes_ = first_ == 0 ? 0 : aligned(members_[0].output[0] * members_[0].output[1] * line_bytes(0));
  band_bytes_ = tails_bytes_ = 0;
  size_t part = 0, kernel_scratch = 0;
  for (size_t m = 0; m < members_.size(); ++m) {
    size_t rows = most_rows(m, strip_);
    if (m >= first_ && m < last) {
      between_[m] = band_bytes_;
      band_bytes_ += aligned(rows * line_bytes(m));
    }
    if (members_[m].tail != nullptr) {
      rows = std::min(rows, rows_of_part(m));
      part = std::max(part, aligned(rows * line(m) * sizeof(float)));
      tails_bytes_ += round_up_to_alignment(members_[m].tail->parts_bytes(num_threads_));
    }
    kernel_scratch = std::max(kernel_scratch, round_up_to_alignment(members_[m].kernel->strip_scratch(rows)));
  }
  part_ = band_bytes_;
  kernel_scratch_ = part_ + part;
  band_bytes_ = kernel_scratch_ + kernel_scratch;
}

void StripChain::run(Span<const Arguments> without_scratch, char* scratch, pthreadpool_t pool) {
  const Member& last = members_.back();
  const size_t images = last.output[0], rows = last.output[1];
  std::fill(failures_.begin(), failures_.end(), Status());
  std::array<Arguments, kMaxMembers> all{};
  std::copy(without_scratch.begin(), without_scratch.end(), all.begin());
  const Span<const Arguments> arguments{all.data(), members_.size()};
  char* of_tail = scratch + whole_bytes_ + num_threads_ * band_bytes_;
  for (size_t m = 0; m < members_.size(); ++m) {
    if (members_[m].tail != nullptr) {
      all[m].tail.scratch = of_tail;
      of_tail += round_up_to_alignment(members_[m].tail->parts_bytes(num_threads_));
      members_[m].tail->begin_parts(all[m].tail);
    }
  }
  if (first_ > 0) {
    make_whole(arguments, scratch, pool);
  }
  const char* const input = first_ > 0 ? scratch : arguments[0].kernel.input<char>(0);
  parallel_for_with_thread(pool, images * bands_, [&](size_t thread, size_t i) {
    const size_t b = i % bands_;
    Band band = new_band(arguments, scratch, thread);
    band.image = i / bands_;
    band.input = input + band.image * members_[first_].input.numel(1, 4) * members_[first_].input_size;
    make_band(band, {rows * b / bands_, rows * (b + 1) / bands_});
  });
  for (size_t m = 0; m < members_.size(); ++m) {
    if (members_[m].tail != nullptr) {
      members_[m].tail->end_parts(arguments[m].tail);
    }
  }
  for (Status& failure : failures_) {
    if (!failure.ok()) {
      *arguments[0].kernel.status = std::move(failure);
    }
  }
}

// With the memory of this thread.
StripChain::Band StripChain::new_band(Span<const Arguments> arguments, char* scratch, size_t thread) {
  Band band{};
  char* const memory = scratch + whole_bytes_ + thread * band_bytes_;
  band.thread = thread;
  band.part = memory + part_;
  for (size_t m = 0; m < members_.size(); ++m) {
    band.arguments[m] = arguments[m];
    band.arguments[m].kernel.status = &failures_[thread];
    band.arguments[m].kernel.scratch = memory + kernel_scratch_;
    band.between[m].data = memory + between_[m];
  }
  return band;
}

// What lies behind the first member, each row from the row at its place.
void StripChain::make_whole(Span<const Arguments> arguments, char* scratch, pthreadpool_t pool) {
  const Member& first = members_[0];
  const char* const input = arguments[0].kernel.input<char>(0);
  const size_t images = first.output[0], rows = first.output[1], strips = (rows + strip_ - 1) / strip_;
  const size_t parts = std::max(strips, parts_of_image(kBandsPerThread * num_threads_, images, rows));
  parallel_for_with_thread(pool, images * parts, [&](size_t thread, size_t i) {
    const size_t p = i % parts;
    Band band = new_band(arguments, scratch, thread);
    band.image = i / parts;
    const char* const image = input + band.image * first.input.numel(1, 4) * first.input_size;
    const RowRange made{rows * p / parts, rows * (p + 1) / parts};
    make_rows(0, made, image, scratch + (band.image * rows + made.begin) * line_bytes(0), band);
  });
}

void StripChain::make_band(Band& band, RowRange rows) const {
  const size_t last = members_.size() - 1;
  const Member& member = members_[last];
  for (size_t row = rows.begin; row < rows.end; row += strip_) {
    const RowRange strip{row, std::min(rows.end, row + strip_)};
    const char* const input = input_of(last, strip, band);
    float* const to = member.tail != nullptr
        ? nullptr
        : band.arguments[last].kernel.output<float>(0) + (band.image * member.output[1] + row) * line(last);
    make_rows(last, strip, input, reinterpret_cast<char*>(to), band);
  }
}

// Makes rows of what lies behind a member at `to`, or, behind the tail of the last one, at their place in the outputs.
void StripChain::make_rows(size_t member, RowRange rows, const char* input, char* to, Band& band) const {
  const Member& m = members_[member];
  const Arguments& arguments = band.arguments[member];
  if (m.tail == nullptr) {
    m.kernel->run_strip(arguments.kernel, {band.thread, rows, input, reinterpret_cast<float*>(to)});
    return;
  }
  float* const part = reinterpret_cast<float*>(band.part);
  KernelArguments tail = arguments.tail;
  for (size_t row = rows.begin; row < rows.end;) {
    const size_t end = std::min(rows.end, row + rows_of_part(member));
    m.kernel->run_strip(arguments.kernel, {band.thread, {row, end}, input, part});
    const size_t first = (band.image * m.output[1] + row) * line(member);
    void* output = nullptr;
    if (member + 1 < members_.size()) { // where element 0 of the whole result would be
      output = to + (row - rows.begin) * line_bytes(member) - first * members_[member + 1].input_size;
      tail.outputs = {&output, 1};
    }
    m.tail->run_part(tail, band.thread, first, (end - row) * line(member), /*streamed=*/0, part);
    row = end;
  }
}

// Makes what `rows` of the result of a member are made of, and returns where row 0 of that would be.
const char* StripChain::input_of(size_t member, RowRange rows, Band& band) const {
  if (member == first_) {
    return band.input;
  }
  const size_t before = member - 1, size = line_bytes(before);
  const RowRange needed = members_[member].kernel->rows_seen(rows);
  Between& between = band.between[before];
  const bool keeps = needed.begin >= between.rows.begin && needed.begin < between.rows.end;
  const size_t kept = keeps ? std::min(between.rows.end, needed.end) - needed.begin : 0;
  if (kept > 0) {
    std::memmove(between.data, between.data + (needed.begin - between.rows.begin) * size, kept * size);
  }
  between.rows = needed;
  const RowRange missing{needed.begin + kept, needed.end};
  if (missing.count() > 0) {
    const char* const input = input_of(before, missing, band);
    make_rows(before, missing, input, between.data + kept * size, band);
  }
  return between.data - needed.begin * size;
}

} // namespace executorch::backends::et_xnnpack
