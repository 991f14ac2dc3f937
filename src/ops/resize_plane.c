// SPDX-License-Identifier: MIT
// Resizes both of the last two axes by one kernel (kernels/op_taps.tk), which computes the positions where it needs them: one launch for four, and no tensor
// between the two axes.
#include "core/error.h"
#include "graph/node.h"
#include "graph/watch.h"
#include "ops/compose.h"
#include "ops/resize.h"

#include <tessera/ops.h>

static const char name[] = "resize";

// The sizes of a run: x is [planes, n0, n1], the result [planes, m0, m1].
typedef struct plane_sizes {
  int64_t planes, n0, n1, m0, m1, each;
} plane_sizes;

static plane_sizes sizes_of(const tsri_kernel_run *run) {
  enum { EACH = 4 };
  const tsr_shape *from = &run->layouts[0].shape, *to = &run->shape;
  int last = to->rank - 1;
  plane_sizes s = {1, from->dims[last - 1], from->dims[last], to->dims[last - 1], to->dims[last], EACH};
  for (int i = 0; i + 1 < last; i++) s.planes *= to->dims[i];
  return s;
}

// How many planes an item computes: several, which share the positions, if there are enough items.
static int64_t planes_of_item(tsr_device *device, const plane_sizes *s) {
  const tsri_tuning *tuning = tsri_call_tuning(device);
  int64_t items = s->planes * s->m0 * ((s->m1 + s->each - 1) / s->each);
  return s->planes >= tuning->item_rounds && items >= tuning->column_items ? tuning->item_rounds : 1;
}

static tsr_status run_planes(const tsri_kernel_run *run) {
  const tsri_plane_attributes *given = TSRI_GIVEN(run->node, plane);
  plane_sizes s = sizes_of(run);
  tsri_layout result = {.shape = run->shape, .count = s.planes * s.m0 * s.m1};
  tsr_status status = tsri_call_check(name, &run->layouts[0]);
  if (status == TSR_OK) status = tsri_call_check(name, &result);
  if (status != TSR_OK || result.count == 0) return status;
  bool is_nearest = given->mode == TSR_RESIZE_NEAREST;
  tsr_dtype wide = given->is_f64 ? TSR_F64 : TSR_F32, carrier = tsri_call_carrier(run->device, run->dtype);
  int64_t shared = planes_of_item(run->device, &s), blocks = (s.m1 + s.each - 1) / s.each;
  int64_t items = (s.planes + shared - 1) / shared * s.m0 * blocks;
  tsri_lang_arg args[] = {TSRI_TYPE("T", is_nearest ? carrier : run->input_dtypes[0]),
                          TSRI_TYPE("A", wide),
                          TSRI_CONSTANT("WIDE", s.m1 % s.each == 0),
                          TSRI_CONSTANT("PLANES", shared),
                          TSRI_CONSTANT(is_nearest ? "ROUNDING" : "FIRST", is_nearest ? given->rounding : given->first),
                          TSRI_TYPE("Y", run->dtype)};
  tsri_call call;
  tsri_call_init(&call, run->device, "op_taps", is_nearest ? "nearest_planes" : "linear_planes", args,
                 is_nearest ? 5 : 6);
  tsri_call_buffer(&call, "x", run->inputs[0], is_nearest ? carrier : run->input_dtypes[0]);
  tsri_call_buffer(&call, "y", run->output, is_nearest ? carrier : run->dtype);
  tsri_call_word(&call, "items", items);
  tsri_call_word(&call, "planes", s.planes);
  tsri_call_word(&call, "n0", s.n0);
  tsri_call_word(&call, "n1", s.n1);
  tsri_call_word(&call, "m0", s.m0);
  tsri_call_word(&call, "m1", s.m1);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  tsri_resize_pass_line(&call, "0", (tsri_resize_line){given->row_step, given->row_start}, wide);
  tsri_resize_pass_line(&call, "1", (tsri_resize_line){given->column_step, given->column_start}, wide);
  return tsri_call_items(&call, items);
}

const tsri_op tsri_op_resize_plane = {.name = "resize",
                                      .kind = TSRI_OP_KERNEL,
                                      .run = run_planes,
                                      .attribute_set = TSRI_SET_plane,
                                      .attribute_bytes = sizeof(tsri_plane_attributes)};

// Not while gradients are recorded: they are those of the axes, one by one.
bool tsri_resize_has_planes(const tsr_tensor *x) {
  const tsr_device *device = x->value->device;
  return !tsri_watching && x->layout.count > 0 && !tsri_device_is_cpu(device) &&
         tsri_tuning_of(device)->reduce_wide != 0;
}

tsr_tensor *tsri_resize_planes(tsr_tensor *x, tsr_shape shape, tsr_dtype dtype, const tsri_plane_attributes *given) {
  const tsri_op *op = &tsri_op_resize_plane;
  tsr_tensor *packed = tsr_contiguous(x);
  tsr_status status = tsri_shape_check(name, shape, &(int64_t){0});
  if (status == TSR_OK) status = tsri_tensor_check(name, packed);
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, x->value->device, dtype, shape, &packed, 1,
                                                             TSRI_GIVE_ALL(op, plane, given))
                                        : tsri_tensor_fail(status);
  return tsri_then(result, packed);
}
