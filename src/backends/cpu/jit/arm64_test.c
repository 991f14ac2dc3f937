// SPDX-License-Identifier: MIT
// aarch64 instructions: every word is what GNU as makes of the text in the listing.
#include "backends/cpu/jit/arm64.h"

#include "support/test.h"

// Takes the code's memory and listing.
static void check_word(machine_code *code, uint32_t word, const char *text) {
  uint32_t is = 0;
  CHECK(!code->failed);
  CHECK_EQ_UINT(code->count, 4);
  for (int i = 0; i < 4; i++) is |= (uint32_t)code->bytes[i] << 8 * i;
  CHECK_STR(code->listing->text, text);
  CHECK_EQ_UINT(is, word);
  tsri_builder_deinit(code->listing);
  tsri_code_deinit(code);
}

#define CHECK_WORD(call, word, text)           \
  do {                                         \
    tsri_builder listing = {0};                \
    machine_code code = {.listing = &listing}; \
    call;                                      \
    check_word(&code, word, text);             \
  } while (0)

TEST(vector_instructions_are_encoded) {
  static const struct {
    arm64_insn insn;
    int to, first, second;
    uint32_t word;
    const char *text;
  } list[] = {
      {ARM64_FADD, 3, 30, 17, 0x4e31d7c3, "  fadd v3.4s, v30.4s, v17.4s\n"},
      {ARM64_FSUB, 10, 25, 28, 0x4ebcd72a, "  fsub v10.4s, v25.4s, v28.4s\n"},
      {ARM64_FMUL, 17, 20, 7, 0x6e27de91, "  fmul v17.4s, v20.4s, v7.4s\n"},
      {ARM64_FDIV, 24, 15, 18, 0x6e32fdf8, "  fdiv v24.4s, v15.4s, v18.4s\n"},
      {ARM64_FMLA, 31, 10, 29, 0x4e3dcd5f, "  fmla v31.4s, v10.4s, v29.4s\n"},
      {ARM64_FCMEQ, 6, 5, 8, 0x4e28e4a6, "  fcmeq v6.4s, v5.4s, v8.4s\n"},
      {ARM64_FCMGE, 13, 0, 19, 0x6e33e40d, "  fcmge v13.4s, v0.4s, v19.4s\n"},
      {ARM64_FCMGT, 20, 27, 30, 0x6ebee774, "  fcmgt v20.4s, v27.4s, v30.4s\n"},
      {ARM64_AND, 27, 22, 9, 0x4e291edb, "  and v27.16b, v22.16b, v9.16b\n"},
      {ARM64_ORR, 2, 17, 20, 0x4eb41e22, "  orr v2.16b, v17.16b, v20.16b\n"},
      {ARM64_EOR, 9, 12, 31, 0x6e3f1d89, "  eor v9.16b, v12.16b, v31.16b\n"},
      {ARM64_BSL, 16, 7, 10, 0x6e6a1cf0, "  bsl v16.16b, v7.16b, v10.16b\n"},
      {ARM64_BIT, 23, 2, 21, 0x6eb51c57, "  bit v23.16b, v2.16b, v21.16b\n"},
      {ARM64_BIF, 30, 29, 0, 0x6ee01fbe, "  bif v30.16b, v29.16b, v0.16b\n"},
      {ARM64_ADD, 5, 24, 11, 0x4eab8705, "  add v5.4s, v24.4s, v11.4s\n"},
      {ARM64_SUB, 12, 19, 22, 0x6eb6866c, "  sub v12.4s, v19.4s, v22.4s\n"},
      {ARM64_MUL, 19, 14, 1, 0x4ea19dd3, "  mul v19.4s, v14.4s, v1.4s\n"},
      {ARM64_SMIN, 26, 9, 12, 0x4eac6d3a, "  smin v26.4s, v9.4s, v12.4s\n"},
      {ARM64_SMAX, 1, 4, 23, 0x4eb76481, "  smax v1.4s, v4.4s, v23.4s\n"},
      {ARM64_UMIN, 8, 31, 2, 0x6ea26fe8, "  umin v8.4s, v31.4s, v2.4s\n"},
      {ARM64_UMAX, 15, 26, 13, 0x6ead674f, "  umax v15.4s, v26.4s, v13.4s\n"},
      {ARM64_SSHL, 22, 21, 24, 0x4eb846b6, "  sshl v22.4s, v21.4s, v24.4s\n"},
      {ARM64_USHL, 29, 16, 3, 0x6ea3461d, "  ushl v29.4s, v16.4s, v3.4s\n"},
      {ARM64_CMEQ, 4, 11, 14, 0x6eae8d64, "  cmeq v4.4s, v11.4s, v14.4s\n"},
      {ARM64_CMGT, 11, 6, 25, 0x4eb934cb, "  cmgt v11.4s, v6.4s, v25.4s\n"},
      {ARM64_CMGE, 18, 1, 4, 0x4ea43c32, "  cmge v18.4s, v1.4s, v4.4s\n"},
      {ARM64_CMHI, 25, 28, 15, 0x6eaf3799, "  cmhi v25.4s, v28.4s, v15.4s\n"},
      {ARM64_CMHS, 0, 23, 26, 0x6eba3ee0, "  cmhs v0.4s, v23.4s, v26.4s\n"},
      {ARM64_MVN, 7, 18, 0, 0x6e205a47, "  mvn v7.16b, v18.16b\n"},
      {ARM64_NEG, 14, 13, 0, 0x6ea0b9ae, "  neg v14.4s, v13.4s\n"},
      {ARM64_ABS, 21, 8, 0, 0x4ea0b915, "  abs v21.4s, v8.4s\n"},
      {ARM64_FSQRT, 28, 3, 0, 0x6ea1f87c, "  fsqrt v28.4s, v3.4s\n"},
      {ARM64_FRINTN, 3, 30, 0, 0x4e218bc3, "  frintn v3.4s, v30.4s\n"},
      {ARM64_FRINTM, 10, 25, 0, 0x4e219b2a, "  frintm v10.4s, v25.4s\n"},
      {ARM64_FRINTP, 17, 20, 0, 0x4ea18a91, "  frintp v17.4s, v20.4s\n"},
      {ARM64_FRINTZ, 24, 15, 0, 0x4ea199f8, "  frintz v24.4s, v15.4s\n"},
      {ARM64_SCVTF, 31, 10, 0, 0x4e21d95f, "  scvtf v31.4s, v10.4s\n"},
      {ARM64_FCVTZS, 6, 5, 0, 0x4ea1b8a6, "  fcvtzs v6.4s, v5.4s\n"},
      {ARM64_FCVTL, 13, 0, 0, 0x0e21780d, "  fcvtl v13.4s, v0.4h\n"},
      {ARM64_FCVTN, 20, 27, 0, 0x0e216b74, "  fcvtn v20.4h, v27.4s\n"},
      {ARM64_XTN, 27, 22, 0, 0x0e612adb, "  xtn v27.4h, v22.4s\n"},
      {ARM64_XTN_B, 2, 17, 0, 0x0e212a22, "  xtn v2.8b, v17.8h\n"},
      {ARM64_USHLL, 9, 12, 0, 0x2f10a589, "  ushll v9.4s, v12.4h, #0\n"},
      {ARM64_SSHLL, 16, 7, 0, 0x0f10a4f0, "  sshll v16.4s, v7.4h, #0\n"},
      {ARM64_USHLL_B, 23, 2, 0, 0x2f08a457, "  ushll v23.8h, v2.8b, #0\n"},
      {ARM64_SSHLL_B, 30, 29, 0, 0x0f08a7be, "  sshll v30.8h, v29.8b, #0\n"},
      {ARM64_DUP, 5, 24, 0, 0x4e040705, "  dup v5.4s, v24.s[0]\n"},
  };
  CHECK_EQ_INT(sizeof list / sizeof list[0], ARM64_INSN_COUNT);
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    CHECK_WORD(tsri_arm64_vector(&code, list[i].insn, list[i].to, list[i].first, list[i].second), list[i].word,
               list[i].text);
  }
}

TEST(other_instructions_are_encoded) {
  CHECK_WORD(tsri_arm64_vector_copy(&code, 31, 5), 0x4ea51cbf, "  mov v31.16b, v5.16b\n");
  CHECK_WORD(tsri_arm64_vector_shift(&code, ARM64_SHL, 1, 30, 23), 0x4f3757c1, "  shl v1.4s, v30.4s, #23\n");
  CHECK_WORD(tsri_arm64_vector_shift(&code, ARM64_USHR, 20, 2, 31), 0x6f210454, "  ushr v20.4s, v2.4s, #31\n");
  CHECK_WORD(tsri_arm64_vector_shift(&code, ARM64_SSHR, 3, 4, 1), 0x4f3f0483, "  sshr v3.4s, v4.4s, #1\n");
  CHECK_WORD(tsri_arm64_vector_load(&code, ARM64_16, 30, ARM64_SP, 4080), 0x3dc3fffe, "  ldr q30, [sp, #4080]\n");
  CHECK_WORD(tsri_arm64_vector_load(&code, ARM64_16, 1, 7, 65520), 0x3dfffce1, "  ldr q1, [x7, #65520]\n");
  CHECK_WORD(tsri_arm64_vector_load(&code, ARM64_8, 2, 6, 24), 0xfd400cc2, "  ldr d2, [x6, #24]\n");
  CHECK_WORD(tsri_arm64_vector_load(&code, ARM64_4, 31, 1, 4088), 0xbd4ff83f, "  ldr s31, [x1, #4088]\n");
  CHECK_WORD(tsri_arm64_vector_store(&code, ARM64_16, 3, 6, 48), 0x3d800cc3, "  str q3, [x6, #48]\n");
  CHECK_WORD(tsri_arm64_vector_store(&code, ARM64_8, 31, 6, 0), 0xfd0000df, "  str d31, [x6, #0]\n");
  CHECK_WORD(tsri_arm64_vector_store(&code, ARM64_4, 31, 6, 12), 0xbd000cdf, "  str s31, [x6, #12]\n");
  CHECK_WORD(tsri_arm64_load(&code, 17, 0, 248), 0xf9407c11, "  ldr x17, [x0, #248]\n");
  CHECK_WORD(tsri_arm64_store(&code, 5, 0, 96), 0xf9003005, "  str x5, [x0, #96]\n");
  CHECK_WORD(tsri_arm64_clear(&code, 5), 0xd2800005, "  mov x5, #0\n");
  CHECK_WORD(tsri_arm64_add_number(&code, ARM64_SP, ARM64_SP, -4096), 0xd14007ff, "  sub sp, sp, #4096\n");
  CHECK_WORD(tsri_arm64_add_number(&code, ARM64_SP, ARM64_SP, 4096), 0x914007ff, "  add sp, sp, #4096\n");
  CHECK_WORD(tsri_arm64_add_number(&code, 5, 5, 16), 0x910040a5, "  add x5, x5, #16\n");
  CHECK_WORD(tsri_arm64_add_number(&code, 6, 1, 0xfff000), 0x917ffc26, "  add x6, x1, #16773120\n");
  CHECK_WORD(tsri_arm64_add(&code, 6, 10, 5, 2), 0x8b050946, "  add x6, x10, x5, lsl #2\n");
  CHECK_WORD(tsri_arm64_add(&code, 17, 17, 6, 0), 0x8b060231, "  add x17, x17, x6, lsl #0\n");
  CHECK_WORD(tsri_arm64_count_down(&code, 3), 0xf1000463, "  subs x3, x3, #1\n");
  CHECK_WORD(tsri_arm64_compare(&code, 5, 2), 0xeb0200bf, "  cmp x5, x2\n");
  CHECK_WORD(tsri_arm64_return(&code), 0xd65f03c0, "  ret\n");
}

TEST(jumps_count_words_from_themselves) {
  tsri_builder listing = {0};
  machine_code code = {.listing = &listing};
  tsri_arm64_return(&code);
  tsri_arm64_jump_if_below(&code, 0);
  tsri_arm64_jump_if_not_zero(&code, 4);
  static const uint8_t wanted[] = {0xc0, 0x03, 0x5f, 0xd6, 0xe3, 0xff, 0xff, 0x54, 0xe1, 0xff, 0xff, 0x54};
  CHECK_EQ_UINT(code.count, sizeof wanted);
  CHECK_BYTES(code.bytes, wanted, sizeof wanted);
  CHECK_STR(listing.text, "  ret\n  b.lo loop\n  b.ne round\n");
  tsri_builder_deinit(&listing);
  tsri_code_deinit(&code);
}

TEST(the_pool_is_found_by_its_distance) {
  machine_code code = {0};
  tsri_arm64_return(&code);
  tsri_arm64_pool_address(&code, 7);
  const uint32_t pool[4] = {1, 2, 3, 4};
  tsri_arm64_append_pool(&code, pool, sizeof pool);
  CHECK(!code.failed);
  CHECK_EQ_UINT(code.count, 128);
  CHECK_BYTES(code.bytes + 64, pool, sizeof pool);
  static const uint8_t adr_x7_60_bytes_on[] = {0xe7, 0x01, 0x00, 0x10};
  CHECK_BYTES(code.bytes + 4, adr_x7_60_bytes_on, sizeof adr_x7_60_bytes_on);
  tsri_code_deinit(&code);
}
