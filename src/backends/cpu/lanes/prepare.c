// SPDX-License-Identifier: MIT
// Turns words into a program that can be run, and checks every number in it, once.
//
// The words may come from a damaged cache file, so nothing is trusted: sizes are compared in 64 bits before use, and each operand of each instruction must
// exist and have the kind and width that the lists in lang/lanes_ops.h give.
#include <string.h>

#include "backends/cpu/jit/jit.h"
#include "backends/cpu/lanes/program.h"
#include "core/alloc.h"
#include "core/error.h"

typedef enum operand_kind {
  IS_NO,
  IS_S,
  IS_R4,
  IS_R8,
  IS_X4,
  IS_X8,
  IS_OR4,
  IS_OX4,
  IS_OX8,
  IS_XV,
  IS_RV,
  IS_SV,
  IS_XI,
  IS_SI,
  IS_RI,
  IS_ARR,
  IS_LOC,
  IS_SAVE,
  IS_FWD,
  IS_BACK,
  IS_IMM,
  IS_POS
} operand_kind;

static const uint8_t control_kinds[][7] = {
#define TSRI_X(name, dst, a, b, c, d, e, f) {IS_##dst, IS_##a, IS_##b, IS_##c, IS_##d, IS_##e, IS_##f},
    TSRI_LANE_CONTROL(TSRI_X)
#undef TSRI_X
};

// Bytes of the result and of each operand; 0: no such operand.
static const uint8_t math_bytes[][4] = {
#define TSRI_X(name, r, a) {TSRI_LANE_BYTES_##r, TSRI_LANE_BYTES_##a, 0, 0},
    TSRI_LANE_UNARY(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, r, a, b) {TSRI_LANE_BYTES_##r, TSRI_LANE_BYTES_##a, TSRI_LANE_BYTES_##b, 0},
        TSRI_LANE_BINARY(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, r, a, b, c) {TSRI_LANE_BYTES_##r, TSRI_LANE_BYTES_##a, TSRI_LANE_BYTES_##b, TSRI_LANE_BYTES_##c},
            TSRI_LANE_TERNARY(TSRI_X)
#undef TSRI_X
};

// Number of arguments of the transcendental functions, by tsri_ir_op; 0: not one of these.
static const uint8_t function_arity[TSRI_OP_COUNT] = {
#define TSRI_X(name, count) [TSRI_OP_##name] = count,
    TSRI_MATH_OPS(TSRI_X)
#undef TSRI_X
};
static const uint8_t function_number[TSRI_OP_COUNT] = {
#define TSRI_X(name, count) [TSRI_OP_##name] = TSRI_MATH_##name,
    TSRI_MATH_OPS(TSRI_X)
#undef TSRI_X
};

static tsr_status broken(const char *what) { return TSRI_FAIL(TSR_ERR_BUILD, "lane bytecode is broken: %s", what); }

static tsr_status broken_insn(uint32_t index, const char *what) {
  return TSRI_FAIL(TSR_ERR_BUILD, "lane bytecode is broken: instruction %u: %s", index, what);
}

// --- Header and tables ------------------------------------------------------------------------------------------------

static bool table_fits(const uint32_t *words, uint32_t at, uint64_t count, uint32_t entry_words) {
  return at >= TSRI_LANE_HEADER_WORDS && at + count * entry_words <= words[TSRI_LANE_H_WORDS];
}

static tsr_status check_header(const uint32_t *w, size_t word_count) {
  if (word_count < TSRI_LANE_HEADER_WORDS || w[TSRI_LANE_H_MAGIC] != TSRI_LANE_MAGIC) {
    return TSRI_FAIL(TSR_ERR_BUILD, "this is no lane bytecode");
  }
  if (w[TSRI_LANE_H_VERSION] != TSRI_LANE_VERSION) {
    return TSRI_FAIL(TSR_ERR_BUILD, "lane bytecode of version %u; this library runs version %u", w[TSRI_LANE_H_VERSION],
                     TSRI_LANE_VERSION);
  }
  if (w[TSRI_LANE_H_WORDS] != word_count) return broken("it has not the size it says");
  uint64_t group = 1;
  for (int i = 0; i < 3; i++) {
    uint32_t size = w[TSRI_LANE_H_GROUP_X + i];
    if (size == 0 || size > 1024) return broken("group size");
    group *= size;
  }
  if (group > 1024) return broken("group size");
  const uint32_t kinds[] = {w[TSRI_LANE_H_PARAMS], w[TSRI_LANE_H_CONSTS], w[TSRI_LANE_H_SCALARS], w[TSRI_LANE_H_REGS_4],
                            w[TSRI_LANE_H_REGS_8]};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i] > TSRI_LANE_MAX_REGS) return broken("too many registers");
  }
  if (w[TSRI_LANE_H_SAVES] > TSRI_LANE_MAX_SAVES) return broken("too many saved sets");
  if (w[TSRI_LANE_H_BUFFERS] > TSRI_LANG_MAX_BUFFERS || w[TSRI_LANE_H_SHARED] > 4096 || w[TSRI_LANE_H_LOCALS] > 65536) {
    return broken("too many arrays");
  }
  uint64_t arrays = (uint64_t)w[TSRI_LANE_H_BUFFERS] + w[TSRI_LANE_H_SHARED] + w[TSRI_LANE_H_LOCALS];
  if (!table_fits(w, w[TSRI_LANE_H_PARAMS_AT], w[TSRI_LANE_H_PARAMS], TSRI_LANE_PARAM_WORDS) ||
      !table_fits(w, w[TSRI_LANE_H_CONSTS_AT], w[TSRI_LANE_H_CONSTS], 2) ||
      !table_fits(w, w[TSRI_LANE_H_ARRAYS_AT], arrays, TSRI_LANE_ARRAY_WORDS) ||
      !table_fits(w, w[TSRI_LANE_H_INSNS_AT], w[TSRI_LANE_H_INSNS], TSRI_LANE_INSN_WORDS) ||
      !table_fits(w, w[TSRI_LANE_H_TEXT_AT], ((uint64_t)w[TSRI_LANE_H_TEXT_BYTES] + 3) / 4, 1)) {
    return broken("a table lies outside");
  }
  if (w[TSRI_LANE_H_INSNS] == 0 || w[TSRI_LANE_H_INSNS] > TSRI_LANE_MAX_INSNS) return broken("count of instructions");
  return TSR_OK;
}

static tsr_status check_text(const uint32_t *w) {
  uint32_t bytes = w[TSRI_LANE_H_TEXT_BYTES];
  const char *text = (const char *)(w + w[TSRI_LANE_H_TEXT_AT]);
  if (bytes == 0 || text[bytes - 1] != '\0') return broken("names");
  if (w[TSRI_LANE_H_NAME] >= bytes || w[TSRI_LANE_H_FILE] >= bytes) return broken("names");
  return TSR_OK;
}

static tsr_status check_params(const uint32_t *w) {
  const uint32_t *param = w + w[TSRI_LANE_H_PARAMS_AT];
  if (w[TSRI_LANE_H_PARAMS_BYTES] % 4 != 0) return broken("size of the parameters");
  for (uint32_t i = 0; i < w[TSRI_LANE_H_PARAMS]; i++, param += TSRI_LANE_PARAM_WORDS) {
    if (param[1] != 4 && param[1] != 8) return broken("size of a parameter");
    if ((uint64_t)param[0] + param[1] > w[TSRI_LANE_H_PARAMS_BYTES]) return broken("place of a parameter");
  }
  return TSR_OK;
}

static uint8_t value_bytes_of(uint32_t dtype) { return dtype == TSR_I64 || dtype == TSR_F64 ? 8 : 4; }

static tsr_status read_arrays(tsri_lanes_program *p) {
  const uint32_t *w = p->words, *entry = w + w[TSRI_LANE_H_ARRAYS_AT];
  const char *text = (const char *)(w + w[TSRI_LANE_H_TEXT_AT]);
  uint32_t count = p->buffer_count + p->shared_count + p->local_count;
  uint64_t shared_bytes = 0, local_bytes = 0;
  for (uint32_t i = 0; i < count; i++, entry += TSRI_LANE_ARRAY_WORDS) {
    uint32_t dtype = entry[0] & 0xff;
    bool has_place = entry[2] < w[TSRI_LANE_H_TEXT_BYTES] && entry[0] >> 16 <= TSRI_IR_MAX_DIMS;
    if (dtype >= TSR_DTYPE_COUNT || !has_place) return broken("an array");
    lane_array_info *array = &p->arrays[i];
    *array = (lane_array_info){
        .dtype = (uint8_t)dtype,
        .element_bytes = (uint8_t)tsr_dtype_bytes((tsr_dtype)dtype),
        .value_bytes = value_bytes_of(dtype),
        .is_loaded = (entry[0] >> 8 & TSRI_LANE_ARRAY_LOADED) != 0,
        .is_stored = (entry[0] >> 8 & TSRI_LANE_ARRAY_STORED) != 0,
        .count = entry[1],
        .name = text + entry[2],
        .dim_count = entry[0] >> 16,
        .dims = entry + 3,
    };
    while (1u << array->element_shift < array->element_bytes) array->element_shift++;
    if (i < p->buffer_count) continue;
    if (array->count == 0) return broken("an array without elements");
    if (i < p->buffer_count + p->shared_count) {
      shared_bytes += (uint64_t)array->count * array->element_bytes;
    } else {
      local_bytes += (uint64_t)array->count * array->value_bytes;
    }
  }
  if (shared_bytes > (1u << 24) || local_bytes > (1u << 20)) return broken("arrays are too large");
  return TSR_OK;
}

// --- Instructions -----------------------------------------------------------------------------------------------------

typedef struct checker {
  tsri_lanes_program *p;
  uint32_t kind_first[TSRI_LANE_KINDS], kind_count[TSRI_LANE_KINDS];
  uint8_t *writes;  // per register of lane_work.reg: bit 0: written by loads with ALIAS, bit 1: written by others
} checker;

// Which registers an operand may be.
enum { SCALAR_OK = 1, LANES_OK = 2 };

// Replaces the operand's word by the register's index in lane_work.reg, after checking it.
static bool resolve(const checker *c, uint32_t *word, unsigned may, uint32_t bytes) {
  uint32_t kind = TSRI_LANE_KIND(*word), number = TSRI_LANE_NUMBER(*word);
  if (kind == 0 || kind >= TSRI_LANE_KINDS || number >= c->kind_count[kind]) return false;
  if (kind <= TSRI_LANE_SCALAR) {
    if (!(may & SCALAR_OK)) return false;
  } else {
    if (!(may & LANES_OK) || bytes != (kind == TSRI_LANE_REG_4 ? 4u : 8u)) return false;
  }
  *word = c->kind_first[kind] + number;
  return true;
}

static bool is_scalar(const checker *c, uint32_t reg) { return reg < c->p->scalar_count; }

static bool is_writable(const checker *c, uint32_t reg) { return reg >= c->kind_first[TSRI_LANE_SCALAR]; }

// Whether the operand is absent; if so, replaces the word by LANE_NONE.
static bool clear_absent(uint32_t *word) {
  if (*word != TSRI_LANE_ABSENT) return false;
  *word = LANE_NONE;
  return true;
}

static bool check_operand(const checker *c, const lane_insn *insn, uint32_t at, uint8_t kind, uint32_t *word) {
  const tsri_lanes_program *p = c->p;
  uint32_t index_bytes = insn->form == TSRI_LANE_INDEX_I64 ? 8 : 4;
  uint32_t arrays = p->buffer_count + p->shared_count + p->local_count;
  uint32_t value_bytes = insn->a < arrays ? p->arrays[insn->a].value_bytes : 0;  // `a` still has the array's number
  switch ((operand_kind)kind) {
    case IS_NO:
      return clear_absent(word);
    case IS_S:
      return resolve(c, word, SCALAR_OK, 8);
    case IS_R4:
      return resolve(c, word, LANES_OK, 4);
    case IS_R8:
      return resolve(c, word, LANES_OK, 8);
    case IS_X4:
      return resolve(c, word, SCALAR_OK | LANES_OK, 4);
    case IS_X8:
      return resolve(c, word, SCALAR_OK | LANES_OK, 8);
    case IS_OR4:
      return clear_absent(word) || resolve(c, word, LANES_OK, 4);
    case IS_OX4:
      return clear_absent(word) || resolve(c, word, SCALAR_OK | LANES_OK, 4);
    case IS_OX8:
      return clear_absent(word) || resolve(c, word, SCALAR_OK | LANES_OK, 8);
    case IS_XV:
      return resolve(c, word, SCALAR_OK | LANES_OK, value_bytes);
    case IS_RV:
      return resolve(c, word, LANES_OK, value_bytes);
    case IS_SV:
      return resolve(c, word, SCALAR_OK, value_bytes);
    case IS_XI:
      return insn->form < TSRI_LANE_INDEX_KINDS && resolve(c, word, SCALAR_OK | LANES_OK, index_bytes);
    case IS_SI:
      return insn->form < TSRI_LANE_INDEX_KINDS && resolve(c, word, SCALAR_OK, index_bytes);
    case IS_RI:
      return insn->form < TSRI_LANE_INDEX_KINDS && resolve(c, word, LANES_OK, index_bytes);
    case IS_ARR:
      return *word < p->buffer_count + p->shared_count;
    case IS_LOC:
      return *word >= p->buffer_count + p->shared_count && *word < arrays;
    case IS_SAVE:
      return *word < p->save_count;
    case IS_FWD:
      return *word > at && *word < p->insn_count;
    case IS_BACK:
      return *word <= at;
    case IS_IMM:
    case IS_POS:
      return true;
  }
  return false;
}

static bool check_collective(const lane_insn *insn, tsri_ir_scope scope, uint32_t value_bytes) {
  if (insn->e >= TSRI_COLLECTIVE_COUNT || insn->d >= TSR_DTYPE_COUNT) return false;
  const tsri_ir_collective_info *info = &tsri_ir_collective_infos[insn->e];
  if (info->scope != (uint8_t)scope || value_bytes_of(insn->d) != value_bytes) return false;
  bool is_value = insn->d == TSR_BOOL || insn->d == TSR_I32 || insn->d == TSR_U32 || insn->d == TSR_F32 ||
                  insn->d == TSR_I64 || insn->d == TSR_F64;
  return is_value && (info->arity == 2) == (insn->b != LANE_NONE);
}

static bool check_function(const checker *c, lane_insn *insn) {
  if (insn->e >= TSRI_OP_COUNT || function_arity[insn->e] == 0) return false;
  bool has_b = insn->b != LANE_NONE;
  if (has_b != (function_arity[insn->e] == 2)) return false;
  bool wanted = is_scalar(c, insn->dst);
  if (is_scalar(c, insn->a) != wanted || (has_b && is_scalar(c, insn->b) != wanted)) return false;
  if (!has_b) insn->b = insn->a;
  insn->e = function_number[insn->e];
  return true;
}

static bool check_atomic(const checker *c, const lane_insn *insn) {
  uint8_t dtype = c->p->arrays[insn->a].dtype;
  if (dtype != TSR_I32 && dtype != TSR_U32) return false;
  if (insn->e >= TSRI_ATOMIC_COUNT) return false;
  return (insn->e == TSRI_ATOMIC_COMPARE_EXCHANGE) == (insn->d != LANE_NONE);
}

// Checks what does not follow from the kinds of operands.
static bool check_by_op(const checker *c, lane_insn *insn) {
  switch (insn->op) {
    case TSRI_LANE_GROUP_32:
      return check_collective(insn, TSRI_SCOPE_GROUP, 4);
    case TSRI_LANE_GROUP_64:
      return check_collective(insn, TSRI_SCOPE_GROUP, 8);
    case TSRI_LANE_SUBGROUP_32:
      return check_collective(insn, TSRI_SCOPE_SUBGROUP, 4);
    case TSRI_LANE_SUBGROUP_64:
      return check_collective(insn, TSRI_SCOPE_SUBGROUP, 8);
    case TSRI_LANE_MATH_F32:
    case TSRI_LANE_MATH_F64:
      return check_function(c, insn);
    case TSRI_LANE_ATOMIC:
      return check_atomic(c, insn);
    default:
      return true;
  }
}

// False for instructions whose dst is read, or is not a register.
static bool writes_dst(uint16_t op) {
  switch (op) {
    case TSRI_LANE_END:
    case TSRI_LANE_JUMP:
    case TSRI_LANE_LOOP:
    case TSRI_LANE_JUMP_UNLESS:
    case TSRI_LANE_JUMP_IF:
    case TSRI_LANE_SAVE:
    case TSRI_LANE_RESTORE:
    case TSRI_LANE_LEAVE:
    case TSRI_LANE_STORE_SCALAR:
    case TSRI_LANE_STORE_AFFINE:
    case TSRI_LANE_STORE_LANES:
    case TSRI_LANE_LOCAL_STORE:
    case TSRI_LANE_LOCAL_CLEAR:
      return false;
    default:
      return true;
  }
}

static bool is_wide_load(uint16_t op) { return op == TSRI_LANE_LOAD_AFFINE || op == TSRI_LANE_LOAD_LANES; }

static bool note_write(const checker *c, const lane_insn *insn) {
  if (insn->op == TSRI_LANE_LEAVE) {
    c->writes[insn->a] |= 2;
    return true;
  }
  if (!writes_dst(insn->op) || insn->dst == LANE_NONE) return true;
  if (!is_writable(c, insn->dst)) return false;
  bool is_alias = (insn->flags & TSRI_LANE_ALIAS) && is_wide_load(insn->op);
  c->writes[insn->dst] |= is_alias ? 1 : 2;
  return true;
}

static tsr_status check_control(const checker *c, uint32_t at, lane_insn *insn) {
  uint32_t *words[7] = {&insn->dst, &insn->a, &insn->b, &insn->c, &insn->d, &insn->e, &insn->f};
  const uint8_t *kinds = control_kinds[insn->op];
  for (unsigned i = 0; i < 7; i++) {
    if (!check_operand(c, insn, at, kinds[i], words[i])) return broken_insn(at, "an operand does not fit");
    bool is_register = kinds[i] >= IS_S && kinds[i] <= IS_RI && *words[i] != LANE_NONE;
    if (is_register) c->p->reg_slots[at] |= (uint8_t)(1u << i);
  }
  if (!check_by_op(c, insn)) return broken_insn(at, "operands do not fit together");
  if (TSRI_LANE_PART_OF(insn->flags) >= TSRI_LANE_WIDE_OF(insn->flags) || TSRI_LANE_WIDE_OF(insn->flags) > 4) {
    return broken_insn(at, "flags");
  }
  return TSR_OK;
}

// The EXEC_* of scalar instructions that are frequent enough to be executed without a call.
static uint16_t scalar_exec(uint32_t op) {
  switch (op) {
    case TSRI_LANE_ADD_U32:
      return EXEC_ADD_32;
    case TSRI_LANE_MUL_U32:
      return EXEC_MUL_32;
    case TSRI_LANE_LT_U32:
      return EXEC_LT_U32;
    case TSRI_LANE_MOVE_32:
    case TSRI_LANE_MOVE_64:
      return EXEC_MOVE_64;
    default:
      return EXEC_SCALAR;
  }
}

static tsr_status check_math(const checker *c, uint32_t at, lane_insn *insn) {
  uint32_t op = insn->op - (uint32_t)TSRI_LANE_FIRST_MATH;
  const uint8_t *bytes = math_bytes[op];
  if (insn->d != TSRI_LANE_ABSENT || insn->e != TSRI_LANE_ABSENT || insn->f != TSRI_LANE_ABSENT) {
    return broken_insn(at, "an operand too many");
  }
  if (!resolve(c, &insn->dst, SCALAR_OK | LANES_OK, bytes[0])) return broken_insn(at, "its result does not fit");
  c->p->reg_slots[at] = 0xf;  // operands that it does not have repeat the first
  bool to_scalar = is_scalar(c, insn->dst);
  uint32_t *words[3] = {&insn->a, &insn->b, &insn->c};
  unsigned scalars = 0;
  for (unsigned i = 0; i < 3; i++) {
    if (bytes[i + 1] == 0) {
      if (*words[i] != TSRI_LANE_ABSENT) return broken_insn(at, "an operand too many");
      *words[i] = insn->a;
      continue;
    }
    unsigned may = to_scalar ? SCALAR_OK : SCALAR_OK | LANES_OK;
    if (!resolve(c, words[i], may, bytes[i + 1])) return broken_insn(at, "an operand does not fit");
    if (is_scalar(c, *words[i])) scalars |= 1u << i;
  }
  static const uint8_t binary_forms[4] = {TSRI_LANE_FORM_VV, TSRI_LANE_FORM_SV, TSRI_LANE_FORM_VS, TSRI_LANE_FORMS};
  unsigned form = bytes[3] ? ((scalars & 1u) ? (unsigned)TSRI_LANE_FORMS : scalars >> 1)
                           : (bytes[2] ? binary_forms[scalars] : scalars);
  if (to_scalar) form = 0;
  if (form >= TSRI_LANE_FORMS || !tsri_lanes_isa_for(NULL)->ops[op][form]) return broken_insn(at, "no such form");
  uint16_t lanes_op = (insn->flags & TSRI_LANE_MERGE) ? EXEC_MERGE : EXEC_LANES;
  bool is_product = insn->op == TSRI_LANE_MULADD_F32 || insn->op == TSRI_LANE_FMA_F32;
  if (is_product && (insn->flags & TSRI_LANE_ROWS)) {
    if (form != 0 || to_scalar) return broken_insn(at, "rows are of lanes");
    lanes_op = EXEC_MULADD_ROWS;
  }
  insn->form = (uint8_t)form;
  insn->d = bytes[0];
  insn->e = op;
  insn->op = to_scalar ? scalar_exec(insn->op) : lanes_op;
  return TSR_OK;
}

static tsr_status check_insns(checker *c) {
  tsri_lanes_program *p = c->p;
  const uint32_t *word = p->words + p->words[TSRI_LANE_H_INSNS_AT];
  for (uint32_t i = 0; i < p->insn_count; i++, word += TSRI_LANE_INSN_WORDS) {
    lane_insn *insn = &p->insns[i];
    *insn = (lane_insn){.op = (uint16_t)word[0],
                        .form = (uint8_t)(word[0] >> 16),
                        .flags = (uint8_t)(word[0] >> 24),
                        .dst = word[1],
                        .a = word[2],
                        .b = word[3],
                        .c = word[4],
                        .d = word[5],
                        .e = word[6],
                        .f = word[7]};
    if (insn->op >= TSRI_LANE_OPS) return broken_insn(i, "unknown");
    bool is_math = insn->op >= TSRI_LANE_FIRST_MATH;
    tsr_status status = is_math ? check_math(c, i, insn) : check_control(c, i, insn);
    if (status != TSR_OK) return status;
    if (!note_write(c, insn)) return broken_insn(i, "writes a constant");
  }
  if (p->insns[p->insn_count - 1].op != TSRI_LANE_END) return broken("it has no end");
  uint32_t registers = p->scalar_count + p->reg4_count + p->reg8_count;
  for (uint32_t i = 0; i < registers; i++) {
    if (c->writes[i] == 3) return broken("a register for aliases has another use");
  }
  return TSR_OK;
}

static checker make_checker(tsri_lanes_program *p) {
  const uint32_t *w = p->words;
  checker c = {.p = p};
  const uint32_t counts[TSRI_LANE_KINDS] = {
      [TSRI_LANE_PLACE] = TSRI_LANE_PLACES,      [TSRI_LANE_PARAM] = w[TSRI_LANE_H_PARAMS],
      [TSRI_LANE_CONST] = w[TSRI_LANE_H_CONSTS], [TSRI_LANE_SCALAR] = w[TSRI_LANE_H_SCALARS],
      [TSRI_LANE_REG_4] = w[TSRI_LANE_H_REGS_4], [TSRI_LANE_REG_8] = w[TSRI_LANE_H_REGS_8],
  };
  uint32_t first = 0;
  for (int i = TSRI_LANE_PLACE; i < TSRI_LANE_KINDS; i++) {
    c.kind_first[i] = first;
    c.kind_count[i] = counts[i];
    first += counts[i];
  }
  p->scalar_count = c.kind_first[TSRI_LANE_REG_4];
  p->reg4_count = counts[TSRI_LANE_REG_4];
  p->reg8_count = counts[TSRI_LANE_REG_8];
  return c;
}

// --- The program ------------------------------------------------------------------------------------------------------

// Chooses the lanes of a block: those of a group; or, if groups are merged, as many as fit with all registers in the first-level cache.
static uint32_t choose_lanes(const tsri_lanes_program *p, uint8_t *writes) {
  uint32_t group = p->group[0] * p->group[1] * p->group[2];
  if (!p->is_merged) return group;
  // Each block costs some 80 ns, besides the work on its lanes.
  enum { CACHE_BYTES = 24 << 10, LEAST = 128, MOST = 16384, MOST_WIDE = 128 };
  uint32_t bytes = 0, registers = p->scalar_count + p->reg4_count + p->reg8_count;
  // POINTS: only LOAD_UNIT writes the register, which then mostly refers to memory. HOLDS: it has its own memory.
  enum { POINTS = 4, HOLDS = 8 };
  for (uint32_t i = 0; i < p->insn_count; i++) {
    const lane_insn *insn = &p->insns[i];
    // Wide accesses are executed outside strips: with short blocks, reading and writing the same data stays close together.
    if (insn->op == EXEC_LOAD_WIDE || insn->op == EXEC_STORE_WIDE) return MOST_WIDE;
    if (!(p->reg_slots[i] & 1)) continue;
    writes[insn->dst] |= insn->op == EXEC_LOAD_UNIT ? POINTS : HOLDS;
  }
  for (uint32_t i = p->scalar_count; i < registers; i++) {
    bool is_kept = !p->is_internal[i] && (writes[i] & (POINTS | HOLDS)) != POINTS;
    if (is_kept) bytes += i < p->scalar_count + p->reg4_count ? 4 : 8;
  }
  for (uint32_t i = 0; i < p->local_count; i++) {
    const lane_array_info *local = &p->arrays[p->buffer_count + p->shared_count + i];
    bytes += local->count * local->value_bytes;
  }
  uint32_t lanes = CACHE_BYTES / (bytes > 0 ? bytes : 1) / 64 * 64;
  return lanes < LEAST ? LEAST : lanes > MOST ? MOST : lanes;
}

static bool has_loop(const tsri_lanes_program *p) {
  for (uint32_t i = 0; i < p->insn_count; i++) {
    if (p->insns[i].op == TSRI_LANE_LOOP) return true;
  }
  return false;
}

static tsr_status fill_program(tsri_lanes_program *p) {
  const uint32_t *w = p->words;
  const char *text = (const char *)(w + w[TSRI_LANE_H_TEXT_AT]);
  p->name = text + w[TSRI_LANE_H_NAME];
  p->file = text + w[TSRI_LANE_H_FILE];
  p->is_checked = (w[TSRI_LANE_H_FLAGS] & TSRI_LANE_CHECKED) != 0;
  p->is_merged = (w[TSRI_LANE_H_FLAGS] & TSRI_LANE_MERGED) != 0;
  for (int i = 0; i < 3; i++) p->group[i] = w[TSRI_LANE_H_GROUP_X + i];
  if (p->is_merged && (p->group[1] != 1 || p->group[2] != 1 || w[TSRI_LANE_H_SHARED] != 0)) {
    return broken("such groups cannot be merged");
  }
  p->cost = w[TSRI_LANE_H_COST];
  p->params_bytes = w[TSRI_LANE_H_PARAMS_BYTES];
  p->param_count = w[TSRI_LANE_H_PARAMS];
  p->params = w + w[TSRI_LANE_H_PARAMS_AT];
  p->const_count = w[TSRI_LANE_H_CONSTS];
  p->consts = w + w[TSRI_LANE_H_CONSTS_AT];
  p->save_count = w[TSRI_LANE_H_SAVES];
  p->buffer_count = w[TSRI_LANE_H_BUFFERS];
  p->shared_count = w[TSRI_LANE_H_SHARED];
  p->local_count = w[TSRI_LANE_H_LOCALS];
  p->insn_count = w[TSRI_LANE_H_INSNS];

  uint32_t arrays = p->buffer_count + p->shared_count + p->local_count;
  p->arrays = tsri_calloc(arrays + 1, sizeof *p->arrays);
  p->insns = tsri_calloc(p->insn_count, sizeof *p->insns);
  p->strips = tsri_calloc(3 * (size_t)p->insn_count, 1);
  if (p->strips) {
    p->reg_slots = p->strips + p->insn_count;
    p->rounds = p->reg_slots + p->insn_count;
  }
  checker c = make_checker(p);
  size_t registers = (size_t)p->scalar_count + p->reg4_count + p->reg8_count;
  c.writes = tsri_calloc(registers, 1);
  p->is_internal = tsri_calloc(registers, sizeof *p->is_internal);
  tsr_status status = TSR_OK;
  if (!p->arrays || !p->insns || !p->strips || !p->is_internal || !c.writes) {
    status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its program", p->name);
  }
  if (status == TSR_OK) status = read_arrays(p);
  if (status == TSR_OK) status = check_insns(&c);
  if (status == TSR_OK) status = tsri_lanes_shorten(p);
  if (status == TSR_OK) {
    p->lanes = choose_lanes(p, c.writes);
    p->has_loop = has_loop(p);
  }
  tsri_free(c.writes);
  return status;
}

tsr_status tsri_lanes_prepare(const void *words, size_t bytes, tsri_lanes_program **out_program) {
  *out_program = NULL;
  if (bytes % 4 != 0 || bytes / 4 < TSRI_LANE_HEADER_WORDS || bytes / 4 > UINT32_MAX) {
    return TSRI_FAIL(TSR_ERR_BUILD, "this is no lane bytecode");
  }
  tsri_lanes_program *p = tsri_calloc(1, sizeof *p);
  if (p) p->words = tsri_malloc(bytes);
  if (!p || !p->words) {
    tsri_free(p);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for lane bytecode of %zu bytes", bytes);
  }
  memcpy(p->words, words, bytes);
  tsr_status status = check_header(p->words, bytes / 4);
  if (status == TSR_OK) status = check_text(p->words);
  if (status == TSR_OK) status = check_params(p->words);
  if (status == TSR_OK) status = fill_program(p);
  if (status != TSR_OK) {
    tsri_lanes_release(p);
    return status;
  }
  *out_program = p;
  return TSR_OK;
}

void tsri_lanes_release(tsri_lanes_program *program) {
  if (!program) return;
  tsri_lanes_drop_works(program);
  tsri_jit_drop(program);
  tsri_free(program->arrays);
  tsri_free(program->insns);
  tsri_free(program->strips);
  tsri_free(program->is_internal);
  tsri_free(program->words);
  tsri_free(program);
}
