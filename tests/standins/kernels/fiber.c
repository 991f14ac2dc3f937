// SPDX-License-Identifier: MIT
// Changing stacks takes a dozen instructions where they are written by hand; ucontext asks the kernel for the signal mask
// at each change, which makes kernels with many barriers fifty times slower.
#include "standins/kernels/fiber.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(HAS_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 512 << 10, GUARD_BYTES = 64 << 10 };

static standin_fiber *running;
static void *resumer;  // place of the thread that resumed the running fiber
static const void *resumer_stack;
static size_t resumer_stack_bytes;

// --- Changing stacks ------------------------------------------------------------------------------------------------

// Saves the registers that a function must keep, stores the stack pointer in *from, and goes on at `to`.
void standin_switch(void **from, void *to) __attribute__((visibility("hidden")));

#if defined(__linux__) && defined(__x86_64__)
__asm__(
    ".text\n.hidden standin_switch\n.globl standin_switch\n.type standin_switch, @function\nstandin_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n.size standin_switch, . - standin_switch\n");

static void *first_place(void *end, void (*entry)(void)) {
  void **top = end;  // a multiple of 16; a function begins 8 bytes below one
  *--top = NULL;     // what `entry` would return to
  *--top = (void *)(uintptr_t)entry;
  for (int i = 0; i < 6; i++) *--top = NULL;
  return top;
}
#elif defined(__linux__) && defined(__aarch64__)
__asm__(
    ".text\n.hidden standin_switch\n.globl standin_switch\n.type standin_switch, %function\nstandin_switch:\n"
    "  stp x29, x30, [sp, #-160]!\n  stp x19, x20, [sp, #16]\n  stp x21, x22, [sp, #32]\n  stp x23, x24, [sp, #48]\n"
    "  stp x25, x26, [sp, #64]\n  stp x27, x28, [sp, #80]\n  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #16]\n  ldp x21, x22, [sp, #32]\n  ldp x23, x24, [sp, #48]\n  ldp x25, x26, [sp, #64]\n"
    "  ldp x27, x28, [sp, #80]\n  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n  ldp x29, x30, [sp], #160\n"
    "  ret\n.size standin_switch, . - standin_switch\n");

static void *first_place(void *end, void (*entry)(void)) {
  void **frame = (void **)end - 20;
  for (int i = 0; i < 20; i++) frame[i] = NULL;
  frame[1] = (void *)(uintptr_t)entry;  // x30
  return frame;
}
#else
#error "standin_switch is not written for this system: leave the stand-ins out of the build (cmake/standins.cmake)"
#endif

// --- Fibers ---------------------------------------------------------------------------------------------------------

// What a change of stacks must tell the address sanitizer; nothing without it.
static void before_switch(void **fake_stack, const void *stack, size_t bytes) {
#if defined(HAS_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#else
  (void)fake_stack, (void)stack, (void)bytes;
#endif
}

static void after_switch(void *fake_stack, const void **old_stack, size_t *old_bytes) {
#if defined(HAS_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(fake_stack, old_stack, old_bytes);
#else
  (void)fake_stack, (void)old_stack, (void)old_bytes;
#endif
}

static void *stack_end(const standin_fiber *fiber) { return (char *)fiber->stack + STACK_BYTES; }

bool standin_fiber_create(standin_fiber *fiber, void (*entry)(void)) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return false;
  (void)mprotect(memory, GUARD_BYTES, PROT_NONE);  // what needs more ends here, not in another fiber's stack
  fiber->stack = memory + GUARD_BYTES;
  standin_fiber_restart(fiber, entry);
  return true;
}

static void (*first_entry)(void);

static void begin(void) {
  after_switch(NULL, &resumer_stack, &resumer_stack_bytes);
  first_entry();
}

void standin_fiber_restart(standin_fiber *fiber, void (*entry)(void)) {
#if defined(HAS_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(fiber->stack, STACK_BYTES);
#endif
  first_entry = entry;
  fiber->fake_stack = NULL;
  fiber->place = first_place(stack_end(fiber), begin);
}

void standin_fiber_resume(standin_fiber *fiber) {
  void *fake_stack = NULL;
  running = fiber;
  before_switch(&fake_stack, fiber->stack, STACK_BYTES);
  standin_switch(&resumer, fiber->place);
  after_switch(fake_stack, NULL, NULL);
}

void standin_fiber_yield(void) {
  standin_fiber *fiber = running;
  before_switch(&fiber->fake_stack, resumer_stack, resumer_stack_bytes);
  standin_switch(&fiber->place, resumer);
  after_switch(fiber->fake_stack, &resumer_stack, &resumer_stack_bytes);
}
