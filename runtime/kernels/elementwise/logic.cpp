// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "logic.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/ops/op.h"
#include "runtime/kernels/common/broadcast.h"
#include "runtime/kernels/simd/half.h"
#include "logic_row.h"
#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BinaryKind;

constexpr size_t kGrain = 32768; // elements

// output[i] = function(a, b) over all elements. Function must be cheap to copy.
template <typename In, typename Out, typename Function>
void run_rows(const KernelArguments& arguments, const Broadcast<2>& broadcast, const Function& function) {
  const In* const a = arguments.input<In>(0);
  const In* const b = arguments.input<In>(1);
  Out* const y = arguments.output<Out>(0);
  const size_t size = broadcast.row_size();
  parallel_for(arguments.pool, broadcast.rows(), kGrain / (size + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const In* const p = a + broadcast.offset(0, row);
      const In* const q = b + broadcast.offset(1, row);
      Out* const to = y + row * size;
      if (broadcast.moves(0) && broadcast.moves(1)) {
        for (size_t i = 0; i < size; ++i) {
          to[i] = static_cast<Out>(function(p[i], q[i]));
        }
      } else if (broadcast.moves(0)) {
        for (size_t i = 0; i < size; ++i) {
          to[i] = static_cast<Out>(function(p[i], *q));
        }
      } else {
        for (size_t i = 0; i < size; ++i) {
          to[i] = static_cast<Out>(function(*p, q[broadcast.moves(1) ? i : 0]));
        }
      }
    }
  });
}

template <size_t N>
void run_rows(
    const KernelArguments& arguments,
    const Broadcast<N>& broadcast,
    const std::array<size_t, N>& sizes, // bytes of an element
    size_t result_size,
    RowFunction function) {
  const size_t size = broadcast.row_size();
  const size_t pieces = (size + kGrain - 1) / kGrain;
  const size_t rows = size == 0 ? 0 : broadcast.rows() * pieces;
  parallel_for(arguments.pool, rows, kGrain / std::min(kGrain, size + 1), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i / pieces, at = i % pieces * kGrain;
      RowOperand operands[N];
      for (size_t k = 0; k < N; ++k) {
        const size_t offset = broadcast.offset(k, row) + (broadcast.moves(k) ? at : 0);
        operands[k] = {arguments.input<char>(k) + offset * sizes[k], broadcast.moves(k)};
      }
      function(operands, arguments.output<char>(0) + (row * size + at) * result_size, std::min(kGrain, size - at));
    }
  });
}

class Compare final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const DType dtype = node.input(0).dtype;
    function_ = compare_row(node.attributes<schema::Compare>().kind(), dtype);
    element_size_ = element_size(dtype);
    broadcast_ = Broadcast<2>(node.output().shape, {node.input(0).shape, node.input(1).shape});
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    run_rows<2>(arguments, broadcast_, {element_size_, element_size_}, 1, function_);
  }

 private:
  RowFunction function_ = nullptr;
  size_t element_size_ = 0;
  Broadcast<2> broadcast_;
};

// Numbers that 32 bits hold are divided as such, which is much faster on many CPUs.
template <typename T>
bool are_short(T a, T b) {
  return sizeof(T) == 8 && ((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32) == 0;
}

// REQUIRES: b != 0
template <typename T>
T fmod(T a, T b) {
  if (are_short(a, b)) {
    return static_cast<T>(static_cast<uint32_t>(a) % static_cast<uint32_t>(b));
  }
  return b == T(-1) && std::is_signed_v<T> ? T(0) : static_cast<T>(a % b);
}
template <typename T>
T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
template <typename T>
T floor_div(T a, T b) {
  if (are_short(a, b)) {
    return static_cast<T>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
  }
  if (b == T(-1) && std::is_signed_v<T>) {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
  }
  return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
}

class IntegerBinary final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    kind_ = node.attributes<schema::Binary>().kind();
    dtype_ = node.input(0).dtype;
    broadcast_ = Broadcast<2>(node.output().shape, {node.input(0).shape, node.input(1).shape});
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const RowFunction function = integer_row(kind_, dtype_);
    if (function != nullptr) {
      const size_t size = element_size(dtype_);
      return run_rows<2>(arguments, broadcast_, {size, size}, size, function);
    }
    switch (dtype_) {
      case DType::Int32:
        return run_as<int32_t>(arguments);
      case DType::Int64:
        return run_as<int64_t>(arguments);
      case DType::Int8:
        return run_as<int8_t>(arguments);
      case DType::Bool:
      case DType::UInt8:
        return run_as<uint8_t>(arguments);
      case DType::Float32:
      case DType::Float16:
      case DType::BFloat16:
        break; // is not an integer
    }
  }

 private:
  template <typename T>
  void run_as(const KernelArguments& arguments) {
    switch (kind_) {
      case BinaryKind::FloorDiv:
        return divide<T>(arguments, [](T a, T b) { return floor_div(a, b); });
      case BinaryKind::Remainder:
        return divide<T>(arguments, [](T a, T b) { return remainder(a, b); });
      case BinaryKind::Fmod:
        return divide<T>(arguments, [](T a, T b) { return fmod(a, b); });
      case BinaryKind::Add:
      case BinaryKind::Sub:
      case BinaryKind::Mul:
      case BinaryKind::Maximum:
      case BinaryKind::Minimum:
      case BinaryKind::BitAnd:
      case BinaryKind::BitOr:
      case BinaryKind::BitXor:
        break; // is a row
      case BinaryKind::Div:
      case BinaryKind::Pow:
      case BinaryKind::Prelu:
      case BinaryKind::SquaredDifference:
      case BinaryKind::Atan2:
      case BinaryKind::Copysign:
        break; // of Float32 only
    }
  }

  template <typename T, typename Function>
  void divide(const KernelArguments& arguments, const Function& function) {
    std::atomic<bool> by_zero{false};
    run_rows<T, T>(arguments, broadcast_, [&](T a, T b) {
      if (b == 0) {
        by_zero.store(true, std::memory_order_relaxed);
        return T(0);
      }
      return function(a, b);
    });
    if (by_zero) {
      *arguments.status = failure(Error::InvalidArgument, "an integer is divided by zero");
    }
  }

  BinaryKind kind_ = BinaryKind::Add;
  DType dtype_ = DType::Int64;
  Broadcast<2> broadcast_;
};

class Where final : public Kernel {
 public:
  // Bits are moved, whatever they mean.
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    element_size_ = element_size(node.output().dtype);
    function_ = where_row(element_size_);
    broadcast_ = Broadcast<3>(node.output().shape, {node.input(0).shape, node.input(1).shape, node.input(2).shape});
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    run_rows<3>(arguments, broadcast_, {1, element_size_, element_size_}, element_size_, function_);
  }

 private:
  RowFunction function_ = nullptr;
  size_t element_size_ = 0;
  Broadcast<3> broadcast_;
};

template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_same_v<From, float> && std::is_integral_v<To> && sizeof(To) == 1) {
    return static_cast<To>(converted<int32_t>(x)); // as PyTorch does
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    // What x86 gives for a number out of range, instead of undefined behaviour.
    constexpr To kOutOfRange = std::numeric_limits<To>::min();
    constexpr float kLimit = -static_cast<float>(kOutOfRange);
    return x >= -kLimit && x < kLimit ? static_cast<To>(x) : kOutOfRange;
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To, typename Function>
void convert(const void* x, void* y, size_t count, const Function& function) {
  const From* const from = static_cast<const From*>(x);
  To* const to = static_cast<To*>(y);
  for (size_t i = 0; i < count; ++i) {
    to[i] = function(from[i]);
  }
}

// By way of Float32 if one of the types is a 16-bit float.
void convert(DType from, const void* x, DType to, void* y, size_t count) {
  if (from == to) {
    std::memcpy(y, x, count * element_size(to));
  } else if (is_reduced_float(from) && to == DType::Float32) {
    widen(from, x, static_cast<float*>(y), count);
  } else if (from == DType::Float32 && is_reduced_float(to)) {
    narrow(to, static_cast<const float*>(x), y, count);
  } else if (is_reduced_float(from) || is_reduced_float(to)) {
    constexpr size_t kBlock = 256;
    float block[kBlock];
    for (size_t i = 0; i < count; i += kBlock) {
      const size_t size = std::min(kBlock, count - i);
      convert(from, static_cast<const char*>(x) + i * element_size(from), DType::Float32, block, size);
      convert(DType::Float32, block, to, static_cast<char*>(y) + i * element_size(to), size);
    }
  } else {
    with_type(from, [&](auto a) {
      using From = decltype(a);
      if (to == DType::Bool) {
        return convert<From, bool>(x, y, count, [](From value) { return value != From(0); });
      }
      with_type(to, [&](auto b) {
        convert<From, decltype(b)>(x, y, count, [](From value) { return converted<decltype(b)>(value); });
      });
    });
  }
}

class Cast final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    from_ = node.input(0).dtype;
    to_ = node.output().dtype;
    count_ = node.output().shape.numel();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const size_t from = element_size(from_), to = element_size(to_);
    parallel_for(arguments.pool, count_, kGrain, [&](size_t begin, size_t end) {
      convert(from_, arguments.input<char>(0) + begin * from, to_, arguments.output<char>(0) + begin * to, end - begin);
    });
  }

 private:
  DType from_ = DType::Float32, to_ = DType::Float32;
  size_t count_ = 0;
};

class FusedCast final : public Row {
 public:
  FusedCast(DType from, DType to) : from_(from), to_(to) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    if (operands[0].moves) {
      return convert(from_, operands[0].data, to_, y, count);
    }
    convert(from_, operands[0].data, to_, y, 1);
    const size_t size = element_size(to_);
    for (size_t i = 1; i < count; ++i) {
      std::memcpy(static_cast<char*>(y) + i * size, y, size);
    }
  }

 private:
  DType from_, to_;
};

class Iota final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    count_ = node.output().shape.numel();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    int64_t* const y = arguments.output<int64_t>(0);
    for (size_t i = 0; i < count_; ++i) {
      y[i] = static_cast<int64_t>(i);
    }
  }

 private:
  size_t count_ = 0;
};

class SizeValue final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    value_ = node.sizes().resolve(node.attributes<schema::SizeValue>().size());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    *arguments.output<int64_t>(0) = value_;
  }

 private:
  int64_t value_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_compare(const NodeContext&) {
  return std::make_unique<Compare>();
}
std::unique_ptr<Kernel> make_where(const NodeContext&) {
  return std::make_unique<Where>();
}
std::unique_ptr<Row> make_compare_row(const NodeContext& node) {
  const DType dtype = node.input(0).dtype;
  if (is_reduced_float(dtype)) {
    return nullptr;
  }
  return std::make_unique<FunctionRow>(compare_row(node.attributes<schema::Compare>().kind(), dtype));
}
std::unique_ptr<Row> make_where_row(const NodeContext& node) {
  return std::make_unique<FunctionRow>(where_row(element_size(node.input(1).dtype)));
}
std::unique_ptr<Row> make_integer_row(const NodeContext& node) {
  const RowFunction function = integer_row(node.attributes<schema::Binary>().kind(), node.input(0).dtype);
  return function == nullptr ? nullptr : std::make_unique<FunctionRow>(function);
}
std::unique_ptr<Kernel> make_cast(const NodeContext&) {
  return std::make_unique<Cast>();
}
std::unique_ptr<Row> make_cast_row(const NodeContext& node) {
  return std::make_unique<FusedCast>(node.input(0).dtype, node.output().dtype);
}
std::unique_ptr<Kernel> make_iota(const NodeContext&) {
  return std::make_unique<Iota>();
}
std::unique_ptr<Kernel> make_size_value(const NodeContext&) {
  return std::make_unique<SizeValue>();
}
std::unique_ptr<Kernel> make_integer_binary(const NodeContext&) {
  return std::make_unique<IntegerBinary>();
}

} // namespace executorch::backends::et_xnnpack
