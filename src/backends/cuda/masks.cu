// SPDX-License-Identifier: MIT
// Kernels for attention with a mask by cuDNN, which adds masks of f16 or bf16 whose rows begin at multiples of 16 bytes. Before it: copies other masks to that
// form. After it: sets the results of queries that attend to no key to 0, which not every version of cuDNN does. The host defines COPIES for the first kernel.

enum { WIDTH = 8 };  // elements that an item stores at once

typedef unsigned short u16;  // an element: f16 or bf16

// Waits until the kernels that this one depends on have ended: the driver may start it earlier (start.c). Nothing may be read or written before this.
__device__ __forceinline__ void wait_for_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#if COPIES

// Steps are strides of batch, head, query and key. `to` has `heads`, `queries` and `keys` indices along its axes, and `parts` * WIDTH elements in a row;
// `count` is the number of parts of all rows. is_truth: an element of `from` is a byte, which hides a key if it is 0; otherwise it has the type of `to`.
// is_wide: the WIDTH bytes of a part are neighbours, at a multiple of WIDTH. `hidden` is -infinity.
struct arguments {
  const void *from;
  uint4 *to;
  long long steps[4];
  int heads, queries, keys, parts, is_truth, is_wide;
  unsigned count, hidden;
};

extern "C" __global__ void __launch_bounds__(256) tsrk_copy_mask(arguments a) {
  wait_for_kernels();
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= a.count) return;
  unsigned row = at / a.parts, key = at % a.parts * WIDTH;
  long long first = row / a.queries / a.heads * a.steps[0] + row / a.queries % a.heads * a.steps[1] +
                    row % a.queries * a.steps[2];
  unsigned words[WIDTH / 2];
  uint2 bytes = make_uint2(0, 0);
  if (a.is_wide) bytes = *(const uint2 *)((const unsigned char *)a.from + first + key);
  for (int i = 0; i < WIDTH; i++) {
    unsigned element = 0;
    if (a.is_wide) {
      element = (i < 4 ? bytes.x : bytes.y) >> i % 4 * 8 & 255 ? 0 : a.hidden;
    } else if (key + i < a.keys) {
      long long place = first + (key + i) * a.steps[3];
      if (!a.is_truth) element = ((const u16 *)a.from)[place];
      else if (!((const unsigned char *)a.from)[place]) element = a.hidden;
    }
    words[i / 2] = i % 2 ? words[i / 2] | element << 16 : element;
  }
  a.to[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

#else

enum { TEAM = 8, STEP = 64 };

// Steps are strides of batch, head and query; those of the mask, and key_step, are 0 along an axis whose indices share elements. lse is NULL or has the
// logarithm of each query's sum of exponentials; for queries without keys, our gradients expect infinity there. `hidden` is -infinity.
struct arguments {
  const u16 *mask;
  u16 *y;
  float *lse;
  long long mask_steps[3], y_steps[3];
  int key_step, heads, queries, keys, value_size, is_causal;
  unsigned rows, hidden;
};

// TEAM lanes share a query. They look for a key whose element of the mask is not -infinity: first among TEAM keys, which suffices for most masks, then among
// STEP more keys in each round.
extern "C" __global__ void __launch_bounds__(256) tsrk_clear_unseen(arguments a) {
  wait_for_kernels();
  unsigned lane = threadIdx.x % TEAM, row = (blockIdx.x * blockDim.x + threadIdx.x) / TEAM;
  unsigned team = ((1u << TEAM) - 1) << (threadIdx.x % 32 / TEAM * TEAM);
  if (row >= a.rows) return;  // all lanes of a team
  long long query = row % a.queries, head = row / a.queries % a.heads, batch = row / a.queries / a.heads;
  int keys = a.key_step == 0 ? 1 : a.is_causal ? (int)query + 1 : a.keys;
  const u16 *mask = a.mask + batch * a.mask_steps[0] + head * a.mask_steps[1] + query * a.mask_steps[2];
  for (int first = 0, count = TEAM; first < keys; first += count, count = STEP) {
    bool is_seen = false;
    for (int i = 0; i < count; i += TEAM) {
      int key = first + i + lane;
      if (key < keys && mask[key] != a.hidden) is_seen = true;
    }
    if (__any_sync(team, is_seen)) return;
  }
  if (lane == 0 && a.lse) a.lse[row] = __int_as_float(0x7F800000);
  u16 *y = a.y + batch * a.y_steps[0] + head * a.y_steps[1] + query * a.y_steps[2];
  for (int i = lane * WIDTH; i < a.value_size; i += TEAM * WIDTH) *(uint4 *)(y + i) = make_uint4(0, 0, 0, 0);
}

#endif
