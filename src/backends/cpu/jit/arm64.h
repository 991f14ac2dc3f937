// SPDX-License-Identifier: MIT
// Encoder for the aarch64 instructions that compiled kernels consist of.
//
// Each function appends one instruction. Vectors are NEON's, of 128 bits, treated as four lanes of 32 bits unless stated otherwise. The listing has the
// assembler's syntax: GNU as assembles it to the same words.
#ifndef TSRI_CPU_JIT_ARM64_H
#define TSRI_CPU_JIT_ARM64_H

#include "backends/cpu/jit/code.h"

// General registers are numbers from 0 to 30. As a base, or as what is added to, 31 is the stack pointer.
enum { ARM64_SP = 31 };

// Vector instructions: name, text, form, word with all registers 0. Forms are the arrangements of the operands:
//   S3  three of .4s   B3  three of .16b                       S2  two of .4s   B2  two of .16b
//   LH  .4s of .4h     LS  .4s of .4h, and a shift by 0        LB  .8h of .8b, and a shift by 0
//   NS  .4h of .4s     NH  .8b of .8h                          DUP .4s of lane 0
#define ARM64_VECTOR_INSNS(X)         \
  X(FADD, "fadd", S3, 0x4e20d400)     \
  X(FSUB, "fsub", S3, 0x4ea0d400)     \
  X(FMUL, "fmul", S3, 0x6e20dc00)     \
  X(FDIV, "fdiv", S3, 0x6e20fc00)     \
  X(FMLA, "fmla", S3, 0x4e20cc00)     \
  X(FCMEQ, "fcmeq", S3, 0x4e20e400)   \
  X(FCMGE, "fcmge", S3, 0x6e20e400)   \
  X(FCMGT, "fcmgt", S3, 0x6ea0e400)   \
  X(AND, "and", B3, 0x4e201c00)       \
  X(ORR, "orr", B3, 0x4ea01c00)       \
  X(EOR, "eor", B3, 0x6e201c00)       \
  X(BSL, "bsl", B3, 0x6e601c00)       \
  X(BIT, "bit", B3, 0x6ea01c00)       \
  X(BIF, "bif", B3, 0x6ee01c00)       \
  X(ADD, "add", S3, 0x4ea08400)       \
  X(SUB, "sub", S3, 0x6ea08400)       \
  X(MUL, "mul", S3, 0x4ea09c00)       \
  X(SMIN, "smin", S3, 0x4ea06c00)     \
  X(SMAX, "smax", S3, 0x4ea06400)     \
  X(UMIN, "umin", S3, 0x6ea06c00)     \
  X(UMAX, "umax", S3, 0x6ea06400)     \
  X(SSHL, "sshl", S3, 0x4ea04400)     \
  X(USHL, "ushl", S3, 0x6ea04400)     \
  X(CMEQ, "cmeq", S3, 0x6ea08c00)     \
  X(CMGT, "cmgt", S3, 0x4ea03400)     \
  X(CMGE, "cmge", S3, 0x4ea03c00)     \
  X(CMHI, "cmhi", S3, 0x6ea03400)     \
  X(CMHS, "cmhs", S3, 0x6ea03c00)     \
  X(MVN, "mvn", B2, 0x6e205800)       \
  X(NEG, "neg", S2, 0x6ea0b800)       \
  X(ABS, "abs", S2, 0x4ea0b800)       \
  X(FSQRT, "fsqrt", S2, 0x6ea1f800)   \
  X(FRINTN, "frintn", S2, 0x4e218800) \
  X(FRINTM, "frintm", S2, 0x4e219800) \
  X(FRINTP, "frintp", S2, 0x4ea18800) \
  X(FRINTZ, "frintz", S2, 0x4ea19800) \
  X(SCVTF, "scvtf", S2, 0x4e21d800)   \
  X(FCVTZS, "fcvtzs", S2, 0x4ea1b800) \
  X(FCVTL, "fcvtl", LH, 0x0e217800)   \
  X(FCVTN, "fcvtn", NS, 0x0e216800)   \
  X(XTN, "xtn", NS, 0x0e612800)       \
  X(XTN_B, "xtn", NH, 0x0e212800)     \
  X(USHLL, "ushll", LS, 0x2f10a400)   \
  X(SSHLL, "sshll", LS, 0x0f10a400)   \
  X(USHLL_B, "ushll", LB, 0x2f08a400) \
  X(SSHLL_B, "sshll", LB, 0x0f08a400) \
  X(DUP, "dup", DUP, 0x4e040400)

typedef enum arm64_insn {
#define TSRI_X(name, text, form, word) ARM64_##name,
  ARM64_VECTOR_INSNS(TSRI_X)
#undef TSRI_X
      ARM64_INSN_COUNT
} arm64_insn;

// How many bytes of a vector register are read or written in memory.
typedef enum arm64_size { ARM64_4, ARM64_8, ARM64_16 } arm64_size;

typedef enum arm64_shift { ARM64_SHL, ARM64_USHR, ARM64_SSHR } arm64_shift;

// `second` is ignored for forms with two operands.
void tsri_arm64_vector(machine_code *code, arm64_insn insn, int to, int first, int second);
void tsri_arm64_vector_copy(machine_code *code, int to, int from);
void tsri_arm64_vector_shift(machine_code *code, arm64_shift shift, int to, int from, int bits);  // by 1 to 31
// `disp` is a non-negative multiple of the access size, below 4096 times that size.
void tsri_arm64_vector_load(machine_code *code, arm64_size size, int to, int base, int disp);
void tsri_arm64_vector_store(machine_code *code, arm64_size size, int from, int base, int disp);

// General instructions, all on 64 bits. `disp` is a multiple of 8 from 0 to 32760.
void tsri_arm64_load(machine_code *code, int to, int base, int disp);
void tsri_arm64_store(machine_code *code, int from, int base, int disp);
void tsri_arm64_clear(machine_code *code, int reg);
// `number` is from -4095 to 4095, or a multiple of 4096 with a magnitude below 2^24. These two do not change the flags.
void tsri_arm64_add_number(machine_code *code, int to, int from, int number);
void tsri_arm64_add(machine_code *code, int to, int first, int second, int shift);  // first + (second << shift)
void tsri_arm64_count_down(machine_code *code, int reg);                            // by 1; sets the flags
void tsri_arm64_compare(machine_code *code, int left, int right);
void tsri_arm64_jump_if_below(machine_code *code, size_t target);     // unsigned; jumps backwards
void tsri_arm64_jump_if_not_zero(machine_code *code, size_t target);  // jumps backwards
void tsri_arm64_return(machine_code *code);

// to = the address of the pool, which must be appended within 1 MiB.
void tsri_arm64_pool_address(machine_code *code, int to);
// Appends the pool. The next code begins at a multiple of 64 bytes.
void tsri_arm64_append_pool(machine_code *code, const void *pool, size_t bytes);

#endif
