// SPDX-License-Identifier: MIT
// Matrix products of f16 and bf16 by cooperative matrices, on devices that have them. lang/emit/spirv/matmul.c writes
// the kernel; this file decides which products use it, chooses the tiles and launches it.
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

// Measured on an H200 in f16: large_tiles reach 314 TFLOP/s for 4096 x 4096 x 4096 and 94 for 1024 x 1024 x 1024;
// small_tiles reach 216 and 127.
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
  LEAST = 32,          // smallest m, n and k: below this, tiles would be mostly empty
  FEW_GROUPS = 128,    // with fewer work-groups a large device is partly idle, so smaller tiles are used
  MOST_LAUNCHES = 256  // most launches for one product
};

const tsri_native_offer tsri_vulkan_native_ops[] = {
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_F16 | 1u << TSR_BF16},
    {.kind = TSRI_NATIVE_NONE},
};

// Whether the matrix is row-major or column-major; out_pitch is the distance of its rows or columns.
static bool read_matrix(const tsri_matrix *matrix, bool *out_by_columns, uint32_t *out_pitch) {
  *out_by_columns = matrix->column != 1;
  int64_t pitch = *out_by_columns ? matrix->column : matrix->row;
  if ((matrix->column != 1 && matrix->row != 1) || pitch < 0 || pitch > INT32_MAX) return false;
  *out_pitch = (uint32_t)pitch;
  return true;
}

// Adds the elements between the first and the last index of an axis to `*span`. False: its stride is negative, or the
// span exceeds 31 bits.
static bool add_span(int64_t size, int64_t stride, uint64_t *span) {
  if (stride < 0 || stride > INT32_MAX || size > INT32_MAX) return false;
  *span += (uint64_t)(size - 1) * (uint64_t)stride;
  return *span <= INT32_MAX;
}

// Number of elements from an operand's first to its last; 0: a stride is negative, or the span exceeds 31 bits.
static uint64_t span_of(const tsri_product_op *op, const tsri_matrix *matrix, int64_t rows, int64_t columns) {
  uint64_t span = 1;
  bool fits = add_span(rows, matrix->row, &span) && add_span(columns, matrix->column, &span);
  for (int i = 0; i < op->batch_rank && fits; i++) fits = add_span(op->batch_dims[i], matrix->batch[i], &span);
  return fits ? span : 0;
}

// The result y as a tsri_matrix: row-major and contiguous.
static tsri_matrix result_of(const tsri_product_op *op) {
  tsri_matrix y = {.at = op->y, .row = op->n, .column = 1};
  int64_t step = op->m * op->n;
  for (int i = op->batch_rank - 1; i >= 0; i--) {
    y.batch[i] = step;
    step *= op->batch_dims[i];
  }
  return y;
}

// The kernel handles the last two batch axes; each index of the others is a separate launch.
static bool plan_batch(const tsri_product_op *op, const tsri_matrix *y, const VkPhysicalDeviceLimits *limits,
                       vulkan_product *p) {
  const tsri_matrix *operands[3] = {&op->a, &op->b, y};
  uint32_t *inner[3] = {&p->params.a_inner, &p->params.b_inner, &p->params.y_inner};
  uint32_t *outer[3] = {&p->params.a_outer, &p->params.b_outer, &p->params.y_outer};
  int last = op->batch_rank - 1;
  int64_t in_kernel = (last >= 0 ? op->batch_dims[last] : 1) * (last > 0 ? op->batch_dims[last - 1] : 1), launches = 1;
  p->params.inner = (uint32_t)(last >= 0 ? op->batch_dims[last] : 1);
  p->groups[2] = (uint32_t)in_kernel;
  p->walked_count = last > 1 ? last - 1 : 0;
  for (int j = 0; j < 3; j++) {
    *inner[j] = last >= 0 ? (uint32_t)operands[j]->batch[last] : 0;
    *outer[j] = last > 0 ? (uint32_t)operands[j]->batch[last - 1] : 0;
    for (int i = 0; i < p->walked_count; i++) p->steps[j][i] = operands[j]->batch[i];
  }
  for (int i = 0; i < p->walked_count; i++) {
    launches *= op->batch_dims[i];
    p->walked[i] = op->batch_dims[i];
  }
  return in_kernel <= limits->maxComputeWorkGroupCount[2] && launches <= MOST_LAUNCHES;
}

// Whether all rows begin at multiples of 16 bytes and consist of whole vectors.
static bool is_aligned(const tsri_product_op *op, const vulkan_product *p) {
  const tsri_spv_matmul_params *q = &p->params;
  uint32_t a_length = p->shape.a_by_columns ? q->m : q->k, b_length = p->shape.b_by_columns ? q->k : q->n;
  uint64_t all = q->a_pitch | q->b_pitch | q->n | a_length | b_length;
  all |= q->a_inner | q->a_outer | q->b_inner | q->b_outer | q->y_inner | q->y_outer;
  all |= op->a.at.offset / 2 | op->b.at.offset / 2 | op->y.offset / 2;
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

// Whether one binding can cover the operand, even if it must begin earlier because of the offset alignment.
static bool fits_binding(uint64_t span, const VkPhysicalDeviceLimits *limits) {
  return span > 0 && span * 2 + limits->minStorageBufferOffsetAlignment + 32 <= limits->maxStorageBufferRange;
}

static bool plan_sizes(const tsri_product_op *op, const tsri_matrix *y, const VkPhysicalDeviceLimits *limits,
                       vulkan_product *p) {
  if (op->m < LEAST || op->n < LEAST || op->k < LEAST) return false;
  p->spans[0] = span_of(op, &op->a, op->m, op->k);
  p->spans[1] = span_of(op, &op->b, op->k, op->n);
  p->spans[2] = span_of(op, y, op->m, op->n);
  for (int i = 0; i < 3; i++) {
    if (!fits_binding(p->spans[i], limits)) return false;
  }
  p->params.m = (uint32_t)op->m;
  p->params.n = (uint32_t)op->n;
  p->params.k = (uint32_t)op->k;
  return read_matrix(&op->a, &p->shape.a_by_columns, &p->params.a_pitch) &&
         read_matrix(&op->b, &p->shape.b_by_columns, &p->params.b_pitch);
}

bool tsri_vulkan_plan_product(const vulkan_features *features, const VkPhysicalDeviceLimits *limits, tsr_dtype dtype,
                              const tsri_product_op *op, vulkan_product *out_product) {
  vulkan_product *p = out_product;
  *p = (vulkan_product){0};
  const vulkan_matrix *matrix = dtype == TSR_F16 ? &features->f16_matrix : &features->bf16_matrix;
  const tsri_matrix y = result_of(op);
  if (matrix->m == 0 || !plan_sizes(op, &y, limits, p) || !plan_batch(op, &y, limits, p)) return false;
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
         tsri_vulkan_plan_product(&device->features, &device->physical.properties.limits, op->dtype, &op->is.product,
                                  &product);
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

// If the driver rejects the kernel, cooperative matrices are switched off for this device: TSR_ERR_UNSUPPORTED makes
// the core run the portable kernel.
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

// Binds the operand at the aligned offset at or below its own, and returns the remaining distance, which goes into the
// kernel's parameters.
static uint32_t bind_operand(const vulkan_device *device, tsri_place place, uint64_t span, tsri_binding *out) {
  size_t alignment = (size_t)device->physical.properties.limits.minStorageBufferOffsetAlignment;
  if (alignment < 16) alignment = 16;
  size_t below = place.offset % alignment;
  *out = (tsri_binding){.buffer = place.buffer, .offset = place.offset - below, .bytes = below + span * 2};
  return (uint32_t)(below / 2);
}

// Adds the offsets of launch number `index` along the walked batch axes to the operands' positions `at`.
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
  const tsri_product_op *p = &op->is.product;
  if (!tsri_vulkan_plan_product(&device->features, &device->physical.properties.limits, op->dtype, p, &product)) {
    return TSR_ERR_UNSUPPORTED;
  }
  tsr_status status = find_program(device, &product, &program);
  const tsri_place places[3] = {p->a.at, p->b.at, p->y};
  tsri_binding bindings[3];
  uint32_t at[3];
  for (int i = 0; i < 3; i++) at[i] = bind_operand(device, places[i], product.spans[i], &bindings[i]);
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
