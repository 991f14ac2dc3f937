// SPDX-License-Identifier: MIT
// Remembers what the thread records.
#include "grad/range.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "grad/place.h"
#include "graph/assign.h"
#include "graph/transfer.h"
#include "ops/promote.h"

#include <tessera/grad.h>

static TSRI_THREAD_LOCAL grad_range *open_range;

grad_range *tsri_grad_range(void) { return open_range; }

// --- Slots --------------------------------------------------------------------------------------------------------------

// An assignment's result is the memory that it writes to.
static const tsri_value *memory_of(const tsri_value *value) { return value->storage ? value->storage : value; }

static uint32_t place_of(const grad_range *range, const tsri_value *value) {
  uint64_t hash = (uint64_t)(uintptr_t)value * UINT64_C(0x9FB21C651E98DF25);
  uint32_t at = (uint32_t)(hash >> 32) & (range->table_room - 1);
  while (range->table[at] && range->slots[range->table[at] - 1].value != value) at = (at + 1) & (range->table_room - 1);
  return at;
}

grad_slot *tsri_grad_find(const grad_range *range, const tsri_value *value) {
  if (range->table_room == 0) return NULL;
  uint32_t number = range->table[place_of(range, memory_of(value))];
  return number ? &range->slots[number - 1] : NULL;
}

static bool fill_table(grad_range *range, uint32_t room) {
  uint32_t *table = tsri_calloc(room, sizeof *table);
  if (!table) return false;
  tsri_free(range->table);
  range->table = table;
  range->table_room = room;
  for (uint32_t i = 0; i < range->slot_count; i++) table[place_of(range, range->slots[i].value)] = i + 1;
  return true;
}

static bool make_room(void **items, uint32_t count, uint32_t *room, size_t bytes) {
  if (count < *room) return true;
  uint32_t larger = *room ? 2 * *room : 64;
  void *grown = tsri_realloc(*items, larger * bytes);
  if (!grown) return false;
  *items = grown;
  *room = larger;
  return true;
}

static bool no_memory(grad_range *range) {
  range->status = TSR_ERR_OUT_OF_MEMORY;
  return false;
}

// Adds a slot for a value that has none. The caller fills in the rest.
static grad_slot *add_slot(grad_range *range, const tsri_value *value, tsr_dtype dtype, tsr_shape shape) {
  bool has_room = make_room((void **)&range->slots, range->slot_count, &range->slot_room, sizeof *range->slots) &&
                  (2 * (range->slot_count + 1) <= range->table_room ||
                   fill_table(range, range->table_room ? 2 * range->table_room : 128));
  if (!has_room) {
    no_memory(range);
    return NULL;
  }
  range->table[place_of(range, value)] = range->slot_count + 1;
  grad_slot *slot = &range->slots[range->slot_count++];
  *slot = (grad_slot){.value = tsri_value_retain((tsri_value *)(uintptr_t)value),
                      .dtype = dtype,
                      .shape = shape,
                      .step = TSRI_NO_STEP,
                      .is_tracked = tsri_dtype_is_float(dtype)};
  return slot;
}

// --- Steps --------------------------------------------------------------------------------------------------------------

static void free_step(grad_step *step) {
  for (uint32_t i = 0; i < step->input_count; i++) tsri_value_release(step->inputs[i].value);
  tsri_free(step->inputs);
}

// Copies inputs and attributes into one allocation.
static bool add_step(grad_range *range, grad_step step, const tsri_input *inputs, const void *attributes,
                     size_t attribute_bytes) {
  if (!make_room((void **)&range->steps, range->step_count, &range->step_room, sizeof *range->steps)) {
    return no_memory(range);
  }
  size_t bytes = step.input_count * sizeof *inputs;
  step.inputs = tsri_malloc(bytes + attribute_bytes + 1);
  if (!step.inputs) return no_memory(range);
  memcpy(step.inputs, inputs, bytes);
  step.attributes = attribute_bytes ? (char *)step.inputs + bytes : NULL;
  if (attribute_bytes) memcpy(step.attributes, attributes, attribute_bytes);
  for (uint32_t i = 0; i < step.input_count; i++) {
    tsri_value_retain(inputs[i].value);
    grad_slot *slot = tsri_grad_find(range, inputs[i].value);
    if (slot) slot->is_used = true;
  }
  range->steps[range->step_count++] = step;
  return true;
}

static bool reads_tracked(const grad_range *range, const tsri_node *node) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    const grad_slot *slot = tsri_grad_find(range, node->inputs[i].value);
    if (slot && slot->is_tracked) return true;
  }
  return false;
}

static void mark_overwritten(grad_range *range, const tsri_value *value) {
  grad_slot *slot = tsri_grad_find(range, value);
  if (slot && (slot->is_used || slot->step != TSRI_NO_STEP)) slot->is_overwritten = true;
}

// A second or later result of an operator whose first result was remembered.
static void remember_result(grad_range *range, const tsri_node *node) {
  const grad_slot *first = tsri_grad_find(range, node->inputs[0].value);
  int64_t step = first ? first->step : TSRI_NO_STEP;
  if (step == TSRI_NO_STEP) return;
  grad_slot *slot = add_slot(range, &node->value, node->dtype, node->shape);
  if (!slot) return;
  slot->step = step;
  range->steps[step].outputs[node->axes] = range->slot_count - 1;
}

static void remember(grad_range *range, const tsri_node *node) {
  grad_step step = {.op = node->op,
                    .axes = node->axes,
                    .input_count = node->input_count,
                    .output_count = node->result_count,
                    .outputs = {range->slot_count}};
  size_t bytes = node->attributes ? tsri_op_attribute_bytes(node->op) : 0;
  if (!add_step(range, step, node->inputs, node->attributes, bytes)) return;
  grad_slot *slot = add_slot(range, &node->value, node->dtype, node->shape);
  if (slot) slot->step = range->step_count - 1;
}

static void recorded(tsri_watcher *watcher, const tsri_node *node) {
  grad_range *range = (grad_range *)watcher;
  if (node->op == &tsri_op_assign) {
    mark_overwritten(range, node->value.storage);
  } else if (range->pauses == 0 && node->op == &tsri_op_result) {
    remember_result(range, node);
  } else if (range->pauses == 0 && reads_tracked(range, node)) {
    remember(range, node);
  }
}

static void overwritten(tsri_watcher *watcher, const tsri_value *value) {
  mark_overwritten((grad_range *)watcher, value);
}

void tsri_grad_add_place(grad_range *range, const tsr_tensor *input, const tsr_tensor *output,
                         const tsri_layout *layout) {
  const grad_slot *from = tsri_grad_find(range, input->value);
  if (range->pauses || !from || !from->is_tracked) return;
  tsri_input read = {.value = input->value, .layout = input->layout, .dtype = input->dtype, .as = input->dtype};
  grad_step step = {.op = &tsri_op_place, .input_count = 1, .output_count = 1, .outputs = {range->slot_count}};
  if (!add_step(range, step, &read, layout, sizeof *layout)) return;
  grad_slot *slot = add_slot(range, output->value, output->dtype, output->layout.shape);
  if (slot) slot->step = range->step_count - 1;
}

// --- Life ---------------------------------------------------------------------------------------------------------------

void tsri_grad_forget(grad_range *range) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < range->step_count; i++) free_step(&range->steps[i]);
  range->step_count = 0;
  for (uint32_t i = 0; i < range->slot_count; i++) {
    grad_slot *slot = &range->slots[i];
    if (slot->step == TSRI_NO_STEP) {
      slot->is_used = slot->is_overwritten = false;
      range->slots[kept++] = *slot;
    } else {
      tsri_value_release(slot->value);
    }
  }
  range->slot_count = kept;
  if (range->table) memset(range->table, 0, range->table_room * sizeof *range->table);
  for (uint32_t i = 0; i < kept; i++) range->table[place_of(range, range->slots[i].value)] = i + 1;
}

static void end_range(void) {
  grad_range *range = open_range;
  tsri_watching = NULL;
  open_range = NULL;
  tsri_grad_forget(range);
  for (uint32_t i = 0; i < range->slot_count; i++) tsri_value_release(range->slots[i].value);
  tsri_free(range->slots);
  tsri_free(range->steps);
  tsri_free(range->table);
  tsri_free(range);
}

static tsri_thread_end end_of_thread = {.release = end_range};

tsr_status tsr_grad_begin(void) {
  if (open_range) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad_begin: this thread has a range open; end it first");
  open_range = tsri_calloc(1, sizeof *open_range);
  if (!open_range) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad_begin: no host memory for its record");
  open_range->watcher = (tsri_watcher){.recorded = recorded, .overwritten = overwritten};
  tsri_watching = &open_range->watcher;
  tsri_thread_end_set(&end_of_thread, true);
  return TSR_OK;
}

static tsr_status not_open(const char *caller) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: no range is open on this thread; call tsr_grad_begin first", caller);
}

tsr_status tsr_grad_end(void) {
  if (!open_range) return not_open("grad_end");
  end_range();
  tsri_thread_end_set(&end_of_thread, false);
  return TSR_OK;
}

// The shape in which the value's elements are row-major: the tensor's if it covers all of them in order, else a list.
static tsr_shape shape_of_memory(const tsr_tensor *x) {
  const tsr_buffer *buffer = tsri_tensor_buffer(x);
  int64_t count = buffer ? (int64_t)(tsr_buffer_bytes(buffer) / tsr_dtype_bytes(x->dtype))
                         : ((const tsri_node *)x->value)->count;  // pending: a node computes it
  bool is_whole = x->layout.count == count && x->layout.offset == 0 && tsri_layout_is_row_major(&x->layout);
  return is_whole ? x->layout.shape : TSR_SHAPE(count);
}

tsr_status tsr_grad_watch(tsr_tensor *x) {
  if (!open_range) return not_open("grad_watch");
  tsr_status status = tsri_tensor_check("grad_watch", x);
  if (status != TSR_OK) return status;
  if (!tsri_dtype_is_float(x->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "grad_watch: x is %s; only floats have gradients", tsr_dtype_name(x->dtype));
  }
  if (tsri_grad_find(open_range, x->value)) return TSR_OK;
  tsr_status before = open_range->status;
  if (add_slot(open_range, memory_of(x->value), x->dtype, shape_of_memory(x))) return TSR_OK;
  open_range->status = before;  // nothing that was recorded is missing because of this
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad_watch: no host memory for its record");
}

void tsri_grad_pause(grad_range *range) {
  if (range) range->pauses++;
}

void tsri_grad_resume(grad_range *range) {
  if (range && range->pauses > 0) range->pauses--;
}

void tsr_grad_pause(void) { tsri_grad_pause(open_range); }
void tsr_grad_resume(void) { tsri_grad_resume(open_range); }

tsr_tensor *tsr_stop_gradient(tsr_tensor *x) {
  tsr_status status = tsri_tensor_check("stop_gradient", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout packed = tsri_packed_layout(&x->layout);
  tsri_grad_pause(open_range);
  tsr_tensor *copy = tsri_record_copy(x, &packed);
  tsri_grad_resume(open_range);
  return copy;
}
