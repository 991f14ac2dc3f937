// SPDX-License-Identifier: MIT
#include "graph/single.h"

#include <string.h>

#include "graph/assign.h"
#include "graph/compose.h"
#include "graph/node.h"
#include "graph/number.h"
#include "runtime/native_op.h"

// --- Forms ------------------------------------------------------------------------------------------------------------

static void put_word(tsri_single_form *form, uint64_t word) {
  uint64_t hash = (form->hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  form->hash = hash ^ hash >> 29;
  form->words[form->word_count++] = word;
}

static bool has_room(const tsri_single_form *form, size_t words) {
  return form->word_count + words <= TSRI_SINGLE_WORDS;
}

// The attributes are compared byte by byte, as the planner does to find equal nodes.
static bool put_attributes(tsri_single_form *form, const tsri_node *node) {
  size_t bytes = node->attributes ? tsri_op_attribute_bytes(node->op) : 0;
  if (!has_room(form, (bytes + 7) / 8)) return false;
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, (const char *)node->attributes + i, bytes - i < sizeof word ? bytes - i : sizeof word);
    put_word(form, word);
  }
  return true;
}

static void put_layout(tsri_single_form *form, const tsri_layout *layout) {
  put_word(form, (uint64_t)layout->offset);
  for (int i = 0; i < layout->shape.rank; i++) {
    put_word(form, (uint64_t)layout->shape.dims[i]);
    put_word(form, (uint64_t)layout->strides[i]);
  }
}

// Adds a buffer, unless the form has it, and returns its index in form->inputs; TSRI_SINGLE_INPUTS if there are too many.
static uint32_t number_buffer(tsri_single_form *form, tsr_buffer *buffer) {
  uint32_t i = 0;
  while (i < form->input_count && form->inputs[i] != buffer) i++;
  if (i == form->input_count && i < TSRI_SINGLE_INPUTS) {
    form->inputs[form->input_count++] = buffer;
    form->input_places[i] = (tsri_step_buffer){buffer, buffer->handle, buffer->offset, buffer->bytes};
  }
  return i;
}

// Adds a pending node, unless the form has it, and returns its index in form->nodes; TSRI_SINGLE_NODES if there are too many.
static uint32_t number_node(tsri_single_form *form, const tsri_node *node) {
  uint32_t i = 0;
  while (i < form->node_count && form->nodes[i] != node) i++;
  if (i == TSRI_SINGLE_NODES) return i;
  if (i == form->node_count) {
    form->nodes[form->node_count++] = node;
    form->readers[i] = 0;
  }
  form->readers[i]++;
  return i;
}

// Adds the words of one input. They include the index of its buffer, because an operator may run other steps if two inputs are the same buffer; and the
// buffer's offset modulo the binding alignment, because a kernel binds an aligned address and has the distance to the first element as a parameter.
static bool put_input(tsri_single_form *form, const tsri_input *input) {
  enum { ALIGNMENT = 256, IS_PENDING = 0x80 };  // no device requires a larger binding alignment
  tsr_buffer *buffer = tsri_value_buffer(input->value);
  uint32_t rank = (uint32_t)input->layout.shape.rank;
  if (!has_room(form, 2 + 2 * rank)) return false;
  uint32_t number = buffer ? number_buffer(form, buffer) : number_node(form, tsri_pending_node(input->value));
  if (number == (buffer ? (uint32_t)TSRI_SINGLE_INPUTS : (uint32_t)TSRI_SINGLE_NODES)) return false;
  uint64_t from = buffer ? number | (uint64_t)(buffer->offset % ALIGNMENT) << 8 : number | IS_PENDING;
  put_word(form, (uint64_t)input->dtype | (uint64_t)input->as << 8 | (uint64_t)rank << 16 | from << 24);
  put_layout(form, &input->layout);
  return true;
}

// Adds the sizes of the results of an operator with a kernel of its own: they may be neither attributes nor follow from the inputs, such as the k of topk.
static bool put_shapes(tsri_single_form *form, const tsri_node *node) {
  if (node->op->kind != TSRI_OP_KERNEL) return true;
  if (!has_room(form, (size_t)node->shape.rank + 1 + node->result_count)) return false;
  put_word(form, (uint64_t)node->shape.rank);
  for (int i = 0; i < node->shape.rank; i++) put_word(form, (uint64_t)node->shape.dims[i]);
  for (uint32_t i = 1; i < node->result_count; i++) put_word(form, node->results[i].bytes);
  return true;
}

// Adds the words of one node. False if such a node is not cached. Assignments are not, because they write into the memory of their target and must run after
// the readers of its old elements; nor are nodes without inputs other than numbers and sequences, such as random ones.
static bool put_node(tsri_single_form *form, const tsri_node *node) {
  if (node->tape || node->count == 0) return false;
  if (node->input_count == 0 && node->op != &tsri_op_number && !node->op->is_sequence) return false;
  if (node->op == &tsri_op_assign || node->op == &tsri_op_result || !has_room(form, 2)) return false;
  bool is_kernel = node->op->kind == TSRI_OP_ELEMENTWISE && node->op != &tsri_op_copy;
  form->is_repeat = form->is_repeat && is_kernel;
  put_word(form, (uint64_t)(uintptr_t)node->op);
  put_word(form, (uint64_t)node->dtype | (uint64_t)node->input_count << 8 | (uint64_t)node->axes << 32);
  if (!put_attributes(form, node) || !put_shapes(form, node)) return false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_input *input = &node->inputs[i];
    if (!put_input(form, input)) return false;
    form->is_repeat = form->is_repeat && tsri_layout_is_identity(&input->layout, node->count);
  }
  return true;
}

// Whether only nodes of the form refer to the nodes before the root. The cached steps publish the root's elements alone, so any other user of such a node would
// find it still pending and compute it a second time. (Another result of such a node refers to it.) A number need not be computed.
static bool is_alone(const tsri_single_form *form) {
  for (uint32_t i = 1; i < form->node_count; i++) {
    if (form->nodes[i]->op == &tsri_op_number) continue;
    if (tsri_value_refs(&form->nodes[i]->value) != form->readers[i]) return false;
  }
  return true;
}

bool tsri_single_describe(const tsri_node *node, tsri_single_form *out) {
  if (node->depth > TSRI_SINGLE_NODES) return false;
  out->nodes[0] = node;
  out->node_count = 1;
  out->input_count = out->word_count = 0;
  out->is_repeat = true;
  out->hash = 0;
  bool is_good = true;
  for (uint32_t i = 0; i < out->node_count && is_good; i++) is_good = put_node(out, out->nodes[i]);
  return is_good && !out->is_repeat && is_alone(out);
}

// --- Running ----------------------------------------------------------------------------------------------------------

tsri_single *tsri_single_find(tsri_singles *singles, const tsri_single_form *form) {
  uint32_t place = tsri_ways_find(&singles->ways, form->hash);
  if (place == TSRI_WAY_PLACES) return NULL;
  tsri_single *single = &singles->places[place];
  if (single->word_count != form->word_count) return NULL;
  bool is_equal = memcmp(single->words, form->words, form->word_count * sizeof form->words[0]) == 0;
  return is_equal ? single : NULL;
}

enum {
  FIRST_INPUT = TSRI_MAX_RESULTS,
  FIRST_TEMPORARY = FIRST_INPUT + TSRI_SINGLE_INPUTS,
  LISTED_BUFFERS = FIRST_TEMPORARY + TSRI_STEP_TEMPORARIES
};

// The buffers of a run in the order of tsri_single_place.buffer: the results, the inputs, the temporary buffers.
typedef struct buffer_list {
  tsr_buffer *buffers[LISTED_BUFFERS];
} buffer_list;

static buffer_list list_buffers(const tsri_single_form *form, tsr_buffer *const *outputs) {
  buffer_list list = {{NULL}};
  memcpy(list.buffers, outputs, form->nodes[0]->result_count * sizeof outputs[0]);
  memcpy(list.buffers + FIRST_INPUT, form->inputs, form->input_count * sizeof form->inputs[0]);
  return list;
}

static tsr_status run_op(tsr_device *device, tsri_single_step *step, const buffer_list *list) {
  tsri_native_op *op = &step->is.op;
  tsr_buffer *buffers[TSRI_SINGLE_PLACES];
  int count = 0;
  for (uint32_t i = step->place_count; i-- > 0;) {  // the result, which is written, is the last place
    const tsri_single_place *at = &step->places[i];
    tsri_place place = {.offset = at->offset};
    buffers[count++] = list->buffers[at->buffer];
    tsri_place_bind(&place, list->buffers[at->buffer]);
    memcpy((char *)op + at->at, &place, sizeof place);
  }
  return tsri_device_run_op(device, op, buffers, count);
}

static tsr_status run_launch(tsr_device *device, tsri_single_step *step, const buffer_list *list) {
  tsri_step_launch *launch = &step->is.launch;
  for (uint32_t i = 0; i < step->place_count; i++) {
    tsri_argument *argument = &launch->arguments[i];
    argument->buffer = list->buffers[step->places[i].buffer];
    if (i >= launch->whole_count) continue;
    tsr_dtype dtype = (tsr_dtype)step->built->kernel->buffers[i].storage;
    argument->element_count = tsr_buffer_bytes(argument->buffer) / tsr_dtype_bytes(dtype);
  }
  return tsri_built_launch(device, step->built, launch->groups, launch->arguments, launch->params);
}

static tsr_status create_temporaries(const tsri_single *single, tsr_device *device, buffer_list *list) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < single->temporary_count && status == TSR_OK; i++) {
    if (single->temporary_bytes[i] == 0) continue;
    status = tsri_buffer_create_temporary(device, single->temporary_bytes[i], &list->buffers[FIRST_TEMPORARY + i]);
  }
  return status;
}

tsr_status tsri_single_run(tsri_single *single, const tsri_single_form *form, tsr_buffer *const *outputs) {
  buffer_list list = list_buffers(form, outputs);
  tsr_device *device = form->nodes[0]->value.device;
  tsr_status status = create_temporaries(single, device, &list);
  for (uint32_t i = 0; i < single->step_count && status == TSR_OK; i++) {
    status = (single->steps[i].built ? run_launch : run_op)(device, &single->steps[i], &list);
  }
  for (uint32_t i = 0; i < single->temporary_count; i++) tsr_buffer_release(list.buffers[FIRST_TEMPORARY + i]);
  return status;
}

// --- Keeping ----------------------------------------------------------------------------------------------------------

// Lists the tsri_place members of the native operator, as byte offsets in it. 0: operators of this kind are not cached.
static int list_places(const tsri_native_op *op, size_t out_at[TSRI_SINGLE_PLACES]) {
#define LIST(...)                                   \
  do {                                              \
    const size_t places[] = {__VA_ARGS__};          \
    memcpy(out_at, places, sizeof places);          \
    return (int)(sizeof places / sizeof places[0]); \
  } while (0)
#define AT(member) offsetof(tsri_native_op, is.member)
  if (op->kind == TSRI_NATIVE_JOIN) {
    if (op->is.join.part_count >= TSRI_SINGLE_PLACES) return 0;
    for (int i = 0; i < op->is.join.part_count; i++) {
      out_at[i] = AT(join.parts) + (size_t)i * sizeof(tsri_join_part) + offsetof(tsri_join_part, from);
    }
    out_at[op->is.join.part_count] = AT(join.to);
    return op->is.join.part_count + 1;
  }
  switch (op->kind) {
    case TSRI_NATIVE_COPY:
      LIST(AT(copy.from), AT(copy.to));
    case TSRI_NATIVE_SUM:
      LIST(AT(sum.from), AT(sum.to));
    case TSRI_NATIVE_REDUCE:
    case TSRI_NATIVE_ARG_REDUCE:
      LIST(AT(reduce.from), AT(reduce.to));
    case TSRI_NATIVE_SORT:
      LIST(AT(sort.from), AT(sort.to));
    case TSRI_NATIVE_SCAN:
      LIST(AT(scan.from), AT(scan.to));
    case TSRI_NATIVE_FFT:
      LIST(AT(fft.from), AT(fft.to));
    case TSRI_NATIVE_SOFTMAX:
      LIST(AT(softmax.from), AT(softmax.to));
    case TSRI_NATIVE_NORM:
      LIST(AT(norm.from), AT(norm.weight), AT(norm.bias), AT(norm.to));
    case TSRI_NATIVE_GATHER:
      LIST(AT(index.indices), AT(index.x), AT(index.y));
    case TSRI_NATIVE_PRODUCT:
      if (op->parts & (TSRI_PRODUCT_CHAIN | TSRI_PRODUCT_ROW_SUMS)) return 0;
      LIST(AT(product.a.at), AT(product.b.at), AT(product.c.at), AT(product.bias), AT(product.residual), AT(product.y));
    default:
      return 0;
  }
#undef AT
#undef LIST
}

// The state of tsri_single_keep, which makes an entry from the steps that ran.
typedef struct keeping {
  const tsri_steps *steps;
  const tsri_single_form *form;
  int first_output;  // index of the first result in steps->temporaries: results are created as such, one after the other
  tsri_single *single;  // the entry
} keeping;

static bool is_inside(const tsri_place *place, const tsri_step_buffer *buffer) {
  return place->buffer == buffer->handle && place->offset >= buffer->offset &&
         place->offset - buffer->offset < buffer->bytes;
}

// The index of the temporary buffer that contains `place`, for a step before which `count` temporary buffers had been created; -1 if none contains it. Searches
// the latest first, because a buffer may reuse the memory of one that was released before it was created.
static int find_temporary(const keeping *k, int count, const tsri_place *place) {
  while (count-- > 0) {
    if (is_inside(place, &k->steps->temporaries[count])) return count;
  }
  return -1;
}

// The index in buffer_list of the temporary buffer `number`, which may be a result. Otherwise records that the entry needs it.
static uint8_t use_temporary(keeping *k, int number) {
  int results = (int)k->form->nodes[0]->result_count;
  if (number >= k->first_output && number < k->first_output + results) return (uint8_t)(number - k->first_output);
  k->single->temporary_bytes[number] = k->steps->temporaries[number].bytes;
  return (uint8_t)(FIRST_TEMPORARY + number);
}

// Finds the buffer that contains `place`. False if none does, or if several inputs do: one input may be a part of another, and then it is unknown which of them
// the operator reads.
static bool find_buffer(keeping *k, int temporary_count, const tsri_place *place, tsri_single_place *out) {
  bool is_found = false;
  int temporary = find_temporary(k, temporary_count, place);
  if (temporary >= 0) {
    out->buffer = use_temporary(k, temporary);
    out->offset = place->offset - k->steps->temporaries[temporary].offset;
    return true;
  }
  for (uint32_t i = 0; i < k->form->input_count; i++) {
    if (!is_inside(place, &k->form->input_places[i])) continue;
    if (is_found) return false;
    is_found = true;
    out->buffer = (uint8_t)(FIRST_INPUT + i);
    out->offset = place->offset - k->form->input_places[i].offset;
  }
  return is_found;
}

// Records the operands of a native operator and the buffers that contain them. False if the operator cannot be repeated with other buffers.
static bool keep_op(keeping *k, const tsri_step *from, tsri_single_step *to) {
  size_t at[TSRI_SINGLE_PLACES];
  int count = list_places(&from->is.op, at);
  to->is.op = from->is.op;
  for (int i = 0; i < count; i++) {
    tsri_place place;
    memcpy(&place, (const char *)&from->is.op + at[i], sizeof place);
    if (!place.buffer) continue;  // an operand that this operator does not have
    tsri_single_place *kept = &to->places[to->place_count++];
    if (!find_buffer(k, from->temporary_count, &place, kept)) return false;
    kept->at = (uint16_t)at[i];
  }
  return count > 0;
}

// The index in buffer_list of the buffer of a kernel's argument, found by its record; LISTED_BUFFERS if it is unknown.
static uint8_t find_record(keeping *k, int temporary_count, const tsr_buffer *record) {
  while (temporary_count-- > 0) {
    if (k->steps->temporaries[temporary_count].record == record) return use_temporary(k, temporary_count);
  }
  for (uint32_t i = 0; i < k->form->input_count; i++) {
    if (k->form->inputs[i] == record) return (uint8_t)(FIRST_INPUT + i);
  }
  return LISTED_BUFFERS;
}

static bool keep_launch(keeping *k, const tsri_step *from, tsri_single_step *to) {
  to->is.launch = from->is.launch;
  for (uint32_t i = 0; i < from->built->kernel->buffer_count; i++) {
    uint8_t buffer = find_record(k, from->temporary_count, from->is.launch.arguments[i].buffer);
    if (buffer == LISTED_BUFFERS) return false;
    to->places[to->place_count++] = (tsri_single_place){.at = (uint16_t)i, .buffer = buffer};
  }
  return true;
}

static bool keep_steps(keeping *k) {
  const tsri_steps *steps = k->steps;
  if (steps->count > TSRI_STEPS || steps->temporary_count > TSRI_STEP_TEMPORARIES || steps->is_too_large ||
      steps->is_provisional)
    return false;
  bool is_good = true;
  for (int i = 0; i < steps->count && is_good; i++) {
    tsri_single_step *to = &k->single->steps[i];
    to->built = steps->steps[i].built;
    to->place_count = 0;
    is_good = (to->built ? keep_launch : keep_op)(k, &steps->steps[i], to);
  }
  return is_good;
}

void tsri_single_keep(tsri_singles *singles, const tsri_single_form *form, const tsri_steps *steps, bool is_all,
                      tsr_buffer *output) {
  tsri_single *single = &singles->places[tsri_ways_put(&singles->ways, form->hash)];
  keeping k = {.steps = steps, .form = form, .first_output = -1, .single = single};
  single->word_count = form->word_count;
  memcpy(single->words, form->words, form->word_count * sizeof form->words[0]);
  memset(single->temporary_bytes, 0, sizeof single->temporary_bytes);
  single->temporary_count = single->step_count = 0;
  for (int i = 0; i < steps->temporary_count && i < TSRI_STEP_TEMPORARIES; i++) {
    if (steps->temporaries[i].record == output) k.first_output = i;  // the last: it has not been released
  }
  if (!is_all || k.first_output < 0 || !keep_steps(&k)) return;
  single->step_count = (uint32_t)steps->count;
  single->temporary_count = (uint32_t)steps->temporary_count;
}
