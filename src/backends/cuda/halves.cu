// SPDX-License-Identifier: MIT
// y = chain(activation(alpha a b + beta c + bias)) of f16, bf16, or f32 that counts as TF32, by the matrix units of Hopper GPUs (wgmma). Sums are f32.
//
// A work-group computes tiles of ROWS x COLUMNS elements of y, one after the other. Its first warp group only loads: one item of it copies strips of DEPTH elements along k into the SLOTS slots of the shared memory, by the GPU's
// copy engine (TMA), which also puts zeros where a strip lies beyond the matrix, and rounds f32 to TF32. The other two warp groups multiply: each has 64 rows of the tile in its registers.
//
// The results of a tile, rounded to 16 bits, stay in registers, too, and are stored while the next tile is being multiplied (IS_LATE): all work-groups end their tiles at about the same time, and if they stored them at once, they would
// wait for the memory. Results of f32 find no room in registers and are stored at once.
//
// Each slot has two barriers: `full` lets the multiplying warp groups wait for the copies, and `empty` lets the loading item wait until both have multiplied the strip. If TURNS_B, three warps of the first warp group turn strips of b where they lie, and a barrier `turned` lets the multiplying ones wait for that.
//
// CLUSTER work-groups, 1 or more, form a cluster. Either they compute tiles below each other, and need the same strips of b: each copies a part of them to the shared memory of all. Or, with IS_SPLIT, they compute the same tile, and
// each of them adds up a part of k; then each adds up the sums of all parts, in their order, for a part of the columns. Such a cluster computes one tile only.
//
// The host defines KIND (0: f16, 1: bf16, 2: f32), COLUMNS (64, 128 or 256), SLOTS, CLUSTER, IS_SPLIT, ACTIVATION (1: relu, 2: gelu by tanh), HAS_C, and A_TURNED and B_TURNED: 0 if elements along k are neighbours in memory, 1 if
// elements along m (of a) or n (of b) are. If a is turned and of f32, y may be turned, too (Y_TURNED): elements along m are neighbours in y, c, and what the chain reads, and bias has an element for each row. Lines of such neighbours begin at multiples of 16 bytes. Rows of y and c have a multiple of 4 elements and begin at multiples of the bytes of 4 elements.
//
// If there is a chain of element-wise operators after the product, the host puts its function before this text, and defines CHAIN_INPUTS, how many tensors the function reads beside the product's element, and
// CHAIN(x, inputs, y), which calls it for one element.

#ifndef CHAIN
#define CHAIN_INPUTS 0
#endif

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if KIND == 2
typedef float number;  // an element in memory
typedef uint2 pair;    // of neighbours
typedef uint4 quad;
#else
typedef u16 number;
typedef u32 pair;
typedef uint2 quad;
#endif

#define IS_HELD (KIND == 2 && A_TURNED)   // an item has its elements of a in registers
#define TURNS_B (KIND == 2 && B_TURNED)   // strips of b are transposed in shared memory
#define SHARERS (IS_SPLIT ? 1 : CLUSTER)  // work-groups that share strips of b

enum {
  ROWS = 128,
  THREADS = 384,
  MULTIPLYING = THREADS - 128,                     // items
  LINE_BYTES = 128,                                // of a line of a strip
  ELEMENT_BYTES = sizeof(number),
  DEPTH = LINE_BYTES / ELEMENT_BYTES,              // elements of a strip along k
  PIECE = 64,                                      // rows or columns of a piece of a strip
  PIECE_BYTES = PIECE * LINE_BYTES,
  A_BYTES = ROWS * LINE_BYTES,
  B_BYTES = COLUMNS * LINE_BYTES,
  SLOT_BYTES = A_BYTES + B_BYTES,
  STEPS = 4,                                       // wgmma instructions for a strip, of 32 bytes along k each
  A_PIECE = IS_HELD ? 32 : 64,                     // rows of a piece of a: a line of f32
  B_PIECE = TURNS_B ? 32 : 64,                     // columns of a piece of b
  ENDED = IS_SPLIT ? COLUMNS / CLUSTER : COLUMNS,  // columns of the tile whose results the work-group stores
  MOST_CHUNK = LINE_BYTES / ELEMENT_BYTES,
  CHUNK = ENDED < MOST_CHUNK ? ENDED : MOST_CHUNK, // columns that a warp computes and stores at a time
  CHUNKS = ENDED / CHUNK,
  CHUNK_PAIRS = CHUNK / 4,                         // pairs of neighbouring results in a chunk that an item has, as wgmma leaves them
  QUADS = CHUNK / 8,                               // quads of a chunk that an item loads and stores
  QUAD_LINE = Y_TURNED ? 16 : CHUNK,               // neighbouring elements of y in a line of a chunk: of a column if Y_TURNED, else of a row
  ACROSS = QUAD_LINE / 4,                          // items that share a line
  DOWN = 32 / ACROSS,                              // lines that a warp accesses at a time
  PITCH = QUAD_LINE * ELEMENT_BYTES + 16,          // bytes from one line of a chunk in shared memory to the next
  CHUNK_BYTES = (16 * CHUNK / QUAD_LINE) * PITCH,
  IS_LATE = KIND != 2 && !IS_SPLIT,
  HELD = IS_LATE ? CHUNKS : 1,                     // chunks of results in registers
  TURNING_WARPS = 3,
  LOADING_REGISTERS = TURNS_B ? 56 : 40,
  MULTIPLYING_REGISTERS = TURNS_B ? 224 : 232,
};

// The copy engine's description of a matrix (CUtensorMap), which the host has filled in.
struct __align__(64) matrix_map {
  u64 words[16];
};

struct product {
  matrix_map a, b;
  const number *c, *bias;
  number *y;
  long long c_step, c_batch;
  int m, n, k, batches;
  int a_has_batch, b_has_batch;  // 0: all products of the batch use the same matrix
  int band;                      // clusters below each other that are computed before those in the next columns
  float alpha, beta;
#ifdef CHAIN
  struct {
    const number *at;
    int by_row, by_column;  // 1, 1: one element per element of y. 0, 1: one per column. 0, 0: one
  } inputs[3];
  number *kept;   // if not NULL, the elements before the chain are stored here
  u32 words[24];  // scalars of the chain's function
#endif
};

// --- Barriers ---------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void begin_barrier(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Waits until the phase with this parity of the barrier has ended.
__device__ __forceinline__ void wait_for(u32 barrier, u32 parity) {
  asm volatile(
      "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void expect_bytes(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier of work-group `rank` of the cluster. A release at cluster scope, which would take a thousand cycles, is not needed: only reads precede
// it, and wgmma's wait has completed these.
__device__ __forceinline__ void arrive_at(u32 barrier, u32 rank) {
#if SHARERS > 1
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(barrier) : "r"(rank));
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

__device__ __forceinline__ void wait_for_cluster() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}

__device__ __forceinline__ u32 cluster_rank() {
#if CLUSTER > 1
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

// The index of the work-group among those that share strips of b.
__device__ __forceinline__ u32 sharer() { return IS_SPLIT ? 0 : cluster_rank(); }

// The next slot, and the parity of its phase. A wait for the phase before the first ends at once with parity 1, so that in the first round all slots count as
// empty.
struct turn {
  u32 slot = 0, parity = 0;

  __device__ __forceinline__ void next() {
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }
};

struct slots {
  u32 strips, full, empty, turned;  // addresses in shared memory

  __device__ __forceinline__ u32 strip(u32 slot) const { return strips + slot * SLOT_BYTES; }

  // Waits until the strips of a slot can be multiplied.
  __device__ __forceinline__ void wait_for_strips(const turn &now) const {
    wait_for(full + now.slot * 8, now.parity);
    if (TURNS_B) wait_for(turned + now.slot * 8, now.parity);
  }
};

// --- Tiles --------------------------------------------------------------------------------------------------------------

// The tiles that a work-group computes: tile first() of its cluster, and every `hop`-th tile after it.
struct tiles {
  int down, across, count, hop;

  __device__ __forceinline__ tiles(const product &p) {
    down = (p.m + ROWS * SHARERS - 1) / (ROWS * SHARERS);
    across = (p.n + COLUMNS - 1) / COLUMNS;
    count = down * across * p.batches;
    hop = gridDim.x / CLUSTER;
  }

  __device__ __forceinline__ int first() const { return blockIdx.x / CLUSTER; }
};

struct place {
  int row, column, batch;

  __device__ __forceinline__ place() {}
  __device__ __forceinline__ place(const product &p, const tiles &all, int number) {
    int each = all.down * all.across;
    batch = number / each;
    number -= batch * each;
    int before = number / (p.band * all.across) * p.band, height = min(p.band, all.down - before);
    number -= before * all.across;
    row = ((before + number % height) * SHARERS + (int)sharer()) * ROWS;
    column = number / height * COLUMNS;
  }
};

// The range of strips along k that the work-group multiplies.
struct share {
  int first, count;

  __device__ __forceinline__ share(const product &p) {
    int strips = (p.k + DEPTH - 1) / DEPTH, part = IS_SPLIT ? (int)cluster_rank() : 0, parts = IS_SPLIT ? CLUSTER : 1;
    first = (int)((long long)strips * part / parts);
    count = (int)((long long)strips * (part + 1) / parts) - first;
  }
};

// --- Loading ------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void copy(u32 to, const matrix_map *map, int x, int y, int z, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void copy_to_all(u32 to, const matrix_map *map, int x, int y, int z, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"((u16)((1 << SHARERS) - 1))
      : "memory");
}

// Copies a strip in pieces of A_PIECE rows or B_PIECE columns: all of a, and this work-group's share of b.
__device__ __forceinline__ void load_strip(const product &p, const place &at, int k, u32 strip, u32 barrier) {
  enum { B_PIECES = COLUMNS / B_PIECE / SHARERS };
  int a_batch = p.a_has_batch ? at.batch : 0, b_batch = p.b_has_batch ? at.batch : 0;
#pragma unroll
  for (int i = 0; i < ROWS / A_PIECE; i++) {
    int row = at.row + i * A_PIECE;
    copy(strip + i * (A_BYTES / (ROWS / A_PIECE)), &p.a, A_TURNED ? row : k, A_TURNED ? k : row, a_batch, barrier);
  }
#pragma unroll
  for (int i = 0; i < B_PIECES; i++) {
    int piece = (int)sharer() * B_PIECES + i, column = at.column + piece * B_PIECE;
    u32 to = strip + A_BYTES + piece * (B_PIECE * LINE_BYTES);
    if (SHARERS == 1) copy(to, &p.b, B_TURNED ? column : k, B_TURNED ? k : column, b_batch, barrier);
    else copy_to_all(to, &p.b, B_TURNED ? column : k, B_TURNED ? k : column, b_batch, barrier);
  }
}

__device__ __forceinline__ void load_all(const product &p, const slots &s) {
  tiles all(p);
  share mine(p);
  turn now;
  for (int i = all.first(); i < all.count; i += all.hop) {
    place at(p, all, i);
    for (int j = mine.first; j < mine.first + mine.count; j++) {
      wait_for(s.empty + now.slot * 8, now.parity ^ 1);
      expect_bytes(s.full + now.slot * 8, SLOT_BYTES);
      load_strip(p, at, j * DEPTH, s.strip(now.slot), s.full + now.slot * 8);
      now.next();
    }
  }
}

// --- Shared memory ------------------------------------------------------------------------------------------------------

// put() and get(): vectors in shared memory.
__device__ __forceinline__ void put(u32 at, u32 x) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(x) : "memory"); }
__device__ __forceinline__ void put(u32 at, uint2 x) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(x.x), "r"(x.y) : "memory");
}
__device__ __forceinline__ void put(u32 at, uint4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
__device__ __forceinline__ void get(u32 at, u32 &x) { asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(at) : "memory"); }
__device__ __forceinline__ void get(u32 at, uint2 &x) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(at) : "memory");
}
__device__ __forceinline__ void get(u32 at, uint4 &x) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
}

#if TURNS_B
// Transposes a part of a strip of b in place: in each square of 4 KB, 32 lines along n become 32 lines along k. A square has 8 x 8 blocks of 4 x 4 elements,
// and block (i, j) is exchanged with (j, i). Lanes handle the blocks (i, i ^ d): the eight lanes with the same d have one block each, and neither their reads
// nor their writes conflict in a bank. The copy engine and wgmma both use the swizzle that exchanges the 16-byte parts of a line depending on its number.
__device__ __forceinline__ void turn_blocks(u32 square, int d) {
  int i = threadIdx.x % 8, j = i ^ d;
  uint4 lines[4];
#pragma unroll
  for (int l = 0; l < 4; l++) get(square + (i * 4 + l) * LINE_BYTES + (j ^ (i * 4 + l) % 8) * 16, lines[l]);
  __syncwarp();
  u32 to = square + j * 4 * LINE_BYTES;
  int first = i ^ j % 2 * 4;
  put(to + first * 16, make_uint4(lines[0].x, lines[1].x, lines[2].x, lines[3].x));
  put(to + LINE_BYTES + (first ^ 1) * 16, make_uint4(lines[0].y, lines[1].y, lines[2].y, lines[3].y));
  put(to + 2 * LINE_BYTES + (first ^ 2) * 16, make_uint4(lines[0].z, lines[1].z, lines[2].z, lines[3].z));
  put(to + 3 * LINE_BYTES + (first ^ 3) * 16, make_uint4(lines[0].w, lines[1].w, lines[2].w, lines[3].w));
}

__device__ __forceinline__ void turn_all(const product &p, const slots &s) {
  tiles all(p);
  share mine(p);
  turn now;
  int lane = threadIdx.x % 32;
  for (int i = all.first(); i < all.count; i += all.hop) {
    for (int j = 0; j < mine.count; j++) {
      u32 b = s.strip(now.slot) + A_BYTES;
      wait_for(s.full + now.slot * 8, now.parity);
#pragma unroll 1
      for (int half = threadIdx.x / 32 - 1; half < COLUMNS / B_PIECE * 2; half += TURNING_WARPS) {
        turn_blocks(b + half / 2 * (B_PIECE * LINE_BYTES), half % 2 * 4 + lane / 8);
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // makes the writes visible to wgmma, and orders them before the copy engine's next writes
      __syncwarp();
      if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(s.turned + now.slot * 8) : "memory");
      now.next();
    }
  }
}
#endif

// With IS_HELD, lanes 4 i to 4 i + 3 of a warp hold two neighbouring rows of the 32 rows of a piece of a; this returns the first of them. Even warps have rows
// 0 to 7 and 16 to 23, odd warps the 8 rows after each of these ranges.
__device__ __forceinline__ int held_row(int i) { return i % 2 * 2 + i / 4 * 4 + i / 2 % 2 * 16; }

// --- Multiplying --------------------------------------------------------------------------------------------------------

// wgmma's descriptor of 32 bytes along k of a strip: the address within the work-group's shared memory (in a cluster, higher bits are the work-group's rank),
// the distance in bytes from one piece to the next, the distance from eight lines to the next eight, and the kind of swizzle (128 bytes).
template <int TURNED>
__device__ __forceinline__ u64 describe(u32 at) {
  return (u64)((at & 0x3ffff) >> 4) | (u64)((TURNED ? PIECE_BYTES : 16) >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

#if KIND == 2
#define FORM "k8.f32.tf32.tf32 {"
#define TURNS(a, b) ""
#elif KIND == 1
#define FORM "k16.f32.bf16.bf16 {"
#define TURNS(a, b) ", " a ", " b
#else
#define FORM "k16.f32.f16.f16 {"
#define TURNS(a, b) ", " a ", " b
#endif

#define EIGHT(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])

// How a is passed to the instruction: by its descriptor, or in registers.
#if IS_HELD
#define A_NAMES(first, second, third, fourth) "{" first ", " second ", " third ", " fourth "}"
#define A_VALUES(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#else
#define A_NAMES(first, second, third, fourth) first
#define A_VALUES(a) "l"(a)
#endif

// d = a b for 64 rows and COLUMNS columns, or d += a b if `adds`. b is passed by its descriptor, and so is a unless IS_HELD.
#if COLUMNS == 256
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %129, 0; wgmma.mma_async.sync.aligned.m64n256" FORM \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
      "}, " A_NAMES("%132", "%133", "%134", "%135") ", %128, p, 1, 1" TURNS("%130", "%131") "; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56), \
        EIGHT(d, 64), EIGHT(d, 72), EIGHT(d, 80), EIGHT(d, 88), EIGHT(d, 96), EIGHT(d, 104), EIGHT(d, 112), EIGHT(d, \
        120) \
      : "l"(b), "r"(adds), "n"(A_TURNED), "n"(B_TURNED), A_VALUES(a))
#elif COLUMNS == 128
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %65, 0; wgmma.mma_async.sync.aligned.m64n128" FORM \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
      "}, " A_NAMES("%68", "%69", "%70", "%71") ", %64, p, 1, 1" TURNS("%66", "%67") "; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56) \
      : "l"(b), "r"(adds), "n"(A_TURNED), "n"(B_TURNED), A_VALUES(a))
#else
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %33, 0; wgmma.mma_async.sync.aligned.m64n64" FORM \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
      "}, " A_NAMES("%36", "%37", "%38", "%39") ", %32, p, 1, 1" TURNS("%34", "%35") "; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24) \
      : "l"(b), "r"(adds), "n"(A_TURNED), "n"(B_TURNED), A_VALUES(a))
#endif

// The part of a strip of a that a warp group multiplies, in the form that the instruction takes.
#if IS_HELD
// For TF32, matrix units read shared memory only if neighbouring elements are along k, so a with A_TURNED goes through registers. wgmma expects each lane to
// have two rows, with elements lane % 4 and lane % 4 + 4 of each 8 along k. Which two rows is free: here two neighbours, which are read together, chosen so
// that the lanes of half a warp read from different banks (held_row).
struct factor {
  u32 of[STEPS][4];

  __device__ __forceinline__ void take(u32 strip, u32 warpgroup) {
    int warp = (threadIdx.x - 128) / 32, lane = threadIdx.x % 32, row = warp % 2 * 8 + held_row(lane / 4);
    u32 piece = strip + warp / 2 * (A_PIECE * LINE_BYTES);
#pragma unroll
    for (int i = 0; i < STEPS * 2; i++) {
      int k = i * 4 + lane % 4;
      uint2 two;
      get(piece + k * LINE_BYTES + ((row / 4 ^ k % 8) * 16 | row % 4 * 4), two);
      of[i / 2][i % 2 * 2] = two.x, of[i / 2][i % 2 * 2 + 1] = two.y;
    }
  }
  __device__ __forceinline__ const u32 *step(int i) const { return of[i]; }
};
#else
struct factor {
  u64 first;

  __device__ __forceinline__ void take(u32 strip, u32 warpgroup) { first = describe<A_TURNED>(strip + warpgroup * PIECE_BYTES); }
  __device__ __forceinline__ u64 step(int i) const { return first + i * ((A_TURNED ? 16 * 128 : 32) >> 4); }
};
#endif

// Starts to multiply a strip. d = a b, or d += a b if ADDS.
template <bool ADDS>
__device__ __forceinline__ void multiply(float *d, const factor &a, u32 strip) {
  enum { IS_TURNED = B_TURNED && !TURNS_B, B_NEXT = (IS_TURNED ? 16 * 128 : 32) >> 4 };
  u64 b = describe<IS_TURNED>(strip + A_BYTES);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < STEPS; i++) MULTIPLY(d, a.step(i), b + i * B_NEXT, (u32)(ADDS || i > 0));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int LEFT>
__device__ __forceinline__ void wait_until_multiplied() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// Tells the loading items of all work-groups that share strips that this warp has finished with a slot. Each warp does so, because the warps of a warp group do
// not wait for each other.
__device__ __forceinline__ void release(const slots &s, u32 slot) {
  if (threadIdx.x % 32 < SHARERS) arrive_at(s.empty + slot * 8, threadIdx.x % 32);
}

// --- Elements -----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ float widened(number x) {
#if KIND == 2
  return x;
#elif KIND == 1
  return __uint_as_float((u32)x << 16);
#else
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
#endif
}

__device__ __forceinline__ pair rounded(float first, float second) {
#if KIND == 2
  return make_uint2(__float_as_uint(first), __float_as_uint(second));
#else
  pair both;
#if KIND == 1
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
#endif
  return both;
#endif
}

// Element i, 0 or 1, of a pair.
__device__ __forceinline__ float element(pair x, int i) {
#if KIND == 2
  return __uint_as_float(i ? x.y : x.x);
#else
  return widened((number)(i ? x >> 16 : x & 0xffff));
#endif
}

// --- Results ------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ float activated(float x) {
  if (ACTIVATION == 1) return x < 0 ? 0 : x;
  if (ACTIVATION == 2) return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

// The row (of the warp's 16) and the column (of the chunk) of the item's first pair. In wgmma's layout of sums, an item has pairs of neighbours in every eighth
// column, in two rows, which are neighbours if IS_HELD, else 8 apart. Pair i is in row i % 2 of the two, and i / 2 * 8 columns after the first pair.
__device__ __forceinline__ int first_row() {
  int item = threadIdx.x % 32 / 4;
  return IS_HELD ? held_row(item) % 8 + held_row(item) / 16 * 8 : item;
}
__device__ __forceinline__ int first_column() { return threadIdx.x % 4 * 2; }

// The row of y that is row i of the warp's 16.
__device__ __forceinline__ int row_in(const place &at, int i) {
  int warp = ((int)threadIdx.x - 128) / 32;
  return at.row + (IS_HELD ? warp / 2 * 32 + warp % 2 * 8 + i / 8 * 16 + i % 8 : warp * 16 + i);
}

// The first quad of y that an item loads and stores. Quad i of QUADS is lines_to(i) lines of y after it, and i * DOWN lines of the chunk.
struct quad_place {
  int row, column;

  __device__ __forceinline__ quad_place(const place &at, int chunk) {
    int lane = threadIdx.x % 32, line = lane / ACROSS, first = lane % ACROSS * 4;
    row = row_in(at, Y_TURNED ? first : line);
    column = at.column + chunk * CHUNK + (Y_TURNED ? line : first);
  }

  __device__ __forceinline__ static constexpr int lines_to(int i) {
    return IS_HELD && !Y_TURNED ? i * DOWN / 8 * 16 + i * DOWN % 8 : i * DOWN;
  }
  __device__ __forceinline__ bool is_there(const product &p, int i) const {
    return Y_TURNED ? row < p.m && column + lines_to(i) < p.n : row + lines_to(i) < p.m && column < p.n;
  }
  // Offset of the quad's first element, in a batch of matrices of `lines` lines, `step` apart.
  __device__ __forceinline__ long long first(int batch, int lines, long long step) const {
    return ((long long)batch * lines + (Y_TURNED ? column : row)) * step + (Y_TURNED ? row : column);
  }
};
__device__ __forceinline__ u32 quad_in(u32 shared, int i) {
  return shared + threadIdx.x % 32 / ACROSS * PITCH + threadIdx.x % ACROSS * (4 * ELEMENT_BYTES) + i * (DOWN * PITCH);
}

// Address of pair i of a chunk in the warp's part of the shared memory.
__device__ __forceinline__ u32 pair_in(u32 shared, int i) {
  enum { NEXT_ROW = Y_TURNED ? ELEMENT_BYTES : PITCH, NEXT_COLUMN = Y_TURNED ? PITCH : ELEMENT_BYTES };
  return shared + first_row() * NEXT_ROW + first_column() * NEXT_COLUMN + i % 2 * (IS_HELD ? 1 : 8) * NEXT_ROW + i / 2 * 8 * NEXT_COLUMN;
}
#if Y_TURNED
// If Y_TURNED, the item's two rows are neighbours, so two pairs are stored as two columns of two neighbours.
__device__ __forceinline__ void put_pairs(u32 shared, const pair *pairs) {
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i += 2) {
    u32 at = pair_in(shared, i);
    put(at, make_uint2(pairs[i].x, pairs[i + 1].x));
    put(at + PITCH, make_uint2(pairs[i].y, pairs[i + 1].y));
  }
}
__device__ __forceinline__ void get_pairs(u32 shared, pair *pairs) {
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i += 2) {
    u32 at = pair_in(shared, i);
    uint2 first, second;
    get(at, first);
    get(at + PITCH, second);
    pairs[i] = make_uint2(first.x, second.x);
    pairs[i + 1] = make_uint2(first.y, second.y);
  }
}
#else
__device__ __forceinline__ void put_pairs(u32 shared, const pair *pairs) {
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) put(pair_in(shared, i), pairs[i]);
}
__device__ __forceinline__ void get_pairs(u32 shared, pair *pairs) {
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) get(pair_in(shared, i), pairs[i]);
}
#endif

// The item's quads of a chunk of a matrix with the shape of y.
struct chunk_quads {
  quad of[QUADS];

  __device__ __forceinline__ void load(const product &p, const number *from, long long step, const place &at, int chunk) {
    quad_place mine(at, chunk);
    from += mine.first(0, 0, step);
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
      of[i] = quad();
      if (mine.is_there(p, i)) of[i] = *(const quad *)(from + mine.lines_to(i) * step);
    }
  }

  // Exchanges quads between the items of the warp, through shared memory, so that each item gets the pairs that belong to its sums.
  __device__ __forceinline__ void to_pairs(u32 shared, pair *pairs) const {
#pragma unroll
    for (int i = 0; i < QUADS; i++) put(quad_in(shared, i), of[i]);
    __syncwarp();
    get_pairs(shared, pairs);
    __syncwarp();
  }
};

// Distance from one line of y to the next, in elements.
__device__ __forceinline__ int y_step(const product &p) { return Y_TURNED ? p.m : p.n; }

// Stores pairs of a chunk to a matrix with the shape of y, through shared memory.
__device__ __forceinline__ void store_chunk(const product &p, number *to, const place &at, int chunk, u32 shared, const pair *pairs) {
  quad_place mine(at, chunk);
  quad quads[QUADS];
  put_pairs(shared, pairs);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < QUADS; i++) get(quad_in(shared, i), quads[i]);
  to += mine.first(at.batch, Y_TURNED ? p.n : p.m, y_step(p));
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (mine.is_there(p, i)) *(quad *)(to + (long long)mine.lines_to(i) * y_step(p)) = quads[i];
  }
  __syncwarp();
}

// A vector with one element for each position along a line of y (such as a bias): first_in_line is the index of the element for the item's first pair of a
// chunk, and the next function gives the distance to the element for element j of pair i. The vector may begin at any address, so its elements are read one by
// one.
__device__ __forceinline__ int first_in_line(const place &at, int chunk) {
  return Y_TURNED ? row_in(at, first_row()) : at.column + chunk * CHUNK + first_column();
}
__device__ __forceinline__ float line_element(const product &p, const number *from, int first, int i, int j) {
  int there = first + (Y_TURNED ? i % 2 : i / 2 * 8 + j);
  return from && there < y_step(p) ? widened(from[there]) : 0;
}

// The chunks that are read beside the product, from matrices with the shape of y. If there are few, they are loaded one chunk ahead.
struct beside {
  chunk_quads c, inputs[CHAIN_INPUTS + 1];  // one more than needed, since arrays cannot be empty

  __device__ __forceinline__ void load(const product &p, const place &at, int chunk) {
    if (HAS_C) c.load(p, p.c + at.batch * p.c_batch, p.c_step, at, chunk);
#ifdef CHAIN
#pragma unroll
    for (int i = 0; i < CHAIN_INPUTS; i++) {
      if (p.inputs[i].by_row) inputs[i].load(p, p.inputs[i].at + (long long)at.batch * p.m * p.n, y_step(p), at, chunk);
    }
#endif
  }
};
enum { IS_AHEAD = HAS_C + CHAIN_INPUTS <= 2 };

// Computes alpha a b + beta c + bias and the activation for a chunk. The results are in `sums`, and rounded in `pairs`.
__device__ __forceinline__ void finish_sums(const product &p, const place &at, int chunk, u32 shared, const beside &more, float *sums, pair *pairs) {
  float bias[CHUNK_PAIRS];  // of the columns, two for each two pairs; of the rows if Y_TURNED
  int first = first_in_line(at, chunk);
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) bias[i] = line_element(p, p.bias, first, i, i % 2);
  pair c[CHUNK_PAIRS];
  if (HAS_C) more.c.to_pairs(shared, c);
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float sum = fmaf(sums[i * 2 + j], p.alpha, bias[Y_TURNED ? i : i / 2 * 2 + j]);
      if (HAS_C) sum += p.beta * element(c[i], j);
      sums[i * 2 + j] = activated(sum);
    }
    pairs[i] = rounded(sums[i * 2], sums[i * 2 + 1]);
  }
}

#ifdef CHAIN
// Gives the elements of an input of the chain that belong to the item's sums of a chunk.
__device__ __forceinline__ void input_pairs(const product &p, int input, const chunk_quads &quads, const place &at, int chunk, u32 shared, pair *pairs) {
  const number *from = p.inputs[input].at;
  if (p.inputs[input].by_row) {
    quads.to_pairs(shared, pairs);
    return;
  }
  int first = first_in_line(at, chunk);
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) {
    if (!p.inputs[input].by_column) pairs[i] = rounded(widened(*from), widened(*from));
    else pairs[i] = rounded(line_element(p, from, first, i, 0), line_element(p, from, first, i, 1));
  }
}

// Applies the chain to the item's elements of a chunk. If the product is also stored (p.chain.kept), the chain reads the rounded elements, as a separate kernel
// would.
__device__ __forceinline__ void apply_chain(const product &p, const place &at, int chunk, u32 shared, const beside &more, float *sums, pair *pairs) {
  pair inputs[CHAIN_INPUTS + 1][CHUNK_PAIRS];
#pragma unroll
  for (int i = 0; i < CHAIN_INPUTS; i++) input_pairs(p, i, more.inputs[i], at, chunk, shared, inputs[i]);
  if (p.kept) {
    store_chunk(p, p.kept, at, chunk, shared, pairs);
#pragma unroll
    for (int i = 0; i < CHUNK_PAIRS * 2; i++) sums[i] = element(pairs[i / 2], i % 2);
  }
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) {
    float results[2];
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float read[CHAIN_INPUTS + 1];
#pragma unroll
      for (int l = 0; l < CHAIN_INPUTS; l++) read[l] = element(inputs[l][i], j);
      CHAIN(&sums[i * 2 + j], read, &results[j]);
    }
    pairs[i] = rounded(results[0], results[1]);
  }
}
#endif

// --- Tiles of a warp group ------------------------------------------------------------------------------------------------

// The results of a tile as pairs of neighbours: of all chunks if IS_LATE, else of one chunk.
struct results {
  pair pairs[HELD * CHUNK_PAIRS];
  place at;
  bool are_there;

  __device__ __forceinline__ pair *of(int chunk) { return pairs + (IS_LATE ? chunk * CHUNK_PAIRS : 0); }

  __device__ __forceinline__ void store(const product &p, int chunk, u32 shared) {
    if (are_there) store_chunk(p, p.y, at, chunk, shared, of(chunk));
  }
};

// Multiplies the strips of a tile one after the other. While the units multiply one strip, the item already takes the factor of the next.
struct multiplier {
  const slots &s;
  u32 warpgroup, last;
  turn now;
  factor factors[2];

  __device__ __forceinline__ multiplier(const slots &s) : s(s), warpgroup(threadIdx.x / 128 - 1), last(0) {}

  __device__ __forceinline__ void begin(float *sums) {
    s.wait_for_strips(now);
    factors[0].take(s.strip(now.slot), warpgroup);
    multiply<false>(sums, factors[0], s.strip(now.slot));
    last = now.slot;
    now.next();
  }

  // A strip whose number is odd uses factor 1.
  __device__ __forceinline__ void go_on(float *sums, int odd) {
    s.wait_for_strips(now);
    factors[odd].take(s.strip(now.slot), warpgroup);
    multiply<true>(sums, factors[odd], s.strip(now.slot));
    wait_until_multiplied<1>();
    release(s, last);
    last = now.slot;
    now.next();
  }

  __device__ __forceinline__ void end(float *sums) {
    wait_until_multiplied<0>();
    release(s, last);
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; i++) asm volatile("" : "+f"(sums[i])::"memory");  // keeps the compiler from reading the sums earlier
  }
};

// Begins to multiply all strips of a tile, and meanwhile stores the results of the tile before if IS_LATE.
__device__ __forceinline__ void multiply_tile(const product &p, multiplier &units, int strips, float *sums, results &before, u32 shared) {
  enum { FIRST = IS_LATE ? CHUNKS : 1 };
  units.begin(sums);
#pragma unroll
  for (int j = 0; j < FIRST; j++) {
    if (j > 0 && j < strips) units.go_on(sums, j % 2);
    if (IS_LATE) before.store(p, j, shared);
  }
  int j = FIRST;
#pragma unroll 1
  for (; j + 1 < strips; j += 2) {
    units.go_on(sums, FIRST % 2);
    units.go_on(sums, 1 - FIRST % 2);
  }
  if (j < strips) units.go_on(sums, FIRST % 2);
}

#if IS_SPLIT
// If IS_SPLIT, adds up the sums of all work-groups of the cluster for the ENDED columns that this one stores. The sums are exchanged through the shared memory
// of the work-groups, in place of the slots: sum i of an item and the three after it are next to those of the other items.
__device__ __forceinline__ void add_parts(const slots &s, float *sums) {
  enum { NEXT = MULTIPLYING * 16 };
  u32 mine = s.strips + (threadIdx.x - 128) * 16;
  asm volatile("bar.sync 1, %0;" ::"n"((int)MULTIPLYING) : "memory");  // both warp groups have read the slots
#pragma unroll
  for (int i = 0; i < COLUMNS / 8; i++) {
    const float *four = sums + i * 4;
    put(mine + i * NEXT, make_uint4(__float_as_uint(four[0]), __float_as_uint(four[1]), __float_as_uint(four[2]), __float_as_uint(four[3])));
  }
  wait_for_cluster();
  mine += cluster_rank() * (ENDED / 8) * NEXT;
#pragma unroll
  for (int i = 0; i < ENDED / 2; i++) sums[i] = 0;
#pragma unroll
  for (int i = 0; i < CLUSTER; i++) {
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(mine), "r"(i));
#pragma unroll
    for (int j = 0; j < ENDED / 8; j++) {
      float four[4];
      asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(four[0]), "=f"(four[1]), "=f"(four[2]), "=f"(four[3]) : "r"(there + j * NEXT) : "memory");
#pragma unroll
      for (int l = 0; l < 4; l++) sums[j * 4 + l] += four[l];
    }
  }
}
#endif

__device__ __forceinline__ void multiply_all(const product &p, const slots &s, u32 chunks) {
  tiles all(p);
  share mine(p);
  multiplier units(s);
  u32 shared = chunks + (threadIdx.x / 32 - 4) * CHUNK_BYTES;
  float sums[COLUMNS / 2];
  results done;
  done.are_there = false;
#pragma unroll 1
  for (int i = all.first(); i < all.count; i += all.hop) {
    multiply_tile(p, units, mine.count, sums, done, shared);
    done.at = place(p, all, i);
    if (IS_SPLIT) done.at.column += (int)cluster_rank() * ENDED;
    done.are_there = true;
    beside next;
    next.load(p, done.at, 0);
    units.end(sums);
#if IS_SPLIT
    add_parts(s, sums);
#endif
#pragma unroll
    for (int j = 0; j < CHUNKS; j++) {
      beside more = next;
      if (IS_AHEAD && j + 1 < CHUNKS) next.load(p, done.at, j + 1);
      finish_sums(p, done.at, j, shared, more, sums + j * CHUNK / 2, done.of(j));
#ifdef CHAIN
      apply_chain(p, done.at, j, shared, more, sums + j * CHUNK / 2, done.of(j));
#endif
      if (!IS_AHEAD && j + 1 < CHUNKS) next.load(p, done.at, j + 1);
      if (!IS_LATE) done.store(p, j, shared);
    }
  }
  if (!IS_LATE) return;
#pragma unroll
  for (int j = 0; j < CHUNKS; j++) done.store(p, j, shared);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    tsrk_product_halves(const __grid_constant__ product p) {
  extern __shared__ unsigned char memory[];
  __shared__ u64 barriers[3][SLOTS];
  u32 first = ((u32)__cvta_generic_to_shared(memory) + 1023) & ~1023u;  // swizzles count from multiples of 1024
  slots s = {first, (u32)__cvta_generic_to_shared(barriers[0]), (u32)__cvta_generic_to_shared(barriers[1]), (u32)__cvta_generic_to_shared(barriers[2])};
  if (threadIdx.x == 0) {
    for (int i = 0; i < SLOTS; i++) {
      begin_barrier(s.full + i * 8, 1);
      begin_barrier(s.empty + i * 8, MULTIPLYING / 32 * SHARERS);
      begin_barrier(s.turned + i * 8, TURNING_WARPS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // Waits until the kernels that this one depends on have ended: the driver may start it earlier (start.c). Nothing may be read or written before this.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  wait_for_cluster();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)LOADING_REGISTERS));
    if (threadIdx.x == 0) load_all(p, s);
#if TURNS_B
    if (threadIdx.x >= 32) turn_all(p, s);
#endif
    __syncwarp();
    if (IS_SPLIT) wait_for_cluster();  // as in add_parts
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)MULTIPLYING_REGISTERS));
    multiply_all(p, s, first + SLOTS * SLOT_BYTES);
  }
  __syncwarp();
  if (CLUSTER > 1) wait_for_cluster();  // others still send to this work-group's shared memory, or read it
}
