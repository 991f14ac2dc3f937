// SPDX-License-Identifier: MIT
// Names of kinds of work, and the comparison of results.
#include <math.h>
#include <string.h>

#include "graph/autotune.h"
#include "graph/node.h"

// --- Names --------------------------------------------------------------------------------------------------------------

typedef struct name {
  char *text;
  size_t bytes, used;
} name;

// Appends text to the name. This function and add_number do not call snprintf, which took 2 us for each launch on a device with stored choices.
static void add(name *n, const char *text) {
  size_t length = strlen(text), room = n->bytes - n->used - 1;
  if (length > room) length = room;
  memcpy(n->text + n->used, text, length);
  n->used += length;
  n->text[n->used] = 0;
}

static void add_number(name *n, uint64_t number, unsigned base) {
  char digits[24], *at = digits + sizeof digits - 1;
  *at = 0;
  do *--at = "0123456789abcdef"[number % base];
  while (number /= base);
  add(n, at);
}

// Sizes are rounded up to powers of two, so that a kind is tuned once.
static void add_shape(name *n, tsr_dtype dtype, const tsr_shape *shape) {
  add(n, " ");
  add(n, tsr_dtype_name(dtype));
  for (int i = 0; i < shape->rank; i++) {
    uint64_t rounded = 1;
    while (rounded < (uint64_t)shape->dims[i]) rounded *= 2;
    add(n, i ? "x" : " ");
    add_number(n, shape->dims[i] ? rounded : 0, 10);
  }
}

// Appends the dtype, the shape and a letter: "b" if the layout is broadcast along an axis, "s" if it is strided (not contiguous), none otherwise.
static void add_layout(name *n, tsr_dtype dtype, const tsri_layout *layout) {
  bool is_broadcast = false;
  add_shape(n, dtype, &layout->shape);
  for (int i = 0; i < layout->shape.rank; i++) {
    is_broadcast |= layout->strides[i] == 0 && layout->shape.dims[i] > 1;
  }
  if (is_broadcast) add(n, "b");
  else if (!tsri_layout_is_contiguous(layout)) add(n, "s");
}

static bool is_member(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *value) {
  uint32_t number = tsri_plan_number(plan, value);
  return number != TSRI_NONE && &plan->fusions[plan->nodes[number].fusion] == fusion;
}

void tsri_autotune_work(const tsri_plan *plan, const tsri_fusion *fusion, char *out, size_t bytes) {
  name n = {out, bytes, 0};
  out[0] = 0;
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    const tsri_node *node = plan->nodes[plan->members[fusion->first + i]].node;
    add(&n, i ? "+" : "");
    add(&n, node->op->name);
    if (node->op->kind != TSRI_OP_REDUCE) continue;
    add(&n, "/");
    add_number(&n, node->axes, 16);
  }
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    const tsri_node *node = plan->nodes[plan->members[fusion->first + i]].node;
    for (uint32_t k = 0; k < node->input_count; k++) {
      if (!is_member(plan, fusion, node->inputs[k].value))
        add_layout(&n, node->inputs[k].dtype, &node->inputs[k].layout);
    }
  }
  const tsri_node *root = plan->nodes[fusion->root].node;
  add(&n, " to");
  add_shape(&n, root->dtype, &root->shape);
}

// --- Hashes -------------------------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

// Adds an input to the hash. An input that a member of the fusion computes has no buffer when the fusion is launched; all other inputs have one (is_outside).
static uint64_t mix_input(uint64_t hash, const tsri_input *input) {
  bool is_outside = tsri_value_buffer(input->value) != NULL;
  int rank = input->layout.shape.rank;
  hash = mix(hash, (uint64_t)input->dtype | (uint64_t)rank << 8 | (uint64_t)is_outside << 16);
  for (int i = 0; i < rank; i++) {
    hash = mix(hash, (uint64_t)input->layout.shape.dims[i] ^ (uint64_t)input->layout.strides[i] << 32);
  }
  return hash;
}

uint64_t tsri_autotune_hash(const tsri_plan *plan, const tsri_fusion *fusion) {
  uint64_t hash = fusion->node_count;
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    const tsri_node *node = plan->nodes[plan->members[fusion->first + i]].node;
    hash = mix(hash, (uint64_t)(uintptr_t)node->op ^ (uint64_t)node->axes << 56);
    for (uint32_t k = 0; k < node->input_count; k++) hash = mix_input(hash, &node->inputs[k]);
  }
  const tsri_node *root = plan->nodes[fusion->root].node;
  hash = mix(hash, (uint64_t)root->dtype | (uint64_t)root->shape.rank << 8);
  for (int i = 0; i < root->shape.rank; i++) hash = mix(hash, (uint64_t)root->shape.dims[i]);
  return hash;
}

// --- Results ------------------------------------------------------------------------------------------------------------

// How much an element may differ, as a fraction of the largest element. Allows for adding many elements in another order, and for one rounding to `dtype`.
static double part_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_F64:
      return 1e-10;
    case TSR_F32:
      return 1e-4;
    case TSR_F8_E4M3:
    case TSR_F8_E5M2:
      return 0.25;
    default:
      return 0.01;
  }
}

static void widen(tsr_dtype dtype, const char *at, double *out, size_t count) {
  (void)tsr_convert(TSR_F64, out, dtype, at, count);
}

bool tsri_results_agree(tsr_dtype dtype, const void *a, const void *b, size_t count) {
  enum { STRIP = 256 };
  size_t element = tsr_dtype_bytes(dtype);
  if (tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT) return memcmp(a, b, count * element) == 0;
  double x[STRIP], y[STRIP], largest = 0, furthest = 0;
  for (size_t i = 0; i < count; i += STRIP) {
    size_t strip = count - i < STRIP ? count - i : STRIP;
    widen(dtype, (const char *)a + i * element, x, strip);
    widen(dtype, (const char *)b + i * element, y, strip);
    for (size_t k = 0; k < strip; k++) {
      if (x[k] == y[k] || (isnan(x[k]) && isnan(y[k]))) continue;
      if (!isfinite(x[k]) || !isfinite(y[k])) return false;
      if (fabs(x[k] - y[k]) > furthest) furthest = fabs(x[k] - y[k]);
    }
    for (size_t k = 0; k < strip; k++) {
      if (isfinite(x[k]) && fabs(x[k]) > largest) largest = fabs(x[k]);
    }
  }
  return furthest <= part_of(dtype) * largest;
}
