// SPDX-License-Identifier: MIT
// Encodes x86-64 instructions as bytes, and prints them.
#include "backends/cpu/jit/x86.h"

#include <string.h>

typedef enum x86_insn_form { FORM_RVM, FORM_RM, FORM_MR, FORM_VM, FORM_KVM, FORM_KM, FORM_MK } x86_insn_form;

static const struct {
  const char *text;
  uint8_t form, prefix, map, opcode;
} insns[X86_INSN_COUNT] = {
#define TSRI_X(name, text, form, prefix, map, opcode) {text, FORM_##form, prefix, map, opcode},
    X86_VECTOR_INSNS(TSRI_X)
#undef TSRI_X
};

// --- Bytes ------------------------------------------------------------------------------------------------------------

static void put_byte(machine_code *code, unsigned byte) { tsri_code_put(code, &(uint8_t){(uint8_t)byte}, 1); }

static void put_32(machine_code *code, int32_t number) {
  uint32_t bits = (uint32_t)number;
  for (int i = 0; i < 4; i++) put_byte(code, bits >> 8 * i & 0xff);
}

// --- Text -------------------------------------------------------------------------------------------------------------

static const char *const general_names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                              "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static void list_vector_reg(tsri_builder *out, x86_width width, int reg) {
  static const char kinds[] = {'x', 'y', 'z'};
  tsri_builder_add(out, "%cmm%d", kinds[width], reg);
}

static void list_memory(tsri_builder *out, const x86_operand *memory, bool is_64) {
  if (memory->is_pool) tsri_builder_add(out, "[pool+%d]", (int)memory->disp);
  else {
    tsri_builder_add(out, "[%s", general_names[memory->base]);
    if (memory->index != X86_NONE) tsri_builder_add(out, "+%s*%d", general_names[memory->index], 1 << memory->scale);
    if (memory->disp != 0) tsri_builder_add(out, "%+d", (int)memory->disp);
    tsri_builder_add(out, "]");
  }
  if (memory->is_repeated) tsri_builder_add(out, is_64 ? "{1to8}" : "{1to16}");
}

static const char *shift_name(int digit) {
  return digit == X86_SHIFT_LEFT ? "vpslld" : digit == X86_SHIFT_RIGHT ? "vpsrld" : "vpsrad";
}

// The name for the listing: some instructions have another name in EVEX form.
static const char *name_of(const machine_code *code, x86_insn insn, int reg) {
  if (insn == X86_VPSHIFTD) return shift_name(reg);
  if (!code->has_evex) return insns[insn].text;
  switch (insn) {
    case X86_VPAND:
      return "vpandd";
    case X86_VPANDN:
      return "vpandnd";
    case X86_VPOR:
      return "vpord";
    case X86_VPXOR:
      return "vpxord";
    case X86_VROUNDPS:
      return "vrndscaleps";
    case X86_VROUNDPD:
      return "vrndscalepd";
    default:
      return insns[insn].text;
  }
}

static void list_vector(const machine_code *code, x86_insn insn, x86_width width, int reg, int second,
                        const x86_operand *rm, int imm) {
  tsri_builder *out = code->listing;
  x86_insn_form form = (x86_insn_form)insns[insn].form;
  tsri_builder_add(out, "  %s ", name_of(code, insn, reg));
  if (form == FORM_MR && rm->is_memory) list_memory(out, rm, (insns[insn].map & X86_E64) != 0);
  else if (form == FORM_MR) list_vector_reg(out, width, rm->reg);
  else if (form == FORM_KVM || form == FORM_MK) tsri_builder_add(out, "k%d", reg);
  else if (form == FORM_VM) list_vector_reg(out, width, second);
  else list_vector_reg(out, width, reg);
  if (rm->mask != 0) tsri_builder_add(out, "{k%d}", rm->mask);
  if (form == FORM_RVM || form == FORM_KVM) {
    tsri_builder_add(out, ", ");
    list_vector_reg(out, width, second);
  }
  tsri_builder_add(out, ", ");
  if (form == FORM_MR) list_vector_reg(out, width, reg);
  else if (form == FORM_KM) tsri_builder_add(out, "k%d", rm->reg);
  else if (rm->is_memory) list_memory(out, rm, (insns[insn].map & X86_E64) != 0);
  else list_vector_reg(out, width, rm->reg);
  if (imm != X86_NONE)
    tsri_builder_add(out, insn == X86_VBLENDVPS ? ", ymm%d" : ", %d", insn == X86_VBLENDVPS ? imm >> 4 : imm);
  tsri_builder_add(out, "\n");
}

// --- Vector instructions ------------------------------------------------------------------------------------------------

// Puts the ModRM and SIB bytes of a memory operand, and the displacement. Displacements have 4 bytes: EVEX would scale shorter ones.
static void put_memory(machine_code *code, int reg, const x86_operand *memory, size_t bytes_after) {
  unsigned field = (unsigned)(reg & 7) << 3;
  if (memory->is_pool) {
    put_byte(code, field | 5);
    tsri_code_add_fixup(code, code->count + 4 + bytes_after);
    put_32(code, memory->disp);
    return;
  }
  bool has_disp =
      memory->disp != 0 ||
      (memory->base & 7) == X86_RBP;  // without a displacement, the codes of rbp and r13 mean something else
  bool has_sib = memory->index != X86_NONE || (memory->base & 7) == X86_RSP;
  put_byte(code, (has_disp ? 0x80u : 0u) | field | (has_sib ? 4u : (unsigned)(memory->base & 7)));
  if (has_sib) {
    unsigned index = memory->index == X86_NONE ? 4u : (unsigned)(memory->index & 7);
    put_byte(code, (unsigned)memory->scale << 6 | index << 3 | (unsigned)(memory->base & 7));
  }
  if (has_disp) put_32(code, memory->disp);
}

// The bits of a prefix that extend the register numbers of the other bytes, which have three bits; all are stored inverted.
typedef struct high_bits {
  unsigned reg3, reg4, x, b, second4;
} high_bits;

static unsigned bit_of(int number, int bit) { return (unsigned)number >> bit & 1u; }

static high_bits high_bits_of(int reg, int second, const x86_operand *rm) {
  high_bits high = {.reg3 = bit_of(reg, 3), .reg4 = bit_of(reg, 4), .second4 = bit_of(second, 4)};
  if (rm->is_pool) return high;
  if (rm->is_memory) {
    high.x = rm->index == X86_NONE ? 0 : bit_of(rm->index, 3);
    high.b = bit_of(rm->base, 3);
  } else {
    high.x = bit_of(rm->reg, 4);
    high.b = bit_of(rm->reg, 3);
  }
  return high;
}

static void put_vex(machine_code *code, x86_insn insn, x86_width width, int second, high_bits high) {
  put_byte(code, 0xc4);
  unsigned wide = (insns[insn].map & X86_B64) == X86_B64;
  put_byte(code, (high.reg3 ^ 1u) << 7 | (high.x ^ 1u) << 6 | (high.b ^ 1u) << 5 | (insns[insn].map & 3u));
  put_byte(code, wide << 7 | (~(unsigned)second & 15u) << 3 | (unsigned)width << 2 | insns[insn].prefix);
}

static void put_evex(machine_code *code, x86_insn insn, x86_width width, int second, high_bits high,
                     const x86_operand *rm) {
  put_byte(code, 0x62);
  put_byte(code, (high.reg3 ^ 1u) << 7 | (high.x ^ 1u) << 6 | (high.b ^ 1u) << 5 | (high.reg4 ^ 1u) << 4 |
                     (insns[insn].map & 3u));
  unsigned wide = (insns[insn].map & X86_E64) != 0;
  put_byte(code, wide << 7 | (~(unsigned)second & 15u) << 3 | 4u | insns[insn].prefix);
  put_byte(code, (unsigned)width << 5 | (rm->is_repeated ? 16u : 0u) | (high.second4 ^ 1u) << 3 | rm->mask);
}

void tsri_x86_vector(machine_code *code, x86_insn insn, x86_width width, int reg, int second, x86_operand rm, int imm) {
  if (code->listing) list_vector(code, insn, width, reg, second, &rm, imm);
  int stored_second = second == X86_NONE ? 0 : second;
  high_bits high = high_bits_of(reg, stored_second, &rm);
  if (code->has_evex) put_evex(code, insn, width, stored_second, high, &rm);
  else put_vex(code, insn, width, stored_second, high);
  put_byte(code, insns[insn].opcode);
  if (rm.is_memory) put_memory(code, reg, &rm, imm != X86_NONE);
  else put_byte(code, 0xc0u | (unsigned)(reg & 7) << 3 | (unsigned)(rm.reg & 7));
  if (imm != X86_NONE) put_byte(code, (unsigned)imm);
}

// --- General instructions -------------------------------------------------------------------------------------------------

// Puts a REX prefix for 64-bit operands, the opcode, and two register operands.
static void put_general(machine_code *code, unsigned opcode, int reg, int rm) {
  put_byte(code, 0x48u | bit_of(reg, 3) << 2 | bit_of(rm, 3));
  put_byte(code, opcode);
  put_byte(code, 0xc0u | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

static void put_general_memory(machine_code *code, unsigned opcode, int reg, int base, int32_t disp) {
  x86_operand memory = x86_memory(base, disp);
  put_byte(code, 0x48u | bit_of(reg, 3) << 2 | bit_of(base, 3));
  put_byte(code, opcode);
  put_memory(code, reg, &memory, 0);
}

static void put_stack(machine_code *code, unsigned opcode, int reg) {
  if (reg >= X86_R8) put_byte(code, 0x41);
  put_byte(code, opcode + (unsigned)(reg & 7));
}

void tsri_x86_push(machine_code *code, int reg) {
  CODE_LIST(code, "  push %s\n", general_names[reg]);
  put_stack(code, 0x50, reg);
}

void tsri_x86_pop(machine_code *code, int reg) {
  CODE_LIST(code, "  pop %s\n", general_names[reg]);
  put_stack(code, 0x58, reg);
}

void tsri_x86_move(machine_code *code, int to, int from) {
  CODE_LIST(code, "  mov %s, %s\n", general_names[to], general_names[from]);
  put_general(code, 0x89, from, to);
}

void tsri_x86_load(machine_code *code, int to, int base, int32_t disp) {
  CODE_LIST(code, "  mov %s, [%s%+d]\n", general_names[to], general_names[base], (int)disp);
  put_general_memory(code, 0x8b, to, base, disp);
}

void tsri_x86_address(machine_code *code, int to, int base, int32_t disp) {
  CODE_LIST(code, "  lea %s, [%s%+d]\n", general_names[to], general_names[base], (int)disp);
  put_general_memory(code, 0x8d, to, base, disp);
}

void tsri_x86_clear(machine_code *code, int reg) {
  CODE_LIST(code, "  xor %s, %s\n", general_names[reg], general_names[reg]);
  put_general(code, 0x31, reg, reg);
}

void tsri_x86_add(machine_code *code, int reg, int32_t number) {
  CODE_LIST(code, "  add %s, %d\n", general_names[reg], (int)number);
  put_general(code, 0x81, 0, reg);
  put_32(code, number);
}

void tsri_x86_align_down(machine_code *code, int reg, int8_t minus_alignment) {
  CODE_LIST(code, "  and %s, %d\n", general_names[reg], minus_alignment);
  put_general(code, 0x83, 4, reg);
  put_byte(code, (uint8_t)minus_alignment);
}

void tsri_x86_compare(machine_code *code, int left, int right) {
  CODE_LIST(code, "  cmp %s, %s\n", general_names[left], general_names[right]);
  put_general(code, 0x39, right, left);
}

void tsri_x86_add_memory(machine_code *code, int reg, int base, int32_t disp) {
  CODE_LIST(code, "  add %s, [%s%+d]\n", general_names[reg], general_names[base], (int)disp);
  put_general_memory(code, 0x03, reg, base, disp);
}

void tsri_x86_add_to_memory(machine_code *code, int base, int32_t disp, int reg) {
  CODE_LIST(code, "  add [%s%+d], %s\n", general_names[base], (int)disp, general_names[reg]);
  put_general_memory(code, 0x01, reg, base, disp);
}

static void put_jump(machine_code *code, unsigned opcode, size_t target) {
  put_byte(code, 0x0f);
  put_byte(code, opcode);
  put_32(code, (int32_t)((int64_t)target - (int64_t)(code->count + 4)));
}

void tsri_x86_jump_if_below(machine_code *code, size_t target) {
  CODE_LIST(code, "  jb loop\n");
  put_jump(code, 0x82, target);
}

void tsri_x86_jump_if_not_zero(machine_code *code, size_t target) {
  CODE_LIST(code, "  jnz round\n");
  put_jump(code, 0x85, target);
}

void tsri_x86_zero_upper(machine_code *code) {
  CODE_LIST(code, "  vzeroupper\n");
  tsri_code_put(code, (const uint8_t[]){0xc5, 0xf8, 0x77}, 3);
}

void tsri_x86_return(machine_code *code) {
  CODE_LIST(code, "  ret\n");
  put_byte(code, 0xc3);
}

// --- The pool ---------------------------------------------------------------------------------------------------------

void tsri_x86_append_pool(machine_code *code, const void *pool, size_t bytes) {
  enum { LINE = 64 };
  while (!code->failed && code->count % LINE != 0) put_byte(code, 0xcc);  // int3
  size_t first = code->count;
  tsri_code_put(code, pool, bytes);
  if (code->failed) return;
  for (size_t i = 0; i < code->fixup_count; i++) {
    const code_fixup *fixup = &code->fixups[i];
    int32_t disp;
    memcpy(&disp, code->bytes + fixup->at, sizeof disp);
    disp += (int32_t)((int64_t)first - (int64_t)fixup->next);
    memcpy(code->bytes + fixup->at, &disp, sizeof disp);
  }
  code->fixup_count = 0;
  while (!code->failed && code->count % LINE != 0) put_byte(code, 0xcc);
}
