// SPDX-License-Identifier: MIT
// The backend's graph of a tape: finds out which steps depend on which, and records all of them.
#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "runtime/tape_order.h"
#include "runtime/tape_steps.h"

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

// False: the backend records steps in order only, or host memory is out.
static bool find_order(const tsri_tape *tape, tsri_tape_order *out_order) {
  if (!tape->device->backend->graph_step || tape->step_count == 0) return false;
  tsri_step_memory *memory = tsri_calloc((size_t)tape->step_count, sizeof *memory);
  if (!memory) return false;
  for (int i = 0; i < tape->step_count; i++) memory[i] = memory_of(&tape->steps[i]);
  bool is_found = tsri_tape_order_init(out_order, memory, tape->step_count);
  tsri_free(memory);
  return is_found;
}

// Records the steps. With `order`, a step waits only for those that it depends on; NULL: for all before it.
static tsr_status record_graph(const tsri_tape *tape, tsri_queue *queue, const tsri_tape_order *order,
                               tsri_graph **out_graph) {
  const tsri_backend *backend = tape->device->backend;
  tsr_status status = backend->graph_begin(queue);
  if (status != TSR_OK) return status;
  for (int i = 0; i < tape->step_count && status == TSR_OK; i++) {
    if (order)
      status = backend->graph_step(queue, order->after + order->first[i], order->first[i + 1] - order->first[i]);
    if (status == TSR_OK) status = tsri_tape_play_step(tape->device, queue, &tape->steps[i]);
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
  tsri_tape_order order;
  tsr_status status = TSR_ERR_UNSUPPORTED;
  if (find_order(tape, &order)) {
    status = record_graph(tape, queue, &order, graph);
    tsri_tape_order_deinit(&order);
  }
  if (status != TSR_OK) status = record_graph(tape, queue, NULL, graph);
  tape->graph_failed = status != TSR_OK;
  if (tape->graph_failed)
    tsri_log(TSR_LOG_INFO, "capture: no graph of its own on %s: %s", backend->name, tsr_last_error());
}
