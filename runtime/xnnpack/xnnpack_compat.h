// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What differs between XNNPACK versions or is not in its public header.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xnnpack.h>

// Flag for the creation of a runtime. Fusing is left to the passes ahead of time, as
// XNNPACK's overwrites parameters of the node that a clamp is fused into (its padding,
// if it is a convolution) and makes an empty range of two clamps that do not overlap.
#ifndef XNN_FLAG_NO_OPERATOR_FUSION
#define XNN_FLAG_NO_OPERATOR_FUSION 0x80000000
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Makes `runtime` run on another thread pool from now on. XNNPACK takes the pool when
// a runtime is created, but ExecuTorch may replace its pool between two calls. The
// caller must set up the runtime again before running it, as operators size their
// per-thread memory for the number of threads.
void et_xnnpack_set_threadpool(xnn_runtime_t runtime, pthreadpool_t pool);

// Makes the next et_xnnpack_reshape_runtime plan memory from scratch. By itself that plans again
// only when something grows, and so keeps writing an output over an input that by now is
// broadcast. Until then the runtime takes no part when another one moves the workspace that
// they share.
void et_xnnpack_forget_plan(xnn_runtime_t runtime);

// xnn_reshape_runtime that plans memory for the sizes that tensors have, if the plan was forgotten.
// By itself that plans for the largest that they ever had, the sizes they were defined with among them.
enum xnn_status et_xnnpack_reshape_runtime(xnn_runtime_t runtime);

// Nodes that were added to a subgraph until now.
size_t et_xnnpack_num_nodes(xnn_subgraph_t subgraph);

// The nanoseconds from the beginning of the last run to the end of each of these first nodes of the subgraph.
// REQUIRES: the runtime was created with XNN_FLAG_BASIC_PROFILING
void et_xnnpack_node_ends(xnn_runtime_t runtime, uint64_t* nanoseconds, size_t num_nodes);

// Bytes that XNNPACK holds for a workspace.
size_t et_xnnpack_workspace_bytes(xnn_workspace_t workspace);

// Gives them back. All runtimes that use the workspace forget their plan.
void et_xnnpack_release_workspace_memory(xnn_workspace_t workspace);

// How XNNPACK is going to pack the weights of a node.
struct et_xnnpack_packing {
  // All that the packed bytes depend on but the content of the operands. Comparable with
  // descriptions from the same build of XNNPACK on the same CPU.
  const void* description;
  size_t size;
  bool is_complete; // false if something else might matter, too
  // Values whose data is deferred, in the order of the node's inputs.
  const uint32_t* operands;
  size_t num_operands;
};

// A node of a runtime that lacks its operator. Good as long as the subgraph and the runtime live.
struct et_xnnpack_node {
  const struct xnn_node* node;
  const void* values;
  size_t num_values;
  void* opdata;
  void (*create)(void); // XNNPACK's own function, of another type
};

// A weights cache, and what becomes of nodes that have deferred operands.
struct et_xnnpack_packer {
  struct xnn_weights_cache_provider cache; // has to be the first
  void* context;
  // Called in place of creating such a node's operator.
  enum xnn_status (*defer)(void* context, const struct et_xnnpack_packing* packing, const struct et_xnnpack_node* node);
  // Which values are static but have no data yet; their address is never read.
  const bool* is_deferred;
  size_t num_values;
  const void* create; // for et_xnnpack_create_runtime
};

// xnn_create_runtime_v4 that defers the nodes whose weights have no data yet.
enum xnn_status et_xnnpack_create_runtime(
    xnn_subgraph_t subgraph,
    xnn_workspace_t workspace,
    uint32_t flags,
    struct et_xnnpack_packer* packer,
    xnn_runtime_t* runtime);

// Creates the operator of a deferred node. `data` is that of `operands`; null for those that
// nobody will read as the cache will find them packed. Several nodes may be created at the same time.
enum xnn_status et_xnnpack_create_node(
    const struct et_xnnpack_node* node,
    const uint32_t* operands,
    const void* const* data,
    size_t num_operands,
    struct xnn_weights_cache_provider* cache);

#ifdef __cplusplus
}
#endif
