// SPDX-License-Identifier: MIT
#include "backends/cuda/join.h"

#include <stdio.h>

#include "backends/cuda/own_kernel.h"
#include "backends/cuda/own_texts.h"
#include "core/alloc.h"
#include "core/log.h"

enum {
  ITEMS = 256,  // items of a work-group
  ROUNDS = 4,   // units that an item copies
  UNITS = 5,    // sizes of units: 1, 2, 4, 8 and 16 bytes
  // Least average bytes of a part in each line. With fewer, neighbouring items read the arguments of many parts, one part after the other: 16 parts of 500 x
  // 500 f32 joined element by element take 51 us on an H200, and 27 by three launches of kernels/op_join.tk.
  LEAST_PIECE = 16,
  // With fewer parts than LEAST_PARTS, kernels/op_join.tk needs only one launch, too. Results of more than MOST_BYTES are also left to it: if parts begin at
  // any element, this kernel copies single elements, and takes 168 us for 160 MB of two parts, where op_join.tk takes 89.
  LEAST_PARTS = 7,
  MOST_BYTES = 16 << 20
};

// The kernels of a device; index: binary logarithm of the unit's bytes.
struct cuda_join {
  tsri_mutex lock;
  cuda_own_kernel kernels[UNITS];
};

// --- Sizes --------------------------------------------------------------------------------------------------------------

// Number of elements of the result.
static double count_of(const tsri_join_op *join) {
  double line = 0;
  for (int i = 0; i < join->part_count; i++) line += (double)join->parts[i].length;
  return line * (double)join->lines;
}

bool tsri_cuda_join_takes(const tsri_native_op *op) {
  const tsri_join_op *join = &op->is.join;
  double bytes = count_of(join) * (double)tsr_dtype_bytes(op->dtype);
  return join->part_count >= LEAST_PARTS && bytes <= MOST_BYTES &&
         bytes >= (double)LEAST_PIECE * (double)join->lines * (double)join->part_count;
}

// Binary logarithm of the largest unit (in bytes) of which all addresses, lengths and distances are multiples.
static int unit_of(const tsri_native_op *op) {
  const tsri_join_op *join = &op->is.join;
  uint64_t bytes = tsr_dtype_bytes(op->dtype), all = cuda_address_of(join->to.buffer, join->to.offset);
  if (join->lines > 1) all |= (uint64_t)join->to_stride * bytes;
  for (int i = 0; i < join->part_count; i++) {
    const tsri_join_part *part = &join->parts[i];
    all |= (uint64_t)part->length * bytes | cuda_address_of(part->from.buffer, part->from.offset);
    if (join->lines > 1) all |= (uint64_t)part->stride * bytes;
  }
  int unit = 0;
  while (unit < UNITS - 1 && (all >> unit & 1u) == 0) unit++;
  return unit;
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

static struct cuda_join *joins_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->joins) {
    device->joins = tsri_calloc(1, sizeof *device->joins);
    if (device->joins) tsri_mutex_init(&device->joins->lock);
  }
  struct cuda_join *joins = device->joins;
  tsri_mutex_unlock(&device->library_lock);
  return joins;
}

// Returns the kernel for a unit, building it at the first call. NULL: it cannot be built.
static const cuda_own_kernel *kernel_for(const cuda_device *device, struct cuda_join *joins, int unit) {
  static const char *const types[UNITS] = {"uchar1", "ushort1", "uint1", "uint2", "uint4"};
  char options[96];
  snprintf(options, sizeof options, "-DUNIT=%s -DPARTS=%d -DITEMS=%d -DROUNDS=%d", types[unit], (int)TSRI_JOIN_PARTS,
           (int)ITEMS, (int)ROUNDS);
  const cuda_own_text text = {.text = tsri_cuda_join_text,
                              .name = "tsrk_join",
                              .target = device->target,
                              .options = options,
                              .what = "kernel for joins"};
  tsri_mutex_lock(&joins->lock);
  bool is_built = tsri_cuda_own_build(device, &text, &joins->kernels[unit]);
  tsri_mutex_unlock(&joins->lock);
  return is_built ? &joins->kernels[unit] : NULL;
}

// --- Launching ------------------------------------------------------------------------------------------------------------

// The kernel's arguments, this struct and the next; the same as in join.cu.
typedef struct join_part {
  cu_address from;
  int64_t stride;
  uint32_t begin;
} join_part;

typedef struct join_arguments {
  join_part parts[TSRI_JOIN_PARTS];
  cu_address to;
  int64_t to_stride;
  uint32_t line, count;
} join_arguments;

// Lengths and distances are converted from elements to units: elements * per >> unit.
static join_arguments arguments_of(const tsri_join_op *join, int64_t per, int unit) {
  join_arguments a = {.to = cuda_address_of(join->to.buffer, join->to.offset),
                      .to_stride = join->to_stride * per >> unit};
  for (int i = 0; i < TSRI_JOIN_PARTS; i++) {
    a.parts[i].begin = i < join->part_count ? a.line : UINT32_MAX;
    if (i >= join->part_count) continue;
    const tsri_join_part *part = &join->parts[i];
    a.parts[i].from = cuda_address_of(part->from.buffer, part->from.offset);
    a.parts[i].stride = part->stride * per >> unit;
    a.line += (uint32_t)(part->length * per >> unit);
  }
  a.count = a.line * (uint32_t)join->lines;
  return a;
}

tsr_status tsri_cuda_join(cuda_queue *queue, const tsri_native_op *op) {
  struct cuda_join *joins = joins_of(queue->device);
  int unit = unit_of(op);
  const cuda_own_kernel *kernel = joins ? kernel_for(queue->device, joins, unit) : NULL;
  if (!kernel) return TSR_ERR_UNSUPPORTED;
  join_arguments arguments = arguments_of(&op->is.join, (int64_t)tsr_dtype_bytes(op->dtype), unit);
  void *all[] = {&arguments};
  const cuda_kernel_start start = {.function = kernel->function,
                                   .groups = {(arguments.count - 1) / (ITEMS * ROUNDS) + 1, 1, 1},
                                   .items = {ITEMS, 1, 1}};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: a join: code %d", queue->device->name, code);
  return code == CU_SUCCESS ? TSR_OK : TSR_ERR_UNSUPPORTED;
}

void tsri_cuda_join_close(cuda_device *device) {
  struct cuda_join *joins = device->joins;
  if (!joins) return;
  bool was_pushed = tsri_cuda_enter(device);
  for (int i = 0; i < UNITS; i++) tsri_cuda_own_unload(device, &joins->kernels[i]);
  tsri_cuda_leave(device, was_pushed);
  tsri_mutex_deinit(&joins->lock);
  tsri_free(joins);
  device->joins = NULL;
}
