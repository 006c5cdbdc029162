// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/kernels/elementwise/row.h"

namespace executorch::backends::et_xnnpack {

// What a choice depends on beside the node: what this CPU and this build of XNNPACK can do.
struct Cpu {
  bool float16 = false; // XNNPACK computes in Float16
  bool dynamic_quantization = false; // XNNPACK's products quantize their rows themselves
  bool bfloat16 = false; // our kernels multiply BFloat16 faster than Float32
  bool int8_sums = false; // our kernels have instructions that add up products of Int8
  bool int8_arithmetic_in_rows = false; // our sums and products of two tensors of Int8 are faster than XNNPACK's
  bool float32_windows = false; // our convolutions of Float32 of few channels are faster than XNNPACK's

  size_t short_softmax_rows = 0; // up to which size our softmax is faster than XNNPACK's
  size_t unpacked_rows = 0; // up to which our products of Float32 are faster than XNNPACK's if that has to pack

  // From how many bytes of weights on our products in blocks are faster than XNNPACK's tiles, each of which goes through all
  // of the weight.
  struct Blocks {
    static constexpr size_t kNever = std::numeric_limits<size_t>::max();

    size_t float32_linear = kNever, float32_conv = kNever;
    size_t int8_linear = kNever; // and convolutions that see one pixel
    size_t int8_conv = kNever; // that see more

    static Blocks of_this_process();
  };
  Blocks blocks;

  // Of this process.
  static const Cpu& get();
};

// Why products are in blocks (block_product.h).
constexpr const char* kInBlocks = "Blocks of rows and of depth stay in this CPU's second-level cache.";
constexpr const char* kInt8Blocks =
    "Blocks of pixels or rows stay in this CPU's second-level cache, and it adds up four products of 8 bits at once.";

struct ChoiceOptions {
  bool xnnpack = true; // false: operands may be empty, which XNNPACK does not take
  bool views = true; // false: the result needs memory of its own
  bool float16 = false; // computes in Float16 what XNNPACK has in that
  size_t winograd_tile = 0; // the largest that convolutions are computed in: 0, for sums of products, 2 or 4
  bool bfloat16 = false; // rounds both sides of products with constants, and of those of attention, to BFloat16
  // A type of 16 bits to which all that reads the first result rounds it.
  DType rounds_result_to = DType::Float32;
};

using MakeKernel = std::function<std::unique_ptr<Kernel>(const NodeContext& node)>;
using MakeRow = std::unique_ptr<Row> (*)(const NodeContext& node);
// `float16`: operands that are Float32 are Float16 tensors instead, but for constants.
using MakeXnnpackKernel = std::unique_ptr<Kernel> (*)(const NodeContext& node, bool float16);

// Who computes a node, and why: what an op's `choose` returns.
struct Choice {
  enum class Kind : uint8_t {
    View, // nobody: the result is operand 0
    Row, // a pass over memory that it may share with other elementwise nodes
    Kernel, // a kernel of ours
    Xnnpack,
  };

  Kind kind = Kind::Kernel;
  // A full sentence for those who ask why it is not another one.
  std::string reason;
  MakeKernel make; // not of a View; of a Row that is alone
  MakeXnnpackKernel make_xnnpack = nullptr; // of Xnnpack, by which `make` makes it
  // Of a Row, and of what can share a pass although it is faster elsewhere when it is alone.
  MakeRow row = nullptr;
  bool in_place = false; // whether the kernel may write output 0 where input 0 is
  bool float16 = false; // of Xnnpack: computes in Float16
  bool bfloat16 = false; // of Kernel: a product of operands that are rounded to BFloat16
  bool leads = false; // of Kernel: can give its output to a Tail
  // A kernel that can make output 0, an image, in strips from those of input 0; null if there is none.
  MakeKernel make_for_strips;
  bool has_window = false; // whether that sees other rows than the one that it makes
  // Of Kernel: inputs that may be of one of these types of 16 bits where the node takes Float32, if they all are.
  std::vector<uint32_t> reduced_inputs;
  std::vector<DType> reduced_types;

  static Choice view(std::string reason) {
    Choice choice;
    choice.kind = Kind::View;
    choice.reason = std::move(reason);
    return choice;
  }
  static Choice kernel(MakeKernel make, std::string reason) {
    Choice choice;
    choice.reason = std::move(reason);
    choice.make = std::move(make);
    return choice;
  }
  static Choice elementwise(MakeRow row, MakeKernel alone, std::string reason) {
    Choice choice = kernel(std::move(alone), std::move(reason));
    choice.kind = Kind::Row;
    choice.row = row;
    return choice;
  }
  static Choice xnnpack(MakeXnnpackKernel make_xnnpack, std::string reason) {
    Choice choice =
        kernel([=](const NodeContext& node) { return make_xnnpack(node, /*float16=*/false); }, std::move(reason));
    choice.kind = Kind::Xnnpack;
    choice.make_xnnpack = make_xnnpack;
    return choice;
  }
  // The same that may also share a pass with others, by this row; null: not.
  Choice or_row(MakeRow shared) && {
    row = shared;
    return std::move(*this);
  }
  // The same that may write where operand 0 is.
  Choice working_in_place() && {
    in_place = true;
    return std::move(*this);
  }
  // The same, said to multiply BFloat16. REQUIRES: Kernel
  Choice in_bfloat16(bool is_so = true) && {
    bfloat16 = is_so;
    return std::move(*this);
  }
  // The same that can give its output to a Tail, whose kernel has run_into(). REQUIRES: Kernel
  Choice leading() && {
    leads = true;
    return std::move(*this);
  }
  // The same that this kernel can make in strips.
  Choice in_strips(MakeKernel kernel, bool with_window) && {
    make_for_strips = std::move(kernel);
    has_window = with_window;
    return std::move(*this);
  }
  // The same whose kernel looks at the type of these inputs, which may all be of one of `types`. REQUIRES: Kernel
  Choice reading(std::vector<uint32_t> reduced, std::vector<DType> types) && {
    reduced_inputs = std::move(reduced);
    reduced_types = std::move(types);
    return std::move(*this);
  }
  // The same in Float16. REQUIRES: Xnnpack
  Choice in_float16() && {
    float16 = true;
    make = [xnnpack = make_xnnpack](const NodeContext& node) { return xnnpack(node, /*float16=*/true); };
    return std::move(*this);
  }
  // The same in Float32. REQUIRES: Xnnpack
  Choice in_float32() && {
    return Choice::xnnpack(make_xnnpack, std::move(reason)).or_row(row);
  }
};

// "kernel", "XNNPACK in Float16", ...
const char* name_of(const Choice& choice);

} // namespace executorch::backends::et_xnnpack
