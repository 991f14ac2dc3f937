// SPDX-License-Identifier: MIT
// Products by cooperative matrices: which are accepted, and whether the results are right. If the device has no
// cooperative matrices, the kernel runs with emulated ones of 8 x 8, made of ordinary instructions: each item of a
// subgroup of 8 holds one row.
#include "backends/vulkan/cooperative.h"

#include "backends/vulkan/fixture.h"
#include "ops/product.h"

#if TSRI_HAS_VULKAN

#include <math.h>

// --- Matrices of ordinary instructions ------------------------------------------------------------------------------

enum { SIDE = 8, GLSL_UNPACK_HALF = 62 };

static tsr_dtype emulated_dtype;
static tsri_spv_id a_type, b_type;

static const tsri_spv_type word = {SPV_U32, 1}, f32 = {SPV_F32, 1};

static void emulated_declare(tsri_spv *s, const tsri_spv_matmul *shape) {
  (void)s;
  emulated_dtype = shape->dtype;
}

// An item holds one row of 8 elements of a and of the sums, but all of b.
static tsri_spv_id emulated_type(tsri_spv *s, tsr_dtype dtype, uint32_t rows, uint32_t cols, uint32_t use) {
  (void)dtype;
  CHECK(rows == SIDE && cols == SIDE);
  tsri_spv_id id = tsri_spv_array_type(s, tsri_spv_type_id(s, f32), use == SPV_MATRIX_B ? SIDE * SIDE : SIDE);
  if (use == SPV_MATRIX_A) a_type = id;
  if (use == SPV_MATRIX_B) b_type = id;
  return id;
}

static tsri_spv_id emulated_zero(tsri_spv *s, tsri_spv_id type) {
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, SPV_OP_CONSTANT_NULL, type, id);
  return id;
}

static tsri_spv_id shared_at(tsri_spv *s, tsri_spv_type type, tsri_spv_id array, tsri_spv_id index) {
  tsri_spv_id id = tsri_spv_new_id(s);
  tsri_spv_id pointer = tsri_spv_pointer_type(s, SPV_CLASS_WORKGROUP, tsri_spv_type_id(s, type));
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, pointer, id, array, index);
  return id;
}

static tsri_spv_id add(tsri_spv *s, tsri_spv_id a, tsri_spv_id b) { return tsri_spv_op2(s, SPV_OP_I_ADD, word, a, b); }
static tsri_spv_id lane(tsri_spv *s) { return tsri_spv_builtin_value(s, SPV_BUILTIN_SUBGROUP_LANE, 0); }

// Loads the eight elements of a row or column as f32.
static void load_line(tsri_spv *s, tsri_spv_id array, tsri_spv_id at, tsri_spv_id *out) {
  tsri_spv_type four = tsri_spv_make_type(SPV_U32, 4), pair = tsri_spv_make_type(SPV_F32, 2);
  tsri_spv_id pointer = shared_at(s, four, array, at), value = tsri_spv_new_id(s), type = tsri_spv_type_id(s, four);
  tsri_spv_id scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  SPV_PUT(&s->code, SPV_OP_LOAD, type, value, pointer, SPV_MEMORY_MAKE_VISIBLE | SPV_MEMORY_NON_PRIVATE, scope);
  for (uint32_t i = 0; i < 4; i++) {
    tsri_spv_id bits = tsri_spv_extract(s, four, value, i);
    if (emulated_dtype == TSR_F16) {
      tsri_spv_id both = tsri_spv_ext(s, GLSL_UNPACK_HALF, pair, bits, 0, 0);
      out[2 * i] = tsri_spv_extract(s, pair, both, 0);
      out[2 * i + 1] = tsri_spv_extract(s, pair, both, 1);
    } else {
      tsri_spv_id low = tsri_spv_op2(s, SPV_OP_SHIFT_LEFT_LOGICAL, word, bits, tsri_spv_u32(s, 16));
      tsri_spv_id high = tsri_spv_op2(s, SPV_OP_BITWISE_AND, word, bits, tsri_spv_u32(s, 0xffff0000));
      out[2 * i] = tsri_spv_bitcast(s, f32, word, low);
      out[2 * i + 1] = tsri_spv_bitcast(s, f32, word, high);
    }
  }
}

static tsri_spv_id compose_array(tsri_spv *s, tsri_spv_id type, const tsri_spv_id *parts, uint32_t count) {
  uint32_t words[2 + SIDE * SIDE] = {type, tsri_spv_new_id(s)};
  memcpy(words + 2, parts, count * sizeof *parts);
  tsri_spv_put_op(&s->code, SPV_OP_COMPOSITE_CONSTRUCT, words, 2 + count);
  return words[1];
}

static tsri_spv_id element(tsri_spv *s, tsri_spv_id array, uint32_t index) {
  return tsri_spv_op2(s, SPV_OP_COMPOSITE_EXTRACT, f32, array, index);
}

// Selects element number `lane` of eight.
static tsri_spv_id pick(tsri_spv *s, const tsri_spv_id *line) {
  tsri_spv_id value = line[0];
  for (uint32_t i = 1; i < SIDE; i++) {
    tsri_spv_id is_it = tsri_spv_op2(s, SPV_OP_I_EQUAL, tsri_spv_make_type(SPV_BOOL, 1), lane(s), tsri_spv_u32(s, i));
    value = tsri_spv_select(s, f32, is_it, line[i], value);
  }
  return value;
}

static tsri_spv_id emulated_load(tsri_spv *s, tsri_spv_id type, tsri_spv_id array, tsri_spv_id index, uint32_t stride,
                                 bool by_columns) {
  tsri_spv_id lines[SIDE][SIDE], parts[SIDE * SIDE];
  if (type == a_type && !by_columns) {
    tsri_spv_id row = tsri_spv_op2(s, SPV_OP_I_MUL, word, lane(s), tsri_spv_u32(s, stride));
    load_line(s, array, add(s, index, row), lines[0]);
    return compose_array(s, type, lines[0], SIDE);
  }
  for (uint32_t i = 0; i < SIDE; i++) load_line(s, array, add(s, index, tsri_spv_u32(s, i * stride)), lines[i]);
  if (type == a_type) {
    for (uint32_t i = 0; i < SIDE; i++) parts[i] = pick(s, lines[i]);
    return compose_array(s, type, parts, SIDE);
  }
  for (uint32_t k = 0; k < SIDE; k++) {
    for (uint32_t n = 0; n < SIDE; n++) parts[k * SIDE + n] = by_columns ? lines[n][k] : lines[k][n];
  }
  return compose_array(s, type, parts, SIDE * SIDE);
}

static tsri_spv_id emulated_mul_add(tsri_spv *s, tsri_spv_id type, tsri_spv_id a, tsri_spv_id b, tsri_spv_id c) {
  tsri_spv_id sums[SIDE];
  for (uint32_t n = 0; n < SIDE; n++) {
    sums[n] = element(s, c, n);
    for (uint32_t k = 0; k < SIDE; k++) {
      tsri_spv_id product = tsri_spv_op2(s, SPV_OP_F_MUL, f32, element(s, a, k), element(s, b, k * SIDE + n));
      sums[n] = tsri_spv_op2(s, SPV_OP_F_ADD, f32, sums[n], product);
    }
  }
  return compose_array(s, type, sums, SIDE);
}

static void emulated_store(tsri_spv *s, tsri_spv_id value, tsri_spv_id array, tsri_spv_id index, uint32_t stride) {
  tsri_spv_id row = tsri_spv_op2(s, SPV_OP_I_MUL, word, lane(s), tsri_spv_u32(s, stride));
  tsri_spv_id scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  for (uint32_t n = 0; n < SIDE; n++) {
    tsri_spv_id pointer = shared_at(s, f32, array, add(s, add(s, index, row), tsri_spv_u32(s, n)));
    tsri_spv_id part = element(s, value, n);
    SPV_PUT(&s->code, SPV_OP_STORE, pointer, part, SPV_MEMORY_MAKE_AVAILABLE | SPV_MEMORY_NON_PRIVATE, scope);
  }
}

static const tsri_spv_matrices emulated = {emulated_declare, emulated_type,    emulated_zero,
                                           emulated_load,    emulated_mul_add, emulated_store};

// --- Running products -----------------------------------------------------------------------------------------------

// Uses the device's own cooperative matrices, or else the emulated ones with small tiles.
static fixture open_with_matrices(bool has_two_tiles) {
  fixture f = fixture_open();
  vulkan_device *device = vulkan_device_of(f.device);
  vulkan_features *features = &device->features;
  if (features->f16_matrix.m > 0) return f;
  if (!features->memory_model || !features->storage16 || !features->subgroups || features->subgroup_size != SIDE) {
    fixture_close(&f);
    SKIP("the device has neither cooperative matrices nor what stands in for them");
  }
  features->f16_matrix = features->bf16_matrix = (vulkan_matrix){SIDE, SIDE, SIDE};
  features->tiles[0] = (vulkan_tiles){32, 32, 16, 16, 16, has_two_tiles};
  features->tiles[1] = (vulkan_tiles){32, 16, 16, 16, 8, has_two_tiles};
  atomic_store(&device->matrices, &emulated);
  return f;
}

static uint32_t seed = 7;
static float random_float(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)(int32_t)(seed >> 8 & 0xff) * 0x1p-7f - 1;
}

// A matrix or a batch of them, with gaps between the rows and before the first element.
typedef struct held {
  float *values;  // the buffer's elements as f32
  uint16_t *bits;
  size_t count;
  tsri_buffer *buffer;
  tsri_layout layout;
} held;

static held hold(const fixture *f, tsr_dtype dtype, tsr_shape shape, const int64_t *strides, size_t at) {
  held h = {.layout = {.shape = shape, .offset = (int64_t)at}};
  h.count = at + 1;
  for (int i = 0; i < shape.rank; i++) {
    h.layout.strides[i] = strides[i];
    h.count += (size_t)((shape.dims[i] - 1) * strides[i]);
  }
  h.values = malloc(h.count * sizeof *h.values);
  h.bits = malloc(h.count * sizeof *h.bits);
  for (size_t i = 0; i < h.count; i++) h.values[i] = random_float();
  CHECK_OK(tsr_convert(dtype, h.bits, TSR_F32, h.values, h.count));
  CHECK_OK(tsr_convert(TSR_F32, h.values, dtype, h.bits, h.count));
  h.buffer = fixture_buffer(f, h.count * 2, h.bits);
  return h;
}

static tsri_native_op op_of(tsr_dtype dtype, const held *a, const held *b, const held *y) {
  tsri_native_op op;
  const tsri_layout *layouts[] = {&a->layout, &b->layout};
  CHECK(tsri_product_describe(dtype, y->layout.shape, layouts, 2, 1, 0, &op));
  op.is.product.a.at.buffer = a->buffer;
  op.is.product.b.at.buffer = b->buffer;
  op.is.product.y = (tsri_place){y->buffer, (size_t)y->layout.offset * 2};
  return op;
}

static void let_go(const fixture *f, held *h) {
  f->backend->buffer_destroy(f->device, h->buffer);
  free(h->values);
  free(h->bits);
}

static double value_at(const held *h, const int64_t *index, int rank) {
  int64_t at = h->layout.offset;
  int own_rank = h->layout.shape.rank;
  for (int i = 0; i < own_rank; i++) {
    int64_t place = index[rank - own_rank + i];
    at += (h->layout.shape.dims[i] == 1 ? 0 : place) * h->layout.strides[i];
  }
  return (double)h->values[at];
}

// Compares y with a b, element by element; the reference sums in f64.
static void compare(const fixture *f, tsr_dtype dtype, const held *a, const held *b, held *y) {
  tsr_shape shape = y->layout.shape;
  int rank = shape.rank;
  int64_t k = a->layout.shape.dims[a->layout.shape.rank - 1], total = 1;
  for (int i = 0; i < rank; i++) total *= shape.dims[i];
  double step = dtype == TSR_F16 ? 0x1p-11 : 0x1p-8;
  fixture_read(f, y->buffer, 0, y->bits, y->count * 2);
  CHECK_OK(tsr_convert(TSR_F32, y->values, dtype, y->bits, y->count));
  for (int64_t i = 0; i < total; i++) {
    int64_t index[TSR_MAX_RANK], at_a[TSR_MAX_RANK], at_b[TSR_MAX_RANK], rest = i;
    double sum = 0;
    for (int axis = rank - 1; axis >= 0; axis--) {
      index[axis] = at_a[axis] = at_b[axis] = rest % shape.dims[axis];
      rest /= shape.dims[axis];
    }
    for (int64_t j = 0; j < k; j++) {
      at_a[rank - 1] = at_b[rank - 2] = j;
      sum += value_at(a, at_a, rank) * value_at(b, at_b, rank);
    }
    CHECK_NEAR(value_at(y, index, rank), sum, step * fabs(sum) + 1e-5 * (double)k);
  }
}

typedef struct product_case {
  tsr_shape a, b, y;
  int64_t a_strides[4], b_strides[4];
  size_t a_at, b_at, y_at;  // elements before the first one of a, b and y
} product_case;

static void run_case(const fixture *f, tsr_dtype dtype, const product_case *c) {
  int64_t y_strides[TSR_MAX_RANK], step = 1;
  for (int i = c->y.rank - 1; i >= 0; i--) {
    y_strides[i] = step;
    step *= c->y.dims[i];
  }
  held a = hold(f, dtype, c->a, c->a_strides, c->a_at), b = hold(f, dtype, c->b, c->b_strides, c->b_at);
  held y = hold(f, dtype, c->y, y_strides, c->y_at);
  tsri_native_op op = op_of(dtype, &a, &b, &y);
  uint16_t before = y.bits[0];
  CHECK(f->backend->has_op(f->device, &op));
  CHECK_OK(f->backend->run_op(f->queue, &op));
  compare(f, dtype, &a, &b, &y);
  if (c->y_at > 0) CHECK_EQ_UINT(y.bits[0], before);  // nothing is written before y begins
  let_go(f, &a);
  let_go(f, &b);
  let_go(f, &y);
}

#define SHAPE2(m, n)    ((tsr_shape){.rank = 2, .dims = {(m), (n)}})
#define SHAPE3(b, m, n) ((tsr_shape){.rank = 3, .dims = {(b), (m), (n)}})

static void run_layouts(bool has_two_tiles) {
  fixture f = open_with_matrices(has_two_tiles);
  for (int kind = 0; kind < 4; kind++) {
    bool a_by_columns = kind & 1, b_by_columns = kind & 2;
    product_case c = {.a = SHAPE2(64, 48), .b = SHAPE2(48, 32), .y = SHAPE2(64, 32)};
    c.a_strides[0] = a_by_columns ? 1 : 48;
    c.a_strides[1] = a_by_columns ? 64 : 1;
    c.b_strides[0] = b_by_columns ? 1 : 32;
    c.b_strides[1] = b_by_columns ? 48 : 1;
    run_case(&f, TSR_F16, &c);
  }
  fixture_close(&f);
}

TEST(products_by_rows_and_by_columns_are_right) { run_layouts(false); }

TEST(products_with_two_tiles_in_turn_are_right) { run_layouts(true); }

TEST(sizes_that_are_no_multiples_of_a_tile_are_right) {
  fixture f = open_with_matrices(false);
  run_case(&f, TSR_F16, &(product_case){SHAPE2(40, 56), SHAPE2(56, 40), SHAPE2(40, 40), {56, 1}, {40, 1}, 0, 0, 8});
  run_case(&f, TSR_BF16, &(product_case){SHAPE2(40, 56), SHAPE2(56, 40), SHAPE2(40, 40), {1, 40}, {1, 64}, 16, 0, 0});
  fixture_close(&f);
}

TEST(rows_that_begin_anywhere_are_right) {
  fixture f = open_with_matrices(false);
  run_case(&f, TSR_F16, &(product_case){SHAPE2(37, 45), SHAPE2(45, 33), SHAPE2(37, 33), {47, 1}, {33, 1}, 3, 1, 5});
  run_case(&f, TSR_BF16, &(product_case){SHAPE2(37, 45), SHAPE2(45, 33), SHAPE2(37, 33), {1, 39}, {1, 45}, 1, 0, 2});
  fixture_close(&f);
}

TEST(batches_are_right_whether_joined_broadcast_or_walked) {
  fixture f = open_with_matrices(false);
  run_case(&f, TSR_F16,
           &(product_case){SHAPE3(3, 32, 32), SHAPE2(32, 32), SHAPE3(3, 32, 32), {1024, 32, 1}, {32, 1}, 0, 0, 0});
  tsr_shape four = {.rank = 4, .dims = {2, 3, 32, 32}}, one = {.rank = 4, .dims = {2, 1, 32, 32}};
  // Attention heads side by side in the rows of a; b has a batch of two that all heads share.
  run_case(&f, TSR_BF16, &(product_case){four, one, four, {3072, 32, 96, 1}, {1024, 1024, 32, 1}, 0, 0, 0});
  fixture_close(&f);
}

static void declare_what_is_missing(tsri_spv *s, const tsri_spv_matmul *shape) {
  (void)shape;
  s->missing = "what this driver lacks";
}

TEST(a_driver_that_refuses_the_kernel_is_not_asked_again) {
  fixture f = open_with_matrices(false);
  vulkan_device *device = vulkan_device_of(f.device);
  tsri_spv_matrices refused = *atomic_load(&device->matrices);  // the device's own matrices, or the emulated ones
  refused.declare = declare_what_is_missing;
  atomic_store(&device->matrices, &refused);
  int64_t strides[2] = {32, 1};
  held a = hold(&f, TSR_F16, SHAPE2(32, 32), strides, 0);
  tsri_native_op op = op_of(TSR_F16, &a, &a, &a);
  CHECK(f.backend->has_op(f.device, &op));
  CHECK_STATUS(f.backend->run_op(f.queue, &op), TSR_ERR_UNSUPPORTED);
  CHECK(!f.backend->has_op(f.device, &op));
  CHECK_STATUS(f.backend->run_op(f.queue, &op), TSR_ERR_UNSUPPORTED);
  let_go(&f, &a);
  fixture_close(&f);
}

// --- What is taken --------------------------------------------------------------------------------------------------

TEST(the_largest_matrix_that_sums_in_f32_is_chosen) {
  const uint32_t h = VULKAN_COMPONENT_F16, s = VULKAN_COMPONENT_F32, subgroup = VULKAN_SCOPE_SUBGROUP;
  vulkan_cooperative_properties list[] = {
      {.m = 16, .n = 8, .k = 16, .a = h, .b = h, .c = s, .result = s, .scope = subgroup},
      {.m = 16, .n = 16, .k = 16, .a = h, .b = h, .c = s, .result = s, .scope = subgroup},
      {.m = 16, .n = 16, .k = 32, .a = h, .b = h, .c = h, .result = h, .scope = subgroup},
      {.m = 32, .n = 32, .k = 32, .a = h, .b = h, .c = s, .result = s, .scope = 2},
      {.m = 64, .n = 16, .k = 16, .a = h, .b = h, .c = s, .result = s, .scope = subgroup},
  };
  vulkan_matrix got = tsri_vulkan_choose_matrix(list, 5, h);
  CHECK(got.m == 16 && got.n == 16 && got.k == 16);
  CHECK_EQ_UINT(tsri_vulkan_choose_matrix(list, 5, VULKAN_COMPONENT_BF16).m, 0);
}

static bool plans(tsr_dtype dtype, const tsri_product_op *op, vulkan_product *product) {
  static const vulkan_features features = {.subgroup_size = 32,
                                           .f16_matrix = {16, 16, 16},
                                           .tiles = {{128, 128, 64, 64, 64, false}, {64, 128, 32, 32, 64, false}}};
  static const VkPhysicalDeviceLimits limits = {.maxComputeWorkGroupInvocations = 1024,
                                                .maxComputeWorkGroupSize = {1024, 1024, 64},
                                                .maxComputeWorkGroupCount = {65535, 65535, 65535},
                                                .maxComputeSharedMemorySize = 49152,
                                                .minStorageBufferOffsetAlignment = 16,
                                                .maxStorageBufferRange = UINT32_C(1) << 30};
  return tsri_vulkan_plan_product(&features, &limits, dtype, op, product);
}

static tsri_native_op product_of(int64_t m, int64_t n, int64_t k) {
  held a = {.layout = {.shape = SHAPE2(m, k), .strides = {k, 1}}};
  held b = {.layout = {.shape = SHAPE2(k, n), .strides = {n, 1}}}, y = {.layout = {.shape = SHAPE2(m, n)}};
  return op_of(TSR_F16, &a, &b, &y);
}

TEST(tiles_follow_from_the_size_and_edges_from_the_tiles) {
  vulkan_product p;
  tsri_product_op op = product_of(4096, 4096, 4096).is.product;
  CHECK(plans(TSR_F16, &op, &p));
  CHECK(p.shape.tile_m == 128 && p.groups[0] == 32 && p.groups[1] == 32 && p.groups[2] == 1);
  CHECK(!p.shape.has_edges && !p.shape.by_elements);
  op = product_of(512, 512, 40).is.product;
  CHECK(plans(TSR_F16, &op, &p));
  CHECK(p.shape.tile_m == 64 && p.shape.has_edges && !p.shape.by_elements);
  op = product_of(512, 512, 41).is.product;
  CHECK(plans(TSR_F16, &op, &p) && p.shape.by_elements);
  op = product_of(512, 512, 512).is.product;
  op.b.at.offset = 2;
  CHECK(plans(TSR_F16, &op, &p) && p.shape.by_elements);
}

TEST(products_that_the_kernel_cannot_do_are_left_to_others) {
  vulkan_product p;
  tsri_product_op op = product_of(8, 512, 512).is.product;  // m is small: limited by memory bandwidth
  CHECK(!plans(TSR_F16, &op, &p));
  op = product_of(512, 512, 512).is.product;
  CHECK(!plans(TSR_BF16, &op, &p));  // these features have no bf16 matrices
  op.a.column = 2;
  CHECK(!plans(TSR_F16, &op, &p));
  op = product_of(512, 512, 512).is.product;
  op.a.row = -512;
  CHECK(!plans(TSR_F16, &op, &p));
  op = product_of(65536, 65536, 64).is.product;  // more than 2^31 elements
  CHECK(!plans(TSR_F16, &op, &p));
  op = product_of(32768, 32768, 64).is.product;  // more bytes than one binding can cover
  CHECK(!plans(TSR_F16, &op, &p));
}

TEST(the_setting_native_switches_them_off) {
  fixture f = fixture_open_with(&(tsri_open_options){.timeout_ns = UINT64_MAX, .native = "-cooperative_matrix"});
  tsri_native_op op = product_of(512, 512, 512);
  vulkan_device_of(f.device)->features.f16_matrix = (vulkan_matrix){SIDE, SIDE, SIDE};
  CHECK(!f.backend->has_op(f.device, &op));
  fixture_close(&f);
}

#endif
