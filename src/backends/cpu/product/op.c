// SPDX-License-Identifier: MIT
// Products of f32, f64, f16, bf16 and bytes as operators: batches, and scratch memory.
#include "backends/cpu/product/product.h"
#include "core/error.h"
#include "platform/parallel.h"

// WORTH_A_THREAD: multiplications and additions that are worth a thread, some 15 microseconds of work. Reading or writing an element counts as ELEMENT_WORK of
// them. Fewer than LEAST_COLUMNS columns count as that many, because a tile computes whole vectors. Bytes in groups are BYTES_FASTER times as fast: 100 x 200 x
// 300 of i8 took 48 us when divided among eight threads of a Xeon, and takes 23 on one.
enum { WORTH_A_THREAD = 1500000, ELEMENT_WORK = 16, LEAST_COLUMNS = 16, BYTES_FASTER = 6 };

// --- The end of a product -------------------------------------------------------------------------------------------------------

const void *tsri_product_widen(const tsri_product *p, const char *row, int64_t at, int64_t n, float *wide) {
  const char *from = row ? row + (size_t)at * p->element : NULL;
  if (!from || !p->is_narrow) return from;
  p->storage->load(wide, from, 1, (uint32_t)n);
  return wide;
}

// sums = alpha * sums + beta * addend, for `n` elements of the result from element `at` on. They are in one row, or in the only column.
static void scale(const tsri_product *p, char *sums, int64_t at, int64_t n) {
  union {
    float f32[TSRI_PRODUCT_STRETCH];
    double f64[TSRI_PRODUCT_STRETCH];
  } addend;
  const tsri_product_matrix *c = &p->addend;
  int64_t step = p->n == 1 ? c->row : c->column, first = at / p->n * c->row + at % p->n * c->column;
  bool has_addend = p->beta != 0;
  if (has_addend) p->storage->load(&addend, c->at + first * (int64_t)p->element, step, (uint32_t)n);
  if (p->sum_bytes == sizeof(double)) {
    double *to = (double *)(void *)sums;
    for (int64_t i = 0; i < n; i++) to[i] = p->alpha * to[i] + (has_addend ? p->beta * addend.f64[i] : 0);
    return;
  }
  float *to = (float *)(void *)sums, alpha = (float)p->alpha, beta = (float)p->beta;
  for (int64_t i = 0; i < n; i++) to[i] = alpha * to[i] + (has_addend ? beta * addend.f32[i] : 0);
}

void tsri_product_finish(const tsri_product *p, char *sums, const void *bias, int64_t at, int64_t n) {
  float wide[TSRI_PRODUCT_STRETCH];
  if (p->has_integers) {
    p->storage->store(p->c + (size_t)at * p->element, sums, 1, (uint32_t)n);
    return;
  }
  if (p->is_scaled) scale(p, sums, at, n);
  p->kernels->finish(sums, bias, n, p->activation, p->math);
  const void *residual = tsri_product_widen(p, p->residual, at, n, wide);
  if (residual) p->kernels->finish(sums, residual, n, TSRI_ACTIVATION_NONE, p->math);
  if (p->is_narrow) p->storage->store(p->c + (size_t)at * p->element, sums, 1, (uint32_t)n);
}

void tsri_product_finish_columns(const tsri_product *p, char *sums, int64_t step, int64_t first, int64_t last) {
  float wide[TSRI_PRODUCT_STRETCH];
  if (tsri_product_is_plain(p)) return;
  for (int64_t at = first; at < last; at += TSRI_PRODUCT_STRETCH) {
    int64_t count = last - at < TSRI_PRODUCT_STRETCH ? last - at : TSRI_PRODUCT_STRETCH;
    const void *bias = tsri_product_widen(p, p->bias, at, count, wide);
    for (int64_t i = 0; i < p->m; i++) {
      tsri_product_finish(p, sums + (size_t)(i * step + at - first) * p->sum_bytes, bias, i * p->n + at, count);
    }
  }
}

// --- Batches ------------------------------------------------------------------------------------------------------------------

typedef struct product_batch {
  const tsri_product_op *op;
  tsri_product like;  // the product without the addresses of the matrices
  int64_t count;
  int parts;
  bool has_vector, has_few_columns, is_outer, is_direct, has_few_rows, has_few_dots, has_few_groups, is_deep,
      has_quant_rows;
  size_t scratch_bytes;  // of each part
} product_batch;

// Matrix `index` of the batch.
static tsri_product_matrix matrix_of(const product_batch *batch, const tsri_matrix *matrix, int64_t index) {
  const tsri_product_op *op = batch->op;
  int64_t at = 0;
  for (int axis = op->batch_rank - 1; axis >= 0; axis--) {
    at += index % op->batch_dims[axis] * matrix->batch[axis];
    index /= op->batch_dims[axis];
  }
  return (tsri_product_matrix){.at = tsri_cpu_place(matrix->at) + at * (int64_t)batch->like.element,
                               .row = matrix->row,
                               .column = matrix->column};
}

static void run_matrices(const product_batch *batch, int64_t first, int64_t last, char *scratch) {
  tsri_product p = batch->like;
  p.scratch = scratch;
  for (int64_t i = first; i < last; i++) {
    size_t at = (size_t)(i * p.m * p.n) * p.element;
    p.a = matrix_of(batch, &batch->op->a, i);
    p.b = matrix_of(batch, &batch->op->b, i);
    if (p.is_scaled && p.beta != 0) p.addend = matrix_of(batch, &batch->op->c, i);
    p.c = batch->like.c + at;
    if (p.residual) p.residual = batch->like.residual + at;
    if (batch->has_quant_rows) tsri_product_run_quant_rows(&p);
    else if (batch->has_vector) tsri_product_run_vector(&p);
    else if (batch->has_few_columns) tsri_product_run_columns(&p);
    else if (batch->is_outer) tsri_product_run_outer(&p);
    else if (batch->has_few_groups) tsri_product_run_few_groups(&p);
    else if (batch->has_few_dots) tsri_product_run_dots(&p);
    else if (batch->is_direct) tsri_product_run_direct(&p);
    else if (batch->has_few_rows) tsri_product_run_rows(&p);
    else if (batch->is_deep) tsri_product_run_deep(&p);
    else tsri_product_run(&p);
  }
}

static void run_part(void *user, int part) {
  const product_batch *batch = user;
  run_matrices(batch, batch->count * part / batch->parts, batch->count * (part + 1) / batch->parts,
               batch->like.scratch + (size_t)part * batch->scratch_bytes);
}

// --- The operator ---------------------------------------------------------------------------------------------------------------

static tsri_product product_of(cpu_device *device, const tsri_native_op *op) {
  const tsri_product_op *given = &op->is.product;
  tsr_dtype sums = op->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  const tsri_product_kernels *kernels = tsri_product_kernels_for(device->simd, sums);
  bool is_quantised = (op->parts & TSRI_PRODUCT_QUANTISED) != 0;
  return (tsri_product){
      .kernels = kernels,
      .quant = is_quantised ? &kernels->quant[given->b_format] : NULL,
      .storage = &tsri_cpu_engine(device)->isa->storage[op->dtype],
      .math = tsri_cpu_engine(device)->math,
      .groups = is_quantised ? NULL : tsri_product_groups_for(device->units, op->dtype, given->k),
      .is_bf16 = op->dtype == TSR_BF16,
      .is_narrow = op->dtype != sums,
      .has_integers = tsr_dtype_kind_of(op->dtype) != TSR_KIND_FLOAT,
      .element = tsr_dtype_bytes(op->dtype),
      .sum_bytes = tsr_dtype_bytes(sums),
      .m = given->m,
      .n = given->n,
      .k = given->k,
      .c = tsri_cpu_place(given->y),
      .bias = op->parts & TSRI_PRODUCT_BIAS ? tsri_cpu_place(given->bias) : NULL,
      .residual = op->parts & TSRI_PRODUCT_RESIDUAL ? tsri_cpu_place(given->residual) : NULL,
      .is_scaled = (op->parts & TSRI_PRODUCT_SCALED) != 0,
      .alpha = given->alpha,
      .beta = given->beta,
      .activation = given->activation,
  };
}

// Merges the last batch axis with the rows of a, if all its matrices are multiplied by the same b and all rows have the same stride: one large product is
// faster than many small ones.
static tsri_product_op with_batch_as_rows(const tsri_product_op *given) {
  tsri_product_op op = *given;
  tsri_matrix *by_rows[2] = {&op.a, &op.c};
  while (op.batch_rank > 0 && op.b.batch[op.batch_rank - 1] == 0) {
    int last = op.batch_rank - 1;
    for (int i = 0; i < 2; i++) {
      if (op.m > 1 && by_rows[i]->batch[last] != by_rows[i]->row * op.m) return op;
    }
    for (int i = 0; i < 2 && op.m == 1; i++) by_rows[i]->row = by_rows[i]->batch[last];
    op.m *= op.batch_dims[last];
    op.batch_rank = last;
  }
  return op;
}

// Whether each thread takes whole products of the batch; otherwise all threads share each product.
static bool is_split_by_batch(const product_batch *batch, int threads) {
  const tsri_product *p = &batch->like;
  return threads > 1 && batch->count >= 2 * threads && (double)p->m * (double)p->n * (double)p->k < 256.0 * 256 * 256;
}

static double work_of(const tsri_product *p, bool has_vector) {
  double m = (double)p->m, n = (double)p->n, k = (double)p->k, elements = m * n + m * k + k * n;
  double sums = has_vector ? 0 : 2 * m * k * (n < LEAST_COLUMNS ? LEAST_COLUMNS : n);
  return (sums + ELEMENT_WORK * elements) / (p->groups && p->element == 1 ? BYTES_FASTER : 1);
}

tsr_status tsri_cpu_product(cpu_device *device, const tsri_native_op *op) {
  tsri_native_op joined = *op;
  joined.is.product = with_batch_as_rows(&op->is.product);
  const tsri_product_op *given = &joined.is.product;
  product_batch batch = {.op = given, .like = product_of(device, &joined), .count = 1, .parts = 1};
  tsri_product *p = &batch.like;
  for (int i = 0; i < given->batch_rank; i++) batch.count *= given->batch_dims[i];
  p->a = matrix_of(&batch, &given->a, 0);
  p->b = matrix_of(&batch, &given->b, 0);
  batch.has_quant_rows = p->quant && tsri_product_has_quant_rows(p);
  batch.has_vector = !p->quant && !p->has_integers && tsri_product_has_vector(p);
  batch.has_few_columns = !batch.has_vector && tsri_product_has_few_columns(p);
  batch.is_outer = !batch.has_vector && tsri_product_is_outer(p);
  bool is_tiled = !p->quant && !batch.has_vector && !batch.has_few_columns && !batch.is_outer;
  batch.has_few_groups = is_tiled && tsri_product_has_few_groups(p);
  batch.has_few_dots = is_tiled && !batch.has_few_groups && tsri_product_has_few_dots(p);
  is_tiled = is_tiled && !batch.has_few_groups && !batch.has_few_dots;
  batch.has_few_rows = is_tiled && tsri_product_has_few_rows(p);
  batch.is_direct = is_tiled && !batch.has_few_rows && tsri_product_is_direct(p);
  if (is_tiled && !p->groups && !batch.has_few_rows && !batch.is_direct) {
    p->groups = tsri_product_split_for(device->units, p);
  }

  double work = work_of(p, batch.has_vector || batch.has_few_columns);
  int threads = tsri_cpu_threads(device, (uint64_t)(work * (double)batch.count / WORTH_A_THREAD));
  bool is_by_batch = is_split_by_batch(&batch, threads);
  p->threads = is_by_batch ? 1 : tsri_cpu_threads(device, (uint64_t)(work / WORTH_A_THREAD));
  batch.is_deep = is_tiled && tsri_product_is_deep(p, p->threads);
  batch.is_direct = batch.is_direct && !batch.is_deep;
  batch.has_few_rows = batch.has_few_rows && !batch.is_deep;
  if (is_by_batch) batch.parts = tsri_cpu_parts(threads, (uint64_t)batch.count);
  batch.scratch_bytes = batch.has_quant_rows    ? tsri_product_quant_scratch_bytes(p)
                        : batch.has_vector      ? tsri_product_vector_scratch_bytes(p)
                        : batch.has_few_columns ? tsri_product_columns_scratch_bytes(p)
                        : batch.is_outer        ? tsri_product_outer_scratch_bytes(p)
                        : batch.has_few_groups  ? tsri_product_few_groups_scratch_bytes(p)
                        : batch.has_few_dots    ? tsri_product_dots_scratch_bytes(p)
                        : batch.is_direct       ? tsri_product_direct_scratch_bytes(p)
                        : batch.has_few_rows    ? tsri_product_rows_scratch_bytes(p)
                        : batch.is_deep         ? tsri_product_deep_scratch_bytes(p)
                                                : tsri_product_scratch_bytes(p);
  batch.scratch_bytes = (batch.scratch_bytes + 63) / 64 * 64;
  p->scratch = tsri_cpu_scratch(device, batch.scratch_bytes * (size_t)batch.parts);
  if (!p->scratch) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "matmul: no host memory for its panels");
  tsri_parallel(is_by_batch ? threads : 1, batch.parts, run_part, &batch);
  return TSR_OK;
}
