// SPDX-License-Identifier: MIT
// Several products of f32 by matrix units in one launch.
//
// A product with few rows and columns has few tiles, and a cluster divides the sum over k among eight work-groups at most. So such a product leaves most of the GPU idle, however long k is. Gradients by the
// weights of a network are such products. On an H200 those of a layer of a small transformer, 12 tiles of 128 x 128 and k of 4096, take 68 us in four launches and 28 us in one launch with those of the next layer.
#include "backends/cuda/units_tile.h"
#include "core/log.h"

enum {
  LEAST_INNER = 1024,  // elements along k: shorter sums are not worth dividing
};

// How the products of a launch are divided. A launch has tiles of one size. `together` work-groups run on a multiprocessor at a time.
typedef struct group_size {
  int together;
  units_tile few, many;  // for few tiles, k is divided among more work-groups
} group_size;

enum { SMALL, LARGE };

// Clusters have four or eight work-groups: other numbers do not fill the GPU's groups of 16 or 18 multiprocessors.
static const group_size sizes[] = {[SMALL] = {.together = 2, .few = {1, 1, 64, 8}, .many = {1, 1, 64, 4}},
                                   [LARGE] = {.together = 1, .few = {2, 2, 128, 8}, .many = {2, 2, 128, 4}}};

static int64_t area_in(const units_tile *tile, const cuda_product *p) {
  return units_tile_count(tile, p) * units_rows(tile) * tile->columns;
}

// Large tiles read fewer bytes for each multiplication. They are used for products that fill at least 7/8 of them.
static int size_for(const cuda_product *p) {
  return area_in(&sizes[LARGE].few, p) * 7 <= p->d.rows * p->d.cols * 8 ? LARGE : SMALL;
}

// How many work-groups the GPU runs at the same time.
static int64_t slots(const cuda_device *device, const group_size *size) {
  return (int64_t)device->info.compute_units * size->together;
}

// How many tiles a launch may have: its work-groups (at least `many.parts` for each tile) take three quarters of the GPU. The rest is for other steps of the
// graph that run at the same time.
static int64_t most_tiles(const cuda_device *device, const group_size *size) {
  return slots(device, size) * 3 / 4 / size->many.parts;
}

tsri_op_group tsri_cuda_units_group_of(const cuda_device *device, const cuda_product *p) {
  int size = size_for(p);
  int64_t count = units_tile_count(&sizes[size].few, p), most = most_tiles(device, &sizes[size]);
  if (p->batch > 1 || units_inner(p) < LEAST_INNER || count >= most) return (tsri_op_group){0};
  return (tsri_op_group){.kind = 1 + 2 * (uint32_t)units_layout(p) + (uint32_t)size,
                         .share = (uint32_t)(count * TSRI_FULL_SHARE / most)};
}

// The kernel's arguments; the same as in units.cu.
typedef struct group_arguments {
  units_arguments products[TSRI_MOST_GROUPED];
  int32_t first[TSRI_MOST_GROUPED + 1];
} group_arguments;

static group_arguments arguments_of(const units_tile *tile, const cuda_product *products,
                                    const cuda_product_memory *memories, int count) {
  group_arguments arguments = {.first = {0}};
  for (int i = 0; i < TSRI_MOST_GROUPED; i++) {
    if (i < count) arguments.products[i] = tsri_cuda_units_arguments(&products[i], &memories[i]);
    arguments.first[i + 1] = arguments.first[i] + (i < count ? (int32_t)units_tile_count(tile, &products[i]) : 0);
  }
  return arguments;
}

bool tsri_cuda_units_multiply_group(cuda_queue *queue, cuda_units *units, const cuda_product *products,
                                    const cuda_product_memory *memories, int count) {
  int number = size_for(&products[0]), layout = units_layout(&products[0]);
  const group_size *size = &sizes[number];
  group_arguments arguments = arguments_of(&size->few, products, memories, count);
  int64_t tiles = arguments.first[count];
  bool is_few = tiles * size->few.parts <= slots(queue->device, size);
  const units_tile *tile = is_few ? &size->few : &size->many;
  cuda_own_kernel *kernel = &units->groups[2 * number + is_few][layout];
  const units_parts parts = {.has_sums = true,
                             .most_grouped = TSRI_MOST_GROUPED};  // some of the products may have sums
  if (!tsri_cuda_units_build(queue->device, tile, layout, &parts, kernel)) return false;
  void *all[] = {&arguments};
  const cuda_kernel_start start = {.function = kernel->function,
                                   .groups = {(uint32_t)(tiles * tile->parts), 1, 1},
                                   .items = {(uint32_t)units_items(tile), 1, 1},
                                   .shared_bytes = tsri_cuda_units_shared_bytes(tile),
                                   .waits = true};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: tsrk_product_group: code %d", queue->device->name, code);
  return code == CU_SUCCESS;
}
