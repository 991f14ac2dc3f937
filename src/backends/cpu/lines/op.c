// SPDX-License-Identifier: MIT
// The native operators of this folder: dispatch by kind.
#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/sort_vectors.h"

// Whether topk.c computes the operator: the first few elements, or all of very short rows, without sorting rows.
static bool is_topk(const tsri_native_op *op) {
  return op->kind == TSRI_NATIVE_SORT && tsri_cpu_has_topk(&op->is.sort);
}

bool tsri_cpu_has_lines(const tsri_native_op *op) {
  if (op->kind == TSRI_NATIVE_ARG_REDUCE) return tsri_cpu_has_arg(&op->is.reduce);
  if (op->kind == TSRI_NATIVE_SORT) {
    return is_topk(op) || (!(op->parts & TSRI_SORT_KEEPS) && tsri_cpu_has_short_sort(op->dtype, &op->is.sort));
  }
  return op->kind == TSRI_NATIVE_JOIN || op->kind == TSRI_NATIVE_SOFTMAX || op->kind == TSRI_NATIVE_NORM ||
         op->kind == TSRI_NATIVE_NORM_GRADIENT;
}

// Whether rows/sort.c is faster, which sorts rows one by one: by vectors, or if only the order of a very short row is needed and there are no vectors.
static bool sorts_rows(const cpu_device *device, const tsri_native_op *op) {
  if (op->kind != TSRI_NATIVE_SORT || op->parts & TSRI_SORT_KEEPS) return false;
  const tsri_sort_op *sort = &op->is.sort;
  return sort->wants_order ? !tsri_cpu_topk_has_vectors(device, op->dtype, sort->keep)
                           : tsri_sort_has_vectors(device->simd, sort->n);
}

tsr_status tsri_cpu_lines(cpu_device *device, const tsri_native_op *op) {
  if (op->kind == TSRI_NATIVE_ARG_REDUCE) return tsri_cpu_arg(device, op->dtype, &op->is.reduce);
  if (op->kind == TSRI_NATIVE_NORM) return tsri_cpu_norm(device, op->dtype, &op->is.norm);
  if (op->kind == TSRI_NATIVE_NORM_GRADIENT) return tsri_cpu_norm_gradient(device, &op->is.norm);
  if (sorts_rows(device, op)) return tsri_cpu_rows(device, op);
  if (op->kind == TSRI_NATIVE_JOIN) tsri_cpu_join(device, op->dtype, &op->is.join);
  else if (is_topk(op)) tsri_cpu_topk(device, op->dtype, &op->is.sort);
  else if (op->kind == TSRI_NATIVE_SORT) tsri_cpu_sort_short(device, op->dtype, &op->is.sort);
  else tsri_cpu_softmax(device, op->dtype, &op->is.softmax);
  return TSR_OK;
}
