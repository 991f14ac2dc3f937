// SPDX-License-Identifier: MIT
// Lane bytecode as text.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/lanes/code.h"
#include "lang/emit/lanes/lanes.h"

static const char *const op_names[] = {
#define TSRI_X(name, ...) #name,
    TSRI_LANE_CONTROL(TSRI_X) TSRI_LANE_UNARY(TSRI_X) TSRI_LANE_BINARY(TSRI_X) TSRI_LANE_TERNARY(TSRI_X)
#undef TSRI_X
};

// Per word (dst a b c d e f): register, number (n), or nothing to print (a blank).
static const char *shape_of(uint32_t op) {
  switch (op) {
    case TSRI_LANE_JUMP:
    case TSRI_LANE_LOOP:
      return "   n";
    case TSRI_LANE_JUMP_UNLESS:
    case TSRI_LANE_JUMP_IF:
      return " r n";
    case TSRI_LANE_SAVE:
    case TSRI_LANE_RESTORE:
      return "n";
    case TSRI_LANE_NARROW:
      return "rr n";
    case TSRI_LANE_NARROW_AFFINE:
      return "rrrnrrr";
    case TSRI_LANE_DROP:
      return "rrrn";
    case TSRI_LANE_LOAD_SCALAR:
    case TSRI_LANE_LOAD_AFFINE:
    case TSRI_LANE_LOAD_LANES:
    case TSRI_LANE_STORE_SCALAR:
    case TSRI_LANE_STORE_AFFINE:
    case TSRI_LANE_STORE_LANES:
    case TSRI_LANE_LOCAL_LOAD:
    case TSRI_LANE_LOCAL_STORE:
      return "rnrrrr";
    case TSRI_LANE_LOCAL_CLEAR:
      return " n";
    case TSRI_LANE_ATOMIC:
      return "rnrrrn";
    case TSRI_LANE_GROUP_32:
    case TSRI_LANE_GROUP_64:
    case TSRI_LANE_SUBGROUP_32:
    case TSRI_LANE_SUBGROUP_64:
      return "rrr nn";
    case TSRI_LANE_MATH_F32:
    case TSRI_LANE_MATH_F64:
      return "rrr  n";
    default:
      return "rrrrr";
  }
}

static int print_operand(char *to, size_t room, char shape, uint32_t word, const uint32_t *words) {
  static const char letters[] = "?gpksrd";  // place, parameter, constant, scalar, 4 bytes, 8 bytes
  if (shape == ' ' || (shape == 'r' && word == TSRI_LANE_ABSENT)) return 0;
  if (shape == 'n') return snprintf(to, room, " %u", word);
  uint32_t kind = TSRI_LANE_KIND(word), number = TSRI_LANE_NUMBER(word);
  if (kind == TSRI_LANE_CONST && number < words[TSRI_LANE_H_CONSTS]) {
    return snprintf(to, room, " #%x", words[words[TSRI_LANE_H_CONSTS_AT] + 2 * number]);
  }
  return snprintf(to, room, " %c%u", kind < TSRI_LANE_KINDS ? letters[kind] : '?', number);
}

static int print_insn(char *to, size_t room, uint32_t index, const uint32_t *insn, const uint32_t *words) {
  uint32_t op = insn[0] & 0xffff, form = insn[0] >> 16 & 0xff, flags = insn[0] >> 24;
  const char *shape = shape_of(op);
  int length = snprintf(
      to, room, "%4u %s%s%s%s%s", index, op < TSRI_LANE_OPS ? op_names[op] : "?",
      flags & TSRI_LANE_MERGE ? ".merge" : "", flags & TSRI_LANE_ALIAS ? ".alias" : "",
      flags & TSRI_LANE_INVERT ? (op == TSRI_LANE_NARROW || op == TSRI_LANE_NARROW_AFFINE ? ".invert" : ".rows") : "",
      flags & TSRI_LANE_OR_EQUAL && op == TSRI_LANE_NARROW_AFFINE ? ".or_equal" : "");
  if (form != 0) length += snprintf(to + length, room - (size_t)length, ".%u", form);
  for (size_t i = 0; shape[i] != '\0' && i < 7; i++) {
    length += print_operand(to + length, room - (size_t)length, shape[i], insn[1 + i], words);
  }
  length += snprintf(to + length, room - (size_t)length, "\n");
  return length;
}

char *tsri_lanes_print(const uint32_t *words, size_t bytes) {
  enum { LINE_BYTES = 192 };
  size_t count = bytes / sizeof(uint32_t);
  if (count < TSRI_LANE_HEADER_WORDS || words[TSRI_LANE_H_WORDS] != count) return NULL;
  uint64_t insns = words[TSRI_LANE_H_INSNS], at = words[TSRI_LANE_H_INSNS_AT];
  uint64_t consts = (uint64_t)words[TSRI_LANE_H_CONSTS] * 2 + words[TSRI_LANE_H_CONSTS_AT];
  if (at + insns * TSRI_LANE_INSN_WORDS > count || consts > count) return NULL;
  size_t room = ((size_t)insns + 1) * LINE_BYTES, used = 0;
  char *text = tsri_malloc(room);
  if (!text) return NULL;
  used += (size_t)snprintf(text, room, "lanes%s%s, registers: %u scalar, %u of 4 bytes, %u of 8\n",
                           words[TSRI_LANE_H_FLAGS] & TSRI_LANE_CHECKED ? ", checked" : "",
                           words[TSRI_LANE_H_FLAGS] & TSRI_LANE_MERGED ? ", merged" : "", words[TSRI_LANE_H_SCALARS],
                           words[TSRI_LANE_H_REGS_4], words[TSRI_LANE_H_REGS_8]);
  for (uint32_t i = 0; i < insns; i++) {
    used += (size_t)print_insn(text + used, LINE_BYTES, i, words + at + (size_t)i * TSRI_LANE_INSN_WORDS, words);
  }
  return text;
}
