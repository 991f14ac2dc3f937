// SPDX-License-Identifier: MIT
// Joins: which of them the kernel takes, what runs on the fake library, and whether results are right (on a GPU).
#include "backends/cuda/join.h"

#include <stdlib.h>

#include "backends/cuda/fixture.h"

enum { LINES = 5, FROM_STRIDE = 32, TO_STRIDE = 512, GUARD = 0xEE };

// A join of `count` parts of u8, of which part i has first + i * more elements in a line; they begin `shift` bytes into their buffers.
typedef struct joined {
  tsri_native_op op;
  tsri_buffer *from, *to;
  int64_t line;
} joined;

static joined joined_begin(const fixture *f, int count, int64_t first, int64_t more, size_t shift) {
  joined j = {.op = {.kind = TSRI_NATIVE_JOIN, .dtype = TSR_U8, .result = TSR_U8}};
  size_t part_bytes = (size_t)LINES * FROM_STRIDE, bytes = shift + (size_t)count * part_bytes;
  unsigned char *values = fixture_pattern(bytes), *guards = malloc((size_t)LINES * TO_STRIDE);
  memset(guards, GUARD, (size_t)LINES * TO_STRIDE);
  j.from = fixture_buffer(f, bytes, NULL);
  j.to = fixture_buffer(f, (size_t)LINES * TO_STRIDE, NULL);
  fixture_write(f, j.from, 0, values, bytes);
  fixture_write(f, j.to, 0, guards, (size_t)LINES * TO_STRIDE);
  tsri_join_op *join = &j.op.is.join;
  *join = (tsri_join_op){.lines = LINES, .to_stride = TO_STRIDE, .part_count = count, .to = {j.to, 0}};
  for (int i = 0; i < count; i++) {
    join->parts[i] =
        (tsri_join_part){first + i * more, FROM_STRIDE, {.buffer = j.from, .offset = shift + (size_t)i * part_bytes}};
    j.line += join->parts[i].length;
  }
  free(values);
  free(guards);
  return j;
}

static void joined_run(const fixture *f, const joined *j) {
  CHECK_OK(f->backend->run_op(f->queue, &j->op));
  fixture_wait(f);
}

static void joined_end(const fixture *f, const joined *j) {
  f->backend->buffer_destroy(f->device, j->from);
  f->backend->buffer_destroy(f->device, j->to);
}

TEST(a_join_of_many_parts_is_one_launch_and_its_kernel_is_built_once_for_each_unit) {
  char folder[] = "/tmp/tessera-join-XXXXXX";
  fixture_use_cache(folder);
  fixture f = fixture_open();
  joined wide = joined_begin(&f, TSRI_JOIN_PARTS, 16, 0, 0), odd = joined_begin(&f, 3, 15, 2, 0);
  for (int i = 0; i < 3; i++) joined_run(&f, i == 1 ? &odd : &wide);
  CHECK_EQ_INT(fixture_fake->launches, 3);
  CHECK_EQ_INT(fixture_fake->compilations, 2);
  joined_end(&f, &wide);
  joined_end(&f, &odd);
  fixture_close(&f);
  fixture_remove_cache(folder);
}

TEST(a_join_of_few_or_large_or_short_parts_is_not_taken) {
  enum { MANY = 7, PIECE = 16, MOST_BYTES = 16 << 20 };
  fixture f = fixture_open();
  joined few = joined_begin(&f, MANY - 1, PIECE, 0, 0), j = joined_begin(&f, MANY, PIECE, 0, 0);
  CHECK(!f.backend->has_op(f.device, &few.op));
  CHECK(f.backend->has_op(f.device, &j.op));
  j.op.is.join.lines = MOST_BYTES / (MANY * PIECE) + 1;
  CHECK(!f.backend->has_op(f.device, &j.op));
  j.op.is.join.lines--;
  CHECK(f.backend->has_op(f.device, &j.op));
  j.op.is.join.parts[0].length = PIECE - 1;
  CHECK(!f.backend->has_op(f.device, &j.op));
  joined_end(&f, &few);
  joined_end(&f, &j);
  fixture_close(&f);
}

static void check_joined(const fixture *f, const joined *j, size_t shift) {
  unsigned char *got = malloc((size_t)LINES * TO_STRIDE), *values;
  fixture_read(f, j->to, 0, got, (size_t)LINES * TO_STRIDE);
  const tsri_join_op *join = &j->op.is.join;
  values = fixture_pattern(shift + (size_t)join->part_count * LINES * FROM_STRIDE);
  for (int line = 0; line < LINES; line++) {
    const unsigned char *to = got + line * TO_STRIDE;
    for (int i = 0; i < join->part_count; i++) {
      const unsigned char *from = values + join->parts[i].from.offset + line * FROM_STRIDE;
      CHECK_EQ_INT(memcmp(to, from, (size_t)join->parts[i].length), 0);
      to += join->parts[i].length;
    }
    CHECK_EQ_INT(*to, GUARD);
  }
  free(got);
  free(values);
}

TEST(joins_on_a_gpu_are_right_for_every_unit) {
  static const struct {
    int count;
    int64_t first, more;
    size_t shift;
  } cases[] = {{TSRI_JOIN_PARTS, 16, 0, 0}, {7, 24, 0, 0}, {3, 12, 4, 0}, {5, 14, 2, 0}, {8, 15, 1, 0},
               {TSRI_JOIN_PARTS, 16, 0, 1}, {2, 16, 0, 2}, {1, 32, 0, 0}};
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    joined j = joined_begin(&f, cases[i].count, cases[i].first, cases[i].more, cases[i].shift);
    joined_run(&f, &j);
    check_joined(&f, &j, cases[i].shift);
    joined_end(&f, &j);
  }
  fixture_close(&f);
}
