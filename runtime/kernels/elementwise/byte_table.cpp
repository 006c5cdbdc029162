// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "byte_table.h"

#include <cstring>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/byte_table.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LookUp = void (*)(const uint8_t* table, const uint8_t* x, uint8_t* y, size_t count);

void look_up_one_by_one(const uint8_t* table, const uint8_t* x, uint8_t* y, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = table[x[i]];
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

// Rows of 16 entries for look_up_by_rows: each is the XOR of its entries and of the row before, so that the XOR of rows
// 0 to r is row r of the table. From row 8 on the eight rows before are added once more.
void prepare_rows(const uint8_t* entries, uint8_t* rows) {
  for (size_t i = 0; i < 256; ++i) {
    rows[i] = i < 16 ? entries[i] : entries[i] ^ entries[i - 16];
  }
  for (size_t i = 128; i < 256; ++i) {
    rows[i] ^= rows[i - 128];
  }
}

// The XOR of what each row has for x. The instruction takes the low four bits of an index, and gives 0 if the highest
// one is set. The index of row r is x - 16 * r:
// - below 128 it is negative for the rows after that of x, and stays so, because from row 8 on it does not go below
//   -128;
// - from 128 on it is negative up to row h of x - 128, and again after row h + 8. Rows h + 1 to 7 give rows 7 and h of
//   the table, and rows 8 to h + 8, with the eight rows before them, rows h + 8, 7 and h. What is left is row h + 8.
template <size_t kVectors>
HWY_INLINE void look_up_vectors(const uint8_t* rows, const uint8_t* x, uint8_t* y) {
  const hn::ScalableTag<uint8_t> u;
  const hn::RebindToSigned<decltype(u)> s;
  const size_t lanes = hn::Lanes(u);
  const auto step = hn::Set(s, 16);
  hn::Vec<decltype(s)> index[kVectors];
  hn::Vec<decltype(u)> sum[kVectors];
  const auto row = hn::LoadDup128(u, rows);
  HWY_UNROLL(4)
  for (size_t k = 0; k < kVectors; ++k) {
    const auto v = hn::LoadU(u, x + k * lanes);
    index[k] = hn::BitCast(s, v);
    sum[k] = hn::TableLookupBytesOr0(row, v);
  }
  HWY_UNROLL(15)
  for (size_t r = 1; r < 16; ++r) {
    const auto next = hn::LoadDup128(u, rows + 16 * r);
    HWY_UNROLL(4)
    for (size_t k = 0; k < kVectors; ++k) {
      index[k] = r <= 8 ? hn::Sub(index[k], step) : hn::SaturatedSub(index[k], step);
      sum[k] = hn::Xor(sum[k], hn::TableLookupBytesOr0(next, hn::BitCast(u, index[k])));
    }
  }
  HWY_UNROLL(4)
  for (size_t k = 0; k < kVectors; ++k) {
    hn::StoreU(sum[k], u, y + k * lanes);
  }
}

void look_up_by_rows(const uint8_t* rows, const uint8_t* x, uint8_t* y, size_t count) {
  constexpr size_t kVector = HWY_MAX_BYTES, kBlock = 4 * kVector;
  size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    look_up_vectors<4>(rows, x + i, y + i);
  }
  for (; i + kVector <= count; i += kVector) {
    look_up_vectors<1>(rows, x + i, y + i);
  }
  if (i < count) {
    uint8_t rest[kVector] = {};
    std::memcpy(rest, x + i, count - i);
    look_up_vectors<1>(rows, rest, rest);
    std::memcpy(y + i, rest, count - i);
  }
}

#endif

#if HWY_TARGET == HWY_AVX3

// Instead of the attributes around, as in byte_dot-inl.h.
HWY_POP_ATTRIBUTES
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR_AVX3 ",avx512vbmi")

HWY_INLINE __m512i look_up_vector(const __m512i (&table)[4], __m512i x) {
  const __m512i low = _mm512_permutex2var_epi8(table[0], x, table[1]);
  const __m512i high = _mm512_permutex2var_epi8(table[2], x, table[3]);
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
}

void look_up_by_permutation(const uint8_t* table, const uint8_t* x, uint8_t* y, size_t count) {
  const __m512i entries[] = {
      _mm512_loadu_si512(table),
      _mm512_loadu_si512(table + 64),
      _mm512_loadu_si512(table + 128),
      _mm512_loadu_si512(table + 192)};
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    _mm512_storeu_si512(y + i, look_up_vector(entries, _mm512_loadu_si512(x + i)));
  }
  if (i < count) {
    const __mmask64 mask = ~uint64_t{0} >> (64 - (count - i));
    _mm512_mask_storeu_epi8(y + i, mask, look_up_vector(entries, _mm512_maskz_loadu_epi8(mask, x + i)));
  }
}

HWY_POP_ATTRIBUTES
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR)

#endif

#if HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON_WITHOUT_AES

void look_up_by_quarters(const uint8_t* table, const uint8_t* x, uint8_t* y, size_t count) {
  uint8x16x4_t quarters[4];
  for (size_t q = 0; q < 4; ++q) {
    quarters[q] = vld1q_u8_x4(table + 64 * q);
  }
  const uint8x16_t step = vdupq_n_u8(64);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    uint8x16_t index = vld1q_u8(x + i);
    uint8x16_t sum = vqtbl4q_u8(quarters[0], index);
    for (size_t q = 1; q < 4; ++q) {
      index = vsubq_u8(index, step);
      sum = vqtbx4q_u8(sum, quarters[q], index);
    }
    vst1q_u8(y + i, sum);
  }
  look_up_one_by_one(table, x + i, y + i, count - i);
}

#endif

LookUp prepare_table(const uint8_t* entries, uint8_t* prepared) {
  std::memcpy(prepared, entries, 256);
#if HWY_TARGET == HWY_AVX3
  if (has_byte_permutation()) {
    return look_up_by_permutation;
  }
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  prepare_rows(entries, prepared);
  return look_up_by_rows;
#elif HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON_WITHOUT_AES
  return look_up_by_quarters;
#else
  return look_up_one_by_one;
#endif
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(prepare_table);

ByteTable::ByteTable(const Entries& entries)
    : look_up_(ETX_DISPATCH(prepare_table)(entries.data(), prepared_.data())) {}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
