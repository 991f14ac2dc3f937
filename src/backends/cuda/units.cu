// SPDX-License-Identifier: MIT
// y = activation(alpha a b + beta c + bias) of f32 by the matrix units of Hopper GPUs (wgmma).
//
// Each f32 is the sum of three numbers of bf16. Of the nine products of two such numbers, the six largest are added up in f32: what is left out is below 2^-24 of the product.
// Units cut off what does not fit when they add. So they add up one strip only, 32 elements of k, the small products first; strips are added to each other in plain f32, which rounds.
//
// A work-group computes ROWS x COLUMNS elements. It splits a strip of a and b while the units multiply the strip before. A cluster of PARTS work-groups shares the sum over k: each takes a part of k,
// and then adds up a part of the rows from the shared memory of all.
//
// Where the sum is not finite, it is computed again by plain f32: a number that is infinite, or becomes so in bf16, cannot be split.
//
// The host defines WARPGROUPS (1 or 2), COLUMNS (64 or 128), PARTS, and A_TURNED and B_TURNED: 0 if elements along k are neighbours, 1 if those along m or n are. These lines of a and b, and those of y, have a multiple of 4
// elements and begin at multiples of 16 bytes.

typedef unsigned int u32;
typedef unsigned long long u64;

enum {
  ROWS = 64 * WARPGROUPS,
  THREADS = 128 * WARPGROUPS,
  DEPTH = 32,  // of a strip along k
  A_BYTES = ROWS * DEPTH * 2,
  B_BYTES = COLUMNS * DEPTH * 2,
  STRIP_BYTES = 3 * (A_BYTES + B_BYTES),
  A_STEP = A_BYTES >> 4,  // from the first numbers of a strip to the second ones, as wgmma counts
  B_STEP = B_BYTES >> 4,
  PITCH = COLUMNS + 8,  // of rows of sums in shared memory
};

struct product {
  const float *a, *b, *c, *bias;
  float *y;
  long long a_step, b_step, c_step;  // from one line to the next
  long long a_batch, b_batch, c_batch;
  int m, n, k, activation;  // 1: relu, 2: gelu by tanh
  float alpha, beta;
};

// --- Splitting --------------------------------------------------------------------------------------------------------

__device__ __forceinline__ u32 rounded(float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

__device__ __forceinline__ float first_of(u32 pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float second_of(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }

// Stores the first, second and third numbers of four neighbours, each `bytes` after the one before.
__device__ __forceinline__ void put(u32 at, u32 bytes, float4 x) {
#pragma unroll
  for (int i = 0; i < 3; i++) {
    u32 left = rounded(x.x, x.y), right = rounded(x.z, x.w);
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at + i * bytes), "r"(left), "r"(right) : "memory");
    x.x -= first_of(left), x.y -= second_of(left), x.z -= first_of(right), x.w -= second_of(right);
  }
}

// A strip of a or b: SIZE rows or columns, DEPTH elements along k. Where it is turned, a line is the elements of one k.
//
// In shared memory, lines that are not turned have 64 bytes; turned ones are cut into pieces of 128 bytes, and those of a strip lie one below the other. Units of 16 bytes change places by the number of their
// line ("swizzle"), so that eight lines are read without conflicts.
template <int SIZE, int TURNED>
struct strip {
  enum { PER_LINE = (TURNED ? SIZE : DEPTH) / 4, VECTORS = SIZE * DEPTH / 4 / THREADS };
  float4 held[VECTORS];

  __device__ __forceinline__ void load(const float *x, long long step, int first, int size, int k, int k_end) {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      int at = threadIdx.x + i * THREADS, line = at / PER_LINE, place = at % PER_LINE * 4;
      int along = first + (TURNED ? place : line), deep = k + (TURNED ? line : place);
      held[i] = make_float4(0, 0, 0, 0);
      if (along < size && deep < k_end)
        held[i] = __ldg((const float4 *)(x + (TURNED ? deep * step + along : along * step + deep)));
    }
  }

  __device__ __forceinline__ void store(u32 to) const {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      int at = threadIdx.x + i * THREADS, line = at / PER_LINE, place = at % PER_LINE * 4;
      u32 offset = TURNED ? place / 64 * (DEPTH * 128) + line * 128 + place % 64 * 2 : line * 64 + place * 2;
      put(to + (offset ^ (offset >> 7 & (TURNED ? 7 : 3)) << 4), SIZE * DEPTH * 2, held[i]);
    }
  }
};

// --- Multiplying --------------------------------------------------------------------------------------------------------

// wgmma's description of 16 k of a strip from row or column `first` on: where it is, the bytes from one piece of 64 elements to the next, from eight lines to the next eight, and the
// kind of swizzle.
template <int TURNED>
__device__ __forceinline__ u64 describe(u32 strip, u32 first, u32 k) {
  u32 at = strip + (TURNED ? first / 64 * (DEPTH * 128) + k * 128 : first * 64 + k * 2);
  u64 pieces = TURNED ? DEPTH * 128 : 16, lines = TURNED ? 1024 : 512, swizzle = TURNED ? 1 : 2;
  return (u64)(at >> 4) | pieces >> 4 << 16 | lines >> 4 << 32 | swizzle << 62;
}

#define EIGHT(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])

// d = a b for 64 rows, or d += a b if `adds`
#if COLUMNS == 64
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %36, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
      "}, %32, %33, p, 1, 1, %34, %35; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24) \
      : "l"(a), "l"(b), "n"(A_TURNED), "n"(B_TURNED), "n"(adds))
#else
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %68, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
      "}, %64, %65, p, 1, 1, %66, %67; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56) \
      : "l"(a), "l"(b), "n"(A_TURNED), "n"(B_TURNED), "n"(adds))
#endif

// Four of the small products, of 16 elements of k.
__device__ __forceinline__ void multiply_small(float *d, u64 a, u64 b) {
  MULTIPLY(d, a + 2 * A_STEP, b, 1);
  MULTIPLY(d, a + A_STEP, b + B_STEP, 1);
  MULTIPLY(d, a, b + B_STEP, 1);
  MULTIPLY(d, a + A_STEP, b, 1);
}

// Begins to compute d = a b for one strip, which has 32 elements of k.
__device__ __forceinline__ void multiply(float *d, u32 at, u32 row) {
  u64 a = describe<A_TURNED>(at, row, 0), b = describe<B_TURNED>(at + 3 * A_BYTES, 0, 0);
  u64 next_a = describe<A_TURNED>(at, row, 16), next_b = describe<B_TURNED>(at + 3 * A_BYTES, 0, 16);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  MULTIPLY(d, a, b + 2 * B_STEP, 0);
  MULTIPLY(d, next_a, next_b + 2 * B_STEP, 1);
  multiply_small(d, a, b);
  multiply_small(d, next_a, next_b);
  MULTIPLY(d, a, b, 1);
  MULTIPLY(d, next_a, next_b, 1);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits for the strip that is being multiplied and adds it to the sums.
__device__ __forceinline__ void add_strip(float *sums, const float *d) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < COLUMNS / 2; i++) sums[i] += d[i];
}

// --- Results ------------------------------------------------------------------------------------------------------------

__device__ __noinline__ float plain_sum(const product &p, const float *a, const float *b, int row, int column) {
  float sum = 0;
  for (long long k = 0; k < p.k; k++) {
    sum = fmaf(a[A_TURNED ? k * p.a_step + row : row * p.a_step + k],
               b[B_TURNED ? k * p.b_step + column : column * p.b_step + k], sum);
  }
  return sum;
}

__device__ __forceinline__ float activated(float x, int activation) {
  if (activation == 1) return x < 0 ? 0 : x;
  if (activation == 2) return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

// Four neighbours of a row of y, of which `sum` is the product.
__device__ __forceinline__ void finish(const product &p, const float *a, const float *b, int row, int column,
                                       float *sum) {
  const float *c = p.c + blockIdx.z * p.c_batch + row * p.c_step + column;
  float *y = p.y + ((long long)blockIdx.z * p.m + row) * p.n + column;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (!(fabsf(sum[i]) <= 3.402823466e38f)) sum[i] = plain_sum(p, a, b, row, column + i);
    sum[i] *= p.alpha;
    if (p.c) sum[i] += p.beta * c[i];
    if (p.bias) sum[i] += p.bias[column + i];
    sum[i] = activated(sum[i], p.activation);
  }
  *(float4 *)y = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

__device__ __forceinline__ void wait_for_all() {
#if PARTS == 1
  __syncthreads();
#else
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// Puts the sums of this work-group into its shared memory, as wgmma has them: each item has pairs of neighbours in rows 8 apart.
__device__ __forceinline__ void put_sums(u32 shared, const float *sums) {
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < COLUMNS / 2; i += 2) {
    u32 at = shared + ((row + i / 2 % 2 * 8) * PITCH + column + i / 4 * 8) * 4;
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(sums[i]), "f"(sums[i + 1]) : "memory");
  }
}

// Adds four neighbours that work-group `part` of the cluster has put there.
__device__ __forceinline__ void add_part(u32 at, int part, float *sum) {
  float x[4];
#if PARTS > 1
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(part));
#endif
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
               : "r"(at)
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; i++) sum[i] += x[i];
}

extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) __launch_bounds__(THREADS)
    tsrk_product_units(const product p) {
  extern __shared__ unsigned char memory[];
  u32 shared = ((u32)__cvta_generic_to_shared(memory) + 1023) & ~1023u;  // swizzles count from multiples of 1024
  const float *a = p.a + blockIdx.z * p.a_batch, *b = p.b + blockIdx.z * p.b_batch;
  int part = blockIdx.x % PARTS, row0 = blockIdx.y * ROWS, column0 = blockIdx.x / PARTS * COLUMNS;
  int steps = (p.k + DEPTH - 1) / DEPTH, step = steps * part / PARTS, end = steps * (part + 1) / PARTS;
  strip<ROWS, A_TURNED> a_strip;
  strip<COLUMNS, B_TURNED> b_strip;
  float sums[COLUMNS / 2], d[COLUMNS / 2];
#pragma unroll
  for (int i = 0; i < COLUMNS / 2; i++) sums[i] = d[i] = 0;
  a_strip.load(a, p.a_step, row0, p.m, step * DEPTH, p.k);
  b_strip.load(b, p.b_step, column0, p.n, step * DEPTH, p.k);
  for (; step < end; step++) {
    u32 at = shared + step % 2 * STRIP_BYTES;
    a_strip.store(at);
    b_strip.store(at + 3 * A_BYTES);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (step + 1 < end) {
      a_strip.load(a, p.a_step, row0, p.m, (step + 1) * DEPTH, p.k);
      b_strip.load(b, p.b_step, column0, p.n, (step + 1) * DEPTH, p.k);
    }
    add_strip(sums, d);
    __syncthreads();  // this strip is stored, and the one before multiplied, by all
    multiply(d, at, threadIdx.x / 128 * 64);
  }
  add_strip(sums, d);
  __syncthreads();
  put_sums(shared, sums);
  wait_for_all();
  enum { SHARE = ROWS * COLUMNS / PARTS };
#pragma unroll 1
  for (int i = part * SHARE + threadIdx.x * 4; i < (part + 1) * SHARE; i += THREADS * 4) {
    int row = i / COLUMNS, column = i % COLUMNS;
    float sum[4] = {0, 0, 0, 0};
    for (int j = 0; j < PARTS; j++) add_part(shared + (row * PITCH + column) * 4, j, sum);
    if (row0 + row < p.m && column0 + column < p.n) finish(p, a, b, row0 + row, column0 + column, sum);
  }
  if (PARTS > 1) wait_for_all();  // others still read the shared memory
}
