// SPDX-License-Identifier: MIT
// Indices of the form: a scalar plus multiples of local.x, local.y and local.z.
//
// Most indices have this form. Then a few scalar operations find out where a whole block of lanes reads or writes.
#include "backends/cpu/lanes/program.h"

// Finds the largest local.x, local.y and local.z among the first n lanes.
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

static bool is_small(int64_t value, int bits) { return value >> bits == 0 || value >> bits == -1; }

static void add_reach(lane_affine *affine, int64_t reach) {
  affine->least += reach < 0 ? reach : 0;
  affine->most += reach < 0 ? 0 : reach;
}

// Reads the base and the steps. Steps are read only for axes with more than one lane. They wrap like the index: 2^32 - 1 is -1.
static void read_32(const lane_exec *x, const void *const from[4], bool is_signed, lane_affine *out) {
  out->base = is_signed ? *(const lane_i32 *)from[0] : (int64_t) * (const lane_u32 *)from[0];
  out->least = out->most = out->base;
  for (int i = 0; i < 3; i++) {
    if (x->extent[i] == 0) continue;
    out->step[i] = *(const lane_i32 *)from[i + 1];
    add_reach(out, out->step[i] * x->extent[i]);
  }
  out->is_exact =
      is_signed ? out->least >= INT32_MIN && out->most <= INT32_MAX : out->least >= 0 && out->most <= UINT32_MAX;
}

static void read_64(const lane_exec *x, const void *const from[4], lane_affine *out) {
  out->base = out->least = out->most = *(const lane_i64 *)from[0];
  out->is_exact = is_small(out->base, 60);
  for (int i = 0; i < 3; i++) {
    if (x->extent[i] == 0) continue;
    out->step[i] = *(const lane_i64 *)from[i + 1];
    out->is_exact = out->is_exact && is_small(out->step[i], 48);
    if (out->is_exact) add_reach(out, out->step[i] * x->extent[i]);
  }
}

void tsri_lanes_affine(lane_exec *x, uint8_t index_kind, const void *base, const void *step_x, const void *step_y,
                       const void *step_z, lane_affine *out) {
  if (x->extent_n != x->set.n) find_extent(x);
  const void *const from[4] = {base, step_x, step_y, step_z};
  out->step[0] = out->step[1] = out->step[2] = 0;
  if (index_kind == TSRI_LANE_INDEX_I64) {
    read_64(x, from, out);
  } else {
    read_32(x, from, index_kind == TSRI_LANE_INDEX_I32, out);
  }
  out->is_linear = out->is_exact && (x->extent[1] == 0 || out->step[1] == out->step[0] * x->group_x) &&
                   (x->extent[2] == 0 || out->step[2] == out->step[0] * x->group_xy);
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
