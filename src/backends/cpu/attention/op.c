// SPDX-License-Identifier: MIT
// Attention and its gradient as operators: divides them into jobs, and manages their scratch memory.
#include <stdatomic.h>

#include "backends/cpu/attention/attention.h"
#include "core/error.h"
#include "platform/parallel.h"

typedef void (*attention_job)(const tsri_attending *w, int64_t job, char *scratch);

enum { MOST_THREADS = 256 };

typedef struct attention_work {
  tsri_attending w;
  attention_job run;
  int threads;
  atomic_bool is_taken[MOST_THREADS];  // which pieces of scratch memory are in use
} attention_work;

// Takes a piece of scratch memory for a part. At most `threads` parts run at a time. A thread mostly gets the same piece again, which is then in the cache of
// its core.
static int take_scratch(attention_work *work) {
  int i = 0;
  while (atomic_exchange(&work->is_taken[i], true)) i = (i + 1) % work->threads;
  return i;
}

static void run_part(void *user, int part) {
  attention_work *work = user;
  const tsri_attending *w = &work->w;
  int taken = take_scratch(work);
  int64_t last = w->jobs * (part + 1) / w->parts;
  for (int64_t i = w->jobs * part / w->parts; i < last; i++) {
    work->run(w, i, w->scratch + (size_t)taken * w->scratch_bytes);
  }
  atomic_store(&work->is_taken[taken], false);
}

// The amount of work, in pieces of which each is worth waking a thread.
static uint64_t pieces_of(const tsri_attention_op *op) {
  const double worth_a_thread = 1500000, most = 1e9;
  double pairs = (double)op->batch * (double)op->heads * (double)op->queries * (double)op->keys;
  double pieces = pairs * 2 * (double)(op->size + op->value_size + 16) / worth_a_thread;
  return (uint64_t)(pieces < most ? pieces : most);
}

static int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static int64_t at_least_one(int64_t n) { return n > 1 ? n : 1; }

bool tsri_cpu_has_attention(const tsri_native_op *op) {
  const int64_t many = (int64_t)1 << 24;  // limit on the floats of rows in scratch memory
  const tsri_attention_op *a = &op->is.attention;
  return !a->has_lse && (a->size + a->value_size) * (op->kind == TSRI_NATIVE_ATTENTION ? 1 : a->keys) < many;
}

tsr_status tsri_cpu_attention(cpu_device *device, const tsri_native_op *op) {
  const tsri_lanes_engine *engine = tsri_cpu_engine(device);
  const tsri_attention_op *given = &op->is.attention;
  bool is_forward = op->kind == TSRI_NATIVE_ATTENTION;
  attention_work work = {.w = {.op = given,
                               .kernels = tsri_product_kernels_for(device->simd, TSR_F32),
                               .lines = tsri_score_lines_for(device->simd),
                               .math = engine->math,
                               .storage = &engine->isa->storage[op->dtype],
                               .factor = tsri_attention_factor(given),
                               .element = tsr_dtype_bytes(op->dtype),
                               .is_narrow = op->dtype != TSR_F32},
                         .run = is_forward ? tsri_attention_forward : tsri_attention_backward};
  tsri_attending *w = &work.w;
  int64_t width = w->kernels->tile_columns;
  w->size = rounded_up(given->size, width / 2);
  w->value_size = rounded_up(given->value_size, width / 2);
  w->key_step = rounded_up(is_forward ? TSRI_ATTENTION_KEYS : at_least_one(given->keys), width);
  w->queries = is_forward ? TSRI_ATTENTION_QUERIES : tsri_attention_backward_queries(w);
  w->jobs = is_forward ? tsri_attention_forward_jobs(w) : tsri_attention_backward_jobs(w);
  w->scratch_bytes = is_forward ? tsri_attention_forward_bytes(w) : tsri_attention_backward_bytes(w);
  w->scratch_bytes = (w->scratch_bytes + 63) / 64 * 64;
  int threads = tsri_cpu_threads(device, pieces_of(given));
  work.threads = threads < MOST_THREADS ? threads : MOST_THREADS;
  w->parts = tsri_cpu_parts(work.threads, (uint64_t)w->jobs);
  w->scratch = tsri_cpu_scratch(device, w->scratch_bytes * (size_t)work.threads);
  if (!w->scratch) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "attention: no host memory for its scores");
  tsri_parallel(work.threads, w->parts, run_part, &work);
  return TSR_OK;
}
