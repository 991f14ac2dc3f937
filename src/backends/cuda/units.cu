// SPDX-License-Identifier: MIT
// y = chain(activation(alpha a b + beta c + bias)) of f32 by the matrix units of Hopper GPUs (wgmma).
//
// Matrix units multiply bf16. So each f32 is split into three numbers of bf16, whose sum it is. A product of two f32 is then the sum of nine products of these numbers, of which the six largest are added up in f32; the other
// three are together less than 2^-24 of the product.
//
// When the units add, they cut off the bits that do not fit and do not round. So they add up only one strip, which is 32 elements along k, the small products first. The sums of strips are added in plain f32, which rounds.
//
// A work-group computes ROWS x COLUMNS elements of y. While the units multiply one strip, the items load and split the next. A cluster of PARTS work-groups computes the same elements: each work-group adds up a part of k, and
// then a part of the rows from the shared memory of all work-groups of the cluster.
//
// The units always read b from shared memory. In tiles of 128 columns, and with one part, they read a from there, too. Otherwise (IS_HELD) each item has its elements of a in registers: half as many bytes go through the shared memory, and a strip takes
// two thirds of the time. The first strip takes longer, which units.c counts when it chooses the number of parts.
//
// A number that is infinite, or becomes infinite in bf16, cannot be split: a sum that is not finite is computed again in plain f32.
//
// With GROUPED, a launch computes several products, GROUPED at most, of different sizes. Their tiles are numbered one product after the other.
//
// The host defines WARPGROUPS, of which ACROSS are side by side and the others below each other: each computes 64 rows and WIDTH columns. It also defines COLUMNS (64 or 128), PARTS, and A_TURNED and B_TURNED: 0 if elements along k are neighbours in memory, 1 if elements along m (of a) or n (of b) are. A line is a sequence of such neighbours:
// lines of a, b and y have a multiple of 4 elements and begin at multiples of 16 bytes.
//
// If there is a chain of element-wise operators after the product, the host puts its function before this text, and defines CHAIN_INPUTS, how many tensors the function reads beside the product's element, and
// CHAIN(x, inputs, y), which calls it for one element. If it defines SUMS, the kernel also adds up the rows of a, whose elements it reads anyway.

#define IS_HELD (PARTS > 1 && COLUMNS == 64)
#define WIDTH (COLUMNS / ACROSS)
static_assert(ACROSS == 1 || !IS_HELD, "a lane that holds elements of a has all columns");
static_assert(WIDTH == 64 || !IS_HELD, "only tiles of 64 columns leave enough registers for a");

typedef unsigned int u32;
typedef unsigned long long u64;

enum {
  ROWS = 64 * WARPGROUPS / ACROSS,
  THREADS = 128 * WARPGROUPS,
  DEPTH = 32,  // elements of a strip along k
  A_BYTES = ROWS * DEPTH * 2,
  B_BYTES = COLUMNS * DEPTH * 2,
  STRIP_BYTES = 3 * (IS_HELD ? B_BYTES : A_BYTES + B_BYTES),
  A_STEP = A_BYTES >> 4,  // from the first numbers of a strip to the second ones, in wgmma's units of 16 bytes
  B_STEP = B_BYTES >> 4,
  PITCH = COLUMNS + 8,  // elements from one row of sums in shared memory to the next
};

struct product {
  const float *a, *b, *c, *bias;
  float *y;
  long long a_step, b_step, c_step;  // from one line to the next
  long long a_batch, b_batch, c_batch;
  int m, n, k, activation;  // 1: relu, 2: gelu by tanh
  float alpha, beta;
  float *row_sums;  // with SUMS: receives m sums; NULL: they are not needed
#ifdef CHAIN
  struct {
    const float *at;
    int by_row, by_column;  // 1, 1: one element per element of y. 0, 1: one per column. 0, 0: one
  } inputs[3];
  float *kept;    // if not NULL, the elements before the chain are stored here
  u32 words[24];  // scalars of the chain's function
#endif
};

// The first row and column of the tile that the item's warp group computes.
__device__ __forceinline__ int first_row() { return threadIdx.x / 128 / ACROSS * 64; }
__device__ __forceinline__ int first_column() { return threadIdx.x / 128 % ACROSS * WIDTH; }

// --- Splitting --------------------------------------------------------------------------------------------------------

__device__ __forceinline__ u32 rounded(float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Splits two neighbouring f32 into three bf16 numbers each: numbers[i] has number i of both.
__device__ __forceinline__ void split(float first, float second, u32 (&numbers)[3]) {
#pragma unroll
  for (int i = 0; i < 3; i++) {
    numbers[i] = rounded(first, second);
    first -= __uint_as_float(numbers[i] << 16);
    second -= __uint_as_float(numbers[i] & 0xffff0000u);
  }
}

#ifdef SUMS
// The item's sums of rows of a, over the elements that it loads. SUMMERS items share a row.
struct row_totals {
  float of[4] = {0, 0, 0, 0};
};
enum { SUMMERS = IS_HELD ? 4 : A_TURNED ? THREADS / (ROWS / 4) : DEPTH / 4 };
#endif

// The position of element k of a strip along k. wgmma expects elements 2 q, 2 q + 1, 2 q + 8 and 2 q + 9 of each 16 in the registers of one lane. With a in
// registers, a lane takes four neighbouring elements of a instead, since it can read these at once; the elements of b are stored in the same order.
__device__ __forceinline__ int place_of(int k) { return IS_HELD ? k / 16 * 16 + k % 16 / 4 * 2 + k % 2 + k % 4 / 2 * 8 : k; }

__device__ __forceinline__ void put(u32 at, u32 left, u32 right) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(left), "r"(right) : "memory");
}

// A strip of a or b: SIZE rows or columns, DEPTH elements along k. TURNED: a line has all rows or columns of one k.
//
// In shared memory, lines that are not turned have 64 bytes. Turned lines are divided into pieces of 128 bytes: the first pieces of all lines come first, then
// the second ones. The 16-byte blocks of a line are permuted depending on the line's number ("swizzle"), so that eight lines are read without bank conflicts.
template <int SIZE, int TURNED>
struct strip {
  enum { PER_LINE = (TURNED ? SIZE : DEPTH) / 4, VECTORS = SIZE * DEPTH / 4 / THREADS, HOP = THREADS / PER_LINE };
  float4 held[VECTORS];  // the item's elements, HOP lines apart
  const float *from;     // first element of the item's next strip
  int left, size;        // elements along k, and rows or columns, that remain from there on

  __device__ __forceinline__ void begin(const float *x, long long step, int first, int sizes, int k, int k_end) {
    int line = threadIdx.x / PER_LINE, place = threadIdx.x % PER_LINE * 4;
    int along = first + (TURNED ? place : line), deep = k + (TURNED ? line : place);
    from = x + (TURNED ? deep * step + along : along * step + deep);
    left = k_end - deep;
    size = sizes - along;
  }

  // Loads the item's elements of the next strip into `held`.
  __device__ __forceinline__ void load(long long step) {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      held[i] = make_float4(0, 0, 0, 0);
      if (TURNED ? size > 0 && i * HOP < left : i * HOP < size && left > 0)
        held[i] = *(const float4 *)(from + i * HOP * step);
    }
    from += TURNED ? DEPTH * step : DEPTH;
    left -= DEPTH;
  }

#ifdef SUMS
  // Adds the loaded elements to the item's sums: those of four neighbouring rows if TURNED, else those of the rows of its lines.
  __device__ __forceinline__ void add_to(row_totals &totals) const {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      const float4 &x = held[i];
      if (TURNED) totals.of[0] += x.x, totals.of[1] += x.y, totals.of[2] += x.z, totals.of[3] += x.w;
      else totals.of[i] += x.x + x.y + (x.z + x.w);
    }
  }

  __device__ __forceinline__ static void put_totals(const row_totals &totals, float (*partial)[SIZE]) {
    int line = threadIdx.x / PER_LINE, place = threadIdx.x % PER_LINE;
#pragma unroll
    for (int i = 0; i < (TURNED ? 4 : VECTORS); i++) {
      if (TURNED) partial[line][place * 4 + i] = totals.of[i];
      else partial[place][line + i * HOP] = totals.of[i];
    }
  }
#endif

  // Splits the loaded elements, and stores the first numbers from `to` on, the second ones SIZE * DEPTH * 2 bytes later, and the third ones as many bytes after
  // these.
  __device__ __forceinline__ void store(u32 to) const {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      int at = threadIdx.x + i * THREADS, line = at / PER_LINE, place = at % PER_LINE * 4;
      u32 front[3], back[3];
      split(held[i].x, held[i].y, front);
      split(held[i].z, held[i].w, back);
      u32 offset = TURNED ? place / 64 * (DEPTH * 128) + place_of(line) * 128 + place % 64 * 2
                          : line * 64 + place_of(place) * 2;
      u32 swizzle = (offset >> 7 & (TURNED ? 7 : 3)) << 4;
#pragma unroll
      for (int j = 0; j < 3; j++) {
        u32 there = to + j * SIZE * DEPTH * 2;
        if (TURNED || !IS_HELD) {
          put(there + (offset ^ swizzle), front[j], back[j]);
        } else {  // elements 2 and 3 go eight places further
          asm volatile("st.shared.b32 [%0], %1;" ::"r"(there + (offset ^ swizzle)), "r"(front[j]) : "memory");
          asm volatile("st.shared.b32 [%0], %1;" ::"r"(there + (offset + 16 ^ swizzle)), "r"(back[j]) : "memory");
        }
      }
    }
  }
};

#if IS_HELD
// The item's elements of a strip of a, in registers: two rows, and four neighbours of each 16 elements along k. The rows are 8 apart, or neighbours if a is
// turned.
struct rows {
  float held[2][2][4];  // [16 of k][row][k]
  const float *from;
  int left, size;

  __device__ __forceinline__ void begin(const float *a, long long step, int first, int m, int k, int k_end) {
    int lane = threadIdx.x % 32, deep = k + lane % 4 * 4;
    int row = first + threadIdx.x / 32 * 16 + lane / 4 * (A_TURNED ? 2 : 1);
    from = a + (A_TURNED ? deep * step + row : row * step + deep);
    left = k_end - deep;
    size = m - row;
  }

  __device__ __forceinline__ void load(long long step) {
#if A_TURNED
#pragma unroll
    for (int i = 0; i < 8; i++) {
      int deep = i / 4 * 16 + i % 4;
      float2 x = make_float2(0, 0);
      if (size > 0 && deep < left) x = *(const float2 *)(from + deep * step);
      held[i / 4][0][i % 4] = x.x, held[i / 4][1][i % 4] = x.y;
    }
    from += DEPTH * step;
#else
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float4 x = make_float4(0, 0, 0, 0);
      if (i % 2 * 8 < size && i / 2 * 16 < left) x = *(const float4 *)(from + i % 2 * 8 * step + i / 2 * 16);
      float *to = held[i / 2][i % 2];
      to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    }
    from += DEPTH;
#endif
    left -= DEPTH;
  }

#ifdef SUMS
  // Adds the elements to the sums of the item's two rows.
  __device__ __forceinline__ void add_to(row_totals &totals) const {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float *x = held[i / 2][i % 2];
      totals.of[i % 2] += x[0] + x[1] + (x[2] + x[3]);
    }
  }

  __device__ __forceinline__ static void put_totals(const row_totals &totals, float (*partial)[ROWS]) {
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4 * (A_TURNED ? 2 : 1);
    partial[lane % 4][row] = totals.of[0];
    partial[lane % 4][row + (A_TURNED ? 1 : 8)] = totals.of[1];
  }
#endif

  // Splits the elements into numbers[which 16 of k][which number], in wgmma's order: the pairs of elements 0 and 1 of both rows, then those of elements 2 and
  // 3.
  __device__ __forceinline__ void split_into(u32 (&numbers)[2][3][4]) const {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      int row = i % 2, second = i / 2 % 2;
      u32 found[3];
      split(held[i / 4][row][second * 2], held[i / 4][row][second * 2 + 1], found);
#pragma unroll
      for (int j = 0; j < 3; j++) numbers[i / 4][j][second * 2 + row] = found[j];
    }
  }
};
#endif

// --- Multiplying --------------------------------------------------------------------------------------------------------

// wgmma's descriptor of 16 elements along k of a strip, from row or column `first` on: the address, the distance in bytes from one piece of 64 elements to the
// next, the distance from eight lines to the next eight, and the kind of swizzle.
template <int TURNED>
__device__ __forceinline__ u64 describe(u32 strip, u32 first, u32 k) {
  u32 at = strip + (TURNED ? first / 64 * (DEPTH * 128) + k * 128 : first * 64 + k * 2);
  u64 pieces = TURNED ? DEPTH * 128 : 16, lines = TURNED ? 1024 : 512, swizzle = TURNED ? 1 : 2;
  return (u64)(at >> 4) | pieces >> 4 << 16 | lines >> 4 << 32 | swizzle << 62;
}

#define EIGHT(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])

// d = a b for 64 rows, or d += a b if `adds`. b is passed by its descriptor, and so is a, unless it is in registers.
#if IS_HELD
#define MULTIPLY(d, a, b, adds) \
  asm volatile( \
      "{ .reg .pred p; setp.ne.u32 p, %38, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, %37; }" \
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_TURNED), "n"(adds))
#elif WIDTH == 64
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

__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#if IS_HELD
// Starts to compute d = a b for one strip: the three smallest of the six products, for 2 x 16 elements along k.
__device__ __forceinline__ void multiply_small(float *d, const u32 (&a)[2][3][4], u64 b, u64 next_b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  MULTIPLY(d, a[0][0], b + 2 * B_STEP, 0);
  MULTIPLY(d, a[1][0], next_b + 2 * B_STEP, 1);
  MULTIPLY(d, a[0][2], b, 1);
  MULTIPLY(d, a[1][2], next_b, 1);
  MULTIPLY(d, a[0][1], b + B_STEP, 1);
  MULTIPLY(d, a[1][1], next_b + B_STEP, 1);
  commit();
}

// Adds the three largest products.
__device__ __forceinline__ void multiply_large(float *d, const u32 (&a)[2][3][4], u64 b, u64 next_b) {
  MULTIPLY(d, a[0][0], b + B_STEP, 1);
  MULTIPLY(d, a[1][0], next_b + B_STEP, 1);
  MULTIPLY(d, a[0][1], b, 1);
  MULTIPLY(d, a[1][1], next_b, 1);
  MULTIPLY(d, a[0][0], b, 1);
  MULTIPLY(d, a[1][0], next_b, 1);
  commit();
}
#else
// The five smaller products except one, for 16 elements along k.
__device__ __forceinline__ void multiply_small(float *d, u64 a, u64 b) {
  MULTIPLY(d, a + 2 * A_STEP, b, 1);
  MULTIPLY(d, a + A_STEP, b + B_STEP, 1);
  MULTIPLY(d, a, b + B_STEP, 1);
  MULTIPLY(d, a + A_STEP, b, 1);
}

// Starts to compute d = a b for one strip, 2 x 16 elements along k.
__device__ __forceinline__ void multiply(float *d, u32 at, u32 row, u32 column) {
  u64 a = describe<A_TURNED>(at, row, 0), b = describe<B_TURNED>(at + 3 * A_BYTES, column, 0);
  u64 next_a = describe<A_TURNED>(at, row, 16), next_b = describe<B_TURNED>(at + 3 * A_BYTES, column, 16);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  MULTIPLY(d, a, b + 2 * B_STEP, 0);
  MULTIPLY(d, next_a, next_b + 2 * B_STEP, 1);
  multiply_small(d, a, b);
  multiply_small(d, next_a, next_b);
  MULTIPLY(d, a, b, 1);
  MULTIPLY(d, next_a, next_b, 1);
  commit();
}

#endif

// Waits until the current strip is multiplied, and adds its results to the sums.
__device__ __forceinline__ void add_strip(float *sums, float *d) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < WIDTH / 2; i++) {
    asm volatile("" : "+f"(d[i])::"memory");  // keeps the compiler from reading d earlier
    sums[i] += d[i];
  }
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

__device__ __forceinline__ void store4(float *to, const float *from) {
  *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
}

// Four neighbouring elements of each input of the chain. They are loaded while the four results before are computed.
#ifdef CHAIN
struct chain_inputs {
  float held[CHAIN_INPUTS + 1][4];  // one more than needed, since arrays cannot be empty

  __device__ __forceinline__ void load(const product &p, int row, int column) {
    if (row >= p.m || column >= p.n) return;
#pragma unroll
    for (int i = 0; i < CHAIN_INPUTS; i++) {
      const float *from = p.inputs[i].at;
      if (p.inputs[i].by_row) from += ((long long)blockIdx.z * p.m + row) * p.n;
      if (p.inputs[i].by_column) {
        float4 x = *(const float4 *)(from + column);
        held[i][0] = x.x, held[i][1] = x.y, held[i][2] = x.z, held[i][3] = x.w;
      } else {
        held[i][0] = held[i][1] = held[i][2] = held[i][3] = *from;
      }
    }
  }

  // Applies the chain to four neighbouring elements, the first of which is element `at` of y.
  __device__ __forceinline__ void apply(const product &p, long long at, float *sum) const {
    if (p.kept) store4(p.kept + at, sum);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float inputs[CHAIN_INPUTS + 1], x = sum[i];
#pragma unroll
      for (int j = 0; j < CHAIN_INPUTS; j++) inputs[j] = held[j][i];
      CHAIN(&x, inputs, &sum[i]);
    }
  }
};
#else
struct chain_inputs {
  __device__ __forceinline__ void load(const product &, int, int) {}
  __device__ __forceinline__ void apply(const product &, long long, float *) const {}
};
#endif

// Computes the results for four neighbouring elements of a row of y, and stores them; `sum` has the product.
__device__ __forceinline__ void finish(const product &p, const float *a, const float *b, int row, int column,
                                       float *sum, const chain_inputs &inputs) {
  const float *c = p.c + blockIdx.z * p.c_batch + row * p.c_step + column;
  long long at = ((long long)blockIdx.z * p.m + row) * p.n + column;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (!(fabsf(sum[i]) <= 3.402823466e38f)) sum[i] = plain_sum(p, a, b, row, column + i);
    sum[i] *= p.alpha;
    if (p.c) sum[i] += p.beta * c[i];
    if (p.bias) sum[i] += p.bias[column + i];
    sum[i] = activated(sum[i], p.activation);
  }
  inputs.apply(p, at, sum);
  store4(p.y + at, sum);
}

__device__ __forceinline__ void wait_for_all() {
#if PARTS == 1
  __syncthreads();
#else
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// Stores the sums of this work-group in its shared memory. In wgmma's layout, each item has pairs of neighbours in two rows, which are 8 apart, or neighbours
// if a is turned and in registers (struct rows).
__device__ __forceinline__ void put_sums(u32 shared, const float *sums) {
  int lane = threadIdx.x % 32, column = first_column() + lane % 4 * 2;
  int row = first_row() + threadIdx.x % 128 / 32 * 16 + lane / 4 * (IS_HELD && A_TURNED ? 2 : 1), next = IS_HELD && A_TURNED ? 1 : 8;
#pragma unroll
  for (int i = 0; i < WIDTH / 2; i += 2) {
    u32 at = shared + ((row + i / 2 % 2 * next) * PITCH + column + i / 4 * 8) * 4;
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(sums[i]), "f"(sums[i + 1]) : "memory");
  }
}

// sum += the four neighbours at `at` in the shared memory of work-group `part` of the cluster.
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

__device__ __forceinline__ void fence_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// An item's registers while its work-group sums its part of k.
struct tile {
#if IS_HELD
  rows a;
  u32 numbers[2][2][3][4];  // split elements of the strip being multiplied, and of the next one
#else
  strip<ROWS, A_TURNED> a;
#endif
  strip<COLUMNS, B_TURNED> b;
  float sums[WIDTH / 2], d[WIDTH / 2];
#ifdef SUMS
  row_totals totals;

  __device__ __forceinline__ void add_rows() { a.add_to(totals); }
#else
  __device__ __forceinline__ void add_rows() {}
#endif

#if IS_HELD
  // Multiplies the strip in half NOW of `numbers` and of the shared memory; meanwhile prepares the next strip in the other half.
  template <int NOW>
  __device__ __forceinline__ void multiply_strip(const product &p, u32 shared) {
    u32 at = shared + NOW * STRIP_BYTES;
    multiply_small(d, numbers[NOW], describe<B_TURNED>(at, 0, 0), describe<B_TURNED>(at, 0, 16));
    a.split_into(numbers[1 - NOW]);
    add_rows();
    multiply_large(d, numbers[NOW], describe<B_TURNED>(at, 0, 0), describe<B_TURNED>(at, 0, 16));
    a.load(p.a_step);
    b.store(shared + (1 - NOW) * STRIP_BYTES);
    b.load(p.b_step);
    fence_stores();
    add_strip(sums, d);
    __syncthreads();
  }

  __device__ __forceinline__ void multiply_all(const product &p, u32 shared, int steps) {
    a.split_into(numbers[0]);
    add_rows();
    a.load(p.a_step);
    b.store(shared);
    b.load(p.b_step);
    fence_stores();
    __syncthreads();
    for (int step = 0; step < steps; step += 2) {
      multiply_strip<0>(p, shared);
      if (step + 1 >= steps) break;
      multiply_strip<1>(p, shared);
    }
  }
#else
  __device__ __forceinline__ void multiply_all(const product &p, u32 shared, int steps) {
    for (int step = 0; step < steps; step++) {
      u32 at = shared + step % 2 * STRIP_BYTES;
      a.store(at);
      add_rows();
      b.store(at + 3 * A_BYTES);
      fence_stores();
      a.load(p.a_step);
      b.load(p.b_step);
      add_strip(sums, d);
      __syncthreads();  // this strip is stored, and the one before is multiplied, by all items
      multiply(d, at, first_row(), first_column());
    }
    add_strip(sums, d);
    __syncthreads();
  }
#endif
};

// Waits until the kernels that this one depends on have ended: the driver may start it earlier (start.c). Nothing may be read or written before this.
__device__ __forceinline__ void wait_for_kernels() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

#ifdef SUMS
// Stores the sums of the tile's rows: adds up the sums of all items and of all parts of the cluster.
__device__ __forceinline__ void store_row_sums(const product &p, int row0, const float (*partial)[ROWS]) {
  int row = threadIdx.x;
  if (row >= ROWS || row0 + row >= p.m) return;
  u32 first = (u32)__cvta_generic_to_shared(&partial[0][row]);
  float total = 0;
  for (int part = 0; part < PARTS; part++) {
    u32 at = first;
#if PARTS > 1
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(part));
#endif
#pragma unroll
    for (int i = 0; i < SUMMERS; i++) {
      float x;
      asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at + i * ROWS * 4) : "memory");
      total += x;
    }
  }
  p.row_sums[row0 + row] = total;
}
#endif

#if IS_HELD
#define BOUNDS __launch_bounds__(THREADS, 3 - WARPGROUPS)  // two work-groups of 64 rows fit on a multiprocessor
#else
#define BOUNDS __launch_bounds__(THREADS)
#endif

// Computes the tile of y that begins at row0 and column0: sums this work-group's part of k, and then finishes its share of the results.
__device__ __forceinline__ void multiply_tile(const product &p, int row0, int column0) {
  extern __shared__ unsigned char memory[];
  u32 shared = ((u32)__cvta_generic_to_shared(memory) + 1023) & ~1023u;  // swizzles count from multiples of 1024
  const float *a = p.a + blockIdx.z * p.a_batch, *b = p.b + blockIdx.z * p.b_batch;
  int part = blockIdx.x % PARTS;
  int steps = (p.k + DEPTH - 1) / DEPTH, step = steps * part / PARTS, end = steps * (part + 1) / PARTS;
  int k_end = min(p.k, end * DEPTH);
  enum { QUADS = ROWS * COLUMNS / 4, PER_ROW = COLUMNS / 4 };
  int first = QUADS * part / PARTS + threadIdx.x, last = QUADS * (part + 1) / PARTS;
  tile t;
#pragma unroll
  for (int i = 0; i < WIDTH / 2; i++) t.sums[i] = t.d[i] = 0;
  t.a.begin(a, p.a_step, row0, p.m, step * DEPTH, k_end);
  t.b.begin(b, p.b_step, column0, p.n, step * DEPTH, k_end);
  t.a.load(p.a_step);
  t.b.load(p.b_step);
  t.multiply_all(p, shared, end - step);
#ifdef SUMS
  __shared__ float partial[SUMMERS][ROWS];
  t.a.put_totals(t.totals, partial);
#endif
  put_sums(shared, t.sums);
  chain_inputs next;
  next.load(p, row0 + first / PER_ROW, column0 + first % PER_ROW * 4);
  wait_for_all();
#ifdef SUMS
  if (p.row_sums && column0 == 0 && part == 0) store_row_sums(p, row0, partial);
#endif
#pragma unroll 1
  for (int i = first; i < last; i += THREADS) {
    int row = i / PER_ROW, column = i % PER_ROW * 4, after = i + THREADS;
    chain_inputs inputs = next;
    if (after < last) next.load(p, row0 + after / PER_ROW, column0 + after % PER_ROW * 4);
    float sum[4] = {0, 0, 0, 0};
    for (int j = 0; j < PARTS; j++) add_part(shared + (row * PITCH + column) * 4, j, sum);
    if (row0 + row < p.m && column0 + column < p.n) finish(p, a, b, row0 + row, column0 + column, sum, inputs);
  }
  if (PARTS > 1) wait_for_all();  // others still read the shared memory
}

#ifndef GROUPED
extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) BOUNDS tsrk_product_units(const product p) {
  wait_for_kernels();
  multiply_tile(p, blockIdx.y * ROWS, blockIdx.x / PARTS * COLUMNS);
}
#else
// The arguments of a launch with several products. Product i has the tiles first[i] to first[i + 1] - 1 of the launch, numbered row by row.
struct group {
  product products[GROUPED];
  int first[GROUPED + 1];
};

extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) BOUNDS tsrk_product_group(const __grid_constant__ group g) {
  wait_for_kernels();
  int tile = blockIdx.x / PARTS, i = 0;
  while (tile >= g.first[i + 1]) i++;
  const product &p = g.products[i];
  int across = (p.n + COLUMNS - 1) / COLUMNS;
  tile -= g.first[i];
  multiply_tile(p, tile / across * ROWS, tile % across * COLUMNS);
}
#endif
