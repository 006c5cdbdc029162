// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "copy_piece.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/move/copy_piece.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/transpose-inl.h"
#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

template <size_t kUnit>
void copy_units(const CopyPiece& piece, const char* from, char* to) {
  const CopyAxis columns = piece.columns;
  for (size_t r = 0; r < piece.rows.size; ++r, from += piece.rows.from, to += piece.rows.to) {
    const char* source = from;
    char* target = to;
    for (size_t c = 0; c < columns.size; ++c, source += columns.from, target += columns.to) {
      std::memcpy(target, source, kUnit);
    }
  }
}

// For units of at least kStep bytes.
template <size_t kStep>
void copy_runs(const CopyPiece& piece, const char* from, char* to) {
  const CopyAxis columns = piece.columns;
  const size_t last = piece.unit - kStep;
  for (size_t r = 0; r < piece.rows.size; ++r, from += piece.rows.from, to += piece.rows.to) {
    const char* source = from;
    char* target = to;
    for (size_t c = 0; c < columns.size; ++c, source += columns.from, target += columns.to) {
      for (size_t i = 0; i < last; i += kStep) {
        std::memcpy(target + i, source + i, kStep);
      }
      std::memcpy(target + last, source + last, kStep);
    }
  }
}

void copy_long_runs(const CopyPiece& piece, const char* from, char* to) {
  for (size_t r = 0; r < piece.rows.size; ++r) {
    for (size_t c = 0; c < piece.columns.size; ++c) {
      std::memcpy(
          to + r * piece.rows.to + c * piece.columns.to,
          from + r * piece.rows.from + c * piece.columns.from,
          piece.unit);
    }
  }
}

// For columns that repeat one unit side by side.
template <typename Unit>
void fill_units(const CopyPiece& piece, const char* from, char* to) {
  const hn::ScalableTag<Unit> tag;
  const size_t lanes = hn::Lanes(tag);
  const size_t count = piece.columns.size;
  for (size_t r = 0; r < piece.rows.size; ++r, from += piece.rows.from, to += piece.rows.to) {
    Unit unit;
    std::memcpy(&unit, from, sizeof(unit));
    const auto v = hn::Set(tag, unit);
    size_t c = 0;
    for (; c + lanes <= count; c += lanes) {
      hn::StoreU(v, tag, reinterpret_cast<Unit*>(to + c * sizeof(Unit)));
    }
    for (; c < count; ++c) {
      std::memcpy(to + c * sizeof(Unit), &unit, sizeof(Unit));
    }
  }
}

// Source rows and target columns are dense.
template <size_t kUnit>
void transpose_units(const CopyPiece& piece, const char* from, char* to) {
  constexpr size_t kTile = 16;
  for (size_t r0 = 0; r0 < piece.rows.size; r0 += kTile) {
    const size_t rows = std::min(kTile, piece.rows.size - r0);
    for (size_t c0 = 0; c0 < piece.columns.size; c0 += kTile) {
      const CopyPiece tile{
          {rows, piece.rows.from, piece.rows.to},
          {std::min(kTile, piece.columns.size - c0), piece.columns.from, piece.columns.to},
          kUnit};
      copy_units<kUnit>(
          tile, from + r0 * piece.rows.from + c0 * piece.columns.from, to + r0 * piece.rows.to + c0 * piece.columns.to);
    }
  }
}

// Calls square(from, to) for squares of kSide units that cover the piece; the last ones overlap those before.
// REQUIRES: there are as many rows and columns
template <size_t kSide, typename Square>
HWY_INLINE void for_squares(const CopyPiece& piece, const char* from, char* to, const Square& square) {
  const CopyAxis rows = piece.rows, columns = piece.columns;
  const auto at = [&](size_t i, size_t j) HWY_ATTR {
    const size_t r = std::min(i, rows.size - kSide), c = std::min(j, columns.size - kSide);
    square(from + r * rows.from + c * columns.from, to + r * rows.to + c * columns.to);
  };
  // Along the side whose rows are farther apart.
  if (columns.from > rows.to) {
    for (size_t j = 0; j < columns.size; j += kSide) {
      for (size_t i = 0; i < rows.size; i += kSide) {
        at(i, j);
      }
    }
  } else {
    for (size_t i = 0; i < rows.size; i += kSide) {
      for (size_t j = 0; j < columns.size; j += kSide) {
        at(i, j);
      }
    }
  }
}

void transpose_part(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride) {
  const Floats f;
  Vector v[kLanes];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i) {
    v[i] = i < columns ? hn::LoadN(f, from + i * from_stride, rows) : hn::Zero(f);
  }
  transpose_square(v);
  for (size_t i = 0; i < rows; ++i) {
    hn::StoreN(v[i], f, to + i * to_stride, columns);
  }
}

// Like transpose_units<4>.
void transpose_floats(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const size_t rows = piece.rows.size, columns = piece.columns.size;
  const size_t from_stride = piece.columns.from / sizeof(float), to_stride = piece.rows.to / sizeof(float);
  if (rows >= kLanes && columns >= kLanes) {
    for_squares<kLanes>(piece, from_bytes, to_bytes, [=](const char* x, char* y) HWY_ATTR {
      const Floats f;
      Vector v[kLanes];
      HWY_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i) {
        v[i] = hn::LoadU(f, reinterpret_cast<const float*>(x) + i * from_stride);
      }
      transpose_square(v);
      HWY_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i) {
        hn::StoreU(v[i], f, reinterpret_cast<float*>(y) + i * to_stride);
      }
    });
    return;
  }
  const float* from = reinterpret_cast<const float*>(from_bytes);
  float* to = reinterpret_cast<float*>(to_bytes);
  for (size_t r = 0; r < rows; r += kLanes) {
    for (size_t c = 0; c < columns; c += kLanes) {
      transpose_part(
          from + r + c * from_stride,
          from_stride,
          std::min(kLanes, rows - r),
          std::min(kLanes, columns - c),
          to + r * to_stride + c,
          to_stride);
    }
  }
}

template <typename Unit, size_t kSide>
HWY_INLINE void transpose_squares(const CopyPiece& piece, const char* from, char* to) {
  const size_t from_stride = piece.columns.from / sizeof(Unit), to_stride = piece.rows.to / sizeof(Unit);
  for_squares<kSide>(piece, from, to, [=](const char* x, char* y) HWY_ATTR {
    const hn::FixedTag<Unit, kSide> tag;
    hn::Vec<decltype(tag)> v[kSide];
    HWY_UNROLL(16)
    for (size_t i = 0; i < kSide; ++i) {
      v[i] = hn::LoadU(tag, reinterpret_cast<const Unit*>(x) + i * from_stride);
    }
    transpose_halves(tag, v);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kSide; ++i) {
      hn::StoreU(v[i], tag, reinterpret_cast<Unit*>(y) + i * to_stride);
    }
  });
}

// Like transpose_units<sizeof(Unit)>, for units of 1 or 2 bytes that are aligned.
template <typename Unit>
void transpose_small_units(const CopyPiece& piece, const char* from, char* to) {
  constexpr size_t kSide = 16 / sizeof(Unit);
  const size_t least = std::min(piece.rows.size, piece.columns.size);
  if (least >= kSide) {
    transpose_squares<Unit, kSide>(piece, from, to);
  } else if (least >= kSide / 2) {
    transpose_squares<Unit, kSide / 2>(piece, from, to);
  } else {
    transpose_units<sizeof(Unit)>(piece, from, to);
  }
}

// Calls block(tag, i) for blocks of as many units as the tag has lanes that begin at i, which cover `count` units; the
// last ones may overlap. Whether there are enough units for that.
template <typename Unit, typename Block>
HWY_INLINE bool for_blocks(size_t count, const Block& block) {
  const hn::ScalableTag<Unit> whole;
  const hn::CappedTag<Unit, 16 / sizeof(Unit)> part;
  const size_t lanes = hn::Lanes(whole), part_lanes = hn::Lanes(part);
  if (count < part_lanes) {
    return false;
  }
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    block(whole, i);
  }
  for (; i < count; i += part_lanes) {
    block(part, std::min(i, count - part_lanes));
  }
  return true;
}

// Like transpose_units<sizeof(Unit)>, for kColumns columns and rows without gaps in the target.
template <typename Unit, size_t kColumns>
void interleave(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const size_t stride = piece.columns.from / sizeof(Unit);
  const Unit* from = reinterpret_cast<const Unit*>(from_bytes);
  Unit* to = reinterpret_cast<Unit*>(to_bytes);
  const bool done = for_blocks<Unit>(piece.rows.size, [=](auto tag, size_t r) HWY_ATTR {
    const auto column = [=](size_t c) HWY_ATTR { return hn::LoadU(tag, from + r + c * stride); };
    Unit* const block = to + kColumns * r;
    if constexpr (kColumns == 2) {
      hn::StoreInterleaved2(column(0), column(1), tag, block);
    } else if constexpr (kColumns == 3) {
      hn::StoreInterleaved3(column(0), column(1), column(2), tag, block);
    } else {
      hn::StoreInterleaved4(column(0), column(1), column(2), column(3), tag, block);
    }
  });
  if (!done) {
    transpose_units<sizeof(Unit)>(piece, from_bytes, to_bytes);
  }
}

// Like transpose_units<sizeof(Unit)>, for kRows rows and columns without gaps in the source.
template <typename Unit, size_t kRows>
void deinterleave(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const size_t stride = piece.rows.to / sizeof(Unit);
  const Unit* from = reinterpret_cast<const Unit*>(from_bytes);
  Unit* to = reinterpret_cast<Unit*>(to_bytes);
  const bool done = for_blocks<Unit>(piece.columns.size, [=](auto tag, size_t c) HWY_ATTR {
    hn::Vec<decltype(tag)> v[4];
    const Unit* const block = from + kRows * c;
    if constexpr (kRows == 2) {
      hn::LoadInterleaved2(tag, block, v[0], v[1]);
    } else if constexpr (kRows == 3) {
      hn::LoadInterleaved3(tag, block, v[0], v[1], v[2]);
    } else {
      hn::LoadInterleaved4(tag, block, v[0], v[1], v[2], v[3]);
    }
    HWY_UNROLL(4)
    for (size_t r = 0; r < kRows; ++r) {
      hn::StoreU(v[r], tag, to + c + r * stride);
    }
  });
  if (!done) {
    transpose_units<sizeof(Unit)>(piece, from_bytes, to_bytes);
  }
}

template <typename Unit>
void copy_indexed(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const size_t count = piece.rows.size * piece.columns.size;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(to_bytes + i * sizeof(Unit), from_bytes + size_t{piece.indices[i]} * sizeof(Unit), sizeof(Unit));
  }
}

// Null unless the piece interleaves. REQUIRES: units are aligned
template <typename Unit>
CopyFunction choose_interleaving(const CopyPiece& piece) {
  if (!interleaves(piece)) {
    return nullptr;
  }
  if (piece.rows.to == piece.columns.size * sizeof(Unit)) {
    switch (piece.columns.size) {
      case 2:
        return interleave<Unit, 2>;
      case 3:
        return interleave<Unit, 3>;
      case 4:
        return interleave<Unit, 4>;
    }
  }
  if (piece.columns.from == piece.rows.size * sizeof(Unit)) {
    switch (piece.rows.size) {
      case 2:
        return deinterleave<Unit, 2>;
      case 3:
        return deinterleave<Unit, 3>;
      case 4:
        return deinterleave<Unit, 4>;
    }
  }
  return nullptr;
}

CopyFunction choose_transposition(const CopyPiece& piece, size_t element_size) {
  CopyFunction interleaving = nullptr;
  switch (piece.unit) {
    case 1:
      interleaving = choose_interleaving<uint8_t>(piece);
      return interleaving != nullptr ? interleaving : transpose_small_units<uint8_t>;
    case 2:
      if (element_size < sizeof(uint16_t)) {
        return transpose_units<2>; // not aligned
      }
      interleaving = choose_interleaving<uint16_t>(piece);
      return interleaving != nullptr ? interleaving : transpose_small_units<uint16_t>;
    case 8:
      return transpose_units<8>;
    case 16:
      return transpose_units<16>;
  }
  if (element_size < sizeof(float)) {
    return transpose_units<4>; // not aligned
  }
  interleaving = choose_interleaving<float>(piece);
  return interleaving != nullptr ? interleaving : transpose_floats;
}

CopyFunction choose_piece_copy(const CopyPiece& piece, bool transposes, size_t element_size) {
  if (piece.indices != nullptr) {
    switch (piece.unit) {
      case 1:
        return copy_indexed<uint8_t>;
      case 2:
        return copy_indexed<uint16_t>;
      case 4:
        return copy_indexed<uint32_t>;
      default:
        return copy_indexed<uint64_t>;
    }
  }
  if (transposes) {
    return choose_transposition(piece, element_size);
  }
  if (piece.columns.from == 0 && piece.columns.to == piece.unit) {
    switch (piece.unit) {
      case 1:
        return fill_units<uint8_t>;
      case 2:
        return fill_units<uint16_t>;
      case 4:
        return fill_units<uint32_t>;
      case 8:
        return fill_units<uint64_t>;
    }
  }
  switch (piece.unit) {
    case 1:
      return copy_units<1>;
    case 2:
      return copy_units<2>;
    case 4:
      return copy_units<4>;
    case 8:
      return copy_units<8>;
    case 16:
      return copy_units<16>;
    case 32:
      return copy_units<32>;
  }
  return piece.unit > 1024 ? copy_long_runs
      : piece.unit >= 64   ? copy_runs<64>
      : piece.unit > 32    ? copy_runs<32>
      : piece.unit > 16    ? copy_runs<16>
      : piece.unit > 8     ? copy_runs<8>
      : piece.unit > 4     ? copy_runs<4>
                           : copy_runs<2>;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_piece_copy);

CopyFunction choose_copy(const CopyPiece& piece, bool transposes, size_t element_size) {
  return ETX_DISPATCH(choose_piece_copy)(piece, transposes, element_size);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
