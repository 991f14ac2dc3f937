// SPDX-License-Identifier: MIT
// The open autocast ranges of each thread, as a stack.
#include "ops/autocast.h"

#include "core/error.h"
#include "platform/platform.h"

#include <tessera/ops.h>

enum { MOST_RANGES = 16 };

typedef struct cast_ranges {
  int count;
  bool is_on;  // whether products are computed in `now`
  tsr_dtype now;
  tsr_dtype before[MOST_RANGES];  // `now` of the enclosing ranges
} cast_ranges;

static TSRI_THREAD_LOCAL cast_ranges ranges;

static void switch_to(tsr_dtype dtype) {
  ranges.now = dtype;
  ranges.is_on = dtype != TSR_F32;
}

tsr_dtype tsri_autocast(const tsri_op *op, tsr_dtype dtype) {
  if (!ranges.is_on) return dtype;
  if (op->autocast == TSRI_AUTOCAST_NARROW && dtype == TSR_F32) return ranges.now;
  if (op->autocast == TSRI_AUTOCAST_WIDE && (dtype == TSR_F16 || dtype == TSR_BF16)) return TSR_F32;
  return dtype;
}

bool tsri_autocast_is_on(void) { return ranges.is_on; }

tsr_dtype tsri_autocast_pause(void) {
  tsr_dtype before = ranges.is_on ? ranges.now : TSR_F32;
  switch_to(TSR_F32);
  return before;
}

void tsri_autocast_resume(tsr_dtype before) { switch_to(before); }

tsr_tensor *tsri_matmul_exact(tsr_tensor *a, tsr_tensor *b) {
  tsr_dtype before = tsri_autocast_pause();
  tsr_tensor *result = tsr_matmul(a, b);
  tsri_autocast_resume(before);
  return result;
}

tsr_tensor *tsri_gemm_exact(double alpha, tsr_tensor *a, tsr_tensor *b, double beta, tsr_tensor *c) {
  tsr_dtype before = tsri_autocast_pause();
  tsr_tensor *result = tsr_gemm(alpha, a, b, beta, c);
  tsri_autocast_resume(before);
  return result;
}

tsr_status tsr_autocast_begin(tsr_dtype dtype) {
  if (dtype != TSR_F16 && dtype != TSR_BF16 && dtype != TSR_F32) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "autocast_begin: %s; f16 and bf16 are possible, and f32 for none",
                     tsr_dtype_name(dtype));
  }
  if (ranges.count == MOST_RANGES) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "autocast_begin: %d ranges are open on this thread; end one first",
                     ranges.count);
  }
  ranges.before[ranges.count++] = ranges.is_on ? ranges.now : TSR_F32;
  switch_to(dtype);
  return TSR_OK;
}

tsr_status tsr_autocast_end(void) {
  if (ranges.count == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "autocast_end: no range is open on this thread");
  }
  switch_to(ranges.before[--ranges.count]);
  return TSR_OK;
}
