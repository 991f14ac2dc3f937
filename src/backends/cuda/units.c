// SPDX-License-Identifier: MIT
#include "backends/cuda/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/own_chain.h"
#include "backends/cuda/own_texts.h"
#include "backends/cuda/units_tile.h"
#include "core/alloc.h"
#include "core/log.h"

enum {
  LEAST_WORK = 1 << 22,  // with fewer multiplications there is little to gain, and compiling the kernel takes 0.4 s
  LEAST_SIDE = 32,       // of the result: with fewer rows or columns most of a tile is unused
  ALIGNMENT = 16,        // of addresses, in bytes
  VECTOR = 4,            // neighbouring elements that are read at a time
  MOST_TILES_DOWN = 65535
};

// --- Tiles --------------------------------------------------------------------------------------------------------------

static const units_tile tiles[UNITS_TILES] = {
    {1, 1, 64, 1}, {2, 1, 64, 1}, {2, 2, 128, 1}, {1, 1, 64, 2}, {1, 1, 64, 4},
    {1, 1, 64, 8}, {2, 1, 64, 2}, {2, 1, 64, 4},  {2, 1, 64, 8},
};

// For one strip of k, a work-group that is alone on its multiprocessor needs `alone` cycles, during `busy` of which its matrix units work; if several share a
// multiprocessor, each needs `shared` cycles. With several parts, elements of a are held in registers: strips take less time, the beginning takes more. Clusters of eight
// work-groups leave some multiprocessors unused.
double tsri_cuda_units_cost(const units_tile *tile, int64_t tile_count, int64_t inner, int multiprocessors) {
  enum { PER_CYCLE = 2048, PRODUCTS = 6, JOINING = 600 };
  bool is_held = units_is_held(tile);
  int rows = units_rows(tile), together = rows * tile->columns > 64 * 64 ? 1 : is_held ? 2 : 3;
  double area = (double)rows * tile->columns, busy = area * UNITS_DEPTH * PRODUCTS / PER_CYCLE;
  double alone = (is_held ? 600 : 1000) + busy, shared = (is_held ? 370 : 700) + busy;
  double beginning = (is_held ? 2800 : 1500) + area / 4;
  int64_t strips = units_divided(units_divided(inner, UNITS_DEPTH), tile->parts), groups = tile_count * tile->parts;
  int64_t each = units_divided(groups, tile->parts == 8 ? multiprocessors - multiprocessors / 8 : multiprocessors);
  int64_t rounds = units_divided(each, together), last = each - (rounds - 1) * together;
  double strip = (double)(rounds - 1) * fmax(alone, together * shared) + fmax(alone, (double)last * shared);
  return strip * (double)strips + (double)rounds * beginning + (is_held ? JOINING : 0);
}

// Estimates the cycles that a chain after the product adds. A work-group computes four elements for each of its items, then the next four, and so on. Each of
// these steps takes as long as its longest dependency chain of instructions: about 1000 cycles for gelu_tanh and for its derivative on an H200, however many
// work-groups share the multiprocessor.
static double chain_cost(const units_tile *tile, int64_t tile_count, int multiprocessors) {
  enum { STEP = 1000, PER_ITEM = 4 };
  int together = tile->columns > 64 ? 1 : (units_is_held(tile) ? 3 : 4) - tile->down;
  int64_t rounds = units_divided(units_divided(tile_count * tile->parts, multiprocessors), together);
  int steps = units_rows(tile) * tile->columns / tile->parts / (units_items(tile) * PER_ITEM);
  return (double)(rounds * steps) * STEP;
}

static int choose_tile(const cuda_device *device, const cuda_product *p, bool has_chain) {
  int best = 0;
  double least = HUGE_VAL;
  for (int i = 0; i < UNITS_TILES; i++) {
    int64_t count = units_tile_count(&tiles[i], p) * p->batch;
    int multiprocessors = (int)device->info.compute_units;
    double cost = tsri_cuda_units_cost(&tiles[i], count, units_inner(p), multiprocessors);
    if (has_chain) cost += chain_cost(&tiles[i], count, multiprocessors);
    if (cost >= least) continue;
    least = cost;
    best = i;
  }
  return best;
}

// --- Which products -----------------------------------------------------------------------------------------------------

static bool is_by_vectors(const cuda_matrix *matrix, uint32_t alignment) {
  return alignment >= ALIGNMENT && matrix->rows % VECTOR == 0 && matrix->leading % VECTOR == 0 &&
         matrix->batch_stride % VECTOR == 0;
}

// Whether cuBLASLt may compute the product as TF32, which is faster than this kernel.
static bool is_for_tf32(const cuda_device *device) {
  return device->allows_tf32 && device->allows_blas && !device->blas_has_failed;
}

bool tsri_cuda_units_take(const cuda_device *device, const cuda_product *p) {
  double work = (double)p->batch * (double)p->d.rows * (double)p->d.cols * (double)units_inner(p);
  return device->allows_units && strcmp(device->target, "sm_90") == 0 && device->cu->FuncSetAttribute &&
         p->dtype == TSR_F32 && p->result == TSR_F32 && !is_for_tf32(device) && work >= LEAST_WORK &&
         p->d.rows >= LEAST_SIDE && p->d.cols >= LEAST_SIDE && p->d.rows <= INT32_MAX / 2 &&
         p->d.cols <= (int64_t)MOST_TILES_DOWN * 64 && p->batch <= MOST_TILES_DOWN && units_inner(p) <= INT32_MAX / 2 &&
         is_by_vectors(&p->a, p->alignments[0]) && is_by_vectors(&p->b, p->alignments[1]) &&
         is_by_vectors(&p->d, p->alignments[3]);
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

uint32_t tsri_cuda_units_shared_bytes(const units_tile *tile) {
  // SLACK: the kernel rounds the address of its first strip up to a multiple of this. NUMBERS: bf16 numbers that make up one f32.
  enum { STRIPS = 2, NUMBERS = 3, NUMBER_BYTES = 2, PAD = 8, SLACK = 1024 };
  bool is_held = units_is_held(tile);
  int lines = tile->columns + (is_held ? 0 : units_rows(tile));
  int strips = STRIPS * NUMBERS * NUMBER_BYTES * UNITS_DEPTH * lines;
  int sums = units_rows(tile) * (tile->columns + PAD) * (int)sizeof(float);
  return (uint32_t)(strips > sums ? strips : sums) + SLACK;
}

bool tsri_cuda_units_build(const cuda_device *device, const units_tile *tile, int layout, const units_parts *parts,
                           cuda_own_kernel *kernel) {
  if (kernel->function || kernel->has_failed) return !kernel->has_failed;
  char options[256];
  bool is_group = parts->most_grouped > 0;
  int written = snprintf(options, sizeof options,
                         "-DWARPGROUPS=%d -DACROSS=%d -DCOLUMNS=%d -DPARTS=%d -DA_TURNED=%d -DB_TURNED=%d %s",
                         tile->down * tile->across, tile->across, tile->columns, tile->parts, layout / 2, layout % 2,
                         parts->chain ? parts->chain->options : "");
  if (is_group) snprintf(options + written, sizeof options - (size_t)written, " -DGROUPED=%d", parts->most_grouped);
  char *all = tsri_cuda_text_with_chain(parts->chain, parts->has_sums ? "#define SUMS\n" : "", tsri_cuda_units_text);
  if (!all) return false;
  const cuda_own_text text = {
      .text = (const unsigned char *)all,
      .name = is_group ? "tsrk_product_group" : "tsrk_product_units",
      .target = "sm_90a",  // "a": wgmma is one of the instructions that only this architecture has and newer ones lack
      .options = options,
      .what = "products of f32 by matrix units",
      .shared_bytes = tsri_cuda_units_shared_bytes(tile)};
  bool is_built = tsri_cuda_own_build(device, &text, kernel);
  tsri_free(all);
  return is_built;
}

// Returns the record of a kernel with a chain or sums, adding it if it does not exist yet. NULL: host memory is out.
static cuda_own_kernel *special_kernel(cuda_units *units, const units_parts *parts, int tile, int layout) {
  for (int i = 0; i < units->special_count; i++) {
    units_special *known = units->special[i];
    if (known->parts.chain == parts->chain && known->parts.has_sums == parts->has_sums && known->tile == tile &&
        known->layout == layout)
      return &known->kernel;
  }
  units_special **grown = tsri_realloc(units->special, (size_t)(units->special_count + 1) * sizeof *grown);
  if (grown) units->special = grown;
  units_special *added = grown ? tsri_calloc(1, sizeof *added) : NULL;
  if (!added) return NULL;
  *added = (units_special){.parts = *parts, .tile = tile, .layout = layout};
  units->special[units->special_count++] = added;
  return &added->kernel;
}

// --- Interface ----------------------------------------------------------------------------------------------------------

// `p` describes the product for a column-major library, with its operands exchanged (native.c): its b is the kernel's a.
units_arguments tsri_cuda_units_arguments(const cuda_product *p, const cuda_product_memory *memory) {
  return (units_arguments){
      .a = memory->b,
      .b = memory->a,
      .c = p->has_c ? memory->c : 0,
      .bias = p->has_bias ? memory->bias : 0,
      .y = memory->d,
      .a_step = p->b.leading,
      .b_step = p->a.leading,
      .c_step = p->c.leading,
      .a_batch = p->b.batch_stride,
      .b_batch = p->a.batch_stride,
      .c_batch = p->c.batch_stride,
      .m = (int32_t)p->d.cols,
      .n = (int32_t)p->d.rows,
      .k = (int32_t)units_inner(p),
      .activation = (int32_t)p->activation,
      .alpha = (float)memory->alpha,
      .beta = (float)memory->beta,
      .row_sums = memory->row_sums,
  };
}

// All arguments of a kernel; the same as in units.cu.
typedef struct all_arguments {
  units_arguments product;
  cuda_chain_arguments chain;
} all_arguments;

bool tsri_cuda_units_multiply(cuda_queue *queue, cuda_units *units, const cuda_product *p,
                              const cuda_product_memory *memory) {
  int number = choose_tile(queue->device, p, memory->chain != NULL);
  const units_tile *tile = &tiles[number];
  int layout = units_layout(p);
  const units_parts parts = {.chain = memory->chain ? memory->chain->function : NULL,
                             .has_sums = memory->row_sums != 0};
  bool is_special = parts.chain || parts.has_sums;
  cuda_own_kernel *kernel =
      is_special ? special_kernel(units, &parts, number, layout) : &units->kernels[number][layout];
  if (!kernel || !tsri_cuda_units_build(queue->device, tile, layout, &parts, kernel)) return false;
  all_arguments arguments = {tsri_cuda_units_arguments(p, memory), tsri_cuda_chain_arguments(memory)};
  void *all[] = {&arguments};
  const cuda_kernel_start start = {.function = kernel->function,
                                   .groups = {(uint32_t)(units_divided(p->d.rows, tile->columns) * tile->parts),
                                              (uint32_t)units_divided(p->d.cols, units_rows(tile)), (uint32_t)p->batch},
                                   .items = {(uint32_t)units_items(tile), 1, 1},
                                   .shared_bytes = tsri_cuda_units_shared_bytes(tile),
                                   .waits = true};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: tsrk_product_units: code %d", queue->device->name, code);
  return code == CU_SUCCESS;
}

void tsri_cuda_units_clear(const cuda_device *device, cuda_units *units) {
  for (int i = 0; i < UNITS_TILES * UNITS_LAYOUTS; i++)
    tsri_cuda_own_unload(device, &units->kernels[i / UNITS_LAYOUTS][i % UNITS_LAYOUTS]);
  for (int i = 0; i < UNITS_GROUP_TILES * UNITS_LAYOUTS; i++)
    tsri_cuda_own_unload(device, &units->groups[i / UNITS_LAYOUTS][i % UNITS_LAYOUTS]);
  for (int i = 0; i < units->special_count; i++) {
    tsri_cuda_own_unload(device, &units->special[i]->kernel);
    tsri_free(units->special[i]);
  }
  tsri_free(units->special);
  units->special = NULL;
  units->special_count = 0;
}
