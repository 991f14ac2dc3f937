// SPDX-License-Identifier: MIT
// Products of padded copies: copies matrices so that their lines begin at aligned addresses, and multiplies the copies.
#include "ops/matmul_padded.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/fragment_tile.h"

enum { PRODUCT, A, B, BUFFERS };

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

// The alignment of lines that the device's products need, in elements; 0: none.
static int64_t unit_of(const tsr_device *device, tsr_dtype dtype) {
  tsri_graph_state *state = NULL;
  if (tsri_graph_state_for((tsr_device *)(uintptr_t)device, &state) != TSR_OK) return 0;
  return state->tuning.product_alignment / (int64_t)tsr_dtype_bytes(dtype);
}

// Whether each line of a matrix (along the axis with stride 1) begins at a multiple of `unit` and has a multiple of `unit` elements.
static bool is_aligned(const tsri_matrix *x, tsr_dtype dtype, int64_t rows, int64_t columns, int64_t unit) {
  int64_t size = x->column == 1 ? columns : rows, step = x->column == 1 ? x->row : x->column;
  return size % unit == 0 && step % unit == 0 && x->at.offset % (size_t)(unit * (int64_t)tsr_dtype_bytes(dtype)) == 0;
}

static bool has_lines(const tsri_matrix *x) { return x->column == 1 || x->row == 1; }

// Whether the device multiplies aligned lines with matrix units: by its library, or by our kernel with fragments.
static bool has_units(const tsr_device *device, const tsri_native_op *op) {
  tsri_fragment_tile tile;
  return tsri_device_takes(device, op) || tsri_fragment_tile_choose(device, &op->is.product, op->dtype, &tile);
}

// Seconds that aligned lines save for each of the m * n * k multiplications. On an H200, cuBLASLt multiplies bf16 at some 220 TFLOP/s if lines are not aligned,
// and at 650 if they are; so does our fragment kernel through Vulkan (4095 x 4097 x 4096: 890 us, 4096^3: 414). Without matrix units, elements of lines that
// are not aligned are read one by one: through WebGPU, bf16 2538 x 9186 x 3226 takes 5750 us, and 3630 with aligned copies; 64 x 4097 x 4096 takes 233 and 145.
static double saving(const tsr_device *device, const tsri_native_op *op) {
  return has_units(device, op) ? 6e-15 : 3e-14;
}

// Compares what is saved with the cost of the copies, which move 4 bytes for each element at some 4 TB/s, in three launches that take 8 us.
bool tsri_product_wants_padding(const tsr_device *device, const tsri_native_op *op) {
  const tsri_product_op *p = &op->is.product;
  bool is_narrow = op->dtype == TSR_F16 || op->dtype == TSR_BF16;
  int64_t unit = is_narrow ? unit_of(device, op->dtype) : 0;
  if (unit == 0 || op->result != op->dtype || op->parts) return false;
  if (p->batch_rank > 0 || !has_lines(&p->a) || !has_lines(&p->b)) return false;
  if (p->n % unit == 0 && is_aligned(&p->a, op->dtype, p->m, p->k, unit) &&
      is_aligned(&p->b, op->dtype, p->k, p->n, unit))
    return false;
  if (tsri_tuning_of(device)->product_padded) return true;
  double m = (double)p->m, n = (double)p->n, k = (double)p->k;
  return m * n * k * saving(device, op) > 1.5 * ((m * k + k * n + m * n) * 1e-12 + 8e-6);
}

// Copies `lines` lines of `length` elements, `step` apart, to `all_lines` lines of `pitch` elements; the additional elements and lines are 0.
static tsr_status copy_lines(tsri_call *call, tsr_buffer *x, int64_t x_at, tsr_buffer *y, tsr_dtype dtype,
                             int64_t lines, int64_t length, int64_t step, int64_t all_lines, int64_t pitch) {
  tsri_call_buffer(call, "x", x, dtype);
  tsri_call_buffer(call, "y", y, dtype);
  tsri_call_word(call, "x_at", x_at);
  tsri_call_word(call, "lines", lines);
  tsri_call_word(call, "length", length);
  tsri_call_word(call, "step", step);
  tsri_call_word(call, "pitch", pitch);
  tsri_call_word(call, "total", all_lines * pitch);
  return tsri_call_items(call, (all_lines * pitch + 3) / 4);
}

// Replaces `matrix` by a copy padded with zeros to `all_rows` and `all_columns`, unless it is aligned and has these sizes already.
static tsr_status pad(const tsri_kernel_run *run, int input, int64_t rows, int64_t columns, int64_t all_rows,
                      int64_t all_columns, tsri_matrix *matrix, tsr_buffer **out_copy) {
  int64_t unit = unit_of(run->device, run->dtype);
  if (rows == all_rows && columns == all_columns && is_aligned(matrix, run->dtype, rows, columns, unit)) {
    *out_copy = tsr_buffer_retain(run->inputs[input]);
    return TSR_OK;
  }
  bool is_by_rows = matrix->column == 1;
  int64_t lines = is_by_rows ? rows : columns, all_lines = is_by_rows ? all_rows : all_columns;
  int64_t length = is_by_rows ? columns : rows, pitch = round_up(is_by_rows ? all_columns : all_rows, unit);
  tsr_status status = tsri_call_scratch(run->device, all_lines * pitch, run->dtype, out_copy);
  if (status == TSR_ERR_OUT_OF_MEMORY)
    return TSR_ERR_UNSUPPORTED;  // the product works without a copy, only more slowly
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_product", "copy_lines",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_CONSTANT("WIDE_Y", pitch % 4 == 0)));
  status = copy_lines(&call, run->inputs[input], run->layouts[input].offset, *out_copy, run->dtype, lines, length,
                      is_by_rows ? matrix->row : matrix->column, all_lines, pitch);
  *(is_by_rows ? &matrix->row : &matrix->column) = pitch;
  matrix->at.offset = 0;
  return status;
}

// Rounds m, n and k up where they are the lengths of lines. Columns of a, for example, are lines of m elements.
static void round_sizes(tsri_product_op *p, int64_t unit) {
  if (p->a.column != 1) p->m = round_up(p->m, unit);
  p->n = round_up(p->n, unit);
  p->k = round_up(p->k, unit);
}

static tsr_status run_natively(tsr_device *device, tsri_native_op op, tsr_buffer **buffers) {
  tsri_product_op *p = &op.is.product;
  tsri_place_bind(&p->y, buffers[PRODUCT]);
  tsri_place_bind(&p->a.at, buffers[A]);
  tsri_place_bind(&p->b.at, buffers[B]);
  return tsri_device_run_op(device, &op, buffers, BUFFERS);
}

static tsr_status multiply(const tsri_kernel_run *run, tsri_native_op *op, tsri_product_fn by_kernel,
                           tsr_buffer **buffers) {
  tsri_product_op *p = &op->is.product;
  int64_t m = p->m, n = p->n, k = p->k;
  round_sizes(p, unit_of(run->device, run->dtype));
  tsr_status status = tsri_call_scratch(run->device, p->m * p->n, run->dtype, &buffers[PRODUCT]);
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;
  if (status == TSR_OK) status = pad(run, 0, m, k, p->m, p->k, &p->a, &buffers[A]);
  if (status == TSR_OK) status = pad(run, 1, k, n, p->k, p->n, &p->b, &buffers[B]);
  if (status != TSR_OK) return status;
  status = run_natively(run->device, *op, buffers);
  if (status == TSR_ERR_UNSUPPORTED) status = by_kernel(run, p, &buffers[A], buffers[PRODUCT]);
  if (status != TSR_OK) return status;
  bool has_quads = n % 4 == 0 || (!run->epilogue && m * n % 4 == 0);
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_product", "copy_lines",
                        TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_CONSTANT("WIDE_Y", has_quads)));
  return copy_lines(&call, buffers[PRODUCT], 0, run->output, run->dtype, m, n, p->n, m, n);
}

tsr_status tsri_matmul_padded(const tsri_kernel_run *run, tsri_native_op product, tsri_product_fn by_kernel) {
  if (!tsri_product_wants_padding(run->device, &product)) return TSR_ERR_UNSUPPORTED;
  tsr_buffer *buffers[BUFFERS] = {NULL};
  tsr_status status = multiply(run, &product, by_kernel, buffers);
  for (int i = 0; i < BUFFERS; i++) tsr_buffer_release(buffers[i]);
  return status;
}
