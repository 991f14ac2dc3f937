// SPDX-License-Identifier: MIT
// Straight runs of element-wise instructions, done strip by strip.
//
// Instruction by instruction, a block would read its inputs, then compute, then write: memory would idle meanwhile, and
// what one instruction left in the first cache would be gone when the next wants it. So a run of instructions that
// treat every lane for itself is done for a strip of lanes, then for the next. Where each operand lies is found once.
#include "backends/cpu/lanes/program.h"

typedef enum call_kind { CALL_ARITHMETIC, CALL_F32, CALL_F64, CALL_STORE, CALL_STREAM } call_kind;

typedef struct strip_call {
  call_kind kind;
  union {
    tsri_lane_fn arithmetic;
    tsri_math_f32 f32;
    tsri_math_f64 f64;
    void (*store)(void *dst, const void *src, int64_t stride, uint32_t n);
  };
  char *dst;
  const char *a, *b, *c;
  uint8_t dst_bytes, a_bytes, b_bytes, c_bytes;  // from one lane to the next; 0 for a scalar
} strip_call;

bool tsri_lanes_may_strip(const lane_insn *insn, const tsri_lanes_program *p) {
  switch (insn->op) {
    case EXEC_LANES:
    case EXEC_MERGE:
    case EXEC_LOAD_UNIT:
    case EXEC_STORE_UNIT:
      return true;
    case TSRI_LANE_MATH_F32:
    case TSRI_LANE_MATH_F64:
      return insn->dst >= p->scalar_count;
    default:
      return false;
  }
}

static uint8_t lane_bytes_of(const tsri_lanes_program *p, uint32_t reg) {
  if (reg < p->scalar_count) return 0;
  return reg < p->scalar_count + p->reg4_count ? 4 : 8;
}

// False: the run cannot be done in strips this time.
static bool add_store(lane_exec *x, const lane_insn *insn, strip_call *call) {
  const lane_array_info *info = &x->program->arrays[insn->a];
  const lane_array *array = &x->work->arrays[insn->a];
  int64_t base;
  if (!lane_unit_base(x, insn, x->work->reg[insn->b], &base)) return false;
  *call = (strip_call){.kind = array->is_streamed ? CALL_STREAM : CALL_STORE,
                       .store = x->isa->storage[info->dtype].store,
                       .dst = array->memory + base * info->element_bytes,
                       .a = x->work->reg[insn->dst],
                       .dst_bytes = info->element_bytes,
                       .a_bytes = info->value_bytes};
  return true;
}

static void add_arithmetic(lane_exec *x, const lane_insn *insn, strip_call *call) {
  const tsri_lanes_program *p = x->program;
  void **reg = x->work->reg;
  *call = (strip_call){.kind = CALL_ARITHMETIC,
                       .dst = reg[insn->dst],
                       .a = reg[insn->a],
                       .b = reg[insn->b],
                       .dst_bytes = lane_bytes_of(p, insn->dst),
                       .a_bytes = lane_bytes_of(p, insn->a),
                       .b_bytes = lane_bytes_of(p, insn->b)};
  if (insn->op == TSRI_LANE_MATH_F32) {
    call->kind = CALL_F32;
    call->f32 = x->math->f32[insn->e];
  } else if (insn->op == TSRI_LANE_MATH_F64) {
    call->kind = CALL_F64;
    call->f64 = x->math->f64[insn->e];
  } else {
    call->arithmetic = x->isa->ops[insn->e][insn->form];
    call->c = reg[insn->c];
    call->c_bytes = lane_bytes_of(p, insn->c);
  }
}

static void do_call(const lane_exec *x, const strip_call *call, size_t at, uint32_t n) {
  void *dst = call->dst + at * call->dst_bytes;
  const void *a = call->a + at * call->a_bytes;
  switch (call->kind) {
    case CALL_ARITHMETIC:
      call->arithmetic(dst, a, call->b + at * call->b_bytes, call->c + at * call->c_bytes, n);
      break;
    case CALL_F32:
      call->f32(dst, a, (const float *)(const void *)(call->b + at * call->b_bytes), n);
      break;
    case CALL_F64:
      call->f64(dst, a, (const double *)(const void *)(call->b + at * call->b_bytes), n);
      break;
    case CALL_STORE:
      call->store(dst, a, 1, n);
      break;
    case CALL_STREAM:
      x->isa->stream(dst, a, (size_t)n * call->dst_bytes);
      break;
  }
}

// Lanes of a strip. Stores past the caches come in short bursts, so that the processor reads on meanwhile: twice as many
// lanes take twice as long (measured on Zen 4).
enum { STRIP = 256, STREAMED_STRIP = 128 };

uint32_t tsri_lanes_strip(lane_exec *x, const lane_insn *first, uint32_t count) {
  strip_call calls[LANE_STRIP_INSNS];
  uint32_t call_count = 0, strip = STRIP;
  uint32_t least = x->launch->has_streams ? STREAMED_STRIP : STRIP;
  if (x->set.mask || x->set.n <= least || !x->launch->may_alias_memory) return 0;
  for (uint32_t i = 0; i < count; i++) {
    const lane_insn *insn = &first[i];
    if (insn->op == EXEC_LOAD_UNIT) {
      int64_t base;
      if (!lane_unit_base(x, insn, x->work->reg[insn->b], &base)) return 0;
      tsri_lanes_load_unit(x, insn);
    } else if (insn->op == EXEC_STORE_UNIT) {
      if (!add_store(x, insn, &calls[call_count])) return 0;
      if (calls[call_count++].kind == CALL_STREAM) strip = STREAMED_STRIP;
    } else {
      add_arithmetic(x, insn, &calls[call_count++]);
    }
  }
  for (uint32_t at = 0; at < x->set.n; at += strip) {
    uint32_t n = x->set.n - at < strip ? x->set.n - at : strip;
    for (uint32_t i = 0; i < call_count; i++) do_call(x, &calls[i], at, n);
  }
  return count;
}
