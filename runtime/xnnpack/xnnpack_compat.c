// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_compat.h"

#include <stdlib.h>
#include <string.h>

#include "xnnpack/allocator.h"
#include "xnnpack/datatype.h"
#include "xnnpack/operator.h"
#include "xnnpack/subgraph.h"

void et_xnnpack_set_threadpool(xnn_runtime_t runtime, pthreadpool_t pool) {
  runtime->threadpool = pool;
}

void et_xnnpack_forget_plan(xnn_runtime_t runtime) {
  runtime->memory_planned = false;
  runtime->has_been_setup = false;
}

typedef __typeof__(*((struct xnn_runtime*)0)->values) runtime_value;

static bool is_in_workspace(const runtime_value* value) {
  return value->type != xnn_value_type_invalid && value->allocation_type == xnn_allocation_type_workspace;
}

static size_t bytes_of(const runtime_value* value) {
  size_t bits = xnn_datatype_size_bits(value->datatype);
  for (size_t i = 0; i < value->shape.num_dims; ++i) {
    bits *= value->shape.dim[i];
  }
  return (bits + 7) / 8;
}

// Has operators compute anew what they keep from reshape to reshape but do not check against every size that it
// depends on.
static void forget_earlier_sizes(xnn_runtime_t runtime) {
#ifndef XNN_FLAG_NO_BROADCAST // newer XNNPACK checks them all
  for (size_t i = 0; i < runtime->num_ops * XNN_MAX_OPERATOR_OBJECTS; ++i) {
    xnn_operator_t op = runtime->opdata[i / XNN_MAX_OPERATOR_OBJECTS].operator_objects[i % XNN_MAX_OPERATOR_OBJECTS];
    if (op == NULL) {
      continue;
    }
    // Addresses in the image, without regard to its channels.
    if (op->type == xnn_operator_type_max_pooling_nhwc_s8) {
      op->last_input_height = 0;
    }
    // A row of zero points for each image of a batch: as many as in the last one are given back, but as many as in the
    // next one are taken for the earlier ones.
    if (op->zero_buffers != NULL) {
      for (size_t image = 1; image < op->batch_size; ++image) {
        xnn_release_simd_memory(op->zero_buffers[image]);
      }
      xnn_release_memory(op->zero_buffers);
      op->zero_buffers = NULL;
      op->batch_size = 0;
      op->input_height = 0; // it makes new ones only for an image of another size
    }
  }
#endif
}

enum xnn_status et_xnnpack_reshape_runtime(xnn_runtime_t runtime) {
  if (runtime->memory_planned) {
    return xnn_reshape_runtime(runtime);
  }
  forget_earlier_sizes(runtime);
  for (size_t i = 0; i < runtime->num_values; ++i) {
    if (is_in_workspace(&runtime->values[i])) {
      runtime->values[i].size = 0;
    }
  }
  enum xnn_status status = xnn_reshape_runtime(runtime);
  // Operators enlarge what they make. Should one not, it has been planned for nothing.
  bool lacks_some = false;
  for (size_t i = 0; status == xnn_status_success && i < runtime->num_values; ++i) {
    runtime_value* value = &runtime->values[i];
    if (is_in_workspace(value) && value->size < bytes_of(value)) {
      value->size = bytes_of(value);
      lacks_some = true;
    }
  }
  if (lacks_some) {
    runtime->memory_planned = false;
    status = xnn_reshape_runtime(runtime);
  }
  return status;
}

size_t et_xnnpack_num_nodes(xnn_subgraph_t subgraph) {
  return subgraph->num_nodes;
}

static uint64_t nanoseconds_between(const xnn_timestamp* start, const xnn_timestamp* end) {
#ifdef __MACH__
  return *end - *start;
#else
  return (uint64_t)(end->tv_sec - start->tv_sec) * UINT64_C(1000000000) + (uint64_t)(end->tv_nsec - start->tv_nsec);
#endif
}

void et_xnnpack_node_ends(xnn_runtime_t runtime, uint64_t* nanoseconds, size_t num_nodes) {
  uint64_t last = 0;
  for (size_t i = 0; i < num_nodes; ++i) {
    for (size_t j = 0; i < runtime->num_ops && j < XNN_MAX_OPERATOR_OBJECTS; ++j) {
      if (runtime->opdata[i].operator_objects[j] != NULL) {
        last = nanoseconds_between(&runtime->start_ts, &runtime->opdata[i].end_ts[j]);
      }
    }
    nanoseconds[i] = last;
  }
}

size_t et_xnnpack_workspace_bytes(xnn_workspace_t workspace) {
  return workspace->size;
}

void et_xnnpack_release_workspace_memory(xnn_workspace_t workspace) {
  for (struct xnn_runtime* user = workspace->first_user; user != NULL; user = user->next_workspace_user) {
    et_xnnpack_forget_plan(user);
  }
  xnn_release_simd_memory(workspace->data);
  workspace->data = NULL;
  workspace->size = 0;
}

// Newer XNNPACK has no code cache.
#ifdef XNN_FLAG_NO_BROADCAST
#define CODE_CACHE_PARAMETER
#define CODE_CACHE_ARGUMENT
#else
#define CODE_CACHE_PARAMETER struct xnn_code_cache *code_cache __attribute__((unused)),
#define CODE_CACHE_ARGUMENT /*code_cache=*/ NULL,
#endif

// By type of node, XNNPACK's own functions while one runtime is created.
#define MAX_NODE_TYPES 256
#define MAX_OPERANDS 8

struct description {
  char* bytes; // null if there was no memory
  size_t size, capacity;
};

static void append(struct description* to, const void* bytes, size_t size) {
  if (to->size + size > to->capacity) {
    to->capacity = 2 * (to->size + size) + 256;
    char* grown = to->bytes == NULL && to->size > 0 ? NULL : realloc(to->bytes, to->capacity);
    if (grown == NULL) {
      free(to->bytes);
    }
    to->bytes = grown;
  }
  if (to->bytes != NULL) {
    memcpy(to->bytes + to->size, bytes, size);
  }
  to->size += size;
}

#define APPEND(to, field) append(to, &(field), sizeof(field))

static bool is_static_value(const runtime_value* value) {
  return value->allocation_type == xnn_allocation_type_static;
}

// Describes an operand but for its content. Returns whether that is all.
static bool describe_operand(struct description* to, const runtime_value* value) {
  const bool is_static = is_static_value(value);
  APPEND(to, value->datatype);
  APPEND(to, is_static);
  for (size_t i = 0; is_static && i < value->shape.num_dims; ++i) {
    APPEND(to, value->shape.dim[i]);
  }
  switch (value->datatype) {
    case xnn_datatype_fp32:
    case xnn_datatype_fp16:
    case xnn_datatype_int32:
      return true;
    case xnn_datatype_qint8:
    case xnn_datatype_quint8:
    case xnn_datatype_qint32:
      APPEND(to, value->quantization.zero_point);
      APPEND(to, value->quantization.scale);
      return true;
    case xnn_datatype_qdint8:
      APPEND(to, value->quantization.num_nonbatch_dims);
      return true;
    case xnn_datatype_qcint8:
    case xnn_datatype_qcint4:
    case xnn_datatype_qcint32: {
      const size_t axis = value->quantization.channel_dimension;
      APPEND(to, value->quantization.zero_point);
      APPEND(to, axis);
      append(to, value->quantization.channelwise_scale, value->shape.dim[axis] * sizeof(float));
      return true;
    }
    case xnn_datatype_qbint4: {
      const size_t weights = value->shape.dim[0] * value->shape.dim[1];
      const size_t block = value->quantization.block_size;
      APPEND(to, value->quantization.zero_point);
      APPEND(to, block);
      append(to, value->quantization.blockwise_scale, weights / block * sizeof(uint16_t));
      return true;
    }
    default:
      return false;
  }
}

// Inputs, then outputs.
static uint32_t operand(const struct xnn_node* node, uint32_t i) {
  return i < node->num_inputs ? node->inputs[i] : node->outputs[i - node->num_inputs];
}

static enum xnn_status defer_node(
    const struct xnn_node* node,
    const runtime_value* values,
    size_t num_values,
    struct xnn_operator_data* opdata,
    CODE_CACHE_PARAMETER xnn_weights_cache_t weights_cache) {
  const struct et_xnnpack_packer* packer = (const struct et_xnnpack_packer*)weights_cache;
  const xnn_create_operator_fn* create = packer->create;
  uint32_t operands[MAX_OPERANDS];
  struct description description = {0};
  struct et_xnnpack_packing packing = {.is_complete = true, .operands = operands};
  APPEND(&description, node->type);
  APPEND(&description, node->flags);
  APPEND(&description, node->params);
  for (uint32_t i = 0; i < node->num_inputs + node->num_outputs; ++i) {
    const uint32_t id = operand(node, i);
    const bool is_value = id < num_values;
    const bool is_deferred = is_value && id < packer->num_values && packer->is_deferred[id];
    APPEND(&description, is_value);
    APPEND(&description, is_deferred);
    if (is_value) {
      packing.is_complete &= describe_operand(&description, &values[id]);
      packing.is_complete &= is_deferred || !is_static_value(&values[id]);
    }
    if (is_deferred) {
      operands[packing.num_operands++] = id;
    }
  }
  if (description.bytes == NULL) {
    return xnn_status_out_of_memory;
  }
  packing.description = description.bytes;
  packing.size = description.size;
  const struct et_xnnpack_node deferred = {node, values, num_values, opdata, (void (*)(void))create[node->type]};
  const enum xnn_status status = packer->defer(packer->context, &packing, &deferred);
  free(description.bytes);
  return status;
}

enum xnn_status et_xnnpack_create_node(
    const struct et_xnnpack_node* deferred,
    const uint32_t* operands,
    const void* const* data,
    size_t num_operands,
    struct xnn_weights_cache_provider* cache) {
  const struct xnn_node* node = deferred->node;
  const runtime_value* values = deferred->values;
  // Those of the runtime belong to all of its nodes. Only operands are read.
  runtime_value* own = malloc(deferred->num_values * sizeof(runtime_value));
  if (own == NULL) {
    return xnn_status_out_of_memory;
  }
  for (uint32_t i = 0; i < node->num_inputs + node->num_outputs; ++i) {
    const uint32_t id = operand(node, i);
    if (id < deferred->num_values) {
      own[id] = values[id];
    }
  }
  for (size_t i = 0; i < num_operands; ++i) {
    if (data[i] != NULL) {
      own[operands[i]].data = (void*)(uintptr_t)data[i];
    }
  }
  const xnn_create_operator_fn create = (xnn_create_operator_fn)deferred->create;
  const enum xnn_status status = create(node, own, deferred->num_values, deferred->opdata, CODE_CACHE_ARGUMENT cache);
  free(own);
  return status;
}

static bool has_deferred_input(const struct xnn_node* node, const struct et_xnnpack_packer* packer) {
  for (uint32_t i = 0; i < node->num_inputs; ++i) {
    if (node->inputs[i] < packer->num_values && packer->is_deferred[node->inputs[i]]) {
      return true;
    }
  }
  return false;
}

enum xnn_status et_xnnpack_create_runtime(
    xnn_subgraph_t subgraph,
    xnn_workspace_t workspace,
    uint32_t flags,
    struct et_xnnpack_packer* packer,
    xnn_runtime_t* runtime) {
  xnn_create_operator_fn create[MAX_NODE_TYPES] = {0};
  for (uint32_t i = 0; i < subgraph->num_nodes; ++i) {
    struct xnn_node* node = &subgraph->nodes[i];
    if (!has_deferred_input(node, packer)) {
      continue;
    }
    const size_t type = (size_t)node->type;
    if (type >= MAX_NODE_TYPES || node->num_inputs > MAX_OPERANDS ||
        (create[type] != NULL && create[type] != node->create)) {
      return xnn_status_unsupported_parameter;
    }
    create[type] = node->create;
    node->create = defer_node;
  }
  packer->create = create;
  const enum xnn_status status =
      xnn_create_runtime_v4(subgraph, &packer->cache, workspace, /*threadpool=*/NULL, flags, runtime);
  packer->create = NULL;
  return status;
}
