/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Lets XNNPACK's runtimes lay out their workspace with the planner below. XnnpackParts.cmake has the
 * compiler read this before the source that calls XNNPACK's.
 */

#ifdef __cplusplus
extern "C" {
#endif

struct xnn_value_allocation_tracker;

/*
 * Gives each value of the tracker the lowest place that is free while it lives, the largest values
 * first. XNNPACK's planner never goes back to what is free below the values that live.
 */
void et_xnnpack_plan_workspace(struct xnn_value_allocation_tracker* tracker);

#ifdef __cplusplus
}
#endif

#define xnn_plan_value_allocation_tracker(tracker) et_xnnpack_plan_workspace(tracker)
