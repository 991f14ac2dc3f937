// SPDX-License-Identifier: MIT
// Loops whose body is one compiled run: the code does a number of rounds in one call.
#include <string.h>

#include "backends/cpu/jit/jit.h"

static const jit_run *run_of(const lane_exec *x, const lane_insn *body, const lane_insn *end) {
  const tsri_lanes_program *p = x->program;
  uint16_t number = x->jit ? x->jit->run_at[body - p->insns] : 0;
  if (number == 0) return NULL;
  const jit_run *run = &x->jit->runs[number - 1];
  if (&p->insns[run->first + run->count] > end) return NULL;
  for (const lane_insn *insn = &p->insns[run->first + run->count]; insn < end; insn++) {
    if (insn->op != EXEC_ADD_32 && insn->op != EXEC_MUL_32 && insn->op != EXEC_MOVE_64) return NULL;
  }
  return run;
}

static const jit_access *find_access(const lane_exec *x, const jit_stream *stream, const jit_access *accesses,
                                     uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (accesses[i].insn == &x->program->insns[stream->number]) return &accesses[i];
  }
  return NULL;
}

static bool find_stream(const lane_exec *x, const jit_stream *stream, const jit_access *accesses, uint32_t count,
                        void **out_at, int64_t *out_step) {
  *out_step = 0;
  if (stream->kind == JIT_STREAM_IN) *out_at = x->work->reg[stream->number];
  else if (stream->kind == JIT_STREAM_OUT) *out_at = x->work->home[stream->number];
  else {
    const jit_access *access = find_access(x, stream, accesses, count);
    if (!access) return false;
    *out_at = access->memory;
    *out_step = access->step;
  }
  return true;
}

// Whether a register that the run reads refers to memory (instead of a copy) that the run's stores might change.
static bool reads_memory_in_place(const lane_exec *x, const jit_run *run) {
  bool has_store = false, has_place = false;
  for (uint32_t i = 0; i < run->stream_count; i++) {
    const jit_stream *stream = &run->streams[i];
    has_store = has_store || stream->kind == JIT_STREAM_STORE;
    has_place =
        has_place || (stream->kind == JIT_STREAM_IN && x->work->reg[stream->number] != x->work->home[stream->number]);
  }
  return has_store && has_place;
}

// Whether all 32-bit stores may be non-temporal, and are aligned in every round.
static bool may_stream(const lane_exec *x, const jit_run *run, const jit_loop *loop) {
  size_t vector_bytes = x->jit->vector_lanes * sizeof(float);
  if (!run->past_code || !x->launch->has_streams) return false;
  for (uint32_t i = 0; i < run->stream_count; i++) {
    const jit_stream *stream = &run->streams[i];
    if (stream->kind != JIT_STREAM_STORE || stream->element_bytes < sizeof(float)) continue;
    if (!x->work->arrays[x->program->insns[stream->number].a].is_streamed) return false;
    if (((uintptr_t)loop->streams[i] | (uintptr_t)loop->steps[i]) % vector_bytes != 0) return false;
  }
  return true;
}

bool tsri_jit_loop_begin(const lane_exec *x, const lane_insn *body, const lane_insn *end, const jit_access *accesses,
                         uint32_t access_count, bool has_whole_rounds, jit_loop *out) {
  const jit_run *run = run_of(x, body, end);
  if (!run || (has_whole_rounds && x->set.n % x->jit->vector_lanes != 0) || run->shares_arrays || run->has_beyond) {
    return false;
  }
  if (!x->launch->may_alias_memory || reads_memory_in_place(x, run)) return false;
  out->run = run;
  out->stream_count = run->stream_count;
  for (uint32_t i = 0; i < run->stream_count; i++) {
    if (!find_stream(x, &run->streams[i], accesses, access_count, &out->streams[i], &out->steps[i])) return false;
  }
  bool is_wide = x->set.n % run->wide_lanes == 0;
  out->code = !is_wide ? run->code : may_stream(x, run, out) ? run->past_code : run->wide_code;
  return true;
}

void tsri_jit_loop_run(const lane_exec *x, jit_loop *loop, int64_t rounds) {
  void *streams[JIT_MOST_STREAMS];
  memcpy(streams, loop->streams, loop->stream_count * sizeof *streams);
  loop->code(streams, x->work->scalars, x->set.n, (size_t)rounds, loop->steps);
  for (uint32_t i = 0; i < loop->stream_count; i++) {
    loop->streams[i] = (char *)loop->streams[i] + rounds * loop->steps[i];
  }
}

void tsri_jit_loop_tail(const lane_exec *x, const jit_loop *loop, uint32_t lanes) {
  tsri_jit_do_lanes(x, loop->run, loop->streams, lanes);
}
