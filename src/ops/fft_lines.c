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

// One launch of fft_lines: transforms lines of plan->n elements of x, a tensor [outer, n, m], to y, a tensor [outer, m / inner, n, inner].
typedef struct lines_pass {
  const tsri_fft_plan *plan;
  int64_t m, inner;
  double scale;
  bool is_twisted;  // first of two transforms: results are multiplied by roots from `v`
} lines_pass;

static tsr_status launch(const tsri_fft_lines *l, const lines_pass *pass, tsr_buffer *x, int64_t x_at, tsr_buffer *v,
                         tsr_buffer *y) {
  const tsri_fft_plan *p = pass->plan;
  int64_t lines = l->outer * pass->m;
  bool is_across = pass->m > 1, stores_across = p->stages == 1 ? is_across : pass->inner > 1;
  tsri_call call;
  int64_t radices = 0;
  for (int i = p->stages - 1; i >= 0; i--) radices = radices << 5 | p->radices[i];
  tsri_call_init(
      &call, l->device, "op_fft", "fft_lines",
      TSRI_WITH(TSRI_TYPE("T", l->dtype), TSRI_CONSTANT("N", p->n), TSRI_CONSTANT("RADICES", radices),
                TSRI_CONSTANT("TEAM", p->team), TSRI_CONSTANT("LINES", p->lines), TSRI_CONSTANT("HELD", p->held),
                TSRI_CONSTANT("ACROSS", is_across), TSRI_CONSTANT("OUT_ACROSS", stores_across),
                TSRI_CONSTANT("PAIRED", x_at % 2 == 0), TSRI_CONSTANT("TWISTED", pass->is_twisted)));
  tsri_call_buffer(&call, "x", x, l->dtype);
  tsri_call_buffer(&call, "v", v, l->dtype);
  tsri_call_buffer(&call, "y", y, l->dtype);
  tsri_call_word(&call, "lines", lines);
  tsri_call_word(&call, "m", pass->m);
  tsri_call_word(&call, "inner", pass->inner);
  tsri_call_word(&call, "x_at", x_at);
  tsri_call_real(&call, "scale", pass->scale);
  tsri_call_word(&call, "swapped", l->sign > 0);
  return tsri_call_many_groups(&call, (lines + p->lines - 1) / p->lines);
}

static tsr_status run_whole(const tsri_fft_lines *l, const tsri_fft_plan *plan, tsr_buffer *x, int64_t x_at,
                            tsr_buffer *y) {
  lines_pass pass = {.plan = plan, .m = l->inner, .inner = l->inner, .scale = l->scale};
  return launch(l, &pass, x, x_at, x, y);
}

// Launches the first of two transforms, of plan->n elements each.
static tsr_status run_first(const tsri_fft_lines *l, const tsri_fft_plan *plan, tsr_buffer *x, int64_t x_at,
                            tsr_buffer *y) {
  lines_pass pass = {.plan = plan, .m = l->n / plan->n * l->inner, .inner = l->inner, .scale = 1, .is_twisted = true};
  tsr_buffer *v = NULL;
  tsr_status status = tsri_fft_make_roots(l, -1, l->n, LOW + l->n / LOW + 1, LOW, false, &v);
  if (status == TSR_OK) status = launch(l, &pass, x, x_at, v, y);
  tsr_buffer_release(v);
  return status;
}

// On emulated devices, building a kernel for each length takes longer than transforming short lines in passes. LEAST_GROUP, LEAST_SHARED: the smallest
// work-group limit and shared memory with which every radix fits.
enum { LEAST_EMULATED = 128, LEAST_GROUP = 256, LEAST_SHARED = 16384 };

static bool is_worth_building(const tsri_fft_lines *l) {
  return (!l->device->info.is_software || l->n >= LEAST_EMULATED) && l->device->limits.max_group_size >= LEAST_GROUP &&
         l->device->limits.shared_bytes >= LEAST_SHARED;
}

bool tsri_fft_takes(const tsri_fft_lines *l) {
  int64_t rest = l->n;
  for (int r = 2; r <= 13; r++) {
    while (rest % r == 0) rest /= r;
  }
  return rest == 1 && l->n > 1 && is_worth_building(l);
}

// Launches as many transforms as the line needs; each reads what the one before has written.
tsr_status tsri_fft_run_lines(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
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
    if (status == TSR_OK) status = run_first(&now, &plan, from ? from : x, from ? 0 : x_at, to);
    tsr_buffer_release(from);
    from = to;
    now.n /= plan.n;
    now.inner *= plan.n;
  }
  if (status == TSR_OK) status = run_whole(&now, &plan, from ? from : x, from ? 0 : x_at, y);
  tsr_buffer_release(from);
  return status;
}
