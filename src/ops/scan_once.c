// SPDX-License-Identifier: MIT
// Running sums of few long rows in one pass. A work-group waits for the sums of work-groups that have started before it, so it is used only on devices where
// these waits are known to end (scan_once of tuning.def).
#include "ops/scan_once.h"
#include "ops/promote.h"

#include <tessera/buffer.h>

// CHUNK: tiles of a chunk, a multiple of every subgroup size.
enum { GROUP = 256, CHUNK = 128 };

typedef struct long_rows {
  int64_t lines, n;
  int64_t tile, tiles, chunks;  // elements of a tile; tiles and chunks of a row
} long_rows;

// Elements of a tile. If there would be fewer than MANY tiles, they have half as many elements: with few tiles on each core, their waits would not overlap.
static int64_t tile_of(const tsri_kernel_run *run, int64_t count) {
  enum { MANY = 2048 };
  int64_t quads = tsri_call_tuning(run->device)->scan_once, tile = GROUP * 4 * quads;
  return quads % 2 == 0 && count < MANY * tile ? tile / 2 : tile;
}

// Divides rows into tiles and chunks. False: a row fits into one tile, sums are not f32 (work-groups exchange them as 32-bit words), or the device has no
// subgroups in work-groups of GROUP items.
static bool cut_rows(const tsri_kernel_run *run, long_rows *rows) {
  const tsr_device *device = run->device;
  rows->tile = tile_of(run, rows->lines * rows->n);
  if (rows->tile == 0 || rows->n <= rows->tile || tsri_accumulator(run->dtype) != TSR_F32) return false;
  rows->tiles = (rows->n + rows->tile - 1) / rows->tile;
  rows->chunks = (rows->tiles + CHUNK - 1) / CHUNK;
  return device->limits.max_group_size >= GROUP && tsri_call_subgroup(device, GROUP) > 0;
}

static tsr_status launch(const tsri_kernel_run *run, const long_rows *rows, tsr_buffer *words) {
  int64_t x_at = run->layouts[0].offset;
  bool is_wide = x_at % 4 == 0 && (rows->lines == 1 || rows->n % 4 == 0);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scan_once", "scan_once",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_CONSTANT("WIDE", is_wide),
                           TSRI_CONSTANT("ROUNDS", rows->tile / GROUP / 4), TSRI_CONSTANT("CHUNK", CHUNK),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(run->device, GROUP)), TSRI_CONSTANT("WG", GROUP)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "words", words, TSR_U32);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "all", rows->lines * rows->tiles);
  tsri_call_word(&call, "tiles", rows->tiles);
  tsri_call_word(&call, "chunks", rows->chunks);
  tsri_call_word(&call, "n", rows->n);
  tsri_call_word(&call, "x_at", x_at);
  return tsri_call_many_groups(&call, rows->lines * rows->tiles);
}

tsr_status tsri_scan_once(const tsri_kernel_run *run, int64_t lines, int64_t n) {
  long_rows rows = {.lines = lines, .n = n};
  if (!cut_rows(run, &rows)) return TSR_ERR_UNSUPPORTED;
  int64_t count = 1 + lines * (rows.tiles + rows.chunks);
  tsr_buffer *words = NULL;
  tsr_status status = tsri_call_scratch(run->device, count, TSR_U32, &words);
  if (status == TSR_OK) status = tsr_buffer_fill(words, 0, (size_t)count * 4, &(unsigned char){0xFF}, 1);
  if (status == TSR_OK) status = launch(run, &rows, words);
  tsr_buffer_release(words);
  return status;
}
