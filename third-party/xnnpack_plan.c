/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "xnnpack.h"
#include "xnnpack/memory-planner.h"

/* After XNNPACK's header, which declares the function that this renames. */
#include "xnnpack_plan.h"

typedef struct xnn_usage_record record;

static size_t end_of(const record* value) {
  return value->alloc_offset + value->tensor_size;
}

static bool live_together(const record* a, const record* b) {
  return a->first_node <= b->last_node && b->first_node <= a->last_node;
}

static int by_size(const void* a, const void* b) {
  const record* x = *(record* const*)a;
  const record* y = *(record* const*)b;
  if (x->tensor_size != y->tensor_size) {
    return x->tensor_size > y->tensor_size ? -1 : 1;
  }
  return x < y ? -1 : x > y;
}

/* The lowest offset that is free while `value` lives. `placed` is in the order of offsets. */
static size_t lowest_place(const record* value, record* const* placed, size_t num_placed) {
  size_t offset = 0;
  for (size_t i = 0; i < num_placed; ++i) {
    if (!live_together(value, placed[i])) {
      continue;
    }
    if (placed[i]->alloc_offset >= offset && placed[i]->alloc_offset - offset >= value->tensor_size) {
      break;
    }
    offset = end_of(placed[i]) > offset ? end_of(placed[i]) : offset;
  }
  return offset;
}

static void insert(record* value, record** placed, size_t num_placed) {
  size_t i = num_placed;
  for (; i > 0 && placed[i - 1]->alloc_offset > value->alloc_offset; --i) {
    placed[i] = placed[i - 1];
  }
  placed[i] = value;
}

void et_xnnpack_plan_workspace(struct xnn_value_allocation_tracker* tracker) {
  tracker->mem_arena_size = 0;
  if (tracker->min_value_id == XNN_INVALID_VALUE_ID) {
    return;
  }
  record* const first = tracker->usage + tracker->min_value_id;
  const size_t count = tracker->max_value_id - tracker->min_value_id + 1;
  record** const values = malloc(2 * count * sizeof(record*));
  if (values == NULL) {
    /* All side by side take no list. */
    for (size_t i = 0; i < count; ++i) {
      first[i].alloc_offset = tracker->mem_arena_size;
      tracker->mem_arena_size += first[i].tensor_size;
    }
  } else {
    record** const placed = values + count;
    size_t num_values = 0;
    for (size_t i = 0; i < count; ++i) {
      if (first[i].tensor_size > 0) {
        values[num_values++] = first + i;
      }
    }
    qsort(values, num_values, sizeof(record*), by_size);
    for (size_t i = 0; i < num_values; ++i) {
      values[i]->alloc_offset = lowest_place(values[i], placed, i);
      insert(values[i], placed, i);
      if (end_of(values[i]) > tracker->mem_arena_size) {
        tracker->mem_arena_size = end_of(values[i]);
      }
    }
    free(values);
  }
  /* What an operator computes in place is where its operand is. */
  for (size_t i = 0; i < count; ++i) {
    if (first[i].reuse_value_id != XNN_INVALID_VALUE_ID) {
      first[i].alloc_offset = tracker->usage[first[i].reuse_value_id].alloc_offset;
    }
  }
}
