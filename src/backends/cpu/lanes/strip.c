// SPDX-License-Identifier: MIT
// Executes straight runs of element-wise instructions strip by strip.
//
// Executed instruction by instruction, a block would first read its inputs, then compute, then write: memory would be idle during the computation, and the
// results of an instruction would have left the first-level cache before the next one reads them. So a run of element-wise instructions is executed for a strip
// of lanes, then for the next strip. The addresses of the operands are resolved once. Runs of only f32 arithmetic use the level's chain function, which has
// even shorter strips.
#include "backends/cpu/lanes/calls.h"

typedef struct strip_run {
  lane_exec *x;
  uint32_t count;
  lane_call calls[LANE_STRIP_INSNS];
  bool has_stream;
} strip_run;

bool tsri_lanes_may_strip(const lane_insn *insn, const tsri_lanes_program *p) {
  return insn->op == EXEC_LOAD_UNIT || insn->op == EXEC_STORE_UNIT || lane_call_is_arithmetic(insn, p);
}

// --- Finding the operands ---------------------------------------------------------------------------------------------

// False: the run cannot be done in strips this time.
static bool add_store(strip_run *run, const lane_insn *insn) {
  lane_exec *x = run->x;
  const lane_array_info *info = &x->program->arrays[insn->a];
  const lane_array *array = &x->work->arrays[insn->a];
  int64_t base;
  if (!lane_unit_base(x, insn, x->work->reg[insn->b], &base)) return false;
  run->has_stream = run->has_stream || array->is_streamed;
  run->calls[run->count++] = (lane_call){.kind = array->is_streamed ? CALL_STREAM : CALL_STORE,
                                         .move = x->isa->storage[info->dtype].store,
                                         .dst = array->memory + base * info->element_bytes,
                                         .a = x->work->reg[insn->dst],
                                         .dst_bytes = info->element_bytes,
                                         .a_bytes = lane_bytes_of(x->program, insn->dst)};
  return true;
}

static bool add(strip_run *run, const lane_insn *insn) {
  int64_t base;
  switch (insn->op) {
    case EXEC_LOAD_UNIT:
      return lane_unit_base(run->x, insn, run->x->work->reg[insn->b], &base) && tsri_lanes_load_unit(run->x, insn);
    case EXEC_STORE_UNIT:
      return add_store(run, insn);
    default:
      lane_call_make(run->x, insn, &run->calls[run->count++]);
      return true;
  }
}

// --- Strips of calls --------------------------------------------------------------------------------------------------

// Lanes of a strip. Non-temporal stores are made in short bursts, so that the processor continues to read in between: with strips of twice as many lanes, a run
// with such stores takes twice as long (measured on Zen 4).
enum { STRIP = 256, STREAMED_STRIP = 128 };

static void do_strips(const strip_run *run, uint32_t first, uint32_t last) {
  uint32_t strip = run->has_stream ? STREAMED_STRIP : STRIP;
  for (uint32_t at = first; at < last; at += strip) {
    uint32_t n = last - at < strip ? last - at : strip;
    for (uint32_t i = 0; i < run->count; i++) lane_call_do(run->x, &run->calls[i], at, n);
  }
}

// --- Chains -----------------------------------------------------------------------------------------------------------

enum { MOST_LINKS = 12, MOST_SCALARS = 8, LINE = 64 };

typedef struct strip_chain {
  uint32_t count, scalar_count;
  uint32_t head;  // lanes before the streamed output is aligned
  bool has_head;
  tsri_lane_link links[MOST_LINKS];
  _Alignas(LINE) float scalars[MOST_SCALARS][TSRI_LANE_CHAIN];
} strip_chain;

static bool is_chained(uint32_t op) {
  switch (op + TSRI_LANE_FIRST_MATH) {
    case TSRI_LANE_ADD_F32:
    case TSRI_LANE_SUB_F32:
    case TSRI_LANE_MUL_F32:
    case TSRI_LANE_MAX_F32:
    case TSRI_LANE_MIN_F32:
    case TSRI_LANE_MULADD_F32:
    case TSRI_LANE_FMA_F32:
      return true;
    default:
      return false;
  }
}

// Sets a link's operand to lanes, or to a repeated scalar. False: there are too many scalars.
static bool link_operand(strip_chain *chain, const char *from, int64_t bytes, bool is_scalar, const float **operand,
                         size_t *mask) {
  *operand = (const float *)(const void *)from;
  *mask = bytes != 0 ? SIZE_MAX : 0;
  if (!is_scalar) return true;
  if (chain->scalar_count == MOST_SCALARS) return false;
  float *repeated = chain->scalars[chain->scalar_count++];
  for (int i = 0; i < TSRI_LANE_CHAIN; i++) repeated[i] = **operand;
  *operand = repeated;
  return true;
}

// Handles a store of the previous link's result: if nothing else reads that result, the link itself writes to memory.
static bool link_store(strip_chain *chain, const lane_call *call, bool is_last_use) {
  tsri_lane_link *before = chain->count > 0 ? &chain->links[chain->count - 1] : NULL;
  float *dst = (float *)(void *)call->dst;
  bool is_streamed = call->kind == CALL_STREAM;
  if (is_streamed) {
    uint32_t head = (uint32_t)((0 - (uintptr_t)dst) % LINE / sizeof(float));
    if (chain->has_head && head != chain->head) is_streamed = false;
    if (!chain->has_head) chain->head = head;
    chain->has_head = true;
  }
  if (before && is_last_use && (const char *)before->dst == call->a) {
    before->dst = dst;
    before->dst_mask = SIZE_MAX;
    before->is_streamed = is_streamed;
    return true;
  }
  if (chain->count == MOST_LINKS) return false;
  const float *from = (const float *)(const void *)call->a;
  chain->links[chain->count++] = (tsri_lane_link){.op = 0,
                                                  .is_streamed = is_streamed,
                                                  .dst = dst,
                                                  .a = from,
                                                  .b = from,
                                                  .c = from,
                                                  .dst_mask = SIZE_MAX,
                                                  .a_mask = call->a_bytes != 0 ? SIZE_MAX : 0};
  return true;
}

static bool link_call(strip_chain *chain, const lane_call *call) {
  if (chain->count == MOST_LINKS || call->kind != CALL_ARITHMETIC || !is_chained(call->op)) return false;
  tsri_lane_link *link = &chain->links[chain->count++];
  *link = (tsri_lane_link){
      .op = (uint16_t)call->op, .dst = (float *)(void *)call->dst, .dst_mask = call->dst_bytes != 0 ? SIZE_MAX : 0};
  return link_operand(chain, call->a, call->a_bytes, (call->scalars & 1) != 0, &link->a, &link->a_mask) &&
         link_operand(chain, call->b, call->b_bytes, (call->scalars & 2) != 0, &link->b, &link->b_mask) &&
         link_operand(chain, call->c, call->c_bytes, (call->scalars & 4) != 0, &link->c, &link->c_mask);
}

// Makes a chain if the run has only stores and f32 arithmetic that chains support. False: it has others.
static bool make_chain(const strip_run *run, const lane_insn *first, uint32_t count, strip_chain *chain) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; i++) {
    const lane_insn *insn = &first[i];
    if (insn->op == EXEC_LOAD_UNIT) continue;
    const lane_call *call = &run->calls[at++];
    if (insn->op != EXEC_STORE_UNIT) {
      if (!link_call(chain, call)) return false;
    } else if (call->dst_bytes != 4 || run->x->program->arrays[insn->a].dtype != TSR_F32 ||
               !link_store(chain, call, (insn->flags & TSRI_LANE_LAST) != 0)) {
      return false;
    }
  }
  return true;
}

uint32_t tsri_lanes_strip(lane_exec *x, const lane_insn *first, uint32_t count) {
  uint32_t n = x->set.n, least = x->launch->has_streams ? STREAMED_STRIP : STRIP;
  if (x->set.mask || n <= least || !x->launch->may_alias_memory) return 0;
  strip_run run;
  run.x = x;
  run.count = 0;
  run.has_stream = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!add(&run, &first[i])) return 0;
  }
  strip_chain chain;
  chain.count = chain.scalar_count = chain.head = 0;
  chain.has_head = false;
  if (make_chain(&run, first, count, &chain)) {
    uint32_t last = chain.head + (n - chain.head) / TSRI_LANE_CHAIN * TSRI_LANE_CHAIN;
    do_strips(&run, 0, chain.head);
    x->isa->chain(chain.links, chain.count, chain.head, last);
    do_strips(&run, last, n);
  } else {
    do_strips(&run, 0, n);
  }
  return count;
}
