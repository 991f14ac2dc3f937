// SPDX-License-Identifier: MIT
// Remembers what the thread records.
#include "grad/range.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "grad/place.h"
#include "graph/assign.h"
#include "graph/transfer.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/grad.h>

static TSRI_THREAD_LOCAL grad_range *open_range;

grad_range *tsri_grad_range(void) { return open_range; }

bool tsri_grad_is_remembered(void) { return open_range && open_range->pauses == 0; }

// --- Slots --------------------------------------------------------------------------------------------------------------

// An assignment's result is the memory that it writes to.
static tsri_value *memory_of(const tsri_value *value) {
  return value->storage ? value->storage : (tsri_value *)(uintptr_t)value;
}

static uint32_t place_of(const grad_range *range, const tsri_value *value) {
  uint64_t hash = (uint64_t)(uintptr_t)value * UINT64_C(0x9FB21C651E98DF25);
  uint32_t at = (uint32_t)(hash >> 32) & (range->table_room - 1);
  while (range->table[at] && range->slots[range->table[at] - 1].value != value) at = (at + 1) & (range->table_room - 1);
  return at;
}

uint32_t tsri_grad_find(const grad_range *range, const tsri_value *value) {
  if (range->table_room == 0) return TSRI_NO_SLOT;
  uint32_t number = range->table[place_of(range, memory_of(value))];
  return number ? number - 1 : TSRI_NO_SLOT;
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

// Adds a slot, which becomes the current one of its memory. Returns its number.
static uint32_t add_slot(grad_range *range, const tsri_value *value, tsr_dtype dtype, tsr_shape shape, int64_t step) {
  bool has_room = make_room((void **)&range->slots, range->slot_count, &range->slot_room, sizeof *range->slots) &&
                  (2 * (range->slot_count + 1) <= range->table_room ||
                   fill_table(range, range->table_room ? 2 * range->table_room : 128));
  if (!has_room) {
    no_memory(range);
    return TSRI_NO_SLOT;
  }
  tsri_value *memory = memory_of(value);
  uint32_t at = place_of(range, memory);
  bool is_watched = range->table[at] && range->slots[range->table[at] - 1].is_watched;
  grad_slot slot = {.value = tsri_value_hold(memory),
                    .dtype = dtype,
                    .shape = shape,
                    .step = step,
                    .before = range->table[at] ? range->table[at] - 1 : TSRI_NO_SLOT,
                    .is_watched = is_watched,
                    .is_tracked = step != TSRI_NO_STEP && tsri_dtype_is_float(dtype),
                    .lost_from = 1};
  range->slots[range->slot_count] = slot;
  range->table[at] = ++range->slot_count;
  return range->slot_count - 1;
}

// How many elements the memory has.
static int64_t count_in(const tsri_value *memory, tsr_dtype dtype) {
  const tsr_buffer *buffer = tsri_value_buffer(memory);
  return buffer ? (int64_t)(tsr_buffer_bytes(buffer) / tsr_dtype_bytes(dtype))
                : ((const tsri_node *)memory)->count;  // pending: a node computes it
}

// The shape in which the memory's elements are row-major: the view's if it covers all of them in order, else a list.
static tsr_shape shape_of_memory(const tsri_value *memory, tsr_dtype dtype, const tsri_layout *view) {
  int64_t count = count_in(memory, dtype);
  bool is_whole = view->count == count && view->offset == 0 && tsri_layout_is_row_major(view);
  return is_whole ? view->shape : TSR_SHAPE(count);
}

// The slot of an input. Constants have one, too, so that overwriting them is noticed.
static uint32_t slot_of_input(grad_range *range, const tsri_input *input) {
  uint32_t number = tsri_grad_find(range, input->value);
  const tsri_value *memory = memory_of(input->value);
  if (number == TSRI_NO_SLOT) {
    number = add_slot(range, memory, input->dtype, shape_of_memory(memory, input->dtype, &input->layout), TSRI_NO_STEP);
  }
  if (number != TSRI_NO_SLOT) range->slots[number].reader_count++;
  return number;
}

// --- What was overwritten -------------------------------------------------------------------------------------------------

// Notes that elements `from` to `to` of the memory are overwritten: they are lost for all slots that the memory has so far.
static void lose_elements(grad_range *range, const tsri_value *value, int64_t from, int64_t to) {
  uint32_t number = tsri_grad_find(range, value);
  for (; number != TSRI_NO_SLOT; number = range->slots[number].before) {
    grad_slot *slot = &range->slots[number];
    bool is_first = slot->lost_from > slot->lost_to;
    slot->lost_from = is_first || from < slot->lost_from ? from : slot->lost_from;
    slot->lost_to = is_first || to > slot->lost_to ? to : slot->lost_to;
  }
}

// Call when watched memory is written to: it gets a new slot, by which gradients can be taken. If no step has read the current slot yet, that one is kept.
static void watch_anew(grad_range *range, const tsri_value *value) {
  uint32_t number = tsri_grad_find(range, value);
  if (number == TSRI_NO_SLOT || !range->slots[number].is_watched) return;
  grad_slot before = range->slots[number];
  if (before.reader_count == 0 && before.step == TSRI_NO_STEP) {
    range->slots[number].lost_from = 1;
    range->slots[number].lost_to = 0;
    return;
  }
  uint32_t now = add_slot(range, value, before.dtype, before.shape, TSRI_NO_STEP);
  if (now != TSRI_NO_SLOT) range->slots[now].is_tracked = true;
}

void tsri_grad_lose(grad_range *range, const tsri_value *value) {
  if (!make_room((void **)&range->lost, range->lost_count, &range->lost_room, sizeof *range->lost)) no_memory(range);
  else range->lost[range->lost_count++] = value;
}

static bool is_lost(const grad_range *range, const tsri_value *value) {
  for (uint32_t i = 0; i < range->lost_count; i++) {
    if (range->lost[i] == value) return true;
  }
  return false;
}

// Called for each node that a rule records. Sets has_read_lost if the node reads an overwritten value. Copies and casts are allowed, because rules convert inputs
// before they know whether they need them; their results then count as overwritten, too.
static void notice_lost(grad_range *range, const tsri_node *node) {
  bool is_conversion = node->op == &tsri_op_copy || node->op == TSRI_BODY(cast);
  for (uint32_t i = 0; i < node->input_count && range->lost_count > 0; i++) {
    if (!is_lost(range, node->inputs[i].value) && !is_lost(range, memory_of(node->inputs[i].value))) continue;
    if (is_conversion) tsri_grad_lose(range, &node->value);
    else range->has_read_lost = true;
    return;
  }
}

// --- Steps --------------------------------------------------------------------------------------------------------------

void tsri_grad_drop_step(grad_step *step) {
  for (uint32_t i = 0; i < step->input_count; i++) tsri_value_release(step->inputs[i].value);
  tsri_free(step->inputs);
  step->inputs = NULL;
  step->input_count = 0;
}

enum { ALIGNMENT = 16 };  // of the parts of a step's memory

static void *take_bytes(char **memory, size_t bytes) {
  void *taken = *memory;
  *memory += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return taken;
}

// Adds a step of these inputs; `views` of its results may be NULL. The caller adds the results' slots. The result is its number, or
// TSRI_NO_STEP.
static int64_t add_step(grad_range *range, grad_step step, const tsri_input *inputs, const tsri_layout *views,
                        const void *attributes, size_t attribute_bytes) {
  size_t in = step.input_count, out = step.output_count;
  if (!make_room((void **)&range->steps, range->step_count, &range->step_room, sizeof *range->steps)) {
    no_memory(range);
    return TSRI_NO_STEP;
  }
  size_t bytes = in * sizeof *inputs + (views ? out * sizeof *views : 0) + (in + out) * sizeof(uint32_t);
  char *memory = tsri_malloc(bytes + attribute_bytes + 5 * ALIGNMENT);
  if (!memory) {
    no_memory(range);
    return TSRI_NO_STEP;
  }
  step.inputs = take_bytes(&memory, in * sizeof *inputs);
  step.views = views ? take_bytes(&memory, out * sizeof *views) : NULL;
  step.from = take_bytes(&memory, in * sizeof *step.from);
  step.to = take_bytes(&memory, out * sizeof *step.to);
  step.attributes = attribute_bytes ? take_bytes(&memory, attribute_bytes) : NULL;
  if (views) memcpy(step.views, views, out * sizeof *views);
  if (attribute_bytes) memcpy(step.attributes, attributes, attribute_bytes);
  for (size_t i = 0; i < in; i++) {
    step.inputs[i] = inputs[i];
    step.inputs[i].value = tsri_value_retain(memory_of(inputs[i].value));
    step.from[i] = slot_of_input(range, &inputs[i]);
  }
  for (size_t i = 0; i < out; i++) step.to[i] = TSRI_NO_SLOT;
  range->steps[range->step_count] = step;
  return range->step_count++;
}

static bool is_tracked(const grad_range *range, const tsri_value *value) {
  uint32_t number = tsri_grad_find(range, value);
  return number != TSRI_NO_SLOT && range->slots[number].is_tracked;
}

static bool reads_tracked(const grad_range *range, const tsri_node *node) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (is_tracked(range, node->inputs[i].value)) return true;
  }
  return false;
}

static void add_result(grad_range *range, int64_t step, uint32_t index, const tsri_value *value, tsr_dtype dtype,
                       tsr_shape shape) {
  uint32_t slot = step == TSRI_NO_STEP ? TSRI_NO_SLOT : add_slot(range, value, dtype, shape, step);
  if (slot != TSRI_NO_SLOT) range->steps[step].to[index] = slot;
}

// A second or later result of an operator whose first result was remembered.
static void remember_result(grad_range *range, const tsri_node *node) {
  uint32_t first = tsri_grad_find(range, node->inputs[0].value);
  int64_t step = first == TSRI_NO_SLOT ? TSRI_NO_STEP : range->slots[first].step;
  add_result(range, step, node->axes, &node->value, node->dtype, node->shape);
}

static void remember(grad_range *range, const tsri_node *node) {
  grad_step step = {
      .op = node->op, .axes = node->axes, .input_count = node->input_count, .output_count = node->result_count};
  size_t bytes = node->attributes ? tsri_op_attribute_bytes(node->op) : 0;
  int64_t number = add_step(range, step, node->inputs, NULL, node->attributes, bytes);
  add_result(range, number, 0, &node->value, node->dtype, node->shape);
}

// Inputs of the step: the memory as it was, and what is written. Its attributes are the view that is written to.
static void remember_assignment(grad_range *range, const tsri_node *node) {
  const tsri_value *memory = node->value.storage;
  const tsri_layout *view = &node->inputs[0].layout;
  uint32_t now = tsri_grad_find(range, memory);
  tsr_shape shape = now == TSRI_NO_SLOT ? shape_of_memory(memory, node->dtype, view) : range->slots[now].shape;
  tsri_input inputs[2] = {node->inputs[0], node->inputs[1]};
  if (tsri_layout_init("grad", shape, node->dtype, &inputs[0].layout, NULL) != TSR_OK) return;
  grad_step step = {.op = node->op, .input_count = 2, .output_count = 1};
  int64_t number = add_step(range, step, inputs, NULL, view, sizeof *view);
  add_result(range, number, 0, memory, node->dtype, shape);
}

static void notice_assignment(grad_range *range, const tsri_node *node) {
  int64_t from = 0, to = 0;
  const tsri_value *memory = node->value.storage;
  tsri_layout_span(&node->inputs[0].layout, &from, &to);
  uint32_t now = tsri_grad_find(range, memory);
  bool is_watched = now != TSRI_NO_SLOT && range->slots[now].is_watched;
  bool is_remembered = range->pauses == 0 && (is_tracked(range, memory) || is_tracked(range, node->inputs[1].value));
  bool is_constant = range->pauses > 0 && is_tracked(range, memory) && !is_watched;
  lose_elements(range, memory, from, to);
  if (is_remembered || is_constant) remember_assignment(range, node);
  else if (is_watched) watch_anew(range, memory);
}

static void recorded(tsri_watcher *watcher, const tsri_node *node) {
  grad_range *range = (grad_range *)watcher;
  if (range->parent) recorded(&range->parent->watcher, node);
  if (range->lost_count > 0) notice_lost(range, node);
  if (node->op == &tsri_op_assign) notice_assignment(range, node);
  else if (range->pauses == 0 && node->op == &tsri_op_result) remember_result(range, node);
  else if (range->pauses == 0 && reads_tracked(range, node)) remember(range, node);
}

static void overwritten(tsri_watcher *watcher, const tsri_value *value) {
  grad_range *range = (grad_range *)watcher;
  if (range->parent) overwritten(&range->parent->watcher, value);
  lose_elements(range, value, 0, INT64_MAX);
  watch_anew(range, value);
}

static void whole_begin(tsri_watcher *watcher) {
  grad_range *range = (grad_range *)watcher;
  if (range->parent) whole_begin(&range->parent->watcher);
  tsri_grad_pause(range);
}

enum { MOST_PARTS = 64 };  // inputs, or results, of a whole

static tsri_input input_of(const tsr_tensor *x) {
  return (tsri_input){.value = x->value, .layout = x->layout, .dtype = x->dtype, .as = x->dtype};
}

static bool is_usable(const tsri_whole *whole) {
  bool is_usable = whole->input_count <= MOST_PARTS && whole->output_count <= MOST_PARTS;
  for (int i = 0; i < whole->input_count; i++) is_usable = is_usable && whole->inputs[i]->status == TSR_OK;
  for (int i = 0; i < whole->output_count; i++) is_usable = is_usable && whole->outputs[i]->status == TSR_OK;
  return is_usable;
}

static void whole_end(tsri_watcher *watcher, const tsri_whole *whole) {
  grad_range *range = (grad_range *)watcher;
  if (range->parent) whole_end(&range->parent->watcher, whole);
  tsri_grad_resume(range);
  bool is_read = false;
  if (range->pauses > 0 || !is_usable(whole)) return;
  tsri_input inputs[MOST_PARTS];
  tsri_layout views[MOST_PARTS];
  for (int i = 0; i < whole->input_count; i++) {
    inputs[i] = input_of(whole->inputs[i]);
    is_read = is_read || is_tracked(range, inputs[i].value);
  }
  if (!is_read) return;
  for (int i = 0; i < whole->output_count; i++) views[i] = whole->outputs[i]->layout;
  grad_step step = {
      .op = whole->op, .input_count = (uint32_t)whole->input_count, .output_count = (uint32_t)whole->output_count};
  int64_t number = add_step(range, step, inputs, views, whole->attributes, whole->attribute_bytes);
  for (int i = 0; i < whole->output_count; i++) {
    const tsr_tensor *y = whole->outputs[i];
    tsr_shape shape = shape_of_memory(memory_of(y->value), y->dtype, &y->layout);
    add_result(range, number, (uint32_t)i, y->value, y->dtype, shape);
  }
}

// --- Life ---------------------------------------------------------------------------------------------------------------

// Keeps the current slots of watched memory and forgets everything else.
void tsri_grad_forget(grad_range *range) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < range->step_count; i++) tsri_grad_drop_step(&range->steps[i]);
  range->step_count = 0;
  for (uint32_t i = 0; i < range->slot_count; i++) {
    grad_slot *slot = &range->slots[i];
    slot->is_asked = slot->is_watched && tsri_grad_find(range, slot->value) == i;
  }
  for (uint32_t i = 0; i < range->slot_count; i++) {
    grad_slot slot = range->slots[i];
    if (!slot.is_asked) {
      tsri_value_let_go(slot.value);
      continue;
    }
    range->slots[kept++] = (grad_slot){.value = slot.value,
                                       .dtype = slot.dtype,
                                       .shape = slot.shape,
                                       .step = TSRI_NO_STEP,
                                       .before = TSRI_NO_SLOT,
                                       .is_watched = true,
                                       .is_tracked = true,
                                       .lost_from = 1};
  }
  range->slot_count = kept;
  if (!range->table) return;  // there are no slots
  memset(range->table, 0, range->table_room * sizeof *range->table);
  for (uint32_t i = 0; i < kept; i++) range->table[place_of(range, range->slots[i].value)] = i + 1;
}

// --- Passes ---------------------------------------------------------------------------------------------------------------

static void begin_step(void) {
  static atomic_uint_fast64_t step_count;
  tsri_recording_pass = (atomic_fetch_add(&step_count, 1) + 1) << 1;
}

bool tsri_grad_pass_begin(void) {
  bool before = tsri_recording_pass & 1u;
  tsri_recording_pass |= 1u;
  return before;
}

void tsri_grad_pass_end(bool before, bool is_emptied) {
  if (before) return;
  tsri_recording_pass &= ~UINT64_C(1);
  if (is_emptied) begin_step();
}

// --- Opening and closing --------------------------------------------------------------------------------------------------

static grad_range *open_inside(grad_range *parent) {
  grad_range *range = tsri_calloc(1, sizeof *range);
  if (!range) return NULL;
  range->watcher = (tsri_watcher){
      .recorded = recorded, .overwritten = overwritten, .whole_begin = whole_begin, .whole_end = whole_end};
  range->parent = parent;
  open_range = range;
  tsri_watching = &range->watcher;
  return range;
}

static void close_innermost(void) {
  grad_range *range = open_range;
  open_range = range->parent;
  tsri_watching = open_range ? &open_range->watcher : NULL;
  tsri_grad_forget(range);
  for (uint32_t i = 0; i < range->slot_count; i++) tsri_value_let_go(range->slots[i].value);
  tsri_free(range->slots);
  tsri_free(range->steps);
  tsri_free(range->table);
  tsri_free(range->lost);
  tsri_free(range);
}

grad_range *tsri_grad_open_inner(void) { return open_inside(open_range); }
void tsri_grad_close_inner(void) { close_innermost(); }

static void end_range(void) {
  while (open_range) close_innermost();
}

static tsri_thread_end end_of_thread = {.release = end_range};

tsr_status tsr_grad_begin(void) {
  if (open_range) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad_begin: this thread has a range open; end it first");
  if (!open_inside(NULL)) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad_begin: no host memory for its record");
  begin_step();
  tsri_thread_end_set(&end_of_thread, true);
  return TSR_OK;
}

static tsr_status not_open(const char *caller) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: no range is open on this thread; call tsr_grad_begin first", caller);
}

tsr_status tsr_grad_end(void) {
  if (!open_range) return not_open("grad_end");
  if (open_range->parent) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad_end: inside of a function that tsr_checkpoint calls");
  }
  end_range();
  tsri_thread_end_set(&end_of_thread, false);
  return TSR_OK;
}

bool tsri_grad_add_watched(grad_range *range, const tsr_tensor *x) {
  if (is_tracked(range, x->value)) return true;
  tsr_status before = range->status;
  const tsri_value *memory = memory_of(x->value);
  uint32_t number = add_slot(range, memory, x->dtype, shape_of_memory(memory, x->dtype, &x->layout), TSRI_NO_STEP);
  if (number == TSRI_NO_SLOT) {
    range->status = before;  // nothing that was recorded is missing because of this
    return false;
  }
  range->slots[number].is_watched = range->slots[number].is_tracked = true;
  return true;
}

tsr_status tsr_grad_watch(tsr_tensor *x) {
  if (!open_range) return not_open("grad_watch");
  tsr_status status = tsri_tensor_check("grad_watch", x);
  if (status != TSR_OK) return status;
  if (!tsri_dtype_is_float(x->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "grad_watch: x is %s; only floats have gradients", tsr_dtype_name(x->dtype));
  }
  if (tsri_grad_add_watched(open_range, x)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad_watch: no host memory for its record");
}

void tsri_grad_pause(grad_range *range) {
  if (range) range->pauses++;
}

void tsri_grad_resume(grad_range *range) {
  if (range && range->pauses > 0) range->pauses--;
}

void tsr_grad_pause(void) {
  for (grad_range *range = open_range; range; range = range->parent) tsri_grad_pause(range);
}

void tsr_grad_resume(void) {
  for (grad_range *range = open_range; range; range = range->parent) tsri_grad_resume(range);
}

tsr_tensor *tsr_stop_gradient(tsr_tensor *x) {
  tsr_status status = tsri_tensor_check("stop_gradient", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout packed = tsri_packed_layout(&x->layout);
  tsr_grad_pause();
  tsr_tensor *copy = tsri_record_copy(x, &packed);
  tsr_grad_resume();
  return copy;
}
