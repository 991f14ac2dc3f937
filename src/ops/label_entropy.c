// SPDX-License-Identifier: MIT
// Launches kernels/op_label_entropy.tk.
#include "ops/label_entropy.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"

#include <tessera/ops.h>

enum { SHORT_GROUP = 128, LEAST_GROUP = 32, GROUP = 256, AT_ONCE = 8 };

// The logits as rows: x reshaped to [rows, n], with contiguous rows.
typedef struct logits {
  int64_t rows, n, pitch;
} logits;

static logits logits_of(const tsri_layout *x) {
  return (logits){.rows = x->shape.dims[0],
                  .n = x->shape.dims[1],
                  .pitch = x->shape.dims[0] > 1 ? x->strides[0] : x->shape.dims[1]};
}

// The items of a work-group, and how many of them share a row.
typedef struct row_team {
  int group, team;
} row_team;

// A team for rows of n elements of which an item takes `each`. `most`: the largest team that is smaller than a work-group. A row that such a team takes in two
// rounds is still left to it, since GPUs begin few work-groups in a microsecond.
static row_team team_for(int64_t n, int each, int most) {
  row_team t = {.group = SHORT_GROUP, .team = 1};
  while (t.team * 2 <= most && (int64_t)t.team * each < n) t.team *= 2;
  if ((int64_t)t.team * each * 2 >= n) return t;
  t.group = LEAST_GROUP;
  while (t.group < GROUP && (int64_t)t.group * each < n) t.group *= 2;
  t.team = t.group;
  return t;
}

static int64_t groups_for(row_team t, int64_t rows) {
  int64_t rows_of_group = t.group / t.team;
  return (rows + rows_of_group - 1) / rows_of_group;
}

static bool is_wide(const tsri_layout *x, const logits *l) { return x->offset % 4 == 0 && l->pitch % 4 == 0; }

// Whether the kernels can be used: not on the CPU, which runs the composed operators in one pass.
static bool has_kernels(const tsr_tensor *x, const tsr_tensor *labels) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(labels->dtype);
  bool is_narrow = x->dtype == TSR_F32 || x->dtype == TSR_F16 || x->dtype == TSR_BF16;
  bool is_index = (kind == TSR_KIND_INT || kind == TSR_KIND_UINT) && tsr_dtype_bytes(labels->dtype) >= 4;
  const tsr_device *device = x->value->device;
  return is_narrow && is_index && x->layout.count > 0 && device == labels->value->device &&
         device->limits.max_group_size >= GROUP && !tsri_device_is_cpu(device);
}

// Whether x is a matrix whose rows are contiguous.
static bool has_rows(const tsri_layout *x) {
  if (x->shape.rank != 2 || x->strides[1] != 1) return false;
  logits l = logits_of(x);
  return l.pitch >= l.n;
}

static void pass_logits(tsri_call *call, const tsri_kernel_run *run, const logits *l) {
  tsri_call_buffer(call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(call, "labels", run->inputs[1], run->input_dtypes[1]);
  tsri_call_word(call, "rows", l->rows);
  tsri_call_word(call, "n", l->n);
  tsri_call_word(call, "pitch", l->pitch);
  tsri_call_word(call, "x_at", run->layouts[0].offset);
  tsri_call_word(call, "l_at", run->layouts[1].offset);
}

static tsr_status check(const tsri_kernel_run *run) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++)
    status = tsri_call_check("cross_entropy", &run->layouts[i]);
  return status;
}

static tsr_status run_columns(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0];
  int64_t columns = x->shape.dims[0] * x->shape.dims[2];
  tsri_call call;
  tsri_call_init(&call, run->device, "op_label_entropy", "label_entropy_columns",
                 TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("I", run->input_dtypes[1])));
  tsri_call_buffer(&call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(&call, "labels", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "each", run->outputs[0], TSR_F32);
  tsri_call_buffer(&call, "lse", run->outputs[1], TSR_F32);
  tsri_call_word(&call, "columns", columns);
  tsri_call_word(&call, "n", x->shape.dims[1]);
  tsri_call_word(&call, "inner", x->shape.dims[2]);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "l_at", run->layouts[1].offset);
  return tsri_call_items(&call, columns);
}

// Inputs: x, a matrix of logits or [outer, classes, inner], and the labels of the rows or columns. Outputs: both results.
static tsr_status run_entropy(const tsri_kernel_run *run) {
  tsr_status status = check(run);
  if (status != TSR_OK) return status;
  if (run->layouts[0].shape.rank == 3) return run_columns(run);
  logits l = logits_of(&run->layouts[0]);
  int subgroup = tsri_call_subgroup(run->device, SHORT_GROUP);
  row_team t = team_for(l.n, AT_ONCE, subgroup > 0 ? subgroup : 1);
  bool wide = is_wide(&run->layouts[0], &l) && l.n >= 4;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_label_entropy", "label_entropy",
      TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("WIDE", wide),
                TSRI_CONSTANT("AT_ONCE", AT_ONCE), TSRI_CONSTANT("WG", t.group), TSRI_CONSTANT("TEAM", t.team)));
  pass_logits(&call, run, &l);
  tsri_call_buffer(&call, "each", run->outputs[0], TSR_F32);
  tsri_call_buffer(&call, "lse", run->outputs[1], TSR_F32);
  return tsri_call_many_groups(&call, groups_for(t, l.rows));
}

const tsri_op tsri_op_label_entropy = {.name = "cross_entropy",
                                       .kind = TSRI_OP_KERNEL,
                                       .is_for_device = true,
                                       .run = run_entropy,
                                       .attribute_set = TSRI_SET_softmax,
                                       .attribute_bytes = sizeof(tsri_softmax_attributes)};

// Records the operator for x and labels as the kernels take them. False if memory runs out.
static bool record(tsr_tensor *x, tsr_tensor *labels, tsr_tensor *results[2]) {
  const tsri_op *op = &tsri_op_label_entropy;
  tsr_tensor *inputs[2] = {x, labels};
  if (tsri_tensor_check(op->name, x) != TSR_OK || tsri_tensor_check(op->name, labels) != TSR_OK) return false;
  const tsri_result shapes[2] = {{TSR_F32, labels->layout.shape}, {TSR_F32, labels->layout.shape}};
  tsri_record_kernel_results(op, x->value->device, shapes, 2, inputs, 2, TSRI_GIVE(op, softmax, .axis = 1), results);
  return true;
}

bool tsri_label_entropy(tsr_tensor *x, tsr_tensor *labels, int axis, tsr_tensor **out_each, tsr_tensor **out_lse) {
  const tsr_shape *shape = &x->layout.shape;
  bool is_matrix = axis == 1 && has_rows(&x->layout);
  if (!has_kernels(x, labels) || (!is_matrix && !tsri_layout_is_contiguous(&x->layout))) return false;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; i++) outer *= shape->dims[i];
  for (int i = axis + 1; i < shape->rank; i++) inner *= shape->dims[i];
  tsr_shape whole = TSR_SHAPE(outer, shape->dims[axis], inner), lines = TSR_SHAPE(outer, inner);
  if (inner == 1) whole.rank = 2, lines.rank = 1;
  tsr_tensor *packed = tsr_contiguous(labels), *list = tsri_then(tsr_reshape(packed, lines), packed);
  tsr_tensor *logits_seen = is_matrix ? tsr_retain(x) : tsr_reshape(x, whole), *results[2];
  bool is_recorded = record(logits_seen, list, results);
  tsr_release(list);
  tsr_release(logits_seen);
  if (!is_recorded) return false;
  *out_each = tsri_then(tsr_reshape(results[0], labels->layout.shape), results[0]);
  *out_lse = tsri_then(tsr_reshape(results[1], labels->layout.shape), results[1]);
  return true;
}

// --- Gradient --------------------------------------------------------------------------------------------------------

// Inputs: x, labels, lse, then g and h if given. The attribute is_log says that the last input is h.
static tsr_status run_gradient(const tsri_kernel_run *run) {
  logits l = logits_of(&run->layouts[0]);
  row_team t = team_for(run->shape.dims[1], 4, SHORT_GROUP / 2);
  bool has_h = TSRI_GIVEN(run->node, softmax)->is_log != 0;
  int g = 3, h = run->input_count - 1;
  tsr_status status = check(run);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_label_entropy", "label_gradient",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                TSRI_CONSTANT("WIDE", is_wide(&run->layouts[0], &l)), TSRI_CONSTANT("HAS_G", !has_h || h > g),
                TSRI_CONSTANT("HAS_H", has_h), TSRI_CONSTANT("WG", t.group), TSRI_CONSTANT("TEAM", t.team)));
  pass_logits(&call, run, &l);
  tsri_call_buffer(&call, "lse", run->inputs[2], TSR_F32);
  tsri_call_buffer(&call, "g", run->inputs[g], TSR_F32);
  tsri_call_buffer(&call, "h", run->inputs[h], TSR_F32);
  tsri_call_buffer(&call, "dx", run->output, run->dtype);
  tsri_call_word(&call, "to_pitch", run->shape.dims[1]);
  tsri_call_word(&call, "a_at", run->layouts[2].offset);
  tsri_call_word(&call, "g_at", run->layouts[g].offset);
  tsri_call_word(&call, "h_at", run->layouts[h].offset);
  return tsri_call_many_groups(&call, groups_for(t, l.rows));
}

const tsri_op tsri_op_label_gradient = {.name = "cross_entropy",
                                        .kind = TSRI_OP_KERNEL,
                                        .is_for_device = true,
                                        .run = run_gradient,
                                        .attribute_set = TSRI_SET_softmax,
                                        .attribute_bytes = sizeof(tsri_softmax_attributes)};

bool tsri_label_gradient(tsr_tensor *x, tsr_tensor *labels, tsr_tensor *lse, tsr_tensor *g, tsr_tensor *h,
                         tsr_tensor **out_x) {
  const tsri_op *op = &tsri_op_label_gradient;
  if (!has_kernels(x, labels) || !has_rows(&x->layout) || (!g && !h)) return false;
  logits l = logits_of(&x->layout);
  tsr_tensor *inputs[5] = {x, tsr_contiguous(labels), tsr_contiguous(lse)};
  int count = 3;
  if (g) inputs[count++] = tsr_contiguous(tsr_cast(g, TSR_F32));
  if (h) inputs[count++] = tsr_contiguous(tsr_cast(h, TSR_F32));
  for (int i = 0; i < count; i++) {
    if (tsri_tensor_check(op->name, inputs[i]) != TSR_OK) return false;
  }
  tsr_tensor *whole = tsri_record_kernel(op, x->value->device, x->dtype, TSR_SHAPE(l.rows, l.pitch), inputs, count,
                                         TSRI_GIVE(op, softmax, .axis = 1, .is_log = h != NULL));
  *out_x = l.pitch > l.n ? tsr_slice(whole, 1, 0, l.n, 1) : whole;
  return true;
}
