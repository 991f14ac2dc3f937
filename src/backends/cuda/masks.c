// SPDX-License-Identifier: MIT
#include "backends/cuda/masks.h"

#include <string.h>

#include "backends/cuda/own_texts.h"

enum { WIDTH = 8, TEAM = 8, ITEMS = 256 };  // as in masks.cu; ITEMS: of a work-group
enum { ALIGNMENT = 16 };                    // of rows that cuDNN reads, in bytes: WIDTH elements

// --- Describing ------------------------------------------------------------------------------------------------------

static bool is_readable(const tsri_attention_op *op, const int64_t *strides) {
  cu_address at = op->mask.buffer ? cuda_address_of(op->mask.buffer, op->mask.offset) : op->mask.offset;
  bool has_rows = strides[3] == 0 || strides[3] == 1;
  for (int i = 0; i < 3; i++) has_rows = has_rows && strides[i] >= 0 && strides[i] % WIDTH == 0;
  return op->mask_kind == TSRI_ATTENTION_ADDS && has_rows && at % ALIGNMENT == 0;
}

// Sets the strides of the copy: rows begin at multiples of WIDTH elements, and an axis whose indices share elements is stored once, with stride 0.
static void set_copy_strides(const int64_t *dims, const int64_t *from, int64_t *to) {
  int64_t next = 1;
  for (int i = 3; i >= 0; i--) {
    to[i] = from[i] == 0 ? 0 : next;
    if (from[i] != 0) next *= dims[i];
    if (i == 3) next = (next + WIDTH - 1) / WIDTH * WIDTH;
  }
}

bool tsri_cuda_describe_mask(const tsri_attention_op *op, cuda_attention *out) {
  const int64_t dims[4] = {op->batch, op->heads, op->queries, op->keys};
  out->has_mask = op->mask_kind != TSRI_ATTENTION_UNMASKED;
  for (int i = 0; i < 4 && out->has_mask; i++) out->mask[i] = dims[i] > 1 ? op->mask_strides[i] : 0;
  if (!out->has_mask) return true;
  if ((double)op->batch * (double)op->heads * (double)op->queries * TEAM > INT32_MAX) return false;
  if (is_readable(op, out->mask)) return true;
  out->copies_mask = true;
  out->is_truth = op->mask_kind == TSRI_ATTENTION_HIDES;
  memcpy(out->mask_from, out->mask, sizeof out->mask_from);
  set_copy_strides(dims, out->mask_from, out->mask);
  return tsri_cuda_mask_bytes(out) <= CUDA_WORKSPACE_BYTES;
}

// The number of rows of the copy.
static int64_t rows_of(const cuda_attention *a) {
  return (a->mask[0] ? a->batch : 1) * (a->mask[1] ? a->heads : 1) * (a->mask[2] ? a->queries : 1);
}

// The number of parts, of WIDTH elements each, in a row of the copy.
static int64_t parts_of(const cuda_attention *a) { return a->mask[3] ? (a->keys + WIDTH - 1) / WIDTH : 1; }

int64_t tsri_cuda_mask_bytes(const cuda_attention *a) {
  enum { WHOLE = 256 };  // alignment of cuDNN's workspace, which follows the copy
  int64_t bytes = a->copies_mask ? rows_of(a) * parts_of(a) * ALIGNMENT : 0;
  return (bytes + WHOLE - 1) / WHOLE * WHOLE;
}

// --- Kernels ---------------------------------------------------------------------------------------------------------

// Whether the results of queries that attend to no key must be set to 0. cuDNN 9.19 already gives zeros on Hopper GPUs (tested with heads of 64, 96 and 128
// elements). The sums for gradients must be set in any case.
static bool must_clear(const cuda_device *device, const cuda_masks *masks, const cuda_attention *a) {
  enum { LEAST_VERSION = 919, HOPPER = 90, LEAST_HEAD = 64, LARGEST_HEAD = 128 };
  bool is_usual = a->size == a->value_size && a->size >= LEAST_HEAD && a->size <= LARGEST_HEAD;
  return masks->version < LEAST_VERSION || device->architecture != HOPPER || !is_usual || a->has_lse;
}

bool tsri_cuda_masks_build(const cuda_device *device, const cuda_attention *a, cuda_masks *masks) {
  cuda_own_text text = {.text = tsri_cuda_masks_text,
                        .name = "tsrk_clear_unseen",
                        .target = device->target,
                        .options = "-DCOPIES=0",
                        .what = "attention with a mask by cuDNN"};
  if (must_clear(device, masks, a) && !tsri_cuda_own_build(device, &text, &masks->clear)) return false;
  text.name = "tsrk_copy_mask";
  text.options = "-DCOPIES=1";
  return !a->copies_mask || tsri_cuda_own_build(device, &text, &masks->copy);
}

void tsri_cuda_masks_deinit(const cuda_device *device, cuda_masks *masks) {
  tsri_cuda_own_unload(device, &masks->copy);
  tsri_cuda_own_unload(device, &masks->clear);
}

static cu_result start(const cuda_queue *queue, const cuda_own_kernel *kernel, int64_t items, void *arguments) {
  const cuda_kernel_start how = {.function = kernel->function,
                                 .groups = {(uint32_t)((items + ITEMS - 1) / ITEMS), 1, 1},
                                 .items = {ITEMS, 1, 1},
                                 .waits = queue->device->architecture >= 90};
  return tsri_cuda_start_kernel(queue, &how, &arguments);
}

// -infinity in the dtype of the copied mask.
static uint32_t hidden_of(const cuda_attention *a) {
  enum { F16_LEAST = 0xFC00, BF16_LEAST = 0xFF80 };
  return a->dtype == TSR_F16 ? F16_LEAST : BF16_LEAST;
}

// Whether booleans can be read WIDTH at a time.
static bool is_wide(const cuda_attention *a, cu_address from) {
  const int64_t *steps = a->mask_from;
  return a->is_truth && steps[3] == 1 && a->keys % WIDTH == 0 && from % WIDTH == 0 && steps[0] % WIDTH == 0 &&
         steps[1] % WIDTH == 0 && steps[2] % WIDTH == 0;
}

// The arguments of the two kernels, this struct and the next; the same as in masks.cu.
typedef struct copy_arguments {
  cu_address from, to;
  int64_t steps[4];
  int32_t heads, queries, keys, parts, is_truth, is_wide;
  uint32_t count, hidden;
} copy_arguments;

cu_result tsri_cuda_copy_mask(const cuda_queue *queue, const cuda_masks *masks, const cuda_attention *a,
                              cu_address from, cu_address to) {
  if (!a->copies_mask) return CU_SUCCESS;
  copy_arguments arguments = {.from = from,
                              .to = to,
                              .heads = a->mask[1] ? (int32_t)a->heads : 1,
                              .queries = a->mask[2] ? (int32_t)a->queries : 1,
                              .keys = a->mask[3] ? (int32_t)a->keys : 1,
                              .parts = (int32_t)parts_of(a),
                              .is_truth = a->is_truth,
                              .is_wide = is_wide(a, from),
                              .count = (uint32_t)(rows_of(a) * parts_of(a)),
                              .hidden = hidden_of(a)};
  memcpy(arguments.steps, a->mask_from, sizeof arguments.steps);
  return start(queue, &masks->copy, arguments.count, &arguments);
}

typedef struct clear_arguments {
  cu_address mask, y, lse;
  int64_t mask_steps[3], y_steps[3];
  int32_t key_step, heads, queries, keys, value_size, is_causal;
  uint32_t rows, hidden;
} clear_arguments;

cu_result tsri_cuda_clear_unseen(const cuda_queue *queue, const cuda_masks *masks, const cuda_attention *a,
                                 const cuda_attention_memory *m) {
  int64_t rows = a->batch * a->heads * a->queries;
  clear_arguments arguments = {.mask = m->mask,
                               .y = m->y,
                               .lse = a->has_lse ? m->lse : 0,
                               .mask_steps = {a->mask[0], a->mask[1], a->mask[2]},
                               .y_steps = {a->y[0], a->y[1], a->y[2]},
                               .key_step = (int32_t)a->mask[3],
                               .heads = (int32_t)a->heads,
                               .queries = (int32_t)a->queries,
                               .keys = (int32_t)a->keys,
                               .value_size = (int32_t)a->value_size,
                               .is_causal = a->is_causal,
                               .rows = (uint32_t)rows,
                               .hidden = hidden_of(a)};
  return must_clear(queue->device, masks, a) ? start(queue, &masks->clear, rows * TEAM, &arguments) : CU_SUCCESS;
}
