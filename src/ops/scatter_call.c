// SPDX-License-Identifier: MIT
#include "ops/scatter_call.h"

// Gives the strides of the layout as [outer, middle, inner], where middle is the axis. False: strides cannot express that; or neighbouring items would read
// elements far apart in a tensor with at least `many` elements, for which a copy is faster.
static bool find_strides(const tsri_layout *layout, int axis, int64_t many, int64_t strides[3]) {
  enum { MOST_STEP = 4 };
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < layout->shape.rank; i++) {
    if (i != axis) *(i < axis ? &outer : &inner) *= layout->shape.dims[i];
  }
  tsri_layout view;
  bool is_view = false;
  tsr_shape shape = TSR_SHAPE(outer, layout->shape.dims[axis], inner);
  if (tsri_layout_reshape(layout, shape, &view, &is_view) != TSR_OK || !is_view) return false;
  for (int i = 0; i < 3; i++) strides[i] = shape.dims[i] == 1 ? 0 : view.strides[i];
  int64_t low = 0, high = 0, step = view.strides[inner == 1 ? 1 : 2];
  tsri_layout_span(layout, &low, &high);
  return high < TSRI_CALL_MAX_ELEMENTS && (layout->count < many || (step >= 0 && step <= MOST_STEP));
}

bool tsri_scatter_find_sizes(const tsri_scatter *s, tsri_scatter_sizes *out) {
  *out = (tsri_scatter_sizes){
      .outer = 1, .n = s->indices->shape.dims[s->axis], .inner = 1, .size = s->x->shape.dims[s->axis]};
  for (int i = 0; i < s->x->shape.rank; i++) {
    if (i == s->axis) continue;
    if (s->indices->shape.dims[i] != s->x->shape.dims[i]) return false;
    *(i < s->axis ? &out->outer : &out->inner) *= s->x->shape.dims[i];
  }
  if (s->x->count == 0 || s->indices->count == 0 || s->x->count >= TSRI_CALL_MAX_ELEMENTS) return false;
  // Limits for find_strides: MANY_TIMES for the indices, which may be read several times, MANY_ONCE for the other inputs.
  enum { MANY_ONCE = 1 << 21, MANY_TIMES = 1 << 18 };
  return find_strides(s->x, s->axis, MANY_ONCE, out->strides[0]) &&
         find_strides(s->indices, s->axis, MANY_TIMES, out->strides[1]) &&
         find_strides(s->source, s->axis, MANY_ONCE, out->strides[2]);
}

int64_t tsri_scatter_rounded(int64_t count) {
  int64_t step = 4;
  while (8 * step < count) step *= 2;
  return (count + step - 1) / step * step;
}

void tsri_scatter_pass_sources(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsr_dtype dtype,
                               tsri_call *call) {
  tsri_call_buffer(call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(call, "source", run->inputs[2], dtype);
  tsri_call_word(call, "n", z->n);
  tsri_call_word(call, "size", z->size);
  tsri_call_word(call, "i_at", run->layouts[1].offset);
  tsri_call_word(call, "i_outer", z->strides[1][0]);
  tsri_call_word(call, "i_step", z->strides[1][1]);
  tsri_call_word(call, "s_at", run->layouts[2].offset);
  tsri_call_word(call, "s_outer", z->strides[2][0]);
  tsri_call_word(call, "s_step", z->strides[2][1]);
}

tsr_dtype tsri_scatter_result(const tsri_kernel_run *run, const tsri_scatter_sizes *z) {
  return z->is_alone ? TSR_F32 : run->dtype;
}

void tsri_scatter_pass_result(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call) {
  tsri_call_buffer(call, "y", run->output, tsri_scatter_result(run, z));
}

int tsri_scatter_subgroup(const tsr_device *device, int group) {
  return device->info.is_software ? 0 : tsri_call_subgroup(device, group);
}

void tsri_scatter_pass_x(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call) {
  tsri_call_buffer(call, "x", run->inputs[0], run->dtype);
  tsri_call_word(call, "x_at", run->layouts[0].offset);
  tsri_call_word(call, "x_outer", z->strides[0][0]);
  tsri_call_word(call, "x_step", z->strides[0][1]);
}

tsr_status tsri_scatter_launch_ranges(const tsri_kernel_run *run, const tsri_scatter_sizes *z, int64_t ranges,
                                      int64_t per, tsri_call *call) {
  tsri_scatter_pass_x(run, z, call);
  tsri_scatter_pass_sources(run, z, run->dtype, call);
  tsri_scatter_pass_result(run, z, call);
  tsri_call_word(call, "rows", z->outer);
  tsri_call_word(call, "ranges", ranges);
  tsri_call_word(call, "per", per);
  return tsri_call_many_groups(call, (z->outer + per - 1) / per * ranges);
}
