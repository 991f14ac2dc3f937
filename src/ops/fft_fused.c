// SPDX-License-Identifier: MIT
#include "ops/fft_fused.h"

#include "ops/call.h"

tsr_status tsri_fft_run_half(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  tsri_fft_plan plan;
  bool is_inverse = l->sign > 0;
  if (!tsri_fft_takes(l) || !tsri_fft_plan_init(l->device, l->dtype, l->n, l->inner > 1, &plan)) {
    return TSR_ERR_UNSUPPORTED;
  }
  tsri_fft_pass pass = {.plan = &plan,
                        .m = l->inner,
                        .inner = l->inner,
                        .scale = l->scale,
                        .is_swapped = is_inverse,
                        .reads = is_inverse ? TSRI_FFT_PAIRED_HALF : 0,
                        .writes = is_inverse ? 0 : TSRI_FFT_PAIRED_HALF,
                        .x_n = is_inverse ? l->n + 1 : l->n,
                        .y_n = is_inverse ? l->n : l->n + 1};
  return tsri_fft_launch(l, &pass, x, x_at, y);
}

// --- Convolutions ------------------------------------------------------------------------------------------------------
//
// The filter is transformed first, which gives `c`. Then the lines, times the chirp and followed by zeros, are transformed, multiplied by c, transformed back and
// multiplied by the chirp. If a work-group holds a line of `size` elements, that is one launch. Otherwise a line is a matrix [n1, n2] (fft_lines.c): the first launch
// has lines of n1 elements; the second one lines of n2 elements, with the product and the first half of the way back; the third one lines of n1 elements again.

typedef struct fft_convolution {
  const tsri_fft_lines *l;
  const tsri_fft_ends *ends;
  int64_t size;                 // n1 * n2
  tsri_fft_plan first, second;  // of n1 and n2 elements; n1 is 1 if a work-group holds a line
  tsr_buffer *w, *v, *c;        // chirp, roots between the passes, transform of the filter
  tsr_buffer *a, *b;            // room for all lines between the passes
} fft_convolution;

// Chooses n1 and n2. False if there is no such pair.
static bool find_plans(fft_convolution *k) {
  const tsri_fft_lines *l = k->l;
  k->first.n = 1;
  if (tsri_fft_plan_init(l->device, l->dtype, k->size, l->inner > 1, &k->second)) return true;
  return tsri_fft_plan_split(l->device, l->dtype, k->size, &k->first) &&
         tsri_fft_plan_init(l->device, l->dtype, k->size / k->first.n, true, &k->second);
}

// One of the launches: transforms of plan->n elements over the first axis of the matrix, or (is_second) over the second one.
static tsri_fft_pass pass_of(const fft_convolution *k, const tsri_fft_plan *plan, int64_t inner) {
  return (tsri_fft_pass){
      .plan = plan, .m = k->size / plan->n * inner, .inner = inner, .scale = 1, .length = k->l->n, .w = k->w};
}

// Computes c, the transform of the filter, which is one line.
static tsr_status transform_filter(fft_convolution *k) {
  tsri_fft_lines one = *k->l;
  one.outer = one.inner = 1;
  tsri_fft_pass pass = pass_of(k, &k->second, 1);
  tsr_status status = tsri_call_scratch(one.device, 2 * k->size, one.dtype, &k->c);
  if (status != TSR_OK) return status;
  if (k->first.n == 1) {
    pass.reads = TSRI_FFT_FILTER;
    return tsri_fft_launch(&one, &pass, k->w, 0, k->c);
  }
  tsri_fft_pass first = pass_of(k, &k->first, 1);
  first.v = k->v;
  first.reads = TSRI_FFT_FILTER;
  tsr_buffer *half = NULL;
  status = tsri_call_scratch(one.device, 2 * k->size, one.dtype, &half);
  if (status == TSR_OK) status = tsri_fft_launch(&one, &first, k->w, 0, half);
  pass.inner = pass.m;
  if (status == TSR_OK) status = tsri_fft_launch(&one, &pass, half, 0, k->c);
  tsr_buffer_release(half);
  return status;
}

static tsri_fft_pass reading(const fft_convolution *k, tsri_fft_pass pass) {
  pass.reads = TSRI_FFT_CHIRPED | k->ends->reads;
  pass.x_n = k->ends->x_n ? k->ends->x_n : k->l->n;
  return pass;
}

// The last launch of a line writes its first elements, times the chirp.
static tsr_status run_last(const fft_convolution *k, tsri_fft_pass pass, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  pass.writes = TSRI_FFT_CHIRPED | k->ends->writes;
  pass.y_n = k->ends->y_n ? k->ends->y_n : k->l->n;
  pass.scale = k->l->scale / (double)k->size;
  pass.is_swapped = true;
  return tsri_fft_launch(k->l, &pass, x, x_at, y);
}

static tsr_status run_whole(const fft_convolution *k, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  tsri_fft_pass pass = pass_of(k, &k->second, k->l->inner);
  pass.c = k->c;
  return run_last(k, reading(k, pass), x, x_at, y);
}

static tsr_status run_parts(fft_convolution *k, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  const tsri_fft_lines *l = k->l;
  int64_t room = 2 * l->outer * k->size * l->inner;
  tsr_status status = tsri_call_scratch(l->device, room, l->dtype, &k->a);
  if (status == TSR_OK) status = tsri_call_scratch(l->device, room, l->dtype, &k->b);
  tsri_fft_pass first = reading(k, pass_of(k, &k->first, l->inner)), middle = pass_of(k, &k->second, l->inner);
  first.v = middle.v = k->v;
  if (status == TSR_OK) status = tsri_fft_launch(l, &first, x, x_at, k->a);
  if (status == TSR_OK) {
    middle.c = k->c;
    middle.is_swapped = true;
    status = tsri_fft_launch(l, &middle, k->a, 0, k->b);
  }
  return status == TSR_OK ? run_last(k, pass_of(k, &k->first, l->inner), k->b, 0, y) : status;
}

static tsri_fft_lines lines_of(const tsri_fft_lines *l, int64_t size) {
  tsri_fft_lines wide = *l;
  wide.n = size;
  return wide;
}

bool tsri_fft_convolves(const tsri_fft_lines *l, int64_t size) {
  tsri_fft_lines wide = lines_of(l, size);
  return tsri_fft_takes(&wide) && find_plans(&(fft_convolution){.l = l, .size = size});
}

tsr_status tsri_fft_convolve(const tsri_fft_lines *l, const tsri_fft_ends *ends, int64_t size, tsr_buffer *x,
                             int64_t x_at, tsr_buffer *w, tsr_buffer *y) {
  fft_convolution k = {.l = l, .ends = ends, .size = size, .w = w};
  tsri_fft_lines wide = lines_of(l, size);
  if (!tsri_fft_takes(&wide) || !find_plans(&k)) return TSR_ERR_UNSUPPORTED;
  bool is_whole = k.first.n == 1;
  tsr_status status = is_whole ? TSR_OK : tsri_fft_make_twist(&wide, &k.v);
  if (status == TSR_OK) status = transform_filter(&k);
  if (status == TSR_OK) status = is_whole ? run_whole(&k, x, x_at, y) : run_parts(&k, x, x_at, y);
  tsr_buffer_release(k.v);
  tsr_buffer_release(k.c);
  tsr_buffer_release(k.a);
  tsr_buffer_release(k.b);
  return status;
}
