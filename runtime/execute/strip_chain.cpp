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

size_t bytes_of(size_t floats) {
  return round_up_to_alignment(floats * sizeof(float) + kTailBytes); // XNNPACK may read behind them
}

} // namespace

// What one thread works on.
struct StripChain::Band {
  size_t thread;
  const float* input; // of member first_: its image
  float* output; // the image that the last one makes
  std::array<KernelArguments, kMaxMembers> arguments;
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

// The rows of the input of `first` that `rows` of the result of `member` are made of.
RowRange StripChain::seen(size_t first, size_t member, RowRange rows) const {
  for (size_t m = member + 1; m-- > first && rows.count() > 0;) {
    rows = members_[m].kernel->rows_seen(rows);
  }
  return rows;
}

void StripChain::choose_bands() {
  constexpr size_t kBandsPerThread = 2; // for threads of different speed
  constexpr size_t kWorthwhile = 8; // of so many rows one may be made twice
  const size_t last = members_.size() - 1;
  const size_t images = members_[last].output[0], rows = members_[last].output[1];
  const size_t input_rows = members_[0].input[1];
  const auto per_image = [&](size_t bands) { return std::clamp<size_t>((bands + images - 1) / images, 1, rows); };
  first_ = 0;
  // That two neighbouring rows in the middle of the result both see.
  const size_t middle = rows / 2;
  const size_t above = middle > 0 ? seen(0, last, {middle - 1, middle}).end : 0;
  const size_t shared = above - std::min(above, seen(0, last, {middle, middle + 1}).begin);
  for (const size_t per_thread : {kBandsPerThread, size_t{1}}) {
    bands_ = num_threads_ == 1 ? 1 : per_image(per_thread * num_threads_);
    if (window_ == 0 || (bands_ - 1) * shared * kWorthwhile <= input_rows) {
      return;
    }
  }
  first_ = 1;
  bands_ = per_image(kBandsPerThread * num_threads_);
}

// How many bytes lie behind `member` at most while the last one makes a strip.
size_t StripChain::bytes_between(size_t member, size_t strip) const {
  const size_t last = members_.size() - 1, rows = members_[last].output[1];
  size_t most = 0;
  for (size_t row = 0; row < rows; ++row) {
    most = std::max(most, seen(member + 1, last, {row, std::min(rows, row + strip)}).count());
  }
  return bytes_of(most * line(member));
}

void StripChain::choose_strip(const Caches& caches) {
  constexpr size_t kMostRows = 8;
  whole_bytes_ = first_ == 0 ? 0 : bytes_of(members_[0].output.numel());
  for (strip_ = kMostRows;; strip_ /= 2) {
    band_bytes_ = 0;
    for (size_t m = first_; m + 1 < members_.size(); ++m) {
      offsets_[m] = band_bytes_;
      band_bytes_ += bytes_between(m, strip_);
    }
    if (strip_ == 1 || band_bytes_ <= caches.l2 / 2) {
      return;
    }
  }
}

void StripChain::run(Span<const KernelArguments> arguments, char* scratch, pthreadpool_t pool) {
  const Member& last = members_.back();
  const size_t images = last.output[0], rows = last.output[1];
  const float* input = arguments[0].input<float>(0);
  float* const output = arguments[members_.size() - 1].output<float>(0);
  std::fill(failures_.begin(), failures_.end(), Status());
  if (first_ > 0) {
    float* const whole = reinterpret_cast<float*>(scratch);
    make_whole(arguments, whole, pool);
    input = whole;
  }
  parallel_for_with_thread(pool, images * bands_, [&](size_t thread, size_t i) {
    const size_t image = i / bands_, b = i % bands_;
    Band band{};
    band.thread = thread;
    band.input = input + image * members_[first_].input.numel(1, 4);
    band.output = output + image * last.output.numel(1, 4);
    char* const memory = scratch + whole_bytes_ + thread * band_bytes_;
    for (size_t m = first_; m < members_.size(); ++m) {
      band.arguments[m] = arguments[m];
      band.arguments[m].status = &failures_[thread];
      band.between[m].data = reinterpret_cast<float*>(memory + offsets_[m]);
    }
    make_band(band, {rows * b / bands_, rows * (b + 1) / bands_});
  });
  for (Status& failure : failures_) {
    if (!failure.ok()) {
      *arguments[0].status = std::move(failure);
    }
  }
}

// The result of the first member, each row from the row at its place.
void StripChain::make_whole(Span<const KernelArguments> arguments, float* whole, pthreadpool_t pool) {
  const Member& first = members_[0];
  const float* const input = arguments[0].input<float>(0);
  const size_t rows = first.output[1], strips = (rows + strip_ - 1) / strip_;
  parallel_for_with_thread(pool, first.output[0] * strips, [&](size_t thread, size_t i) {
    const size_t image = i / strips, begin = i % strips * strip_;
    KernelArguments own = arguments[0];
    own.status = &failures_[thread];
    const RowRange made{begin, std::min(rows, begin + strip_)};
    float* const to = whole + (image * rows + begin) * line(0);
    first.kernel->run_strip(own, {thread, made, input + image * first.input.numel(1, 4), to});
  });
}

void StripChain::make_band(Band& band, RowRange rows) const {
  const size_t last = members_.size() - 1;
  for (size_t row = rows.begin; row < rows.end; row += strip_) {
    const RowRange strip{row, std::min(rows.end, row + strip_)};
    const float* const input = input_of(last, strip, band);
    members_[last].kernel->run_strip(band.arguments[last], {band.thread, strip, input, band.output + row * line(last)});
  }
}

// Makes what `rows` of the result of a member are made of, and returns where row 0 of that would be.
const float* StripChain::input_of(size_t member, RowRange rows, Band& band) const {
  if (member == first_) {
    return band.input;
  }
  const size_t before = member - 1, size = line(before);
  const RowRange needed = members_[member].kernel->rows_seen(rows);
  Between& between = band.between[before];
  const bool keeps = needed.begin >= between.rows.begin && needed.begin < between.rows.end;
  const size_t kept = keeps ? std::min(between.rows.end, needed.end) - needed.begin : 0;
  if (kept > 0) {
    std::memmove(between.data, between.data + (needed.begin - between.rows.begin) * size, kept * size * sizeof(float));
  }
  between.rows = needed;
  const RowRange missing{needed.begin + kept, needed.end};
  if (missing.count() > 0) {
    const float* const input = input_of(before, missing, band);
    members_[before].kernel->run_strip(
        band.arguments[before], {band.thread, missing, input, between.data + kept * size});
  }
  return between.data - needed.begin * size;
}

} // namespace executorch::backends::et_xnnpack
