// SPDX-License-Identifier: MIT
// The native operators of this folder: dispatch by kind.
#include <string.h>

#include "backends/cpu/rows/index.h"
#include "backends/cpu/rows/pool.h"
#include "backends/cpu/rows/reduce.h"
#include "backends/cpu/rows/scan.h"
#include "backends/cpu/rows/sort.h"

static tsr_status run_sort(cpu_device *device, tsr_dtype dtype, const tsri_sort_op *op) {
  return tsri_cpu_sort_rows(device, &(tsri_row_sort){.x = tsri_cpu_place(op->from),
                                                     .out = tsri_cpu_place(op->to),
                                                     .rows = op->rows,
                                                     .n = op->n,
                                                     .dtype = dtype,
                                                     .is_descending = op->is_descending,
                                                     .wants_order = op->wants_order});
}

static void run_scan(const cpu_device *device, tsr_dtype dtype, const tsri_scan_op *op) {
  tsri_cpu_scan(device, &(tsri_scan){.x = tsri_cpu_place(op->from),
                                     .y = tsri_cpu_place(op->to),
                                     .outer = op->outer,
                                     .n = op->n,
                                     .inner = op->inner,
                                     .dtype = dtype,
                                     .is_product = op->is_product});
}

static tsri_indexing indexing_of(const tsri_index_op *op) {
  tsri_indexing by = {.rank = op->rank,
                      .indices = tsri_cpu_place(op->indices),
                      .index_dtype = op->index_dtype,
                      .size = op->size,
                      .step = op->step};
  memcpy(by.dims, op->dims, sizeof by.dims);
  memcpy(by.index_strides, op->index_strides, sizeof by.index_strides);
  memcpy(by.strides, op->strides, sizeof by.strides);
  return by;
}

tsr_status tsri_cpu_rows(cpu_device *device, const tsri_native_op *op) {
  if (op->kind == TSRI_NATIVE_REDUCE) return tsri_cpu_reduce(device, op->dtype, op->result, &op->is.reduce);
  if (op->kind == TSRI_NATIVE_POOL) return tsri_cpu_pool(device, op->dtype, &op->is.pool);
  if (op->kind == TSRI_NATIVE_SORT) return run_sort(device, op->dtype, &op->is.sort);
  if (op->kind == TSRI_NATIVE_SCAN) {
    run_scan(device, op->dtype, &op->is.scan);
    return TSR_OK;
  }
  const tsri_index_op *index = &op->is.index;
  tsri_indexing by = indexing_of(index);
  if (op->kind == TSRI_NATIVE_SCATTER_ADD) {
    return tsri_cpu_scatter_add(device, &by, tsri_cpu_place(index->x), tsri_cpu_place(index->source),
                                tsri_cpu_place(index->y), index->count, op->dtype);
  }
  tsri_cpu_gather(device, &by, tsri_cpu_place(index->x), tsri_cpu_place(index->y), tsr_dtype_bytes(op->dtype));
  return TSR_OK;
}
