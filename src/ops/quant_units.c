// SPDX-License-Identifier: MIT
// Several rows of x times quantised weights, by the kernel product_units of kernels/op_quant.tk, which decodes weights into shared memory for the matrix units.
#include "ops/quant_units.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/matmul_split.h"
#include "ops/operators.h"
#include "ops/quant.h"

enum {
  LEAST_ROWS = 2,
  MOST_DEPTH = 128,
  LEAST_DEPTH = 32,
  RUN = 8,
  PIECE = 32,
  MANY_CORES = 128
};  // RUN, PIECE: as in the kernel

typedef struct quant_tile {
  tsr_fragment_size fragment;
  int part_m, part_n;         // of a subgroup
  int tile_m, tile_n, depth;  // of a group
  int subgroup_size;
  int terms;  // numbers of the dtype whose sum is a weight
} quant_tile;

static int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static const tsr_fragment_size *fragment_for(const tsr_device *device, tsr_dtype dtype) {
  for (uint32_t i = 0; i < device->limits.fragment_count; i++) {
    if (device->limits.fragments[i].dtype == dtype) return &device->limits.fragments[i];
  }
  return NULL;
}

static int items_of(const quant_tile *t) { return t->tile_m / t->part_m * (t->tile_n / t->part_n) * t->subgroup_size; }

static size_t shared_bytes(const quant_tile *t) {
  size_t strips = (size_t)(t->tile_m + t->terms * t->tile_n) * (size_t)(t->depth + RUN) * 2;
  int results = items_of(t) / t->subgroup_size * t->fragment.m * t->fragment.n;
  return strips + (size_t)(results + t->tile_n) * sizeof(float);
}

// Whether the items share the strips evenly (the kernel asserts that), and the device has room for the strips and the items.
static bool fits(const tsr_device *device, const quant_tile *t) {
  int items = items_of(t), across = t->depth / RUN;
  int pieces = t->tile_n * t->depth / PIECE, busy = items < pieces ? items : pieces;
  bool is_even = items % across == 0 && t->tile_m % (items / across) == 0 && items % t->tile_n == 0 &&
                 busy % (t->depth / PIECE) == 0 && pieces % busy == 0;
  return is_even && t->fragment.m * t->fragment.n % t->subgroup_size == 0 && t->depth % t->fragment.k == 0 &&
         (uint32_t)items <= device->limits.max_group_size && shared_bytes(t) <= device->limits.shared_bytes;
}

// Tile sizes: fragments of a tile, down and across, and fragments of a subgroup's part. If possible, a tile has room for all rows of x, because weights are
// decoded again for each tile down.
static const struct {
  int rows, cols, part_rows, part_cols;
} cuts[] = {{1, 4, 1, 1}, {1, 2, 1, 1}, {2, 4, 2, 1}, {2, 2, 1, 1}, {4, 4, 2, 2}, {4, 2, 2, 1}, {8, 4, 2, 2}};

static int terms_of(tsr_dtype dtype, int64_t format) {
  if (format == TSRI_QUANT_I8) return 1;
  return dtype == TSR_F16 ? 2 : 3;
}

static bool choose(const tsr_device *device, tsr_dtype dtype, int64_t m, int64_t k, int64_t format,
                   quant_tile *out_tile) {
  const tsr_fragment_size *size = dtype == TSR_F16 || dtype == TSR_BF16 ? fragment_for(device, dtype) : NULL;
  int subgroup = tsr_device_subgroup_size(device);
  bool has_any = false;
  int pair = 2 * tsri_quant_formats[format].gap, least = pair > LEAST_DEPTH ? pair : LEAST_DEPTH;
  if (!size || subgroup == 0) return false;
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    quant_tile t = {.fragment = *size,
                    .part_m = cuts[i].part_rows * size->m,
                    .part_n = cuts[i].part_cols * size->n,
                    .tile_m = cuts[i].rows * size->m,
                    .tile_n = cuts[i].cols * size->n,
                    .subgroup_size = subgroup,
                    .terms = terms_of(dtype, format)};
    for (t.depth = MOST_DEPTH; t.depth >= least; t.depth /= 2) {
      if (k % t.depth != 0 || !fits(device, &t)) continue;
      *out_tile = t;
      has_any = true;
      if (t.tile_m >= m) return true;
      break;
    }
  }
  return has_any;
}

// From how many rows on matrix units are faster. The kernel that decodes weights into registers (product_rows) takes four rows at a time. With it, 2 and 4 rows
// by 4096 x 4096 weights take 13.1 and 17.4 us on an H200 in q8_0, 11.9 and 16.6 in q4_0, 16.3 and 21.0 in q6_K, and 20.1 and 28.5 in q4_K, whose weights also
// have minimums; matrix units take 24.2, 20.5, 22.5 and 21.7.
static int64_t least_rows(const tsr_device *device, int64_t format) {
  enum { ROWS_OF_PASS = 4, ROWS_WITH_MINIMUMS = 2 };
  int64_t least = tsri_call_tuning((tsr_device *)(uintptr_t)device)->quant_units;
  return format == TSR_QUANT_Q4_K && least == ROWS_OF_PASS + 1 ? ROWS_WITH_MINIMUMS + 1 : least;
}

// Whether there are few enough tiles down, for each of which weights are decoded again. 512 rows by 4096 x 4096 weights take 127 to 161 us in tiles of 128
// rows, 221 to 280 in tiles of 64, and 225 with a decoded copy.
static bool has_few_tiles(const quant_tile *t, int64_t m) {
  enum { MOST_TILES = 4, LARGE = 8 };
  return t->tile_m >= LARGE * t->fragment.m || m <= MOST_TILES * t->tile_m;
}

bool tsri_quant_has_units(const tsr_device *device, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format) {
  quant_tile tile;
  return n > 0 && k > 0 && m >= least_rows(device, format) && choose(device, dtype, m, k, format, &tile) &&
         has_few_tiles(&tile, m);
}

// Splits the sums so that each core has RESIDENT items, but into parts of at least a few steps. 8, 64 and 128 rows by 4096 x 4096 weights of q8_0 take 25.1,
// 35.8 and 53.1 us on an H200 with 256 items, 24.4, 38.0 and 49.8 with 512, and 24.6, 45.0 and 55.5 with 768; of q4_K 23.1, 29.1 and 46.7, then 22.0, 29.0 and
// 41.9, then 21.9, 35.8 and 48.2.
static tsri_matmul_split split_of(const tsr_device *device, const quant_tile *t, int64_t m, int64_t n, int64_t k) {
  enum { RESIDENT = 512, STEPS_OF_PART = 4 };
  int64_t cores = device->info.compute_units > 0 ? device->info.compute_units : MANY_CORES;
  int64_t tiles = divided_up(m, t->tile_m) * divided_up(n, t->tile_n), steps = k / t->depth;
  int64_t parts = cores * RESIDENT / (tiles * items_of(t)), most = steps / STEPS_OF_PART;
  if (parts > most) parts = most;
  if (parts < 2) return (tsri_matmul_split){1, k};
  int64_t each = divided_up(steps, parts);
  return (tsri_matmul_split){.parts = divided_up(steps, each), .depth = each * t->depth};
}

// Whether blocks can be read 16 bytes at a time.
static bool is_aligned(const tsri_layout *bytes, int64_t format) {
  enum { QUAD = 16 };  // bytes that are read at once
  int64_t row = bytes->shape.dims[bytes->shape.rank - 1];
  bool is_even = tsri_quant_formats[format].bytes % QUAD == 0 || (format == TSRI_QUANT_I8 && row % QUAD == 0);
  return is_even && bytes->offset % QUAD == 0 && tsri_quant_carrier(bytes) == TSR_U32;
}

static tsr_status launch(const tsri_kernel_run *run, const quant_tile *t, const tsri_matmul_split *split,
                         tsr_dtype stored) {
  const tsri_layout *x = &run->layouts[0], *w = &run->layouts[1];
  int64_t id = TSRI_GIVEN(run->node, quant)->format, k = x->shape.dims[x->shape.rank - 1], m = x->count / k;
  const tsri_quant_format *format = &tsri_quant_formats[id];
  tsr_dtype carrier = tsri_quant_carrier(w);
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_quant", "product_units",
                        TSRI_WITH(TSRI_TYPE("W", carrier), TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("Y", stored),
                                  TSRI_CONSTANT("FORMAT", id), TSRI_CONSTANT("BLOCK", format->block),
                                  TSRI_CONSTANT("HALVES", format->bytes / 2), TSRI_CONSTANT("GAP", format->gap),
                                  TSRI_CONSTANT("TERMS", t->terms), TSRI_CONSTANT("ALIGNED", is_aligned(w, id)),
                                  TSRI_CONSTANT("SPLIT", split->parts > 1), TSRI_CONSTANT("M", t->fragment.m),
                                  TSRI_CONSTANT("N", t->fragment.n), TSRI_CONSTANT("K", t->fragment.k),
                                  TSRI_CONSTANT("PART_M", t->part_m), TSRI_CONSTANT("PART_N", t->part_n),
                                  TSRI_CONSTANT("BM", t->tile_m), TSRI_CONSTANT("BN", t->tile_n),
                                  TSRI_CONSTANT("DEPTH", t->depth), TSRI_CONSTANT("SG", t->subgroup_size)));
  tsri_call_buffer(&call, "w", run->inputs[1], carrier);
  tsri_call_buffer(&call, "x", run->inputs[0], TSR_U32);
  tsri_call_buffer(&call, "y", run->output, stored);
  tsri_call_word(&call, "m", m);
  tsri_call_word(&call, "n", w->shape.dims[0]);
  tsri_call_word(&call, "k", k);
  tsri_call_word(&call, "w_at", w->offset / 2);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "part", split->depth);
  tsri_call_word(&call, "exponent", TSRI_QUANT_EXPONENT);
  return tsri_call_groups(&call, divided_up(w->shape.dims[0], t->tile_n), divided_up(m, t->tile_m), split->parts);
}

// Stores the partial sums of all parts, without the fused operators, and adds them up in a second launch.
static tsr_status launch_split(const tsri_kernel_run *run, const quant_tile *t, const tsri_matmul_split *split,
                               const tsri_product_op *product) {
  tsri_kernel_run inner = *run;
  inner.epilogue = NULL;
  inner.output = NULL;
  tsr_status status = tsri_call_scratch(run->device, split->parts * product->m * product->n, TSR_F32, &inner.output);
  if (status == TSR_OK) status = launch(&inner, t, split, TSR_F32);
  if (status == TSR_OK) status = tsri_matmul_split_join(run, product, split->parts, inner.output);
  tsr_buffer_release(inner.output);
  return status;
}

tsr_status tsri_quant_units(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0], *w = &run->layouts[1];
  int64_t id = TSRI_GIVEN(run->node, quant)->format, k = x->shape.dims[x->shape.rank - 1], n = w->shape.dims[0];
  quant_tile tile;
  if (k == 0 || x->offset % RUN != 0 ||
      !tsri_quant_has_units(run->device, run->input_dtypes[0], x->count / k, n, k, id) ||
      !choose(run->device, run->input_dtypes[0], x->count / k, k, id, &tile)) {
    return TSR_ERR_UNSUPPORTED;
  }
  tsri_product_op product = {.m = x->count / k, .n = n, .k = k, .alpha = 1};
  tsri_matmul_split split = split_of(run->device, &tile, product.m, n, k);
  if (split.parts > 1) return launch_split(run, &tile, &split, &product);
  return launch(run, &tile, &split, run->dtype);
}
