// SPDX-License-Identifier: MIT
#include "backends/cpu/fft/plan.h"

#include <math.h>

// --- Lengths ---------------------------------------------------------------------------------------------------------

bool tsri_cpu_fft_is_smooth(int64_t n) {
  for (int64_t r = 2; r <= TSRI_CPU_FFT_MOST_RADIX; r++) {
    while (n % r == 0 && n > 1) n /= r;
  }
  return n == 1;
}

// The length of the next pass over lines of n elements: n itself, or its largest divisor that is at most its square root and MOST_LENGTH.
static int64_t next_length(int64_t n, bool are_few_lines) {
  if (n <= (are_few_lines ? TSRI_CPU_FFT_LEAST_LENGTH : TSRI_CPU_FFT_MOST_LENGTH)) return n;
  int64_t most = (int64_t)sqrt((double)n);
  if (most > TSRI_CPU_FFT_MOST_LENGTH) most = TSRI_CPU_FFT_MOST_LENGTH;
  while (most > 1 && n % most != 0) most--;
  return most > 1 ? most : n;
}

// Stages of radix 8 come first, then those of 4 or 2, then the odd ones.
static void find_radices(tsri_cpu_fft_pass *pass) {
  int64_t rest = pass->n;
  pass->radix_count = 0;
  while (rest % 8 == 0 && rest != 16) {
    pass->radices[pass->radix_count++] = 8;
    rest /= 8;
  }
  for (int r = 4; r >= 2; r -= 2) {
    for (; rest % r == 0; rest /= r) pass->radices[pass->radix_count++] = r;
  }
  for (int r = 3; rest > 1; r += 2) {
    for (; rest % r == 0; rest /= r) pass->radices[pass->radix_count++] = r;
  }
}

void tsri_cpu_fft_plan_init(tsri_cpu_fft_plan *plan, int64_t lines, int64_t n, int64_t inner) {
  *plan = (tsri_cpu_fft_plan){.longest = 1};
  int64_t stride = inner;
  for (int64_t rest = n; plan->count == 0 || rest > 1;) {
    tsri_cpu_fft_pass *pass = &plan->passes[plan->count++];
    pass->n = next_length(rest, lines < TSRI_CPU_FFT_LANES && plan->count == 1);
    pass->m = rest / pass->n * stride;
    pass->inner = stride;
    pass->scale = 1;
    pass->is_twisted = pass->n < rest;
    pass->twist.order = rest;
    while (pass->twist.order >> (2 * pass->twist.bits) > 0) pass->twist.bits++;
    find_radices(pass);
    if (pass->n > plan->longest) plan->longest = pass->n;
    rest /= pass->n;
    stride *= pass->n;
  }
}

// --- Tables ----------------------------------------------------------------------------------------------------------

static int64_t low_count(const tsri_cpu_fft_roots *roots) { return (int64_t)1 << roots->bits; }
static int64_t high_count(const tsri_cpu_fft_roots *roots) { return (roots->order >> roots->bits) + 1; }

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t roots_bytes(const tsri_cpu_fft_roots *roots) {
  return aligned((size_t)(2 * (low_count(roots) + high_count(roots))) * sizeof(double));
}

static size_t lane_twist_bytes(const tsri_cpu_fft_pass *pass, tsr_dtype dtype) {
  return pass->is_twisted ? aligned((size_t)(2 * pass->n * TSRI_CPU_FFT_LANES) * tsr_dtype_bytes(dtype)) : 0;
}

size_t tsri_cpu_fft_table_bytes(const tsri_cpu_fft_plan *plan, tsr_dtype dtype) {
  size_t bytes = 0;
  for (int i = 0; i < plan->count; i++) {
    const tsri_cpu_fft_pass *pass = &plan->passes[i];
    bytes += roots_bytes(&pass->twist) + lane_twist_bytes(pass, dtype);
    bytes += aligned((size_t)(2 * pass->n) * tsr_dtype_bytes(dtype));
  }
  return bytes;
}

// exp(-2 pi i t / n), for 0 <= t <= n. The angle is reduced to an eighth of a turn.
static void root_of(int64_t t, int64_t n, double *out) {
  const double eighth_turn = 0.78539816339744830962;
  int64_t eighths = 8 * t / n, rest = 8 * t % n, quarters = (eighths + 1) / 2;
  double angle = (double)(eighths % 2 ? rest - n : rest) / (double)n * eighth_turn, re = cos(angle), im = -sin(angle);
  for (; quarters > 0; quarters--) {  // times -i
    double was = re;
    re = im;
    im = -was;
  }
  out[0] = re;
  out[1] = im;
}

static void make_roots(tsri_cpu_fft_roots *roots, char *memory) {
  roots->low = (double *)(void *)memory;
  roots->high = roots->low + 2 * low_count(roots);
  for (int64_t t = 0; t < low_count(roots); t++) root_of(t % roots->order, roots->order, &roots->low[2 * t]);
  for (int64_t t = 0; t < high_count(roots); t++) root_of(t << roots->bits, roots->order, &roots->high[2 * t]);
}

static void put(void *memory, tsr_dtype dtype, int64_t at, double value) {
  if (dtype == TSR_F64) ((double *)memory)[at] = value;
  else ((float *)memory)[at] = (float)value;
}

static void make_stage_roots(tsri_cpu_fft_pass *pass, tsr_dtype dtype, char *memory) {
  int64_t step = pass->twist.order / pass->n;
  for (int64_t t = 0; t < pass->n; t++) {
    double re = 1, im = 0;
    tsri_cpu_fft_root(&pass->twist, t * step, &re, &im);
    put(memory, dtype, 2 * t, re);
    put(memory, dtype, 2 * t + 1, im);
  }
  pass->roots = memory;
}

static void make_lane_twist(tsri_cpu_fft_pass *pass, tsr_dtype dtype, char *memory) {
  for (int64_t k = 0; k < pass->n; k++) {
    for (int64_t lane = 0; lane < TSRI_CPU_FFT_LANES; lane++) {
      double re = 1, im = 0;
      tsri_cpu_fft_root(&pass->twist, k * lane % pass->twist.order, &re, &im);
      put(memory, dtype, 2 * k * TSRI_CPU_FFT_LANES + lane, re);
      put(memory, dtype, (2 * k + 1) * TSRI_CPU_FFT_LANES + lane, im);
    }
  }
  pass->lane_twist = memory;
}

void tsri_cpu_fft_make_tables(tsri_cpu_fft_plan *plan, tsr_dtype dtype, char *memory) {
  for (int i = 0; i < plan->count; i++) {
    tsri_cpu_fft_pass *pass = &plan->passes[i];
    make_roots(&pass->twist, memory);
    memory += roots_bytes(&pass->twist);
    make_stage_roots(pass, dtype, memory);
    memory += aligned((size_t)(2 * pass->n) * tsr_dtype_bytes(dtype));
    if (!pass->is_twisted) continue;
    make_lane_twist(pass, dtype, memory);
    memory += lane_twist_bytes(pass, dtype);
  }
}

// The first pass has the roots of order m; those of order 2 m between them are products with the first of these.
void tsri_cpu_fft_make_half_roots(const tsri_cpu_fft_plan *plan, tsri_cpu_fft_halves *halves, tsr_dtype dtype,
                                  void *memory) {
  double first[2];
  root_of(1, 2 * halves->m, first);
  for (int64_t k = 0; k <= halves->m / 2; k++) {
    double re = 1, im = 0;
    tsri_cpu_fft_root(&plan->passes[0].twist, k / 2, &re, &im);
    put(memory, dtype, 2 * k, k % 2 ? re * first[0] - im * first[1] : re);
    put(memory, dtype, 2 * k + 1, k % 2 ? re * first[1] + im * first[0] : im);
  }
  halves->roots = memory;
}
