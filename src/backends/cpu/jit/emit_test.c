// SPDX-License-Identifier: MIT
// Functions made from operations, for each calling convention that can be called here.
#include "backends/cpu/jit/emit.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/jit/convention.h"
#include "backends/cpu/jit/x86_convention.h"
#include "platform/code_memory.h"
#include "support/test.h"

enum { LANES = 32, ROUNDS = 3, STREAMS = 20, SCALAR = 700 };

static const jit_target *native_target(void) {
  for (int i = 0; i < JIT_TARGET_COUNT; i++) {
    const jit_target *target = tsri_jit_targets[i];
    if (jit_can_call(target) && strcmp(tsri_cpu_simd_level(target->simd), target->simd) == 0) return target;
  }
  return NULL;
}

// The last stream gets the sum of all others plus a scalar, SCALAR, whose address needs a large offset from the first scalar's.
static void *make_sum(const jit_target *target, size_t *out_bytes) {
  jit_ir ir = {.target = target};
  jit_value sum = tsri_jit_in_memory(&ir, JIT_SCALAR, SCALAR);
  for (uint32_t i = 0; i + 1 < STREAMS; i++) {
    jit_value x = tsri_jit_add(&ir, (jit_op){.kind = JIT_LOAD, .element = JIT_E32, .number = i});
    sum = jit_binary(&ir, JIT_ADD_I, sum, x);
  }
  tsri_jit_add(&ir, (jit_op){.kind = JIT_STORE, .element = JIT_E32, .a = sum, .number = STREAMS - 1});
  machine_code code = {0};
  CHECK(tsri_jit_emit(&ir, STREAMS, false, &code));
  void *memory = tsri_code_memory_create(code.bytes, code.count);
  *out_bytes = code.count;
  tsri_code_deinit(&code);
  tsri_jit_ir_deinit(&ir);
  return memory;
}

typedef struct sum_case {
  uint32_t elements[STREAMS][ROUNDS * LANES];
  void *streams[STREAMS];
  uint64_t scalars[SCALAR + 1];
  int64_t steps[STREAMS];
} sum_case;

static void fill_case(sum_case *c) {
  for (uint32_t i = 0; i < STREAMS; i++) {
    for (uint32_t k = 0; k < ROUNDS * LANES; k++) c->elements[i][k] = i == STREAMS - 1 ? 0 : i * 1000 + k;
    c->streams[i] = c->elements[i];
    c->steps[i] = LANES * sizeof(uint32_t);
  }
  for (uint32_t i = 0; i <= SCALAR; i++) c->scalars[i] = i;
}

static void check_case(const sum_case *c) {
  uint32_t all = (STREAMS - 1) * (STREAMS - 2) / 2 * 1000 + SCALAR;
  for (uint32_t k = 0; k < ROUNDS * LANES; k++) {
    CHECK_EQ_UINT(c->elements[STREAMS - 1][k], all + (STREAMS - 1) * k);
  }
}

TEST(streams_beyond_the_registers_are_read_and_moved_on) {
  const jit_target *target = native_target();
  if (!target) SKIP("this processor has no instructions that kernels are compiled to");
  size_t bytes = 0;
  void *memory = make_sum(target, &bytes);
  if (!memory) SKIP("this system forbids executable memory");
  static sum_case c;
  fill_case(&c);
  jit_code code;
  memcpy(&code, &memory, sizeof code);
  code(c.streams, c.scalars, LANES, ROUNDS, c.steps);
  check_case(&c);
  tsri_code_memory_free(memory, bytes);
}

// Compilers for x86-64 can call by the other system's convention. Values that it says are kept are used after the call.
TEST(code_for_windows_takes_its_arguments_from_there) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
  typedef void(__attribute__((ms_abi)) * windows_code)(void **, const uint64_t *, size_t, size_t, const int64_t *);
  const jit_target *native = native_target();
  if (!native) SKIP("this processor has no instructions that kernels are compiled to");
  jit_target target = *native;
  target.convention = &tsri_x86_windows;
  size_t bytes = 0;
  void *memory = make_sum(&target, &bytes);
  if (!memory) SKIP("this system forbids executable memory");
  static sum_case c;
  fill_case(&c);
  windows_code code;
  memcpy(&code, &memory, sizeof code);
  code(c.streams, c.scalars, LANES, ROUNDS, c.steps);
  check_case(&c);
  tsri_code_memory_free(memory, bytes);
#else
  SKIP("only compilers for x86-64 can call by the convention of Windows");
#endif
}

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

TEST(code_for_windows_saves_the_registers_that_must_be_kept) {
  tsri_builder listing = {0};
  machine_code code = {.listing = &listing};
  tsri_x86_windows.enter(&code, STREAMS);
  tsri_x86_windows.leave(&code, STREAMS);
  static const char *const kept[] = {"rbx", "rbp", "rdi", "rsi", "r12", "r13", "r14", "r15"};
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    char push[32], pop[32];
    snprintf(push, sizeof push, "push %s\n", kept[i]);
    snprintf(pop, sizeof pop, "pop %s\n", kept[i]);
    CHECK_EQ_UINT(count_of(listing.text, push), 1);
    CHECK_EQ_UINT(count_of(listing.text, pop), 1);
  }
  for (int i = 6; i <= 15; i++) {
    char store[64], load[64];
    int at = JIT_FRAME_BYTES + (i - 6) * 16;
    snprintf(store, sizeof store, "vmovups [rsp+%d], xmm%d\n", at, i);
    snprintf(load, sizeof load, "vmovups xmm%d, [rsp+%d]\n", i, at);
    CHECK_EQ_UINT(count_of(listing.text, store), 1);
    CHECK_EQ_UINT(count_of(listing.text, load), 1);
  }
  tsri_builder_deinit(&listing);
  tsri_code_deinit(&code);
}
