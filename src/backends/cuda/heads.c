// SPDX-License-Identifier: MIT
#include "backends/cuda/heads.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/dnn_attention.h"
#include "backends/cuda/own_kernel.h"
#include "backends/cuda/own_texts.h"
#include "core/alloc.h"
#include "core/log.h"

enum {
  LEAST_ROWS = 33,  // with fewer queries or keys most items of a work-group would be idle
  MOST_ROWS = 128,
  MOST_DEPTH = 64,  // elements of a head for which shared memory has room
  STEP = 8,         // kernels are compiled for multiples of this many elements
  ALIGNMENT = 16,   // of addresses, in bytes
  VECTOR = 4,       // elements that are read at a time
  ITEMS = 512       // items of a work-group
};

// The kernels of a device, for attention and for its gradient; index: depth / STEP - 1.
struct cuda_heads {
  tsri_mutex lock;
  cuda_own_kernel kernels[MOST_DEPTH / STEP][2];
};

// --- Which attentions -----------------------------------------------------------------------------------------------------

static cu_address address_of(tsri_place place) {
  return place.buffer ? cuda_address_of(place.buffer, place.offset) : place.offset;
}

static bool is_by_vectors(tsri_place place, const int64_t *strides) {
  return address_of(place) % ALIGNMENT == 0 && strides[0] % VECTOR == 0 && strides[1] % VECTOR == 0 &&
         strides[2] % VECTOR == 0;
}

static bool are_rows(int64_t count) { return count >= LEAST_ROWS && count <= MOST_ROWS; }
static bool is_size(int64_t size) { return size <= MOST_DEPTH && size % VECTOR == 0; }

static bool is_readable(const tsri_attention_op *a, bool is_gradient) {
  return a->q_strides[3] == 1 && a->k_strides[3] == 1 && a->v_strides[3] == 1 && is_by_vectors(a->q, a->q_strides) &&
         is_by_vectors(a->k, a->k_strides) && is_by_vectors(a->v, a->v_strides) && is_by_vectors(a->y, a->y_strides) &&
         (!is_gradient ||
          (a->g_strides[3] == 1 && is_by_vectors(a->g, a->g_strides) && is_by_vectors(a->dq, a->dq_strides) &&
           is_by_vectors(a->dk, a->dk_strides) && is_by_vectors(a->dv, a->dv_strides)));
}

bool tsri_cuda_heads_take(const cuda_device *device, const tsri_native_op *op) {
  const tsri_attention_op *a = &op->is.attention;
  bool is_gradient = op->kind == TSRI_NATIVE_ATTENTION_GRADIENT;
  return device->allows_units && strcmp(device->target, "sm_90") == 0 && device->cu->FuncSetAttribute &&
         op->dtype == TSR_F32 && tsri_cuda_attention_is_plain(a) && are_rows(a->queries) && are_rows(a->keys) &&
         is_size(a->size) && is_size(a->value_size) && (double)a->batch * (double)a->heads <= INT32_MAX &&
         (!is_gradient || (a->has_lse && a->heads == a->kv_heads)) && is_readable(a, is_gradient);
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

static struct cuda_heads *heads_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->heads) {
    device->heads = tsri_calloc(1, sizeof *device->heads);
    if (device->heads) tsri_mutex_init(&device->heads->lock);
  }
  struct cuda_heads *heads = device->heads;
  tsri_mutex_unlock(&device->library_lock);
  return heads;
}

// Bytes of shared memory, as in heads.cu: rows of q, k and v, and two numbers for each query; for the gradient also rows of g, and scores.
static uint32_t shared_bytes(int depth, bool is_gradient) {
  enum { PAD = 4 };
  int floats = (is_gradient ? 4 : 3) * MOST_ROWS * (depth + PAD) + 2 * MOST_ROWS;
  if (is_gradient) floats += MOST_ROWS * (MOST_ROWS + PAD);
  return (uint32_t)floats * (uint32_t)sizeof(float);
}

static int depth_of(const tsri_attention_op *a) {
  int64_t larger = a->size > a->value_size ? a->size : a->value_size;
  return (int)((larger + STEP - 1) / STEP * STEP);
}

// Returns the kernel for heads of `depth` elements, building it at the first call. NULL: it cannot be built.
static const cuda_own_kernel *kernel_for(const cuda_device *device, struct cuda_heads *heads, int depth,
                                         bool is_gradient) {
  cuda_own_kernel *kernel = &heads->kernels[depth / STEP - 1][is_gradient];
  char options[64];
  snprintf(options, sizeof options, "-DDEPTH=%d -DIS_GRADIENT=%d", depth, is_gradient);
  const cuda_own_text text = {.text = tsri_cuda_heads_text,
                              .name = is_gradient ? "tsrk_attention_head_gradient" : "tsrk_attention_head",
                              .target = device->target,
                              .options = options,
                              .what = "attention of whole heads",
                              .shared_bytes = shared_bytes(depth, is_gradient)};
  tsri_mutex_lock(&heads->lock);
  bool is_built = tsri_cuda_own_build(device, &text, kernel);
  tsri_mutex_unlock(&heads->lock);
  return is_built ? kernel : NULL;
}

// --- Launching ------------------------------------------------------------------------------------------------------------

// The kernel's arguments, this struct and the next; the same as in heads.cu.
typedef struct heads_tensor {
  cu_address at;
  int64_t steps[3];
} heads_tensor;

typedef struct heads_arguments {
  heads_tensor q, k, v, y, g, dq, dk, dv;
  cu_address lse;
  int32_t heads, shared_by, queries, keys, size, value_size, is_causal;
  float scale;
} heads_arguments;

static heads_tensor tensor_of(tsri_place place, const int64_t *strides) {
  return (heads_tensor){.at = place.buffer ? address_of(place) : 0, .steps = {strides[0], strides[1], strides[2]}};
}

static heads_arguments arguments_of(const tsri_attention_op *a) {
  return (heads_arguments){.q = tensor_of(a->q, a->q_strides),
                           .k = tensor_of(a->k, a->k_strides),
                           .v = tensor_of(a->v, a->v_strides),
                           .y = tensor_of(a->y, a->y_strides),
                           .g = tensor_of(a->g, a->g_strides),
                           .dq = tensor_of(a->dq, a->dq_strides),
                           .dk = tensor_of(a->dk, a->dk_strides),
                           .dv = tensor_of(a->dv, a->dv_strides),
                           .lse = a->has_lse ? address_of(a->lse) : 0,
                           .heads = (int32_t)a->heads,
                           .shared_by = (int32_t)(a->heads / a->kv_heads),
                           .queries = (int32_t)a->queries,
                           .keys = (int32_t)a->keys,
                           .size = (int32_t)a->size,
                           .value_size = (int32_t)a->value_size,
                           .is_causal = a->is_causal,
                           .scale = (float)a->scale};
}

tsr_status tsri_cuda_heads_attend(cuda_queue *queue, const tsri_native_op *op) {
  const tsri_attention_op *a = &op->is.attention;
  bool is_gradient = op->kind == TSRI_NATIVE_ATTENTION_GRADIENT;
  int depth = depth_of(a);
  struct cuda_heads *heads = heads_of(queue->device);
  const cuda_own_kernel *kernel = heads ? kernel_for(queue->device, heads, depth, is_gradient) : NULL;
  if (!kernel) return TSR_ERR_UNSUPPORTED;
  heads_arguments arguments = arguments_of(a);
  void *all[] = {&arguments};
  const cuda_kernel_start start = {.function = kernel->function,
                                   .groups = {(uint32_t)(a->batch * a->heads), 1, 1},
                                   .items = {ITEMS, 1, 1},
                                   .shared_bytes = shared_bytes(depth, is_gradient),
                                   .waits = true};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: attention of whole heads: code %d", queue->device->name, code);
  return code == CU_SUCCESS ? TSR_OK : TSR_ERR_UNSUPPORTED;
}

void tsri_cuda_heads_close(cuda_device *device) {
  struct cuda_heads *heads = device->heads;
  if (!heads) return;
  bool was_pushed = tsri_cuda_enter(device);
  for (int i = 0; i < MOST_DEPTH / STEP * 2; i++) tsri_cuda_own_unload(device, &heads->kernels[i / 2][i % 2]);
  tsri_cuda_leave(device, was_pushed);
  tsri_mutex_deinit(&heads->lock);
  tsri_free(heads);
  device->heads = NULL;
}
