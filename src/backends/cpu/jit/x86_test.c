// SPDX-License-Identifier: MIT
// Instructions are encoded as others read them (GNU objdump reads these bytes as the text beside them), and are listed as text.
#include "backends/cpu/jit/x86.h"

#include <string.h>

#include "support/test.h"

static void check_code(machine_code *code, const char *hex, const char *text) {
  char is[128] = "";
  for (size_t i = 0; i < code->count && i < 40; i++) snprintf(is + 2 * i, 3, "%02x", code->bytes[i]);
  CHECK_STR(is, hex);
  CHECK_STR(code->listing->text, text);
  tsri_builder_deinit(code->listing);
  tsri_code_deinit(code);
}

static x86_operand indexed(int base) {
  x86_operand memory = x86_memory(base, 0);
  memory.index = X86_RCX;
  memory.scale = 2;
  return memory;
}

static x86_operand repeated(int base, int32_t disp) {
  x86_operand memory = x86_memory(base, disp);
  memory.is_repeated = true;
  return memory;
}

static x86_operand masked(int reg, uint8_t mask) {
  x86_operand operand = x86_reg(reg);
  operand.mask = mask;
  return operand;
}

typedef struct encoding {
  x86_insn insn;
  x86_width width;
  int reg, second;
  x86_operand rm;
  int imm;
  const char *hex, *text;
} encoding;

static void check_all(const encoding *list, size_t count, bool has_evex) {
  for (size_t i = 0; i < count; i++) {
    tsri_builder listing = {0};
    machine_code code = {.has_evex = has_evex, .listing = &listing};
    const encoding *e = &list[i];
    tsri_x86_vector(&code, e->insn, e->width, e->reg, e->second, e->rm, e->imm);
    check_code(&code, e->hex, e->text);
  }
}

TEST(avx2_instructions_are_encoded_with_vex) {
  const encoding list[] = {
      {X86_VADDPS, X86_256, 13, 5, x86_reg(12), X86_NONE, "c4415458ec", "  vaddps ymm13, ymm5, ymm12\n"},
      {X86_VADDPS, X86_256, 1, 5, indexed(X86_R12), X86_NONE, "c4c154580c8c", "  vaddps ymm1, ymm5, [r12+rcx*4]\n"},
      {X86_VMULPS, X86_256, 1, 2, x86_memory(X86_R13, 0), X86_NONE, "c4c16c598d00000000",
       "  vmulps ymm1, ymm2, [r13]\n"},
      {X86_VDIVPS, X86_256, 1, 2, x86_memory(X86_RSP, 64), X86_NONE, "c4e16c5e8c2440000000",
       "  vdivps ymm1, ymm2, [rsp+64]\n"},
      {X86_VSQRTPS, X86_256, 3, X86_NONE, x86_reg(4), X86_NONE, "c4e17c51dc", "  vsqrtps ymm3, ymm4\n"},
      {X86_VROUNDPS, X86_256, 3, X86_NONE, x86_reg(4), 9, "c4e37d08dc09", "  vroundps ymm3, ymm4, 9\n"},
      {X86_VFMADD213PS, X86_256, 9, 2, indexed(X86_R8), X86_NONE, "c4426da80c88",
       "  vfmadd213ps ymm9, ymm2, [r8+rcx*4]\n"},
      {X86_VFMADD231PS, X86_256, 0, 15, x86_reg(8), X86_NONE, "c4c205b8c0", "  vfmadd231ps ymm0, ymm15, ymm8\n"},
      {X86_VCMPPS, X86_256, 1, 2, x86_reg(3), 17, "c4e16cc2cb11", "  vcmpps ymm1, ymm2, ymm3, 17\n"},
      {X86_VBLENDVPS, X86_256, 1, 2, x86_reg(3), 144, "c4e36d4acb90", "  vblendvps ymm1, ymm2, ymm3, ymm9\n"},
      {X86_VPAND, X86_256, 1, 2, x86_reg(3), X86_NONE, "c4e16ddbcb", "  vpand ymm1, ymm2, ymm3\n"},
      {X86_VPSHIFTD, X86_256, 6, 10, x86_reg(11), 23, "c4c12d72f317", "  vpslld ymm10, ymm11, 23\n"},
      {X86_VCVTTPS2DQ, X86_256, 1, X86_NONE, x86_reg(9), X86_NONE, "c4c17e5bc9", "  vcvttps2dq ymm1, ymm9\n"},
      {X86_VPMOVZXWD, X86_256, 1, X86_NONE, indexed(X86_R9), X86_NONE, "c4c27d330c89",
       "  vpmovzxwd ymm1, [r9+rcx*4]\n"},
      {X86_VCVTPS2PH, X86_256, 1, X86_NONE, indexed(X86_RBX), 0, "c4e37d1d0c8b00",
       "  vcvtps2ph [rbx+rcx*4], ymm1, 0\n"},
      {X86_VMOVUPS, X86_256, 1, X86_NONE, indexed(X86_R8), X86_NONE, "c4c17c100c88", "  vmovups ymm1, [r8+rcx*4]\n"},
      {X86_VMOVUPS_STORE, X86_256, 15, X86_NONE, indexed(X86_R15), X86_NONE, "c4417c113c8f",
       "  vmovups [r15+rcx*4], ymm15\n"},
      {X86_VMOVNTPS, X86_256, 15, X86_NONE, indexed(X86_R15), X86_NONE, "c4417c2b3c8f",
       "  vmovntps [r15+rcx*4], ymm15\n"},
      {X86_VMOVQ_STORE, X86_128, 1, X86_NONE, indexed(X86_R8), X86_NONE, "c4c179d60c88", "  vmovq [r8+rcx*4], xmm1\n"},
      {X86_VBROADCASTSS, X86_256, 1, X86_NONE, x86_memory(X86_RSI, 72), X86_NONE, "c4e27d188e48000000",
       "  vbroadcastss ymm1, [rsi+72]\n"},
      {X86_VEXTRACTI128, X86_256, 1, X86_NONE, x86_reg(2), 1, "c4e37d39ca01", "  vextracti128 ymm2, ymm1, 1\n"},
      {X86_VPACKUSDW, X86_128, 1, 2, x86_reg(1), X86_NONE, "c4e2692bc9", "  vpackusdw xmm1, xmm2, xmm1\n"},
  };
  check_all(list, sizeof list / sizeof list[0], false);
}

TEST(avx512_instructions_are_encoded_with_evex) {
  const encoding list[] = {
      {X86_VADDPS, X86_512, 29, 5, x86_reg(28), X86_NONE, "6201544858ec", "  vaddps zmm29, zmm5, zmm28\n"},
      {X86_VADDPS, X86_512, 1, 21, repeated(X86_RSI, 8), X86_NONE, "62f15450588e08000000",
       "  vaddps zmm1, zmm21, [rsi+8]{1to16}\n"},
      {X86_VMULPS, X86_512, 17, 2, indexed(X86_R12), X86_NONE, "62c16c48590c8c", "  vmulps zmm17, zmm2, [r12+rcx*4]\n"},
      {X86_VROUNDPS, X86_512, 3, X86_NONE, x86_reg(20), 9, "62b37d4808dc09", "  vrndscaleps zmm3, zmm20, 9\n"},
      {X86_VFMADD213PS, X86_512, 9, 31, x86_reg(30), X86_NONE, "62120540a8ce", "  vfmadd213ps zmm9, zmm31, zmm30\n"},
      {X86_VCMPPS_K, X86_512, 2, 17, x86_reg(3), 17, "62f17440c2d311", "  vcmpps k2, zmm17, zmm3, 17\n"},
      {X86_VPCMPUD_K, X86_512, 1, 17, x86_reg(3), 2, "62f375401ecb02", "  vpcmpud k1, zmm17, zmm3, 2\n"},
      {X86_VPMOVM2D, X86_512, 18, X86_NONE, x86_reg(1), X86_NONE, "62e27e4838d1", "  vpmovm2d zmm18, k1\n"},
      {X86_VPMOVM2B, X86_128, 18, X86_NONE, x86_reg(1), X86_NONE, "62e27e0828d1", "  vpmovm2b xmm18, k1\n"},
      {X86_VPMOVD2M, X86_512, 2, X86_NONE, x86_reg(19), X86_NONE, "62b27e4839d3", "  vpmovd2m k2, zmm19\n"},
      {X86_VPABSB, X86_128, 18, X86_NONE, x86_reg(18), X86_NONE, "62a27d081cd2", "  vpabsb xmm18, xmm18\n"},
      {X86_VSCALEFPS, X86_512, 1, 22, x86_reg(23), X86_NONE, "62b24d402ccf", "  vscalefps zmm1, zmm22, zmm23\n"},
      {X86_VBLENDMPS, X86_512, 1, 22, masked(23, 2), X86_NONE, "62b24d4265cf", "  vblendmps zmm1{k2}, zmm22, zmm23\n"},
      {X86_VPTERNLOGD, X86_512, 1, 22, x86_reg(23), 202, "62b34d4025cfca", "  vpternlogd zmm1, zmm22, zmm23, 202\n"},
      {X86_VPAND, X86_512, 1, 2, x86_reg(16), X86_NONE, "62b16d48dbc8", "  vpandd zmm1, zmm2, zmm16\n"},
      {X86_VPSHIFTD, X86_512, 2, 20, x86_reg(11), 23, "62d15d4072d317", "  vpsrld zmm20, zmm11, 23\n"},
      {X86_VPMOVDW, X86_512, 20, X86_NONE, indexed(X86_R9), X86_NONE, "62c27e48332489",
       "  vpmovdw [r9+rcx*4], zmm20\n"},
      {X86_VPMOVDB, X86_512, 20, X86_NONE, indexed(X86_R9), X86_NONE, "62c27e48312489",
       "  vpmovdb [r9+rcx*4], zmm20\n"},
      {X86_VCVTPS2PH, X86_512, 20, X86_NONE, indexed(X86_R9), 0, "62c37d481d248900",
       "  vcvtps2ph [r9+rcx*4], zmm20, 0\n"},
      {X86_VMOVUPS_STORE, X86_512, 25, X86_NONE, indexed(X86_R15), X86_NONE, "62417c48110c8f",
       "  vmovups [r15+rcx*4], zmm25\n"},
      {X86_VMOVNTPS, X86_512, 25, X86_NONE, indexed(X86_R15), X86_NONE, "62417c482b0c8f",
       "  vmovntps [r15+rcx*4], zmm25\n"},
      {X86_VBROADCASTSS, X86_512, 25, X86_NONE, x86_memory(X86_RSI, 72), X86_NONE, "62627d48188e48000000",
       "  vbroadcastss zmm25, [rsi+72]\n"},
  };
  check_all(list, sizeof list / sizeof list[0], true);
}

#define CHECK_GENERAL(call, hex, text)         \
  do {                                         \
    tsri_builder listing = {0};                \
    machine_code code = {.listing = &listing}; \
    call;                                      \
    check_code(&code, hex, text);              \
  } while (0)

TEST(general_instructions_are_encoded) {
  CHECK_GENERAL(tsri_x86_push(&code, X86_RBX), "53", "  push rbx\n");
  CHECK_GENERAL(tsri_x86_push(&code, X86_R12), "4154", "  push r12\n");
  CHECK_GENERAL(tsri_x86_pop(&code, X86_R15), "415f", "  pop r15\n");
  CHECK_GENERAL(tsri_x86_move(&code, X86_RBP, X86_RSP), "4889e5", "  mov rbp, rsp\n");
  CHECK_GENERAL(tsri_x86_load(&code, X86_R12, X86_RDI, 8), "4c8ba708000000", "  mov r12, [rdi+8]\n");
  CHECK_GENERAL(tsri_x86_load(&code, X86_RAX, X86_R12, 8), "498b842408000000", "  mov rax, [r12+8]\n");
  CHECK_GENERAL(tsri_x86_address(&code, X86_RSP, X86_RBP, -40), "488da5d8ffffff", "  lea rsp, [rbp-40]\n");
  CHECK_GENERAL(tsri_x86_clear(&code, X86_RCX), "4831c9", "  xor rcx, rcx\n");
  CHECK_GENERAL(tsri_x86_add(&code, X86_RSP, -640), "4881c480fdffff", "  add rsp, -640\n");
  CHECK_GENERAL(tsri_x86_align_down(&code, X86_RSP, -64), "4883e4c0", "  and rsp, -64\n");
  CHECK_GENERAL(tsri_x86_compare(&code, X86_RCX, X86_RDX), "4839d1", "  cmp rcx, rdx\n");
  CHECK_GENERAL(tsri_x86_add_memory(&code, X86_R10, X86_R8, 16), "4d039010000000", "  add r10, [r8+16]\n");
  CHECK_GENERAL(tsri_x86_add_to_memory(&code, X86_RDI, 72, X86_RAX), "48018748000000", "  add [rdi+72], rax\n");
  CHECK_GENERAL(tsri_x86_jump_if_not_zero(&code, 0), "0f85faffffff", "  jnz round\n");
  CHECK_GENERAL(tsri_x86_jump_if_below(&code, 0), "0f82faffffff", "  jb loop\n");
  CHECK_GENERAL(tsri_x86_zero_upper(&code), "c5f877", "  vzeroupper\n");
  CHECK_GENERAL(tsri_x86_return(&code), "c3", "  ret\n");
}

TEST(operands_in_the_pool_are_relative_to_the_next_instruction) {
  machine_code code = {0};
  x86_operand second = {.is_memory = true, .is_pool = true, .disp = 32};
  tsri_x86_vector(&code, X86_VADDPS, X86_256, 1, 2, second, X86_NONE);
  tsri_x86_vector(&code, X86_VROUNDPS, X86_256, 1, X86_NONE, second, 9);
  size_t end = code.count;
  const float pool[16] = {1};
  tsri_x86_append_pool(&code, pool, sizeof pool);
  CHECK(!code.failed);
  CHECK_EQ_UINT(code.count, 128);
  CHECK_BYTES(code.bytes + 64, pool, sizeof pool);
  int32_t first_disp, last_disp;
  memcpy(&first_disp, code.bytes + 5, sizeof first_disp);
  memcpy(&last_disp, code.bytes + end - 5, sizeof last_disp);
  CHECK_EQ_INT(first_disp, 64 + 32 - 9);
  CHECK_EQ_INT(last_disp, 64 + 32 - (int)end);
  tsri_code_deinit(&code);
}
