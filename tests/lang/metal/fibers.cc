// SPDX-License-Identifier: MIT
// Runs a launch of emitted Metal text: the threads of a threadgroup are fibers that take turns at barriers.
#include <metal_stdlib>
#include <ucontext.h>

#include <vector>

metal::tessera_item tessera_now;

namespace {

typedef void (*kernel_call)(void *const *buffers, const void *params, uint3 group, uint3 groups, uint3 local);

struct launch {
  kernel_call call;
  void *const *buffers;
  const void *params;
  uint3 group, groups, size;
  std::vector<ucontext_t> fibers;
  std::vector<char> is_done;
  ucontext_t scheduler;
  uint current;
};

launch *running;
constexpr std::size_t stack_bytes = 1u << 18;

void start() {
  launch &l = *running;
  uint number = l.current;
  uint3 local = {number % l.size.x, number / l.size.x % l.size.y, number / l.size.x / l.size.y};
  l.call(l.buffers, l.params, l.group, l.groups, local);
  l.is_done[number] = 1;
}

void wait(void *) { swapcontext(&running->fibers[running->current], &running->scheduler); }

// False: some threads reached a barrier and others the end.
bool run_group(launch &l, std::vector<char> &stacks, std::vector<uint> &slots) {
  uint count = static_cast<uint>(l.fibers.size());
  for (uint i = 0; i < count; i++) {
    getcontext(&l.fibers[i]);
    l.fibers[i].uc_stack.ss_sp = &stacks[i * stack_bytes];
    l.fibers[i].uc_stack.ss_size = stack_bytes;
    l.fibers[i].uc_link = &l.scheduler;
    makecontext(&l.fibers[i], start, 0);
    l.is_done[i] = 0;
  }
  for (uint done = 0; done == 0;) {
    for (uint i = 0; i < count; i++) {
      l.current = i;
      tessera_now = {i, count, slots.data(), wait, nullptr};
      swapcontext(&l.scheduler, &l.fibers[i]);
      done += static_cast<uint>(l.is_done[i]);
    }
    if (done == count) return true;
  }
  return false;
}

}  // namespace

extern "C" int tessera_metal_run(kernel_call call, void *const *buffers, const void *params, const uint *groups,
                                 const uint *size) {
  uint count = size[0] * size[1] * size[2];
  launch l = {};
  l.call = call;
  l.buffers = buffers;
  l.params = params;
  l.groups = {groups[0], groups[1], groups[2]};
  l.size = {size[0], size[1], size[2]};
  l.fibers.resize(count);
  l.is_done.resize(count);
  std::vector<char> stacks(count * stack_bytes);
  std::vector<uint> slots(count + metal::simd_width);
  running = &l;
  for (uint z = 0; z < groups[2]; z++) {
    for (uint y = 0; y < groups[1]; y++) {
      for (uint x = 0; x < groups[0]; x++) {
        l.group = {x, y, z};
        if (!run_group(l, stacks, slots)) return 1;
      }
    }
  }
  return 0;
}
