// SPDX-License-Identifier: MIT
// Finds the runs of a program and compiles them.
#include <assert.h>
#include <string.h>

#include "backends/cpu/jit/emit.h"
#include "backends/cpu/jit/jit.h"
#include "core/alloc.h"
#include "core/log.h"
#include "platform/code_memory.h"
#include "platform/platform.h"

// --- Finding runs -----------------------------------------------------------------------------------------------------

enum { MOST_RUN_INSNS = 256, MOST_RUNS = 1000 };

// MOST_FUNCTIONS: how many mathematical functions (exp, sin, …) a run may have, unless it is a loop's body. Each consists of some twenty dependent
// instructions, so several vectors must be computed at the same time to keep the processor busy; for several functions in a run there would not be enough
// registers. Between runs, values pass through the first-level cache.
//
// A function with a limit (tsri_jit_has_limit) may be part of a run. But then the run must not write memory that it reads, as it may have to be interpreted
// afterwards.
enum { MOST_FUNCTIONS = 1 };

// State of the search for runs. The arrays record what the current run does to a register or array: the run's number (from 1) if it does.
typedef struct finder {
  const tsri_lanes_program *p;
  const jit_target *target;
  uint32_t run;           // number from 1
  uint32_t *used;         // by register: the run reads or writes it
  uint32_t *lane_read;    // scalars: read by an instruction on lanes
  uint32_t *first_read;   // by register: read before any write
  uint32_t *written;      // by register
  uint32_t *array_store;  // by array
  uint32_t work;          // estimated gain from compiling
  uint32_t streams, ops;  // upper bounds
  uint32_t functions;     // mathematical functions
  uint32_t kept_count;    // copied scalars
  uint32_t clobber_count;
  uint32_t clobbers[JIT_MOST_CLOBBERS];  // see jit_run
} finder;

static bool is_function(const lane_insn *insn) { return insn->op == TSRI_LANE_MATH_F32; }

// The most operations that an instruction is translated to.
static uint32_t ops_of(const lane_insn *insn) { return is_function(insn) ? 160 : 24; }

static bool is_load(const lane_insn *insn) { return insn->op == EXEC_LOAD_UNIT || insn->op == TSRI_LANE_LOAD_AFFINE; }
static bool is_store(const lane_insn *insn) {
  return insn->op == EXEC_STORE_UNIT || insn->op == TSRI_LANE_STORE_AFFINE;
}
static bool is_on_lanes(const lane_insn *insn) {
  return insn->op == EXEC_LANES || insn->op == EXEC_MERGE || insn->op == TSRI_LANE_MATH_F32 ||
         insn->op == TSRI_LANE_MATH_F64;
}

// Whether the instruction overwrites a scalar whose value from before the run is read in the run.
static bool clobbers(const finder *f, const lane_insn *insn) {
  if (f->written[insn->dst] == f->run) return false;  // already counted, or not read before
  uint8_t slots = f->p->reg_slots[insn - f->p->insns];
  bool is_read = f->first_read[insn->dst] == f->run;
  for (unsigned slot = 1; slot < 7; slot++) {
    is_read = is_read || ((slots >> slot & 1) && *lane_operand_at(insn, slot) == insn->dst);
  }
  return is_read;
}

// Scalars are computed before the compiled code runs. If a scalar is changed after an instruction on lanes has read it, a copy of the old value is kept.
static bool scalar_fits(const finder *f, const lane_insn *insn) {
  if (clobbers(f, insn) && f->clobber_count == JIT_MOST_CLOBBERS) return false;
  return f->lane_read[insn->dst] != f->run || f->kept_count < LANE_KEPT_SCALARS;
}

// Whether the access may have a step of 1: elements that the compiled code itself reads or writes must be contiguous. Before a launch, only a constant step is
// known.
static bool may_be_unit(const tsri_lanes_program *p, const lane_insn *insn) {
  if (insn->op == EXEC_LOAD_UNIT || insn->op == EXEC_STORE_UNIT) return true;
  uint32_t first = TSRI_LANE_PLACES + p->param_count, number = insn->c - first;
  return insn->c < first || number >= p->const_count || p->consts[2 * (size_t)number] == 1;
}

static bool load_fits(const finder *f, const lane_insn *insn) {
  const lane_array_info *array = &f->p->arrays[insn->a];
  if (f->array_store[insn->a] == f->run) return false;
  if (array->element_bytes < array->value_bytes) return !array->is_stored && may_be_unit(f->p, insn);
  // Loads of elements without conversion are executed before the code runs, maybe twice, so the previous contents of their register must not be needed. Other
  // loads may have left the register as a reference to memory.
  bool may_repeat = (insn->flags & TSRI_LANE_ALIAS) && f->first_read[insn->dst] != f->run;
  return may_repeat || f->used[insn->dst] != f->run;
}

static bool fits(const finder *f, const lane_insn *insn) {
  if (!tsri_jit_can_build(f->p, insn, f->target) || f->streams + 4 > JIT_MOST_STREAMS) return false;
  if (f->ops + ops_of(insn) > JIT_MOST_OPS) return false;
  if (is_function(insn) && f->functions == MOST_FUNCTIONS && !tsri_jit_has_limit(insn->e) && !f->p->has_loop)
    return false;
  if (is_load(insn)) return load_fits(f, insn);
  if (is_store(insn)) return may_be_unit(f->p, insn);
  if (is_on_lanes(insn)) return true;
  if (insn->op == TSRI_LANE_LOAD_SCALAR && f->array_store[insn->a] == f->run) return false;
  return scalar_fits(f, insn);
}

static void note_read(finder *f, uint32_t reg, bool by_lanes) {
  bool is_lanes = reg >= f->p->scalar_count;
  f->used[reg] = f->run;
  if (f->written[reg] != f->run && f->first_read[reg] != f->run) {
    f->first_read[reg] = f->run;
    f->streams += is_lanes;
  }
  if (!is_lanes && by_lanes) f->lane_read[reg] = f->run;
}

// How much faster an instruction is in a run. Of loads, only those that widen elements count; for others the interpreter just finds the address.
static uint32_t work_of(const tsri_lanes_program *p, const lane_insn *insn) {
  if (insn->op == TSRI_LANE_MATH_F32) return 4;
  if (is_load(insn)) return p->arrays[insn->a].element_bytes < p->arrays[insn->a].value_bytes;
  return is_store(insn) || is_on_lanes(insn);
}

static void note(finder *f, uint32_t at) {
  const lane_insn *insn = &f->p->insns[at];
  bool by_lanes = is_on_lanes(insn), is_scalar = !by_lanes && !is_load(insn) && !is_store(insn);
  if (is_scalar && clobbers(f, insn)) f->clobbers[f->clobber_count++] = insn->dst;
  if (is_scalar && f->lane_read[insn->dst] == f->run) {
    f->lane_read[insn->dst] = 0;
    f->kept_count++;
  }
  for (unsigned slot = is_store(insn) ? 0 : 1; slot < 7; slot++) {
    if (f->p->reg_slots[at] >> slot & 1)
      note_read(f, *lane_operand_at(insn, slot), by_lanes || (is_store(insn) && slot == 0));
  }
  if (is_store(insn)) {
    f->array_store[insn->a] = f->run;
    f->streams++;
  } else {
    if (insn->dst >= f->p->scalar_count && f->written[insn->dst] != f->run) f->streams++;  // may be a result
    f->used[insn->dst] = f->run;
    f->written[insn->dst] = f->run;
  }
  if (is_load(insn)) f->streams++;
  f->ops += ops_of(insn);
  if (is_function(insn) && f->functions < MOST_FUNCTIONS) f->functions++;
  f->work += work_of(f->p, insn);
}

// Whether the instruction is the first in the body of a loop with uniform rounds (lanes/rounds.c). Such a body is worth compiling even with a single
// instruction on lanes.
static bool begins_rounds(const tsri_lanes_program *p, uint32_t at) {
  return (at >= 1 && p->insns[at - 1].op == EXEC_NARROW_ROUNDS) || (at >= 2 && p->insns[at - 2].op == EXEC_LT_ROUNDS);
}

static void find_runs(finder *f, const uint8_t *is_target, jit_run *runs, uint32_t *out_count) {
  const tsri_lanes_program *p = f->p;
  for (uint32_t i = 0; i < p->insn_count && *out_count < MOST_RUNS;) {
    uint32_t count = 0;
    f->run++;
    f->work = f->streams = f->ops = f->functions = f->kept_count = f->clobber_count = 0;
    while (i + count < p->insn_count && count < MOST_RUN_INSNS && (count == 0 || !is_target[i + count]) &&
           fits(f, &p->insns[i + count])) {
      note(f, i + count);
      count++;
    }
    if (f->work >= (begins_rounds(p, i) ? 1u : 2u)) {
      jit_run *run = &runs[(*out_count)++];
      *run = (jit_run){.first = i, .count = count, .clobber_count = f->clobber_count};
      memcpy(run->clobbers, f->clobbers, f->clobber_count * sizeof *run->clobbers);
    }
    i += count > 0 ? count : 1;
  }
}

// Removes instructions on scalars from the end of a run: they may be those by which a loop is recognised.
static void trim(const tsri_lanes_program *p, jit_run *run) {
  while (run->count > 0) {
    const lane_insn *last = &p->insns[run->first + run->count - 1];
    if (is_load(last) || is_store(last) || is_on_lanes(last)) return;
    run->count--;
  }
}

// --- What a run leaves behind -----------------------------------------------------------------------------------------------

// Finds the registers that carry values into a run, or from a run to instructions outside.
static void find_external(const tsri_lanes_program *p, const jit_run *runs, uint32_t run_count, uint32_t *written_in,
                          bool *is_external) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < p->insn_count; i++) {
    while (next < run_count && runs[next].first + runs[next].count <= i) next++;
    bool is_inside = next < run_count && runs[next].first <= i;
    const lane_insn *insn = &p->insns[i];
    bool reads_dst = is_inside ? is_store(insn) : true;
    for (unsigned slot = reads_dst ? 0 : 1; slot < 7; slot++) {
      if (!(p->reg_slots[i] >> slot & 1)) continue;
      uint32_t reg = *lane_operand_at(insn, slot);
      if (!is_inside || written_in[reg] != next + 1) is_external[reg] = true;
    }
    if (is_inside && !reads_dst && (p->reg_slots[i] & 1)) written_in[insn->dst] = next + 1;
  }
}

static void look_at_memory(const tsri_lanes_program *p, jit_run *run) {
  bool has_store = false;
  for (uint32_t i = run->first; i < run->first + run->count; i++) {
    const lane_insn *insn = &p->insns[i];
    if (is_store(insn)) has_store = true;
    if (is_load(insn) && has_store) run->loads_after_store = true;
    for (uint32_t k = run->first; is_store(insn) && k < run->first + run->count; k++) {
      const lane_insn *other = &p->insns[k];
      if (k != i && (is_store(other) || is_load(other)) && other->a == insn->a) run->shares_arrays = true;
    }
  }
}

// --- Compiling --------------------------------------------------------------------------------------------------------

// Whether the run may be executed twice. tsri_jit_build must have found its streams.
static bool is_repeatable(const jit_run *run) {
  for (uint32_t i = 0; i < run->stream_count; i++) {
    for (uint32_t k = 0; run->streams[i].kind == JIT_STREAM_OUT && k < run->stream_count; k++) {
      if (run->streams[k].kind == JIT_STREAM_IN && run->streams[k].number == run->streams[i].number) return false;
    }
  }
  return !run->shares_arrays;
}

static bool has_wide_store(const tsri_lanes_program *p, const jit_run *run) {
  for (uint32_t i = run->first; i < run->first + run->count; i++) {
    if (is_store(&p->insns[i]) && p->arrays[p->insns[i].a].element_bytes >= 4) return true;
  }
  return false;
}

// Compiles the variants that process several vectors at a time, and those with non-temporal stores. Without these the run still works, but is slower.
static bool compile_wide(const tsri_lanes_program *p, jit_run *run, jit_ir *ir, machine_code *code) {
  jit_ir wide = {0};
  uint32_t parts = tsri_jit_best_parts(ir);
  run->wide_at = run->at;
  run->wide_lanes = ir->target->vector_lanes;
  bool is_done = true;
  if (parts > 1) {
    tsri_jit_interleave(ir, parts, &wide);
    size_t at = code->count;
    is_done = tsri_jit_emit(&wide, run->stream_count, false, code);
    if (is_done) {
      run->wide_at = at;
      run->wide_lanes = jit_lanes_at_a_time(&wide);
    }
  }
  if (is_done && ir->target->stores_past_caches && has_wide_store(p, run)) {
    run->past_at = code->count;
    is_done = tsri_jit_emit(parts > 1 ? &wide : ir, run->stream_count, true, code);
  }
  ir->is_too_large = ir->is_too_large || wide.is_too_large;
  tsri_jit_ir_deinit(&wide);
  return is_done;
}

static bool compile_run(const tsri_lanes_program *p, const jit_target *target, const bool *is_external, jit_run *run,
                        machine_code *code) {
  jit_ir ir = {.target = target};
  look_at_memory(p, run);
  run->at = code->count;
  if (code->listing) {
    tsri_builder_add(code->listing, "run of instructions %u to %u:\n", run->first, run->first + run->count - 1);
  }
  bool is_done = tsri_jit_build(p, is_external, run, &ir) && tsri_jit_emit(&ir, run->stream_count, false, code);
  tsri_builder *listing = code->listing;
  code->listing = NULL;  // the variants differ only in the number of vectors and in their stores
  is_done = is_done && compile_wide(p, run, &ir, code);
  code->listing = listing;
  run->is_repeatable = is_repeatable(run);
  bool is_too_large = ir.is_too_large;
  tsri_jit_ir_deinit(&ir);
  if (is_done || !is_too_large) return is_done;
  code->count = run->at;  // the run is interpreted
  code->fixup_count = 0;
  run->is_left_out = true;
  return true;
}

static jit_code code_at(const struct lane_jit *jit, size_t at) {
  const char *address = (const char *)jit->memory + at;
  jit_code code;
  memcpy(&code, &address, sizeof code);
  return code;
}

// Scratch memory for compiling: one block, divided into arrays.
typedef struct scratch {
  uint32_t *words;
  uint8_t *is_target;
  bool *is_external;
  jit_run *runs;
} scratch;

static bool scratch_init(const tsri_lanes_program *p, scratch *s) {
  size_t registers = (size_t)p->scalar_count + p->reg4_count + p->reg8_count + 1;
  size_t arrays = (size_t)p->buffer_count + p->shared_count + p->local_count + 1;
  s->words = tsri_calloc(5 * registers + arrays, sizeof *s->words);
  s->is_target = tsri_calloc(p->insn_count, 1);
  s->is_external = tsri_calloc(registers, sizeof *s->is_external);
  s->runs = tsri_calloc(p->insn_count < MOST_RUNS ? p->insn_count : MOST_RUNS, sizeof *s->runs);
  return s->words && s->is_target && s->is_external && s->runs;
}

static void scratch_deinit(scratch *s) {
  tsri_free(s->words);
  tsri_free(s->is_target);
  tsri_free(s->is_external);
}

static uint32_t find(const tsri_lanes_program *p, const jit_target *target, scratch *s) {
  size_t registers = (size_t)p->scalar_count + p->reg4_count + p->reg8_count + 1;
  uint32_t *at = s->words, count = 0;
  finder f = {.p = p, .target = target, .used = at, .lane_read = at + registers, .first_read = at + 2 * registers};
  f.written = at + 3 * registers;
  f.array_store = at + 5 * registers;
  for (uint32_t i = 0; i < p->insn_count; i++) {
    if (lane_has_target(p->insns[i].op)) s->is_target[p->insns[i].c] = 1;
  }
  find_runs(&f, s->is_target, s->runs, &count);
  for (uint32_t i = 0; i < count; i++) trim(p, &s->runs[i]);
  find_external(p, s->runs, count, at + 4 * registers, s->is_external);
  return count;
}

// Copies the code to executable memory. False: not allowed here, or no memory.
static bool place_code(struct lane_jit *jit, const machine_code *code) {
  jit->memory = tsri_code_memory_create(code->bytes, code->count);
  jit->bytes = code->count;
  for (uint32_t i = 0; jit->memory && i < jit->run_count; i++) {
    jit_run *run = &jit->runs[i];
    run->code = code_at(jit, run->at);
    run->wide_code = code_at(jit, run->wide_at);
    run->past_code = run->past_at != 0 ? code_at(jit, run->past_at) : NULL;
  }
  return jit->memory != NULL;
}

static bool keeps_values(const jit_run *run) {
  for (uint32_t i = 0; i < run->stream_count; i++) {
    if (run->streams[i].kind == JIT_STREAM_OUT) return true;
  }
  return run->is_left_out || run->has_beyond;
}

static bool is_one_run(const tsri_lanes_program *p, const struct lane_jit *jit) {
  if (jit->run_count != 1 || keeps_values(&jit->runs[0])) return false;
  const jit_run *run = &jit->runs[0];
  for (uint32_t i = 0; i < p->insn_count; i++) {
    bool is_outside = i < run->first || i >= run->first + run->count;
    // A mask of the lanes below a bound mostly has all lanes of a block, or its first ones.
    bool is_mask = p->insns[i].op == EXEC_NARROW_UNIT;
    if (is_outside && !is_mask && (p->reg_slots[i] & 1) && p->insns[i].dst >= p->scalar_count) return false;
  }
  return true;
}

static bool compile(const tsri_lanes_program *p, const jit_target *target, struct lane_jit *jit, machine_code *code) {
  scratch s = {0};
  bool is_done = scratch_init(p, &s);
  if (is_done) jit->run_count = find(p, target, &s);
  jit->runs = s.runs;
  jit->run_at = tsri_calloc(p->insn_count, sizeof *jit->run_at);
  is_done = is_done && jit->run_at;
  for (uint32_t i = 0; is_done && i < jit->run_count; i++) {
    is_done = compile_run(p, target, s.is_external, &jit->runs[i], code);
    if (!jit->runs[i].is_left_out) jit->run_at[jit->runs[i].first] = (uint16_t)(i + 1);
  }
  scratch_deinit(&s);
  jit->is_one_run = is_done && is_one_run(p, jit);
  return is_done && (jit->run_count == 0 || code->listing || place_code(jit, code));
}

int tsri_jit_slot_of(const char *simd) {
  for (int i = 0; simd && i < JIT_TARGET_COUNT; i++) {
    if (strcmp(simd, tsri_jit_targets[i]->simd) == 0) return i;
  }
  return -1;
}

struct lane_jit *tsri_jit_compile(const tsri_lanes_program *p, const char *simd, tsri_builder *listing) {
  int slot = tsri_jit_slot_of(simd);
  if (slot < 0 || p->is_checked) return NULL;
  struct lane_jit *jit = tsri_calloc(1, sizeof *jit);
  machine_code code = {.listing = listing};
  bool is_done = jit && compile(p, tsri_jit_targets[slot], jit, &code);
  tsri_code_deinit(&code);
  if (!is_done) {
    tsri_log(TSR_LOG_INFO, "kernel %s is interpreted: no memory for its machine code, or none that may be executed",
             p->name);
  } else if (jit->run_count > 0) {
    jit->vector_lanes = tsri_jit_targets[slot]->vector_lanes;
    return jit;
  }
  tsri_jit_release(jit);
  return NULL;
}

void tsri_jit_release(struct lane_jit *jit) {
  if (!jit) return;
  for (uint32_t i = 0; jit->runs && i < jit->run_count; i++) tsri_free(jit->runs[i].steps);
  tsri_code_memory_free(jit->memory, jit->bytes);
  tsri_free(jit->runs);
  tsri_free(jit->run_at);
  tsri_free(jit);
}

// --- Kept by the program ------------------------------------------------------------------------------------------------

static_assert((int)LANE_JIT_LEVELS == (int)JIT_TARGET_COUNT, "a program has a slot for each target");

// Several threads may ask for the code of a level at the same time; compiling is short, so one lock is enough.
static tsri_mutex lock = TSRI_MUTEX_INIT;

struct lane_jit *tsri_jit_at(const tsri_lanes_program *program, int number) {
  lane_jit_slot *slot = &((tsri_lanes_program *)(uintptr_t)program)->jit[number];
  if (atomic_load_explicit(&slot->was_tried, memory_order_acquire)) return slot->code;
  const jit_target *target = tsri_jit_targets[number];
  if (program->is_checked || !jit_can_call(target)) return NULL;
  tsri_mutex_lock(&lock);
  if (!atomic_load_explicit(&slot->was_tried, memory_order_relaxed)) {
    slot->code = tsri_jit_compile(program, target->simd, NULL);
    atomic_store_explicit(&slot->was_tried, true, memory_order_release);
  }
  tsri_mutex_unlock(&lock);
  return slot->code;
}

struct lane_jit *tsri_jit_for(const tsri_lanes_program *program, const char *simd) {
  int slot = tsri_jit_slot_of(simd);
  return slot < 0 ? NULL : tsri_jit_at(program, slot);
}

void tsri_jit_drop(tsri_lanes_program *program) {
  for (int i = 0; i < LANE_JIT_LEVELS; i++) tsri_jit_release(program->jit[i].code);
}
