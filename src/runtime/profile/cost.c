// SPDX-License-Identifier: MIT
// Names of native operators, and how much they read, write and compute.
#include <math.h>

#include "core/dtype.h"
#include "runtime/profile.h"

const char *tsri_native_kind_name(tsri_native_kind kind) {
  static const char *const names[] = {
      [TSRI_NATIVE_NONE] = "none",
      [TSRI_NATIVE_COPY] = "strided copy",
      [TSRI_NATIVE_SUM] = "sum",
      [TSRI_NATIVE_REDUCE] = "reduce",
      [TSRI_NATIVE_PRODUCT] = "product",
      [TSRI_NATIVE_SORT] = "sort",
      [TSRI_NATIVE_SCAN] = "scan",
      [TSRI_NATIVE_GATHER] = "gather",
      [TSRI_NATIVE_SCATTER_ADD] = "scatter_add",
      [TSRI_NATIVE_ARG_REDUCE] = "arg_reduce",
      [TSRI_NATIVE_SOFTMAX] = "softmax",
      [TSRI_NATIVE_NORM] = "norm",
      [TSRI_NATIVE_NORM_GRADIENT] = "norm gradient",
      [TSRI_NATIVE_CONV] = "conv",
      [TSRI_NATIVE_POOL] = "pool",
      [TSRI_NATIVE_ATTENTION] = "attention",
      [TSRI_NATIVE_ATTENTION_GRADIENT] = "attention gradient",
      [TSRI_NATIVE_FACTOR] = "factor",
      [TSRI_NATIVE_SOLVE] = "solve",
      [TSRI_NATIVE_CONV_WEIGHT] = "conv weight",
      [TSRI_NATIVE_JOIN] = "join",
      [TSRI_NATIVE_FFT] = "fft",
  };
  return (size_t)kind < sizeof names / sizeof names[0] && names[kind] ? names[kind] : "native";
}

static uint64_t product_of(const int64_t *dims, int count) {
  uint64_t product = 1;
  for (int i = 0; i < count; i++) product *= (uint64_t)dims[i];
  return product;
}

// The cost of reading `in` elements of the operator's dtype and writing `out` elements of its result's dtype, with `operations` operations.
static tsri_native_cost cost(const tsri_native_op *op, uint64_t in, uint64_t out, uint64_t operations) {
  return (tsri_native_cost){in * tsr_dtype_bytes(op->dtype) + out * tsr_dtype_bytes(op->result), operations};
}

static tsri_native_cost product_cost(const tsri_native_op *op) {
  const tsri_product_op *p = &op->is.product;
  uint64_t batch = product_of(p->batch_dims, p->batch_rank), m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
  uint64_t b =
      op->parts & TSRI_PRODUCT_QUANTISED ? 0 : n * k * batch;  // of quantised weights, bytes are not known here
  uint64_t others = (op->parts & TSRI_PRODUCT_BIAS ? n : 0) + (op->parts & TSRI_PRODUCT_RESIDUAL ? m * n * batch : 0);
  for (int i = 0; op->parts & TSRI_PRODUCT_CHAIN && i < p->chain.input_count; i++) {
    others += p->chain.inputs[i].by_row ? m * n * batch : p->chain.inputs[i].by_column ? n : 1;
  }
  if (op->parts & TSRI_PRODUCT_CHAIN && p->chain.kept.buffer) others += m * n * batch;
  return cost(op, m * k * batch + b, m * n * batch + others, 2 * m * n * k * batch);
}

static tsri_native_cost conv_cost(const tsri_native_op *op) {
  const tsri_conv_op *c = &op->is.conv;
  uint64_t size = product_of(c->size, TSRI_CONV_AXES), kernel = product_of(c->kernel, TSRI_CONV_AXES);
  uint64_t windows = product_of(c->windows, TSRI_CONV_AXES), images = (uint64_t)c->images;
  uint64_t in = (uint64_t)c->channels * (uint64_t)c->groups, out = (uint64_t)c->out_channels * (uint64_t)c->groups;
  uint64_t positions = c->is_transposed ? size : windows;  // positions at which all of w is multiplied
  uint64_t weights = (uint64_t)c->channels * out * kernel;
  return cost(op, images * in * size + weights, images * out * windows, 2 * images * positions * weights);
}

// Causal attention needs only half of these operations; like the papers on attention, this function counts all of them.
static tsri_native_cost attention_cost(const tsri_native_op *op, uint64_t products) {
  const tsri_attention_op *a = &op->is.attention;
  uint64_t batch = (uint64_t)a->batch, q = (uint64_t)a->queries, k = (uint64_t)a->keys, heads = (uint64_t)a->heads;
  uint64_t size = (uint64_t)a->size, value = (uint64_t)a->value_size, kv_heads = (uint64_t)a->kv_heads;
  return cost(op, batch * (heads * q * size + kv_heads * k * (size + value)), batch * heads * q * value,
              products * batch * heads * q * k * (size + value));
}

static tsri_native_cost factor_cost(const tsri_native_op *op) {
  const tsri_factor_op *f = &op->is.factor;
  // Operations for an m x n matrix as LAPACK's working notes count them, in units of m * n * min(m, n) / 3.
  static const uint64_t thirds[TSRI_FACTORS] = {[TSRI_FACTOR_CHOLESKY] = 1,
                                                [TSRI_FACTOR_LU] = 2,
                                                [TSRI_FACTOR_QR] = 4,
                                                [TSRI_FACTOR_EIGH] = 27,
                                                [TSRI_FACTOR_SVD] = 66};
  uint64_t m = (uint64_t)f->m, n = (uint64_t)f->n, batch = (uint64_t)f->batch;
  return cost(op, m * n * batch, m * n * batch, thirds[f->kind] * m * n * (m < n ? m : n) * batch / 3);
}

static tsri_native_cost pool_cost(const tsri_native_op *op) {
  const tsri_pool_op *p = &op->is.pool;
  uint64_t planes = (uint64_t)p->images * (uint64_t)p->channels,
           windows = planes * product_of(p->windows, TSRI_CONV_AXES);
  return cost(op, planes * product_of(p->size, TSRI_CONV_AXES), windows,
              windows * product_of(p->kernel, TSRI_CONV_AXES));
}

static tsri_native_cost reduce_cost(const tsri_native_op *op) {
  const tsri_reduce_op *r = &op->is.reduce;
  uint64_t kept = product_of(r->kept_dims, r->kept_rank), all = kept * product_of(r->reduced_dims, r->reduced_rank);
  return cost(op, all, kept, all);
}

static tsri_native_cost join_cost(const tsri_native_op *op) {
  const tsri_join_op *join = &op->is.join;
  uint64_t n = 0;
  for (int i = 0; i < join->part_count; i++) n += (uint64_t)join->lines * (uint64_t)join->parts[i].length;
  return cost(op, n, n, 0);
}

tsri_native_cost tsri_native_op_cost(const tsri_native_op *op) {
  uint64_t n = 0;
  switch (op->kind) {
    case TSRI_NATIVE_COPY:
      n = product_of(op->is.copy.shape.dims, op->is.copy.shape.rank);
      return cost(op, n, n, 0);
    case TSRI_NATIVE_SUM:
      n = (uint64_t)op->is.sum.rows * (uint64_t)op->is.sum.columns;
      return cost(op, n, (uint64_t)op->is.sum.rows, n);
    case TSRI_NATIVE_REDUCE:
    case TSRI_NATIVE_ARG_REDUCE:
      return reduce_cost(op);
    case TSRI_NATIVE_PRODUCT:
      return product_cost(op);
    case TSRI_NATIVE_SORT:
      n = (uint64_t)op->is.sort.rows * (uint64_t)op->is.sort.n;
      return cost(op, n, op->parts & TSRI_SORT_KEEPS ? (uint64_t)op->is.sort.rows * (uint64_t)op->is.sort.keep : n, 0);
    case TSRI_NATIVE_SCAN:
      n = (uint64_t)op->is.scan.outer * (uint64_t)op->is.scan.n * (uint64_t)op->is.scan.inner;
      return cost(op, n, n, n);
    case TSRI_NATIVE_SOFTMAX:  // subtract, exp, add, multiply
      n = (uint64_t)op->is.softmax.outer * (uint64_t)op->is.softmax.n * (uint64_t)op->is.softmax.inner;
      return cost(op, n, n, 4 * n);
    case TSRI_NATIVE_NORM:  // mean, variance (3), normalise (2), weight, bias
      n = (uint64_t)op->is.norm.rows * (uint64_t)op->is.norm.n;
      return cost(op, n, n, 8 * n);
    case TSRI_NATIVE_NORM_GRADIENT:
      n = (uint64_t)op->is.norm.rows * (uint64_t)op->is.norm.n;
      return cost(op, 2 * n, n, 16 * n);
    case TSRI_NATIVE_CONV:
    case TSRI_NATIVE_CONV_WEIGHT:
      return conv_cost(op);
    case TSRI_NATIVE_POOL:
      return pool_cost(op);
    case TSRI_NATIVE_JOIN:
      return join_cost(op);
    case TSRI_NATIVE_ATTENTION:
      return attention_cost(op, 2);
    case TSRI_NATIVE_ATTENTION_GRADIENT:
      return attention_cost(op, 5);
    case TSRI_NATIVE_FACTOR:
      return factor_cost(op);
    case TSRI_NATIVE_SOLVE:
      n = (uint64_t)op->is.solve.batch * (uint64_t)op->is.solve.m * (uint64_t)op->is.solve.n;
      return cost(op, n, n, n * (uint64_t)op->is.solve.m);
    case TSRI_NATIVE_FFT:  // 5 n log2 n for n complex numbers
      n = 2 * (uint64_t)op->is.fft.outer * (uint64_t)op->is.fft.n * (uint64_t)op->is.fft.inner;
      return cost(op, n, n, (uint64_t)(2.5 * (double)n * log2((double)op->is.fft.n)));
    case TSRI_NATIVE_NONE:
    case TSRI_NATIVE_GATHER:
    case TSRI_NATIVE_SCATTER_ADD:
      break;  // how many elements they touch depends on the indices
  }
  return (tsri_native_cost){0};
}
