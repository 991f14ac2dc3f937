// SPDX-License-Identifier: MIT
// The native operator "sum": each row of a matrix, on all threads.
//
// The interpreter takes a third as long to begin a row of a few thousand elements as it takes to read it. Sums are made in the
// order of the portable kernel with its groups of TSRI_LANE_SUM_GROUP items (graph/tuning.def, reduce_group): results are the same
// bit for bit whichever of the two runs, on any number of threads and at every SIMD level.
#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/isa.h"

bool tsri_cpu_has_sum(const tsri_native_op *op) {
  const tsri_operand *in = &op->inputs[0], *out = &op->output;
  bool is_real = in->dtype == TSR_F32 || in->dtype == TSR_F64;
  return is_real && out->dtype == in->dtype && in->strides[1] == 1 && out->strides[0] == 1;
}

static void *memory_of(const tsri_operand *operand) {
  return (char *)tsri_cpu_buffer_host(NULL, operand->buffer) + operand->offset;
}

static void sum_rows(const cpu_device *device, const tsri_native_op *op, int64_t first, int64_t last) {
  const tsri_operand *in = &op->inputs[0];
  const tsri_lanes_isa *isa = tsri_lanes_isa_for(device->simd);
  int64_t stride = in->strides[0];
  size_t columns = (size_t)in->shape.dims[1];
  if (in->dtype == TSR_F64) {
    const double *from = memory_of(in);
    double *to = memory_of(&op->output);
    for (int64_t i = first; i < last; i++) to[i] = isa->sum_row_f64(from + i * stride, columns);
  } else {
    const float *from = memory_of(in);
    float *to = memory_of(&op->output);
    for (int64_t i = first; i < last; i++) to[i] = isa->sum_row_f32(from + i * stride, columns);
  }
}

void tsri_cpu_sum(const cpu_device *device, const tsri_native_op *op) {
  enum { WORTH_A_THREAD = 1 << 18 };  // bytes
  const tsri_operand *in = &op->inputs[0];
  int64_t rows = in->shape.dims[0], bytes = rows * in->shape.dims[1] * (int64_t)tsr_dtype_bytes(in->dtype);
  int64_t parts = bytes / WORTH_A_THREAD;
  if (parts > device->threads) parts = device->threads;
  if (parts > rows) parts = rows;
  if (parts <= 1) {  // without OpenMP, which takes longer to start one thread than a small sum takes
    sum_rows(device, op, 0, rows);
    return;
  }
#if defined(_OPENMP)
#pragma omp parallel for num_threads((int)parts) schedule(static)
#endif
  for (int64_t part = 0; part < parts; part++) sum_rows(device, op, rows * part / parts, rows * (part + 1) / parts);
}
