// SPDX-License-Identifier: MIT
// Joined lines, compared byte by byte with lines that are put together one after the other: element sizes, lengths, numbers of parts, strides, threads.
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/rows_testing.h"

enum { MOST = 1 << 20, GUARD = 0x5A };

typedef struct rig {
  cpu_device *device;
  tsri_buffer *in, *out;
  char *wanted;
} rig;

static rig rig_open(int threads) {
  rig r = {.device = open_device(threads, NULL), .wanted = malloc(MOST)};
  CHECK(r.wanted != NULL);
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, MOST, &r.in));
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, MOST, &r.out));
  uint32_t state = 5;
  char *in = tsri_cpu_buffer_host(NULL, r.in);
  for (int i = 0; i < MOST; i++) in[i] = (char)random_word(&state);
  return r;
}

static void rig_close(rig *r) {
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->in);
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->out);
  close_device(r->device);
  free(r->wanted);
}

// Runs the operator, whose places have offsets only. Memory outside of its lines must stay as it is.
static void check(rig *r, tsr_dtype dtype, tsri_join_op op) {
  size_t element = tsr_dtype_bytes(dtype), used = 0;
  char *out = tsri_cpu_buffer_host(NULL, r->out);
  const char *in = tsri_cpu_buffer_host(NULL, r->in);
  op.to.buffer = r->out;
  for (int i = 0; i < op.part_count; i++) op.parts[i].from.buffer = r->in;
  used = op.to.offset + (size_t)(op.lines * op.to_stride) * element;
  CHECK(used < MOST);
  memset(out, GUARD, used + 1);
  memset(r->wanted, GUARD, used + 1);
  for (int64_t line = 0; line < op.lines; line++) {
    char *to = r->wanted + op.to.offset + (size_t)(line * op.to_stride) * element;
    for (int i = 0; i < op.part_count; i++) {
      const tsri_join_part *part = &op.parts[i];
      const char *from = in + part->from.offset + line * part->stride * (int64_t)element;
      size_t bytes = (size_t)part->length * element;
      memcpy(to, from, bytes);
      to += bytes;
    }
  }
  tsri_native_op native = {.kind = TSRI_NATIVE_JOIN, .dtype = dtype, .result = dtype, .is.join = op};
  CHECK(tsri_cpu_has_lines(&native));
  CHECK_OK(tsri_cpu_lines(r->device, &native));
  if (memcmp(out, r->wanted, used + 1) != 0) {
    test_fail(__FILE__, __LINE__, "%s, %d lines of %d parts, the first of %d elements", tsr_dtype_name(dtype),
              (int)op.lines, op.part_count, (int)op.parts[0].length);
  }
}

// Contiguous parts whose lengths begin with `length` and differ by `more`, one after the other in memory.
static tsri_join_op packed(tsr_dtype dtype, int64_t lines, int part_count, int64_t length, int64_t more) {
  tsri_join_op op = {.lines = lines, .part_count = part_count};
  size_t at = 0;
  for (int i = 0; i < part_count; i++, length += more) {
    op.parts[i] = (tsri_join_part){.length = length, .stride = length, .from.offset = at};
    op.to_stride += length;
    at += (size_t)(lines * length) * tsr_dtype_bytes(dtype);
  }
  return op;
}

static const tsr_dtype dtypes[] = {TSR_U8, TSR_BF16, TSR_F32, TSR_F64};

TEST(pieces_of_every_size_are_joined) {
  rig r = rig_open(1);
  for (int d = 0; d < 4; d++) {
    for (int64_t length = 1; length <= 80; length++) {
      for (int64_t lines = 1; lines <= 33; lines += 16) {
        check(&r, dtypes[d], packed(dtypes[d], lines, 2, length, 0));
        check(&r, dtypes[d], packed(dtypes[d], lines, 3, length, 1));
      }
    }
    for (int64_t lines = 1; lines <= 40; lines++) check(&r, dtypes[d], packed(dtypes[d], lines, 2, 1, 0));
  }
  rig_close(&r);
}

TEST(one_to_most_parts_are_joined) {
  rig r = rig_open(2);
  for (int count = 1; count <= TSRI_JOIN_PARTS; count++) {
    check(&r, TSR_F32, packed(TSR_F32, 7, count, 1, 0));
    check(&r, TSR_F32, packed(TSR_F32, 300, count, 5, 3));
    check(&r, TSR_U8, packed(TSR_U8, 3, count, 4000, 1));
  }
  rig_close(&r);
}

// Enough bytes for several threads: few long lines, each split among threads, and many short lines.
TEST(threads_join_shares_that_begin_inside_of_lines) {
  static const int64_t sizes[][2] = {{1, 70001}, {2, 60013}, {3, 30011}, {999, 101},
                                     {33333, 3}, {70000, 1}, {50, 1999}};
  for (int threads = 1; threads <= 7; threads += 2) {
    rig r = rig_open(threads);
    for (int i = 0; i < 7; i++) {
      for (int d = 0; d < 3; d++) {
        int64_t most = (int64_t)(MOST / 2 / tsr_dtype_bytes(dtypes[d]) - 1) / sizes[i][0];
        check(&r, dtypes[d], packed(dtypes[d], sizes[i][0], 2, sizes[i][1] < most ? sizes[i][1] : most, 0));
        check(&r, dtypes[d], packed(dtypes[d], sizes[i][0], 3, sizes[i][1] / 2 + 1, 0));
      }
    }
    rig_close(&r);
  }
}

TEST(lines_of_parts_and_of_the_result_may_lie_apart) {
  rig r = rig_open(2);
  for (int d = 0; d < 4; d++) {
    size_t element = tsr_dtype_bytes(dtypes[d]);
    for (int64_t length = 1; length <= 40; length += 3) {
      tsri_join_op op = {.lines = 60, .part_count = 3, .to_stride = 3 * length + 2, .to.offset = element};
      op.parts[0] = (tsri_join_part){.length = length, .stride = length + 1};
      op.parts[1] = (tsri_join_part){.length = length + 1, .stride = 0, .from.offset = 3 * element};
      op.parts[2] = (tsri_join_part){.length = length, .stride = -length, .from.offset = 5000 * element};
      check(&r, dtypes[d], op);
      op.part_count = 2;
      check(&r, dtypes[d], op);
    }
  }
  rig_close(&r);
}
