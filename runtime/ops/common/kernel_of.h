// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// Runs a plain kernel, which knows parameters but no nodes, for a node. `kParameters` reads the parameters
// from a NodeContext and returns them, or a StatusOr if that can fail.
//
// Plain has
//   size_t reshape(const Parameters&, size_t num_threads);  or StatusOr<size_t>: bytes of scratch memory
//   void run(const KernelArguments&);
// if it wants constants in another layout, as in Kernel,
//   static std::optional<std::string> packed_layout(const Parameters&, size_t i);
//   static size_t packed_bytes(const Parameters&, size_t i);
//   static Status pack(const Parameters&, size_t i, const void* original, void* packed);
// and if that takes Float32 as other elements
//   static DType packed_from(const Parameters&);
// if it finds the size of its result in data
//   size_t find_size(const KernelArguments&);
// if it can give its output to a Tail
//   size_t tail_bytes(size_t num_threads) const;  of scratch memory, behind those that reshape() asks for
//   void run_into(const KernelArguments&, void* tail_scratch, const Tail&);
// if it can make strips of images
//   RowRange rows_seen(RowRange rows) const;
//   size_t strip_scratch(size_t rows) const;  of scratch memory for so many rows; if it needs any
//   void run_strip(const KernelArguments&, const Strip&);
// and if it works in place
//   size_t undo_bytes() const;
//   void undo(const KernelArguments&);
template <typename Plain, auto kParameters>
class KernelOf final : public Kernel {
 public:
  std::optional<std::string> packed_layout(const NodeContext& node, size_t i) const override {
    if constexpr (Packs<Plain>::value) {
      if (auto parameters = read(node); parameters.ok()) {
        return Plain::packed_layout(*parameters, i);
      }
    }
    return Kernel::packed_layout(node, i);
  }
  size_t packed_bytes(const NodeContext& node, size_t i) const override {
    if constexpr (Packs<Plain>::value) {
      if (auto parameters = read(node); parameters.ok()) {
        return Plain::packed_bytes(*parameters, i);
      }
    }
    return Kernel::packed_bytes(node, i);
  }
  Status pack(const NodeContext& node, size_t i, const void* original, void* packed) const override {
    if constexpr (Packs<Plain>::value) {
      ETX_ASSIGN_OR_RETURN(const auto parameters, read(node));
      return Plain::pack(parameters, i, original, packed);
    }
    return Kernel::pack(node, i, original, packed);
  }

  DType packed_from(const NodeContext& node, size_t i) const override {
    if constexpr (PacksOther<Plain>::value) {
      if (auto parameters = read(node); parameters.ok()) {
        return Plain::packed_from(*parameters);
      }
    }
    return Kernel::packed_from(node, i);
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    ETX_ASSIGN_OR_RETURN(const auto parameters, read(node));
    StatusOr<size_t> scratch = plain_.reshape(parameters, num_threads);
    scratch_ = scratch.ok() ? round_up_to_alignment(*scratch) : 0;
    return scratch;
  }
  size_t find_size(const KernelArguments& arguments) override {
    if constexpr (Finds<Plain>::value) {
      return plain_.find_size(arguments);
    }
    return Kernel::find_size(arguments);
  }
  void run(const KernelArguments& arguments) override {
    plain_.run(arguments);
  }

  size_t scratch_with_tail(size_t num_threads) const override {
    if constexpr (Leads<Plain>::value) {
      return scratch_ + plain_.tail_bytes(num_threads);
    }
    return Kernel::scratch_with_tail(num_threads);
  }
  void run_into(const KernelArguments& arguments, const Tail& tail) override {
    if constexpr (Leads<Plain>::value) {
      plain_.run_into(arguments, static_cast<char*>(arguments.scratch) + scratch_, tail);
    }
  }

  Status reshape_strips(const NodeContext& node, size_t num_threads) override {
    return reshape(node, num_threads).status();
  }
  RowRange rows_seen(RowRange rows) const override {
    if constexpr (MakesStrips<Plain>::value) {
      return plain_.rows_seen(rows);
    }
    return Kernel::rows_seen(rows);
  }
  size_t strip_scratch(size_t rows) const override {
    if constexpr (NeedsStripScratch<Plain>::value) {
      return plain_.strip_scratch(rows);
    }
    return Kernel::strip_scratch(rows);
  }
  void run_strip(const KernelArguments& arguments, const Strip& strip) override {
    if constexpr (MakesStrips<Plain>::value) {
      plain_.run_strip(arguments, strip);
    }
  }

  size_t undo_bytes() const override {
    if constexpr (Undoes<Plain>::value) {
      return plain_.undo_bytes();
    }
    return Kernel::undo_bytes();
  }
  void undo(const KernelArguments& arguments) override {
    if constexpr (Undoes<Plain>::value) {
      plain_.undo(arguments);
    }
  }

 private:
  template <typename T, typename = void>
  struct Packs : std::false_type {};
  template <typename T>
  struct Packs<T, std::void_t<decltype(&T::pack)>> : std::true_type {};

  template <typename T, typename = void>
  struct PacksOther : std::false_type {};
  template <typename T>
  struct PacksOther<T, std::void_t<decltype(&T::packed_from)>> : std::true_type {};

  template <typename T, typename = void>
  struct Finds : std::false_type {};
  template <typename T>
  struct Finds<T, std::void_t<decltype(&T::find_size)>> : std::true_type {};

  template <typename T, typename = void>
  struct Leads : std::false_type {};
  template <typename T>
  struct Leads<T, std::void_t<decltype(&T::run_into)>> : std::true_type {};

  template <typename T, typename = void>
  struct MakesStrips : std::false_type {};
  template <typename T>
  struct MakesStrips<T, std::void_t<decltype(&T::run_strip)>> : std::true_type {};

  template <typename T, typename = void>
  struct NeedsStripScratch : std::false_type {};
  template <typename T>
  struct NeedsStripScratch<T, std::void_t<decltype(&T::strip_scratch)>> : std::true_type {};

  template <typename T, typename = void>
  struct Undoes : std::false_type {};
  template <typename T>
  struct Undoes<T, std::void_t<decltype(&T::undo)>> : std::true_type {};

  template <typename T>
  struct Unwrapped {
    using Type = T;
  };
  template <typename T>
  struct Unwrapped<StatusOr<T>> {
    using Type = T;
  };
  using Parameters = typename Unwrapped<decltype(kParameters(std::declval<const NodeContext&>()))>::Type;

  static StatusOr<Parameters> read(const NodeContext& node) {
    return kParameters(node);
  }

  Plain plain_;
  size_t scratch_ = 0; // bytes that run() needs
};

template <typename Plain, auto kParameters>
std::unique_ptr<Kernel> make_kernel_of(const NodeContext&) {
  return std::make_unique<KernelOf<Plain, kParameters>>();
}

} // namespace executorch::backends::et_xnnpack
