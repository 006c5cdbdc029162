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

void transpose_tile(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride) {
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

HWY_INLINE void transpose_whole_tile(const float* from, size_t from_stride, float* to, size_t to_stride) {
  const Floats f;
  Vector v[kLanes];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i) {
    v[i] = hn::LoadU(f, from + i * from_stride);
  }
  transpose_square(v);
  HWY_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i) {
    hn::StoreU(v[i], f, to + i * to_stride);
  }
}

// Like transpose_units<4>.
void transpose_floats(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const float* from = reinterpret_cast<const float*>(from_bytes);
  float* to = reinterpret_cast<float*>(to_bytes);
  const size_t rows = piece.rows.size, columns = piece.columns.size;
  const size_t from_stride = piece.columns.from / sizeof(float), to_stride = piece.rows.to / sizeof(float);
  if (rows < kLanes || columns < kLanes) {
    for (size_t r = 0; r < rows; r += kLanes) {
      for (size_t c = 0; c < columns; c += kLanes) {
        transpose_tile(
            from + r + c * from_stride,
            from_stride,
            std::min(kLanes, rows - r),
            std::min(kLanes, columns - c),
            to + r * to_stride + c,
            to_stride);
      }
    }
    return;
  }
  // The last tiles overlap those before.
  const auto tile = [=](size_t i, size_t j) HWY_ATTR {
    const size_t r = std::min(i, rows - kLanes), c = std::min(j, columns - kLanes);
    transpose_whole_tile(from + r + c * from_stride, from_stride, to + r * to_stride + c, to_stride);
  };
  // Along the side whose rows are farther apart.
  if (from_stride > to_stride) {
    for (size_t j = 0; j < columns; j += kLanes) {
      for (size_t i = 0; i < rows; i += kLanes) {
        tile(i, j);
      }
    }
  } else {
    for (size_t i = 0; i < rows; i += kLanes) {
      for (size_t j = 0; j < columns; j += kLanes) {
        tile(i, j);
      }
    }
  }
}

// Like transpose_units<sizeof(Unit)>, for kColumns columns and rows without gaps in the target.
template <typename Unit, size_t kColumns>
void interleave(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const hn::ScalableTag<Unit> tag;
  const size_t lanes = hn::Lanes(tag), stride = piece.columns.from / sizeof(Unit);
  const Unit* from = reinterpret_cast<const Unit*>(from_bytes);
  Unit* to = reinterpret_cast<Unit*>(to_bytes);
  size_t r = 0;
  for (; r + lanes <= piece.rows.size; r += lanes, from += lanes, to += kColumns * lanes) {
    const auto v0 = hn::LoadU(tag, from), v1 = hn::LoadU(tag, from + stride);
    if constexpr (kColumns == 2) {
      hn::StoreInterleaved2(v0, v1, tag, to);
    } else if constexpr (kColumns == 3) {
      hn::StoreInterleaved3(v0, v1, hn::LoadU(tag, from + 2 * stride), tag, to);
    } else {
      hn::StoreInterleaved4(v0, v1, hn::LoadU(tag, from + 2 * stride), hn::LoadU(tag, from + 3 * stride), tag, to);
    }
  }
  for (; r < piece.rows.size; ++r, ++from, to += kColumns) {
    for (size_t c = 0; c < kColumns; ++c) {
      to[c] = from[c * stride];
    }
  }
}

// Like transpose_units<sizeof(Unit)>, for kRows rows and columns without gaps in the source.
template <typename Unit, size_t kRows>
void deinterleave(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const hn::ScalableTag<Unit> tag;
  const size_t lanes = hn::Lanes(tag), stride = piece.rows.to / sizeof(Unit);
  const Unit* from = reinterpret_cast<const Unit*>(from_bytes);
  Unit* to = reinterpret_cast<Unit*>(to_bytes);
  size_t c = 0;
  for (; c + lanes <= piece.columns.size; c += lanes, from += kRows * lanes, to += lanes) {
    hn::Vec<decltype(tag)> v[4];
    if constexpr (kRows == 2) {
      hn::LoadInterleaved2(tag, from, v[0], v[1]);
    } else if constexpr (kRows == 3) {
      hn::LoadInterleaved3(tag, from, v[0], v[1], v[2]);
    } else {
      hn::LoadInterleaved4(tag, from, v[0], v[1], v[2], v[3]);
    }
    HWY_UNROLL(4)
    for (size_t r = 0; r < kRows; ++r) {
      hn::StoreU(v[r], tag, to + r * stride);
    }
  }
  for (; c < piece.columns.size; ++c, from += kRows, ++to) {
    for (size_t r = 0; r < kRows; ++r) {
      to[r * stride] = from[r];
    }
  }
}

template <typename Unit>
void copy_indexed(const CopyPiece& piece, const char* from_bytes, char* to_bytes) {
  const size_t count = piece.rows.size * piece.columns.size;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(to_bytes + i * sizeof(Unit), from_bytes + size_t{piece.indices[i]} * sizeof(Unit), sizeof(Unit));
  }
}

// Null unless the piece interleaves and units are aligned.
template <typename Unit>
CopyFunction choose_interleaving(const CopyPiece& piece, size_t element_size) {
  if (element_size < sizeof(Unit) || !interleaves(piece)) {
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
      interleaving = choose_interleaving<uint8_t>(piece, element_size);
      return interleaving != nullptr ? interleaving : transpose_units<1>;
    case 2:
      interleaving = choose_interleaving<uint16_t>(piece, element_size);
      return interleaving != nullptr ? interleaving : transpose_units<2>;
    case 8:
      return transpose_units<8>;
    case 16:
      return transpose_units<16>;
  }
  if (element_size < sizeof(float)) {
    return transpose_units<4>; // not aligned
  }
  interleaving = choose_interleaving<float>(piece, element_size);
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
