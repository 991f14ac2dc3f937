// SPDX-License-Identifier: MIT
// Executes loops whose rounds are uniform without interpreting the instructions in each round.
//
// The loop of a reduction counts up, reads elements whose index moves by the same amount each round, and does arithmetic on lanes. Its operands are resolved
// once; then each round is one call per instruction. All rounds in which no lane drops out are executed in this way. The interpreter executes the other rounds,
// and the whole loop if something is unusual.
//
// If the body is a compiled run (jit/jit.h), that code executes the rounds, and also the last one, in which fewer lanes may take part. Only then may the body
// have stores. The order of lanes and rounds does not change, so results have the same bits.
#include <string.h>

#include "backends/cpu/jit/jit.h"
#include "backends/cpu/lanes/calls.h"

enum { MOST_CALLS = 16 };

// --- Finding such loops -------------------------------------------------------------------------------------------------

// How a round uses a register.
typedef enum role {
  IS_FIXED,    // the loop does not write it
  IS_LATER,    // written later in the round: still has the value of the round before
  IS_POINTED,  // as IS_LATER, but rounds may leave it referring to any memory
  IS_READY,    // already written in this round; a scalar moves by the same amount each round
  IS_COUNTER
} role;

typedef struct round_finder {
  const tsri_lanes_program *p;
  uint8_t *roles;  // by register
  uint32_t loads, calls, accesses;
} round_finder;

static bool is_load(const lane_insn *insn) { return insn->op == EXEC_LOAD_UNIT || insn->op == TSRI_LANE_LOAD_AFFINE; }

static bool is_store(const lane_insn *insn) {
  return insn->op == EXEC_STORE_UNIT || insn->op == TSRI_LANE_STORE_AFFINE;
}

static bool is_access(const lane_insn *insn) { return is_load(insn) || is_store(insn); }

static bool is_known(uint8_t what) { return what == IS_FIXED || what == IS_READY || what == IS_COUNTER; }

// Whether the scalar instruction's result moves by a constant each round: sums, products and copies of integers that do.
static bool scalar_fits(const round_finder *f, const lane_insn *insn) {
  if (insn->op == EXEC_MOVE_64) return is_known(f->roles[insn->a]);
  if (insn->op != EXEC_ADD_32 && insn->op != EXEC_MUL_32) return false;
  uint8_t a = f->roles[insn->a], b = f->roles[insn->b];
  if (!is_known(a) || !is_known(b)) return false;
  return insn->op == EXEC_ADD_32 || a == IS_FIXED || b == IS_FIXED;
}

static bool load_fits(const round_finder *f, const lane_insn *insn) {
  if (insn->form == TSRI_LANE_INDEX_I64 || TSRI_LANE_WIDE_OF(insn->flags) != 1) return false;
  if (insn->op == TSRI_LANE_LOAD_AFFINE && (insn->flags & TSRI_LANE_ROWS)) return false;
  return is_known(f->roles[insn->b]) && f->roles[insn->c] == IS_FIXED;
}

static bool operand_fits(const round_finder *f, uint32_t reg) {
  if (reg == LANE_NONE) return true;
  return reg < f->p->scalar_count ? f->roles[reg] == IS_FIXED : f->roles[reg] != IS_POINTED;
}

// Whether a store may be part of the body: each lane stores to a place that moves uniformly, in an array that the loop does not use otherwise.
static bool store_fits(const round_finder *f, const lane_insn *insn, const lane_insn *body, const lane_insn *step) {
  for (const lane_insn *other = body; other < step; other++) {
    if (other != insn && is_access(other) && other->a == insn->a) return false;
  }
  return load_fits(f, insn) && operand_fits(f, insn->dst);
}

static bool body_fits(round_finder *f, const lane_insn *insn) {
  if (is_load(insn)) {
    f->loads++;
    f->calls += insn->op != EXEC_LOAD_UNIT;
    if (!load_fits(f, insn)) return false;
  } else if (lane_call_is_arithmetic(insn, f->p)) {
    f->calls++;
    bool is_math = insn->op == TSRI_LANE_MATH_F32 || insn->op == TSRI_LANE_MATH_F64;
    if (!operand_fits(f, insn->a) || !operand_fits(f, insn->b)) return false;
    if (!is_math && !operand_fits(f, insn->c)) return false;
  } else if (!scalar_fits(f, insn)) {
    return false;
  }
  f->roles[insn->dst] = IS_READY;
  return true;
}

// How many instructions form the condition at the loop's head; 0: it does not count up to a bound.
static uint32_t head_length(const lane_insn *head) {
  if (head->op == EXEC_NARROW_UNIT) return head->form != TSRI_LANE_INDEX_I64;
  bool is_less = head->op == EXEC_LT_U32 ||
                 (head->op == EXEC_SCALAR && head->e == TSRI_LANE_LT_I32 - (uint32_t)TSRI_LANE_FIRST_MATH);
  return is_less && head[1].op == TSRI_LANE_JUMP_UNLESS && head[1].a == head->dst ? 2 : 0;
}

static void set_roles(const round_finder *f, const lane_insn *head, const lane_insn *loop, bool is_reset) {
  for (const lane_insn *insn = head; insn < loop; insn++) {
    if (!(f->p->reg_slots[insn - f->p->insns] & 1) || is_store(insn)) continue;
    bool is_pointed = is_load(insn) && (insn->flags & TSRI_LANE_ALIAS);
    f->roles[insn->dst] = is_reset ? IS_FIXED : is_pointed ? IS_POINTED : IS_LATER;
  }
}

static bool has_like_rounds(round_finder *f, const lane_insn *head, const lane_insn *loop) {
  const lane_insn *body = head + head_length(head), *step = loop - 1;
  uint32_t counter = head->a;
  if (body == head || body >= step || step->op != EXEC_ADD_32 || step->dst != counter) return false;
  uint32_t amount = step->a == counter ? step->b : step->a;
  if (step->a != counter && step->b != counter) return false;
  f->loads = f->calls = f->accesses = 0;
  set_roles(f, head, loop, false);
  bool fits = f->roles[amount] == IS_FIXED && f->roles[head->b] == IS_FIXED;
  f->roles[counter] = IS_COUNTER;
  for (const lane_insn *insn = body; insn < step && fits; insn++) {
    fits = insn->dst != counter && (is_store(insn) ? store_fits(f, insn, body, step) : body_fits(f, insn));
    f->accesses += is_access(insn);
  }
  set_roles(f, head, loop, true);
  return fits && f->loads > 0 && f->accesses <= MOST_CALLS && f->calls > 0 && f->calls <= MOST_CALLS;
}

void tsri_lanes_find_rounds(tsri_lanes_program *p, const uint8_t *is_target, uint8_t *roles) {
  enum { MOST_INSNS = UINT8_MAX };
  round_finder f = {.p = p, .roles = roles};
  for (uint32_t i = 0; i < p->insn_count; i++) {
    if (p->insns[i].op != TSRI_LANE_LOOP || i - p->insns[i].c > MOST_INSNS) continue;
    lane_insn *head = &p->insns[p->insns[i].c];
    bool is_entered = false;
    for (uint32_t k = p->insns[i].c + 1; k <= i; k++) is_entered = is_entered || is_target[k];
    if (is_entered || !has_like_rounds(&f, head, &p->insns[i])) continue;
    p->rounds[p->insns[i].c] = (uint8_t)(i - p->insns[i].c);
    head->op = head->op == EXEC_NARROW_UNIT ? EXEC_NARROW_ROUNDS : EXEC_LT_ROUNDS;
  }
}

// --- Running them -------------------------------------------------------------------------------------------------------

typedef struct round_load {
  const lane_insn *insn;
  int64_t index, step;  // elements
  bool is_pointed;      // the register refers to memory that moves each round
} round_load;

// A call, and by how many bytes each operand moves per round.
typedef struct round_call {
  lane_call call;
  int64_t a, b, c;
} round_call;

typedef struct round_run {
  lane_exec *x;
  const lane_insn *body, *step;
  int64_t done;         // rounds
  uint32_t tail;        // lanes of the last round, if it is executed, too; 0: it is not
  tsri_lane_fold fold;  // executes the only call, if there is a fold for it
  bool has_store, is_compiled;
  jit_loop loop;  // if it is compiled
  uint32_t load_count, call_count;
  round_load loads[MOST_CALLS];  // loads and stores
  round_call calls[MOST_CALLS];
} round_run;

#define U32(operand) (*(lane_u32 *)reg[insn->operand])

static int64_t integer_at(const void *scalar, bool is_signed) {
  return is_signed ? *(const lane_i32 *)scalar : (int64_t) * (const lane_u32 *)scalar;
}

// How many rounds from here on have the same lanes.
static int64_t count_rounds(const lane_exec *x, const lane_insn *head, int64_t step) {
  void **reg = x->work->reg;
  bool is_narrow = head->op == EXEC_NARROW_ROUNDS;
  bool is_signed =
      is_narrow ? head->form == TSRI_LANE_INDEX_I32 : head->e == TSRI_LANE_LT_I32 - (uint32_t)TSRI_LANE_FIRST_MATH;
  int64_t first = integer_at(reg[head->a], is_signed), end = integer_at(reg[head->b], is_signed);
  if (is_narrow && (head->flags & TSRI_LANE_OR_EQUAL)) end++;
  int64_t left = end - first - (is_narrow ? x->set.n : 1);
  return left < 0 || step <= 0 ? 0 : left / step + 1;
}

// How many lanes take part in the round after `rounds` complete ones, if it is the last; 0: none, or more such rounds follow.
static uint32_t count_tail(const lane_exec *x, const lane_insn *head, int64_t rounds, int64_t step) {
  if (head->op != EXEC_NARROW_ROUNDS) return 0;
  void **reg = x->work->reg;
  bool is_signed = head->form == TSRI_LANE_INDEX_I32;
  int64_t first = integer_at(reg[head->a], is_signed) + rounds * step, end = integer_at(reg[head->b], is_signed);
  if (head->flags & TSRI_LANE_OR_EQUAL) end++;
  int64_t lanes = end - first;
  return lanes > 0 && lanes < x->set.n && lanes <= step ? (uint32_t)lanes : 0;
}

// Executes the body's scalar instructions. Stores the indices of loads as they are at each load, because registers may change later in the round.
static void do_scalars(const round_run *run, uint32_t *out_indices) {
  void **reg = run->x->work->reg;
  for (const lane_insn *insn = run->body; insn < run->step; insn++) {
    if (insn->op == EXEC_ADD_32) U32(dst) = U32(a) + U32(b);
    else if (insn->op == EXEC_MUL_32) U32(dst) = U32(a) * U32(b);
    else if (insn->op == EXEC_MOVE_64) *(lane_u64 *)reg[insn->dst] = *(const lane_u64 *)reg[insn->a];
    else if (is_access(insn)) *out_indices++ = U32(b);
  }
}

// Finds the index of each load and store and, from the next round if there is one, its step. Scalars are left as after the last of these rounds.
static void find_accesses(round_run *run, lane_u32 *counter, uint32_t step, int64_t rounds) {
  uint32_t now[MOST_CALLS], next[MOST_CALLS];
  do_scalars(run, now);
  if (rounds > 1) {
    *counter += step;
    do_scalars(run, next);
    *counter -= step;
  } else {
    memcpy(next, now, sizeof next);
  }
  for (const lane_insn *insn = run->body; insn < run->step; insn++) {
    if (!is_access(insn)) continue;
    uint32_t i = run->load_count++;
    run->has_store = run->has_store || is_store(insn);
    bool is_signed = insn->form == TSRI_LANE_INDEX_I32;
    run->loads[i] = (round_load){
        .insn = insn, .index = is_signed ? (int32_t)now[i] : (int64_t)now[i], .step = (int32_t)(next[i] - now[i])};
  }
}

// Whether no index of any round and lane wraps around.
static bool is_straight(const round_run *run, const round_load *load, int64_t stride, int64_t rounds) {
  int64_t over_rounds = load->step * (rounds - 1), over_lanes = stride * ((int64_t)run->x->set.n - 1);
  int64_t least = load->index + (over_rounds < 0 ? over_rounds : 0) + (over_lanes < 0 ? over_lanes : 0);
  int64_t most = load->index + (over_rounds > 0 ? over_rounds : 0) + (over_lanes > 0 ? over_lanes : 0);
  bool is_signed = load->insn->form == TSRI_LANE_INDEX_I32;
  return least >= (is_signed ? INT32_MIN : 0) && most <= (is_signed ? INT32_MAX : (int64_t)UINT32_MAX);
}

static int64_t stride_of(const round_run *run, const lane_insn *insn) {
  bool is_unit = insn->op == EXEC_LOAD_UNIT || insn->op == EXEC_STORE_UNIT;
  return is_unit ? 1 : *(const lane_i32 *)run->x->work->reg[insn->c];
}

// Whether the register may refer to memory instead of holding a copy: neighbouring lanes read neighbouring elements, and nothing else writes the register.
static bool may_point(const lane_insn *insn, const lane_array_info *info, int64_t stride) {
  return (insn->flags & TSRI_LANE_ALIAS) && stride == 1 && info->element_bytes == info->value_bytes;
}

static bool add_load(round_run *run, round_load *load, int64_t rounds) {
  lane_work *work = run->x->work;
  const lane_insn *insn = load->insn;
  const lane_array_info *info = &run->x->program->arrays[insn->a];
  int64_t stride = stride_of(run, insn);
  if (!is_straight(run, load, stride, rounds)) return false;
  char *memory = work->arrays[insn->a].memory + load->index * info->element_bytes;
  load->is_pointed = may_point(insn, info, stride);
  if (load->is_pointed) {
    work->reg[insn->dst] = memory;
    return true;
  }
  if (insn->flags & TSRI_LANE_ALIAS) work->reg[insn->dst] = work->home[insn->dst];
  round_call *to = &run->calls[run->call_count++];
  to->call = (lane_call){.kind = CALL_LOAD,
                         .move = run->x->isa->storage[info->dtype].load,
                         .dst = work->reg[insn->dst],
                         .a = memory,
                         .dst_bytes = lane_bytes_of(run->x->program, insn->dst),
                         .a_bytes = stride * info->element_bytes,
                         .stride = stride};
  to->a = load->step * info->element_bytes;
  to->b = to->c = 0;
  return true;
}

// Bytes by which a register's address moves each round: 0, unless it refers to memory that one of the loads so far has read.
static int64_t step_of(const round_run *run, uint32_t reg, uint32_t load_count) {
  for (uint32_t i = load_count; i > 0; i--) {
    const round_load *load = &run->loads[i - 1];
    if (load->insn->dst != reg) continue;
    return load->is_pointed ? load->step * run->x->program->arrays[load->insn->a].element_bytes : 0;
  }
  return 0;
}

// Whether compiled code can execute the rounds: all accesses must be to contiguous elements.
static bool find_code(round_run *run, int64_t rounds) {
  jit_access accesses[MOST_CALLS];
  if (!run->x->jit) return false;
  for (uint32_t i = 0; i < run->load_count; i++) {
    round_load *load = &run->loads[i];
    const lane_array_info *info = &run->x->program->arrays[load->insn->a];
    int64_t element = info->element_bytes;
    if (stride_of(run, load->insn) != 1 || !is_straight(run, load, 1, rounds + (run->tail != 0))) return false;
    load->is_pointed = !is_store(load->insn) && may_point(load->insn, info, 1);
    accesses[i] = (jit_access){.insn = load->insn,
                               .memory = run->x->work->arrays[load->insn->a].memory + load->index * element,
                               .step = load->step * element};
  }
  return tsri_jit_loop_begin(run->x, run->body, run->step, accesses, run->load_count, rounds > 0, &run->loop);
}

static bool find_calls(round_run *run, int64_t rounds) {
  uint32_t loads = 0;
  for (const lane_insn *insn = run->body; insn < run->step; insn++) {
    if (is_store(insn)) {
      loads++;
    } else if (is_load(insn)) {
      if (!add_load(run, &run->loads[loads++], rounds)) return false;
    } else if (lane_call_is_arithmetic(insn, run->x->program)) {
      round_call *to = &run->calls[run->call_count++];
      lane_call_make(run->x, insn, &to->call);
      to->a = step_of(run, insn->a, loads);
      to->b = step_of(run, insn->b, loads);
      to->c = to->call.kind == CALL_ARITHMETIC ? step_of(run, insn->c, loads) : 0;
    }
  }
  return true;
}

// Finds how each call's operands move. Operands that a call does not have are NULL with a step of 0.
static void move_calls(round_run *run, int64_t rounds) {
  for (uint32_t i = 0; i < run->call_count; i++) {
    round_call *at = &run->calls[i];
    if (at->a) at->call.a += rounds * at->a;
    if (at->b) at->call.b += rounds * at->b;
    if (at->c) at->call.c += rounds * at->c;
  }
}

// Executes the calls for the lanes first to last - 1, strip by strip; intermediate results of a strip fit in the first-level cache.
static void do_strips(round_run *run, int64_t rounds, uint32_t first, uint32_t last) {
  enum { CACHE_BYTES = 24 << 10, LEAST = 256 };
  if (run->call_count == 0) return;
  uint32_t strip = CACHE_BYTES / (8 * run->call_count) / 64 * 64;
  if (strip < LEAST) strip = LEAST;
  for (uint32_t at = first; at < last; at += strip) {
    uint32_t count = last - at < strip ? last - at : strip;
    for (int64_t i = 0; i < rounds; i++) {
      for (uint32_t k = 0; k < run->call_count; k++) lane_call_do(run->x, &run->calls[k].call, at, count);
      move_calls(run, 1);
    }
    move_calls(run, -rounds);
  }
}

static bool is_muladd(const lane_call *call) {
  uint32_t op = call->op + TSRI_LANE_FIRST_MATH;
  return op == TSRI_LANE_MULADD_F32 || op == TSRI_LANE_MULADD_F64;
}

// The fold for the body if it is only acc = op(acc, element) or acc = element * element + acc.
static tsri_lane_fold find_fold(const round_run *run) {
  const lane_call *call = &run->calls[0].call;
  if (run->call_count != 1 || call->kind != CALL_ARITHMETIC || call->scalars != 0 || call->dst_bytes == 0) return NULL;
  bool is_pair = is_muladd(call), is_first = call->a == call->dst;
  bool fits = call->b != call->dst && (is_pair ? call->c == call->dst && !is_first : is_first);
  return fits ? run->x->isa->folds[call->op] : NULL;
}

// Executes the fold; returns how many lanes it has processed. The calls process the remaining lanes.
static uint32_t do_fold(const round_run *run, int64_t rounds) {
  const round_call *only = &run->calls[0];
  const lane_call *call = &only->call;
  size_t bytes = (size_t)run->x->set.n * call->dst_bytes / TSRI_LANE_FOLD_BYTES * TSRI_LANE_FOLD_BYTES;
  if (bytes == 0) return 0;
  if (is_muladd(call)) run->fold(call->dst, call->a, only->a, call->b, only->b, (uint32_t)rounds, bytes);
  else run->fold(call->dst, call->b, only->b, NULL, 0, (uint32_t)rounds, bytes);
  return (uint32_t)(bytes / call->dst_bytes);
}

// Prefetches the first lines of the next pages. Processors stop prefetching at the end of a page; these prefetches make them continue, which makes reading a
// stream at least 1.5 times as fast (measured on Zen 4).
static void look_ahead(const round_run *run, int64_t rounds) {
  enum { PAGE = 4096, AHEAD = 4 * PAGE, LINE = 64, LINES = 8 };
  for (uint32_t i = 0; i < run->load_count; i++) {
    const round_load *load = &run->loads[i];
    if (!load->is_pointed || load->step != run->x->set.n) continue;  // not a contiguous stream
    int64_t element = run->x->program->arrays[load->insn->a].element_bytes, step = load->step * element;
    uintptr_t first = (uintptr_t)run->x->work->arrays[load->insn->a].memory + AHEAD;
    first += (uintptr_t)(load->index * element + run->done * step);
    uintptr_t last = first + (uintptr_t)(rounds * step);
    for (uintptr_t page = (first + PAGE - 1) / PAGE * PAGE; page < last; page += PAGE) {
      for (int line = 0; line < LINES; line++) lane_prefetch((const char *)page + (ptrdiff_t)line * LINE);
    }
  }
}

// Executes a few rounds at a time for all strips, so that data shared by the strips is still in the caches.
static void do_rounds(round_run *run, int64_t rounds) {
  enum { AT_ONCE_BYTES = 16 << 10, LEAST = 8 };
  int64_t most = AT_ONCE_BYTES / (4 * (int64_t)run->x->set.n);
  if (most < LEAST) most = LEAST;
  for (int64_t left = rounds; left > 0;) {
    int64_t now = left < most ? left : most;
    look_ahead(run, now);
    if (run->is_compiled) tsri_jit_loop_run(run->x, &run->loop, now);
    else do_strips(run, now, run->fold ? do_fold(run, now) : 0, run->x->set.n);
    move_calls(run, now);
    run->done += now;
    left -= now;
  }
}

// Whether the whole body is a fold of all lanes over one contiguous stream. Then the fold executes all rounds in one call, and prefetches by itself.
static bool is_stream_fold(const round_run *run) {
  if (!run->fold) return false;
  const round_call *only = &run->calls[0];
  size_t bytes = (size_t)run->x->set.n * only->call.dst_bytes;
  return bytes % TSRI_LANE_FOLD_BYTES == 0 && only->b == (int64_t)bytes;
}

static void do_stream(round_run *run, int64_t rounds) {
  do_fold(run, rounds);
  move_calls(run, rounds);
  run->done += rounds;
}

// Leaves the register of a load as the last round would have.
static void leave_load(const round_run *run, const round_load *load) {
  lane_exec *x = run->x;
  const lane_insn *insn = load->insn;
  if (is_store(insn) || !load->is_pointed) return;
  const lane_array_info *info = &x->program->arrays[insn->a];
  int64_t index = load->index + load->step * (run->done - 1);
  char *memory = x->work->arrays[insn->a].memory + index * info->element_bytes;
  x->work->reg[insn->dst] = memory;
  if (x->launch->may_alias_memory) return;
  x->work->reg[insn->dst] = x->work->home[insn->dst];
  x->isa->storage[info->dtype].load(x->work->reg[insn->dst], memory, 1, x->set.n);
}

// Whether to try a fold for the body. Compiled code is faster than a fold only for a few rounds.
static bool may_fold(const round_run *run) {
  uint32_t count = 0;
  for (const lane_insn *insn = run->body; insn < run->step; insn++) {
    count += lane_call_is_arithmetic(insn, run->x->program) || is_store(insn);
  }
  return count == 1 && !run->has_store;
}

// Chooses how the rounds are executed. False: they must be interpreted.
static bool choose(round_run *run, int64_t rounds) {
  enum { LEAST_ROUNDS = 3 };
  bool is_late = rounds >= LEAST_ROUNDS && may_fold(run);
  run->fold = NULL;
  run->is_compiled = !is_late && find_code(run, rounds);
  if (run->is_compiled) return true;
  if (rounds < LEAST_ROUNDS || !find_calls(run, rounds)) return false;
  run->fold = run->has_store ? NULL : find_fold(run);
  run->is_compiled = is_late && !run->fold && find_code(run, rounds);
  return run->is_compiled || !run->has_store;
}

static bool do_whole_rounds(round_run *run, int64_t rounds) {
  bool is_stream = is_stream_fold(run);
  while (rounds > 0) {
    int64_t now = rounds < LANE_FUEL ? rounds : LANE_FUEL;
    if (is_stream) do_stream(run, now);
    else do_rounds(run, now);
    rounds -= now;
    if (now == LANE_FUEL && !tsri_lanes_may_go_on(run->x)) return false;
  }
  return true;
}

bool tsri_lanes_rounds(lane_exec *x, const lane_insn *head) {
  void **reg = x->work->reg;
  round_run run;
  run.x = x;
  run.body = head + (head->op == EXEC_NARROW_ROUNDS ? 1 : 2);
  run.step = head + x->program->rounds[head - x->program->insns] - 1;
  run.load_count = run.call_count = 0;
  run.done = 0;
  run.has_store = false;
  if (x->set.n == 0 || x->set.mask) return true;
  lane_u32 *counter = reg[head->a];
  uint32_t step = *(const lane_u32 *)reg[run.step->a == head->a ? run.step->b : run.step->a];
  int64_t rounds = count_rounds(x, head, (int32_t)step);
  run.tail = x->jit ? count_tail(x, head, rounds, (int32_t)step) : 0;
  int64_t all = rounds + (run.tail != 0);
  if (all == 0) return true;
  find_accesses(&run, counter, step, all);
  if (!choose(&run, rounds)) return true;
  x->jit_runs += run.is_compiled;
  if (!run.is_compiled) run.tail = 0;
  all = rounds + (run.tail != 0);
  *counter += (uint32_t)(all - 1) * step;
  if (!do_whole_rounds(&run, rounds)) return false;
  if (run.tail != 0) {
    tsri_jit_loop_tail(x, &run.loop, run.tail);
    run.done++;
  }
  // Leaves all registers as the last of these rounds would have.
  uint32_t indices[MOST_CALLS];
  if (all > 2) do_scalars(&run, indices);
  for (uint32_t i = 0; i < run.load_count; i++) leave_load(&run, &run.loads[i]);
  *counter += step;
  return true;
}
