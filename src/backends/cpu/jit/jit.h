// SPDX-License-Identifier: MIT
// Compiles runs of lane instructions to machine code.
//
// A run is a straight sequence of instructions that treat each lane separately: loads of neighbouring elements, arithmetic, functions, stores. Compiled, it is
// one loop over vectors of lanes in which all values stay in registers. The interpreter calls it in place of the run's first instruction, and continues after
// the run. Instructions outside of runs are interpreted; so is a run at run time if something unusual occurs (a mask, elements that are not contiguous).
//
// Compiling starts from lane bytecode rather than from the checked kernel. In bytecode, loops, conditions and barriers have already become sets of lanes, and
// indices are split into parts. The interpreter executes the same instructions, so both can be compared bit for bit, and one can take the place of the other at
// every instruction.
#ifndef TSRI_CPU_JIT_H
#define TSRI_CPU_JIT_H

#include "backends/cpu/jit/convention.h"
#include "backends/cpu/jit/ir.h"
#include "backends/cpu/lanes/program.h"
#include "core/builder.h"

// Memory that a run reads or writes, with consecutive elements for consecutive lanes.
typedef enum jit_stream_kind {
  JIT_STREAM_IN,      // lane register `number`
  JIT_STREAM_OUT,     // lane register `number`
  JIT_STREAM_LOADED,  // the register of instruction `number`, a load that the interpreter executes
  JIT_STREAM_LOAD,    // memory of instruction `number`, a load of elements narrower than their values
  JIT_STREAM_STORE,   // memory of instruction `number`, a store
  JIT_STREAM_BEYOND   // marks lanes for which the code's results are not valid (jit_ir.beyond)
} jit_stream_kind;

typedef struct jit_stream {
  uint8_t kind, element_bytes;
  bool is_seen;  // LOADED: the run has used the register before
  uint32_t number;
} jit_stream;

// An instruction of the run that is handled before the compiled code is called: an instruction on scalars, which is executed, or a load or store, whose address
// is computed. If the instruction changes a scalar that earlier instructions on lanes read, its old value is first copied to where the code reads it.
typedef struct jit_step {
  uint32_t insn;
  int16_t stream;  // -1: none
  uint16_t kept;   // slot after the scalars to which dst is copied, from 1; 0: it is not
} jit_step;

enum { JIT_MOST_CLOBBERS = 8 };

typedef struct jit_run {
  uint32_t first, count;  // instructions
  // Scalars that the run reads and then changes. They are restored if the run must be interpreted after all.
  uint32_t clobber_count, clobbers[JIT_MOST_CLOBBERS];
  uint32_t stream_count, step_count;
  jit_stream streams[JIT_MOST_STREAMS];
  jit_step *steps;
  bool is_left_out;  // too large, so it is interpreted
  bool has_beyond;   // has a JIT_STREAM_BEYOND: if that marks a lane, the whole run is interpreted
  bool loads_after_store;
  bool is_repeatable;  // processing lanes twice changes nothing: the run does not read what it writes
  bool shares_arrays;  // some array has several streams, one of which is a store
  // Variants of the code, as offsets in bytes from the beginning of all code: for one vector at a time; for wide_lanes lanes at a time; and both with
  // non-temporal stores (NULL: there is none).
  uint32_t wide_lanes;
  size_t at, wide_at, past_at;
  jit_code code, wide_code, past_code;
} jit_run;

struct lane_jit {
  void *memory;
  size_t bytes;
  uint32_t vector_lanes;
  uint32_t run_count;
  jit_run *runs;
  uint16_t *run_at;  // by instruction: index of the run that begins there, from 1; 0: none
  bool is_one_run;   // all work on lanes is in one run, whose values stay in registers
};

// Compiles the program's runs for "avx2", "avx512" or "neon". NULL: no run can be compiled, or the code cannot be run here; if memory is missing or executable
// memory is forbidden, a line in the log says so. `listing` (NULL: none) receives the instructions as text, for any processor; such code need not be executable
// here.
//
// Ownership: caller releases it by tsri_jit_release, once no launch uses it.
struct lane_jit *tsri_jit_compile(const tsri_lanes_program *program, const char *simd, tsri_builder *listing);
void tsri_jit_release(struct lane_jit *jit);  // takes NULL

// The code for this level, compiled at the first call; NULL if there is none. Any thread.
struct lane_jit *tsri_jit_for(const tsri_lanes_program *program, const char *simd);
// As tsri_jit_for, with the index of the level's slot in a program, which tsri_jit_slot_of returns; -1: the level has no compiler.
struct lane_jit *tsri_jit_at(const tsri_lanes_program *program, int number);
int tsri_jit_slot_of(const char *simd);
void tsri_jit_drop(tsri_lanes_program *program);  // releases what tsri_jit_for made

// Executes the run that begins at `insn`. Returns its number of instructions, or 0 if the run must be interpreted instead: then nothing was changed that
// interpreting it would not change in the same way.
uint32_t tsri_jit_run(lane_exec *x, const lane_insn *insn);

// A loop with uniform rounds (lanes/rounds.c) whose body is a compiled run.
typedef struct jit_loop {
  const jit_run *run;
  jit_code code;  // code for all lanes of a round
  uint32_t stream_count;
  void *streams[JIT_MOST_STREAMS];
  int64_t steps[JIT_MOST_STREAMS];  // bytes from one round to the next
} jit_loop;

// A load or store of the body: the address for the first lane in the first round, and by how many bytes it moves each round.
typedef struct jit_access {
  const lane_insn *insn;
  char *memory;
  int64_t step;
} jit_access;

// tsri_jit_loop_begin: true if the instructions from `body` to `end` are one run and instructions on scalars, and the elements of each access are contiguous
// over the lanes. Then tsri_jit_loop_run executes rounds with all lanes (if has_whole_rounds); each call continues after the one before. tsri_jit_loop_tail
// executes one round for the first `lanes` lanes only.
bool tsri_jit_loop_begin(const lane_exec *x, const lane_insn *body, const lane_insn *end, const jit_access *accesses,
                         uint32_t access_count, bool has_whole_rounds, jit_loop *out);
void tsri_jit_loop_run(const lane_exec *x, jit_loop *loop, int64_t rounds);
void tsri_jit_loop_tail(const lane_exec *x, const jit_loop *loop, uint32_t lanes);

// Executes a run for lanes 0 to n - 1, n > 0. Its streams (jit_run) must have been found and must not overlap.
void tsri_jit_do_lanes(const lane_exec *x, const jit_run *run, void *const *streams, size_t n);

// Translates a run to operations, streams and steps. False: out of memory, or the run is too large (is_too_large).
bool tsri_jit_build(const tsri_lanes_program *program, const bool *is_external, jit_run *run, jit_ir *ir);
// Whether the instruction can be part of a run.
bool tsri_jit_can_build(const tsri_lanes_program *program, const lane_insn *insn, const struct jit_target *target);

// How often compiled runs were called, and how often one had to be interpreted instead; totals of all programs.
typedef struct jit_counts {
  uint64_t compiled, interpreted;
} jit_counts;
jit_counts tsri_jit_counts(void);
void tsri_jit_count(const lane_exec *x);  // adds the counts of a thread's launch

#endif
