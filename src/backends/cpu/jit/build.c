// SPDX-License-Identifier: MIT
// Translates the lane instructions of a run to operations on vectors (ir.h).
//
// Booleans are 0 or 1 in lane registers. Here, the result of a comparison is kept as a mask until an operation other than a selection needs it.
#include "backends/cpu/jit/build.h"
#include "backends/cpu/jit/target.h"
#include "backends/cpu/math/math.h"
#include "core/alloc.h"

// --- Which instructions ---------------------------------------------------------------------------------------------------

static jit_element element_of(tsr_dtype dtype) {
  static const uint8_t elements[TSR_DTYPE_COUNT] = {
      [TSR_BOOL] = JIT_U8, [TSR_U8] = JIT_U8,   [TSR_I8] = JIT_I8,   [TSR_I16] = JIT_I16,
      [TSR_I32] = JIT_E32, [TSR_U32] = JIT_E32, [TSR_F16] = JIT_F16, [TSR_BF16] = JIT_U16,
      [TSR_F32] = JIT_E32, [TSR_I64] = JIT_E64, [TSR_F64] = JIT_E64,
  };
  return (jit_element)elements[dtype];
}

// Whether elements are loaded without conversion. Then the interpreter's own loads are used, which may refer to the memory instead of copying.
static bool is_whole(jit_element element) { return element == JIT_E32 || element == JIT_E64; }

static bool is_constant(const tsri_lanes_program *p, uint32_t reg) {
  uint32_t first = TSRI_LANE_PLACES + p->param_count;
  return reg >= first && reg - first < p->const_count;
}

// The first of the two words of a constant.
static const uint32_t *constant_of(const tsri_lanes_program *p, uint32_t reg) {
  return &p->consts[2 * (size_t)(reg - TSRI_LANE_PLACES - p->param_count)];
}

static bool is_64(const tsri_lanes_program *p, uint32_t reg) { return reg >= p->scalar_count + p->reg4_count; }

static bool can_build_arithmetic(uint32_t op) {
  switch (op) {
    case OP(MOVE_32):
    case OP(NOT_BOOL):
    case OP(NEG_I32):
    case OP(BIT_NOT_I32):
    case OP(ABS_I32):
    case OP(NEG_F32):
    case OP(ABS_F32):
    case OP(SIGN_F32):
    case OP(FLOOR_F32):
    case OP(CEIL_F32):
    case OP(ROUND_F32):
    case OP(TRUNC_F32):
    case OP(ISNAN_F32):
    case OP(ISINF_F32):
    case OP(ISFINITE_F32):
    case OP(U32_BOOL):
    case OP(F32_BOOL):
    case OP(U32_I8):
    case OP(U32_U8):
    case OP(U32_I16):
    case OP(F32_I8):
    case OP(F32_U8):
    case OP(F32_I16):
    case OP(F32_I32):
    case OP(F32_U32):
    case OP(I32_F32):
    case OP(U32_F32):
    case OP(SIGN_I32):
    case OP(F32_F16):
    case OP(F32_BF16):
    case OP(ADD_U32):
    case OP(SUB_U32):
    case OP(MUL_U32):
    case OP(AND_U32):
    case OP(OR_U32):
    case OP(XOR_U32):
    case OP(SHL_U32):
    case OP(SHR_U32):
    case OP(SHR_I32):
    case OP(EQ_U32):
    case OP(NE_U32):
    case OP(LT_U32):
    case OP(LE_U32):
    case OP(LT_I32):
    case OP(LE_I32):
    case OP(MIN_U32):
    case OP(MAX_U32):
    case OP(MIN_I32):
    case OP(MAX_I32):
    case OP(ADD_F32):
    case OP(SUB_F32):
    case OP(MUL_F32):
    case OP(DIV_F32):
    case OP(MIN_F32):
    case OP(MAX_F32):
    case OP(EQ_F32):
    case OP(NE_F32):
    case OP(LT_F32):
    case OP(LE_F32):
    case OP(MULADD_F32):
    case OP(FMA_F32):
    case OP(SELECT_32):
      return true;
    default:
      return false;
  }
}

// Whether the access reads or writes one element for each lane; elements of 64 bits only if the target has values of that size.
static bool can_build_access(const tsri_lanes_program *p, const lane_insn *insn, const jit_target *target) {
  return TSRI_LANE_WIDE_OF(insn->flags) == 1 && (p->arrays[insn->a].value_bytes == 4 || target->has_64_bits);
}

bool tsri_jit_can_build(const tsri_lanes_program *p, const lane_insn *insn, const jit_target *target) {
  switch (insn->op) {
    case EXEC_LANES:
    case EXEC_MERGE:
      return can_build_arithmetic(insn->e) || tsri_jit_can_build_64(target, insn->e);
    case TSRI_LANE_MATH_F32:
      return insn->dst >= p->scalar_count && tsri_jit_has_math(target, insn->e);
    case TSRI_LANE_MATH_F64:
      return insn->dst >= p->scalar_count && target->has_64_bits &&
             (insn->e == TSRI_MATH_SQRT || insn->e == TSRI_MATH_RSQRT);
    case EXEC_LOAD_UNIT:
    case TSRI_LANE_LOAD_AFFINE:
      return can_build_access(p, insn, target) && !(insn->flags & TSRI_LANE_ROWS);
    case EXEC_STORE_UNIT:
    case TSRI_LANE_STORE_AFFINE:  // TSRI_LANE_LAST has the same bit as ROWS has for loads
      return can_build_access(p, insn, target);
    case EXEC_SCALAR:
    case EXEC_ADD_32:
    case EXEC_MUL_32:
    case EXEC_LT_U32:
    case EXEC_MOVE_64:
    case TSRI_LANE_LOAD_SCALAR:
      return true;
    default:
      return false;
  }
}

// --- Values -----------------------------------------------------------------------------------------------------------

static int add_stream(builder *b, jit_stream stream) {
  if (b->run->stream_count == JIT_MOST_STREAMS) {
    b->failed = b->ir->is_too_large = true;
    return 0;
  }
  b->run->streams[b->run->stream_count] = stream;
  return (int)b->run->stream_count++;
}

static jit_value load(builder *b, int stream, jit_element element) {
  return tsri_jit_add(b->ir, (jit_op){.kind = JIT_LOAD, .element = (uint8_t)element, .number = (uint32_t)stream});
}

static held read(builder *b, uint32_t reg) {
  if (reg < b->p->scalar_count) {
    if (is_constant(b->p, reg)) {
      uint32_t bits = *constant_of(b->p, reg);
      return (held){.value = jit_bits(b->ir, bits), .is_bf16 = (bits & 0xffffu) == 0};
    }
    return (held){.value = tsri_jit_in_memory(b->ir, JIT_SCALAR, reg)};
  }
  held *at = &b->regs[reg];
  if (!at->is_known) {
    int stream = add_stream(b, (jit_stream){.kind = JIT_STREAM_IN, .element_bytes = 4, .number = reg});
    *at = (held){.value = load(b, stream, JIT_E32), .is_known = true};
  }
  return *at;
}

static jit_value load_half(builder *b, int stream, int half) {
  return tsri_jit_add(
      b->ir, (jit_op){.kind = JIT_LOAD, .element = JIT_E64, .half = (uint8_t)half, .number = (uint32_t)stream});
}

static jit_pair load_pair(builder *b, int stream) {
  return (jit_pair){load_half(b, stream, 0), load_half(b, stream, 1)};
}

jit_pair tsri_jit_read_pair(builder *b, uint32_t reg) {
  if (reg < b->p->scalar_count) {
    if (!is_constant(b->p, reg)) return jit_pair_of(tsri_jit_in_memory(b->ir, JIT_SCALAR_64, reg));
    const uint32_t *words = constant_of(b->p, reg);
    return jit_long(b->ir, (uint64_t)words[1] << 32 | words[0]);
  }
  held *at = &b->regs[reg];
  if (!at->is_known) {
    int stream = add_stream(b, (jit_stream){.kind = JIT_STREAM_IN, .element_bytes = 8, .number = reg});
    tsri_jit_write_pair(b, reg, load_pair(b, stream));
  }
  return (jit_pair){at->value, at->high};
}

static jit_value as_number(builder *b, held from) {
  return from.is_mask ? jit_shift(b->ir, JIT_SHIFT_RIGHT, from.value, 31) : from.value;
}

static jit_value inverse(jit_ir *ir, jit_value mask) { return jit_binary(ir, JIT_XOR, mask, jit_bits(ir, UINT32_MAX)); }

static jit_value equal(jit_ir *ir, jit_value a, jit_value b) { return jit_compare(ir, JIT_EQ_I, a, b); }

// a < b, or a <= b if or_equal.
static jit_value below(jit_ir *ir, jit_value a, jit_value b, bool is_signed, bool or_equal) {
  if (ir->target->orders_whole_numbers) {
    jit_insn insn = is_signed ? (or_equal ? JIT_LE_I : JIT_LT_I) : (or_equal ? JIT_LE_U : JIT_LT_U);
    return jit_compare(ir, insn, a, b);
  }
  if (or_equal) return equal(ir, jit_binary(ir, is_signed ? JIT_MIN_I : JIT_MIN_U, a, b), a);
  return inverse(ir, below(ir, b, a, is_signed, true));
}

static jit_value as_mask(builder *b, held from) {
  return from.is_mask ? from.value : inverse(b->ir, equal(b->ir, from.value, jit_bits(b->ir, 0)));
}

static jit_value is_nan(jit_ir *ir, jit_value x) { return jit_compare(ir, JIT_UNORDERED, x, x); }
static jit_value magnitude(jit_ir *ir, jit_value x) { return jit_binary(ir, JIT_AND, x, jit_bits(ir, 0x7fffffffu)); }

// Minimum or maximum by `insn`, which returns y if either operand is NaN; corrected to return x if x is NaN.
static jit_value smaller_or_greater(jit_ir *ir, jit_insn insn, jit_value x, jit_value y) {
  return jit_select(ir, is_nan(ir, x), x, jit_binary(ir, insn, x, y));
}

// Rounds an f32 to bf16; the result is in the low 16 bits.
static jit_value bf16_bits(jit_ir *ir, jit_value x) {
  jit_value high = jit_shift(ir, JIT_SHIFT_RIGHT, x, 16);
  jit_value odd = jit_binary(ir, JIT_AND, high, jit_bits(ir, 1));
  jit_value sum = jit_binary(ir, JIT_ADD_I, jit_binary(ir, JIT_ADD_I, x, jit_bits(ir, 0x7fffu)), odd);
  jit_value rounded = jit_shift(ir, JIT_SHIFT_RIGHT, sum, 16);
  return jit_select(ir, is_nan(ir, x), jit_binary(ir, JIT_OR, high, jit_bits(ir, 0x40u)), rounded);
}

// As bounded_f32 of lanes/meaning.h: clamps x to [least, most], with NaN as 0, and truncates it.
static jit_value bounded(jit_ir *ir, jit_value x, float least, float most) {
  jit_value low = jit_binary(ir, JIT_MAX_F, jit_number(ir, least), x);  // returns x if it is NaN
  jit_value high = jit_binary(ir, JIT_MIN_F, jit_number(ir, most), low);
  jit_value whole = jit_unary(ir, JIT_WHOLE_OF_F, high);
  return jit_select(ir, is_nan(ir, x), jit_bits(ir, 0), whole);
}

static jit_value whole_i32(jit_ir *ir, jit_value x) {
  jit_value inside = bounded(ir, x, -0x1p31f, 0x1.fffffep30f);
  jit_value is_beyond = jit_compare(ir, JIT_LE_F, jit_number(ir, 0x1p31f), x);
  return jit_select(ir, is_beyond, jit_bits(ir, INT32_MAX), inside);
}

// f32 to u32: the upper half of the range is converted as signed numbers after a subtraction.
static jit_value whole_u32(jit_ir *ir, jit_value x) {
  jit_value half = jit_number(ir, 0x1p31f);
  jit_value is_high = jit_compare(ir, JIT_LE_F, half, x);
  jit_value low = bounded(ir, jit_select(ir, is_high, jit_binary(ir, JIT_SUB_F, x, half), x), 0.0f, 0x1.fffffep30f);
  jit_value whole = jit_select(ir, is_high, jit_binary(ir, JIT_XOR, low, jit_bits(ir, 0x80000000u)), low);
  jit_value is_beyond = jit_compare(ir, JIT_LE_F, jit_number(ir, 0x1p32f), x);
  return jit_select(ir, is_beyond, jit_bits(ir, UINT32_MAX), whole);
}

// u32 to f32: both 16-bit halves are exact as f32, so their sum is rounded once.
static jit_value float_of_u32(jit_ir *ir, jit_value x) {
  jit_value high = jit_unary(ir, JIT_FLOAT_OF_I, jit_shift(ir, JIT_SHIFT_RIGHT, x, 16));
  jit_value low = jit_unary(ir, JIT_FLOAT_OF_I, jit_binary(ir, JIT_AND, x, jit_bits(ir, 0xffff)));
  return jit_fma(ir, high, jit_number(ir, 0x1p16f), low);
}

// x limited to -1 … 1.
static jit_value sign_i32(jit_ir *ir, jit_value x) {
  jit_value limited = jit_binary(ir, JIT_MIN_I, x, jit_bits(ir, 1));
  return jit_binary(ir, JIT_MAX_I, limited, jit_bits(ir, UINT32_MAX));
}

static jit_value sign_f32(jit_ir *ir, jit_value x) {
  jit_value zero = jit_bits(ir, 0);
  jit_value negative = jit_select(ir, jit_compare(ir, JIT_LT_F, x, zero), jit_number(ir, -1.0f), x);
  return jit_select(ir, jit_compare(ir, JIT_LT_F, zero, x), jit_number(ir, 1.0f), negative);
}

static jit_value sign_extended(jit_ir *ir, jit_value x, int bits) {
  return jit_shift(ir, JIT_SHIFT_ARITHMETIC, jit_shift(ir, JIT_SHIFT_LEFT, x, 32 - bits), 32 - bits);
}

// --- Instructions -----------------------------------------------------------------------------------------------------

static void write(builder *b, uint32_t reg, jit_value value, bool is_mask) {
  b->regs[reg] = (held){.value = value, .is_known = true, .is_mask = is_mask};
}

jit_value tsri_jit_read_number(builder *b, uint32_t reg) { return as_number(b, read(b, reg)); }
jit_value tsri_jit_read_mask(builder *b, uint32_t reg) { return as_mask(b, read(b, reg)); }
void tsri_jit_write(builder *b, uint32_t reg, jit_value value, bool is_mask) { write(b, reg, value, is_mask); }

void tsri_jit_write_pair(builder *b, uint32_t reg, jit_pair value) {
  b->regs[reg] = (held){.value = value.low, .high = value.high, .is_known = true};
}

// Logical operations on two masks give masks. False: the operands are not masks.
static bool build_logic(builder *b, const lane_insn *insn) {
  jit_insn logic = insn->e == OP(AND_U32) ? JIT_AND : insn->e == OP(OR_U32) ? JIT_OR : JIT_XOR;
  held x = read(b, insn->a), y = read(b, insn->b);
  bool are_masks = x.is_mask && y.is_mask;
  jit_value left = are_masks ? x.value : as_number(b, x), right = are_masks ? y.value : as_number(b, y);
  write(b, insn->dst, jit_binary(b->ir, logic, left, right), are_masks);
  return true;
}

static void build_select(builder *b, const lane_insn *insn) {
  jit_value mask = as_mask(b, read(b, insn->a));
  held yes = read(b, insn->b), no = read(b, insn->c);
  bool are_masks = yes.is_mask && no.is_mask;
  jit_value left = are_masks ? yes.value : as_number(b, yes), right = are_masks ? no.value : as_number(b, no);
  write(b, insn->dst, jit_select(b->ir, mask, left, right), are_masks);
  b->regs[insn->dst].is_bf16 = yes.is_bf16 && no.is_bf16;
}

// Translates instructions whose operands keep their form (mask or number). False: the instruction is not one of these.
static bool build_truth(builder *b, const lane_insn *insn) {
  held x = read(b, insn->a);
  switch (insn->e) {
    case OP(MOVE_32):
      write(b, insn->dst, x.value, x.is_mask);
      b->regs[insn->dst].is_bf16 = x.is_bf16;
      return true;
    case OP(NOT_BOOL):
      if (x.is_mask) write(b, insn->dst, inverse(b->ir, x.value), true);
      else write(b, insn->dst, jit_binary(b->ir, JIT_XOR, x.value, jit_bits(b->ir, 1)), false);
      return true;
    case OP(U32_BOOL):
      write(b, insn->dst, as_mask(b, x), true);
      return true;
    case OP(AND_U32):
    case OP(OR_U32):
    case OP(XOR_U32):
      return build_logic(b, insn);
    case OP(SELECT_32):
      build_select(b, insn);
      return true;
    default:
      return false;
  }
}

// Translates comparisons of x and y, and tests of x, to masks. False: the instruction is not one of these.
static bool build_compare(jit_ir *ir, uint32_t op, jit_value x, jit_value y, jit_value *out) {
  jit_value infinity = jit_bits(ir, 0x7f800000u);
  switch (op) {
    case OP(EQ_U32):
      *out = equal(ir, x, y);
      return true;
    case OP(NE_U32):
      *out = inverse(ir, equal(ir, x, y));
      return true;
    case OP(LT_U32):
    case OP(LE_U32):
      *out = below(ir, x, y, false, op == OP(LE_U32));
      return true;
    case OP(LT_I32):
    case OP(LE_I32):
      *out = below(ir, x, y, true, op == OP(LE_I32));
      return true;
    case OP(EQ_F32):
      *out = jit_compare(ir, JIT_EQ_F, x, y);
      return true;
    case OP(NE_F32):
      *out = jit_compare(ir, JIT_NE_F, x, y);
      return true;
    case OP(LT_F32):
      *out = jit_compare(ir, JIT_LT_F, x, y);
      return true;
    case OP(LE_F32):
      *out = jit_compare(ir, JIT_LE_F, x, y);
      return true;
    case OP(F32_BOOL):
      *out = jit_compare(ir, JIT_NE_F, x, jit_bits(ir, 0));
      return true;
    case OP(ISNAN_F32):
      *out = is_nan(ir, x);
      return true;
    case OP(ISINF_F32):
      *out = jit_compare(ir, JIT_EQ_F, magnitude(ir, x), infinity);
      return true;
    case OP(ISFINITE_F32):
      *out = jit_compare(ir, JIT_LT_F, magnitude(ir, x), infinity);
      return true;
    default:
      return false;
  }
}

static jit_value build_unary(jit_ir *ir, uint32_t op, jit_value x) {
  switch (op) {
    case OP(NEG_I32):
      return jit_binary(ir, JIT_SUB_I, jit_bits(ir, 0), x);
    case OP(BIT_NOT_I32):
      return inverse(ir, x);
    case OP(ABS_I32):
      return jit_unary(ir, JIT_ABS_I, x);
    case OP(NEG_F32):
      return jit_binary(ir, JIT_XOR, x, jit_bits(ir, 0x80000000u));
    case OP(ABS_F32):
      return magnitude(ir, x);
    case OP(SIGN_F32):
      return sign_f32(ir, x);
    case OP(FLOOR_F32):
      return jit_unary(ir, JIT_FLOOR_F, x);
    case OP(CEIL_F32):
      return jit_unary(ir, JIT_CEIL_F, x);
    case OP(ROUND_F32):
      return jit_unary(ir, JIT_NEAREST_F, x);
    case OP(TRUNC_F32):
      return jit_unary(ir, JIT_TRUNC_F, x);
    case OP(U32_I8):
      return sign_extended(ir, x, 8);
    case OP(U32_U8):
      return jit_binary(ir, JIT_AND, x, jit_bits(ir, 0xff));
    case OP(U32_I16):
      return sign_extended(ir, x, 16);
    case OP(F32_I8):
      return bounded(ir, x, -128.0f, 127.0f);
    case OP(F32_U8):
      return bounded(ir, x, 0.0f, 255.0f);
    case OP(F32_I16):
      return bounded(ir, x, -32768.0f, 32767.0f);
    case OP(F32_I32):
      return whole_i32(ir, x);
    case OP(F32_U32):
      return whole_u32(ir, x);
    case OP(U32_F32):
      return float_of_u32(ir, x);
    case OP(SIGN_I32):
      return sign_i32(ir, x);
    case OP(I32_F32):
      return jit_unary(ir, JIT_FLOAT_OF_I, x);
    case OP(F32_F16):
      return tsri_jit_add(ir, (jit_op){.kind = JIT_ROUND_F16, .a = x});
    default:  // F32_BF16
      return jit_shift(ir, JIT_SHIFT_LEFT, bf16_bits(ir, x), 16);
  }
}

static jit_value build_shift(jit_ir *ir, jit_insn insn, jit_value x, jit_value count) {
  return jit_binary(ir, insn, x, jit_binary(ir, JIT_AND, count, jit_bits(ir, 31)));
}

// Translates instructions with two or three operands. False: it has one operand.
static bool build_more(jit_ir *ir, uint32_t op, jit_value x, jit_value y, jit_value z, jit_value *out) {
  static const struct {
    uint16_t op;
    uint8_t insn;
  } plain[] = {
      {OP(ADD_U32), JIT_ADD_I}, {OP(SUB_U32), JIT_SUB_I}, {OP(MUL_U32), JIT_MUL_I}, {OP(MIN_U32), JIT_MIN_U},
      {OP(MAX_U32), JIT_MAX_U}, {OP(MIN_I32), JIT_MIN_I}, {OP(MAX_I32), JIT_MAX_I}, {OP(ADD_F32), JIT_ADD_F},
      {OP(SUB_F32), JIT_SUB_F}, {OP(MUL_F32), JIT_MUL_F}, {OP(DIV_F32), JIT_DIV_F},
  };
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    if (plain[i].op != op) continue;
    *out = jit_binary(ir, (jit_insn)plain[i].insn, x, y);
    return true;
  }
  switch (op) {
    case OP(MIN_F32):
    case OP(MAX_F32):
      *out = smaller_or_greater(ir, op == OP(MIN_F32) ? JIT_MIN_F : JIT_MAX_F, x, y);
      return true;
    case OP(SHL_U32):
      *out = build_shift(ir, JIT_SHIFT_LEFT, x, y);
      return true;
    case OP(SHR_U32):
      *out = build_shift(ir, JIT_SHIFT_RIGHT, x, y);
      return true;
    case OP(SHR_I32):
      *out = build_shift(ir, JIT_SHIFT_ARITHMETIC, x, y);
      return true;
    case OP(MULADD_F32):
      *out = jit_binary(ir, JIT_ADD_F, jit_binary(ir, JIT_MUL_F, x, y), z);
      return true;
    case OP(FMA_F32):
      *out = jit_fma(ir, x, y, z);
      return true;
    default:
      return false;
  }
}

// Whether the instruction only selects between its operands, or changes their sign: then its result is exact in bf16 if they are.
static bool keeps_bf16(builder *b, const lane_insn *insn) {
  switch (insn->e) {
    case OP(ABS_F32):
    case OP(NEG_F32):
      return read(b, insn->a).is_bf16;
    case OP(MIN_F32):
    case OP(MAX_F32):
      return read(b, insn->a).is_bf16 && read(b, insn->b).is_bf16;
    default:
      return false;
  }
}

static void build_arithmetic(builder *b, const lane_insn *insn) {
  if (!can_build_arithmetic(insn->e)) {
    tsri_jit_build_64(b, insn);
    return;
  }
  if (build_truth(b, insn)) return;
  jit_value x = as_number(b, read(b, insn->a)), y = as_number(b, read(b, insn->b));
  jit_value z = as_number(b, read(b, insn->c)), out = 0;
  bool is_mask = build_compare(b->ir, insn->e, x, y, &out);
  if (!is_mask && !build_more(b->ir, insn->e, x, y, z, &out)) out = build_unary(b->ir, insn->e, x);
  bool is_bf16 = keeps_bf16(b, insn);
  write(b, insn->dst, out, is_mask);
  b->regs[insn->dst].is_bf16 = is_bf16;
}

static void build_function(builder *b, const lane_insn *insn) {
  jit_value x = as_number(b, read(b, insn->a)), y = as_number(b, read(b, insn->b));
  write(b, insn->dst, tsri_jit_math(b->ir, insn->e, x, y), false);
}

static void build_root(builder *b, const lane_insn *insn) {
  jit_pair root = jit_unary_64(b->ir, JIT_SQRT_D, tsri_jit_read_pair(b, insn->a));
  if (insn->e == TSRI_MATH_RSQRT) root = jit_binary_64(b->ir, JIT_DIV_D, jit_double(b->ir, 1.0), root);
  tsri_jit_write_pair(b, insn->dst, root);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

static void add_step(builder *b, uint32_t insn, int stream) {
  b->run->steps[b->run->step_count++] = (jit_step){.insn = insn, .stream = (int16_t)stream};
}

static void build_load(builder *b, uint32_t at, bool is_seen) {
  const lane_insn *insn = &b->p->insns[at];
  const lane_array_info *array = &b->p->arrays[insn->a];
  jit_element element = element_of((tsr_dtype)array->dtype);
  int stream = add_stream(b, (jit_stream){.kind = is_whole(element) ? JIT_STREAM_LOADED : JIT_STREAM_LOAD,
                                          .element_bytes = array->element_bytes,
                                          .is_seen = is_seen,
                                          .number = at});
  add_step(b, at, stream);
  if (element == JIT_E64) {
    tsri_jit_write_pair(b, insn->dst, load_pair(b, stream));
    return;
  }
  jit_value value = load(b, stream, element);
  if (array->dtype == TSR_BF16) value = jit_shift(b->ir, JIT_SHIFT_LEFT, value, 16);
  if (array->dtype == TSR_BOOL) value = jit_binary(b->ir, JIT_MIN_U, value, jit_bits(b->ir, 1));
  write(b, insn->dst, value, false);
  b->regs[insn->dst].is_bf16 = array->dtype == TSR_BF16;
}

static void store(builder *b, int stream, jit_element element, jit_pair value, bool may_go_past_caches) {
  jit_op op = {.kind = JIT_STORE,
               .element = (uint8_t)element,
               .imm = may_go_past_caches,
               .a = value.low,
               .number = (uint32_t)stream};
  tsri_jit_add(b->ir, op);
  if (element != JIT_E64) return;
  op.half = 1;
  op.a = value.high;
  tsri_jit_add(b->ir, op);
}

// The bits to store. If the target's stores saturate, the upper bits are cleared first.
static jit_value stored_bits(builder *b, tsr_dtype dtype, held from) {
  jit_ir *ir = b->ir;
  jit_value value = as_number(b, from);
  if (dtype == TSR_BOOL) return from.is_mask ? value : jit_binary(ir, JIT_MIN_U, value, jit_bits(ir, 1));
  if (dtype == TSR_BF16) return from.is_bf16 ? jit_shift(ir, JIT_SHIFT_RIGHT, value, 16) : bf16_bits(ir, value);
  if (dtype == TSR_I16 && ir->target->saturates_stores) return jit_binary(ir, JIT_AND, value, jit_bits(ir, 0xffff));
  if ((dtype == TSR_I8 || dtype == TSR_U8) && ir->target->saturates_stores) {
    return jit_binary(ir, JIT_AND, value, jit_bits(ir, 0xff));
  }
  return value;
}

static void build_store(builder *b, uint32_t at) {
  const lane_insn *insn = &b->p->insns[at];
  const lane_array_info *array = &b->p->arrays[insn->a];
  jit_element element = element_of((tsr_dtype)array->dtype);
  jit_pair value = {0, 0};
  held from = element == JIT_E64 ? (held){0} : read(b, insn->dst);
  if (array->dtype == TSR_BOOL && from.is_mask && b->ir->target->stores_masks) element = JIT_TRUTH;
  if (element == JIT_E64) value = tsri_jit_read_pair(b, insn->dst);
  else if (element == JIT_TRUTH) value.low = from.value;
  else value.low = stored_bits(b, (tsr_dtype)array->dtype, from);
  int stream =
      add_stream(b, (jit_stream){.kind = JIT_STREAM_STORE, .element_bytes = array->element_bytes, .number = at});
  add_step(b, at, stream);
  store(b, stream, element, value, true);
}

// Called after a step that changes a scalar was added. If lanes have read the scalar, the code reads a copy of the old value from now on.
static void keep_scalar(builder *b, uint32_t reg) {
  bool is_kept = false;
  for (uint32_t i = 0; i < b->ir->count; i++) {
    jit_op *op = &b->ir->ops[i];
    if ((op->kind != JIT_SCALAR && op->kind != JIT_SCALAR_64) || op->number != reg) continue;
    op->number = b->p->scalar_count + b->kept_count;
    is_kept = true;
  }
  if (is_kept) b->run->steps[b->run->step_count - 1].kept = (uint16_t)++b->kept_count;
}

// --- The run ----------------------------------------------------------------------------------------------------------

static void build_insn(builder *b, uint32_t at) {
  const lane_insn *insn = &b->p->insns[at];
  switch (insn->op) {
    case EXEC_LANES:
    case EXEC_MERGE:
      build_arithmetic(b, insn);
      break;
    case TSRI_LANE_MATH_F32:
      build_function(b, insn);
      break;
    case TSRI_LANE_MATH_F64:
      build_root(b, insn);
      break;
    case EXEC_LOAD_UNIT:
    case TSRI_LANE_LOAD_AFFINE:
      build_load(b, at, b->regs[insn->dst].is_known);
      break;
    case EXEC_STORE_UNIT:
    case TSRI_LANE_STORE_AFFINE:
      build_store(b, at);
      break;
    default:
      add_step(b, at, -1);
      keep_scalar(b, insn->dst);
      break;
  }
}

// Whether the register's last value in the run comes from a load that the interpreter executes, so that the register already has it.
static bool is_loaded(const builder *b, uint32_t reg) {
  for (uint32_t i = b->run->first + b->run->count; i-- > b->run->first;) {
    const lane_insn *insn = &b->p->insns[i];
    if (!(b->p->reg_slots[i] & 1) || insn->dst != reg) continue;
    if (insn->op == EXEC_STORE_UNIT || insn->op == TSRI_LANE_STORE_AFFINE) continue;
    bool is_load = insn->op == EXEC_LOAD_UNIT || insn->op == TSRI_LANE_LOAD_AFFINE;
    return is_load && is_whole(element_of((tsr_dtype)b->p->arrays[insn->a].dtype));
  }
  return true;  // only read
}

// Stores the registers that are read after the run.
static void build_results(builder *b, const bool *is_external) {
  uint32_t last = b->p->scalar_count + b->p->reg4_count + b->p->reg8_count;
  for (uint32_t reg = b->p->scalar_count; reg < last && !b->failed; reg++) {
    if (!b->regs[reg].is_known || !is_external[reg] || is_loaded(b, reg)) continue;
    uint8_t bytes = is_64(b->p, reg) ? 8 : 4;
    jit_pair value = {bytes == 8 ? b->regs[reg].value : as_number(b, b->regs[reg]), b->regs[reg].high};
    int stream = add_stream(b, (jit_stream){.kind = JIT_STREAM_OUT, .element_bytes = bytes, .number = reg});
    store(b, stream, bytes == 8 ? JIT_E64 : JIT_E32, value, false);
  }
}

// If functions have `beyond` values: keeps the least values of all turns of the loop, one for each lane of a turn.
static void build_beyond(builder *b) {
  if (!b->ir->has_beyond || b->failed) return;
  uint32_t stream = (uint32_t)add_stream(b, (jit_stream){.kind = JIT_STREAM_BEYOND, .element_bytes = 4});
  jit_op op = {.kind = JIT_LOAD, .element = JIT_E32, .is_fixed = true, .number = stream};
  jit_value least = jit_binary(b->ir, JIT_MIN_U, b->ir->beyond, tsri_jit_add(b->ir, op));
  op.kind = JIT_STORE;
  op.a = least;
  tsri_jit_add(b->ir, op);
  b->run->has_beyond = true;
}

bool tsri_jit_build(const tsri_lanes_program *p, const bool *is_external, jit_run *run, jit_ir *ir) {
  builder b = {.p = p, .ir = ir, .run = run};
  b.regs = tsri_calloc((size_t)p->scalar_count + p->reg4_count + p->reg8_count + 1, sizeof *b.regs);
  run->steps = tsri_calloc(run->count, sizeof *run->steps);
  b.failed = !b.regs || !run->steps;
  for (uint32_t i = 0; i < run->count && !b.failed && !ir->failed; i++) build_insn(&b, run->first + i);
  if (!b.failed) build_results(&b, is_external);
  build_beyond(&b);
  tsri_free(b.regs);
  return !b.failed && !ir->failed;
}
