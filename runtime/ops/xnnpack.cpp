// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack.h"

#include "runtime/ops/conv/xnnpack_conv.h"
#include "runtime/ops/elementwise/xnnpack_elementwise.h"
#include "runtime/ops/gemm/xnnpack_linear.h"
#include "runtime/ops/move/xnnpack_move.h"
#include "runtime/ops/pool/xnnpack_pool.h"
#include "runtime/ops/reduce/xnnpack_softmax.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_xnnpack_kernel(const NodeContext& node, bool float16) {
  switch (node.node().attributes_type()) {
    case schema::Attributes::Unary:
      return make_xnnpack_unary(node, float16);
    case schema::Attributes::Binary:
      return make_xnnpack_binary(node, float16);
    case schema::Attributes::Linear:
      return make_xnnpack_linear(node, float16);
    case schema::Attributes::QuantizedLinear:
      return make_xnnpack_quantized_linear(node);
    case schema::Attributes::BatchMatMul:
      return make_xnnpack_batch_matmul(node, float16);
    case schema::Attributes::Conv2d:
      return make_xnnpack_conv2d(node, float16);
    case schema::Attributes::ConvTranspose2d:
      return make_xnnpack_conv_transpose2d(node, float16);
    case schema::Attributes::AvgPool2d:
      return make_xnnpack_avg_pool2d(node, float16);
    case schema::Attributes::AdaptivePool2d:
      return make_xnnpack_adaptive_pool2d(node, float16);
    case schema::Attributes::MaxPool2d:
      return make_xnnpack_max_pool2d(node);
    case schema::Attributes::Softmax:
      return make_xnnpack_softmax(node);
    case schema::Attributes::Concat:
      return make_xnnpack_concat(node, float16);
    case schema::Attributes::Slice:
      return make_xnnpack_slice(node, float16);
    default:
      return nullptr;
  }
}

} // namespace executorch::backends::et_xnnpack
