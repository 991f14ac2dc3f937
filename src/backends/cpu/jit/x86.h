// SPDX-License-Identifier: MIT
// Encoder for the x86-64 instructions that compiled kernels consist of.
//
// Each function appends one instruction. Vector instructions have the VEX prefix (AVX2) or, in code for AVX-512, the EVEX prefix; instructions that exist in
// both forms have the same opcode. The listing uses Intel's order of operands.
#ifndef TSRI_CPU_JIT_X86_H
#define TSRI_CPU_JIT_X86_H

#include "backends/cpu/jit/code.h"

// General registers by number. Vector registers are numbers from 0 to 15, or to 31 with AVX-512.
enum {
  X86_RAX,
  X86_RCX,
  X86_RDX,
  X86_RBX,
  X86_RSP,
  X86_RBP,
  X86_RSI,
  X86_RDI,
  X86_R8,
  X86_R9,
  X86_R10,
  X86_R11,
  X86_R12,
  X86_R13,
  X86_R14,
  X86_R15
};

typedef enum x86_width { X86_128, X86_256, X86_512 } x86_width;

// Vector instructions: name, text, form, prefix (0: none, 1: 66, 2: F3, 3: F2), opcode map (1: 0F, 2: 0F38, 3: 0F3A), opcode. Added to
// the map: E64, the bit W of an EVEX prefix is set; B64, that of a VEX prefix, too.
//
// Forms say what the operands `reg`, `second` and `rm` of tsri_x86_vector are:
//   RVM  result, first and second source       RM  result, none, source     MR  source, none, result
//   VM   digit of the opcode, result, source   KVM as RVM with a mask register as the result (AVX-512)
//   KM   result, none, mask register (AVX-512) MK  mask register as the result, none, source (AVX-512)
#define X86_VECTOR_INSNS(X)                                   \
  X(VADDPS, "vaddps", RVM, 0, 1, 0x58)                        \
  X(VMULPS, "vmulps", RVM, 0, 1, 0x59)                        \
  X(VSUBPS, "vsubps", RVM, 0, 1, 0x5c)                        \
  X(VMINPS, "vminps", RVM, 0, 1, 0x5d)                        \
  X(VDIVPS, "vdivps", RVM, 0, 1, 0x5e)                        \
  X(VMAXPS, "vmaxps", RVM, 0, 1, 0x5f)                        \
  X(VSQRTPS, "vsqrtps", RM, 0, 1, 0x51)                       \
  X(VROUNDPS, "vroundps", RM, 1, 3, 0x08)                     \
  X(VFMADD132PS, "vfmadd132ps", RVM, 1, 2, 0x98)              \
  X(VFMADD213PS, "vfmadd213ps", RVM, 1, 2, 0xa8)              \
  X(VFMADD231PS, "vfmadd231ps", RVM, 1, 2, 0xb8)              \
  X(VCMPPS, "vcmpps", RVM, 0, 1, 0xc2)                        \
  X(VCMPPS_K, "vcmpps", KVM, 0, 1, 0xc2)                      \
  X(VPCMPEQD, "vpcmpeqd", RVM, 1, 1, 0x76)                    \
  X(VPCMPGTD, "vpcmpgtd", RVM, 1, 1, 0x66)                    \
  X(VPCMPD_K, "vpcmpd", KVM, 1, 3, 0x1f)                      \
  X(VPCMPUD_K, "vpcmpud", KVM, 1, 3, 0x1e)                    \
  X(VSCALEFPS, "vscalefps", RVM, 1, 2, 0x2c)                  \
  X(VPMOVM2D, "vpmovm2d", KM, 2, 2, 0x38)                     \
  X(VPMOVM2B, "vpmovm2b", KM, 2, 2, 0x28)                     \
  X(VPMOVD2M, "vpmovd2m", MK, 2, 2, 0x39)                     \
  X(VPABSB, "vpabsb", RM, 1, 2, 0x1c)                         \
  X(VBLENDVPS, "vblendvps", RVM, 1, 3, 0x4a)                  \
  X(VBLENDMPS, "vblendmps", RVM, 1, 2, 0x65)                  \
  X(VPTERNLOGD, "vpternlogd", RVM, 1, 3, 0x25)                \
  X(VPAND, "vpand", RVM, 1, 1, 0xdb)                          \
  X(VPANDN, "vpandn", RVM, 1, 1, 0xdf)                        \
  X(VPOR, "vpor", RVM, 1, 1, 0xeb)                            \
  X(VPXOR, "vpxor", RVM, 1, 1, 0xef)                          \
  X(VPADDD, "vpaddd", RVM, 1, 1, 0xfe)                        \
  X(VPSUBD, "vpsubd", RVM, 1, 1, 0xfa)                        \
  X(VPMULLD, "vpmulld", RVM, 1, 2, 0x40)                      \
  X(VPMINSD, "vpminsd", RVM, 1, 2, 0x39)                      \
  X(VPMINUD, "vpminud", RVM, 1, 2, 0x3b)                      \
  X(VPMAXSD, "vpmaxsd", RVM, 1, 2, 0x3d)                      \
  X(VPMAXUD, "vpmaxud", RVM, 1, 2, 0x3f)                      \
  X(VPSRLVD, "vpsrlvd", RVM, 1, 2, 0x45)                      \
  X(VPSRAVD, "vpsravd", RVM, 1, 2, 0x46)                      \
  X(VPSLLVD, "vpsllvd", RVM, 1, 2, 0x47)                      \
  X(VPABSD, "vpabsd", RM, 1, 2, 0x1e)                         \
  X(VPSHIFTD, "vpshiftd", VM, 1, 1, 0x72)                     \
  X(VCVTDQ2PS, "vcvtdq2ps", RM, 0, 1, 0x5b)                   \
  X(VCVTTPS2DQ, "vcvttps2dq", RM, 2, 1, 0x5b)                 \
  X(VCVTPH2PS, "vcvtph2ps", RM, 1, 2, 0x13)                   \
  X(VCVTPS2PH, "vcvtps2ph", MR, 1, 3, 0x1d)                   \
  X(VMOVUPS, "vmovups", RM, 0, 1, 0x10)                       \
  X(VMOVUPS_STORE, "vmovups", MR, 0, 1, 0x11)                 \
  X(VMOVNTPS, "vmovntps", MR, 0, 1, 0x2b)                     \
  X(VMOVQ_STORE, "vmovq", MR, 1, 1, 0xd6)                     \
  X(VBROADCASTSS, "vbroadcastss", RM, 1, 2, 0x18)             \
  X(VPMOVSXBD, "vpmovsxbd", RM, 1, 2, 0x21)                   \
  X(VPMOVSXWD, "vpmovsxwd", RM, 1, 2, 0x23)                   \
  X(VPMOVZXBD, "vpmovzxbd", RM, 1, 2, 0x31)                   \
  X(VPMOVZXWD, "vpmovzxwd", RM, 1, 2, 0x33)                   \
  X(VPMOVDB, "vpmovdb", MR, 2, 2, 0x31)                       \
  X(VPMOVDW, "vpmovdw", MR, 2, 2, 0x33)                       \
  X(VEXTRACTI128, "vextracti128", MR, 1, 3, 0x39)             \
  X(VPACKUSDW, "vpackusdw", RVM, 1, 2, 0x2b)                  \
  X(VPACKUSWB, "vpackuswb", RVM, 1, 1, 0x67)                  \
  X(VADDPD, "vaddpd", RVM, 1, 1 + X86_E64, 0x58)              \
  X(VMULPD, "vmulpd", RVM, 1, 1 + X86_E64, 0x59)              \
  X(VSUBPD, "vsubpd", RVM, 1, 1 + X86_E64, 0x5c)              \
  X(VMINPD, "vminpd", RVM, 1, 1 + X86_E64, 0x5d)              \
  X(VDIVPD, "vdivpd", RVM, 1, 1 + X86_E64, 0x5e)              \
  X(VMAXPD, "vmaxpd", RVM, 1, 1 + X86_E64, 0x5f)              \
  X(VSQRTPD, "vsqrtpd", RM, 1, 1 + X86_E64, 0x51)             \
  X(VROUNDPD, "vroundpd", RM, 1, 3 + X86_E64, 0x09)           \
  X(VFMADD213PD, "vfmadd213pd", RVM, 1, 2 + X86_B64, 0xa8)    \
  X(VFMADD231PD, "vfmadd231pd", RVM, 1, 2 + X86_B64, 0xb8)    \
  X(VCMPPD, "vcmppd", RVM, 1, 1 + X86_E64, 0xc2)              \
  X(VCMPPD_K, "vcmppd", KVM, 1, 1 + X86_E64, 0xc2)            \
  X(VPCMPEQQ, "vpcmpeqq", RVM, 1, 2 + X86_E64, 0x29)          \
  X(VPCMPGTQ, "vpcmpgtq", RVM, 1, 2 + X86_E64, 0x37)          \
  X(VPCMPQ_K, "vpcmpq", KVM, 1, 3 + X86_E64, 0x1f)            \
  X(VPMOVM2Q, "vpmovm2q", KM, 2, 2 + X86_E64, 0x38)           \
  X(VPANDQ, "vpandq", RVM, 1, 1 + X86_E64, 0xdb)              \
  X(VPORQ, "vporq", RVM, 1, 1 + X86_E64, 0xeb)                \
  X(VPXORQ, "vpxorq", RVM, 1, 1 + X86_E64, 0xef)              \
  X(VPADDQ, "vpaddq", RVM, 1, 1 + X86_E64, 0xd4)              \
  X(VPSUBQ, "vpsubq", RVM, 1, 1 + X86_E64, 0xfb)              \
  X(VPMULUDQ, "vpmuludq", RVM, 1, 1 + X86_E64, 0xf4)          \
  X(VPSRLVQ, "vpsrlvq", RVM, 1, 2 + X86_B64, 0x45)            \
  X(VPSLLVQ, "vpsllvq", RVM, 1, 2 + X86_B64, 0x47)            \
  X(VCVTTPD2QQ, "vcvttpd2qq", RM, 1, 1 + X86_E64, 0x7a)       \
  X(VCVTPS2PD, "vcvtps2pd", RM, 0, 1, 0x5a)                   \
  X(VCVTDQ2PD, "vcvtdq2pd", RM, 2, 1, 0xe6)                   \
  X(VPMOVSXDQ, "vpmovsxdq", RM, 1, 2, 0x25)                   \
  X(VPMOVZXDQ, "vpmovzxdq", RM, 1, 2, 0x35)                   \
  X(VCVTPD2PS, "vcvtpd2ps", RM, 1, 1 + X86_E64, 0x5a)         \
  X(VCVTTPD2DQ, "vcvttpd2dq", RM, 1, 1 + X86_E64, 0xe6)       \
  X(VPMOVQD, "vpmovqd", MR, 2, 2, 0x35)                       \
  X(VSHUFPS, "vshufps", RVM, 0, 1, 0xc6)                      \
  X(VPERMQ, "vpermq", RM, 1, 3 + X86_B64, 0x00)               \
  X(VINSERTI128, "vinserti128", RVM, 1, 3, 0x38)              \
  X(VINSERTI64X4, "vinserti64x4", RVM, 1, 3 + X86_E64, 0x3a)  \
  X(VEXTRACTI64X4, "vextracti64x4", MR, 1, 3 + X86_E64, 0x3b) \
  X(VBROADCASTSD, "vbroadcastsd", RM, 1, 2 + X86_E64, 0x19)

enum { X86_E64 = 4, X86_B64 = 12 };

typedef enum x86_insn {
#define TSRI_X(name, text, form, prefix, map, opcode) X86_##name,
  X86_VECTOR_INSNS(TSRI_X)
#undef TSRI_X
      X86_INSN_COUNT
} x86_insn;

// Digits of VPSHIFTD: logical right, arithmetic right, left.
enum { X86_SHIFT_RIGHT = 2, X86_SHIFT_ARITHMETIC = 4, X86_SHIFT_LEFT = 6 };

enum { X86_NONE = -1 };

// A register, or memory: [base + (index << scale) + disp], or [the pool + disp].
typedef struct x86_operand {
  bool is_memory, is_pool;
  bool is_repeated;  // AVX-512: one element (of 4 bytes, or of the instruction's 8), repeated for all lanes
  uint8_t mask;      // AVX-512: the instruction's mask register; 0: none
  int8_t reg;        // vector register, if not memory
  int8_t base, index;
  uint8_t scale;
  int32_t disp;
} x86_operand;

static inline x86_operand x86_reg(int reg) { return (x86_operand){.reg = (int8_t)reg}; }

static inline x86_operand x86_memory(int base, int32_t disp) {
  return (x86_operand){.is_memory = true, .base = (int8_t)base, .index = X86_NONE, .disp = disp};
}

// Appends a vector instruction; `second` and `imm` may be X86_NONE.
void tsri_x86_vector(machine_code *code, x86_insn insn, x86_width width, int reg, int second, x86_operand rm, int imm);

// General instructions, all on 64 bits.
void tsri_x86_push(machine_code *code, int reg);
void tsri_x86_pop(machine_code *code, int reg);
void tsri_x86_move(machine_code *code, int to, int from);
void tsri_x86_load(machine_code *code, int to, int base, int32_t disp);
void tsri_x86_address(machine_code *code, int to, int base, int32_t disp);  // to = base + disp
void tsri_x86_clear(machine_code *code, int reg);
void tsri_x86_add(machine_code *code, int reg, int32_t number);
void tsri_x86_align_down(machine_code *code, int reg, int8_t minus_alignment);  // and
void tsri_x86_compare(machine_code *code, int left, int right);
void tsri_x86_add_memory(machine_code *code, int reg, int base, int32_t disp);     // to the register
void tsri_x86_add_to_memory(machine_code *code, int base, int32_t disp, int reg);  // memory += register
void tsri_x86_jump_if_below(machine_code *code, size_t target);                    // unsigned; jumps backwards
void tsri_x86_jump_if_not_zero(machine_code *code, size_t target);                 // jumps backwards
void tsri_x86_zero_upper(machine_code *code);
void tsri_x86_return(machine_code *code);

// Appends the pool, and fills in the displacements of operands in it. The next code begins at a multiple of 64 bytes.
void tsri_x86_append_pool(machine_code *code, const void *pool, size_t bytes);

#endif
