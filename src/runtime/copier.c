// SPDX-License-Identifier: MIT
// The copy kernel: 16 bytes per work item.
#include "runtime/copier.h"

#include "core/alloc.h"
#include "core/log.h"
#include "lang/lang.h"
#include "runtime/program.h"

enum { UNIT_BYTES = 16, GROUP = 256, LEAST_BYTES = 1 << 20 };
#define MOST_BYTES ((size_t)1 << 31)  // per launch: indices of words are u32

static const char text[] =
    "kernel copy_words<WG = 256>(in u32 x[], out u32 y[], u32 n) {\n"
    "  u32 i = ((group.y * groups.x + group.x) * WG + local.x) * 4;\n"
    "  if (i < n) store4(y, i, load4(x, i));\n}\n";

struct tsri_copier {
  tsri_kernel *ir;
  tsri_built built;  // built.program is NULL if the build failed; it is not tried again
};

static tsr_status build(tsr_device *device, struct tsri_copier *copier) {
  tsri_module *module = NULL;
  tsr_status status = tsri_lang_parse("copy_words", text, sizeof text - 1, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &copier->ir);
  tsri_module_release(module);
  return status == TSR_OK ? tsri_built_init(device, copier->ir, false, &copier->built) : status;
}

// The device's copier, built at the first call; NULL when host memory is out.
static struct tsri_copier *copier_of(tsr_device *device) {
  static tsri_mutex making = TSRI_MUTEX_INIT;
  struct tsri_copier *copier = atomic_load_explicit(&device->copier, memory_order_acquire);
  if (copier) return copier;
  tsri_mutex_lock(&making);
  copier = atomic_load_explicit(&device->copier, memory_order_acquire);
  if (!copier) copier = tsri_calloc(1, sizeof *copier);
  if (copier && !copier->ir && build(device, copier) != TSR_OK) {
    tsri_log(TSR_LOG_DEBUG, "%s: no kernel for copies", device->backend->name);
  }
  atomic_store_explicit(&device->copier, copier, memory_order_release);
  tsri_mutex_unlock(&making);
  return copier;
}

void tsri_copier_destroy(tsr_device *device) {
  struct tsri_copier *copier = atomic_load(&device->copier);
  if (!copier) return;
  tsri_built_deinit(device, &copier->built);
  tsri_kernel_release(copier->ir);
  tsri_free(copier);
}

static bool can_copy(const tsr_buffer *dst, size_t to, const tsr_buffer *src, size_t from, size_t bytes) {
  const tsri_limits *limits = &dst->device->limits;
  size_t alignment = limits->binding_alignment > UNIT_BYTES ? limits->binding_alignment : limits->buffer_alignment;
  if (!limits->copies_slowly || limits->max_group_size < GROUP || bytes < LEAST_BYTES) return false;
  if (to % alignment != 0 || from % alignment != 0 || bytes % UNIT_BYTES != 0) return false;
  if (dst->handle != src->handle) return true;
  return !limits->binds_whole_buffers && (to + bytes <= from || from + bytes <= to);
}

static tsr_status launch(const struct tsri_copier *copier, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src,
                         size_t src_offset, size_t bytes) {
  const tsr_device *device = dst->device;
  tsri_argument arguments[2] = {{src, src_offset, bytes / 4}, {dst, dst_offset, bytes / 4}};
  uint64_t groups = (bytes / UNIT_BYTES + GROUP - 1) / GROUP, most = device->limits.max_groups[0];
  uint64_t y = (groups + most - 1) / most;
  uint32_t folded[3] = {(uint32_t)((groups + y - 1) / y), (uint32_t)y, 1}, params = (uint32_t)(bytes / 4);
  return tsri_built_launch(dst->device, &copier->built, folded, arguments, &params);
}

tsr_status tsri_copier_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                            bool *out_done) {
  *out_done = false;
  if (!can_copy(dst, dst->offset + dst_offset, src, src->offset + src_offset, bytes)) return TSR_OK;
  const struct tsri_copier *copier = copier_of(dst->device);
  if (!copier || !copier->built.program) return TSR_OK;
  const tsri_limits *limits = &dst->device->limits;
  size_t most = limits->max_binding_bytes && limits->max_binding_bytes < MOST_BYTES ? LEAST_BYTES : MOST_BYTES;
  while (most * 2 <= limits->max_binding_bytes && most < MOST_BYTES) most *= 2;
  tsr_status status = TSR_OK;
  for (size_t at = 0; at < bytes && status == TSR_OK; at += most) {
    status = launch(copier, dst, dst_offset + at, src, src_offset + at, bytes - at < most ? bytes - at : most);
  }
  *out_done = true;
  return status;
}
