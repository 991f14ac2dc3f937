// SPDX-License-Identifier: MIT
#include "ops/scatter_turned.h"

bool tsri_scatter_turned_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_turned_cut *out) {
  enum { LEAST_GROUP = 256 };
  if (z->inner == 1 || z->strides[1][2] == 0 || s->device->limits.max_group_size < LEAST_GROUP) return false;
  int64_t lines = z->outer * z->inner;
  *out = (tsri_turned_cut){.rows = {.outer = lines, .n = z->n, .inner = 1, .size = z->size, .is_alone = true}};
  for (int i = 1; i < 3; i++) {
    out->rows.strides[i][0] = z->n;
    out->rows.strides[i][1] = 1;
  }
  out->key = s->device->limits.has_storage16 && z->size <= UINT16_MAX ? TSR_U16 : TSR_U32;
  out->bits = s->dtype == TSR_F32 ? TSR_U32 : TSR_U16;
  out->is_exact = tsri_scatter_exact_cut(s, &out->rows, &out->exact);
  return out->is_exact || tsri_scatter_parts_cut(s, &out->rows, &out->parts);
}

// Launches a work-group for each tile of a matrix with `rows` rows and z->inner columns, of which there are z->outer.
static tsr_status launch_tiles(const tsri_scatter_sizes *z, int64_t rows, tsri_call *call) {
  enum { TILE = 32 };
  int64_t row_tiles = (rows + TILE - 1) / TILE, column_tiles = (z->inner + TILE - 1) / TILE;
  tsri_call_word(call, "tiles", z->outer * row_tiles * column_tiles);
  tsri_call_word(call, "row_tiles", row_tiles);
  tsri_call_word(call, "column_tiles", column_tiles);
  tsri_call_word(call, "inner", z->inner);
  return tsri_call_many_groups(call, z->outer * row_tiles * column_tiles);
}

static tsr_status turn(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_turned_cut *cut,
                       tsr_buffer *keys, tsr_buffer *values) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_turn",
                 TSRI_WITH(TSRI_TYPE("I", run->input_dtypes[1]), TSRI_TYPE("K", cut->key), TSRI_TYPE("S", cut->bits)));
  tsri_scatter_pass_sources(run, z, cut->bits, &call);
  tsri_call_word(&call, "i_inner", z->strides[1][2]);
  tsri_call_word(&call, "s_inner", z->strides[2][2]);
  tsri_call_buffer(&call, "keys", keys, cut->key);
  tsri_call_buffer(&call, "values", values, cut->bits);
  return launch_tiles(z, z->n, &call);
}

static tsr_status sum_rows(const tsri_kernel_run *run, const tsri_turned_cut *cut, tsr_buffer *keys, tsr_buffer *values,
                           tsr_buffer *sums) {
  tsri_kernel_run rows = *run;
  rows.inputs = (tsr_buffer *const[]){run->inputs[0], keys, values};
  rows.input_dtypes = (const tsr_dtype[]){run->dtype, cut->key, run->dtype};
  rows.layouts = (const tsri_layout[]){{.offset = 0}, {.offset = 0}, {.offset = 0}};
  rows.output = sums;
  return cut->is_exact ? tsri_scatter_exact_run(&rows, &cut->rows, &cut->exact)
                       : tsri_scatter_parts_run(&rows, &cut->rows, &cut->parts);
}

static tsr_status turn_back(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsr_buffer *sums) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_turn_back", TSRI_WITH(TSRI_TYPE("T", run->dtype)));
  tsri_scatter_pass_x(run, z, &call);
  tsri_call_word(&call, "x_inner", z->strides[0][2]);
  tsri_call_word(&call, "size", z->size);
  tsri_call_buffer(&call, "sums", sums, TSR_F32);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  return launch_tiles(z, z->size, &call);
}

tsr_status tsri_scatter_turned_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z,
                                   const tsri_turned_cut *cut) {
  int64_t lines = z->outer * z->inner;
  tsr_buffer *keys = NULL, *values = NULL, *sums = NULL;
  tsr_status status = tsri_call_scratch(run->device, lines * z->n, cut->key, &keys);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, lines * z->n, cut->bits, &values);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, lines * z->size, TSR_F32, &sums);
  if (status == TSR_OK) status = turn(run, z, cut, keys, values);
  if (status == TSR_OK) status = sum_rows(run, cut, keys, values, sums);
  if (status == TSR_OK) status = turn_back(run, z, sums);
  tsr_buffer_release(keys);
  tsr_buffer_release(values);
  tsr_buffer_release(sums);
  return status;
}
