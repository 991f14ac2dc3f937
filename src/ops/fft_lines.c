// SPDX-License-Identifier: MIT
// Lines that are too long for a work-group. A line is treated as a matrix [n1, n2] of its elements j = j1 * n2 + j2. First transforms of n1 elements over j1;
// each result k1 is multiplied by the n-th root of 1 to the power j2 * k1, and stored in a matrix [n2, n1]. Then transforms of n2 elements over j2 give element
// k = k2 * n1 + k1, at its final position.
#include "ops/fft_lines.h"

#include <assert.h>

#include "ops/call.h"
#include "ops/fft_plan.h"

// The table of roots of a long line has the first LOW powers, and then every LOW-th power; a root is a product of one of each (op_fft.tk has the same
// constant).
enum { LOW = 1024 };

tsr_status tsri_fft_make_roots(const tsri_fft_lines *l, double sign, int64_t n, int64_t count, int64_t low,
                               bool is_chirp, tsr_buffer **out_w) {
  tsr_status status = tsri_call_scratch(l->device, 2 * count, l->dtype, out_w);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, l->device, "op_fft", "fft_roots",
                 TSRI_WITH(TSRI_TYPE("T", l->dtype), TSRI_CONSTANT("CHIRP", is_chirp)));
  tsri_call_buffer(&call, "w", *out_w, l->dtype);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "count", count);
  tsri_call_word(&call, "low", low);
  tsri_call_real(&call, "sign", sign);
  return tsri_call_items(&call, count);
}

// Two work-groups of 512 items fit a multiprocessor of NVIDIA's if an item takes at most 64 registers, so that one computes while the other waits for memory. The
// compiler takes up to 98 if it is not told; down to 64 it stores nothing elsewhere, or a few numbers, if an item holds 16 complex numbers of f32. Three fit if it
// takes 40 registers, which suffice for 10 complex numbers.
enum { LARGE_GROUP = 448, LARGE_HELD = 16, SMALL_HELD = 10 };

static int resident_groups(const tsri_fft_lines *l, const tsri_fft_plan *p) {
  if (l->dtype != TSR_F32 || p->team * p->lines < LARGE_GROUP || p->held > LARGE_HELD) return 1;
  return p->held <= SMALL_HELD ? 3 : 2;
}

tsr_status tsri_fft_launch(const tsri_fft_lines *l, const tsri_fft_pass *pass, tsr_buffer *x, int64_t x_at,
                           tsr_buffer *y) {
  const tsri_fft_plan *p = pass->plan;
  int64_t lines = l->outer * pass->m, length = p->n * pass->m / pass->inner, radices = 0;
  bool is_across = pass->m > 1, is_wide = p->coefs > 1;
  bool stores_across = p->stages == 1 && !is_wide ? is_across : (pass->v ? pass->inner : pass->m) > 1;
  for (int i = p->stages - 1; i >= 0; i--) radices = radices << 6 | p->radices[i];
  tsri_call call;
  tsri_call_init(
      &call, l->device, "op_fft", "fft_lines",
      TSRI_WITH(TSRI_TYPE("T", l->dtype), TSRI_CONSTANT("N", p->n), TSRI_CONSTANT("RADICES", radices),
                TSRI_CONSTANT("TEAM", p->team), TSRI_CONSTANT("LINES", p->lines), TSRI_CONSTANT("HELD", p->held),
                TSRI_CONSTANT("COEFS", p->coefs), TSRI_CONSTANT("FUSED", l->device->limits.has_exact_fma),
                TSRI_CONSTANT("ACROSS", is_across), TSRI_CONSTANT("OUT_ACROSS", stores_across),
                TSRI_CONSTANT("PAIRED", x_at % 2 == 0), TSRI_CONSTANT("TWISTED", pass->v != NULL),
                TSRI_CONSTANT("READS", pass->reads), TSRI_CONSTANT("WRITES", pass->writes),
                TSRI_CONSTANT("CONVOLVED", pass->c != NULL), TSRI_CONSTANT("RESIDENT", resident_groups(l, p))));
  tsri_call_buffer(&call, "x", x, l->dtype);
  tsri_call_buffer(&call, "v", pass->v ? pass->v : x, l->dtype);
  tsri_call_buffer(&call, "w", pass->w ? pass->w : x, l->dtype);
  tsri_call_buffer(&call, "c", pass->c ? pass->c : x, l->dtype);
  tsri_call_buffer(&call, "y", y, l->dtype);
  tsri_call_word(&call, "lines", lines);
  tsri_call_word(&call, "m", pass->m);
  tsri_call_word(&call, "inner", pass->inner);
  tsri_call_word(&call, "x_at", x_at);
  tsri_call_word(&call, "x_n", pass->x_n ? pass->x_n : length);
  tsri_call_word(&call, "y_n", pass->y_n ? pass->y_n : length);
  tsri_call_word(&call, "length", pass->length);
  tsri_call_real(&call, "scale", pass->scale);
  tsri_call_word(&call, "swapped", pass->is_swapped);
  return tsri_call_many_groups(&call, (lines + p->lines - 1) / p->lines);
}

tsr_status tsri_fft_make_twist(const tsri_fft_lines *l, tsr_buffer **out_v) {
  return tsri_fft_make_roots(l, -1, l->n, LOW + l->n / LOW + 1, LOW, false, out_v);
}

// On emulated devices, building a kernel for each length takes longer than transforming short lines in passes. LEAST_GROUP, LEAST_SHARED: the smallest
// work-group limit and shared memory with which every radix up to SURE_RADIX fits.
enum { LEAST_EMULATED = 128, LEAST_GROUP = 256, LEAST_SHARED = 16384, SURE_RADIX = 13 };

static bool is_worth_building(const tsri_fft_lines *l) {
  return (!l->device->info.is_software || l->n >= LEAST_EMULATED) && l->device->limits.max_group_size >= LEAST_GROUP &&
         l->device->limits.shared_bytes >= LEAST_SHARED;
}

// Whether a work-group can hold these lines or parts of them, in as many passes as it takes.
static bool has_plans(const tsri_fft_lines *l) {
  tsri_fft_plan plan;
  int64_t n = l->n, inner = l->inner;
  while (!tsri_fft_plan_init(l->device, l->dtype, n, inner > 1, &plan)) {
    if (!tsri_fft_plan_split(l->device, l->dtype, n, &plan)) return false;
    n /= plan.n;
    inner *= plan.n;
  }
  return true;
}

bool tsri_fft_takes(const tsri_fft_lines *l) {
  int64_t rest = l->n;
  for (int r = 2; r <= SURE_RADIX; r++) {
    while (rest % r == 0) rest /= r;
  }
  return l->n > 1 && is_worth_building(l) &&
         (rest == 1 || ((int)TSRI_FFT_LARGEST_RADIX > (int)SURE_RADIX && has_plans(l)));
}

// A launch for lines of plan->n elements of `now`: `l`, or what is left of its lines after the launches before.
static tsri_fft_pass pass_of(const tsri_fft_lines *l, const tsri_fft_lines *now, const tsri_fft_plan *plan) {
  return (tsri_fft_pass){.plan = plan,
                         .m = now->n / plan->n * now->inner,
                         .inner = now->inner,
                         .scale = 1,
                         .is_swapped = l->sign > 0,
                         .length = l->n};
}

// Launches the first of two transforms.
static tsr_status run_first(const tsri_fft_lines *l, const tsri_fft_lines *now, const tsri_fft_plan *plan,
                            const tsri_fft_ends *ends, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  tsri_fft_pass pass = pass_of(l, now, plan);
  if (now->n == l->n) {
    pass.reads = ends->reads;
    pass.x_n = ends->x_n;
  }
  tsr_status status = tsri_fft_make_twist(now, &pass.v);
  if (status == TSR_OK) status = tsri_fft_launch(l, &pass, x, x_at, y);
  tsr_buffer_release(pass.v);
  return status;
}

// Launches the last transform, whose results have their final positions in lines of l->n elements.
static tsr_status run_last(const tsri_fft_lines *l, const tsri_fft_lines *now, const tsri_fft_plan *plan,
                           const tsri_fft_ends *ends, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  tsri_fft_pass pass = pass_of(l, now, plan);
  pass.inner = l->inner;
  pass.scale = l->scale;
  pass.writes = ends->writes;
  pass.y_n = ends->y_n;
  if (now->n == l->n) {
    pass.reads = ends->reads;
    pass.x_n = ends->x_n;
  }
  return tsri_fft_launch(l, &pass, x, x_at, y);
}

// Launches as many transforms as the line needs; each reads what the one before has written.
tsr_status tsri_fft_run_lines(const tsri_fft_lines *l, const tsri_fft_ends *ends, tsr_buffer *x, int64_t x_at,
                              tsr_buffer *y) {
  tsri_fft_lines now = *l;
  tsri_fft_plan plan;
  tsr_buffer *from = NULL;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && !tsri_fft_plan_init(l->device, l->dtype, now.n, now.inner > 1, &plan)) {
    bool is_split = tsri_fft_plan_split(l->device, l->dtype, now.n, &plan);
    assert(is_split);  // holds because tsri_fft_takes was true
    (void)is_split;
    tsr_buffer *to = NULL;
    status = tsri_call_scratch(l->device, 2 * tsri_fft_count(l), l->dtype, &to);
    if (status == TSR_OK) status = run_first(l, &now, &plan, ends, from ? from : x, from ? 0 : x_at, to);
    tsr_buffer_release(from);
    from = to;
    now.n /= plan.n;
    now.inner *= plan.n;
  }
  if (status == TSR_OK) status = run_last(l, &now, &plan, ends, from ? from : x, from ? 0 : x_at, y);
  tsr_buffer_release(from);
  return status;
}
