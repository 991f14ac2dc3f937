// SPDX-License-Identifier: MIT
#include "backends/cuda/halves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/own_chain.h"
#include "backends/cuda/own_texts.h"
#include "core/alloc.h"
#include "core/log.h"

enum {
  LEAST_WORK = 1 << 24,  // with fewer multiplications there is little to gain, and compiling the kernel takes 0.7 s
  LEAST_SIDE = 64,       // of the result: with fewer rows or columns most of a tile is empty
  ROWS = 128,            // rows of a tile
  LINE_BYTES = 128,      // bytes of a strip along k
  LINE_ALIGNMENT = 16,   // alignment of the lines of a and b, in bytes: the copy engine requires it
  QUAD = 4,              // neighbouring elements of c and y that are read and written at a time
  MOST_SIDE = INT32_MAX / 2
};

// --- Tiles --------------------------------------------------------------------------------------------------------------

// A way to divide the work. A work-group computes tiles of ROWS x `columns` elements; strips of k go through `slots` slots in shared memory. `cluster`
// work-groups form a cluster: they compute tiles below each other and share strips of b; or, if is_split, they compute the same tile, each for a part of k.
// cycles: what a strip takes if all multiprocessors are busy, in cycles of an H200 at its full clock.
typedef struct halves_tile {
  int columns, slots, cluster, cycles;
  bool is_split;
} halves_tile;

static const halves_tile tiles[] = {
    {256, 4, 2, 1350, false}, {128, 6, 2, 720, false}, {128, 6, 1, 880, false}, {64, 8, 1, 530, false},
    {128, 6, 2, 880, true},   {128, 6, 4, 880, true},  {128, 6, 8, 880, true},  {64, 8, 2, 530, true},
    {64, 8, 4, 530, true},    {64, 8, 8, 530, true},
};

static int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t inner_of(const cuda_product *p) { return p->a.is_transposed ? p->a.rows : p->a.cols; }

// Whether neighbouring elements of the kernel's a are along m, and whether those of its b are along n (otherwise both are along k). `p` describes the product
// for a column-major library, with its operands exchanged (native.c): its b is our a.
static bool is_a_turned(const cuda_product *p) { return p->b.is_transposed; }
static bool is_b_turned(const cuda_product *p) { return !p->a.is_transposed; }

// Whether the kernel computes the transposed product, in which rows of the tiles are columns of y. For TF32, the matrix units read shared memory only if
// neighbouring elements are along k; otherwise elements must go through registers, which is possible only for the kernel's a. So the operands are exchanged if
// only b has the other order. If both have it, the kernel transposes strips of b in shared memory, which takes longer.
static bool is_exchanged(const cuda_product *p) { return p->dtype == TSR_F32 && is_b_turned(p) && !is_a_turned(p); }
static int64_t rows_of(const cuda_product *p) { return is_exchanged(p) ? p->d.rows : p->d.cols; }
static int64_t columns_of(const cuda_product *p) { return is_exchanged(p) ? p->d.cols : p->d.rows; }

static int64_t strips_of(const cuda_product *p) {
  return divided(inner_of(p) * (int64_t)tsr_dtype_bytes(p->dtype), LINE_BYTES);
}

// The number of clusters needed for the tiles of all products of the batch.
static int64_t cluster_count(const halves_tile *tile, const cuda_product *p) {
  int64_t rows = tile->is_split ? ROWS : (int64_t)ROWS * tile->cluster;
  return divided(rows_of(p), rows) * divided(columns_of(p), tile->columns) * p->batch;
}

// How many clusters run at the same time. Clusters of four and eight leave some multiprocessors unused, because all work-groups of a cluster must be in the
// same part of the GPU.
static int most_clusters(const cuda_device *device, const halves_tile *tile) {
  int units = (int)device->info.compute_units;
  return (tile->cluster > 2 ? units - units / 8 : units) / tile->cluster;
}

// Estimates the cycles that the product takes, if each work-group computes its tiles one after the other. Rounding and storing (STORING) and a chain (CHAIN)
// take some cycles for each column of a tile. If sums are split, adding up the parts takes ADDING.
static double cost_of(const cuda_device *device, const halves_tile *tile, const cuda_product *p, bool has_chain) {
  enum { STORING = 8, CHAIN = 40, ADDING = 7500 };  // CHAIN was measured for gelu, as the cycles above
  int64_t rounds = divided(cluster_count(tile, p), most_clusters(device, tile)), strips = strips_of(p);
  int64_t ending = (int64_t)tile->columns * (STORING + (has_chain ? CHAIN : 0));
  if (tile->is_split) {
    strips = divided(strips, tile->cluster);
    ending = ending / tile->cluster + ADDING;
  }
  return (double)rounds * (double)(strips * tile->cycles + ending);
}

// Whether the tile with is_split can be used: each part has at least one strip, and the GPU has room for a cluster.
static bool can_split(const cuda_device *device, const halves_tile *tile, const cuda_product *p) {
  return strips_of(p) >= tile->cluster && most_clusters(device, tile) > 0;
}

static int choose_tile(const cuda_device *device, const cuda_product *p, bool has_chain) {
  int best = 0;
  for (int i = 1; i < (int)(sizeof tiles / sizeof tiles[0]); i++) {
    if (tiles[i].is_split && !can_split(device, &tiles[i], p)) continue;
    if (cost_of(device, &tiles[i], p, has_chain) < cost_of(device, &tiles[best], p, has_chain)) best = i;
  }
  return best;
}

// --- Which products -----------------------------------------------------------------------------------------------------

static bool has_lines(const cuda_matrix *matrix, size_t element_bytes, uint32_t alignment) {
  int64_t unit = LINE_ALIGNMENT / (int64_t)element_bytes;
  return alignment >= LINE_ALIGNMENT && matrix->leading % unit == 0 && matrix->batch_stride % unit == 0 &&
         matrix->rows <= MOST_SIDE && matrix->cols <= MOST_SIDE;
}

static bool has_quads(const cuda_matrix *matrix, size_t element_bytes, uint32_t alignment) {
  return alignment >= QUAD * element_bytes && matrix->rows % QUAD == 0 && matrix->leading % QUAD == 0 &&
         matrix->batch_stride % QUAD == 0;
}

// Whether the kernel may multiply the dtype on this device.
static bool has_kind(const cuda_device *device, const cuda_product *p) {
  return p->dtype == TSR_F32 ? device->allows_tf32 : p->dtype == TSR_F16 || p->dtype == TSR_BF16;
}

bool tsri_cuda_halves_take(const cuda_device *device, const cuda_product *p) {
  double work = (double)p->batch * (double)p->d.rows * (double)p->d.cols * (double)inner_of(p);
  bool has_units = device->allows_units && strcmp(device->target, "sm_90") == 0 && device->cu->FuncSetAttribute &&
                   device->cu->TensorMapEncodeTiled;
  size_t bytes = tsr_dtype_bytes(p->dtype);
  return has_units && has_kind(device, p) && p->result == p->dtype && work >= LEAST_WORK && p->d.rows >= LEAST_SIDE &&
         p->d.cols >= LEAST_SIDE && p->batch <= MOST_SIDE && has_lines(&p->a, bytes, p->alignments[0]) &&
         has_lines(&p->b, bytes, p->alignments[1]) && (!p->has_c || has_quads(&p->c, bytes, p->alignments[2])) &&
         has_quads(&p->d, bytes, p->alignments[3]) && cluster_count(&tiles[0], p) <= INT32_MAX / 64;
}

// Compares estimates. On an H200, cuBLASLt reaches some 0.72 of what the matrix units could do at the full clock. The separate kernel for the chain moves 3.2
// TB/s, that is PASSED bytes for each cycle and multiprocessor, and its launch takes STARTING cycles, most of them on the host. The estimates are off by up to
// a fifth, so the gain must be larger than that.
bool tsri_cuda_halves_gain(const cuda_device *device, const cuda_product *p, const tsri_product_chain *chain) {
  enum { PER_CYCLE = 2048, PASSED = 12, STARTING = 8000 };  // for 16-bit dtypes; half of it for TF32
  double bytes = (double)tsr_dtype_bytes(p->dtype);
  double units = (double)device->info.compute_units;
  double elements = (double)p->batch * (double)p->d.rows * (double)p->d.cols;
  double library = elements * (double)inner_of(p) / (PER_CYCLE * 2 / bytes * 0.72 * units);
  double after = elements * 2 * bytes / (PASSED * units) + STARTING;
  for (int i = 0; i < chain->input_count; i++) {
    if (chain->inputs[i].by_row) return false;  // these are read as slowly as in a separate kernel
  }
  return cost_of(device, &tiles[choose_tile(device, p, true)], p, true) * 1.2 < library + after;
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

static uint32_t shared_bytes(const halves_tile *tile) {
  // The slots; a chunk of results for each of the warps that multiply; and SLACK, because the kernel rounds the address of its first slot up to a multiple of
  // it.
  enum { WARPS = 8, CHUNK_BYTES = 2560, SLACK = 1024 };
  return (uint32_t)(tile->slots * (ROWS + tile->columns) * LINE_BYTES + WARPS * CHUNK_BYTES + SLACK);
}

// The kernel's KIND.
static int kind_of(tsr_dtype dtype) { return dtype == TSR_F16 ? 0 : dtype == TSR_BF16 ? 1 : 2; }

static bool build(const cuda_device *device, const halves_form *form, cuda_own_kernel *kernel) {
  if (kernel->function || kernel->has_failed) return !kernel->has_failed;
  const halves_tile *tile = &tiles[form->tile];
  char options[256];
  snprintf(options, sizeof options,
           "-DKIND=%d -DCOLUMNS=%d -DSLOTS=%d -DCLUSTER=%d -DIS_SPLIT=%d -DACTIVATION=%d -DHAS_C=%d -DA_TURNED=%d "
           "-DB_TURNED=%d -DY_TURNED=%d %s",
           kind_of(form->dtype), tile->columns, tile->slots, tile->cluster, tile->is_split, (int)form->activation,
           form->has_c, form->a_is_turned, form->b_is_turned, form->y_is_turned,
           form->chain ? form->chain->options : "");
  char *all = tsri_cuda_text_with_chain(form->chain, "", tsri_cuda_halves_text);
  if (!all) return false;
  const cuda_own_text text = {
      .text = (const unsigned char *)all,
      .name = "tsrk_product_halves",
      .target = "sm_90a",  // "a": wgmma is one of the instructions that only this architecture has and newer ones lack
      .options = options,
      .what = "products of f16, bf16 and TF32 by matrix units",
      .shared_bytes = shared_bytes(tile)};
  bool is_built = tsri_cuda_own_build(device, &text, kernel);
  tsri_free(all);
  return is_built;
}

static bool is_same(const halves_form *x, const halves_form *y) {
  return x->dtype == y->dtype && x->activation == y->activation && x->has_c == y->has_c && x->tile == y->tile &&
         x->a_is_turned == y->a_is_turned && x->b_is_turned == y->b_is_turned && x->y_is_turned == y->y_is_turned &&
         x->chain == y->chain;
}

// Returns the record of a kernel, adding it if it does not exist yet. NULL: host memory is out.
static cuda_own_kernel *kernel_of(cuda_halves *halves, const halves_form *form) {
  for (int i = 0; i < halves->kernel_count; i++) {
    if (is_same(&halves->kernels[i]->form, form)) return &halves->kernels[i]->kernel;
  }
  halves_kernel **grown = tsri_realloc(halves->kernels, (size_t)(halves->kernel_count + 1) * sizeof *grown);
  if (grown) halves->kernels = grown;
  halves_kernel *added = grown ? tsri_calloc(1, sizeof *added) : NULL;
  if (!added) return NULL;
  added->form = *form;
  halves->kernels[halves->kernel_count++] = added;
  return &added->kernel;
}

// --- Launching ----------------------------------------------------------------------------------------------------------

// The kernel's arguments; the same as struct product in halves.cu.
typedef struct halves_arguments {
  cu_tensor_map a, b;
  cu_address c, bias, y;
  int64_t c_step, c_batch;
  int32_t m, n, k, batches, a_has_batch, b_has_batch, band;
  float alpha, beta;
  cuda_chain_arguments chain;
} halves_arguments;

// Describes a matrix to the copy engine. It copies pieces of 64 lines of LINE_BYTES (32 lines of f32 if is_turned), and rounds f32 to TF32. False: the driver
// refuses the description.
static bool map_matrix(const cuda_device *device, const cuda_product *p, const cuda_matrix *matrix, cu_address at,
                       bool is_turned, cu_tensor_map *out_map) {
  enum { PIECE = 64, DEPTH_OF_TF32 = 32 };
  static const int types[] = {CU_TENSOR_OF_F16, CU_TENSOR_OF_BF16, CU_TENSOR_OF_TF32};
  uint64_t element = tsr_dtype_bytes(p->dtype);
  bool has_batch = matrix->batch_stride != 0;
  int64_t next = has_batch ? matrix->batch_stride : matrix->leading * matrix->cols;
  const uint64_t sizes[] = {(uint64_t)matrix->rows, (uint64_t)matrix->cols, has_batch ? (uint64_t)p->batch : 1};
  const uint64_t steps[] = {(uint64_t)matrix->leading * element, (uint64_t)next * element};
  const uint32_t piece[] = {(uint32_t)(LINE_BYTES / element), is_turned && p->dtype == TSR_F32 ? DEPTH_OF_TF32 : PIECE,
                            1},
                 ones[] = {1, 1, 1};
  cu_result code = device->cu->TensorMapEncodeTiled(
      out_map, types[kind_of(p->dtype)], 3, (void *)(uintptr_t)at, sizes, steps, piece, ones, CU_TENSOR_NOT_INTERLEAVED,
      CU_TENSOR_SWIZZLE_128, CU_TENSOR_PROMOTES_128, CU_TENSOR_FILLS_ZERO);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: cuTensorMapEncodeTiled: code %d", device->name, code);
  return code == CU_SUCCESS;
}

// The number of clusters in a band: clusters below each other that are computed before those of the next columns. It is chosen so that the tiles computed at
// one time cover about as many rows as columns, because then they share most of what they read in the GPU's cache.
static int band_of(const cuda_device *device, const halves_tile *tile) {
  double area = (double)most_clusters(device, tile) * tile->cluster * ROWS * tile->columns;
  int band = (int)(sqrt(area) / (ROWS * tile->cluster) + 0.5);
  return band > 0 ? band : 1;
}

static bool fill_arguments(const cuda_device *device, const halves_tile *tile, const cuda_product *p,
                           const cuda_product_memory *memory, halves_arguments *out) {
  bool is_first = is_exchanged(p);  // whether the library's a is also the kernel's a
  const cuda_matrix *a = is_first ? &p->a : &p->b, *b = is_first ? &p->b : &p->a;
  *out = (halves_arguments){
      .c = p->has_c ? memory->c : 0,
      .bias = p->has_bias ? memory->bias : 0,
      .y = memory->d,
      .c_step = p->c.leading,
      .c_batch = p->c.batch_stride,
      .m = (int32_t)rows_of(p),
      .n = (int32_t)columns_of(p),
      .k = (int32_t)inner_of(p),
      .batches = (int32_t)p->batch,
      .a_has_batch = a->batch_stride != 0,
      .b_has_batch = b->batch_stride != 0,
      .band = band_of(device, tile),
      .alpha = (float)memory->alpha,
      .beta = (float)memory->beta,
      .chain = tsri_cuda_chain_arguments(memory),
  };
  return map_matrix(device, p, a, is_first ? memory->a : memory->b, is_first || is_a_turned(p), &out->a) &&
         map_matrix(device, p, b, is_first ? memory->b : memory->a, !is_first && is_b_turned(p), &out->b);
}

bool tsri_cuda_halves_multiply(cuda_queue *queue, cuda_halves *halves, const cuda_product *p,
                               const cuda_product_memory *memory) {
  enum { ITEMS = 384 };  // two warp groups that multiply and one that loads
  const halves_form form = {.dtype = p->dtype,
                            .activation = p->activation,
                            .has_c = p->has_c != 0,
                            .tile = choose_tile(queue->device, p, memory->chain != NULL),
                            .a_is_turned = is_a_turned(p) || is_exchanged(p),
                            .b_is_turned = is_b_turned(p) && !is_exchanged(p),
                            .y_is_turned = is_exchanged(p),
                            .chain = memory->chain ? memory->chain->function : NULL};
  const halves_tile *tile = &tiles[form.tile];
  cuda_own_kernel *kernel = kernel_of(halves, &form);
  halves_arguments arguments;
  if (!kernel || !build(queue->device, &form, kernel) || !fill_arguments(queue->device, tile, p, memory, &arguments))
    return false;
  void *all[] = {&arguments};
  int64_t clusters = cluster_count(tile, p);
  int64_t most = tile->is_split ? clusters : most_clusters(queue->device, tile);
  const cuda_kernel_start start = {
      .function = kernel->function,
      .groups = {(uint32_t)(clusters < most ? clusters : most) * (uint32_t)tile->cluster, 1, 1},
      .items = {ITEMS, 1, 1},
      .shared_bytes = shared_bytes(tile),
      .waits = true};
  cu_result code = tsri_cuda_start_kernel(queue, &start, all);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: tsrk_product_halves: code %d", queue->device->name, code);
  return code == CU_SUCCESS;
}

void tsri_cuda_halves_clear(const cuda_device *device, cuda_halves *halves) {
  for (int i = 0; i < halves->kernel_count; i++) {
    tsri_cuda_own_unload(device, &halves->kernels[i]->kernel);
    tsri_free(halves->kernels[i]);
  }
  tsri_free(halves->kernels);
  *halves = (cuda_halves){.kernels = NULL};
}
