// SPDX-License-Identifier: MIT
// A prepared program, and the state of a thread that runs it. Shared by the interpreter's files.
#ifndef TSRI_CPU_LANES_PROGRAM_H
#define TSRI_CPU_LANES_PROGRAM_H

#include <stdatomic.h>

#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/lanes/lanes.h"
#include "backends/cpu/math/math.h"
#include "lang/ir/ir.h"

// Types of values in registers, which may alias because one register holds values of several types in turn.
#if defined(__GNUC__)
#define LANE_ALIASED __attribute__((may_alias))
#else
#define LANE_ALIASED
#endif
typedef uint32_t LANE_ALIASED lane_u32;
typedef int32_t LANE_ALIASED lane_i32;
typedef uint64_t LANE_ALIASED lane_u64;
typedef int64_t LANE_ALIASED lane_i64;

// --- The program ----------------------------------------------------------------------------------------------------

// Operands are indices into lane_work.reg, or LANE_NONE. `op` is a tsri_lane_op below TSRI_LANE_FIRST_MATH, or one of EXEC_*. EXEC_LANES,
// EXEC_MERGE and EXEC_SCALAR stand for all arithmetic: `e` is then the tsri_lane_op minus TSRI_LANE_FIRST_MATH.
#define LANE_NONE UINT32_MAX

typedef struct lane_insn {
  uint16_t op;
  uint8_t form, flags;
  uint32_t dst, a, b, c, d, e, f;
} lane_insn;

enum {
  EXEC_LANES = TSRI_LANE_FIRST_MATH,  // arithmetic on lanes
  EXEC_MERGE,                         // arithmetic with TSRI_LANE_MERGE; `d`: bytes per lane of the result
  EXEC_SCALAR,                        // arithmetic on scalars
  EXEC_ADD_32,                        // frequent operations on scalars, computed without a call
  EXEC_MUL_32,
  EXEC_LT_U32,
  EXEC_MOVE_64,
  EXEC_LOAD_UNIT,   // LOAD_AFFINE, STORE_AFFINE and NARROW_AFFINE of a group with one axis, whose lanes access
  EXEC_STORE_UNIT,  // neighbouring elements
  EXEC_NARROW_UNIT,
  EXEC_LOAD_WIDE,  // the first of several LOAD_AFFINE or STORE_AFFINE that together access a vector
  EXEC_STORE_WIDE,
  EXEC_LOAD_ROWS,      // LOAD_AFFINE with TSRI_LANE_ROWS
  EXEC_MULADD_ROWS,    // MULADD_F32 and FMA_F32 with TSRI_LANE_ROWS
  EXEC_NARROW_ROUNDS,  // NARROW_UNIT, or LT_U32 or LT_I32 on scalars, at the head of a loop that rounds.c executes
  EXEC_LT_ROUNDS,
  EXEC_OPS
};

// The index of operand `slot` in the order dst, a, b, c, d, e, f, which is also the order of the bits of reg_slots.
static inline const uint32_t *lane_operand_at(const lane_insn *insn, unsigned slot) {
  const uint32_t *const operands[7] = {&insn->dst, &insn->a, &insn->b, &insn->c, &insn->d, &insn->e, &insn->f};
  return operands[slot];
}

// Whether `c` of the instruction is a jump target.
static inline bool lane_has_target(uint16_t op) {
  return op == TSRI_LANE_JUMP || op == TSRI_LANE_LOOP || op == TSRI_LANE_JUMP_UNLESS || op == TSRI_LANE_JUMP_IF ||
         op == TSRI_LANE_NARROW || op == TSRI_LANE_NARROW_AFFINE || op == EXEC_NARROW_UNIT || op == TSRI_LANE_DROP ||
         op == EXEC_NARROW_ROUNDS;
}

typedef struct lane_array_info {
  uint8_t dtype;          // in memory
  uint8_t element_bytes;  // in memory: 1 << element_shift
  uint8_t element_shift;
  uint8_t value_bytes;  // in registers: 4 or 8
  bool is_loaded, is_stored;
  uint32_t count;  // shared and local arrays
  const char *name;
  uint32_t dim_count;
  const uint32_t *dims;  // for messages
} lane_array_info;

enum { LANE_SPARE_WORKS = 8, LANE_JIT_LEVELS = 3, LANE_KEPT_SCALARS = 8 };

// Machine code for one SIMD level (jit/jit.h), compiled when it is first asked for.
typedef struct lane_jit_slot {
  _Atomic bool was_tried;
  _Atomic uint32_t
      interpreted_items;  // total of launches before it was compiled, see tsri_lanes_engine.interpreted_items
  struct lane_jit *code;  // NULL: there is none
} lane_jit_slot;

struct tsri_lanes_program {
  const char *name, *file;
  bool is_checked, is_merged, has_loop;
  uint32_t group[3];
  uint32_t lanes;  // the most lanes of a block
  uint32_t cost;
  uint32_t params_bytes, param_count;
  const uint32_t *params;  // TSRI_LANE_PARAM_WORDS each
  uint32_t const_count;
  const uint32_t *consts;  // 2 words each

  // Registers in the order of lane_work.reg: places, parameters, constants, scalars, 4-byte and 8-byte lane registers.
  uint32_t scalar_count;  // the first four kinds
  uint32_t reg4_count, reg8_count;
  uint32_t save_count;

  uint32_t buffer_count, shared_count, local_count;
  lane_array_info *arrays;

  uint32_t insn_count;
  lane_insn *insns;
  uint8_t *strips;  // by instruction: number of instructions from here on that may run in strips; 0 within such a run
  uint8_t *rounds;  // by instruction, for EXEC_*_ROUNDS: distance to the loop's LOOP
  uint8_t *reg_slots;  // by instruction: bit i is set if operand i (dst, a, b, ...) is a register
  bool *is_internal;   // by register: it carries no value from one run of instructions to later ones
  uint32_t *words;     // the program as given, which holds the names, constants and parameters

  struct lane_work *_Atomic spare[LANE_SPARE_WORKS];  // kept between launches
  lane_jit_slot jit[LANE_JIT_LEVELS];                 // AVX2, AVX-512, NEON
};

// --- What runs it ---------------------------------------------------------------------------------------------------

// The lanes for which an instruction is executed: lanes 0 to n - 1; with a mask, only those whose mask is not 0.
typedef struct lane_set {
  uint32_t n;
  const uint32_t *mask;
} lane_set;

typedef struct lane_array {
  char *memory;
  uint64_t count;
  bool is_streamed;  // stores bypass the caches (non-temporal stores)
} lane_array;

typedef struct lane_steps {
  int64_t x, y;
} lane_steps;

// One thread's registers and memory.
typedef struct lane_work {
  void *
      *reg;  // address of each register's values: its own memory, or a buffer that a load refers to instead of copying
  void **home;        // address of each register's own memory
  lane_steps *steps;  // distances of values along x and y, for loads with TSRI_LANE_ROWS
  uint64_t *scalars;  // and LANE_KEPT_SCALARS more, for compiled runs (jit/jit.h)
  lane_set *saves;
  lane_array *arrays;
  void *value_scratch;  // value_scratch and index_scratch have 8 bytes per lane
  void *index_scratch;
  uint32_t *mask_scratch;
  uint32_t lanes;        // lanes for which a register has room
  size_t bytes;          // of all its memory
  size_t cleared_bytes;  // bytes at the start that are zeroed at creation: all except the registers
  bool is_kept;          // the program keeps it for its next launch
} lane_work;

// Frees the lane_works that the program keeps. Call while no launch of it is running.
void tsri_lanes_drop_works(tsri_lanes_program *p);

// The blocks that a thread starts with. When it has executed them, it takes blocks from the shares of other threads.
typedef struct lane_share {
  _Alignas(64) atomic_uint_fast64_t next;
  uint64_t last;
} lane_share;

enum { LANE_MOST_SHARES = 64 };

// A launch, shared by its threads.
typedef struct lane_launch {
  const tsri_lanes_program *program;
  const tsri_lanes_launch *given;
  const tsri_lanes_isa *isa;
  const tsri_lane_math *math;
  const struct lane_jit *jit;  // NULL: everything is interpreted
  lane_array buffers[TSRI_LANG_MAX_BUFFERS];
  bool has_streams;       // at least one buffer is_streamed
  bool may_alias_memory;  // loads may refer to a buffer instead of copying: no buffer that is written overlaps another
  uint32_t block_lanes;
  uint32_t work_lanes;  // lanes for which a thread's registers need room: at least those of a block
  uint64_t items_x;     // work items along x, of all groups together
  uint64_t blocks[3], block_count, chunk;
  uint64_t deadline_ns;  // 0: none

  lane_work *first_work;  // the registers of thread 0
  lane_share *shares;
  uint32_t share_count;
  atomic_int status;    // tsr_status; anything but TSR_OK stops all threads
  uint32_t fault_insn;  // this and the following are written only by the thread that changed `status`
  int64_t fault_index;
  uint64_t fault_count;
} lane_launch;

enum { LANE_FUEL = 256 };

// The execution state of one thread.
typedef struct lane_exec {
  const tsri_lanes_program *program;
  lane_launch *launch;
  const tsri_lanes_isa *isa;
  const tsri_lane_math *math;
  const struct lane_jit *jit;
  lane_work *work;
  lane_set set;
  uint32_t group_x, group_xy;  // lanes in a row and in a plane of the block
  uint32_t extent_n;           // lanes for which `extent` is valid: the largest local.x, y, z among them
  uint32_t extent[3];
  uint32_t fuel;                    // loop rounds and blocks until the time limit is checked again
  uint32_t jit_runs, jit_refusals;  // for tsri_jit_count
  bool is_checked;
} lane_exec;

// Replaces instructions by EXEC_* that do the same faster (shorten.c). Error: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_lanes_shorten(tsri_lanes_program *program);

// Ends the launch with `status`, unless it has ended already. Always returns false.
bool tsri_lanes_stop(lane_exec *x, tsr_status status, const lane_insn *insn, int64_t index, uint64_t count);

// False if the launch has ended or its time is over. Called every LANE_FUEL rounds.
bool tsri_lanes_may_go_on(lane_exec *x);

// Runs one block. x->set has its lanes, and the registers of places are set. False: the launch has ended.
bool tsri_lanes_exec(lane_exec *x);

// Sets (sets.c): keeps only the lanes in x->set for which a condition holds. `mask` is written if the remaining lanes are not the first ones. False: no lane is
// left.
bool tsri_lanes_narrow(lane_exec *x, uint32_t *mask, const uint32_t *condition, uint32_t flip);
bool tsri_lanes_narrow_affine(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_narrow_unit(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_drop(lane_exec *x, const lane_insn *insn);
void tsri_lanes_leave(lane_exec *x, uint32_t *marks);
uint32_t tsri_lanes_first(const lane_exec *x);

// Memory (memory.c, wide.c, local.c). False: the launch has ended.
bool tsri_lanes_load(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_load_unit(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_load_rows(lane_exec *x, const lane_insn *insn);
// Executes all parts of a wide access at once. False: the operands do not allow it, nothing was done, and the parts are executed one by one.
bool tsri_lanes_load_wide(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_store_wide(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_store_unit(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_store(lane_exec *x, const lane_insn *insn);
void tsri_lanes_muladd_rows(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_load_scalar(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_store_scalar(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_local_load(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_local_store(lane_exec *x, const lane_insn *insn);
void tsri_lanes_local_clear(lane_exec *x, const lane_insn *insn);
bool tsri_lanes_atomic(lane_exec *x, const lane_insn *insn);

// Runs of instructions (strip.c). tsri_lanes_may_strip: whether the instruction may be part of a run. tsri_lanes_strip: executes a run of `count` <=
// LANE_STRIP_INSNS instructions and returns `count`; or returns 0 if the run must be interpreted instead (registers may already refer to buffers then, which
// does no harm).
enum { LANE_STRIP_INSNS = 48 };
bool tsri_lanes_may_strip(const lane_insn *insn, const tsri_lanes_program *p);
uint32_t tsri_lanes_strip(lane_exec *x, const lane_insn *first, uint32_t count);

// Loops whose rounds differ only in their indices (rounds.c). tsri_lanes_find_rounds marks them, after tsri_lanes_shorten; `roles` has one element per
// register, all zero before and after. tsri_lanes_rounds: at a loop's head, executes as many rounds as it can. False: the launch has ended.
void tsri_lanes_find_rounds(tsri_lanes_program *program, const uint8_t *is_target, uint8_t *roles);
bool tsri_lanes_rounds(lane_exec *x, const lane_insn *head);

// Collectives (collective.c).
void tsri_lanes_group(lane_exec *x, const lane_insn *insn);
void tsri_lanes_subgroup(lane_exec *x, const lane_insn *insn);

// --- Indices that are a sum of a scalar and multiples of local ids (affine.c) -------------------------------------

typedef struct lane_affine {
  int64_t base, step[3];
  int64_t least, most;  // bounds for the values over the set (not always reached if its last row is short)
  bool is_exact;        // no value wraps around
  bool is_linear;       // lane i has base + i * step[0]
} lane_affine;

void tsri_lanes_affine(lane_exec *x, uint8_t index_kind, const void *base, const void *step_x, const void *step_y,
                       const void *step_z, lane_affine *out);
// Writes the values, wrapped to the index's type, to `dst` (4 or 8 bytes per lane).
void tsri_lanes_affine_fill(const lane_exec *x, uint8_t index_kind, const lane_affine *affine, void *dst);

// Gives the first lane's index if the indices of the other lanes follow it without wrapping around. There is at least one lane.
static inline bool lane_unit_base(const lane_exec *x, const lane_insn *insn, const void *base, int64_t *out_base) {
  int64_t last = (int64_t)x->set.n - 1;
  if (insn->form == TSRI_LANE_INDEX_U32) {
    *out_base = *(const lane_u32 *)base;
    return last >= 0 && *out_base + last <= UINT32_MAX;
  }
  if (insn->form == TSRI_LANE_INDEX_I32) {
    *out_base = *(const lane_i32 *)base;
    return last >= 0 && *out_base + last <= INT32_MAX;
  }
  *out_base = *(const lane_i64 *)base;
  return last >= 0 && *out_base < INT64_C(1) << 60 && *out_base > -(INT64_C(1) << 60);
}

// For instructions with TSRI_LANE_MERGE: where to write the result, and what to do after that.
static inline void *lane_result(const lane_exec *x, const lane_insn *insn) {
  bool is_merged = (insn->flags & TSRI_LANE_MERGE) && x->set.mask;
  return is_merged ? x->work->value_scratch : x->work->reg[insn->dst];
}

static inline void lane_finish(const lane_exec *x, const lane_insn *insn, uint32_t value_bytes) {
  if (!(insn->flags & TSRI_LANE_MERGE) || !x->set.mask) return;
  void *dst = x->work->reg[insn->dst];
  if (value_bytes == 4) {
    x->isa->blend_32(dst, x->work->value_scratch, x->set.mask, x->set.n);
  } else {
    x->isa->blend_64(dst, x->work->value_scratch, x->set.mask, x->set.n);
  }
}

#endif
