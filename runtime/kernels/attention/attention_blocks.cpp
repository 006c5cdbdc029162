// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <algorithm>
#include <type_traits>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_blocks.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "bfloat16_products-inl.h"
#include "float32_products-inl.h"
#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Softmax(Q K^T) V for blocks of query rows. Keys are taken kKeys at a time: their scores against a panel of query rows
// stay in the caches, are turned into weights there, and multiply the values into the output rows. What has been summed
// up is scaled down whenever a later block of keys holds a higher score.

static_assert(kKeys % kTile == 0, "a block of keys is made of whole tiles");

// Where the parts of one thread's scratch memory begin, in floats, behind that of the products.
template <typename Products>
struct Layout {
  static constexpr size_t kPanelRows = Products::kPanelRows;
  // Numbers kept for each row take whole vectors for each panel.
  static constexpr size_t kPaddedRows = round_up(kPanelRows, kLanes);

  Layout(const AttentionProblem& p, size_t rows) {
    const size_t panels = divide_up(rows, kPanelRows);
    scores = round_up(Products::scratch(p, rows), kAligned);
    output = scores + kPanelRows * kKeys;
    highest = output + round_up(panels * kPanelRows * Products::output_stride(p), kAligned);
    total = highest + panels * kPaddedRows;
    end = round_up(total + panels * kPaddedRows, kAligned);
  }
  size_t scores, output, highest, total, end;
};

// Calls `run` with the kind of products as a type.
template <typename Run>
auto with_products(const AttentionProblem& p, const Run& run) {
  return p.bfloat16 ? run(std::common_type<BFloat16Products>()) : run(std::common_type<Float32Products>());
}

size_t attention_scratch(const AttentionProblem& problem, size_t rows) {
  return with_products(problem, [&](auto kind) { return Layout<typename decltype(kind)::type>(problem, rows).end; });
}

template <MaskKind kMask, typename Products>
void attend(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch) {
  constexpr size_t kPanelRows = Products::kPanelRows, kPaddedRows = Layout<Products>::kPaddedRows;
  const Floats f;
  const size_t rows = end - begin;
  const Layout<Products> layout(p, rows);
  const size_t output_stride = Products::output_stride(p);
  float* scores = scratch + layout.scores;
  float* output = scratch + layout.output;
  float* highest = scratch + layout.highest;
  float* total = scratch + layout.total;
  Products products(p, rows, scratch);

  products.set_queries(head, begin, rows);
  std::fill(highest, total, kLowest);
  std::fill(total, scratch + layout.end, 0.0f);

  uint16_t seen[AttentionBlocks::kMaxRows];
  bool has_output[AttentionBlocks::kMaxRows] = {}; // of the panel that begins with a row
  for (size_t k0 = 0; k0 < p.keys; k0 += kKeys) {
    size_t block = 0; // keys of this one that any row sees
    for (size_t r = 0; r < rows; ++r) {
      const size_t visible = p.visible(head, begin + r, k0, std::min(kKeys, p.keys - k0));
      seen[r] = static_cast<uint16_t>(visible);
      block = std::max(block, visible);
    }
    if (block == 0) {
      continue;
    }
    products.set_keys(head, k0, block);

    for (size_t r0 = 0; r0 < rows; r0 += kPanelRows) {
      const size_t panel = std::min(kPanelRows, rows - r0);
      size_t visible = 0;
      for (size_t r = 0; r < panel; ++r) {
        visible = std::max<size_t>(visible, seen[r0 + r]);
      }
      if (visible == 0) {
        continue;
      }
      const bool is_first = !has_output[r0];
      has_output[r0] = true;
      products.score(r0, panel, visible, scores);

      float* panel_highest = highest + r0 / kPanelRows * kPaddedRows;
      float* panel_total = total + r0 / kPanelRows * kPaddedRows;
      // What has been summed up so far is multiplied with this.
      HWY_ALIGN float keep[kPaddedRows];
      HWY_ALIGN float base[kPaddedRows] = {};
      for (size_t r = 0; r < panel; ++r) {
        const size_t row = begin + r0 + r;
        const RowMask mask = row_mask<kMask>(p, head, row, k0);
        base[r] = highest_score<kMask>(scores + r * kKeys, seen[r0 + r], mask, panel_highest[r]);
      }
      for (size_t r = 0; r < panel; r += kLanes) {
        const Vector top = hn::Load(f, base + r);
        const Vector finite = hn::IfThenZeroElse(hn::Eq(top, hn::Set(f, kLowest)), top);
        if (!is_first) {
          const Vector factor = exp_nonpositive(hn::Sub(hn::Load(f, panel_highest + r), finite));
          hn::Store(factor, f, keep + r);
          hn::Store(hn::Mul(hn::Load(f, panel_total + r), factor), f, panel_total + r);
        }
        hn::Store(top, f, panel_highest + r);
        hn::Store(finite, f, base + r);
      }
      for (size_t r = 0; r < panel; ++r) {
        panel_total[r] += weights_of(scores + r * kKeys, seen[r0 + r], Products::weights(visible), base[r]);
      }
      products.add_values(panel, visible, scores, is_first ? nullptr : keep, output + r0 * output_stride);
    }
  }

  for (size_t r = 0; r < rows; ++r) {
    float* to = p.output_data + p.row_offset(p.output, head, begin + r);
    const float* from = output + r * output_stride;
    const float sum = total[r / kPanelRows * kPaddedRows + r % kPanelRows];
    const bool empty = sum == 0;
    const Vector factor = hn::Set(f, empty ? 0 : 1 / sum);
    for (size_t c = 0; c < p.value.width; c += kLanes) {
      const size_t count = std::min(kLanes, p.value.width - c);
      const Vector y = empty ? hn::Zero(f) : hn::Mul(hn::LoadU(f, from + c), factor);
      if (count == kLanes) {
        hn::StoreU(y, f, to + c);
      } else {
        hn::StoreN(y, f, to + c, count);
      }
    }
  }
}

// Computes rows [begin, end) of the query rows that share key head `head`.
void attention_block(const AttentionProblem& problem, size_t head, size_t begin, size_t end, float* scratch) {
  with_mask(problem, [&](auto mask) {
    with_products(problem, [&](auto kind) {
      attend<decltype(mask)::value, typename decltype(kind)::type>(problem, head, begin, end, scratch);
    });
  });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(attention_scratch);
HWY_EXPORT(attention_block);

AttentionBlocks attention_blocks() {
  return {ETX_DISPATCH(attention_scratch), ETX_DISPATCH(attention_block)};
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
