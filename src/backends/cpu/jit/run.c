// SPDX-License-Identifier: MIT
// Calls compiled code from the interpreter: finds the addresses of its streams, and calls it for as many lanes as fill vectors.
//
// Remaining lanes are copied to a small buffer, the code runs there for one whole vector, and the results are copied back. So the code needs no masks, and
// never accesses memory beyond the last lane.
#include <string.h>

#include "backends/cpu/jit/jit.h"

static atomic_uint_fast64_t compiled_count, interpreted_count;

jit_counts tsri_jit_counts(void) {
  return (jit_counts){.compiled = atomic_load_explicit(&compiled_count, memory_order_relaxed),
                      .interpreted = atomic_load_explicit(&interpreted_count, memory_order_relaxed)};
}

void tsri_jit_count(const lane_exec *x) {
  if (x->jit_runs > 0) atomic_fetch_add_explicit(&compiled_count, x->jit_runs, memory_order_relaxed);
  if (x->jit_refusals > 0) atomic_fetch_add_explicit(&interpreted_count, x->jit_refusals, memory_order_relaxed);
}

// How the memory that a run writes overlaps other memory that it reads or writes.
typedef enum run_overlap {
  ARE_APART,
  COINCIDE,      // some streams are the same elements, lane by lane
  ARE_ENTANGLED  // a lane could see another lane's store too early or too late: process few lanes at a time
} run_overlap;

enum { MOST_LANES_AT_A_TIME = 64 };

typedef struct jit_call {
  const lane_exec *x;
  const jit_run *run;
  run_overlap overlap;
  void *streams[JIT_MOST_STREAMS];
  uint32_t beyond[MOST_LANES_AT_A_TIME];  // JIT_STREAM_BEYOND
} jit_call;

// --- Streams ----------------------------------------------------------------------------------------------------------

// The address of the first lane's element, if the elements of the other lanes follow it. NULL: they do not.
static char *unit_place(lane_exec *x, const lane_insn *insn) {
  const lane_array_info *info = &x->program->arrays[insn->a];
  void **reg = x->work->reg;
  int64_t base = 0;
  bool is_line = x->program->group[1] * x->program->group[2] == 1 && insn->form != TSRI_LANE_INDEX_I64;
  if (is_line) {
    if (*(const lane_i32 *)reg[insn->c] != 1 || !lane_unit_base(x, insn, reg[insn->b], &base)) return NULL;
  } else {
    lane_affine affine;
    tsri_lanes_affine(x, insn->form, reg[insn->b], reg[insn->c], reg[insn->d], reg[insn->e], &affine);
    if (!affine.is_exact || !affine.is_linear || affine.step[0] != 1) return NULL;
    base = affine.base;
  }
  return x->work->arrays[insn->a].memory + base * info->element_bytes;
}

// Executes a load. False: the launch has ended, or the load made a copy in a register that the run has used before.
static bool do_load(jit_call *call, lane_exec *x, const lane_insn *insn, int stream) {
  lane_work *work = x->work;
  bool goes_on = insn->op == EXEC_LOAD_UNIT ? tsri_lanes_load_unit(x, insn) : tsri_lanes_load(x, insn);
  call->streams[stream] = work->reg[insn->dst];
  return goes_on && !(call->run->streams[stream].is_seen && work->reg[insn->dst] == work->home[insn->dst]);
}

static bool do_step(jit_call *call, lane_exec *x, const jit_step *step) {
  void **reg = x->work->reg;
  const lane_insn *insn = &x->program->insns[step->insn];
  if (step->stream >= 0) {
    if (call->run->streams[step->stream].kind == JIT_STREAM_LOADED) return do_load(call, x, insn, step->stream);
    call->streams[step->stream] = unit_place(x, insn);
    return call->streams[step->stream] != NULL;
  }
  if (step->kept != 0) x->work->scalars[x->program->scalar_count + step->kept - 1] = x->work->scalars[insn->dst];
  switch (insn->op) {
    case TSRI_LANE_LOAD_SCALAR:
      return tsri_lanes_load_scalar(x, insn);
    case EXEC_MOVE_64:
      *(lane_u64 *)reg[insn->dst] = *(const lane_u64 *)reg[insn->a];
      return true;
    case EXEC_ADD_32:
      *(lane_u32 *)reg[insn->dst] = *(const lane_u32 *)reg[insn->a] + *(const lane_u32 *)reg[insn->b];
      return true;
    case EXEC_MUL_32:
      *(lane_u32 *)reg[insn->dst] = *(const lane_u32 *)reg[insn->a] * *(const lane_u32 *)reg[insn->b];
      return true;
    default:
      x->isa->ops[insn->e][0](reg[insn->dst], reg[insn->a], reg[insn->b], reg[insn->c], 1);
      return true;
  }
}

static bool find_streams(jit_call *call, lane_exec *x) {
  const jit_run *run = call->run;
  const lane_work *work = x->work;
  for (uint32_t i = 0; i < run->stream_count; i++) {
    const jit_stream *stream = &run->streams[i];
    if (stream->kind == JIT_STREAM_IN) call->streams[i] = work->reg[stream->number];
    else if (stream->kind == JIT_STREAM_OUT) call->streams[i] = work->home[stream->number];
    else if (stream->kind == JIT_STREAM_BEYOND) {
      call->streams[i] = call->beyond;
      memset(call->beyond, 0xff, sizeof call->beyond);
    }
  }
  for (uint32_t i = 0; i < run->step_count; i++) {
    if (!do_step(call, x, &run->steps[i])) return false;
  }
  return true;
}

// Checks streams against each other, including registers that refer to memory.
static run_overlap find_overlap(const jit_call *call) {
  const jit_run *run = call->run;
  size_t n = call->x->set.n;
  run_overlap found = ARE_APART;
  for (uint32_t i = 0; i < run->stream_count; i++) {
    if (run->streams[i].kind != JIT_STREAM_STORE) continue;
    const char *store = call->streams[i], *store_end = store + n * run->streams[i].element_bytes;
    for (uint32_t k = 0; k < run->stream_count; k++) {
      const char *other = call->streams[k], *other_end = other + n * run->streams[k].element_bytes;
      if (k == i || other >= store_end || store >= other_end) continue;
      if (other != store || other_end != store_end) return ARE_ENTANGLED;
      found = COINCIDE;
    }
  }
  return found;
}

// --- Calls ------------------------------------------------------------------------------------------------------------

static const int64_t no_steps[JIT_MOST_STREAMS];

static bool is_written(const jit_stream *stream) {
  return stream->kind == JIT_STREAM_OUT || stream->kind == JIT_STREAM_STORE;
}

// As memcpy, for less than a vector, without the cost of a call.
static void copy_few(char *to, const char *from, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, to += 8, from += 8) memcpy(to, from, 8);
  if (bytes & 4) {
    memcpy(to, from, 4);
    to += 4;
    from += 4;
  }
  if (bytes & 2) {
    memcpy(to, from, 2);
    to += 2;
    from += 2;
  }
  if (bytes & 1) *to = *from;
}

// Processes lanes first to first + count - 1, fewer than a vector has.
static void do_part(const jit_call *call, size_t first, size_t count) {
  enum { VECTOR_BYTES = 128 };  // 16 lanes of 8 bytes; smaller elements take half of it or less
  const jit_run *run = call->run;
  _Alignas(VECTOR_BYTES) char memory[JIT_MOST_STREAMS][VECTOR_BYTES];
  void *streams[JIT_MOST_STREAMS];
  for (uint32_t i = 0; i < run->stream_count; i++) {
    size_t element = run->streams[i].element_bytes;
    streams[i] = run->streams[i].kind == JIT_STREAM_BEYOND ? call->streams[i] : memory[i];
    if (is_written(&run->streams[i]) || streams[i] != memory[i]) continue;
    memset(memory[i], 0, VECTOR_BYTES / 2);
    if (element == 8) memset(memory[i] + VECTOR_BYTES / 2, 0, VECTOR_BYTES / 2);
    copy_few(memory[i], (const char *)call->streams[i] + first * element, count * element);
  }
  run->code(streams, call->x->work->scalars, call->x->jit->vector_lanes, 1, no_steps);
  for (uint32_t i = 0; i < run->stream_count; i++) {
    size_t element = run->streams[i].element_bytes;
    if (is_written(&run->streams[i])) {
      copy_few((char *)call->streams[i] + first * element, memory[i], count * element);
    }
  }
}

static void do_lanes(const jit_call *call, jit_code code, size_t first, size_t count) {
  void *streams[JIT_MOST_STREAMS];
  for (uint32_t i = 0; i < call->run->stream_count; i++) {
    bool is_fixed = call->run->streams[i].kind == JIT_STREAM_BEYOND;
    streams[i] = (char *)call->streams[i] + (is_fixed ? 0 : first * call->run->streams[i].element_bytes);
  }
  code(streams, call->x->work->scalars, count, 1, no_steps);
}

// How many lanes come before all non-temporal stores are aligned. False: they never are, or must not be non-temporal.
static bool may_stream(const jit_call *call, size_t *out_head) {
  const jit_run *run = call->run;
  const tsri_lanes_program *p = call->x->program;
  size_t vector_bytes = call->x->jit->vector_lanes * sizeof(float);
  bool has_head = false;
  if (!run->past_code || !call->x->launch->has_streams) return false;
  for (uint32_t i = 0; i < run->stream_count; i++) {
    size_t element = run->streams[i].element_bytes;
    if (run->streams[i].kind != JIT_STREAM_STORE || element < sizeof(float)) continue;
    if (!call->x->work->arrays[p->insns[run->streams[i].number].a].is_streamed) return false;
    size_t head = (0 - (uintptr_t)call->streams[i]) % vector_bytes / element;
    if (has_head && head != *out_head) return false;
    *out_head = head;
    has_head = true;
  }
  return has_head;
}

static void do_all(const jit_call *call, size_t n) {
  const jit_run *run = call->run;
  size_t width = call->x->jit->vector_lanes, at = 0;
  jit_code wide_code = run->wide_code;
  if (n >= 4 * run->wide_lanes && may_stream(call, &at)) {
    wide_code = run->past_code;
    if (at > 0) do_part(call, 0, at);
  }
  // With few lanes, all lanes that fill vectors are processed in one call of the code for one vector at a time.
  bool are_few = n < 4 * run->wide_lanes && n % run->wide_lanes != 0;
  size_t wide = are_few ? 0 : (n - at) / run->wide_lanes * run->wide_lanes;
  if (wide > 0) do_lanes(call, wide_code, at, wide);
  at += wide;
  size_t whole = (n - at) / width * width;
  if (whole > 0) do_lanes(call, run->code, at, whole);
  at += whole;
  if (at == n) return;
  if (run->is_repeatable && call->overlap == ARE_APART && n >= width)
    do_lanes(call, run->code, n - width, width);  // processes some lanes twice
  else do_part(call, at, n - at);
}

// Whether the code has marked a lane that it cannot compute (JIT_STREAM_BEYOND).
static bool went_beyond(const jit_call *call) {
  bool is_beyond = false;
  for (int i = 0; call->run->has_beyond && i < MOST_LANES_AT_A_TIME; i++) {
    is_beyond = is_beyond || call->beyond[i] < JIT_BEYOND;
  }
  return is_beyond;
}

// Whether the run can be interpreted after the code has run: not if the code has changed memory that the run reads.
static bool may_redo(const jit_call *call) {
  return call->overlap == ARE_APART && call->run->is_repeatable && call->x->launch->may_alias_memory;
}

static bool may_run(const lane_exec *x, const jit_run *run) {
  return !x->set.mask && x->set.n > 0 && (x->launch->may_alias_memory || !run->loads_after_store);
}

void tsri_jit_do_lanes(const lane_exec *x, const jit_run *run, void *const *streams, size_t n) {
  jit_call call;
  call.x = x;
  call.run = run;
  call.overlap = ARE_APART;
  memcpy(call.streams, streams, run->stream_count * sizeof *streams);
  do_all(&call, n);
}

uint32_t tsri_jit_run(lane_exec *x, const lane_insn *insn) {
  const struct lane_jit *jit = x->jit;
  const jit_run *run = &jit->runs[jit->run_at[insn - x->program->insns] - 1];
  jit_call call;  // find_streams fills in its streams
  call.x = x;
  call.run = run;
  uint64_t kept[JIT_MOST_CLOBBERS];
  for (uint32_t i = 0; i < run->clobber_count; i++) kept[i] = x->work->scalars[run->clobbers[i]];
  bool is_done = may_run(x, run) && find_streams(&call, x);
  if (is_done) call.overlap = find_overlap(&call);
  is_done = is_done && call.overlap != ARE_ENTANGLED;
  if (run->has_beyond) is_done = is_done && may_redo(&call);
  if (is_done) do_all(&call, x->set.n);
  if (!is_done || went_beyond(&call)) {
    for (uint32_t i = 0; i < run->clobber_count; i++) x->work->scalars[run->clobbers[i]] = kept[i];
    x->jit_refusals++;
    return 0;
  }
  x->jit_runs++;
  return run->count;
}
