// SPDX-License-Identifier: MIT
// Splits a batch over several devices: each device computes its part on its own queue, and the results are joined.
#include <math.h>
#include <tessera/ops.h>
#include <tessera/queue.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "runtime/device.h"

typedef struct batch_part {
  tsr_device *device;
  int64_t first, last;  // rows of the batch
  tsr_queue *queue;
  tsr_tensor *result;
} batch_part;

static tsr_status check_weights(const double *weights, int count, double *out_sum) {
  *out_sum = 0;
  for (int i = 0; i < count; i++) {
    double weight = weights ? weights[i] : 1;
    if (!(weight >= 0) || isinf(weight)) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "split_batch: weight %d is %g", i, weight);
    }
    *out_sum += weight;
  }
  if (*out_sum > 0 && !isinf(*out_sum)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "split_batch: the sum of the weights is %g", *out_sum);
}

static tsr_status check_arguments(const tsr_tensor *batch, tsr_device *const *devices, int count, tsr_part_fn compute) {
  tsr_status status = tsri_tensor_check("split_batch", batch);
  if (status != TSR_OK) return status;
  if (!devices || count < 1 || !compute) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "split_batch: %d devices, and %s function", count, compute ? "a" : "no");
  }
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_device_check("split_batch", devices[i]);
  if (status != TSR_OK || batch->layout.shape.rank > 0) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "split_batch: the batch is a scalar, which has no axis to split");
}

// Moves the part to its device, and records the computation there on a queue for this part. Moves wait for the batch's device, so all parts are moved before
// the first computation begins.
static tsr_status record_part(tsr_tensor *batch, batch_part *part, int index, tsr_part_fn compute, void *user) {
  tsr_status status = tsr_queue_create(part->device, &part->queue);
  tsr_scope *scope = status == TSR_OK ? tsr_scope_begin_on(part->queue) : NULL;
  if (!scope) return status == TSR_OK ? TSR_ERR_OUT_OF_MEMORY : status;
  tsr_tensor *rows = tsr_slice(batch, 0, part->first, part->last, 1);
  tsr_tensor *here = tsr_to(rows, part->device);
  status = tsr_evaluate(here);
  if (status == TSR_OK) {
    part->result = compute(here, part->device, index, user);
    status = tsr_error(part->result);
    tsr_keep(part->result);
  }
  (void)tsr_scope_end(scope);
  return status;
}

static tsr_status run_parts(tsr_tensor *batch, batch_part *parts, int count, tsr_part_fn compute, void *user) {
  tsr_status status = tsr_evaluate(batch);
  for (int i = 0; i < count && status == TSR_OK; i++) {
    if (parts[i].last > parts[i].first) status = record_part(batch, &parts[i], i, compute, user);
  }
  for (int i = 0; i < count && status == TSR_OK; i++) {
    if (parts[i].result) status = tsr_evaluate(parts[i].result);
  }
  return status;
}

static tsr_tensor *join_parts(const batch_part *parts, int count, tsr_tensor **results, tsr_device *device) {
  int joined = 0;
  for (int i = 0; i < count; i++) {
    if (parts[i].result) results[joined++] = tsr_to(parts[i].result, device);
  }
  tsr_tensor *whole = tsr_concat(results, joined, 0);
  tsr_status status = tsr_evaluate(whole);  // before the parts' devices get other work
  for (int i = 0; i < joined; i++) tsr_release(results[i]);
  if (tsr_error(whole) != TSR_OK || status == TSR_OK) return whole;
  tsr_release(whole);
  return tsri_tensor_fail(status);
}

tsr_tensor *tsr_split_batch(tsr_tensor *batch, tsr_device *const *devices, int device_count, const double *weights,
                            tsr_part_fn compute, void *user) {
  double sum = 0, before = 0;
  tsr_status status = check_arguments(batch, devices, device_count, compute);
  if (status == TSR_OK) status = check_weights(weights, device_count, &sum);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  batch_part *parts = tsri_calloc((size_t)device_count, sizeof *parts);
  tsr_tensor **results = tsri_calloc((size_t)device_count, sizeof(tsr_tensor *));
  if (!parts || !results) status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "split_batch: no host memory for its parts");
  double rows = (double)batch->layout.shape.dims[0];
  for (int i = 0; i < device_count && status == TSR_OK; i++) {
    parts[i] = (batch_part){.device = devices[i], .first = i > 0 ? parts[i - 1].last : 0};
    before += weights ? weights[i] : 1;
    parts[i].last = i == device_count - 1 ? (int64_t)rows : (int64_t)(rows * (before / sum) + 0.5);
  }
  // An empty batch still has a result: the first device computes it.
  if (status == TSR_OK && rows == 0) status = record_part(batch, &parts[0], 0, compute, user);
  if (status == TSR_OK) status = run_parts(batch, parts, device_count, compute, user);
  tsr_tensor *whole =
      status == TSR_OK ? join_parts(parts, device_count, results, batch->value->device) : tsri_tensor_fail(status);
  for (int i = 0; parts && i < device_count; i++) {
    tsr_release(parts[i].result);
    tsr_queue_release(parts[i].queue);
  }
  tsri_free(parts);
  tsri_free(results);
  return whole;
}
