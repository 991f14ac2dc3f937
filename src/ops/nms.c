// SPDX-License-Identifier: MIT
// nms: sorts the boxes by their scores, marks boxes that a better one overlaps by kernels/op_nms.tk, and collects the rest, for which it waits.
#include <math.h>

#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "runtime/tape.h"

#include <tessera/ops.h>

static const char name[] = "nms";

// Inputs, all contiguous: boxes, [images, n, 4]; for each list of scores, [images, classes, n], the order of the boxes and the scores in that order.
tsr_status tsri_run_nms(const tsri_kernel_run *run) {
  const tsri_nms_attributes *given = TSRI_GIVEN(run->node, nms);
  const tsri_layout *boxes = &run->layouts[0], *order = &run->layouts[1], *scores = &run->layouts[2];
  int64_t n = run->shape.dims[2], lists = run->shape.dims[0] * run->shape.dims[1];
  if (n == 0 || lists == 0) return TSR_OK;
  tsr_buffer *flags = NULL;
  tsr_status status = tsri_call_check(name, order);
  if (status == TSR_OK) status = tsri_call_check(name, boxes);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, lists * n, TSR_I32, &flags);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_nms", "suppress",
                 TSRI_WITH(TSRI_CONSTANT("CENTRE", given->is_centre), TSRI_CONSTANT("LEAST", given->has_least)));
  tsri_call_buffer(&call, "boxes", run->inputs[0], TSR_F32);
  tsri_call_buffer(&call, "order", run->inputs[1], TSR_I32);
  tsri_call_buffer(&call, "scores", run->inputs[2], TSR_F32);
  tsri_call_buffer(&call, "flags", flags, TSR_I32);
  tsri_call_buffer(&call, "kept", run->output, TSR_I32);
  tsri_call_word(&call, "lists", lists);
  tsri_call_word(&call, "classes", run->shape.dims[1]);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "x_at", boxes->offset);
  tsri_call_word(&call, "o_at", order->offset);
  tsri_call_word(&call, "s_at", scores->offset);
  tsri_call_word(&call, "most_boxes", given->most);
  tsri_call_real(&call, "most", given->overlap);
  tsri_call_real(&call, "least", given->least);
  status = tsri_call_many_groups(&call, lists);
  tsr_buffer_release(flags);
  return status;
}

static tsr_status check(const tsr_tensor *boxes, const tsr_tensor *scores, const tsr_nms_desc *desc) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape x = boxes->layout.shape, s = scores->layout.shape;
  if (x.rank != 3 || x.dims[2] != 4 || s.rank != 3 || s.dims[0] != x.dims[0] || s.dims[2] != x.dims[1]) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "nms: boxes are %s, scores are %s; they are [images, n, 4] and [images, classes, n]",
                     tsr_shape_format(x, a, sizeof a), tsr_shape_format(s, b, sizeof b));
  }
  if (desc->overlap >= 0 && desc->overlap <= 1 && desc->most >= 0 && !isnan(desc->least)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "nms: overlap %g, at most %lld, scores above %g; overlap is 0 to 1",
                   desc->overlap, (long long)desc->most, desc->least);
}

// Records the kernel: 1 for each box that is kept, in the order of the scores. Releases the inputs.
static tsr_tensor *record(tsr_tensor **inputs, tsr_shape shape, const tsr_nms_desc *desc) {
  const tsri_op *op = TSRI_BODY(nms);
  tsr_device *device = NULL;
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check(name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(name, inputs, 3, &device);
  tsri_nms_attributes given = {.overlap = desc->overlap != 0 ? desc->overlap : 0.5,
                               .least = desc->least,
                               .most = desc->most > 0 && desc->most < INT32_MAX ? desc->most : INT32_MAX,
                               .is_centre = desc->is_centre,
                               .has_least = desc->drops_low};
  tsr_tensor *result = status == TSR_OK
                           ? tsri_record_kernel(op, device, TSR_I32, shape, inputs, 3, TSRI_GIVE_ALL(op, nms, &given))
                           : tsri_tensor_fail(status);
  tsri_release_all(inputs, 3);
  return result;
}

// The result, [found, 3]: image, class, and the index of the box (from `order`). Releases `kept`.
static tsr_tensor *found_boxes(tsr_tensor *kept, tsr_tensor *order, tsr_shape shape) {
  tsr_tensor *rows = tsri_then(tsr_nonzero(kept), kept);
  tsr_status status = tsri_tensor_check(name, rows);
  if (status != TSR_OK) return rows;
  tsr_tensor *column[3];
  for (int i = 0; i < 3; i++) column[i] = tsr_slice(rows, 1, i, i + 1, 1);
  tsr_tensor *list = tsr_mul_scalar(column[0], (double)shape.dims[1]), *which = tsr_add(list, column[1]);
  tsr_tensor *start = tsr_mul_scalar(which, (double)shape.dims[2]), *place = tsr_add(start, column[2]);
  tsr_tensor *box = tsr_take(order, place), *parts[3] = {column[0], column[1], box};
  tsr_tensor *result = tsr_concat(parts, 3, 1);
  tsr_tensor *const done[] = {rows, column[0], column[1], column[2], list, which, start, place, box};
  tsri_release_all(done, 9);
  return result;
}

tsr_tensor *tsr_nms(tsr_tensor *boxes, tsr_tensor *scores, const tsr_nms_desc *desc) {
  static const tsr_nms_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(name, boxes);
  if (status == TSR_OK) status = tsri_tensor_check(name, scores);
  if (status == TSR_OK) status = check(boxes, scores, desc);
  if (status == TSR_OK && scores->layout.count > INT32_MAX) {
    status = TSRI_FAIL(TSR_ERR_UNSUPPORTED, "nms: %lld scores; places are i32", (long long)scores->layout.count);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_tape_refuses(scores->value->device, "nms, whose result has a size that is found on the device");
  tsr_tensor *cast = tsr_cast(boxes, TSR_F32), *wide = tsr_cast(scores, TSR_F32);
  tsr_tensor *order = tsr_argsort(wide, -1, true), *sorted = tsr_gather(wide, -1, order);
  tsr_tensor *inputs[3] = {tsr_contiguous(cast), tsr_contiguous(order), tsr_contiguous(sorted)};
  tsr_tensor *kept = record(inputs, scores->layout.shape, desc);
  tsr_tensor *result = found_boxes(kept, order, scores->layout.shape);
  tsr_tensor *const done[] = {cast, wide, order, sorted};
  tsri_release_all(done, 4);
  return tsri_tensor_named(name, result);
}
