// SPDX-License-Identifier: MIT
// Element-wise operators: type rules, scalars, recording.
#include "ops/elementwise.h"

#include <math.h>
#include <stdio.h>

#include "core/error.h"
#include "ops/promote.h"

// --- Types --------------------------------------------------------------------------------------------------------

enum {
  BODY_OF_FLOAT = TSRI_BODY_FLOAT,
  BODY_OF_INT = TSRI_BODY_INT,
  BODY_OF_UINT = TSRI_BODY_INT,
  BODY_OF_BOOL = TSRI_BODY_BOOL
};

static int kind_of(tsr_dtype dtype) {
  static const uint8_t bodies[TSR_DTYPE_COUNT] = {
#define TSRI_X(name, lower, bytes, kind, text) BODY_OF_##kind,
      TSR_DTYPES(TSRI_X)
#undef TSRI_X
  };
  return bodies[dtype];
}

const tsri_op *tsri_elementwise_op_for(tsri_operator_id id, tsr_dtype computed, tsr_device_type device_type) {
  const tsri_op *half = &tsri_operators[id].bodies[TSRI_BODY_HALF];
  if (half->expression && tsri_dtype_is_narrow(computed) && device_type != TSR_DEVICE_CPU) return half;
  return &tsri_operators[id].bodies[kind_of(computed)];
}

static tsr_status refuse(const tsri_operator *row, const tsr_dtype *inputs) {
  static const char *const kinds[] = {"floats", "integers", "bool"};
  char given[64] = "", takes[64] = "";
  size_t used = 0;
  for (int i = 0; i < row->input_count; i++) {
    const char *between = i == 0 ? "" : i == row->input_count - 1 ? " and " : ", ";
    used += (size_t)snprintf(given + used, sizeof given - used, "%s%s", between, tsr_dtype_name(inputs[i]));
  }
  used = 0;
  for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); i++) {
    if (!row->bodies[i].expression) continue;
    used += (size_t)snprintf(takes + used, sizeof takes - used, "%s%s", used ? " and " : "", kinds[i]);
  }
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes %s, not %s", row->name, takes, given);
}

tsr_status tsri_elementwise_dtypes(tsri_operator_id id, const tsr_dtype *inputs, tsr_dtype *out_computed,
                                   tsr_dtype *out_result) {
  const tsri_operator *row = &tsri_operators[id];
  int first = row->rule == TSRI_DTYPE_RULE_WHERE ? 1 : 0;
  tsr_dtype dtype = inputs[first];
  for (int i = first + 1; i < row->input_count; i++) {
    if (inputs[i] != dtype) dtype = tsri_promote(dtype, inputs[i]);
  }
  if (row->rule == TSRI_DTYPE_RULE_TRUTH) dtype = TSR_BOOL;
  if (row->rule == TSRI_DTYPE_RULE_FLOAT) dtype = tsri_promote_float(dtype);
  if (row->scalar_count && dtype == TSR_BOOL) dtype = TSR_I32;  // as in NumPy: True + 1 is an integer
  if (!row->bodies[kind_of(dtype)].expression) return refuse(row, inputs);
  *out_computed = dtype;
  *out_result = row->rule == TSRI_DTYPE_RULE_COMPARE ? TSR_BOOL : dtype;
  return TSR_OK;
}

// --- Scalars ---------------------------------------------------------------------------------------------------------

// The upper limit of clamp for a 64-bit tensor without a limit. No double has the value INT64_MAX or UINT64_MAX, but
// parameters are converted like tsr_convert does, which saturates this one to them.
static const double beyond_64 = 18446744073709551616.0;

tsr_status tsri_fit_scalar(const char *caller, tsr_dtype dtype, bool may_exceed, double *value) {
  if (tsri_dtype_is_float(dtype)) return TSR_OK;
  tsri_whole_range range = tsri_range_of(dtype);
  if (may_exceed && *value < range.least) *value = range.least;
  if (may_exceed && *value > range.most) {
    *value = tsr_dtype_bytes(dtype) == 8 ? beyond_64 : range.most;
    return TSR_OK;
  }
  if (!(*value == trunc(*value)) || isinf(*value)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %g is no whole number and the tensor is %s; cast it to a float dtype first",
                     caller, *value, tsr_dtype_name(dtype));
  }
  if (*value < range.least || *value > range.most) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %.17g does not fit %s, which holds %.17g to %.17g", caller, *value,
                     tsr_dtype_name(dtype), range.least, range.most);
  }
  return TSR_OK;
}

static tsr_status take_scalars(tsri_operator_id id, tsr_dtype dtype, const double *scalars, tsri_scalars *out) {
  const tsri_operator *row = &tsri_operators[id];
  out->count = row->scalar_count;
  tsr_status status = TSR_OK;
  for (int i = 0; i < row->scalar_count && status == TSR_OK; i++) {
    out->values[i] = scalars[i];
    status = tsri_fit_scalar(row->name, dtype, id == TSRI_OPERATOR_clamp, &out->values[i]);
  }
  return status;
}

// --- Recording ----------------------------------------------------------------------------------------------------

// dtype: result dtype, or TSR_DTYPE_COUNT to derive it from the operator's type rule.
static tsr_tensor *apply(tsri_operator_id id, tsr_dtype dtype, tsr_tensor *const *inputs, const double *scalars) {
  const tsri_operator *row = &tsri_operators[id];
  tsr_dtype dtypes[TSRI_MAX_LEAVES] = {TSR_F32}, computed = TSR_F32, result = TSR_F32;
  tsri_operand_ref refs[TSRI_MAX_LEAVES];
  tsri_scalars numbers;
  tsr_status status = TSR_OK;
  if (row->scalar_count) numbers = (tsri_scalars){0};
  for (int i = 0; i < row->input_count && status == TSR_OK; i++) {
    status = tsri_tensor_check(row->name, inputs[i]);
    if (status == TSR_OK) dtypes[i] = inputs[i]->dtype;
  }
  if (status == TSR_OK) status = tsri_elementwise_dtypes(id, dtypes, &computed, &result);
  if (status == TSR_OK && row->scalar_count) status = take_scalars(id, computed, scalars, &numbers);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  for (int i = 0; i < row->input_count; i++) refs[i] = (tsri_operand_ref){inputs[i], computed};
  if (row->rule == TSRI_DTYPE_RULE_WHERE) refs[0].as = TSR_BOOL;
  if (dtype != TSR_DTYPE_COUNT) result = dtype;
  const tsri_op *op = tsri_elementwise_op_for(id, computed, inputs[0]->value->device->info.type);
  return tsri_record_elementwise(op, result, refs, row->input_count, row->scalar_count ? &numbers : NULL);
}

tsr_tensor *tsri_elementwise(tsri_operator_id id, tsr_tensor *const *inputs, const double *scalars) {
  return apply(id, TSR_DTYPE_COUNT, inputs, scalars);
}

tsr_tensor *tsri_elementwise_to(tsri_operator_id id, tsr_dtype dtype, tsr_tensor *const *inputs,
                                const double *scalars) {
  return apply(id, dtype, inputs, scalars);
}
