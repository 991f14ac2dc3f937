// SPDX-License-Identifier: MIT
// Several products of f32 by matrix units in one launch.
//
// A product with few rows and columns has few tiles, and a cluster divides the sum over k among eight work-groups at most. So such a product leaves most of the GPU idle, however long k is. Gradients by the
// weights of a network are such products; the launches of units.c take 16 to 19 us for 512 x 128 x 4096 on an H200, and 37 us for four of them together with smaller ones.
#include "backends/cuda/units_tile.h"
#include "core/log.h"

enum {
  LEAST_INNER = 1024,  // elements along k: sums that are shorter are not worth dividing
  TOGETHER = 2,        // work-groups of these tiles that a multiprocessor runs at a time
};

// Clusters of four or eight. Other sizes do not fill the GPU's groups of 16 or 18 multiprocessors: with clusters of five, 48 tiles take 50 us for 37.
static const units_tile tiles[UNITS_GROUP_TILES] = {{1, 64, 4}, {1, 64, 8}};

// How many tiles a launch may have so that all its work-groups run at the same time, with some slack: the multiprocessors are not always all free.
static int64_t most_tiles(const cuda_device *device) {
  enum { WORK_GROUPS = 5 };  // for each tile; four of them are used
  return (int64_t)device->info.compute_units * TOGETHER / WORK_GROUPS;
}

tsri_op_group tsri_cuda_units_group_of(const cuda_device *device, const cuda_product *p) {
  int64_t count = units_tile_count(&tiles[0], p), most = most_tiles(device);
  if (p->batch > 1 || units_inner(p) < LEAST_INNER || count >= most) return (tsri_op_group){0};
  return (tsri_op_group){.kind = 1 + (uint32_t)units_layout(p), .share = (uint32_t)(count * TSRI_FULL_SHARE / most)};
}

// What the kernel gets, as in units.cu.
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

// k is divided among more work-groups if there are few tiles.
static int choose_tile(const cuda_device *device, const cuda_product *products, int count) {
  int64_t total = 0;
  for (int i = 0; i < count; i++) total += units_tile_count(&tiles[0], &products[i]);
  return total * tiles[1].parts <= (int64_t)device->info.compute_units * TOGETHER;
}

bool tsri_cuda_units_multiply_group(cuda_queue *queue, cuda_units *units, const cuda_product *products,
                                    const cuda_product_memory *memories, int count) {
  int number = choose_tile(queue->device, products, count), layout = units_layout(&products[0]);
  const units_tile *tile = &tiles[number];
  cuda_own_kernel *kernel = &units->groups[number][layout];
  if (!tsri_cuda_units_build(queue->device, tile, layout, TSRI_MOST_GROUPED, kernel)) return false;
  group_arguments arguments = arguments_of(tile, products, memories, count);
  void *all[] = {&arguments};
  const cuda_kernel_start start = {.function = kernel->function,
                                   .groups = {(uint32_t)(arguments.first[count] * tile->parts), 1, 1},
                                   .items = {128 * (uint32_t)tile->warpgroups, 1, 1},
                                   .shared_bytes = tsri_cuda_units_shared_bytes(tile),
                                   .waits = true};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: tsrk_product_group: code %d", queue->device->name, code);
  return code == CU_SUCCESS;
}
