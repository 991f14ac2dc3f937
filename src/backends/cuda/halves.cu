// SPDX-License-Identifier: MIT
// y = chain(activation(alpha a b + beta c + bias)) of f16 or bf16 by the matrix units of Hopper GPUs (wgmma). Sums are f32.
//
// A work-group computes tiles of ROWS x COLUMNS elements of y, one after the other. Its first warp group only loads: one item of it copies strips of DEPTH elements along k into the SLOTS slots of the shared memory, by the GPU's
// copy engine (TMA), which also puts zeros where a strip lies beyond the matrix. The other two warp groups multiply: each has 64 rows of the tile in its registers. The results of a tile, rounded, stay in registers, too,
// and are stored while the next tile is being multiplied: all work-groups end their tiles at about the same time, and if they stored them at once, they would wait for the memory.
//
// Each slot has two barriers: `full` lets the multiplying warp groups wait for the copies, and `empty` lets the loading item wait until both have multiplied the strip.
//
// CLUSTER work-groups, 1 or 2, form a cluster, which computes tiles below each other. They need the same strips of b: each copies a part of them to the shared memory of all.
//
// The host defines IS_BF16 (0: f16), COLUMNS (64, 128 or 256), SLOTS, CLUSTER, ACTIVATION (1: relu, 2: gelu by tanh), HAS_C, and A_TURNED and B_TURNED: 0 if elements along k are neighbours in memory, 1 if
// elements along m (of a) or n (of b) are. Lines of such neighbours begin at multiples of 16 bytes. Rows of y and c have a multiple of 4 elements and begin at multiples of 8 bytes.
//
// If there is a chain of element-wise operators after the product, the host puts its function before this text, and defines CHAIN_INPUTS, how many tensors the function reads beside the product's element, and
// CHAIN(x, inputs, y), which calls it for one element.

#ifndef CHAIN
#define CHAIN_INPUTS 0
#endif

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

enum {
  ROWS = 128,
  THREADS = 384,
  DEPTH = 64,                  // elements of a strip along k: 128 bytes
  PIECE = 64,                  // rows or columns of a piece
  PIECE_BYTES = PIECE * DEPTH * 2,
  A_BYTES = ROWS * DEPTH * 2,
  B_BYTES = COLUMNS * DEPTH * 2,
  SLOT_BYTES = A_BYTES + B_BYTES,
  CHUNK = 64,                  // columns that a warp stores at a time
  CHUNKS = COLUMNS / CHUNK,
  CHUNK_PAIRS = CHUNK / 4,     // an item's pairs of neighbours in a chunk, as wgmma leaves them
  QUADS = CHUNK / 8,           // an item's quads of a chunk, as it loads and stores them
  PITCH = CHUNK * 2 + 16,      // bytes from one row of a chunk in shared memory to the next
  CHUNK_BYTES = 16 * PITCH,
  LOADING_REGISTERS = 40,
  MULTIPLYING_REGISTERS = 232,
};

// What the copy engine knows of a matrix (CUtensorMap).
struct __align__(64) matrix_map {
  u64 words[16];
};

struct product {
  matrix_map a, b;
  const u16 *c, *bias;
  u16 *y;
  long long c_step, c_batch;
  int m, n, k, batches;
  int a_has_batch, b_has_batch;  // 0: all products of the batch use the same matrix
  int band;                      // clusters below each other that are computed before those in the next columns
  float alpha, beta;
#ifdef CHAIN
  struct {
    const u16 *at;
    int by_row, by_column;  // 1, 1: an element for each of y. 0, 1: one for each column. 0, 0: one for all
  } inputs[3];
  u16 *kept;      // NULL, or what gets the elements before the chain
  u32 words[24];  // the function's scalars
#endif
};

// --- Barriers ---------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void begin_barrier(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Waits until the phase of this parity has ended.
__device__ __forceinline__ void wait_for(u32 barrier, u32 parity) {
  asm volatile(
      "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void expect_bytes(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier of work-group `rank` of the cluster. Only reads are before it, which wgmma's wait has ended: a release at the scope of the cluster would take a thousand cycles.
__device__ __forceinline__ void arrive_at(u32 barrier, u32 rank) {
#if CLUSTER > 1
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(barrier) : "r"(rank));
#endif
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
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

// The slot that is used next. Waiting for a phase that has not begun ends at once with parity 1, so that the first round finds all slots empty.
struct turn {
  u32 slot = 0, parity = 0;

  __device__ __forceinline__ void next() {
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }
};

struct slots {
  u32 strips, full, empty;  // addresses in shared memory

  __device__ __forceinline__ u32 strip(u32 slot) const { return strips + slot * SLOT_BYTES; }
};

// --- Tiles --------------------------------------------------------------------------------------------------------------

// The tiles that a work-group computes: tile number i of its cluster, and every `hop`-th after it.
struct tiles {
  int down, across, count, hop;

  __device__ __forceinline__ tiles(const product &p) {
    down = (p.m + ROWS * CLUSTER - 1) / (ROWS * CLUSTER);
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
    row = ((before + number % height) * CLUSTER + (int)cluster_rank()) * ROWS;
    column = number / height * COLUMNS;
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
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"((u16)((1 << CLUSTER) - 1))
      : "memory");
}

// Copies a strip in pieces of 64 rows or columns, which begin at `first`: all of a, and this work-group's share of b.
__device__ __forceinline__ void load_strip(const product &p, const place &at, int k, u32 strip, u32 barrier) {
  enum { B_PIECES = COLUMNS / PIECE / CLUSTER };
  int a_batch = p.a_has_batch ? at.batch : 0, b_batch = p.b_has_batch ? at.batch : 0;
#pragma unroll
  for (int i = 0; i < ROWS / PIECE; i++) {
    int row = at.row + i * PIECE;
    copy(strip + i * PIECE_BYTES, &p.a, A_TURNED ? row : k, A_TURNED ? k : row, a_batch, barrier);
  }
#pragma unroll
  for (int i = 0; i < B_PIECES; i++) {
    int piece = (int)cluster_rank() * B_PIECES + i, column = at.column + piece * PIECE;
    u32 to = strip + A_BYTES + piece * PIECE_BYTES;
    if (CLUSTER == 1) copy(to, &p.b, B_TURNED ? column : k, B_TURNED ? k : column, b_batch, barrier);
    else copy_to_all(to, &p.b, B_TURNED ? column : k, B_TURNED ? k : column, b_batch, barrier);
  }
}

__device__ __forceinline__ void load_all(const product &p, const slots &s) {
  tiles all(p);
  turn now;
  int strips = (p.k + DEPTH - 1) / DEPTH;
  for (int i = all.first(); i < all.count; i += all.hop) {
    place at(p, all, i);
    for (int j = 0; j < strips; j++) {
      wait_for(s.empty + now.slot * 8, now.parity ^ 1);
      expect_bytes(s.full + now.slot * 8, SLOT_BYTES);
      load_strip(p, at, j * DEPTH, s.strip(now.slot), s.full + now.slot * 8);
      now.next();
    }
  }
}

// --- Multiplying --------------------------------------------------------------------------------------------------------

// wgmma's description of 16 elements along k of a strip: the address within the work-group's shared memory (in a cluster, higher bits are the work-group's number), the bytes from one piece to the next, the bytes from eight lines to the next eight, and the kind of swizzle (128 bytes).
template <int TURNED>
__device__ __forceinline__ u64 describe(u32 at) {
  return (u64)((at & 0x3ffff) >> 4) | (u64)((TURNED ? PIECE_BYTES : 16) >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

#if IS_BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

#define EIGHT(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])

// d = a b for 64 rows and COLUMNS columns, or d += a b if `adds`. a and b are given by their descriptions.
#if COLUMNS == 256
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %132, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {" \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
      "}, %128, %129, p, 1, 1, %130, %131; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56), \
        EIGHT(d, 64), EIGHT(d, 72), EIGHT(d, 80), EIGHT(d, 88), EIGHT(d, 96), EIGHT(d, 104), EIGHT(d, 112), EIGHT(d, \
        120) \
      : "l"(a), "l"(b), "n"(A_TURNED), "n"(B_TURNED), "r"(adds))
#elif COLUMNS == 128
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %68, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
      "}, %64, %65, p, 1, 1, %66, %67; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56) \
      : "l"(a), "l"(b), "n"(A_TURNED), "n"(B_TURNED), "r"(adds))
#else
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %36, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
      "}, %32, %33, p, 1, 1, %34, %35; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24) \
      : "l"(a), "l"(b), "n"(A_TURNED), "n"(B_TURNED), "r"(adds))
#endif

// Begins to multiply a strip, and to add it to d if ADDS.
template <bool ADDS>
__device__ __forceinline__ void multiply(float *d, u32 strip, u32 warpgroup) {
  u64 a = describe<A_TURNED>(strip + warpgroup * PIECE_BYTES), b = describe<B_TURNED>(strip + A_BYTES);
  enum { A_NEXT = (A_TURNED ? 16 * 128 : 32) >> 4, B_NEXT = (B_TURNED ? 16 * 128 : 32) >> 4 };
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < DEPTH / 16; i++) MULTIPLY(d, a + i * A_NEXT, b + i * B_NEXT, (u32)(ADDS || i > 0));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int LEFT>
__device__ __forceinline__ void wait_until_multiplied() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// Tells the loading items of all work-groups of the cluster that this warp group no longer needs a slot.
__device__ __forceinline__ void release(const slots &s, u32 slot) {
  if (threadIdx.x % 128 < CLUSTER) arrive_at(s.empty + slot * 8, threadIdx.x % 128);
}

// --- Results ------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ float widened(u32 half) {
#if IS_BF16
  return __uint_as_float(half << 16);
#else
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((u16)half));
  return x;
#endif
}

__device__ __forceinline__ u32 rounded(float first, float second) {
  u32 pair;
  asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

__device__ __forceinline__ float activated(float x) {
  if (ACTIVATION == 1) return x < 0 ? 0 : x;
  if (ACTIVATION == 2) return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

// Element i, 0 or 1, of a pair.
__device__ __forceinline__ float element(u32 pair, int i) { return widened(i ? pair >> 16 : pair & 0xffff); }

// The rows and columns of a chunk that an item has sums of: as wgmma leaves them, pairs of neighbours in every eighth column, of two rows that are 8 apart.
// Pair i of a chunk is in row i % 2 * 8 and column i / 2 * 8, counted from these.
__device__ __forceinline__ int first_row(const place &at) {
  return at.row + ((int)threadIdx.x - 128) / 32 * 16 + threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int first_column(const place &at, int chunk) {
  return at.column + chunk * CHUNK + threadIdx.x % 4 * 2;
}

// The rows and columns of a chunk that an item loads and stores: four neighbours in every second row, so that half a warp has a row of the chunk.
struct quad_place {
  int row, column;

  __device__ __forceinline__ quad_place(const place &at, int chunk) {
    int lane = threadIdx.x % 32;
    row = at.row + ((int)threadIdx.x - 128) / 32 * 16 + lane / 16;
    column = at.column + chunk * CHUNK + lane % 16 * 4;
  }
};

// Where these are in the warp's part of the shared memory.
__device__ __forceinline__ u32 pairs_in(u32 shared) { return shared + threadIdx.x % 32 / 4 * PITCH + threadIdx.x % 4 * 4; }
__device__ __forceinline__ u32 quads_in(u32 shared) { return shared + threadIdx.x % 32 / 16 * PITCH + threadIdx.x % 16 * 8; }

// An item's quads of a chunk of a matrix with the shape of y.
struct chunk_quads {
  uint2 of[QUADS];

  __device__ __forceinline__ void load(const product &p, const u16 *from, long long step, const place &at, int chunk) {
    quad_place mine(at, chunk);
    from += mine.row * step + mine.column;
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
      of[i] = make_uint2(0, 0);
      if (mine.row + i * 2 < p.m && mine.column < p.n) of[i] = *(const uint2 *)(from + i * 2 * step);
    }
  }

  // Turns them into the pairs that go with the item's sums, through shared memory.
  __device__ __forceinline__ void to_pairs(u32 shared, u32 *pairs) const {
#pragma unroll
    for (int i = 0; i < QUADS; i++)
      asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(quads_in(shared) + i * 2 * PITCH), "r"(of[i].x), "r"(of[i].y) : "memory");
    __syncwarp();
#pragma unroll
    for (int i = 0; i < CHUNK_PAIRS; i++)
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pairs[i]) : "r"(pairs_in(shared) + i % 2 * 8 * PITCH + i / 2 * 16) : "memory");
    __syncwarp();
  }
};

// Stores pairs of a chunk to a matrix with the shape of y, through shared memory.
__device__ __forceinline__ void store_chunk(const product &p, u16 *to, const place &at, int chunk, u32 shared, const u32 *pairs) {
  quad_place mine(at, chunk);
  uint2 quads[QUADS];
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++)
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(pairs_in(shared) + i % 2 * 8 * PITCH + i / 2 * 16), "r"(pairs[i]) : "memory");
  __syncwarp();
#pragma unroll
  for (int i = 0; i < QUADS; i++)
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(quads[i].x), "=r"(quads[i].y) : "r"(quads_in(shared) + i * 2 * PITCH) : "memory");
  to += ((long long)at.batch * p.m + mine.row) * p.n + mine.column;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (mine.row + i * 2 < p.m && mine.column < p.n) *(uint2 *)(to + (long long)i * 2 * p.n) = quads[i];
  }
  __syncwarp();
}

// What is read beside the product for a chunk, from matrices with the shape of y. If these are few, they are loaded one chunk ahead.
struct beside {
  chunk_quads c, inputs[CHAIN_INPUTS + 1];  // the last one is not used: there may be no inputs

  __device__ __forceinline__ void load(const product &p, const place &at, int chunk) {
#if HAS_C
    c.load(p, p.c + at.batch * p.c_batch, p.c_step, at, chunk);
#endif
#ifdef CHAIN
#pragma unroll
    for (int i = 0; i < CHAIN_INPUTS; i++) {
      if (p.inputs[i].by_row) inputs[i].load(p, p.inputs[i].at + (long long)at.batch * p.m * p.n, p.n, at, chunk);
    }
#endif
  }
};
enum { IS_AHEAD = HAS_C + CHAIN_INPUTS <= 2 };

// Computes alpha a b + beta c + bias and its activation for a chunk: the item's elements, and the same as rounded pairs.
__device__ __forceinline__ void finish_sums(const product &p, const place &at, int chunk, u32 shared, const beside &more, float *sums, u32 *pairs) {
  int column = first_column(at, chunk);
  float bias[CHUNK_PAIRS];
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) {  // it may begin anywhere, so its elements are read one by one
    int there = column + i / 2 * 8 + i % 2;
    bias[i] = p.bias && there < p.n ? widened(p.bias[there]) : 0;
  }
#if HAS_C
  u32 c[CHUNK_PAIRS];
  more.c.to_pairs(shared, c);
#endif
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float sum = fmaf(sums[i * 2 + j], p.alpha, bias[i / 2 * 2 + j]);
#if HAS_C
      sum += p.beta * element(c[i], j);
#endif
      sums[i * 2 + j] = activated(sum);
    }
    pairs[i] = rounded(sums[i * 2], sums[i * 2 + 1]);
  }
}

#ifdef CHAIN
// The pairs of an input of the chain that go with the item's sums in a chunk.
__device__ __forceinline__ void input_pairs(const product &p, int number, const chunk_quads &quads, const place &at, int chunk, u32 shared, u32 *pairs) {
  const u16 *from = p.inputs[number].at;
  int column = first_column(at, chunk);
  if (p.inputs[number].by_row) {
    quads.to_pairs(shared, pairs);
    return;
  }
#pragma unroll
  for (int i = 0; i < CHUNK_PAIRS; i++) {
    if (!p.inputs[number].by_column) pairs[i] = *from * 0x10001u;
    else if (column + i / 2 * 8 < p.n) pairs[i] = *(const u32 *)(from + column + i / 2 * 8);
  }
}

// Applies the chain to the item's elements of a chunk. If the product is stored as well, the chain reads what is stored.
__device__ __forceinline__ void apply_chain(const product &p, const place &at, int chunk, u32 shared, const beside &more, float *sums, u32 *pairs) {
  u32 inputs[CHAIN_INPUTS + 1][CHUNK_PAIRS];
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

// Results of a tile, as pairs of neighbours. They are stored while the next tile is being multiplied.
struct results {
  u32 pairs[CHUNKS * CHUNK_PAIRS];
  place at;
  bool are_there;

  __device__ __forceinline__ void store(const product &p, int chunk, u32 shared) const {
    if (are_there) store_chunk(p, p.y, at, chunk, shared, pairs + chunk * CHUNK_PAIRS);
  }
};

// Begins to multiply all strips of a tile, and meanwhile stores the results of the tile before. Returns the last slot, which end_tile waits for.
__device__ __forceinline__ u32 multiply_tile(const product &p, const slots &s, u32 warpgroup, int strips, turn &now, float *sums, const results &before, u32 shared) {
  u32 last = 0;
#pragma unroll
  for (int j = 0; j < CHUNKS; j++) {
    if (j == 0 || j < strips) {
      wait_for(s.full + now.slot * 8, now.parity);
      if (j == 0) multiply<false>(sums, s.strip(now.slot), warpgroup);
      else multiply<true>(sums, s.strip(now.slot), warpgroup);
      if (j > 0) {
        wait_until_multiplied<1>();
        release(s, last);
      }
      last = now.slot;
      now.next();
    }
    before.store(p, j, shared);
  }
#pragma unroll 1
  for (int j = CHUNKS; j < strips; j++) {
    wait_for(s.full + now.slot * 8, now.parity);
    multiply<true>(sums, s.strip(now.slot), warpgroup);
    wait_until_multiplied<1>();
    release(s, last);
    last = now.slot;
    now.next();
  }
  return last;
}

__device__ __forceinline__ void end_tile(const slots &s, u32 last, float *sums) {
  wait_until_multiplied<0>();
  release(s, last);
#pragma unroll
  for (int i = 0; i < COLUMNS / 2; i++) asm volatile("" : "+f"(sums[i])::"memory");  // not read before
}

__device__ __forceinline__ void multiply_all(const product &p, const slots &s, u32 chunks) {
  tiles all(p);
  turn now;
  int strips = (p.k + DEPTH - 1) / DEPTH;
  u32 warpgroup = threadIdx.x / 128 - 1, shared = chunks + (threadIdx.x / 32 - 4) * CHUNK_BYTES;
  float sums[COLUMNS / 2];
  results done;
  done.are_there = false;
#pragma unroll 1
  for (int i = all.first(); i < all.count; i += all.hop) {
    u32 last = multiply_tile(p, s, warpgroup, strips, now, sums, done, shared);
    done.at = place(p, all, i);
    done.are_there = true;
    beside next;
    next.load(p, done.at, 0);
    end_tile(s, last, sums);
#pragma unroll
    for (int j = 0; j < CHUNKS; j++) {
      beside more = next;
      if (IS_AHEAD && j + 1 < CHUNKS) next.load(p, done.at, j + 1);
      finish_sums(p, done.at, j, shared, more, sums + j * CHUNK / 2, done.pairs + j * CHUNK_PAIRS);
#ifdef CHAIN
      apply_chain(p, done.at, j, shared, more, sums + j * CHUNK / 2, done.pairs + j * CHUNK_PAIRS);
#endif
      if (!IS_AHEAD && j + 1 < CHUNKS) next.load(p, done.at, j + 1);
    }
  }
#pragma unroll
  for (int j = 0; j < CHUNKS; j++) done.store(p, j, shared);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    tsrk_product_halves(const __grid_constant__ product p) {
  extern __shared__ unsigned char memory[];
  __shared__ u64 barriers[2][SLOTS];
  u32 first = ((u32)__cvta_generic_to_shared(memory) + 1023) & ~1023u;  // swizzles count from multiples of 1024
  slots s = {first, (u32)__cvta_generic_to_shared(barriers[0]), (u32)__cvta_generic_to_shared(barriers[1])};
  if (threadIdx.x == 0) {
    for (int i = 0; i < SLOTS; i++) {
      begin_barrier(s.full + i * 8, 1);
      begin_barrier(s.empty + i * 8, 2 * CLUSTER);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // Waits until the kernels that this one depends on have ended: the driver may start it before (start.c). Nothing is read or written before that.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  wait_for_cluster();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)LOADING_REGISTERS));
    if (threadIdx.x == 0) load_all(p, s);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)MULTIPLYING_REGISTERS));
    multiply_all(p, s, first + SLOTS * SLOT_BYTES);
  }
  __syncwarp();
  if (CLUSTER > 1) wait_for_cluster();  // others still send to this work-group's shared memory
}
