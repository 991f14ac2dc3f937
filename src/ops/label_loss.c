// SPDX-License-Identifier: MIT
#include "ops/label_loss.h"

#include "ops/call.h"
#include "ops/operators.h"

// MOST_EACH: rows of an item. More rows are summed faster by several work-groups.
enum { LEAST_GROUP = 256, MOST_EACH = 32 };

// Items of the work-group: as many as one may have, except where drivers limit such kernels (row_group of tuning.c).
static int group_of(tsr_device *device) {
  enum { MOST = 1024 };
  int group = tsri_call_tuning(device)->row_group > LEAST_GROUP ? MOST : LEAST_GROUP;
  return device->limits.max_group_size >= (uint32_t)group ? group : LEAST_GROUP;
}

// Inputs: x and the labels, both with any strides. Output: the loss.
tsr_status tsri_run_label_loss(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0], *labels = &run->layouts[1];
  bool is_mean = TSRI_GIVEN(run->node, label_loss)->is_mean != 0;
  tsr_status status = tsri_call_check("nll_loss", x);
  if (status == TSR_OK) status = tsri_call_check("nll_loss", labels);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_label_loss", "label_loss",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_CONSTANT("WG", group_of(run->device))));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "labels", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "rows", x->shape.dims[0]);
  tsri_call_word(&call, "n", x->shape.dims[1]);
  tsri_call_word(&call, "pitch", x->strides[0]);
  tsri_call_word(&call, "step", x->strides[1]);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "l_at", labels->offset);
  tsri_call_word(&call, "l_step", labels->strides[0]);
  tsri_call_real(&call, "divisor", is_mean ? (double)x->shape.dims[0] : 1);
  return tsri_call_groups(&call, 1, 1, 1);
}

const tsri_op tsri_op_label_loss = {.name = "nll_loss",
                                    .kind = TSRI_OP_KERNEL,
                                    .is_for_device = true,
                                    .run = tsri_run_label_loss,
                                    .attribute_set = TSRI_SET_label_loss,
                                    .attribute_bytes = sizeof(tsri_label_loss_attributes)};

// Whether the kernel can be used: not on the CPU, which runs the composed operators in one pass.
static bool has_kernel(const tsr_tensor *x, const tsr_tensor *labels) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(labels->dtype);
  bool is_index = (kind == TSR_KIND_INT || kind == TSR_KIND_UINT) && tsr_dtype_bytes(labels->dtype) >= 4;
  bool is_float = x->dtype == TSR_F32 || x->dtype == TSR_F16 || x->dtype == TSR_BF16;
  const tsr_device *device = x->value->device;
  return is_index && is_float && device == labels->value->device && !tsri_device_is_cpu(device) &&
         device->limits.max_group_size >= LEAST_GROUP && (device->limits.dtype_storage >> x->dtype & 1u);
}

tsr_tensor *tsri_label_loss(tsr_tensor *x, tsr_tensor *labels, bool is_mean) {
  const tsri_op *op = &tsri_op_label_loss;
  const tsr_shape *shape = &x->layout.shape;
  bool fits = shape->rank == 2 && x->layout.count > 0 && shape->dims[1] <= INT32_MAX;
  if (!fits || !has_kernel(x, labels) || shape->dims[0] > MOST_EACH * group_of(x->value->device)) return NULL;
  return tsri_record_kernel(op, x->value->device, x->dtype, TSR_SCALAR, (tsr_tensor *[]){x, labels}, 2,
                            TSRI_GIVE(op, label_loss, .is_mean = is_mean));
}
