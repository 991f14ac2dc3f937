// SPDX-License-Identifier: MIT
// The rows of `tessera bench`.
//
// A step records and queues an operator; a sample waits once, at its end.
#include "bench_rows.h"

#include <stdlib.h>
#include <string.h>

#include "bench_time.h"

// --- Inputs ---------------------------------------------------------------------------------------------------------------

// An input with numbers from -1 to 1, integers from 0 to 99, computed before the timing.
static tsr_tensor *new_input(bench_case *c, tsr_shape shape) {
  uint64_t seed = (uint64_t)c->input_count + 1;
  tsr_scope *scope = tsr_scope_begin(c->device);
  tsr_tensor *values;
  switch (tsr_dtype_kind_of(c->dtype)) {
    case TSR_KIND_FLOAT:
      values = tsr_sub_scalar(tsr_mul_scalar(tsr_rand(c->device, c->dtype, shape, seed), 2), 1);
      break;
    case TSR_KIND_BOOL:
      values = tsr_ge_scalar(tsr_rand(c->device, TSR_F32, shape, seed), 0.5);
      break;
    default:
      values = tsr_randint(c->device, c->dtype, shape, 0, 100, seed);
  }
  (void)tsr_evaluate(values);  // an error will also be reported by the first step
  values = tsr_keep(values);
  tsr_scope_end(scope);
  return values;
}

static tsr_status add_input(bench_case *c, tsr_shape shape) {
  tsr_tensor *input = c->inputs[c->input_count] = new_input(c, shape);
  c->input_count++;
  return tsr_error(input);
}

// --- Operators ------------------------------------------------------------------------------------------------------------

static tsr_tensor *make_add(bench_case *c) { return tsr_add(c->inputs[0], c->inputs[1]); }
static tsr_tensor *make_chain(bench_case *c) {
  return tsr_relu(tsr_add(tsr_mul(c->inputs[0], c->inputs[1]), c->inputs[2]));
}
static tsr_tensor *make_exp(bench_case *c) { return tsr_exp(c->inputs[0]); }
static tsr_tensor *make_tanh(bench_case *c) { return tsr_tanh(c->inputs[0]); }
static tsr_tensor *make_gelu(bench_case *c) { return tsr_gelu(c->inputs[0]); }
static tsr_tensor *make_sigmoid(bench_case *c) { return tsr_sigmoid(c->inputs[0]); }
static tsr_tensor *make_sum(bench_case *c) { return tsr_sum(c->inputs[0], NULL, 0, false); }
static tsr_tensor *make_sum0(bench_case *c) { return tsr_sum(c->inputs[0], (int[]){0}, 1, false); }
static tsr_tensor *make_sum1(bench_case *c) { return tsr_sum(c->inputs[0], (int[]){1}, 1, false); }
static tsr_tensor *make_transposed(bench_case *c) { return tsr_contiguous(tsr_transpose(c->inputs[0], 0, 1)); }
static tsr_tensor *make_softmax(bench_case *c) { return tsr_softmax(c->inputs[0], 1); }
static tsr_tensor *make_layer_norm(bench_case *c) {
  return tsr_layer_norm(c->inputs[0], c->inputs[1], c->inputs[2], 1e-5);
}
static tsr_tensor *make_rms_norm(bench_case *c) { return tsr_rms_norm(c->inputs[0], c->inputs[1], 1e-5); }
static tsr_tensor *make_silu(bench_case *c) { return tsr_silu(c->inputs[0]); }
static tsr_tensor *make_argmax(bench_case *c) { return tsr_argmax(c->inputs[0], (int[]){1}, 1, false); }
static tsr_tensor *make_matmul(bench_case *c) { return tsr_matmul(c->inputs[0], c->inputs[1]); }
static tsr_tensor *make_linear(bench_case *c) {
  return tsr_gelu(tsr_add(tsr_matmul(c->inputs[0], c->inputs[1]), c->inputs[2]));
}
static tsr_tensor *make_linear_tanh(bench_case *c) {
  return tsr_gelu_tanh(tsr_add(tsr_matmul(c->inputs[0], c->inputs[1]), c->inputs[2]));
}
static tsr_tensor *make_gemv(bench_case *c) { return tsr_gemv(c->inputs[0], c->inputs[1]); }

static tsr_status norm_inputs(bench_case *c) {
  tsr_status status = add_input(c, TSR_SHAPE(c->cols));
  return status == TSR_OK ? add_input(c, TSR_SHAPE(c->cols)) : status;
}
static tsr_status matmul_inputs(bench_case *c) { return add_input(c, TSR_SHAPE(c->cols, c->rows)); }
static tsr_status linear_inputs(bench_case *c) {
  tsr_status status = add_input(c, TSR_SHAPE(c->cols, c->cols));
  return status == TSR_OK ? add_input(c, TSR_SHAPE(c->cols)) : status;
}
static tsr_status gemv_inputs(bench_case *c) { return add_input(c, TSR_SHAPE(c->cols)); }

static tsr_status step_operator(bench_case *c, int step) {
  (void)step;
  tsr_scope *scope = tsr_scope_begin(c->device);
  tsr_status status = tsr_evaluate(c->row->make(c));
  tsr_scope_end(scope);
  return status;
}

static tsr_status begin_operator(bench_case *c) {
  const bench_row *row = c->row;
  tsr_shape shape = row->is_vector ? TSR_SHAPE(c->rows * c->cols) : TSR_SHAPE(c->rows, c->cols);
  tsr_status status = add_input(c, shape);
  for (int i = 0; i < row->same_inputs && status == TSR_OK; i++) status = add_input(c, shape);
  if (status == TSR_OK && row->more_inputs) status = row->more_inputs(c);
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(c->device);
  tsr_tensor *result = row->make(c);
  status = tsr_error(result);
  c->bytes = (double)tsr_tensor_count(result) * (double)tsr_dtype_bytes(tsr_tensor_dtype(result));
  tsr_scope_end(scope);
  for (int i = 0; i < c->input_count; i++) {
    c->bytes += (double)tsr_tensor_count(c->inputs[i]) * (double)tsr_dtype_bytes(c->dtype);
  }
  c->flops = row->flops * (double)c->rows * (double)c->cols * (row->is_product ? (double)c->rows : 1);
  return status;
}

// --- A copy within the device -----------------------------------------------------------------------------------------------

static tsr_status begin_copy(bench_case *c) {
  size_t bytes = (size_t)(c->rows * c->cols) * tsr_dtype_bytes(c->dtype);
  const unsigned char zero = 0;
  c->bytes = 2 * (double)bytes;
  for (int i = 0; i < 2; i++) {
    tsr_status status = tsr_buffer_create(c->device, bytes, 0, &c->buffers[i]);
    if (status == TSR_OK) status = tsr_buffer_fill(c->buffers[i], 0, bytes, &zero, 1);
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

static tsr_status step_copy(bench_case *c, int step) {
  (void)step;
  return tsr_buffer_copy(c->buffers[1], 0, c->buffers[0], 0, tsr_buffer_bytes(c->buffers[0]));
}

// --- From the host --------------------------------------------------------------------------------------------------------

static tsr_status begin_upload(bench_case *c) {
  tsr_status status = begin_copy(c);
  size_t bytes = tsr_buffer_bytes(c->buffers[0]);
  c->bytes = (double)bytes;
  c->host = status == TSR_OK ? malloc(bytes) : NULL;
  if (status != TSR_OK) return status;
  if (!c->host) return TSR_ERR_OUT_OF_MEMORY;
  memset(c->host, 1, bytes);
  return TSR_OK;
}

static tsr_status step_upload(bench_case *c, int step) {
  (void)step;
  return tsr_buffer_upload(c->buffers[0], 0, c->host, tsr_buffer_bytes(c->buffers[0]));
}

// --- What it costs to begin -------------------------------------------------------------------------------------------------

static tsr_status begin_small(bench_case *c) {
  tsr_status status = add_input(c, TSR_SHAPE(4));
  return status == TSR_OK ? add_input(c, TSR_SHAPE(4)) : status;
}

static tsr_status step_record(bench_case *c, int step) {
  (void)step;
  tsr_tensor *sum = tsr_add(c->inputs[0], c->inputs[1]);
  if (tsr_error(sum) != TSR_OK) return tsr_error(sum);
  tsr_release(sum);
  return TSR_OK;
}

static tsr_status step_queued_add(bench_case *c, int step) {
  (void)step;
  tsr_tensor *sum = tsr_add(c->inputs[0], c->inputs[1]);
  tsr_status status = tsr_evaluate(sum);
  tsr_release(sum);
  return status;
}

static tsr_status step_hundred(bench_case *c, int step) {
  (void)step;
  tsr_scope *scope = tsr_scope_begin(c->device);
  tsr_tensor *x = c->inputs[0];
  for (int i = 0; i < 100; i++) x = tsr_mul_scalar(x, 1.001);
  tsr_status status = tsr_evaluate(x);
  tsr_scope_end(scope);
  return status;
}

// Captures a hundred operators. is_fused: as one kernel; otherwise each operator is evaluated by itself, and so gets its own kernel.
static tsr_status capture_hundred(bench_case *c, bool is_fused) {
  tsr_status status = begin_small(c);
  if (status == TSR_OK) status = tsr_capture_begin(c->device);
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(c->device);
  tsr_tensor *x = c->inputs[0];
  for (int i = 0; i < 100 && status == TSR_OK; i++) {
    x = tsr_mul_scalar(x, 1.001);
    if (!is_fused) status = tsr_evaluate(x);
  }
  tsr_status ended = tsr_capture_end(&x, 1, status == TSR_OK ? &c->capture : NULL);
  tsr_scope_end(scope);
  return status == TSR_OK ? ended : status;
}

static tsr_status begin_replayed(bench_case *c) { return capture_hundred(c, true); }
static tsr_status begin_replayed_unfused(bench_case *c) { return capture_hundred(c, false); }

static tsr_status step_replayed(bench_case *c, int step) {
  (void)step;
  return tsr_capture_run(c->capture);
}

static tsr_status step_small_add(bench_case *c, int step) {
  (void)step;
  float values[4];
  tsr_tensor *sum = tsr_add(c->inputs[0], c->inputs[1]);
  tsr_status status = tsr_read(sum, values, sizeof values);
  tsr_release(sum);
  return status;
}

// Ten operators; each value of `kind` below 4^10 gives a different kernel.
static tsr_tensor *record_ten(tsr_tensor *x, unsigned kind) {
  for (int i = 0; i < 10; i++, kind /= 4) {
    switch (kind % 4) {
      case 0:
        x = tsr_add_scalar(x, 0.5);
        break;
      case 1:
        x = tsr_mul_scalar(x, 1.5);
        break;
      case 2:
        x = tsr_maximum_scalar(x, -2);
        break;
      default:
        x = tsr_rsub_scalar(x, 1);
    }
  }
  return x;
}

static tsr_status record_chains(bench_case *c, int steps, unsigned first_kind, unsigned kind_step) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < steps && status == TSR_OK; i++) {
    tsr_scope *scope = tsr_scope_begin(c->device);
    c->results[i] = tsr_keep(record_ten(c->inputs[0], first_kind + (unsigned)i * kind_step));
    c->result_count = i + 1;
    status = tsr_error(c->results[i]);
    tsr_scope_end(scope);
  }
  return status;
}

static tsr_status before_new_chain(bench_case *c, int steps) {
  static unsigned next_kind = 1;
  unsigned first = next_kind;
  next_kind += (unsigned)steps;
  return record_chains(c, steps, first, 1);
}

// A chain that is not run while it is recorded: it has fewer operators than run by themselves.
enum { CHAIN = 500 };

static tsr_status before_long_chain(bench_case *c, int steps) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < steps && status == TSR_OK; i++) {
    tsr_scope *scope = tsr_scope_begin(c->device);
    tsr_tensor *x = c->inputs[0];
    for (int j = 0; j < CHAIN; j++) x = tsr_mul_scalar(x, 1.001);
    c->results[i] = tsr_keep(x);
    c->result_count = i + 1;
    status = tsr_error(x);
    tsr_scope_end(scope);
  }
  return status;
}

static tsr_status step_evaluate(bench_case *c, int step) { return tsr_evaluate(c->results[step]); }

static tsr_status before_cached_chain(bench_case *c, int steps) { return record_chains(c, steps, 0, 0); }

static tsr_status step_read(bench_case *c, int step) {
  float values[4];
  return tsr_read(c->results[step], values, sizeof values);
}

static void release_results(bench_case *c) {
  for (int i = 0; i < c->result_count; i++) tsr_release(c->results[i]);
  c->result_count = 0;
}

static tsr_status step_whole_chain(bench_case *c, int step) {
  (void)step;
  float values[4];
  tsr_scope *scope = tsr_scope_begin(c->device);
  tsr_status status = tsr_read(record_ten(c->inputs[0], 0), values, sizeof values);
  tsr_scope_end(scope);
  return status;
}

static tsr_status step_pool(bench_case *c, int step) {
  (void)step;
  tsr_buffer *buffer = NULL;
  tsr_status status = tsr_buffer_create(c->device, (size_t)4 << 20, 0, &buffer);
  tsr_buffer_release(buffer);
  return status;
}

static tsr_status begin_launch(bench_case *c) {
  static const char text[] = "kernel touch(inout f32 x[]) { if (global.x < 4) x[global.x] = x[global.x] * 0.5; }\n";
  tsr_status status = add_input(c, TSR_SHAPE(4));
  if (status != TSR_OK) return status;
  return tsr_kernel_build(&(tsr_kernel_desc){.source = text, .file_name = "touch"}, &c->kernel);
}

static tsr_status step_launch(bench_case *c, int step) {
  (void)step;
  tsr_arg x = tsr_arg_tensor(c->inputs[0]);
  tsr_status status = tsr_kernel_launch(c->kernel, (tsr_grid){1, 1, 1}, &x, 1);
  return status == TSR_OK ? tsr_device_synchronize(c->device) : status;
}

// --- The list ---------------------------------------------------------------------------------------------------------------

#define VECTOR .rows = 10000000, .cols = 1, .is_vector = true
#define MATRIX .rows = 4096, .cols = 4096

const bench_row bench_rows[] = {
    {"copy", "tsr_buffer_copy within the device", VECTOR, .bound = BENCH_COPY, .begin = begin_copy, .step = step_copy},
    {"upload", "tsr_buffer_upload from ordinary memory", VECTOR, .begin = begin_upload, .step = step_upload},
    {"add", "a + b", VECTOR, .bound = BENCH_READ2, .flops = 1, .same_inputs = 1, .make = make_add},
    {"relu_mul_add", "relu(a * b + c), one kernel", VECTOR, .bound = BENCH_READ3, .flops = 3, .same_inputs = 2,
     .make = make_chain},
    {"exp", "exp(a)", VECTOR, .bound = BENCH_COPY, .make = make_exp},
    {"tanh", "tanh(a)", VECTOR, .bound = BENCH_COPY, .make = make_tanh},
    {"gelu", "gelu(a), with erf", VECTOR, .bound = BENCH_COPY, .make = make_gelu},
    {"sigmoid", "sigmoid(a)", VECTOR, .bound = BENCH_COPY, .make = make_sigmoid},
    {"silu", "silu(a)", VECTOR, .bound = BENCH_COPY, .make = make_silu},
    {"sum", "sum of all elements", MATRIX, .bound = BENCH_READ, .flops = 1, .make = make_sum},
    {"sum_axis0", "sum over rows: one per column", MATRIX, .bound = BENCH_READ, .flops = 1, .make = make_sum0},
    {"sum_axis1", "sum over columns: one per row", MATRIX, .bound = BENCH_READ, .flops = 1, .make = make_sum1},
    {"argmax_axis1", "argmax over columns: one per row", MATRIX, .bound = BENCH_READ, .make = make_argmax},
    {"transposed_copy", "contiguous(transpose(a))", MATRIX, .bound = BENCH_COPY, .make = make_transposed},
    {"softmax", "softmax of each row", MATRIX, .bound = BENCH_COPY, .make = make_softmax},
    {"layer_norm", "layer_norm of each row, weight and bias", MATRIX, .bound = BENCH_COPY, .more_inputs = norm_inputs,
     .make = make_layer_norm},
    {"rms_norm", "rms_norm of each row, weight", MATRIX, .bound = BENCH_COPY, .more_inputs = gemv_inputs,
     .make = make_rms_norm},
    {"matmul", "a b", .rows = 256, .cols = 256, .bound = BENCH_FMA, .flops = 2, .is_product = true,
     .more_inputs = matmul_inputs, .make = make_matmul},
    {"matmul", "a b", .rows = 512, .cols = 512, .bound = BENCH_FMA, .flops = 2, .is_product = true,
     .more_inputs = matmul_inputs, .make = make_matmul},
    {"matmul", "a b", .rows = 1024, .cols = 1024, .bound = BENCH_FMA, .flops = 2, .is_product = true,
     .more_inputs = matmul_inputs, .make = make_matmul},
    {"linear", "gelu(a b + c): a layer, one kernel", .rows = 256, .cols = 256, .more_inputs = linear_inputs,
     .make = make_linear},
    {"linear_tanh", "the same, gelu by tanh", .rows = 256, .cols = 256, .more_inputs = linear_inputs,
     .make = make_linear_tanh},
    {"gemv", "a x", MATRIX, .bound = BENCH_READ, .flops = 2, .more_inputs = gemv_inputs, .make = make_gemv},
    {"record", "record one operator and release it", .begin = begin_small, .step = step_record},
    {"small_add", "add two tensors of 4 elements and read the sum", .begin = begin_small, .step = step_small_add},
    {"queued_add", "add two tensors of 4 elements; one wait at the end of many", .begin = begin_small,
     .step = step_queued_add, .waits = true, .most_steps = 20000},
    {"hundred", "record and run 100 dependent multiplications of 4 elements; one wait at the end of many",
     .begin = begin_small, .step = step_hundred, .waits = true},
    {"replayed", "100 dependent multiplications of 4 elements, captured and run again", .begin = begin_replayed,
     .step = step_replayed, .waits = true, .most_steps = 1000},
    {"replayed_unfused", "the same as 100 kernels", .begin = begin_replayed_unfused, .step = step_replayed,
     .waits = true, .most_steps = 1000},
    {"fused_new", "plan, compile, run and read ten recorded operators", .begin = begin_small,
     .before = before_new_chain, .step = step_read, .after = release_results, .most_steps = BENCH_MAX_RESULTS},
    {"fused_cached", "the same ten again: plan, run and read", .begin = begin_small, .before = before_cached_chain,
     .step = step_read, .after = release_results, .most_steps = BENCH_MAX_RESULTS},
    {"fused_whole", "the same ten again: record, plan, run, read, release", .begin = begin_small,
     .step = step_whole_chain},
    {"chain", "run 500 recorded dependent multiplications of 4 elements, again", .begin = begin_small,
     .before = before_long_chain, .step = step_evaluate, .after = release_results, .most_steps = 2},
    {"pool", "take 4 MiB from the pool and give it back", .step = step_pool},
    {"launch", "launch a kernel on 4 elements and wait", .begin = begin_launch, .step = step_launch},
};
const int bench_row_count = (int)(sizeof bench_rows / sizeof bench_rows[0]);

// --- A row's life -------------------------------------------------------------------------------------------------------------

tsr_status bench_case_init(bench_case *c, const bench_row *row, tsr_device *device, tsr_dtype dtype, int64_t rows,
                           int64_t cols) {
  memset(c, 0, sizeof *c);
  c->row = row;
  c->device = tsr_device_retain(device);
  c->dtype = row->rows ? dtype : TSR_F32;
  c->rows = rows;
  c->cols = cols;
  if (row->make) return begin_operator(c);
  return row->begin ? row->begin(c) : TSR_OK;
}

void bench_case_deinit(bench_case *c) {
  release_results(c);
  for (int i = 0; i < c->input_count; i++) tsr_release(c->inputs[i]);
  for (int i = 0; i < 2; i++) tsr_buffer_release(c->buffers[i]);
  tsr_capture_release(c->capture);
  tsr_kernel_release(c->kernel);
  free(c->host);
  tsr_device_release(c->device);
}

tsr_status bench_case_sample(bench_case *c, int steps, double *out_ns) {
  const bench_row *row = c->row;
  tsr_status (*step)(bench_case *, int) = row->make ? step_operator : row->step;
  tsr_status status = row->before ? row->before(c, steps) : TSR_OK;
  double start = bench_now_ns();
  for (int i = 0; i < steps && status == TSR_OK; i++) status = step(c, i);
  if (status == TSR_OK && (row->rows || row->waits)) status = tsr_device_synchronize(c->device);
  *out_ns = bench_now_ns() - start;
  if (row->after) row->after(c);
  return status;
}
