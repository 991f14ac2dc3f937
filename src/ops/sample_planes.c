// SPDX-License-Identifier: MIT
// grid_sample from planes in shared memory (grid_planes of kernels/op_sample.tk): how the work is divided.
#include "ops/sample_planes.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/desc.h>

static int64_t chunks_of(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

enum { POINTS = 4 };  // positions of an item

// How the kernel grid_planes divides the work; the fields are its parameters. cells 0: it cannot, or would not be faster than grid_sample.
typedef struct grid_cut {
  int64_t cells, reads, share, groups;
} grid_cut;

// A plane in shared memory needs as many positions as make up for filling it. Work-groups compute as many channels as leave enough groups to keep the device busy.
static grid_cut cut_of_planes(const tsri_kernel_run *run, const tsri_grid_attributes *given) {
  enum { GROUP = 256, QUAD = 4, ROUNDS = 4 };
  static const int64_t sizes[] = {1024, 4032, 8128, 12224};  // 256 bytes less than 16, 32 and 48 KiB (count.c says why)
  const tsri_layout *x = &run->layouts[0];
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  const int64_t *dims = x->shape.dims;
  grid_cut cut = {.cells = 0};
  bool is_packed = x->shape.rank == 4 && x->strides[3] == 1 && x->strides[2] == dims[3];
  if (!is_packed || given->mode == TSR_GRID_CUBIC || run->dtype == TSR_F64 || tuning->row_held == 0) return cut;
  int64_t count = dims[2] * dims[3], points = run->shape.dims[2] * run->shape.dims[3];
  if (points < count / 2 || points < GROUP) return cut;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && cut.cells == 0; i++) {
    if (sizes[i] * (int64_t)sizeof(float) <= (int64_t)run->device->limits.shared_bytes && count < sizes[i])
      cut.cells = sizes[i];
  }
  bool is_wide = count % QUAD == 0 && x->offset % QUAD == 0 && x->strides[0] % QUAD == 0 && x->strides[1] % QUAD == 0;
  cut.reads = is_wide ? QUAD : 1;
  int64_t each = dims[0] * chunks_of(points, GROUP * POINTS), enough = ROUNDS * tuning->matmul_tiles;
  int64_t shares = chunks_of(enough, each);
  cut.share = chunks_of(dims[1], shares < dims[1] ? shares : dims[1]);
  cut.groups = each * chunks_of(dims[1], cut.share);
  return cut;
}

tsr_status tsri_sample_planes(const tsri_kernel_run *run) {
  const tsri_grid_attributes *given = TSRI_GIVEN(run->node, grid);
  const tsri_layout *x = &run->layouts[0], *grid = &run->layouts[1];
  grid_cut cut = cut_of_planes(run, given);
  if (cut.cells == 0) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_sample", "grid_planes",
                 TSRI_WITH(TSRI_GRID_ARGUMENTS, TSRI_CONSTANT("READS", cut.reads), TSRI_CONSTANT("CELLS", cut.cells),
                           TSRI_CONSTANT("POINTS", POINTS)));
  tsri_sample_pass(run, &call);
  tsri_call_word(&call, "images", x->shape.dims[0]);
  tsri_call_word(&call, "share", cut.share);
  tsri_call_words(&call, "i", 1, &x->shape.dims[2], 2);
  tsri_call_words(&call, "o", 1, &run->shape.dims[2], 2);
  tsri_call_words(&call, "g", 1, &grid->strides[1], 2);
  return tsri_call_many_groups(&call, cut.groups);
}
