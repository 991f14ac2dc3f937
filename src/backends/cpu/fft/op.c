// SPDX-License-Identifier: MIT
// Fourier transforms along an axis. If a transform takes several passes, a thread takes all that has the same outer index through all of them, where that stays in
// the cache; else all threads share each pass. How lines are grouped changes nothing in a line's arithmetic, so results have the same bits on any number of threads and at
// any SIMD level.
#include "backends/cpu/fft/fft.h"

#include "backends/cpu/fft/plan.h"
#include "core/alloc.h"
#include "core/error.h"
#include "platform/parallel.h"

// CACHED_BYTES: what one thread takes through all passes. WORTH_A_THREAD: complex numbers. KEPT_BYTES: of scratch memory that the device keeps.
enum { CACHED_BYTES = 1 << 18, WORTH_A_THREAD = 1 << 12, KEPT_BYTES = 1 << 24 };

typedef struct transform {
  const tsri_cpu_fft_level *level;
  tsri_cpu_fft_plan plan;
  tsri_fft_kind kind;
  tsri_cpu_fft_halves halves;
  int64_t outer, block;             // block: complex numbers with the same outer index
  size_t number, x_block, y_block;  // bytes of a complex number, and of what is read and written for an outer index
  const char *x;
  char *y;
  // Scratch memory, in this order: for the groups of each part; for what passes write in turn with the result; for what stands between several passes and the
  // halves. The last two are there once for each of `takers`: the parts that take outer indices, or 1.
  char *memory;
  size_t group_bytes, other_bytes, pairs_bytes;
  int threads, parts, takers;
  // What all threads share at the moment: a pass over `count` outer indices, or the step to or from halves.
  const tsri_cpu_fft_pass *pass;
  const char *from;
  char *to;
  int64_t count;
} transform;

bool tsri_cpu_has_fft(const tsri_fft_op *op) { return tsri_cpu_fft_is_smooth(op->n); }

// --- Groups ----------------------------------------------------------------------------------------------------------

// Lines of a run, see tsri_cpu_fft_group.
static int64_t run_length(const tsri_cpu_fft_pass *p, int64_t outer, int lanes) {
  return p->inner >= lanes ? p->inner : p->m >= lanes ? p->m : outer * p->m;
}

static int64_t groups_of_run(int64_t length, int lanes) { return (length + lanes - 1) / lanes; }

static int64_t group_count(const tsri_cpu_fft_pass *p, int64_t outer, int lanes) {
  int64_t length = run_length(p, outer, lanes);
  return outer * p->m / length * groups_of_run(length, lanes);
}

// Runs groups of a pass over `outer` blocks.
static void run_groups(const transform *t, const tsri_cpu_fft_pass *p, int64_t outer, int64_t first, int64_t last,
                       const void *x, void *y, char *scratch) {
  int lanes = t->level->lanes;
  int64_t length = run_length(p, outer, lanes), in_run = groups_of_run(length, lanes);
  for (int64_t i = first; i < last; i++) {
    int64_t begin = i % in_run * lanes, left = length - begin;
    tsri_cpu_fft_group group = {.first = i / in_run * length + begin,
                                .count = (int)(left < lanes ? left : lanes),
                                .x = x,
                                .y = y,
                                .scratch = scratch};
    t->level->run(p, &group);
  }
}

// --- All passes by one thread ------------------------------------------------------------------------------------------

static char *groups_of(const transform *t, int part) { return t->memory + (size_t)part * t->group_bytes; }

static char *other_of(const transform *t, int part) { return groups_of(t, t->parts) + (size_t)part * t->other_bytes; }

static char *pairs_of(const transform *t, int part) { return other_of(t, t->takers) + (size_t)part * t->pairs_bytes; }

// Passes write alternately to the other memory and to y, the last one to y.
static void run_passes(const transform *t, const char *x, char *y, int part) {
  for (int i = 0; i < t->plan.count; i++) {
    const tsri_cpu_fft_pass *p = &t->plan.passes[i];
    char *to = (t->plan.count - i) % 2 ? y : other_of(t, part);
    run_groups(t, p, 1, 0, group_count(p, 1, t->level->lanes), x, to, groups_of(t, part));
    x = to;
  }
}

static void run_halves(const transform *t, const char *x, char *y) {
  t->level->halves(&t->halves, x, y, 0, t->halves.m / 2 + 1);
}

static void run_block(const transform *t, int64_t o, int part) {
  const char *x = t->x + (size_t)o * t->x_block;
  char *y = t->y + (size_t)o * t->y_block, *pairs = pairs_of(t, part);
  if (t->kind == TSRI_FFT_FROM_HALF) run_halves(t, x, pairs);
  run_passes(t, t->kind == TSRI_FFT_FROM_HALF ? pairs : x, t->kind == TSRI_FFT_HALF ? pairs : y, part);
  if (t->kind == TSRI_FFT_HALF) run_halves(t, pairs, y);
}

static void run_blocks(void *user, int part) {
  const transform *t = user;
  for (int64_t o = t->outer * part / t->parts; o < t->outer * (part + 1) / t->parts; o++) run_block(t, o, part);
}

// --- Passes that all threads share -----------------------------------------------------------------------------------

static void share_groups(void *user, int part) {
  const transform *t = user;
  int64_t groups = group_count(t->pass, t->count, t->level->lanes);
  run_groups(t, t->pass, t->count, groups * part / t->parts, groups * (part + 1) / t->parts, t->from, t->to,
             groups_of(t, part));
}

static void share_halves(void *user, int part) {
  const transform *t = user;
  int64_t steps = t->halves.m / 2 + 1;
  t->level->halves(&t->halves, t->from, t->to, steps * part / t->parts, steps * (part + 1) / t->parts);
}

static void share_step(transform *t, tsri_part step, const char *from, char *to) {
  t->from = from;
  t->to = to;
  tsri_parallel(t->threads, t->parts, step, t);
}

static void share_passes(transform *t, const char *from, char *result) {
  for (int i = 0; i < t->plan.count; i++) {
    char *to = (t->plan.count - i) % 2 ? result : other_of(t, 0);
    t->pass = &t->plan.passes[i];
    share_step(t, share_groups, from, to);
    from = to;
  }
}

static void share_block(transform *t, const char *x, char *y) {
  char *pairs = pairs_of(t, 0);
  if (t->kind == TSRI_FFT_FROM_HALF) share_step(t, share_halves, x, pairs);
  share_passes(t, t->kind == TSRI_FFT_FROM_HALF ? pairs : x, t->kind == TSRI_FFT_HALF ? pairs : y);
  if (t->kind == TSRI_FFT_HALF) share_step(t, share_halves, pairs, y);
}

// A single pass over everything includes the halves; several passes go over one outer index after the other.
static void share_all(transform *t) {
  t->count = t->plan.count == 1 ? t->outer : 1;
  if (t->plan.count == 1) share_passes(t, t->x, t->y);
  else
    for (int64_t o = 0; o < t->outer; o++) share_block(t, t->x + (size_t)o * t->x_block, t->y + (size_t)o * t->y_block);
}

// --- The operator ----------------------------------------------------------------------------------------------------

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t roots_bytes(const transform *t) {
  return t->kind == TSRI_FFT_COMPLEX ? 0 : aligned((size_t)(t->halves.m / 2 + 1) * t->number);
}

// Chooses the parts, and whether each takes outer indices; sets the sizes of their memory.
static bool divide(transform *t, const cpu_device *device) {
  int lanes = t->level->lanes;
  size_t bytes = aligned((size_t)t->block * t->number);
  bool is_long = t->plan.count > 1, is_by_block = is_long && bytes <= CACHED_BYTES;
  t->threads = tsri_cpu_threads(device, (uint64_t)(t->outer * t->block) / WORTH_A_THREAD);
  int64_t pieces = is_by_block ? t->outer : group_count(&t->plan.passes[0], is_long ? 1 : t->outer, lanes);
  t->parts = tsri_cpu_parts(t->threads, (uint64_t)pieces);
  t->group_bytes = aligned((size_t)(2 * (t->plan.longest + 1) * lanes) * t->number);
  t->other_bytes = is_long ? bytes : 0;
  t->pairs_bytes = is_long && t->kind != TSRI_FFT_COMPLEX ? bytes : 0;
  t->takers = is_by_block ? t->parts : 1;
  return is_by_block;
}

static tsr_status run_in(transform *t, tsr_dtype dtype, bool is_by_block, char *tables) {
  size_t table_bytes = tsri_cpu_fft_table_bytes(&t->plan, dtype);
  tsri_cpu_fft_make_tables(&t->plan, dtype, tables);
  if (t->kind != TSRI_FFT_COMPLEX) tsri_cpu_fft_make_half_roots(&t->plan, &t->halves, dtype, tables + table_bytes);
  t->memory = tables + table_bytes + roots_bytes(t);
  if (is_by_block) tsri_parallel(t->threads, t->parts, run_blocks, t);
  else share_all(t);
  return TSR_OK;
}

static tsr_status run(transform *t, cpu_device *device, tsr_dtype dtype) {
  bool is_by_block = divide(t, device);
  size_t bytes = tsri_cpu_fft_table_bytes(&t->plan, dtype) + roots_bytes(t);
  bytes += t->group_bytes * (size_t)t->parts + (t->other_bytes + t->pairs_bytes) * (size_t)t->takers;
  bool is_kept = bytes <= KEPT_BYTES;
  char *memory = is_kept ? tsri_cpu_scratch(device, bytes) : tsri_aligned_alloc(bytes);
  if (!memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "fft: no host memory for %zu bytes between its passes", bytes);
  tsr_status status = run_in(t, dtype, is_by_block, memory);
  if (!is_kept) tsri_aligned_free(memory);
  return status;
}

tsr_status tsri_cpu_fft(cpu_device *device, tsr_dtype dtype, const tsri_fft_op *op) {
  size_t number = 2 * tsr_dtype_bytes(dtype), row = (size_t)op->inner * number;
  transform t = {.level = tsri_cpu_fft_level_for(device->simd, dtype),
                 .kind = op->kind,
                 .halves = {.m = op->n, .inner = op->inner, .is_inverse = op->kind == TSRI_FFT_FROM_HALF},
                 .outer = op->outer,
                 .block = op->n * op->inner,
                 .number = number,
                 .x_block = (size_t)op->n * row + (op->kind == TSRI_FFT_FROM_HALF ? row : 0),
                 .y_block = (size_t)op->n * row + (op->kind == TSRI_FFT_HALF ? row : 0),
                 .x = tsri_cpu_place(op->from),
                 .y = tsri_cpu_place(op->to)};
  if (t.outer * t.block == 0) return TSR_OK;
  tsri_cpu_fft_plan_init(&t.plan, t.outer * op->inner, op->n, op->inner);
  tsri_cpu_fft_pass *first = &t.plan.passes[0], *last = &t.plan.passes[t.plan.count - 1];
  first->swaps_in = last->swaps_out = op->is_inverse;
  last->scale = op->scale;
  if (t.plan.count == 1 && t.kind != TSRI_FFT_COMPLEX) first->halves = &t.halves;
  return run(&t, device, dtype);
}
