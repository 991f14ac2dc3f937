// SPDX-License-Identifier: MIT
// The backend's graph of a tape: finds out which steps depend on which and which of them share a launch, and records all launches.
#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "runtime/tape_group.h"
#include "runtime/tape_order.h"
#include "runtime/tape_steps.h"

// --- Plans ---------------------------------------------------------------------------------------------------------------

static tsri_step_memory memory_of(const tape_step *step) {
  switch (step->kind) {
    case STEP_LAUNCH:
      return (tsri_step_memory){step->is.launch.launch.buffers, step->is.launch.launch.buffer_count};
    case STEP_FILL:
      return (tsri_step_memory){&step->is.fill.to, 1};
    case STEP_COPY:
      return (tsri_step_memory){step->is.copy, 2};
    case STEP_OP:
      return (tsri_step_memory){step->is.op.memory, step->is.op.count};
    case STEP_CALL:
      break;
  }
  return (tsri_step_memory){NULL, 0};
}

// How a graph is recorded: its launches, and the order among them.
typedef struct graph_plan {
  tsri_tape_launches launches;
  tsri_tape_order order;
} graph_plan;

static void plan_deinit(graph_plan *plan) {
  tsri_tape_launches_deinit(&plan->launches);
  tsri_tape_order_deinit(&plan->order);
}

// Finds the order of the launches, from the memory of all steps of each.
static bool order_launches(const tsri_tape *tape, const tsri_tape_launches *launches, tsri_tape_order *out_order) {
  size_t total = 0;
  for (int i = 0; i < tape->step_count; i++) total += memory_of(&tape->steps[i]).count;
  tsri_binding *ranges = tsri_calloc(total + 1, sizeof *ranges);
  tsri_step_memory *memory = tsri_calloc((size_t)launches->count, sizeof *memory);
  tsri_binding *next = ranges;
  for (int i = 0; ranges && memory && i < launches->count; i++) {
    memory[i].ranges = next;
    for (int j = launches->first[i]; j < launches->first[i + 1]; j++) {
      tsri_step_memory own = memory_of(&tape->steps[launches->steps[j]]);
      for (uint32_t k = 0; k < own.count; k++) *next++ = own.ranges[k];
    }
    memory[i].count = (uint32_t)(next - memory[i].ranges);
  }
  bool works = ranges && memory && tsri_tape_order_init(out_order, memory, launches->count);
  tsri_free(ranges);
  tsri_free(memory);
  return works;
}

// Asks the backend which steps can share a launch.
static void find_groups(const tsri_tape *tape, tsri_op_group *groups) {
  const tsri_backend *backend = tape->device->backend;
  for (int i = 0; backend->group_of && i < tape->step_count; i++) {
    const tape_step *step = &tape->steps[i];
    if (step->kind == STEP_OP) groups[i] = backend->group_of(tape->device->handle, step->is.op.op);
  }
}

// False: the backend records steps in order only, or host memory is out.
static bool plan_init(graph_plan *plan, const tsri_tape *tape) {
  *plan = (graph_plan){0};
  if (!tape->device->backend->graph_step || tape->step_count == 0) return false;
  tsri_step_memory *memory = tsri_calloc((size_t)tape->step_count, sizeof *memory);
  tsri_op_group *groups = tsri_calloc((size_t)tape->step_count, sizeof *groups);
  bool works = memory && groups;
  for (int i = 0; works && i < tape->step_count; i++) memory[i] = memory_of(&tape->steps[i]);
  works = works && tsri_tape_order_init(&plan->order, memory, tape->step_count);
  if (works) find_groups(tape, groups);
  works = works && tsri_tape_launches_init(&plan->launches, &plan->order, groups, tape->step_count);
  tsri_free(memory);
  tsri_free(groups);
  if (works && plan->launches.count < tape->step_count) {
    tsri_tape_order_deinit(&plan->order);
    works = order_launches(tape, &plan->launches, &plan->order);
  }
  if (!works) plan_deinit(plan);
  return works;
}

// --- Recording -------------------------------------------------------------------------------------------------------------

// Records operators that share a launch; one by one if the backend cannot.
static tsr_status record_group(const tsri_tape *tape, tsri_queue *queue, const int *steps, int count) {
  const tsri_native_op *ops[TSRI_MOST_GROUPED];
  for (int i = 0; i < count; i++) ops[i] = tape->steps[steps[i]].is.op.op;
  tsr_status status = tape->device->backend->run_ops(queue, ops, count);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tape->device->backend->run_op(queue, ops[i]);
  return status;
}

static tsr_status record_launch(const tsri_tape *tape, tsri_queue *queue, const graph_plan *plan, int launch) {
  const tsri_tape_order *order = &plan->order;
  const int *steps = plan->launches.steps + plan->launches.first[launch];
  int count = plan->launches.first[launch + 1] - plan->launches.first[launch];
  tsr_status status = tape->device->backend->graph_step(queue, order->after + order->first[launch],
                                                        order->first[launch + 1] - order->first[launch]);
  if (status != TSR_OK) return status;
  if (count > 1) return record_group(tape, queue, steps, count);
  return tsri_tape_play_step(tape->device, queue, &tape->steps[steps[0]]);
}

// Records the steps. With a plan, a launch waits only for those that it depends on; NULL: each step is a launch that waits for all before it.
static tsr_status record_graph(const tsri_tape *tape, tsri_queue *queue, const graph_plan *plan,
                               tsri_graph **out_graph) {
  const tsri_backend *backend = tape->device->backend;
  tsr_status status = backend->graph_begin(queue);
  if (status != TSR_OK) return status;
  int count = plan ? plan->launches.count : tape->step_count;
  for (int i = 0; i < count && status == TSR_OK; i++) {
    status = plan ? record_launch(tape, queue, plan, i) : tsri_tape_play_step(tape->device, queue, &tape->steps[i]);
  }
  tsr_status ended = backend->graph_end(queue, out_graph);
  if (status == TSR_OK || ended != TSR_OK) return status == TSR_OK ? ended : status;
  backend->graph_destroy(tape->device->handle, *out_graph);
  *out_graph = NULL;
  return status;
}

// A graph cannot hold a call.
void tsri_tape_make_graph(tsri_tape *tape, tsri_queue *queue, tsri_graph **graph) {
  const tsri_backend *backend = tape->device->backend;
  if (!backend->graph_begin || *graph || tape->graph_failed || tape->has_calls) return;
  graph_plan plan;
  tsr_status status = TSR_ERR_UNSUPPORTED;
  if (plan_init(&plan, tape)) {
    status = record_graph(tape, queue, &plan, graph);
    tape->launch_count = plan.launches.count;
    plan_deinit(&plan);
  }
  if (status != TSR_OK) {
    status = record_graph(tape, queue, NULL, graph);
    tape->launch_count = tape->step_count;
  }
  tape->graph_failed = status != TSR_OK;
  if (tape->graph_failed)
    tsri_log(TSR_LOG_INFO, "capture: no graph of its own on %s: %s", backend->name, tsr_last_error());
}
