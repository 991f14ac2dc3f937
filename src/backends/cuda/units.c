// SPDX-License-Identifier: MIT
#include "backends/cuda/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/own_texts.h"
#include "core/log.h"

enum {
  LEAST_WORK = 1 << 22,  // with fewer multiplications there is little to gain, and compiling the kernel takes 0.4 s
  LEAST_SIDE = 32,       // of the result: with fewer rows or columns most of a tile is empty
  ALIGNMENT = 16,        // of addresses, in bytes
  VECTOR = 4,            // elements that are read at a time
  DEPTH = 32,            // of a strip along k
  MOST_TILES_DOWN = 65535
};

// --- Tiles --------------------------------------------------------------------------------------------------------------

// A way to divide the work: a work-group has `warpgroups` warp groups of 128 items and computes a tile of 64 * warpgroups x `columns` elements.
// The sum over k is divided among `parts` work-groups, which form a cluster.
typedef struct units_tile {
  int warpgroups, columns, parts;
} units_tile;

static const units_tile tiles[UNITS_TILES] = {
    {1, 64, 1}, {2, 64, 1}, {2, 128, 1}, {1, 64, 2}, {1, 64, 4}, {1, 64, 8}, {2, 64, 2}, {2, 64, 4}, {2, 64, 8},
};

static int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t inner_size(const cuda_product *p) { return p->a.is_transposed ? p->a.rows : p->a.cols; }

static int rows_of(const units_tile *tile) { return 64 * tile->warpgroups; }

// Estimates the cycles that the product takes with this tile. The constants were measured on an H200. For one strip of k, a work-group that is alone on
// its multiprocessor needs `alone` cycles, during `busy` of which its matrix units work; if several share a multiprocessor, each needs `shared` cycles.
// With several parts, elements of a are held in registers: strips take less time, the beginning takes more. Clusters of eight work-groups leave some
// multiprocessors unused.
static double cost_of(const units_tile *tile, const cuda_product *p, int multiprocessors) {
  enum { PER_CYCLE = 2048, PRODUCTS = 6, JOINING = 600 };
  bool is_held = tile->parts > 1;
  int rows = rows_of(tile), together = rows * tile->columns > 64 * 64 ? 1 : is_held ? 2 : 3;
  double area = (double)rows * tile->columns, busy = area * DEPTH * PRODUCTS / PER_CYCLE;
  double alone = (is_held ? 600 : 1000) + busy, shared = (is_held ? 370 : 700) + busy;
  double beginning = (is_held ? 2800 : 1500) + area / 4;
  int64_t strips = divided(divided(inner_size(p), DEPTH), tile->parts);
  int64_t groups = divided(p->d.rows, tile->columns) * divided(p->d.cols, rows) * p->batch * tile->parts;
  int64_t each = divided(groups, tile->parts == 8 ? multiprocessors - multiprocessors / 8 : multiprocessors);
  int64_t rounds = divided(each, together), last = each - (rounds - 1) * together;
  double strip = (double)(rounds - 1) * fmax(alone, together * shared) + fmax(alone, (double)last * shared);
  return strip * (double)strips + (double)rounds * beginning + (is_held ? JOINING : 0);
}

static int choose_tile(const cuda_device *device, const cuda_product *p) {
  int best = 0;
  double least = HUGE_VAL;
  for (int i = 0; i < UNITS_TILES; i++) {
    double cost = cost_of(&tiles[i], p, (int)device->info.compute_units);
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

bool tsri_cuda_units_take(const cuda_device *device, const cuda_product *p) {
  double work = (double)p->batch * (double)p->d.rows * (double)p->d.cols * (double)inner_size(p);
  return device->allows_units && strcmp(device->target, "sm_90") == 0 && device->cu->FuncSetAttribute &&
         p->dtype == TSR_F32 && p->result == TSR_F32 && !device->allows_tf32 && work >= LEAST_WORK &&
         p->d.rows >= LEAST_SIDE && p->d.cols >= LEAST_SIDE && p->d.rows <= INT32_MAX / 2 &&
         p->d.cols <= (int64_t)MOST_TILES_DOWN * 64 && p->batch <= MOST_TILES_DOWN && inner_size(p) <= INT32_MAX / 2 &&
         is_by_vectors(&p->a, p->alignments[0]) && is_by_vectors(&p->b, p->alignments[1]) &&
         is_by_vectors(&p->d, p->alignments[3]);
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

// Shared memory of a work-group: two strips of b, and two of a unless a is held in registers. Afterwards the same memory holds the sums that
// the parts of a cluster add up. The larger of both counts.
static uint32_t shared_bytes(const units_tile *tile) {
  // SLACK: the kernel rounds the address of its first strip up to a multiple of this. NUMBERS: bf16 numbers that make up one f32.
  enum { STRIPS = 2, NUMBERS = 3, NUMBER_BYTES = 2, PAD = 8, SLACK = 1024 };
  bool is_held = tile->parts > 1;
  int lines = tile->columns + (is_held ? 0 : rows_of(tile));
  int strips = STRIPS * NUMBERS * NUMBER_BYTES * DEPTH * lines;
  int sums = rows_of(tile) * (tile->columns + PAD) * (int)sizeof(float);
  return (uint32_t)(strips > sums ? strips : sums) + SLACK;
}

// The kernel for a tile and a layout, built if it is not there yet; NULL if that failed.
static const cuda_own_kernel *kernel_for(const cuda_device *device, cuda_units *units, int tile, bool a_is_turned,
                                         bool b_is_turned) {
  cuda_own_kernel *kernel = &units->kernels[tile][2 * a_is_turned + b_is_turned];
  const units_tile *t = &tiles[tile];
  char options[160];
  snprintf(options, sizeof options, "-DWARPGROUPS=%d -DCOLUMNS=%d -DPARTS=%d -DA_TURNED=%d -DB_TURNED=%d",
           t->warpgroups, t->columns, t->parts, a_is_turned, b_is_turned);
  const cuda_own_text text = {
      .text = tsri_cuda_units_text,
      .name = "tsrk_product_units",
      .target = "sm_90a",  // "a": wgmma is one of the instructions that only this architecture has and newer ones lack
      .options = options,
      .what = "products of f32 by matrix units",
      .shared_bytes = shared_bytes(t)};
  return tsri_cuda_own_build(device, &text, kernel) ? kernel : NULL;
}

// --- Interface ----------------------------------------------------------------------------------------------------------

// As in units.cu.
typedef struct units_arguments {
  cu_address a, b, c, bias, y;
  int64_t a_step, b_step, c_step;
  int64_t a_batch, b_batch, c_batch;
  int32_t m, n, k, activation;
  float alpha, beta;
} units_arguments;

// `p` describes the product for a column-major library, with its operands exchanged (native.c): its b is the kernel's a.
static units_arguments arguments_of(const cuda_product *p, const cuda_product_memory *memory) {
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
      .k = (int32_t)inner_size(p),
      .activation = (int32_t)p->activation,
      .alpha = (float)memory->alpha,
      .beta = (float)memory->beta,
  };
}

bool tsri_cuda_units_multiply(cuda_queue *queue, cuda_units *units, const cuda_product *p,
                              const cuda_product_memory *memory) {
  int number = choose_tile(queue->device, p);
  const units_tile *tile = &tiles[number];
  const cuda_own_kernel *kernel = kernel_for(queue->device, units, number, p->b.is_transposed, !p->a.is_transposed);
  if (!kernel) return false;
  units_arguments arguments = arguments_of(p, memory);
  void *all[] = {&arguments};
  const cuda_kernel_start start = {.function = kernel->function,
                                   .groups = {(uint32_t)(divided(p->d.rows, tile->columns) * tile->parts),
                                              (uint32_t)divided(p->d.cols, rows_of(tile)), (uint32_t)p->batch},
                                   .items = {128 * (uint32_t)tile->warpgroups, 1, 1},
                                   .shared_bytes = shared_bytes(tile),
                                   .waits = true};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: tsrk_product_units: code %d", queue->device->name, code);
  return code == CU_SUCCESS;
}

void tsri_cuda_units_clear(const cuda_device *device, cuda_units *units) {
  for (int i = 0; i < UNITS_TILES * UNITS_LAYOUTS; i++)
    tsri_cuda_own_unload(device, &units->kernels[i / UNITS_LAYOUTS][i % UNITS_LAYOUTS]);
}
