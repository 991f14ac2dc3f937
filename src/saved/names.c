// SPDX-License-Identifier: MIT
// Finds operators by name, and says which body of its row an operator is.
#include "saved/names.h"

#include <string.h>

#include "ops/attention_native.h"
#include "ops/attention_tiles.h"
#include "ops/call.h"
#include "ops/channel_sums.h"
#include "ops/conv_weight.h"
#include "ops/fft_fused.h"
#include "ops/first.h"
#include "ops/label_entropy.h"
#include "ops/label_loss.h"
#include "ops/matrix.h"
#include "ops/mode_rows.h"
#include "ops/norm_gradient.h"
#include "ops/norm_one_pass.h"
#include "ops/operators.h"
#include "ops/pool.h"
#include "ops/random.h"
#include "ops/recurrent.h"
#include "ops/resize.h"
#include "ops/roi.h"

// Parts of operators that have no row of their own, and their names in files.
static const struct {
  const char *name;
  const tsri_op *op;
} parts[] = {
    {"resize table", &tsri_op_resize_table},
    {"resize plane", &tsri_op_resize_plane},
    {"recurrent steps", &tsri_op_recurrent_steps},
    {"fft odd", &tsri_op_fft_odd},
    {"random below", &tsri_op_random_below},
    {"qr whole", &tsri_op_qr_whole},
    {"norm gradient", &tsri_op_norm_gradient},
    {"norm gradient in parts", &tsri_op_norm_one_pass},
    {"channel statistics", &tsri_op_channel_statistics},
    {"channel slopes", &tsri_op_channel_slopes},
    {"conv weight gradient", &tsri_op_conv_weight},
    {"max_pool gradient", &tsri_op_max_pool_gradient[0]},
    {"max_pool gradient hooked", &tsri_op_max_pool_gradient[1]},
    {"attention gradient", &tsri_op_native_attention_gradient},
    {"attention gradient in tiles", &tsri_op_attention_gradient},
    {"roi_align weights", &tsri_op_roi_weights},
    {"roi_align places", &tsri_op_roi_places},
    {"label entropy", &tsri_op_label_entropy},
    {"label entropy gradient", &tsri_op_label_gradient},
    {"mode of rows", &tsri_op_mode_rows},
    {"first elements", &tsri_op_first},
    {"label loss", &tsri_op_label_loss},
};

const char *tsri_saved_name_of(const tsri_op *op) {
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (parts[i].op == op) return parts[i].name;
  }
  return op->name;
}

static const tsri_op zeros_op = {.name = "zeros", .kind = TSRI_OP_KERNEL, .run = tsri_call_zero};

static bool is_named(const char *known, const char *name, size_t bytes) {
  return strlen(known) == bytes && memcmp(known, name, bytes) == 0;
}

static bool has_body(const tsri_op *op) { return op->expression || op->kind != TSRI_OP_ELEMENTWISE; }

const tsri_op *tsri_saved_find_op(const char *name, size_t name_bytes, uint32_t body) {
  if (is_named(tsri_op_copy.name, name, name_bytes)) return body == 0 ? &tsri_op_copy : NULL;
  if (is_named(zeros_op.name, name, name_bytes)) return body == 0 ? &zeros_op : NULL;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (is_named(parts[i].name, name, name_bytes)) return body == 0 ? parts[i].op : NULL;
  }
  for (int i = 0; i < TSRI_OPERATOR_COUNT && body < TSRI_BODY_COUNT; i++) {
    const tsri_op *op = &tsri_operators[i].bodies[body];
    if (is_named(tsri_operators[i].name, name, name_bytes)) return has_body(op) ? op : NULL;
  }
  return NULL;
}

int tsri_saved_body_of(const tsri_op *op) {
  const char *name = tsri_saved_name_of(op);
  for (int body = 0; body < TSRI_BODY_COUNT; body++) {
    const tsri_op *found = tsri_saved_find_op(name, strlen(name), (uint32_t)body);
    bool is_zeros = found == &zeros_op && op->kind == TSRI_OP_KERNEL && op->run == zeros_op.run;
    if (found && (found == op || is_zeros)) return body;
  }
  return -1;
}
