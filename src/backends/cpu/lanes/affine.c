// SPDX-License-Identifier: MIT
// Indices that are a scalar plus multiples of local.x, local.y and local.z.
//
// Most indices are, and then a few scalar operations tell where a whole block of lanes reads or writes.
#include "backends/cpu/lanes/program.h"

// The largest local ids among the first n lanes, each by itself.
static void find_extent(lane_exec *x) {
  uint32_t last = x->set.n - 1;
  x->extent_n = x->set.n;
  if (last < x->group_x) {
    x->extent[0] = last;
    x->extent[1] = x->extent[2] = 0;
    return;
  }
  x->extent[0] = x->group_x - 1;
  uint32_t row = last / x->group_x, rows = x->group_xy / x->group_x;
  x->extent[1] = row < rows ? row : rows - 1;
  x->extent[2] = last / x->group_xy;
}

static int64_t read_index(uint8_t index_kind, const void *at) {
  if (index_kind == TSRI_LANE_INDEX_U32) return *(const lane_u32 *)at;
  if (index_kind == TSRI_LANE_INDEX_I32) return *(const lane_i32 *)at;
  return *(const lane_i64 *)at;
}

// Steps wrap like the index: a step of 2^32 - 1 is one of -1.
static int64_t read_step(uint8_t index_kind, const void *at) {
  return index_kind == TSRI_LANE_INDEX_I64 ? *(const lane_i64 *)at : *(const lane_i32 *)at;
}

static bool is_small(int64_t value, int bits) { return value >> bits == 0 || value >> bits == -1; }

lane_affine tsri_lanes_affine(lane_exec *x, uint8_t index_kind, const void *base, const void *step_x,
                              const void *step_y, const void *step_z) {
  if (x->extent_n != x->set.n) find_extent(x);
  lane_affine affine = {.base = read_index(index_kind, base)};
  affine.step[0] = read_step(index_kind, step_x);
  affine.step[1] = x->extent[1] != 0 ? read_step(index_kind, step_y) : 0;
  affine.step[2] = x->extent[2] != 0 ? read_step(index_kind, step_z) : 0;
  if (index_kind == TSRI_LANE_INDEX_I64) {
    bool fits = is_small(affine.base, 60);
    for (int i = 0; i < 3; i++) fits = fits && is_small(affine.step[i], 48);
    if (!fits) return affine;
  }
  affine.least = affine.most = affine.base;
  for (int i = 0; i < 3; i++) {
    int64_t reach = affine.step[i] * x->extent[i];
    if (reach < 0) {
      affine.least += reach;
    } else {
      affine.most += reach;
    }
  }
  affine.is_exact = index_kind == TSRI_LANE_INDEX_I64 ||
                    (index_kind == TSRI_LANE_INDEX_U32 && affine.least >= 0 && affine.most <= UINT32_MAX) ||
                    (index_kind == TSRI_LANE_INDEX_I32 && affine.least >= INT32_MIN && affine.most <= INT32_MAX);
  affine.is_linear = (x->extent[1] == 0 || affine.step[1] == affine.step[0] * x->group_x) &&
                     (x->extent[2] == 0 || affine.step[2] == affine.step[0] * x->group_xy);
  return affine;
}

void tsri_lanes_affine_fill(const lane_exec *x, uint8_t index_kind, const lane_affine *affine, void *dst) {
  uint32_t n = x->set.n, rows = x->group_xy / x->group_x;
  uint32_t y = 0, z = 0;
  for (uint32_t at = 0; at < n; at += x->group_x) {
    uint32_t count = n - at < x->group_x ? n - at : x->group_x;
    uint64_t base = (uint64_t)affine->base + (uint64_t)affine->step[1] * y + (uint64_t)affine->step[2] * z;
    if (index_kind == TSRI_LANE_INDEX_I64) {
      x->isa->iota_64((uint64_t *)dst + at, base, (uint64_t)affine->step[0], count);
    } else {
      x->isa->iota_32((uint32_t *)dst + at, (uint32_t)base, (uint32_t)affine->step[0], count);
    }
    if (++y == rows) {
      y = 0;
      z++;
    }
  }
}
