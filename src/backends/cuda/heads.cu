// SPDX-License-Identifier: MIT
// Attention of f32 and its gradient for short sequences: a work-group takes a whole head, whose queries, keys and values fit into its shared memory.
//
// Rows are cut into tiles of 16, and a warp multiplies tiles by matrix units (mma.m16n8k8 of TF32). Each f32 is the sum of two such numbers, high and low; low * low, at most 2^-22 of a product, is left out. Units cut off what does not
// fit when they add, so sums over rows begin at 0 for each tile and are added up by plain f32.
//
// Two warps share a tile of rows: each takes every second tile of columns, or half of the result's columns. If queries are causal, some tiles have more to do than others; warps 0 to 7 have the tiles in their order and 8 to 15 in
// the opposite one, so that each quarter of the multiprocessor, which has every fourth warp, gets about as much as the others.
//
// Registers of a lane, as the PTX manual has them, with line = lane / 4 and quarter = lane % 4:
//   left   register i: row `line + 8 * (i % 2)`, k `quarter + 4 * (i / 2)`
//   right  register i: k `quarter + 4 * i`, column `line`
//   sum    register i: row `line + 8 * (i / 2)`, column `quarter * 2 + i % 2`
// A sum becomes a left factor as it is if k 0 to 7 stand for columns 0, 2, 4, 6, 1, 3, 5, 7: rows of the right factor are then read in that order.
//
// The host defines IS_GRADIENT, and DEPTH, a multiple of 8: at least as many elements as rows of q, k and v have. These, and steps from row to row, are multiples of 4, and all rows begin at multiples of 16 bytes.

typedef unsigned int u32;

enum {
  ROWS = 128,  // most queries, and most keys
  SIDE = 16,   // of a tile
  TILES = ROWS / SIDE,
  WARPS = 2 * TILES,
  THREADS = 32 * WARPS,
  STEPS = DEPTH / 8,
  PITCH = DEPTH + 4,    // of rows in shared memory: a fragment's elements are in different banks
  S_PITCH = ROWS + 4,   // of rows of scores
  HELD = ROWS * PITCH,  // floats of all rows
};

#define LOG2_E   1.4426950408889634f
#define LN_2     0.6931471805599453f
#define INFINITE __int_as_float(0x7f800000)

// Tensors are [batch, head, row, element]; steps are those of batch, head and row.
struct tensor {
  float *at;
  long long steps[3];
};

// An attention writes y and lse, which is [batch, head, query] (0: lse is not needed); its g, dq, dk and dv are not used. The gradient reads y, lse and g, and
// writes dq, dk and dv.
struct attention {
  tensor q, k, v, y, g, dq, dk, dv;
  float *lse;
  int heads, shared_by, queries, keys, size, value_size, is_causal;
  float scale;
};

// --- Instructions -------------------------------------------------------------------------------------------------------

// Waits until the kernels that this one depends on have ended: the driver may start it earlier (start.c). Nothing may be read or written before this.
__device__ __forceinline__ void wait_for_kernels() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Starts to copy 16 bytes to shared memory, or zeros unless is_there. They have arrived after wait_for_copies and a barrier.
__device__ __forceinline__ void copy_16(float *to, const float *from, bool is_there) {
  u32 at = (u32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(is_there ? 16 : 0) : "memory");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Loads four matrices of 8 x 4 elements (ldmatrix). Lane i passes the address of row i % 8 of matrix i / 8, and gets row `line`, column `quarter` of each
// matrix.
__device__ __forceinline__ void load_matrices(float (&x)[4], const float *row) {
  u32 at = (u32)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
               : "r"(at)
               : "memory");
}

__device__ __forceinline__ void multiply_add(float (&sum)[4], const u32 (&left)[4], const u32 (&right)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

// The value that x has in the lane whose number differs from this lane's in `bits`.
__device__ __forceinline__ float from_lane(float x, int bits) { return __shfl_xor_sync(0xffffffffu, x, bits); }

// --- Products of tiles --------------------------------------------------------------------------------------------------

template <int COUNT>
struct factor {
  u32 high[COUNT], low[COUNT];

  __device__ __forceinline__ void set(int i, float x) {
    high[i] = (__float_as_uint(x) + 4096) & 0xffffe000u;
    low[i] = __float_as_uint(x - __uint_as_float(high[i]));
  }
};

__device__ __forceinline__ void multiply_add(float (&sum)[4], const factor<4> &left, const factor<2> &right) {
  multiply_add(sum, left.low, right.high);
  multiply_add(sum, left.high, right.low);
  multiply_add(sum, left.high, right.high);
}

__device__ __forceinline__ int lane() { return threadIdx.x % 32; }
__device__ __forceinline__ int line() { return lane() / 4; }
__device__ __forceinline__ int quarter() { return lane() % 4; }

// Loads a left factor of 16 rows x 8 elements along k from shared memory.
__device__ __forceinline__ factor<4> left_at(const float *x, int pitch) {
  factor<4> left;
  float held[4];
  load_matrices(held, x + lane() % 16 * pitch + lane() / 16 * 4);
#pragma unroll
  for (int i = 0; i < 4; i++) left.set(i, held[i]);
  return left;
}

// Uses a sum as a left factor, without moving elements between lanes (see the order of k above).
__device__ __forceinline__ factor<4> left_of(const float (&sum)[4]) {
  factor<4> left;
  left.set(0, sum[0]);
  left.set(1, sum[2]);
  left.set(2, sum[1]);
  left.set(3, sum[3]);
  return left;
}

// Sums of a tile of 16 x 16, in registers: two fragments of 16 x 8.
struct square {
  float half[2][4];
};

// a b^T for tiles of 16 rows of a and of b in shared memory.
__device__ __forceinline__ square multiply_rows(const float *a, const float *b) {
  square sums = {};
#pragma unroll
  for (int step = 0; step < STEPS; step++) {
    factor<4> left = left_at(a + step * 8, PITCH);
    float held[4];
    load_matrices(held, b + (lane() / 16 * 8 + lane() % 8) * PITCH + step * 8 + lane() / 8 % 2 * 4);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      factor<2> right;
      right.set(0, held[2 * i]);
      right.set(1, held[2 * i + 1]);
      multiply_add(sums.half[i], left, right);
    }
  }
  return sums;
}

// sums += left b, for 16 rows of b and COUNT * 8 of their elements. left[i] has columns 8 i to 8 i + 7 of the left factor.
template <int COUNT>
__device__ __forceinline__ void add_products(float (&sums)[COUNT][4], const factor<4> (&left)[2], const float *b) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int step = 0; step < 2; step++) {
      const float *row = b + (step * 8 + quarter() * 2) * PITCH + i * 8 + line();
      factor<2> right;
      right.set(0, row[0]);
      right.set(1, row[PITCH]);
      multiply_add(sum, left[step], right);
    }
#pragma unroll
    for (int j = 0; j < 4; j++) sums[i][j] += sum[j];
  }
}

template <int COUNT>
__device__ __forceinline__ void add_products(float (&sums)[COUNT][4], const square &weights, const float *b) {
  const factor<4> left[2] = {left_of(weights.half[0]), left_of(weights.half[1])};
  add_products(sums, left, b);
}

// --- Rows ---------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ float *head_of(const tensor &x, int batch, int head) {
  return x.at + batch * x.steps[0] + head * x.steps[1];
}

// Starts to copy all rows of a head to shared memory; rows from `rows` on and elements from `size` on become 0.
__device__ __forceinline__ void fetch(float *to, const float *from, long long step, int rows, int size) {
  enum { PER_ROW = DEPTH / 4 };
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * PER_ROW; i += THREADS) {
    int row = i / PER_ROW, first = i % PER_ROW * 4;
    bool is_there = row < rows && first < size;
    copy_16(to + row * PITCH + first, is_there ? from + row * step + first : from, is_there);
  }
}

// Stores a tile of results. sums[0] begins at column `first`. `to` is the address of the tile's first row; only `rows` rows exist.
template <int COUNT>
__device__ __forceinline__ void store(float *to, long long step, int rows, int first, int size,
                                      const float (&sums)[COUNT][4], float factor0, float factor1) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    int column = first + i * 8 + quarter() * 2;
    if (column >= size) continue;
    if (line() < rows)
      *(float2 *)(to + line() * step + column) = make_float2(sums[i][0] * factor0, sums[i][1] * factor0);
    if (line() + 8 < rows)
      *(float2 *)(to + (line() + 8) * step + column) = make_float2(sums[i][2] * factor1, sums[i][3] * factor1);
  }
}

// The tile of rows that the warp computes; the other function: which of the tile's two warps it is.
__device__ __forceinline__ int tile_of_warp() {
  return threadIdx.x / 32 < TILES ? threadIdx.x / 32 : WARPS - 1 - threadIdx.x / 32;
}
__device__ __forceinline__ int part_of_warp() { return threadIdx.x / 32 / TILES; }

__device__ __forceinline__ int tiles_of(int rows) { return (rows + SIDE - 1) / SIDE; }

// Whether any query of a tile of queries attends to any key of a tile of keys.
__device__ __forceinline__ bool tile_sees(const attention &a, int query_tile, int key_tile) {
  return !a.is_causal || key_tile * SIDE < (query_tile + 1) * SIDE + a.keys - a.queries;
}

__device__ __forceinline__ bool sees(const attention &a, int query, int key) {
  return query < a.queries && key < a.keys && (!a.is_causal || key <= query + a.keys - a.queries);
}

__device__ __forceinline__ float over_quarters(float x) {
  x += from_lane(x, 1);
  return x + from_lane(x, 2);
}

__device__ __forceinline__ float largest_of_quarters(float x) {
  x = fmaxf(x, from_lane(x, 1));
  return fmaxf(x, from_lane(x, 2));
}

// --- Attention ----------------------------------------------------------------------------------------------------------

#if !IS_GRADIENT

// A warp's partial results for 16 queries: for rows `line` and `line + 8`, sums of values that are not divided by `weight` yet, for weights relative to 2^most.
struct answer {
  float values[STEPS][4];
  float most[2], weight[2];
};

// Computes the scores of every second tile of keys, and adds the weighted values to `answer`.
__device__ __forceinline__ void answer_by_keys(const attention &a, const float *q, const float *k, const float *v,
                                               int tile, int part, answer &found) {
  square scores[TILES / 2];
  found.most[0] = found.most[1] = -INFINITE;
#pragma unroll
  for (int i = 0; i < TILES / 2; i++) {
    int key_tile = 2 * i + part;
    if (key_tile >= tiles_of(a.keys) || !tile_sees(a, tile, key_tile)) continue;
    scores[i] = multiply_rows(q + tile * SIDE * PITCH, k + key_tile * SIDE * PITCH);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int row = j % 4 / 2, query = tile * SIDE + line() + row * 8,
          key = key_tile * SIDE + j / 4 * 8 + quarter() * 2 + j % 2;
      float &score = scores[i].half[j / 4][j % 4];
      score = sees(a, query, key) ? score * (a.scale * LOG2_E) : -INFINITE;
      found.most[row] = fmaxf(found.most[row], score);
    }
  }
#pragma unroll
  for (int row = 0; row < 2; row++) {
    found.most[row] = largest_of_quarters(found.most[row]);
    found.weight[row] = 0;
  }
#pragma unroll
  for (int i = 0; i < TILES / 2; i++) {
    int key_tile = 2 * i + part;
    if (key_tile >= tiles_of(a.keys) || !tile_sees(a, tile, key_tile)) continue;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int row = j % 4 / 2;
      float &score = scores[i].half[j / 4][j % 4], from = found.most[row] == -INFINITE ? 0 : found.most[row];
      score = exp2f(score - from);
      found.weight[row] += score;
    }
    add_products(found.values, scores[i], v + key_tile * SIDE * PITCH);
  }
#pragma unroll
  for (int row = 0; row < 2; row++) found.weight[row] = over_quarters(found.weight[row]);
}

// What the second warp of a tile stores for the first one: its sums of values, and the largest score and the weight of each row.
struct left_over {
  float *values, *most, *weight;
};

__device__ __forceinline__ void leave(const left_over &to, int tile, const answer &found) {
#pragma unroll
  for (int row = 0; row < 2; row++) {
    int at = tile * SIDE + line() + row * 8;
    to.most[at] = found.most[row];
    to.weight[at] = found.weight[row];
#pragma unroll
    for (int i = 0; i < STEPS; i++)
      *(float2 *)(to.values + at * PITCH + i * 8 + quarter() * 2) =
          make_float2(found.values[i][2 * row], found.values[i][2 * row + 1]);
  }
}

// Joins the second warp's results with those of this warp, and divides by the weights.
__device__ __forceinline__ void join(const left_over &from, int tile, answer &found) {
#pragma unroll
  for (int row = 0; row < 2; row++) {
    int at = tile * SIDE + line() + row * 8;
    float most = fmaxf(found.most[row], from.most[at]), base = most == -INFINITE ? 0 : most;
    float ours = exp2f(found.most[row] - base), theirs = exp2f(from.most[at] - base);
    float weight = found.weight[row] * ours + from.weight[at] * theirs, divisor = weight == 0 ? 1 : weight;
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
      float2 other = *(const float2 *)(from.values + at * PITCH + i * 8 + quarter() * 2);
      found.values[i][2 * row] = (found.values[i][2 * row] * ours + other.x * theirs) / divisor;
      found.values[i][2 * row + 1] = (found.values[i][2 * row + 1] * ours + other.y * theirs) / divisor;
    }
    found.most[row] = most;
    found.weight[row] = weight;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) tsrk_attention_head(const attention a) {
  wait_for_kernels();
  extern __shared__ float memory[];
  float *q = memory, *k = q + HELD, *v = k + HELD;
  const left_over other = {q, v + HELD, v + HELD + ROWS};
  int head = blockIdx.x % a.heads, batch = blockIdx.x / a.heads, tile = tile_of_warp(), rows = a.queries - tile * SIDE;
  fetch(q, head_of(a.q, batch, head), a.q.steps[2], a.queries, a.size);
  fetch(k, head_of(a.k, batch, head / a.shared_by), a.k.steps[2], a.keys, a.size);
  fetch(v, head_of(a.v, batch, head / a.shared_by), a.v.steps[2], a.keys, a.value_size);
  wait_for_copies();
  __syncthreads();
  answer found = {};
  if (rows > 0) answer_by_keys(a, q, k, v, tile, part_of_warp(), found);
  __syncthreads();  // all warps have finished with q
  if (rows > 0 && part_of_warp() == 1) leave(other, tile, found);
  __syncthreads();
  if (rows <= 0 || part_of_warp() == 1) return;
  join(other, tile, found);
  store(head_of(a.y, batch, head) + tile * SIDE * a.y.steps[2], a.y.steps[2], rows, 0, a.value_size, found.values, 1,
        1);
  if (!a.lse || quarter() != 0) return;
  float *lse = a.lse + ((long long)blockIdx.x * a.queries + tile * SIDE);
#pragma unroll
  for (int row = 0; row < 2; row++) {
    float weight = found.weight[row];
    if (line() + row * 8 < rows) lse[line() + row * 8] = weight == 0 ? INFINITE : found.most[row] * LN_2 + logf(weight);
  }
}

// --- Gradient -----------------------------------------------------------------------------------------------------------

#else

// The rows of a head in shared memory and, for each query, its lse in base 2 and its sum of y * g. `slopes` has the gradients of the scores, [query][key], in
// which the keys 0 to 7 of each eight are in the order 0, 2, 4, 6, 1, 3, 5, 7.
struct held_head {
  float *q, *k, *v, *g, *slopes, *lse, *sums;
};

// Computes the sums of y * g: four neighbouring items share a row.
struct row_sum {
  enum { MOST = (DEPTH + 15) / 16 };
  float4 y[MOST];

  __device__ __forceinline__ void load(const attention &a, int batch, int head) {
    int row = threadIdx.x / 4, first = threadIdx.x % 4 * 4;
    const float *from = head_of(a.y, batch, head) + row * a.y.steps[2];
#pragma unroll
    for (int i = 0; i < MOST; i++) {
      y[i] = make_float4(0, 0, 0, 0);
      if (row < a.queries && first + i * 16 < a.value_size) y[i] = *(const float4 *)(from + first + i * 16);
    }
  }

  __device__ __forceinline__ void finish(const held_head &h) const {
    int row = threadIdx.x / 4, first = threadIdx.x % 4 * 4;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < MOST; i++) {
      if (first + i * 16 >= DEPTH) continue;
      const float *g = h.g + row * PITCH + first + i * 16;
      sum += y[i].x * g[0] + y[i].y * g[1] + (y[i].z * g[2] + y[i].w * g[3]);
    }
    sum = over_quarters(sum);
    if (threadIdx.x % 4 == 0) h.sums[row] = sum;
  }
};

// Converts the products for 16 keys by 16 queries, k q^T and v g^T, to weights and gradients of scores. The gradients are also stored in `slopes`.
__device__ __forceinline__ void make_slopes(const attention &a, const held_head &h, int key_tile, int query_tile,
                                            square &weights, square &slopes) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    int key_line = line() + i % 4 / 2 * 8, key = key_tile * SIDE + key_line,
        query = query_tile * SIDE + i / 4 * 8 + quarter() * 2 + i % 2;
    float &weight = weights.half[i / 4][i % 4], &slope = slopes.half[i / 4][i % 4];
    weight = sees(a, query, key) ? exp2f(weight * (a.scale * LOG2_E) - h.lse[query]) : 0;
    slope = weight == 0 ? 0 : weight * (slope - h.sums[query]);
    h.slopes[query * S_PITCH + key_tile * SIDE + key_line / 8 * 8 + key_line % 8 / 2 + key_line % 2 * 4] = slope;
  }
}

// A warp's sums for the gradients of 16 keys and 16 values.
struct key_gradient {
  float k[STEPS][4], v[STEPS][4];
};

__device__ __forceinline__ void add_queries(const attention &a, const held_head &h, int tile, int part,
                                            key_gradient &sums) {
  int first = 0;
  while (first < tiles_of(a.queries) && !tile_sees(a, first, tile)) first++;
#pragma unroll 1
  for (int i = first + part; i < tiles_of(a.queries); i += 2) {
    const float *q = h.q + i * SIDE * PITCH, *g = h.g + i * SIDE * PITCH;
    square weights = multiply_rows(h.k + tile * SIDE * PITCH, q), slopes = multiply_rows(h.v + tile * SIDE * PITCH, g);
    make_slopes(a, h, tile, i, weights, slopes);
    add_products(sums.v, weights, g);
    add_products(sums.k, slopes, q);
  }
}

// A warp computes HALF * 8 columns of the gradient of 16 queries.
enum { HALF = (STEPS + 1) / 2 };

__device__ __forceinline__ void add_keys(const attention &a, const held_head &h, int tile, int first,
                                         float (&sums)[HALF][4]) {
#pragma unroll 1
  for (int i = 0; i < tiles_of(a.keys) && tile_sees(a, tile, i); i++) {
    const float *slopes = h.slopes + tile * SIDE * S_PITCH + i * SIDE;
    const factor<4> left[2] = {left_at(slopes, S_PITCH), left_at(slopes + 8, S_PITCH)};
    add_products(sums, left, h.k + i * SIDE * PITCH + first);
  }
}

// The second warp of a tile of keys stores its sums in place of q and g (IS_LEFT), and the first warp adds them to its own.
template <bool IS_LEFT>
__device__ __forceinline__ void exchange(float *at, float (&sums)[STEPS][4]) {
#pragma unroll
  for (int i = 0; i < STEPS * 2; i++) {
    float *sum = &sums[i / 2][i % 2 * 2];
    float2 *there = (float2 *)(at + (line() + i % 2 * 8) * PITCH + i / 2 * 8 + quarter() * 2);
    if (IS_LEFT) *there = make_float2(sum[0], sum[1]);
    else sum[0] += there->x, sum[1] += there->y;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) tsrk_attention_head_gradient(const attention a) {
  wait_for_kernels();
  extern __shared__ float memory[];
  const held_head h = {memory,
                       memory + HELD,
                       memory + 2 * HELD,
                       memory + 3 * HELD,
                       memory + 4 * HELD,
                       memory + 4 * HELD + ROWS * S_PITCH,
                       memory + 4 * HELD + ROWS * S_PITCH + ROWS};
  int head = blockIdx.x % a.heads, batch = blockIdx.x / a.heads, tile = tile_of_warp(), part = part_of_warp();
  fetch(h.q, head_of(a.q, batch, head), a.q.steps[2], a.queries, a.size);
  fetch(h.k, head_of(a.k, batch, head), a.k.steps[2], a.keys, a.size);
  fetch(h.v, head_of(a.v, batch, head), a.v.steps[2], a.keys, a.value_size);
  fetch(h.g, head_of(a.g, batch, head), a.g.steps[2], a.queries, a.value_size);
  row_sum row;
  row.load(a, batch, head);
  if (threadIdx.x < ROWS)
    h.lse[threadIdx.x] = threadIdx.x < a.queries ? a.lse[(long long)blockIdx.x * a.queries + threadIdx.x] * LOG2_E : 0;
  wait_for_copies();
  __syncthreads();
  row.finish(h);
  __syncthreads();
  key_gradient sums = {};
  int key_rows = a.keys - tile * SIDE, query_rows = a.queries - tile * SIDE;
  if (key_rows > 0) add_queries(a, h, tile, part, sums);
  __syncthreads();  // all slopes are stored, and all warps have finished with q and g
  if (key_rows > 0 && part == 1) {
    exchange<true>(h.q + tile * SIDE * PITCH, sums.k);
    exchange<true>(h.g + tile * SIDE * PITCH, sums.v);
  }
  if (query_rows > 0) {
    float dq[HALF][4] = {};
    int first = part * HALF * 8;
    add_keys(a, h, tile, first, dq);
    store(head_of(a.dq, batch, head) + tile * SIDE * a.dq.steps[2], a.dq.steps[2], query_rows, first, a.size, dq,
          a.scale, a.scale);
  }
  __syncthreads();
  if (key_rows <= 0 || part == 1) return;
  exchange<false>(h.q + tile * SIDE * PITCH, sums.k);
  exchange<false>(h.g + tile * SIDE * PITCH, sums.v);
  store(head_of(a.dk, batch, head) + tile * SIDE * a.dk.steps[2], a.dk.steps[2], key_rows, 0, a.size, sums.k, a.scale,
        a.scale);
  store(head_of(a.dv, batch, head) + tile * SIDE * a.dv.steps[2], a.dv.steps[2], key_rows, 0, a.value_size, sums.v, 1,
        1);
}

#endif
