// SPDX-License-Identifier: MIT
// Scans of few long rows in one pass. A work-group waits for the sums of work-groups that have started before it, so it is used only on devices where these
// waits are known to end (scan_once of tuning.def).
#include "ops/scan_once.h"
#include "ops/scan_quads.h"

#include <tessera/buffer.h>

// CHUNK: tiles of a chunk, a multiple of every subgroup size.
enum { GROUP = 256, CHUNK = 128 };

typedef struct long_rows {
  int64_t tile, tiles, chunks;  // elements of a tile; tiles and chunks of a row
} long_rows;

// Most quads per item: fewer if values or sums take 8 bytes, so that an item does not need more registers.
static int64_t quads_of(const tsri_scan_work *s) {
  int64_t quads = tsri_call_tuning(s->device)->scan_once;
  if (tsr_dtype_bytes(tsri_accumulator(s->dtype)) == 8) return (quads + 1) / 2;
  return s->is_packed ? (2 * quads + 2) / 3 : quads;
}

// Elements of a tile. If there would be fewer than MANY tiles, they have half as many elements: with few tiles on each core, their waits would not overlap.
static int64_t tile_of(const tsri_scan_work *s) {
  enum { MANY = 2048 };
  int64_t quads = quads_of(s), tile = GROUP * 4 * quads;
  return quads % 2 == 0 && s->lines * s->n < MANY * tile ? tile / 2 : tile;
}

// Divides rows into tiles and chunks. False: a row fits into one tile, or subgroups do not scan on the device.
static bool cut_rows(const tsri_scan_work *s, long_rows *rows) {
  rows->tile = tile_of(s);
  if (rows->tile == 0 || s->n <= rows->tile || !tsri_scan_has_quads(s->device)) return false;
  rows->tiles = (s->n + rows->tile - 1) / rows->tile;
  rows->chunks = (rows->tiles + CHUNK - 1) / CHUNK;
  return true;
}

// In how many words work-groups exchange a sum (kernels/op_scan.tk).
static int64_t words_of(const tsri_scan_work *s) {
  tsr_dtype state = tsri_scan_state(s);
  if (state == TSR_F32) return 1;
  return tsr_dtype_bytes(state) == 4 ? 2 : 3;
}

static tsr_status launch(const tsri_scan_work *s, const long_rows *rows, tsr_buffer *words) {
  bool is_wide = s->x_at % 4 == 0 && (s->lines == 1 || s->n % 4 == 0);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_once",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)),
                           TSRI_TYPE("S", tsri_scan_state(s)), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("PLACES", s->places != NULL), TSRI_CONSTANT("WIDE", is_wide),
                           TSRI_CONSTANT("ROUNDS", rows->tile / GROUP / 4), TSRI_CONSTANT("CHUNK", CHUNK),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, GROUP)), TSRI_CONSTANT("WG", GROUP)));
  tsri_call_buffer(&call, "x", s->x, s->dtype);
  tsri_call_buffer(&call, "words", words, TSR_U32);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  tsr_buffer *unused = tsri_scan_bind_places(&call, s);
  tsri_call_word(&call, "all", s->lines * rows->tiles);
  tsri_call_word(&call, "tiles", rows->tiles);
  tsri_call_word(&call, "chunks", rows->chunks);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "x_at", s->x_at);
  tsr_status status = tsri_call_many_groups(&call, s->lines * rows->tiles);
  tsr_buffer_release(unused);
  return status;
}

tsr_status tsri_scan_once(const tsri_scan_work *s) {
  long_rows rows;
  if (!cut_rows(s, &rows)) return TSR_ERR_UNSUPPORTED;
  int64_t count = 1 + s->lines * (rows.tiles + rows.chunks) * words_of(s);
  tsr_buffer *words = NULL;
  tsr_status status = tsri_call_scratch(s->device, count, TSR_U32, &words);
  if (status == TSR_OK) status = tsr_buffer_fill(words, 0, (size_t)count * 4, &(unsigned char){0xFF}, 1);
  if (status == TSR_OK) status = launch(s, &rows, words);
  tsr_buffer_release(words);
  return status;
}
