// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/index/find.h"
#include "runtime/kernels/index/index.h"
#include "runtime/kernels/index/scatter.h"
#include "runtime/kernels/index/suppress.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
IndexedCopyParameters index_parameters(const NodeContext& node);
GatherParameters gather_parameters(const NodeContext& node);
EmbeddingBagParameters embedding_bag_parameters(const NodeContext& node);
IndexPutParameters index_put_parameters(const NodeContext& node);
ScatterParameters scatter_parameters(const NodeContext& node);
SliceScatterParameters slice_scatter_parameters(const NodeContext& node);
MaskedScatterParameters masked_scatter_parameters(const NodeContext& node);
Shape nonzero_shape(const NodeContext& node);
RepeatIndicesParameters repeat_indices_parameters(const NodeContext& node);
NonMaxSuppressionParameters non_max_suppression_parameters(const NodeContext& node);

inline constexpr auto make_index = make_kernel_of<IndexedCopy, index_parameters>;
inline constexpr auto make_gather = make_kernel_of<Gather, gather_parameters>;
inline constexpr auto make_embedding_bag = make_kernel_of<EmbeddingBag, embedding_bag_parameters>;

// These write to parts of a tensor. All but make_masked_scatter may work in place.
inline constexpr auto make_index_put = make_kernel_of<IndexPut, index_put_parameters>;
inline constexpr auto make_scatter = make_kernel_of<Scatter, scatter_parameters>;
inline constexpr auto make_slice_scatter = make_kernel_of<SliceScatter, slice_scatter_parameters>;
inline constexpr auto make_masked_scatter = make_kernel_of<MaskedScatter, masked_scatter_parameters>;

// These find the size of their result.
inline constexpr auto make_nonzero = make_kernel_of<Nonzero, nonzero_shape>;
inline constexpr auto make_repeat_indices = make_kernel_of<RepeatIndices, repeat_indices_parameters>;
inline constexpr auto make_non_max_suppression = make_kernel_of<NonMaxSuppression, non_max_suppression_parameters>;

} // namespace executorch::backends::et_xnnpack
