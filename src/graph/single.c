// SPDX-License-Identifier: MIT
#include "graph/single.h"

#include <string.h>

#include "graph/assign.h"
#include "graph/node.h"

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

// Two inputs may be the same buffer, and an operator may then treat them differently: the number of the first input with
// the same buffer is a part of the form.
static bool put_input(tsri_single_form *form, const tsri_input *input) {
  tsr_buffer *buffer = tsri_value_buffer(input->value);
  uint32_t same = 0, rank = (uint32_t)input->layout.shape.rank;
  if (!buffer || !has_room(form, 2 + 2 * rank)) return false;
  while (same < form->input_count && form->inputs[same] != buffer) same++;
  form->inputs[form->input_count++] = buffer;
  put_word(form, (uint64_t)input->dtype | (uint64_t)input->as << 8 | (uint64_t)same << 16 | (uint64_t)rank << 24);
  put_layout(form, &input->layout);
  return true;
}

// The shape of the result follows from the rest, but for operators that take it as an attribute.
bool tsri_single_describe(const tsri_node *node, tsri_single_form *out) {
  if (node->tape || node->results || node->count == 0) return false;
  if (node->op == &tsri_op_assign)
    return false;  // writes where its target lies, after those that read the old elements
  if (node->input_count == 0 || node->input_count > TSRI_SINGLE_INPUTS) return false;
  bool is_kernel = node->op->kind == TSRI_OP_ELEMENTWISE && node->op != &tsri_op_copy;  // for repeat.h
  if (is_kernel || !node->value.device->backend->native_ops) return false;
  out->input_count = out->word_count = 0;
  out->hash = 0;
  put_word(out, (uint64_t)(uintptr_t)node->op);
  put_word(out, (uint64_t)node->dtype | (uint64_t)node->input_count << 8 | (uint64_t)node->axes << 32);
  if (!put_attributes(out, node)) return false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (!put_input(out, &node->inputs[i])) return false;
  }
  return true;
}

static size_t place_of(const tsri_single_form *form) { return form->hash >> 58; }

_Static_assert(TSRI_SINGLES == 1 << 6, "place_of gives six bits");

// --- Running ----------------------------------------------------------------------------------------------------------

tsri_single *tsri_single_find(tsri_singles *singles, const tsri_single_form *form) {
  tsri_single *single = &singles->places[place_of(form)];
  if (single->hash != form->hash || single->word_count != form->word_count) return NULL;
  bool is_equal = memcmp(single->words, form->words, form->word_count * sizeof form->words[0]) == 0;
  return is_equal ? single : NULL;
}

// The output, then the inputs.
typedef struct buffer_list {
  tsr_buffer *buffers[1 + TSRI_SINGLE_INPUTS];
  uint32_t count;
} buffer_list;

static buffer_list list_buffers(const tsri_single_form *form, tsr_buffer *output) {
  buffer_list list = {{output}, 1 + form->input_count};
  memcpy(list.buffers + 1, form->inputs, form->input_count * sizeof form->inputs[0]);
  return list;
}

tsr_status tsri_single_run(tsri_single *single, const tsri_single_form *form, tsr_buffer *output) {
  buffer_list list = list_buffers(form, output);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < single->op_count && status == TSR_OK; i++) {
    tsri_native_op *op = &single->ops[i].op;
    for (uint32_t k = 0; k < single->ops[i].place_count; k++) {
      const tsri_single_place *at = &single->ops[i].places[k];
      tsri_place place = {.offset = at->offset};
      tsri_place_bind(&place, list.buffers[at->buffer]);
      memcpy((char *)op + at->at, &place, sizeof place);
    }
    status = tsri_device_run_op(output->device, op, list.buffers, (int)list.count);
  }
  return status;
}

// --- Keeping ----------------------------------------------------------------------------------------------------------

// The places of the operator, as bytes from its start. 0: operators of this kind are not cached.
static int list_places(const tsri_native_op *op, size_t out_at[TSRI_SINGLE_PLACES]) {
#define LIST(...)                                   \
  do {                                              \
    const size_t places[] = {__VA_ARGS__};          \
    memcpy(out_at, places, sizeof places);          \
    return (int)(sizeof places / sizeof places[0]); \
  } while (0)
#define AT(member) offsetof(tsri_native_op, is.member)
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
    case TSRI_NATIVE_SOFTMAX:
      LIST(AT(softmax.from), AT(softmax.to));
    case TSRI_NATIVE_NORM:
      LIST(AT(norm.from), AT(norm.weight), AT(norm.bias), AT(norm.to));
    case TSRI_NATIVE_GATHER:
      LIST(AT(index.indices), AT(index.x), AT(index.y));
    case TSRI_NATIVE_PRODUCT:
      LIST(AT(product.a.at), AT(product.b.at), AT(product.c.at), AT(product.bias), AT(product.residual), AT(product.y));
    default:
      return 0;
  }
#undef AT
#undef LIST
}

static bool is_inside(const tsri_place *place, const tsr_buffer *buffer) {
  return place->buffer == buffer->handle && place->offset >= buffer->offset &&
         place->offset - buffer->offset < buffer->bytes;
}

// Finds the one buffer in which the place is. Memory of two different buffers overlaps if one is a part of the other: then it is
// unknown which of them the operator means.
static bool find_buffer(const buffer_list *list, const tsri_place *place, uint8_t *out_number) {
  const tsr_buffer *found = NULL;
  for (uint32_t i = 0; i < list->count; i++) {
    if (!is_inside(place, list->buffers[i]) || found == list->buffers[i]) continue;
    if (found) return false;
    found = list->buffers[i];
    *out_number = (uint8_t)i;
  }
  return found != NULL;
}

// Finds the places of operator `number`, and the buffers they are in. False if it cannot be run for other buffers.
static bool keep_places(tsri_single *single, uint32_t number, const buffer_list *list) {
  size_t at[TSRI_SINGLE_PLACES];
  const tsri_native_op *op = &single->ops[number].op;
  int count = list_places(op, at);
  for (int i = 0; i < count; i++) {
    tsri_place place;
    memcpy(&place, (const char *)op + at[i], sizeof place);
    if (!place.buffer) continue;  // an operand that this operator does not have
    tsri_single_place *kept = &single->ops[number].places[single->ops[number].place_count++];
    if (!find_buffer(list, &place, &kept->buffer)) return false;
    kept->at = (uint16_t)at[i];
    kept->offset = place.offset - list->buffers[kept->buffer]->offset;
  }
  return count > 0;
}

void tsri_single_keep(tsri_singles *singles, const tsri_single_form *form, const tsri_native_watch *watch, bool is_all,
                      tsr_buffer *output) {
  tsri_single *single = &singles->places[place_of(form)];
  buffer_list list = list_buffers(form, output);
  single->word_count = form->word_count;
  single->hash = form->hash;
  memcpy(single->words, form->words, form->word_count * sizeof form->words[0]);
  bool is_good = is_all && watch->count <= TSRI_SINGLE_OPS;
  for (int i = 0; i < watch->count && is_good; i++) {
    single->ops[i].op = watch->ops[i];
    single->ops[i].place_count = 0;
    is_good = keep_places(single, (uint32_t)i, &list);
  }
  single->op_count = is_good ? (uint32_t)watch->count : 0;
}
