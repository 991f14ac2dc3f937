// SPDX-License-Identifier: MIT
// The native operators "matmul" and "linear" of f32, f64, f16 and bf16: batches, and where their scratch memory comes from.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "core/alloc.h"
#include "core/error.h"
#include "platform/parallel.h"

enum { WORTH_A_THREAD = 4000000 };  // multiplications and additions

bool tsri_cpu_has_product(const tsri_native_op *op) {
  bool is_linear = strcmp(op->name, "linear") == 0;
  if (!is_linear && strcmp(op->name, "matmul") != 0) return false;
  tsr_dtype dtype = op->output.dtype;
  return dtype == TSR_F32 || dtype == TSR_F64 || dtype == TSR_F16 || dtype == TSR_BF16;
}

// --- Batches ------------------------------------------------------------------------------------------------------------------

// The matrix of `operand` for matrix `index` of the result, whose batch axes it is broadcast to.
static tsri_product_matrix matrix_of(const tsri_operand *operand, const tsri_operand *output, int64_t index) {
  int rank = operand->shape.rank, missing = output->shape.rank - rank;
  int64_t at = 0;
  for (int axis = output->shape.rank - 3; axis >= 0; axis--) {
    int64_t size = output->shape.dims[axis], place = index % size;
    index /= size;
    if (axis >= missing && operand->shape.dims[axis - missing] != 1) at += place * operand->strides[axis - missing];
  }
  return (tsri_product_matrix){
      .at = tsri_cpu_operand_host(operand) + at * (int64_t)tsr_dtype_bytes(operand->dtype),
      .row = operand->strides[rank - 2],
      .column = operand->strides[rank - 1],
  };
}

typedef struct product_batch {
  const tsri_native_op *op;
  tsri_product like;  // all but the places of the matrices
  int64_t count;
  int parts;
  bool has_vector;
  size_t scratch_bytes;  // of each part
} product_batch;

static void run_matrices(const product_batch *batch, int64_t first, int64_t last, char *scratch) {
  tsri_product p = batch->like;
  p.scratch = scratch;
  for (int64_t i = first; i < last; i++) {
    p.a = matrix_of(&batch->op->inputs[0], &batch->op->output, i);
    p.b = matrix_of(&batch->op->inputs[1], &batch->op->output, i);
    p.c = tsri_cpu_operand_host(&batch->op->output) + (size_t)(i * p.m * p.n) * p.element;
    if (batch->has_vector) tsri_product_run_vector(&p);
    else tsri_product_run(&p);
  }
}

static void run_part(void *user, int part) {
  const product_batch *batch = user;
  run_matrices(batch, batch->count * part / batch->parts, batch->count * (part + 1) / batch->parts,
               batch->like.scratch + (size_t)part * batch->scratch_bytes);
}

// --- The operator ---------------------------------------------------------------------------------------------------------------

static tsri_product product_of(const cpu_device *device, const tsri_native_op *op) {
  const tsri_operand *a = &op->inputs[0], *out = &op->output;
  int rank = out->shape.rank;
  tsr_dtype sums = out->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  bool is_linear = strcmp(op->name, "linear") == 0;
  return (tsri_product){
      .kernels = tsri_product_kernels_for(device->simd, sums),
      .storage = &tsri_lanes_isa_for(device->simd)->storage[out->dtype],
      .math = tsri_lane_math_for(device->simd, device->allow_sleef),
      .is_narrow = out->dtype != sums,
      .element = tsr_dtype_bytes(out->dtype),
      .sum_bytes = tsr_dtype_bytes(sums),
      .m = out->shape.dims[rank - 2],
      .n = out->shape.dims[rank - 1],
      .k = a->shape.dims[a->shape.rank - 1],
      .bias = is_linear && op->input_count > 2 ? tsri_cpu_operand_host(&op->inputs[2]) : NULL,
      .activation = is_linear ? op->activation : TSRI_ACTIVATION_NONE,
  };
}

static bool reserve(cpu_device *device, size_t bytes) {
  if (device->scratch_bytes >= bytes) return true;
  tsri_aligned_free(device->scratch);
  device->scratch = tsri_aligned_alloc(bytes);
  device->scratch_bytes = device->scratch ? bytes : 0;
  return device->scratch != NULL;
}

// Whether threads take whole products, rather than all of them each product in turn.
static bool is_split_by_batch(const product_batch *batch, int threads) {
  const tsri_product *p = &batch->like;
  return threads > 1 && batch->count >= 2 * threads && (double)p->m * (double)p->n * (double)p->k < 256.0 * 256 * 256;
}

tsr_status tsri_cpu_product(cpu_device *device, const tsri_native_op *op) {
  product_batch batch = {.op = op, .like = product_of(device, op), .count = 1, .parts = 1};
  tsri_product *p = &batch.like;
  for (int i = 0; i < op->output.shape.rank - 2; i++) batch.count *= op->output.shape.dims[i];
  p->a = matrix_of(&op->inputs[0], &op->output, 0);
  p->b = matrix_of(&op->inputs[1], &op->output, 0);
  batch.has_vector = tsri_product_has_vector(p);
  batch.scratch_bytes = batch.has_vector ? tsri_product_vector_scratch_bytes(p) : tsri_product_scratch_bytes(p);
  batch.scratch_bytes = (batch.scratch_bytes + 63) / 64 * 64;

  double work = 2.0 * (double)p->m * (double)p->n * (double)p->k;
  int threads = tsri_cpu_threads(device, (uint64_t)(work * (double)batch.count / WORTH_A_THREAD));
  bool is_by_batch = is_split_by_batch(&batch, threads);
  p->threads = is_by_batch ? 1 : tsri_cpu_threads(device, (uint64_t)(work / WORTH_A_THREAD));
  if (is_by_batch) batch.parts = tsri_cpu_parts(threads, (uint64_t)batch.count);
  if (!reserve(device, batch.scratch_bytes * (size_t)batch.parts)) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its panels", op->name);
  }
  p->scratch = device->scratch;
  tsri_parallel(is_by_batch ? threads : 1, batch.parts, run_part, &batch);
  return TSR_OK;
}
