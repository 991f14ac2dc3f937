// SPDX-License-Identifier: MIT
// The gradient of layer_norm and rms_norm by kernels/op_norm_gradient.tk.
#include "ops/norm_one_pass.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// How the kernel distributes rows over work-groups.
typedef struct norm_shares {
  bool is_whole;  // a work-group for each row, not a subgroup
  int64_t held, group, groups, lines;
} norm_shares;

// Chooses the distribution. An item has five numbers in registers for each element that it holds, so a longer row has a larger group. False: rows are too long
// to be kept in registers. `is_wide`: items take quads of neighbours.
static bool share_rows(const tsr_device *device, int64_t rows, int64_t n, bool is_wide, norm_shares *out) {
  enum { SMALL_GROUP = 128, LARGE_GROUP = 256, LARGEST_GROUP = 512, FEW_HELD = 8, MOST_HELD = 32, MANY_CORES = 128 };
  int64_t subgroup = tsr_device_subgroup_size(device), cores = device->info.compute_units;
  int64_t limit = device->limits.max_group_size, most = TSRI_TUNED(tsri_tuning_of(device), row_group);
  if (most < limit) limit = most;
  if (subgroup <= 0 || limit < LARGE_GROUP) return false;
  bool is_whole = n > subgroup * FEW_HELD * 2;
  int64_t group = is_whole ? LARGE_GROUP : SMALL_GROUP;
  if (is_whole && n > group * FEW_HELD && limit >= LARGEST_GROUP) group = LARGEST_GROUP;
  int64_t across = is_whole ? group : subgroup, step = is_wide ? 4 : 1;
  if (across > group || group % subgroup != 0) return false;
  *out = (norm_shares){.is_whole = is_whole,
                       .held = (n + across * step - 1) / (across * step) * step,
                       .group = group,
                       .lines = group / across,
                       .groups = (is_whole ? 2 : 4) * (cores > 0 ? cores : MANY_CORES)};
  int64_t needed = (rows + out->lines - 1) / out->lines;
  if (out->groups > needed) out->groups = needed;
  return out->held <= MOST_HELD;
}

// Whether all rows consist of quads.
static bool are_quads(const tsri_kernel_run *run, int64_t n) {
  if (n % 4 != 0) return false;
  for (int i = 0; i < run->input_count; i++) {
    if (run->layouts[i].offset % 4 != 0) return false;
  }
  return true;
}

// Inputs: x, the gradient of the result, then if given the weight and the tensor that is added to the gradient of x. Outputs: the gradient of x, and each
// work-group's partial sums for the gradients of weight and bias.
static tsr_status run_one_pass(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  const tsri_norm_attributes *given = TSRI_GIVEN(run->node, norm);
  int weight = given->has_weight ? 2 : 0, after = given->has_weight ? 3 : 2,
      plus = run->input_count > after ? after : 0;
  int64_t n = layout->shape.dims[layout->shape.rank - 1], rows = layout->count / n;
  norm_shares shares;
  tsr_status status = tsri_call_check(run->node->op->name, layout);
  if (status != TSR_OK) return status;
  bool is_wide = are_quads(run, n);
  if (!share_rows(run->device, rows, n, is_wide, &shares)) return TSR_ERR_INTERNAL;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_norm_gradient", "norm_gradient",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("G", run->input_dtypes[1]),
                TSRI_TYPE("W", run->input_dtypes[weight]), TSRI_TYPE("P", run->input_dtypes[plus]),
                TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("CENTRE", given->is_centred),
                TSRI_CONSTANT("WEIGHT", given->has_weight), TSRI_CONSTANT("PLUS", plus != 0),
                TSRI_CONSTANT("WHOLE", shares.is_whole), TSRI_CONSTANT("WIDE", is_wide),
                TSRI_CONSTANT("HELD", shares.held), TSRI_CONSTANT("SG", tsr_device_subgroup_size(run->device)),
                TSRI_CONSTANT("WG", shares.group)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "g", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "weight", run->inputs[weight], run->input_dtypes[weight]);
  tsri_call_buffer(&call, "plus", run->inputs[plus], run->input_dtypes[plus]);
  tsri_call_buffer(&call, "dx", run->outputs[0], run->dtype);
  tsri_call_buffer(&call, "dw", run->outputs[1], tsri_accumulator(run->dtype));
  tsri_call_buffer(&call, "db", run->outputs[2], tsri_accumulator(run->dtype));
  tsri_call_word(&call, "rows", rows);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "x_at", layout->offset);
  tsri_call_word(&call, "g_at", run->layouts[1].offset);
  tsri_call_word(&call, "w_at", run->layouts[weight].offset);
  tsri_call_word(&call, "p_at", run->layouts[plus].offset);
  tsri_call_real(&call, "eps", given->eps);
  return tsri_call_groups(&call, shares.groups, 1, 1);
}

const tsri_op tsri_op_norm_one_pass = {.name = "layer_norm",
                                       .kind = TSRI_OP_KERNEL,
                                       .is_for_device = true,
                                       .run = run_one_pass,
                                       .attribute_set = TSRI_SET_norm,
                                       .attribute_bytes = sizeof(tsri_norm_attributes)};

// x made contiguous, in its own dtype if that is no wider than what the kernel computes in.
static tsr_tensor *packed(tsr_tensor *x, tsr_dtype wide) {
  return tsr_contiguous(tsri_accumulator(x->dtype) == wide ? x : tsr_cast(x, wide));
}

bool tsri_norm_one_pass(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, tsr_tensor *plus,
                        const tsri_norm_attributes *given, tsr_tensor *out_gradients[3]) {
  const tsri_op *op = &tsri_op_norm_one_pass;
  tsr_shape shape = tsr_tensor_shape(x);
  tsr_device *device = x->value->device;
  int64_t n = shape.rank > 0 ? shape.dims[shape.rank - 1] : 0, count = tsr_tensor_count(x);
  norm_shares shares;
  if (count == 0 || tsri_device_is_cpu(device) || !share_rows(device, count / n, n, false, &shares)) return false;
  tsr_dtype dtype = x->dtype, sums = tsri_accumulator(dtype);
  tsr_shape parts = TSR_SHAPE(shares.groups, n);
  const tsri_result shapes[3] = {{dtype, shape}, {sums, parts}, {sums, parts}};
  tsr_tensor *inputs[4] = {packed(x, sums), packed(g, sums)}, *results[3];
  int input_count = 2;
  if (given->has_weight) inputs[input_count++] = packed(weight, sums);
  if (plus) inputs[input_count++] = packed(plus, sums);
  for (int i = 0; i < input_count; i++) {
    if (tsri_tensor_check(op->name, inputs[i]) != TSR_OK) return false;
  }
  tsri_record_kernel_results(op, device, shapes, 3, inputs, input_count, TSRI_GIVE_ALL(op, norm, given), results);
  out_gradients[0] = results[0];
  for (int i = 1; i < 3; i++) out_gradients[i] = tsr_sum(results[i], (const int[]){0}, 1, false);
  return true;
}
