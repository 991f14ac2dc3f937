// SPDX-License-Identifier: MIT
// Matrix products of f16 and bf16 by cooperative matrices, where the device has them. The kernel is written by
// lang/emit_spirv_matmul.c; here is what it is used for, with which tiles, and how it is launched.
#include "backends/vulkan/cooperative.h"

#if TSRI_HAS_VULKAN

#include <string.h>

#include "core/alloc.h"
#include "core/log.h"

// --- What the device has --------------------------------------------------------------------------------------------

typedef VkResult(VKAPI_PTR *get_properties)(VkPhysicalDevice physical, uint32_t *count,
                                            vulkan_cooperative_properties *list);

static bool is_usable(const vulkan_cooperative_properties *p, uint32_t component) {
  bool has_types =
      p->a == component && p->b == component && p->c == VULKAN_COMPONENT_F32 && p->result == VULKAN_COMPONENT_F32;
  bool has_sizes = (p->m == 8 || p->m == 16 || p->m == 32) && (p->n == 8 || p->n == 16 || p->n == 32) &&
                   (p->k == 8 || p->k == 16 || p->k == 32);
  return has_types && has_sizes && p->scope == VULKAN_SCOPE_SUBGROUP && !p->saturates;
}

vulkan_matrix tsri_vulkan_choose_matrix(const vulkan_cooperative_properties *list, uint32_t count, uint32_t component) {
  vulkan_matrix best = {0, 0, 0};
  for (uint32_t i = 0; i < count; i++) {
    bool is_larger = list[i].m * list[i].n * list[i].k > best.m * best.n * best.k;
    if (is_usable(&list[i], component) && is_larger) best = (vulkan_matrix){list[i].m, list[i].n, list[i].k};
  }
  return best;
}

// Measured on an H200 with f16, 4096 x 4096 x 4096 and 1024 x 1024 x 1024: the large ones do 314 and 94 TFLOP/s, the small
// ones 216 and 127.
static const vulkan_tiles large_tiles = {128, 128, 64, 64, 64, false}, small_tiles = {64, 128, 32, 32, 64, false};

void tsri_vulkan_query_matrices(const vulkan_physical *physical, vulkan_features *f) {
  f->tiles[0] = large_tiles;
  f->tiles[1] = small_tiles;
  if (!f->cooperative || !f->memory_model || !f->storage16 || !f->subgroups) return;
  get_properties get =
      (get_properties)tsri_vulkan_instance_function("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  uint32_t count = 0;
  if (!get || get(physical->handle, &count, NULL) != VK_SUCCESS || count == 0) return;
  vulkan_cooperative_properties *list = tsri_calloc(count, sizeof *list);
  for (uint32_t i = 0; list && i < count; i++) list[i].sType = VULKAN_COOPERATIVE_PROPERTIES;
  if (list && get(physical->handle, &count, list) >= VK_SUCCESS) {
    if (f->f16) f->f16_matrix = tsri_vulkan_choose_matrix(list, count, VULKAN_COMPONENT_F16);
    if (f->bfloat16) f->bf16_matrix = tsri_vulkan_choose_matrix(list, count, VULKAN_COMPONENT_BF16);
  }
  tsri_free(list);
}

// --- Which products -------------------------------------------------------------------------------------------------

enum {
  LEAST = 32,          // below that, tiles would be mostly empty
  FEW_GROUPS = 128,    // fewer leave parts of a large device idle: smaller tiles then
  MOST_LAUNCHES = 256  // of one product
};

// One matrix of an operand: by rows or by columns.
static bool read_matrix(const tsri_operand *operand, bool *out_by_columns, uint32_t *out_pitch) {
  int rank = operand->shape.rank;
  int64_t down = operand->strides[rank - 2], along = operand->strides[rank - 1];
  *out_by_columns = along != 1;
  int64_t pitch = *out_by_columns ? along : down;
  if ((along != 1 && down != 1) || pitch < 0 || pitch > INT32_MAX) return false;
  *out_pitch = (uint32_t)pitch;
  return true;
}

// Elements from the first to the last; 0: a stride is negative, or there are too many.
static uint64_t span_of(const tsri_operand *operand) {
  uint64_t last = 0;
  for (int i = 0; i < operand->shape.rank; i++) {
    if (operand->strides[i] < 0 || operand->strides[i] > INT32_MAX || operand->shape.dims[i] > INT32_MAX) return 0;
    last += (uint64_t)(operand->shape.dims[i] - 1) * (uint64_t)operand->strides[i];
    if (last >= INT32_MAX) return 0;
  }
  return last + 1;
}

typedef struct batch_axis {
  int64_t size, steps[3];
} batch_axis;

// Stride of an operand along an axis of the result's batch; 0 where it is broadcast.
static int64_t batch_step(const tsri_operand *operand, int axis, int result_rank) {
  int number = axis - (result_rank - operand->shape.rank);
  return number < 0 || operand->shape.dims[number] == 1 ? 0 : operand->strides[number];
}

// The axes of the batch, as few as will do.
static int read_batch(const tsri_native_op *op, batch_axis *axes) {
  const tsri_operand *operands[3] = {&op->inputs[0], &op->inputs[1], &op->output};
  int count = 0, rank = op->output.shape.rank;
  for (int i = 0; i < rank - 2; i++) {
    batch_axis axis = {.size = op->output.shape.dims[i]};
    for (int j = 0; j < 3; j++) axis.steps[j] = batch_step(operands[j], i, rank);
    if (axis.size == 1) continue;
    batch_axis *last = count > 0 ? &axes[count - 1] : NULL;
    bool joins = last != NULL;
    for (int j = 0; j < 3 && joins; j++) joins = last->steps[j] == axis.steps[j] * axis.size;
    if (!joins) {
      axes[count++] = axis;
      continue;
    }
    last->size *= axis.size;
    memcpy(last->steps, axis.steps, sizeof axis.steps);
  }
  return count;
}

// The last two axes are in the kernel, the others are walked.
static bool plan_batch(const tsri_native_op *op, const VkPhysicalDeviceLimits *limits, vulkan_product *p) {
  batch_axis axes[TSR_MAX_RANK], none = {.size = 1};
  int count = read_batch(op, axes);
  const batch_axis *inner = count > 0 ? &axes[count - 1] : &none, *outer = count > 1 ? &axes[count - 2] : &none;
  int64_t in_kernel = inner->size * outer->size, launches = 1;
  p->params.inner = (uint32_t)inner->size;
  p->params.a_inner = (uint32_t)inner->steps[0];
  p->params.b_inner = (uint32_t)inner->steps[1];
  p->params.y_inner = (uint32_t)inner->steps[2];
  p->params.a_outer = (uint32_t)outer->steps[0];
  p->params.b_outer = (uint32_t)outer->steps[1];
  p->params.y_outer = (uint32_t)outer->steps[2];
  p->groups[2] = (uint32_t)in_kernel;
  p->walked_count = count > 2 ? count - 2 : 0;
  for (int i = 0; i < p->walked_count; i++) {
    launches *= axes[i].size;
    p->walked[i] = axes[i].size;
    for (int j = 0; j < 3; j++) p->steps[j][i] = axes[i].steps[j];
  }
  return in_kernel <= limits->maxComputeWorkGroupCount[2] && launches <= MOST_LAUNCHES;
}

// Whether all rows begin at multiples of 16 bytes and are whole vectors long.
static bool is_aligned(const tsri_native_op *op, const vulkan_product *p) {
  const tsri_spv_matmul_params *q = &p->params;
  uint32_t a_length = p->shape.a_by_columns ? q->m : q->k, b_length = p->shape.b_by_columns ? q->k : q->n;
  uint64_t all = q->a_pitch | q->b_pitch | q->n | a_length | b_length;
  all |= q->a_inner | q->a_outer | q->b_inner | q->b_outer | q->y_inner | q->y_outer;
  all |= op->inputs[0].offset / 2 | op->inputs[1].offset / 2 | op->output.offset / 2;
  for (int i = 0; i < p->walked_count; i++) {
    for (int j = 0; j < 3; j++) all |= (uint64_t)p->steps[j][i];
  }
  return all % 8 == 0;
}

static void cut(vulkan_product *p, const vulkan_matrix *matrix, const vulkan_tiles *t) {
  tsri_spv_matmul *s = &p->shape;
  s->m = matrix->m;
  s->n = matrix->n;
  s->k = matrix->k;
  s->tile_m = t->tile_m;
  s->tile_n = t->tile_n;
  s->tile_k = t->tile_k;
  s->part_m = t->part_m;
  s->part_n = t->part_n;
  s->has_two_tiles = t->has_two;
  p->groups[0] = (p->params.n + s->tile_n - 1) / s->tile_n;
  p->groups[1] = (p->params.m + s->tile_m - 1) / s->tile_m;
}

// Whether a binding can hold the operand from where it may begin at the earliest.
static bool fits_binding(uint64_t span, const VkPhysicalDeviceLimits *limits) {
  return span > 0 && span * 2 + limits->minStorageBufferOffsetAlignment + 32 <= limits->maxStorageBufferRange;
}

static bool plan_sizes(const tsri_native_op *op, const VkPhysicalDeviceLimits *limits, vulkan_product *p) {
  const tsri_operand *a = &op->inputs[0], *b = &op->inputs[1], *y = &op->output;
  int rank = y->shape.rank;
  if (rank < 2 || a->shape.rank < 2 || b->shape.rank < 2) return false;
  int64_t m = y->shape.dims[rank - 2], n = y->shape.dims[rank - 1], k = a->shape.dims[a->shape.rank - 1];
  if (m < LEAST || n < LEAST || k < LEAST || y->strides[rank - 1] != 1 || y->strides[rank - 2] != n) return false;
  const tsri_operand *operands[3] = {a, b, y};
  for (int i = 0; i < 3; i++) {
    p->spans[i] = span_of(operands[i]);
    if (!fits_binding(p->spans[i], limits)) return false;
  }
  p->params.m = (uint32_t)m;
  p->params.n = (uint32_t)n;
  p->params.k = (uint32_t)k;
  return read_matrix(a, &p->shape.a_by_columns, &p->params.a_pitch) &&
         read_matrix(b, &p->shape.b_by_columns, &p->params.b_pitch);
}

bool tsri_vulkan_plan_product(const vulkan_features *features, const VkPhysicalDeviceLimits *limits,
                              const tsri_native_op *op, vulkan_product *out_product) {
  vulkan_product *p = out_product;
  *p = (vulkan_product){0};
  tsr_dtype dtype = op->output.dtype;
  const vulkan_matrix *matrix = dtype == TSR_F16 ? &features->f16_matrix : &features->bf16_matrix;
  if (strcmp(op->name, "matmul") != 0 || op->input_count != 2 || (dtype != TSR_F16 && dtype != TSR_BF16)) return false;
  if (matrix->m == 0 || op->inputs[0].dtype != dtype || op->inputs[1].dtype != dtype) return false;
  if (!plan_sizes(op, limits, p) || !plan_batch(op, limits, p)) return false;
  p->shape.dtype = dtype;
  p->shape.subgroup_size = features->subgroup_size;
  p->shape.by_elements = !is_aligned(op, p);
  cut(p, matrix, &features->tiles[0]);
  bool is_small = (uint64_t)p->groups[0] * p->groups[1] * p->groups[2] < FEW_GROUPS;
  uint32_t which = is_small || tsri_spv_matmul_shared(&p->shape) > limits->maxComputeSharedMemorySize;
  cut(p, matrix, &features->tiles[which]);
  tsri_spv_matmul *s = &p->shape;
  const tsri_spv_matmul_params *q = &p->params;
  s->has_edges = q->m % s->tile_m != 0 || q->n % s->tile_n != 0 || q->k % s->tile_k != 0;
  p->program = (dtype == TSR_F16) | which << 1 | (uint32_t)s->a_by_columns << 2 | (uint32_t)s->b_by_columns << 3 |
               (uint32_t)s->has_edges << 4 | (uint32_t)s->by_elements << 5;
  return tsri_spv_matmul_is_valid(s) && tsri_spv_matmul_items(s) <= limits->maxComputeWorkGroupInvocations &&
         tsri_spv_matmul_items(s) <= limits->maxComputeWorkGroupSize[0] &&
         tsri_spv_matmul_shared(s) <= limits->maxComputeSharedMemorySize &&
         p->groups[0] <= limits->maxComputeWorkGroupCount[0] && p->groups[1] <= limits->maxComputeWorkGroupCount[1];
}

// --- Running --------------------------------------------------------------------------------------------------------

bool tsri_vulkan_has_op(tsri_device *opaque, const tsri_native_op *op) {
  const vulkan_device *device = vulkan_device_of(opaque);
  vulkan_product product;
  return atomic_load(&device->matrices) &&
         tsri_vulkan_plan_product(&device->features, &device->physical.properties.limits, op, &product);
}

static tsr_status build_product(vulkan_device *device, const vulkan_product *product, tsri_program **out_program) {
  tsri_emitted code;
  tsr_status status = tsri_spv_matmul_emit(&product->shape, atomic_load(&device->matrices), &code);
  if (status != TSR_OK) return status;
  tsri_code built = {.form = TSRI_CODE_WORDS,
                     .name = code.entry,
                     .data = code.data,
                     .data_bytes = code.data_bytes,
                     .buffer_count = code.buffer_count,
                     .params_bytes = code.params_bytes,
                     .local = {code.local[0], 1, 1},
                     .options = "",
                     .shared_bytes = code.shared_bytes};
  status = tsri_vulkan_program_create((tsri_device *)device, &built, out_program);
  tsri_emitted_deinit(&code);
  return status;
}

// A driver that does not take the kernel is not asked again: TSR_ERR_UNSUPPORTED, and the portable one runs.
static tsr_status find_program(vulkan_device *device, const vulkan_product *product, tsri_program **out_program) {
  tsri_mutex_lock(&device->lock);
  tsri_program **slot = &device->products[product->program];
  bool is_wanted = !*slot && atomic_load(&device->matrices);
  tsr_status status = is_wanted ? build_product(device, product, slot) : *slot ? TSR_OK : TSR_ERR_UNSUPPORTED;
  if (is_wanted && (status == TSR_ERR_BUILD || status == TSR_ERR_UNSUPPORTED)) {
    tsri_log(TSR_LOG_WARN, "%s: matrices are multiplied without cooperative ones: %s", device->name, tsr_last_error());
    atomic_store(&device->matrices, NULL);
    status = TSR_ERR_UNSUPPORTED;
  }
  *out_program = *slot;
  tsri_mutex_unlock(&device->lock);
  return status;
}

// Bindings begin where the device allows it; the rest of the way is in the parameters.
static uint32_t bind_operand(const vulkan_device *device, const tsri_operand *operand, uint64_t span,
                             tsri_binding *out) {
  size_t alignment = (size_t)device->physical.properties.limits.minStorageBufferOffsetAlignment;
  if (alignment < 16) alignment = 16;
  size_t below = operand->offset % alignment;
  *out = (tsri_binding){.buffer = operand->buffer, .offset = operand->offset - below, .bytes = below + span * 2};
  return (uint32_t)(below / 2);
}

// The place of launch `index` among those walked.
static void place_launch(const vulkan_product *p, const uint32_t at[3], int64_t index, tsri_spv_matmul_params *out) {
  int64_t places[3] = {at[0], at[1], at[2]};
  for (int i = p->walked_count - 1; i >= 0; i--) {
    for (int j = 0; j < 3; j++) places[j] += index % p->walked[i] * p->steps[j][i];
    index /= p->walked[i];
  }
  out->a_at = (uint32_t)places[0];
  out->b_at = (uint32_t)places[1];
  out->y_at = (uint32_t)places[2];
}

tsr_status tsri_vulkan_run_op(tsri_queue *queue, const tsri_native_op *op) {
  vulkan_device *device = vulkan_queue_of(queue)->device;
  vulkan_product product;
  tsri_program *program = NULL;
  if (!tsri_vulkan_plan_product(&device->features, &device->physical.properties.limits, op, &product)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: no native %s for these operands", device->name, op->name);
  }
  tsr_status status = find_program(device, &product, &program);
  const tsri_operand *operands[3] = {&op->inputs[0], &op->inputs[1], &op->output};
  tsri_binding bindings[3];
  uint32_t at[3];
  for (int i = 0; i < 3; i++) at[i] = bind_operand(device, operands[i], product.spans[i], &bindings[i]);
  bindings[2].is_written = true;
  tsri_launch launch = {.buffer_count = 3, .buffers = bindings, .params = &product.params};
  memcpy(launch.groups, product.groups, sizeof launch.groups);
  int64_t launches = 1;
  for (int i = 0; i < product.walked_count; i++) launches *= product.walked[i];
  for (int64_t i = 0; i < launches && status == TSR_OK; i++) {
    place_launch(&product, at, i, &product.params);
    status = tsri_vulkan_launch(queue, program, &launch);
  }
  return status;
}

void tsri_vulkan_release_products(vulkan_device *device) {
  for (int i = 0; i < VULKAN_PRODUCTS; i++) {
    if (device->products[i]) tsri_vulkan_program_destroy((tsri_device *)device, device->products[i]);
    device->products[i] = NULL;
  }
}

#endif
