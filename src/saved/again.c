// SPDX-License-Identifier: MIT
// Element-wise operators and reductions are recorded by what describes them; operators with kernels of their own by
// their public functions, one function here for each family.
#include "saved/again.h"

#include <string.h>

#include "core/error.h"
#include "ops/attention_native.h"
#include "ops/attention_tiles.h"
#include "ops/call.h"
#include "ops/channel_sums.h"
#include "ops/compose.h"
#include "ops/conv_weight.h"
#include "ops/count.h"
#include "ops/create.h"
#include "ops/fft.h"
#include "ops/fft_fused.h"
#include "ops/first.h"
#include "ops/label_entropy.h"
#include "ops/label_loss.h"
#include "ops/mode_rows.h"
#include "ops/norm_gradient.h"
#include "ops/norm_one_pass.h"
#include "ops/operators.h"
#include "ops/pool.h"
#include "ops/promote.h"
#include "ops/quant.h"
#include "ops/random.h"
#include "ops/recurrent.h"
#include "ops/resize.h"
#include "ops/roi.h"
#include "ops/rows.h"
#include "ops/scan.h"
#include "saved/again_families.h"

#include <tessera/ops.h>

// A family of operators: how one of them is recorded from its inputs and attributes. Those with several results set
// `out` themselves.
typedef struct again_family {
  tsr_status (*run_of)(const tsri_kernel_run *run);  // op->run of the operators
  uint32_t least, most;                              // inputs
  tsr_tensor *(*record)(const tsri_again *s);
  tsr_status (*record_all)(const tsri_again *s, tsr_tensor **out);
} again_family;

tsr_tensor *tsri_again_wrong(const tsri_again *s, const char *what) {
  return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %s does not fit", s->op->name, what));
}

static tsr_status record_one(tsr_tensor *result, tsr_tensor **out) {
  tsr_status status = result->status;
  if (status == TSR_OK) {
    *out = result;
    return TSR_OK;
  }
  status = tsr_error(result);  // its message becomes the last error
  tsr_release(result);
  return status;
}

// --- Families ----------------------------------------------------------------------------------------------------------

static tsr_tensor *again_bit_cast(const tsri_again *s) { return tsr_bit_cast(s->inputs[0], s->results[0].dtype); }

static tsr_status again_scan(const tsri_again *s, tsr_tensor **out) {
  const tsri_scan_attributes *g = TSRI_AGAIN_GIVEN(s, scan);
  tsr_dtype dtype = s->inputs[0]->dtype;
  bool has_places = g->combination == TSRI_SCAN_FIRST_LARGEST || g->combination == TSRI_SCAN_FIRST_SMALLEST;
  bool is_known = g->combination >= TSRI_SCAN_SUM && g->combination <= TSRI_SCAN_FIRST_SMALLEST && dtype != TSR_BOOL &&
                  (g->combination != TSRI_SCAN_LOG_SUM || tsri_dtype_is_float(dtype));
  if (!is_known) return record_one(tsri_again_wrong(s, "combination"), out);
  if (s->result_count != (has_places ? 2 : 1)) return record_one(tsri_again_wrong(s, "number of results"), out);
  if (g->combination == TSRI_SCAN_FIRST_LARGEST) return tsr_cummax(s->inputs[0], (int)g->axis, &out[0], &out[1]);
  if (g->combination == TSRI_SCAN_FIRST_SMALLEST) return tsr_cummin(s->inputs[0], (int)g->axis, &out[0], &out[1]);
  return record_one(tsri_scan_along(s->op, s->inputs[0], (int)g->axis, dtype, (tsri_scan_combination)g->combination),
                    out);
}

static tsr_tensor *again_histogram(const tsri_again *s) {
  const tsr_tensor *edges = s->input_count == 2 ? s->inputs[1] : NULL;
  bool fits = edges && edges->layout.shape.rank == 1 && edges->layout.count - 1 == s->results[0].shape.dims[0];
  if (!fits || edges->layout.count < 2) return tsri_again_wrong(s, "edges");
  if (edges->dtype != TSR_F32 && edges->dtype != TSR_F64) return tsri_again_wrong(s, "edges' dtype");
  return tsri_histogram_between(s->inputs[0], s->inputs[1]);
}

static tsr_tensor *again_count(const tsri_again *s) {
  if (TSRI_AGAIN_IS(s, histogram)) return again_histogram(s);
  return tsr_bincount(s->inputs[0], NULL, s->results[0].shape.dims[0]);
}

static tsr_tensor *again_concat(const tsri_again *s) {
  return tsr_concat((tsr_tensor **)(uintptr_t)s->inputs, (int)s->input_count, (int)TSRI_AGAIN_GIVEN(s, concat)->axis);
}

static tsr_tensor *again_pad(const tsri_again *s) {
  const tsri_pad_attributes *g = TSRI_AGAIN_GIVEN(s, pad);
  tsr_shape from = s->inputs[0]->layout.shape, to = s->results[0].shape;
  int64_t after[TSR_MAX_RANK] = {0};
  if (from.rank != to.rank) return tsri_again_wrong(s, "rank");
  for (int i = 0; i < to.rank; i++) {
    if (g->before[i] < 0 || g->before[i] > to.dims[i]) return tsri_again_wrong(s, "before");
    after[i] = to.dims[i] - from.dims[i] - g->before[i];
  }
  return tsr_pad(s->inputs[0], g->before, after, to.rank, g->value);
}

// The indices of index_select have been repeated to the shape of the result, as those of gather have it.
static tsr_tensor *again_gather(const tsri_again *s) {
  const tsri_gather_attributes *g = TSRI_AGAIN_GIVEN(s, gather);
  if (g->is_list) return tsr_take(s->inputs[0], s->inputs[1]);
  return tsr_gather(s->inputs[0], (int)g->axis, s->inputs[1]);
}

static tsr_tensor *again_scatter(const tsri_again *s) {
  tsr_tensor *x = s->inputs[0], *indices = s->inputs[1], *source = s->inputs[2];
  int axis = (int)TSRI_AGAIN_GIVEN(s, scatter)->axis;
  return TSRI_AGAIN_IS(s, scatter_add)   ? tsr_scatter_add(x, axis, indices, source)
         : TSRI_AGAIN_IS(s, scatter_mul) ? tsr_scatter_mul(x, axis, indices, source)
         : TSRI_AGAIN_IS(s, scatter_max) ? tsr_scatter_max(x, axis, indices, source)
         : TSRI_AGAIN_IS(s, scatter_min) ? tsr_scatter_min(x, axis, indices, source)
                                         : tsr_scatter(x, axis, indices, source);
}

static tsr_tensor *again_search(const tsri_again *s) {
  return tsr_searchsorted(s->inputs[0], s->inputs[1], TSRI_AGAIN_GIVEN(s, search)->right != 0);
}

// A device with an operator of its own keeps only the first elements of what is sorted.
static tsr_tensor *again_sort(const tsri_again *s) {
  tsr_tensor *x = s->inputs[0], *result = NULL;
  bool is_descending = TSRI_AGAIN_GIVEN(s, sort)->is_descending != 0, is_order = TSRI_AGAIN_IS(s, argsort);
  tsr_shape from = x->layout.shape, to = s->results[0].shape;
  if (from.rank == 0 || to.rank != from.rank) return tsri_again_wrong(s, "rank");
  int64_t keep = to.dims[to.rank - 1];
  if (keep == from.dims[from.rank - 1])
    return is_order ? tsr_argsort(x, -1, is_descending) : tsr_sort(x, -1, is_descending);
  tsr_status status = tsr_topk(x, keep, -1, is_descending, is_order ? NULL : &result, is_order ? &result : NULL);
  return status == TSR_OK ? result : tsri_tensor_fail(status);
}

static tsr_status again_first(const tsri_again *s, tsr_tensor **out) {
  tsr_shape from = s->inputs[0]->layout.shape, to = s->results[0].shape;
  bool is_right = s->result_count == 2 && from.rank > 0 && to.rank == from.rank;
  if (!is_right) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: inputs or results do not fit", s->op->name);
  bool is_descending = TSRI_AGAIN_GIVEN(s, sort)->is_descending != 0;
  return tsr_topk(s->inputs[0], to.dims[to.rank - 1], -1, is_descending, &out[0], &out[1]);
}

static tsr_tensor *again_label_loss(const tsri_again *s) {
  bool is_mean = TSRI_AGAIN_GIVEN(s, label_loss)->is_mean != 0;
  const tsr_loss_desc desc = {.reduction = is_mean ? TSR_LOSS_MEAN : TSR_LOSS_SUM};
  return tsr_nll_loss(s->inputs[0], s->inputs[1], 1, &desc);
}

static tsr_tensor *again_mode(const tsri_again *s) { return tsr_mode(s->inputs[0], -1, false); }

static tsr_tensor *again_softmax(const tsri_again *s) {
  int axis = (int)TSRI_AGAIN_GIVEN(s, softmax)->axis;
  return TSRI_AGAIN_IS(s, log_softmax) ? tsr_log_softmax(s->inputs[0], axis) : tsr_softmax(s->inputs[0], axis);
}

// Weight and bias of a norm, from input `first` on.
typedef struct saved_norm {
  tsr_tensor *weight, *bias;
} saved_norm;

static bool find_rows(const tsri_again *s, uint32_t first, saved_norm *out) {
  const tsri_norm_attributes *g = TSRI_AGAIN_GIVEN(s, norm);
  uint32_t count = first + (g->has_weight != 0) + (g->has_bias != 0);
  if (s->input_count != count) return false;
  out->weight = g->has_weight ? s->inputs[first] : NULL;
  out->bias = g->has_bias ? s->inputs[count - 1] : NULL;
  return true;
}

static tsr_tensor *again_norm(const tsri_again *s) {
  saved_norm rows;
  double eps = TSRI_AGAIN_GIVEN(s, norm)->eps;
  tsr_dtype dtype = s->results[0].dtype;
  if (!find_rows(s, 1, &rows)) return tsri_again_wrong(s, "number of inputs");
  if (tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT) return tsri_again_wrong(s, "dtype");
  if (rows.bias && !TSRI_AGAIN_IS(s, layer_norm)) return tsri_again_wrong(s, "bias");
  return tsri_norm_to(s->op, s->inputs[0], rows.weight, rows.bias, eps, dtype);
}

static tsr_status again_add_norm(const tsri_again *s, tsr_tensor **out) {
  saved_norm rows;
  double eps = TSRI_AGAIN_GIVEN(s, norm)->eps;
  bool is_layer = TSRI_AGAIN_IS(s, add_layer_norm);
  if (!find_rows(s, 2, &rows) || s->result_count != 2 || (!is_layer && rows.bias)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: inputs or results do not fit", s->op->name);
  }
  return is_layer ? tsr_add_layer_norm(s->inputs[0], s->inputs[1], rows.weight, rows.bias, eps, &out[0], &out[1])
                  : tsr_add_rms_norm(s->inputs[0], s->inputs[1], rows.weight, eps, &out[0], &out[1]);
}

static tsr_tensor *again_matmul(const tsri_again *s) {
  const tsri_product_attributes *g = TSRI_AGAIN_GIVEN(s, product);
  tsr_tensor *c = s->input_count == 3 ? s->inputs[2] : NULL;
  if (TSRI_AGAIN_IS(s, gemm)) return tsr_gemm(g->alpha, s->inputs[0], s->inputs[1], g->beta, c);
  return c || g->alpha != 1 ? tsri_again_wrong(s, "alpha") : tsr_matmul(s->inputs[0], s->inputs[1]);
}

// The second result is for the gradient of the attention, which is taken anew and does not read it.
static tsr_status again_attention(const tsri_again *s, tsr_tensor **out) {
  out[0] = tsri_again_attention(s);
  if (s->result_count == 2) out[1] = tsri_record_zeros(s->device, s->results[1].dtype, s->results[1].shape);
  return tsri_tensor_check(s->op->name, out[0]);
}

static tsr_tensor *again_quantize(const tsri_again *s) {
  return tsr_quantize(s->inputs[0], (tsr_quant_format)TSRI_AGAIN_GIVEN(s, quant)->format);
}

static tsr_tensor *again_dequantize(const tsri_again *s) {
  return tsr_dequantize(s->inputs[0], (tsr_quant_format)TSRI_AGAIN_GIVEN(s, quant)->format, s->results[0].dtype);
}

static tsr_tensor *again_quant_product(const tsri_again *s) {
  int64_t format = TSRI_AGAIN_GIVEN(s, quant)->format;
  if (format == TSRI_QUANT_I8) return tsri_matmul_i8_bytes(s->inputs[0], s->inputs[1]);
  return tsr_matmul_quantized(s->inputs[0], s->inputs[1], (tsr_quant_format)format);
}

static tsr_tensor *again_fft(const tsri_again *s) {
  int axis = (int)TSRI_AGAIN_GIVEN(s, fft)->axis;
  return TSRI_AGAIN_IS(s, ifft) ? tsr_ifft(s->inputs[0], &axis, 1) : tsr_fft(s->inputs[0], &axis, 1);
}

static tsr_tensor *again_fft_of_pairs(const tsri_again *s) {
  return tsri_fft_of_pairs(s->inputs[0], (int)TSRI_AGAIN_GIVEN(s, fft)->axis, TSRI_AGAIN_IS(s, irfft));
}

static tsr_tensor *again_fft_odd(const tsri_again *s) {
  const tsri_fft_attributes *given = TSRI_AGAIN_GIVEN(s, fft);
  const tsr_shape *shape = &s->results[0].shape;
  int axis = (int)given->axis;
  if (axis < 0 || axis >= shape->rank) return tsri_again_wrong(s, "an axis");
  return given->is_inverse ? tsr_irfft(s->inputs[0], shape->dims[axis], &axis, 1) : tsr_rfft(s->inputs[0], &axis, 1);
}

static tsr_tensor *again_grid_sample(const tsri_again *s) {
  const tsri_grid_attributes *g = TSRI_AGAIN_GIVEN(s, grid);
  tsr_grid_desc desc = {
      .mode = (tsr_grid_mode)g->mode, .padding = (tsr_grid_padding)g->padding, .align_corners = g->align_corners != 0};
  return tsr_grid_sample(s->inputs[0], s->inputs[1], &desc);
}

// --- Without inputs ----------------------------------------------------------------------------------------------------

static tsr_tensor *again_zeros(const tsri_again *s) {
  return tsri_record_zeros(s->device, s->results[0].dtype, s->results[0].shape);
}

// The kernels write as many elements as the result has, whatever the attributes are.
static tsr_tensor *again_sequence(const tsri_again *s) {
  if (s->results[0].shape.rank != 1) return tsri_again_wrong(s, "rank");
  return tsri_record_kernel(s->op, s->device, s->results[0].dtype, s->results[0].shape, NULL, 0, s->given);
}

static tsr_tensor *again_random(const tsri_again *s) {
  const tsri_result *result = &s->results[0];
  tsr_status status = tsri_random_check(s->op, s->device, result->dtype, result->shape, !TSRI_AGAIN_IS(s, randint));
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(s->op, s->device, result->dtype, result->shape, NULL, 0, s->given);
}

static tsr_tensor *again_random_below(const tsri_again *s) {
  const tsri_random_attributes *g = TSRI_AGAIN_GIVEN(s, random);
  if (g->range >> TSRI_RANDOM_BITS > 1 || s->results[0].dtype != TSR_BOOL) return tsri_again_wrong(s, "an attribute");
  return tsri_random_below(s->device, s->results[0].shape, g->range, g->seed);
}

static tsr_tensor *again_eye(const tsri_again *s) {
  const tsri_eye_attributes *g = TSRI_AGAIN_GIVEN(s, eye);
  tsr_shape shape = s->results[0].shape;
  if (shape.rank != 2) return tsri_again_wrong(s, "rank");
  int64_t cols = shape.dims[1], diagonal = cols > 0 && g->first >= cols ? -(g->first / cols) : g->first;
  if (g->ones == 0) diagonal = cols;  // beside the matrix
  if (diagonal > cols || diagonal < -shape.dims[0]) return tsri_again_wrong(s, "diagonal");
  return tsr_eye(s->device, s->results[0].dtype, shape.dims[0], cols, diagonal);
}

// --- The table -------------------------------------------------------------------------------------------------------

static const again_family families[] = {
    {tsri_run_bit_cast, 1, 1, again_bit_cast, NULL},
    {tsri_run_scan, 1, 1, NULL, again_scan},
    {tsri_run_count, 1, 2, again_count, NULL},
    {tsri_run_concat, 1, UINT32_MAX, again_concat, NULL},
    {tsri_run_pad, 1, 1, again_pad, NULL},
    {tsri_run_gather, 2, 2, again_gather, NULL},
    {tsri_run_scatter, 3, 3, again_scatter, NULL},
    {tsri_run_scatter_add, 3, 3, again_scatter, NULL},
    {tsri_run_bag, 2, 4, tsri_again_bag, NULL},
    {tsri_run_search, 2, 2, again_search, NULL},
    {tsri_run_sort, 1, 1, again_sort, NULL},
    {tsri_run_argsort, 1, 1, again_sort, NULL},
    {tsri_run_first, 1, 1, NULL, again_first},
    {tsri_run_label_loss, 2, 2, again_label_loss, NULL},
    {tsri_run_mode_rows, 1, 1, again_mode, NULL},
    {tsri_run_softmax, 1, 1, again_softmax, NULL},
    {tsri_run_norm, 1, 3, again_norm, NULL},
    {tsri_run_add_norm, 2, 4, NULL, again_add_norm},
    {tsri_run_conv, 2, 3, tsri_again_conv, NULL},
    {tsri_run_pool, 1, 1, tsri_again_pool, NULL},
    {tsri_run_columns, 1, 1, tsri_again_columns, NULL},
    {tsri_run_grid_sample, 2, 2, again_grid_sample, NULL},
    {tsri_run_attention, 3, 6, NULL, again_attention},
    {tsri_run_matmul, 2, 3, again_matmul, NULL},
    {tsri_run_quantize, 1, 1, again_quantize, NULL},
    {tsri_run_dequantize, 1, 1, again_dequantize, NULL},
    {tsri_run_quant_product, 2, 2, again_quant_product, NULL},
    {tsri_run_matmul_integer, 2, 4, tsri_again_matmul_integer, NULL},
    {tsri_run_fft, 1, 1, again_fft, NULL},
    {tsri_run_fft_of_pairs, 1, 1, again_fft_of_pairs, NULL},
    {tsri_run_distance, 2, 2, tsri_again_distance, NULL},
    {tsri_run_cholesky, 1, 1, tsri_again_cholesky, NULL},
    {tsri_run_triangular, 2, 2, tsri_again_triangular, NULL},
    {tsri_run_lu, 1, 1, NULL, tsri_again_lu},
    {tsri_run_jacobi, 1, 1, NULL, tsri_again_jacobi},
    {tsri_run_qr, 1, 1, NULL, tsri_again_qr},
    {tsri_run_roi_align, 3, 3, tsri_again_roi_align, NULL},
    {tsri_run_taps, 3, 3, tsri_again_resize, NULL},
    {tsri_run_sequence, 0, 0, again_sequence, NULL},
    {tsri_run_eye, 0, 0, again_eye, NULL},
    {tsri_run_rand, 0, 0, again_random, NULL},
    {tsri_run_randn, 0, 0, again_random, NULL},
    {tsri_run_randint, 0, 0, again_random, NULL},
    {tsri_run_exponential, 0, 0, again_random, NULL},
    {tsri_run_truncated, 0, 0, again_random, NULL},
    {tsri_run_gamma, 0, 0, again_random, NULL},
    {tsri_call_zero, 0, 0, again_zeros, NULL},
};

// Parts of operators that have no row in operators.def.
static const struct {
  const tsri_op *op;
  again_family family;
} parts[] = {
    {&tsri_op_resize_table, {NULL, 0, 0, NULL, tsri_again_resize_table}},
    {&tsri_op_resize_plane, {NULL, 1, 1, tsri_again_resize_plane, NULL}},
    {&tsri_op_recurrent_steps, {NULL, 3, 5, NULL, tsri_again_recurrent}},
    {&tsri_op_fft_odd, {NULL, 1, 1, again_fft_odd, NULL}},
    {&tsri_op_random_below, {NULL, 0, 0, again_random_below, NULL}},
    {&tsri_op_norm_gradient, {NULL, 2, 4, NULL, tsri_again_norm_gradient}},
    {&tsri_op_norm_one_pass, {NULL, 2, 4, NULL, tsri_again_norm_one_pass}},
    {&tsri_op_channel_statistics, {NULL, 1, 1, tsri_again_channel_statistics, NULL}},
    {&tsri_op_channel_slopes, {NULL, 4, 4, tsri_again_channel_slopes, NULL}},
    {&tsri_op_conv_weight, {NULL, 2, 2, tsri_again_conv_weight, NULL}},
    {&tsri_op_max_pool_gradient[0], {NULL, 3, 3, tsri_again_max_pool_gradient, NULL}},
    {&tsri_op_max_pool_gradient[1], {NULL, 3, 3, tsri_again_max_pool_gradient, NULL}},
    {&tsri_op_native_attention_gradient, {NULL, 4, 7, NULL, tsri_again_attention_gradient}},
    {&tsri_op_attention_gradient, {NULL, 6, 9, NULL, tsri_again_attention_tiles}},
    {&tsri_op_roi_weights, {NULL, 1, 1, tsri_again_roi_weights, NULL}},
    {&tsri_op_roi_places, {NULL, 3, 3, NULL, tsri_again_roi_places}},
    {&tsri_op_label_entropy, {NULL, 2, 2, NULL, tsri_again_label_entropy}},
    {&tsri_op_label_gradient, {NULL, 4, 5, tsri_again_label_gradient, NULL}},
};

static const again_family *family_of(const tsri_op *op) {
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (op == parts[i].op) return &parts[i].family;
  }
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
    if (op->kind == TSRI_OP_KERNEL && op->run == families[i].run_of) return &families[i];
  }
  return NULL;
}

bool tsri_again_is_known(const tsri_op *op) { return op->kind != TSRI_OP_KERNEL || family_of(op); }

// --- Recording -------------------------------------------------------------------------------------------------------

// How many operands an expression has: $0 to $6.
static uint32_t operand_count(const char *expression) {
  uint32_t count = 0;
  for (const char *at = strchr(expression, '$'); at; at = strchr(at + 1, '$')) {
    uint32_t number = at[1] >= '0' && at[1] <= '9' ? (uint32_t)(at[1] - '0') + 1 : TSRI_MAX_LEAVES + 1;
    if (number > count) count = number;
  }
  return count;
}

static tsr_tensor *record_elementwise(const tsri_again *s) {
  const tsri_scalars *scalars = s->given;
  if (s->input_count == 0 || s->input_count > TSRI_MAX_LEAVES || !s->op->expression ||
      operand_count(s->op->expression) > s->input_count) {
    return tsri_again_wrong(s, "number of inputs");
  }
  if (scalars && (scalars->count < 0 || scalars->count > TSRI_MAX_SCALARS))
    return tsri_again_wrong(s, "number of scalars");
  tsri_operand_ref refs[TSRI_MAX_LEAVES];
  for (uint32_t i = 0; i < s->input_count; i++) {
    if (!tsri_shape_equal(s->inputs[i]->layout.shape, s->results[0].shape))
      return tsri_again_wrong(s, "shape of an input");
    refs[i] = (tsri_operand_ref){s->inputs[i], s->as[i]};
  }
  return tsri_record_elementwise(s->op, s->results[0].dtype, refs, (int)s->input_count, scalars);
}

static bool is_power_of_two(uint32_t word) { return word != 0 && (word & (word - 1)) == 0; }

static tsr_tensor *record_reduction(const tsri_again *s) {
  if (s->input_count != 1) return tsri_again_wrong(s, "number of inputs");
  tsr_shape shape = s->inputs[0]->layout.shape;
  bool is_index = s->op->reduce == TSRI_REDUCE_ARGMAX || s->op->reduce == TSRI_REDUCE_ARGMIN;
  bool has_index = is_power_of_two(s->axes) && s->results[0].dtype == TSR_I32;
  if (s->axes >> shape.rank != 0 || (is_index && !has_index)) return tsri_again_wrong(s, "set of axes");
  for (int i = 0; i < shape.rank && is_index; i++) {
    if (s->axes >> i & 1u && shape.dims[i] == 0) return tsri_again_wrong(s, "empty axis");
  }
  bool is_bool = s->op->reduce == TSRI_REDUCE_ANY || s->op->reduce == TSRI_REDUCE_ALL;
  bool is_kept = s->op->reduce == TSRI_REDUCE_MAX || s->op->reduce == TSRI_REDUCE_MIN;
  if (!is_kept && is_bool != (s->results[0].dtype == TSR_BOOL)) return tsri_again_wrong(s, "dtype");
  return tsri_record_reduce(s->op, s->results[0].dtype, s->inputs[0], s->axes, s->results[0].shape.rank == shape.rank);
}

static tsr_status record(const tsri_again *s, tsr_tensor **out) {
  if (s->op->kind == TSRI_OP_ELEMENTWISE) return record_one(record_elementwise(s), out);
  if (s->op->kind == TSRI_OP_REDUCE) return record_one(record_reduction(s), out);
  const again_family *family = family_of(s->op);
  if (!family || s->input_count < family->least || s->input_count > family->most) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %u inputs", s->op->name, s->input_count);
  }
  return family->record ? record_one(family->record(s), out) : family->record_all(s, out);
}

// A tensor may have come back with other strides, or as a retained input; only its elements count.
static tsr_status check_result(const tsri_again *s, const tsr_tensor *result, const tsri_result *wanted) {
  char is[TSR_SHAPE_TEXT_BYTES], was[TSR_SHAPE_TEXT_BYTES];
  if (result->dtype == wanted->dtype && tsri_shape_equal(result->layout.shape, wanted->shape)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: gives %s of %s, not %s of %s", s->op->name,
                   tsr_shape_format(result->layout.shape, is, sizeof is), tsr_dtype_name(result->dtype),
                   tsr_shape_format(wanted->shape, was, sizeof was), tsr_dtype_name(wanted->dtype));
}

tsr_status tsri_again_record(const tsri_again *step, tsr_tensor **out_results) {
  for (uint32_t i = 0; i < step->result_count; i++) out_results[i] = NULL;
  tsr_status status = record(step, out_results);
  for (uint32_t i = 0; i < step->result_count && status == TSR_OK; i++) {
    if (out_results[i]) status = check_result(step, out_results[i], &step->results[i]);
  }
  for (uint32_t i = 0; i < step->result_count && status != TSR_OK; i++) {
    tsr_release(out_results[i]);
    out_results[i] = NULL;
  }
  return status;
}
