// SPDX-License-Identifier: MIT
// Concatenates lines (concat): each line of the result consists of one piece of each part.
//
// Lines with long pieces are copied one by one. Blocks of lines with short pieces are copied part by part, in loops with a constant size of moves. A block
// stays in the first-level cache until all parts have written their pieces, so the result goes to memory once.
#include <string.h>

#include "backends/cpu/lines/lines.h"
#include "core/lines.h"
#include "platform/parallel.h"

typedef struct joined_part {
  const char *from;
  int64_t bytes, stride;  // bytes of a piece, and from one piece to the next
} joined_part;

typedef struct join_job {
  char *to;
  int64_t line_bytes, to_stride;  // line_bytes: of all pieces of a line
  int64_t all_bytes, share;       // share: bytes of the result that a thread copies at a time
  int part_count, shares;
  bool is_interleaved;  // two parts of single elements, which are interleaved
  joined_part parts[TSRI_JOIN_PARTS];
} join_job;

// Unrolled: a loop with a single move may take twice as long, depending on its alignment.
#define COPY_PIECES(size)                                       \
  case size:                                                    \
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {   \
      memcpy(to + i * to_stride, from + i * from_stride, size); \
    }                                                           \
    break

// Copies by two moves that may overlap (tsri_copy_few).
#define COPY_ENDS(size)                                                                         \
  _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                     \
    memcpy(to + i * to_stride, from + i * from_stride, size);                                   \
    memcpy(to + i * to_stride + bytes - (size), from + i * from_stride + bytes - (size), size); \
  }

// Copies n pieces. Constant sizes let the compiler replace each memcpy by a single move.
static void copy_pieces(char *to, int64_t to_stride, const char *from, int64_t from_stride, size_t bytes, int64_t n) {
  switch (bytes) {
    COPY_PIECES(1);
    COPY_PIECES(2);
    COPY_PIECES(4);
    COPY_PIECES(8);
    COPY_PIECES(16);
    COPY_PIECES(32);
    COPY_PIECES(64);
    default:
      if (bytes > TSRI_FEW_BYTES) {
        for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, bytes);
      } else if (bytes > 32) {
        COPY_ENDS(32)
      } else if (bytes > 16) {
        COPY_ENDS(16)
      } else if (bytes > 8) {
        COPY_ENDS(8)
      } else if (bytes > 4) {
        COPY_ENDS(4)
      } else {
        COPY_ENDS(2)
      }
  }
}
#undef COPY_ENDS
#undef COPY_PIECES

static void join_block(const join_job *job, int64_t first, int64_t n) {
  char *to = job->to + first * job->to_stride;
  for (int i = 0; i < job->part_count; i++) {
    const joined_part *part = &job->parts[i];
    copy_pieces(to, job->to_stride, part->from + first * part->stride, part->stride, (size_t)part->bytes, n);
    to += part->bytes;
  }
}

static void join_long_pieces(const join_job *job, int64_t first, int64_t last) {
  const char *from[TSRI_JOIN_PARTS];
  for (int i = 0; i < job->part_count; i++) from[i] = job->parts[i].from + first * job->parts[i].stride;
  for (int64_t line = first; line < last; line++) {
    char *to = job->to + line * job->to_stride;
    for (int i = 0; i < job->part_count; i++) {
      size_t bytes = (size_t)job->parts[i].bytes;
      if (bytes <= TSRI_FEW_BYTES) tsri_copy_few(to, from[i], bytes);
      else memcpy(to, from[i], bytes);
      to += bytes;
      from[i] += job->parts[i].stride;
    }
  }
}

static void join_lines(const join_job *job, int64_t first, int64_t last) {
  enum { BLOCK_BYTES = 4096, LONG_PIECE = 256 };
  if (job->is_interleaved) {
    int64_t bytes = job->parts[0].bytes;
    tsri_interleave(job->to + first * job->to_stride, job->parts[0].from + first * bytes,
                    job->parts[1].from + first * bytes, last - first, (size_t)bytes);
    return;
  }
  if (job->line_bytes >= LONG_PIECE * job->part_count) {
    join_long_pieces(job, first, last);
    return;
  }
  int64_t most = BLOCK_BYTES / job->line_bytes;
  for (int64_t n = 0; first < last; first += n) {
    n = last - first < most ? last - first : most;
    join_block(job, first, n);
  }
}

// Copies the bytes from `at` to `end` - 1 of one line.
static void join_bytes(const join_job *job, int64_t line, int64_t at, int64_t end) {
  int64_t start = 0;  // where the piece begins
  for (int i = 0; i < job->part_count; i++) {
    const joined_part *part = &job->parts[i];
    int64_t low = at > start ? at : start, high = end < start + part->bytes ? end : start + part->bytes;
    if (low < high) {
      memcpy(job->to + line * job->to_stride + low, part->from + line * part->stride + (low - start),
             (size_t)(high - low));
    }
    start += part->bytes;
  }
}

// Copies a share, which may begin and end within a line.
static void join_share(void *user, int number) {
  const join_job *job = user;
  int64_t first = number * job->share, last = number == job->shares - 1 ? job->all_bytes : first + job->share;
  int64_t line = first / job->line_bytes, at = first % job->line_bytes;
  int64_t last_line = last / job->line_bytes, end = last % job->line_bytes;
  if (at > 0) {
    join_bytes(job, line, at, line < last_line ? job->line_bytes : end);
    if (line == last_line) return;
    line++;
  }
  join_lines(job, line, last_line);
  if (end > 0) join_bytes(job, last_line, 0, end);
}

// Whether both parts are columns of single elements, which vectors can interleave.
static bool is_interleaved(const join_job *job) {
  const joined_part *a = &job->parts[0], *b = &job->parts[1];
  if (job->part_count != 2 || a->bytes != b->bytes || job->to_stride != job->line_bytes) return false;
  bool is_element = a->bytes == 1 || a->bytes == 2 || a->bytes == 4 || a->bytes == 8;
  return is_element && a->stride == a->bytes && b->stride == b->bytes;
}

void tsri_cpu_join(const cpu_device *device, tsr_dtype dtype, const tsri_join_op *op) {
  // WORTH_A_THREAD: bytes; for less, waking threads takes longer than the copy. CACHE_LINE: shares are whole cache lines.
  enum { WORTH_A_THREAD = 1 << 18, CACHE_LINE = 64 };
  int64_t element = (int64_t)tsr_dtype_bytes(dtype);
  join_job job = {.to = tsri_cpu_place(op->to), .to_stride = op->to_stride * element, .part_count = op->part_count};
  for (int i = 0; i < op->part_count; i++) {
    const tsri_join_part *part = &op->parts[i];
    job.parts[i] = (joined_part){tsri_cpu_place(part->from), part->length * element, part->stride * element};
    job.line_bytes += part->length * element;
  }
  job.is_interleaved = is_interleaved(&job);
  job.all_bytes = op->lines * job.line_bytes;
  int threads = job.all_bytes < WORTH_A_THREAD ? 1 : device->threads;
  job.shares = tsri_cpu_parts(threads, (uint64_t)(job.all_bytes / CACHE_LINE + 1));
  job.share = job.all_bytes / job.shares / CACHE_LINE * CACHE_LINE;
  tsri_parallel(threads, job.shares, join_share, &job);
}
