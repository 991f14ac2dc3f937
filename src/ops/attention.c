// SPDX-License-Identifier: MIT
// Attention: shapes, mask and options, and the launch of kernels/op_attention.tk, which reads views where they lie.
#include <math.h>

#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

enum { LARGEST_HEAD = 256 };

// MASK of kernels/op_attention.tk.
enum { MASK_NONE, MASK_TRUTH, MASK_ADDED };

// --- Launch ----------------------------------------------------------------------------------------------------------

static void pass_strides(tsri_call *call, const char *stem, const tsri_layout *layout) {
  tsri_call_words(call, stem, 0, layout->strides, 4);
}

// Inputs: q, k, v, the mask expanded to all scores if there is one, the slopes if there are such.
tsr_status tsri_run_attention(const tsri_kernel_run *run) {
  const tsri_attention_attributes *given = TSRI_GIVEN(run->node, attention);
  const tsri_layout *q = &run->layouts[0], *k = &run->layouts[1], *v = &run->layouts[2];
  int64_t size = run->shape.dims[3], rows = run->shape.dims[0] * run->shape.dims[1] * run->shape.dims[2];
  if (rows == 0 || size == 0) return TSR_OK;
  if (k->shape.dims[2] == 0 || q->count == 0)
    return tsri_call_zero(run);  // no key, or keys without elements: see tsr_attention
  tsr_status status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++)
    status = tsri_call_check("attention", &run->layouts[i]);
  if (status != TSR_OK) return status;
  bool has_mask = given->mask != MASK_NONE, has_slopes = given->has_slopes != 0;
  int mask = has_mask ? 3 : 0,
      slopes = has_slopes ? (has_mask ? 4 : 3) : 0;  // q stands in for what is missing and is not read
  tsri_call call;
  tsri_call_init(&call, run->device, "op_attention", "attention",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_TYPE("M", run->input_dtypes[mask]), TSRI_CONSTANT("MASK", given->mask),
                           TSRI_CONSTANT("SLOPES", has_slopes), TSRI_CONSTANT("CAPPED", given->softcap > 0),
                           TSRI_CONSTANT("SIZE", size)));
  tsri_call_buffer(&call, "q", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "k", run->inputs[1], run->dtype);
  tsri_call_buffer(&call, "v", run->inputs[2], run->dtype);
  tsri_call_buffer(&call, "mask", run->inputs[mask], run->input_dtypes[mask]);
  tsri_call_buffer(&call, "slopes", run->inputs[slopes], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", rows);
  tsri_call_word(&call, "heads", run->shape.dims[1]);
  tsri_call_word(&call, "shared_by", run->shape.dims[1] / k->shape.dims[1]);
  tsri_call_word(&call, "queries", run->shape.dims[2]);
  tsri_call_word(&call, "keys", k->shape.dims[2]);
  tsri_call_word(&call, "depth", q->shape.dims[3]);
  tsri_call_word(&call, "q_at", q->offset);
  tsri_call_word(&call, "k_at", k->offset);
  tsri_call_word(&call, "v_at", v->offset);
  tsri_call_word(&call, "m_at", run->layouts[mask].offset);
  tsri_call_word(&call, "s_at", run->layouts[slopes].offset);
  tsri_call_word(&call, "s_step", run->layouts[slopes].strides[0]);
  pass_strides(&call, "q", q);
  pass_strides(&call, "k", k);
  pass_strides(&call, "v", v);
  pass_strides(&call, "m", &run->layouts[mask]);
  tsri_call_word(&call, "is_causal", given->is_causal);
  tsri_call_word(&call, "window", given->window);
  tsri_call_real(&call, "scale", given->scale);
  tsri_call_real(&call, "cap", given->softcap);
  return tsri_call_items(&call, rows);
}

// --- Checks ----------------------------------------------------------------------------------------------------------

static tsr_status check_shapes(tsr_shape q, tsr_shape k, tsr_shape v) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES], c[TSR_SHAPE_TEXT_BYTES];
  bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && q.dims[0] == k.dims[0] && q.dims[0] == v.dims[0] &&
              k.dims[1] == v.dims[1] && k.dims[2] == v.dims[2] && q.dims[3] == k.dims[3] &&
              (k.dims[1] > 0 ? q.dims[1] % k.dims[1] == 0 : q.dims[1] == 0);
  tsr_shape_format(q, a, sizeof a);
  tsr_shape_format(k, b, sizeof b);
  tsr_shape_format(v, c, sizeof c);
  if (!fits) {
    return TSRI_FAIL(
        TSR_ERR_SHAPE,
        "attention: q is %s, k is %s, v is %s; they are [batch, heads, positions, size], and the heads of k "
        "and v divide those of q",
        a, b, c);
  }
  if (v.dims[3] <= LARGEST_HEAD && q.dims[2] <= INT32_MAX / 2 && k.dims[2] <= INT32_MAX / 2) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "attention: v is %s; a head has at most %d elements, a sequence 2^30 positions",
                   c, LARGEST_HEAD);
}

static tsr_status check_desc(const tsr_attention_desc *desc, int64_t heads) {
  if (desc->window < 0 || desc->window > INT32_MAX || (desc->window > 0 && !desc->causal)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "attention: a window of %lld; it is 0 or more, and .causal beside it",
                     (long long)desc->window);
  }
  if (!(desc->softcap >= 0) || !isfinite(desc->softcap) || !isfinite(desc->scale)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "attention: softcap is %g and scale %g; they are numbers, softcap 0 or more", desc->softcap,
                     desc->scale);
  }
  if (!desc->slopes) return TSR_OK;
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("attention", desc->slopes);
  if (status != TSR_OK) return status;
  tsr_shape shape = desc->slopes->layout.shape;
  if (shape.rank == 1 && shape.dims[0] == heads) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "attention: slopes are %s, there are %lld heads",
                   tsr_shape_format(shape, text, sizeof text), (long long)heads);
}

// --- Recording -------------------------------------------------------------------------------------------------------

// A mask for every score. Truth values are read as u8.
static tsr_tensor *expanded_mask(tsr_tensor *mask, tsr_dtype dtype, tsr_shape scores) {
  tsr_tensor *truth = mask->dtype == TSR_BOOL ? tsr_cast(mask, TSR_U8) : tsr_cast(mask, dtype);
  return tsri_then(tsr_expand(truth, scores), truth);
}

static tsr_tensor *record(tsr_tensor *const *given, tsr_tensor *mask, const tsr_attention_desc *desc) {
  const tsri_op *op = TSRI_BODY(attention);
  tsr_shape q = given[0]->layout.shape, k = given[1]->layout.shape, shape = q;
  tsr_dtype dtype = given[0]->dtype;
  for (int i = 1; i < 3; i++) dtype = tsri_promote(dtype, given[i]->dtype);
  dtype = tsri_promote_float(dtype);
  shape.dims[3] = given[2]->layout.shape.dims[3];
  tsri_attention_attributes attributes = {.scale = desc->scale != 0 ? desc->scale : 1 / sqrt((double)q.dims[3]),
                                          .softcap = desc->softcap,
                                          .window = desc->window,
                                          .is_causal = desc->causal,
                                          .has_slopes = desc->slopes != NULL};
  tsr_tensor *inputs[5];
  int count = 3;
  for (int i = 0; i < 3; i++) inputs[i] = tsr_cast(given[i], dtype);
  if (mask) {
    attributes.mask = mask->dtype == TSR_BOOL ? MASK_TRUTH : MASK_ADDED;
    inputs[count++] = expanded_mask(mask, dtype, TSR_SHAPE(q.dims[0], q.dims[1], q.dims[2], k.dims[2]));
  }
  if (desc->slopes) inputs[count++] = tsr_cast(desc->slopes, dtype);
  tsr_device *device = NULL;
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, device, dtype, shape, inputs, count,
                                                             TSRI_GIVE_ALL(op, attention, &attributes))
                                        : tsri_tensor_fail(status);
  for (int i = 0; i < count; i++) tsr_release(inputs[i]);
  return tsri_tensor_named(op->name, result);
}

tsr_tensor *tsr_attention(tsr_tensor *q, tsr_tensor *k, tsr_tensor *v, tsr_tensor *mask,
                          const tsr_attention_desc *desc) {
  static const tsr_attention_desc usual;
  if (!desc) desc = &usual;
  tsr_tensor *given[3] = {q, k, v};
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check("attention", given[i]);
  if (status == TSR_OK && mask) status = tsri_tensor_check("attention", mask);
  if (status == TSR_OK) status = check_shapes(q->layout.shape, k->layout.shape, v->layout.shape);
  if (status == TSR_OK) status = check_desc(desc, q->layout.shape.dims[1]);
  if (status == TSR_OK && q->layout.shape.dims[3] == 0) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "attention: heads of q and k have no elements");
  }
  if (status == TSR_OK && mask && mask->dtype != TSR_BOOL && !tsri_dtype_is_float(mask->dtype)) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "attention: a mask is of bool or floats, not %s", tsr_dtype_name(mask->dtype));
  }
  return status == TSR_OK ? record(given, mask, desc) : tsri_tensor_fail(status);
}
