// SPDX-License-Identifier: MIT
// Gradients of grid_sample and roi_align, which interpolate between elements of images.
#include "core/error.h"
#include "grad/again.h"
#include "ops/roi.h"

#include <tessera/grad.h>

// --- grid_sample ---------------------------------------------------------------------------------------------------------

// The positions along one spatial axis, as kernels/op_sample.tk has them, each [images, points].
typedef struct axis_taps {
  const tsri_grid_attributes *given;
  int64_t size;
  tsr_tensor *position, *first;  // the first element that a position is made of
} axis_taps;

// Moves positions beyond the ends of the axis back into it, as the padding mode says.
static tsr_tensor *inside(const axis_taps *t, tsr_tensor *at) {
  double last = (double)(t->size - 1), limit = 16777216;
  bool has_corners = t->given->align_corners != 0;
  at = tsr_clamp(at, -limit, limit);
  if (t->given->padding == TSR_GRID_BORDER) return tsr_clamp(at, 0, last);
  if (t->given->padding != TSR_GRID_REFLECTION) return at;
  double low = has_corners ? 0 : -0.5, span = has_corners ? last : (double)t->size;
  if (span == 0) return tsr_mul_scalar(at, 0);
  tsr_tensor *off = tsr_abs(tsr_sub_scalar(at, low)), *turns = tsr_floor(tsr_div_scalar(off, span));
  tsr_tensor *rest = tsr_sub(off, tsr_mul_scalar(turns, span));
  tsr_tensor *is_odd = tsr_ne_scalar(tsr_mod_scalar(turns, 2), 0);
  tsr_tensor *back = tsr_where(is_odd, tsr_rsub_scalar(rest, span), rest);
  return tsr_clamp(tsr_add_scalar(back, low), 0, last);
}

static axis_taps read_axis(const tsri_grid_attributes *given, tsr_tensor *grid, int64_t size) {
  axis_taps t = {.given = given, .size = size};
  tsr_tensor *along = tsr_masked_fill(tsr_add_scalar(grid, 1), tsr_isnan(grid), 0);
  t.position = given->align_corners ? tsr_mul_scalar(along, 0.5 * (double)(size - 1))
                                    : tsr_mul_scalar(tsr_sub_scalar(tsr_mul_scalar(along, (double)size), 1), 0.5);
  const double limit = 16777216;
  bool is_cubic = given->mode == TSR_GRID_CUBIC;  // padding is applied to its elements, not to positions
  t.position = is_cubic ? tsr_clamp(t.position, -limit, limit) : inside(&t, t.position);
  t.first = given->mode == TSR_GRID_NEAREST ? tsr_round(t.position) : tsr_floor(t.position);
  if (is_cubic) t.first = tsr_sub_scalar(t.first, 1);
  return t;
}

static int taps_of(const tsri_grid_attributes *given) {
  return given->mode == TSR_GRID_NEAREST ? 1 : given->mode == TSR_GRID_LINEAR ? 2 : 4;
}

// The weight of tap `i`, from the distance of the position to the first element.
static tsr_tensor *tap_weight(const axis_taps *t, int i) {
  tsr_tensor *off = tsr_sub(t->position, t->first);
  if (t->given->mode == TSR_GRID_NEAREST) return tsr_add_scalar(tsr_mul_scalar(off, 0), 1);
  if (t->given->mode == TSR_GRID_LINEAR) return i == 0 ? tsr_rsub_scalar(off, 1) : off;
  tsr_tensor *d = i < 2 ? tsr_sub_scalar(off, i) : tsr_rsub_scalar(off, i);
  if (i == 1 || i == 2) {
    tsr_tensor *inner = tsr_sub(tsr_add_scalar(d, 1), tsr_mul_scalar(tsr_square(d), 1.25));
    return tsr_mul(tsr_rsub_scalar(d, 1), inner);
  }
  return tsr_mul_scalar(tsr_mul(tsr_sub_scalar(d, 1), tsr_square(tsr_rsub_scalar(d, 2))), -0.75);
}

// The element of tap `i`, and whether there is none.
static tsr_tensor *tap_element(const axis_taps *t, int i, tsr_tensor **out_is_none) {
  tsr_tensor *at = tsr_add_scalar(t->first, i);
  if (t->given->mode == TSR_GRID_CUBIC) at = inside(t, at);
  double last = (double)(t->size - 1);
  *out_is_none = tsr_logical_or(tsr_lt_scalar(at, 0), tsr_gt_scalar(at, last));
  return tsr_cast(tsr_clamp(at, 0, last), TSR_I32);
}

enum { MOST_AXES = 3 };

// What is common to all taps.
typedef struct sampling {
  axis_taps axes[MOST_AXES];
  int spatial;
  tsr_tensor *x;  // [images, channels, elements]
  tsr_tensor *sum;
} sampling;

// Adds the product of weights and elements of all combinations of taps, from `axis` on; the weight, the element's number and whether there is none so
// far may be NULL.
static void add_taps(sampling *s, int axis, tsr_tensor *weight, tsr_tensor *number, tsr_tensor *is_none) {
  if (axis == s->spatial || axis == MOST_AXES) {
    tsr_shape shape = tsr_tensor_shape(s->x);
    shape.dims[2] = tsr_tensor_shape(number).dims[1];
    tsr_tensor *element = tsr_gather(s->x, 2, tsr_expand(tsr_unsqueeze(number, 1), shape));
    tsr_tensor *part = tsr_mul(element, tsr_unsqueeze(tsr_masked_fill(weight, is_none, 0), 1));
    s->sum = s->sum ? tsr_add(s->sum, part) : part;
    return;
  }
  const axis_taps *t = &s->axes[axis];
  for (int i = 0; i < taps_of(t->given); i++) {
    tsr_tensor *is_outside = NULL, *element = tap_element(t, i, &is_outside), *factor = tap_weight(t, i);
    add_taps(s, axis + 1, weight ? tsr_mul(weight, factor) : factor,
             number ? tsr_add(tsr_mul_scalar(number, (double)t->size), element) : element,
             is_none ? tsr_logical_or(is_none, is_outside) : is_outside);
  }
}

// Inputs: x and the grid, whose last axis has the position along the last axis of x first.
static tsr_status sample_again(const grad_view *v, tsr_tensor *const *inputs, tsr_tensor **outputs) {
  tsr_tensor *x = tsri_grad_wide(inputs[0]), *grid = tsri_grad_wide(inputs[1]);
  tsr_shape shape = tsr_tensor_shape(x), points = tsr_tensor_shape(grid);
  sampling s = {.spatial = shape.rank - 2};
  int64_t elements = 1, count = 1;
  for (int i = 2; i < shape.rank; i++) elements *= shape.dims[i];
  for (int i = 1; i + 1 < points.rank; i++) count *= points.dims[i];
  s.x = tsr_reshape(x, TSR_SHAPE(shape.dims[0], shape.dims[1], elements));
  for (int i = 0; i < s.spatial; i++) {
    tsr_tensor *along = tsr_slice(grid, -1, s.spatial - 1 - i, s.spatial - i, 1);
    s.axes[i] = read_axis(TSRI_GIVEN(v, grid), tsr_reshape(along, TSR_SHAPE(shape.dims[0], count)), shape.dims[2 + i]);
  }
  add_taps(&s, 0, NULL, NULL, NULL);
  outputs[0] = tsr_cast(tsr_reshape(s.sum, tsr_tensor_shape(v->outputs[0])), tsr_tensor_dtype(v->outputs[0]));
  return TSR_OK;
}

void tsri_gradient_grid_sample(const grad_view *v) { tsri_grad_again(v, sample_again); }

// --- roi_align -----------------------------------------------------------------------------------------------------------

// [regions, images]: 1 where a region is one of the image.
static tsr_tensor *images_of(const grad_view *v, tsr_dtype dtype) {
  int64_t images = tsr_tensor_shape(v->inputs[0]).dims[0];
  tsr_tensor *numbers = tsr_arange(v->inputs[0]->value->device, TSR_I32, 0, (double)images, 1);
  return tsr_cast(tsr_eq(tsr_unsqueeze(v->inputs[2], 1), numbers), dtype);
}

// A mean is the product of x with the weights of rows and columns, R x C^T for each region. Its gradient, R^T g C, is added up over the regions of each
// image: as one product over regions and their rows.
static tsr_tensor *gradient_of_mean(const grad_view *v, tsr_tensor *g) {
  tsr_shape image = tsr_tensor_shape(v->inputs[0]), parts = tsr_tensor_shape(g);
  int64_t regions = parts.dims[0], channels = parts.dims[1], rows = parts.dims[2];
  tsr_tensor *weights[2];  // [regions, parts, elements of the axis]
  for (int i = 0; i < 2; i++)
    weights[i] = tsri_roi_weights(v->attributes, v->inputs[1], i, parts.dims[2 + i], image.dims[2 + i]);
  tsr_tensor *wide = tsr_matmul(g, tsr_unsqueeze(tsr_cast(weights[1], tsr_tensor_dtype(g)), 1));
  tsr_tensor *lists =
      tsr_reshape(tsr_permute(wide, (const int[]){0, 2, 1, 3}, 4), TSR_SHAPE(regions * rows, channels * image.dims[3]));
  tsr_tensor *of_image =
      tsr_mul(tsr_reshape(images_of(v, tsr_tensor_dtype(g)), TSR_SHAPE(regions, 1, image.dims[0], 1)),
              tsr_unsqueeze(tsr_cast(weights[0], tsr_tensor_dtype(g)), 2));
  tsr_tensor *sums = tsr_matmul(
      tsr_transpose(tsr_reshape(of_image, TSR_SHAPE(regions * rows, image.dims[0] * image.dims[2])), 0, 1), lists);
  tsr_tensor *apart = tsr_reshape(sums, TSR_SHAPE(image.dims[0], image.dims[2], channels, image.dims[3]));
  return tsr_permute(apart, (const int[]){0, 2, 1, 3}, 4);
}

// With takes_max: the gradient goes to the four elements around the point that was the largest.
static tsr_tensor *gradient_of_largest(const grad_view *v, tsr_tensor *g) {
  tsr_tensor *table[2];  // numbers of elements, and their weights: [4, results]
  tsr_grad_pause();      // which point is largest does not change with a small step
  tsri_roi_places(v->attributes, v->inputs, tsr_tensor_shape(g), table);
  tsr_grad_resume();
  int64_t count = tsr_tensor_count(v->inputs[0]);
  tsr_tensor *weights = tsr_cast(table[1], tsr_tensor_dtype(g));
  tsr_tensor *each = tsr_mul(weights, tsr_reshape(g, TSR_SHAPE(tsr_tensor_count(g))));
  tsr_shape list = TSR_SHAPE(4 * tsr_tensor_count(g));
  tsr_tensor *zeros = tsr_zeros(g->value->device, tsr_tensor_dtype(g), TSR_SHAPE(count));
  tsr_tensor *sum = tsr_scatter_add(zeros, 0, tsr_reshape(table[0], list), tsr_reshape(each, list));
  return tsr_reshape(sum, tsr_tensor_shape(v->inputs[0]));
}

void tsri_gradient_roi_align(const grad_view *v) {
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  if (v->wants[1]) {
    v->gradients[1] = tsri_tensor_fail(TSRI_FAIL(
        TSR_ERR_UNSUPPORTED, "grad: roi_align has no gradient by its regions; tsr_stop_gradient makes them constants"));
  }
  if (!v->wants[0] || tsr_tensor_count(v->inputs[0]) == 0 || tsr_tensor_count(g) == 0) return;
  v->gradients[0] = TSRI_GIVEN(v, roi)->is_max ? gradient_of_largest(v, g) : gradient_of_mean(v, g);
}
