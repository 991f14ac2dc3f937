// SPDX-License-Identifier: MIT
// Encodes aarch64 instructions as words, and prints them.
#include "backends/cpu/jit/arm64.h"

#include <assert.h>
#include <string.h>

typedef enum arm64_insn_form {
  FORM_S3,
  FORM_B3,
  FORM_S2,
  FORM_B2,
  FORM_LH,
  FORM_LS,
  FORM_LB,
  FORM_NS,
  FORM_NH,
  FORM_DUP
} arm64_insn_form;

static const struct {
  const char *text;
  uint32_t form, word;
} insns[ARM64_INSN_COUNT] = {
#define TSRI_X(name, text, form, word) {text, FORM_##form, word},
    ARM64_VECTOR_INSNS(TSRI_X)
#undef TSRI_X
};

// The suffixes of the operands' registers in the listing, for each form. NULL: no such operand.
static const struct {
  const char *to, *first, *second, *end;
} arrangements[] = {
    [FORM_S3] = {"4s", "4s", "4s", ""},     [FORM_B3] = {"16b", "16b", "16b", ""},
    [FORM_S2] = {"4s", "4s", NULL, ""},     [FORM_B2] = {"16b", "16b", NULL, ""},
    [FORM_LH] = {"4s", "4h", NULL, ""},     [FORM_LS] = {"4s", "4h", NULL, ", #0"},
    [FORM_LB] = {"8h", "8b", NULL, ", #0"}, [FORM_NS] = {"4h", "4s", NULL, ""},
    [FORM_NH] = {"8b", "8h", NULL, ""},     [FORM_DUP] = {"4s", "s[0]", NULL, ""},
};

static void put(machine_code *code, uint32_t word) {
  const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
  tsri_code_put(code, bytes, sizeof bytes);
}

// Puts a register's number into the fields that nearly all instructions have.
static uint32_t at_0(int reg) { return (uint32_t)reg; }
static uint32_t at_5(int reg) { return (uint32_t)reg << 5; }
static uint32_t at_16(int reg) { return (uint32_t)reg << 16; }

static const char *general_name(int reg) {
  static const char *const names[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
                                      "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
                                      "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};
  return names[reg];
}

// --- Vector instructions ------------------------------------------------------------------------------------------------

void tsri_arm64_vector(machine_code *code, arm64_insn insn, int to, int first, int second) {
  uint32_t form = insns[insn].form;
  bool has_second = arrangements[form].second != NULL;
  CODE_LIST(code, "  %s v%d.%s, v%d.%s", insns[insn].text, to, arrangements[form].to, first, arrangements[form].first);
  if (has_second) CODE_LIST(code, ", v%d.%s", second, arrangements[form].second);
  CODE_LIST(code, "%s\n", arrangements[form].end);
  put(code, insns[insn].word | (has_second ? at_16(second) : 0) | at_5(first) | at_0(to));
}

void tsri_arm64_vector_copy(machine_code *code, int to, int from) {
  CODE_LIST(code, "  mov v%d.16b, v%d.16b\n", to, from);
  put(code, insns[ARM64_ORR].word | at_16(from) | at_5(from) | at_0(to));
}

void tsri_arm64_vector_shift(machine_code *code, arm64_shift shift, int to, int from, int bits) {
  static const char *const names[] = {"shl", "ushr", "sshr"};
  static const uint32_t words[] = {0x4f005400, 0x6f000400, 0x4f000400};
  CODE_LIST(code, "  %s v%d.4s, v%d.4s, #%d\n", names[shift], to, from, bits);
  uint32_t field = shift == ARM64_SHL ? 32u + (uint32_t)bits : 64u - (uint32_t)bits;
  put(code, words[shift] | field << 16 | at_5(from) | at_0(to));
}

// Loads have bit 22 set, stores do not. The displacement is counted in elements of the size.
static void put_access(machine_code *code, uint32_t word, int size_log2, int reg, int base, int disp) {
  assert(disp >= 0 && disp % (1 << size_log2) == 0 && disp >> size_log2 < 4096);
  put(code, word | (uint32_t)(disp >> size_log2) << 10 | at_5(base) | at_0(reg));
}

static void put_vector_access(machine_code *code, bool is_load, arm64_size size, int reg, int base, int disp) {
  static const char letters[] = {'s', 'd', 'q'};
  static const uint32_t words[] = {0xbd000000, 0xfd000000, 0x3d800000};
  CODE_LIST(code, "  %s %c%d, [%s, #%d]\n", is_load ? "ldr" : "str", letters[size], reg, general_name(base), disp);
  put_access(code, words[size] | (is_load ? 1u << 22 : 0u), (int)size + 2, reg, base, disp);
}

void tsri_arm64_vector_load(machine_code *code, arm64_size size, int to, int base, int disp) {
  put_vector_access(code, true, size, to, base, disp);
}

void tsri_arm64_vector_store(machine_code *code, arm64_size size, int from, int base, int disp) {
  put_vector_access(code, false, size, from, base, disp);
}

// --- General instructions -------------------------------------------------------------------------------------------------

void tsri_arm64_load(machine_code *code, int to, int base, int disp) {
  CODE_LIST(code, "  ldr %s, [%s, #%d]\n", general_name(to), general_name(base), disp);
  put_access(code, 0xf9400000, 3, to, base, disp);
}

void tsri_arm64_store(machine_code *code, int from, int base, int disp) {
  CODE_LIST(code, "  str %s, [%s, #%d]\n", general_name(from), general_name(base), disp);
  put_access(code, 0xf9000000, 3, from, base, disp);
}

void tsri_arm64_clear(machine_code *code, int reg) {
  CODE_LIST(code, "  mov %s, #0\n", general_name(reg));
  put(code, 0xd2800000 | at_0(reg));
}

void tsri_arm64_add_number(machine_code *code, int to, int from, int number) {
  uint32_t size = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
  bool is_shifted = size >= 4096;
  assert(!is_shifted || (size % 4096 == 0 && size < 1u << 24));
  CODE_LIST(code, "  %s %s, %s, #%u\n", number < 0 ? "sub" : "add", general_name(to), general_name(from), size);
  uint32_t word = number < 0 ? 0xd1000000 : 0x91000000;
  put(code, word | (is_shifted ? 1u << 22 | size >> 12 << 10 : size << 10) | at_5(from) | at_0(to));
}

void tsri_arm64_add(machine_code *code, int to, int first, int second, int shift) {
  CODE_LIST(code, "  add %s, %s, %s, lsl #%d\n", general_name(to), general_name(first), general_name(second), shift);
  put(code, 0x8b000000 | at_16(second) | (uint32_t)shift << 10 | at_5(first) | at_0(to));
}

void tsri_arm64_count_down(machine_code *code, int reg) {
  CODE_LIST(code, "  subs %s, %s, #1\n", general_name(reg), general_name(reg));
  put(code, 0xf1000000 | 1u << 10 | at_5(reg) | at_0(reg));
}

void tsri_arm64_compare(machine_code *code, int left, int right) {
  enum { TO_NOWHERE = 31 };
  CODE_LIST(code, "  cmp %s, %s\n", general_name(left), general_name(right));
  put(code, 0xeb000000 | at_16(right) | at_5(left) | at_0(TO_NOWHERE));
}

// The distance is counted in words, from the jump itself.
static void put_jump(machine_code *code, uint32_t condition, size_t target) {
  uint32_t words = (uint32_t)(((int64_t)target - (int64_t)code->count) / 4) & 0x7ffff;
  put(code, 0x54000000 | words << 5 | condition);
}

void tsri_arm64_jump_if_below(machine_code *code, size_t target) {
  CODE_LIST(code, "  b.lo loop\n");
  put_jump(code, 3, target);
}

void tsri_arm64_jump_if_not_zero(machine_code *code, size_t target) {
  CODE_LIST(code, "  b.ne round\n");
  put_jump(code, 1, target);
}

void tsri_arm64_return(machine_code *code) {
  CODE_LIST(code, "  ret\n");
  put(code, 0xd65f03c0);
}

// --- The pool ---------------------------------------------------------------------------------------------------------

void tsri_arm64_pool_address(machine_code *code, int to) {
  CODE_LIST(code, "  adr %s, pool\n", general_name(to));
  tsri_code_add_fixup(code, code->count);
  put(code, 0x10000000 | at_0(to));
}

// The two low bits of an address' distance are in bits 29 and 30 of adr, the others from bit 5 on.
static void fix_address(uint8_t *bytes, uint32_t distance) {
  assert(distance < 1u << 20);
  uint32_t field = (distance & 3) << 29 | distance >> 2 << 5;
  for (int i = 0; i < 4; i++) bytes[i] |= (uint8_t)(field >> 8 * i);
}

void tsri_arm64_append_pool(machine_code *code, const void *pool, size_t bytes) {
  enum { LINE = 64 };
  while (!code->failed && code->count % LINE != 0) put(code, 0);  // not an instruction
  size_t first = code->count;
  tsri_code_put(code, pool, bytes);
  if (code->failed) return;
  for (size_t i = 0; i < code->fixup_count; i++) {
    fix_address(code->bytes + code->fixups[i].at, (uint32_t)(first - code->fixups[i].next));
  }
  code->fixup_count = 0;
  while (!code->failed && code->count % LINE != 0) put(code, 0);
}
