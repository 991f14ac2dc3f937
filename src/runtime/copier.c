// SPDX-License-Identifier: MIT
// The copy kernels: 16 bytes per work item.
#include "runtime/copier.h"

#include "core/alloc.h"
#include "core/log.h"
#include "lang/lang.h"
#include "runtime/program.h"

// LEAST_BYTES: fewer are copied by the device itself. LEAST_ODD_BYTES: the same where offsets or the number of bytes are not whole words: on an H200, Vulkan
// copies so at 40 GB/s.
enum { UNIT_BYTES = 16, GROUP = 256, LEAST_BYTES = 1 << 20, LEAST_ODD_BYTES = 1 << 16 };
#define MOST_BYTES ((size_t)1 << 30)  // per launch: offsets of bytes are i32

// copy_words: both sides begin where they are bound. copy_bytes: y's bytes are those from `begin` up to `end` of its binding, and x's are `ahead` bytes
// further in its own; `ahead` wraps where they are less far. Words of which only a part is copied are changed by atomic operations, because another launch may
// write their other bytes at the same time.
static const char text[] =
    "kernel copy_words<WG = 256>(in u32 x[], out u32 y[], u32 n) {\n"
    "  u32 i = ((group.y * groups.x + group.x) * WG + local.x) * 4;\n"
    "  if (i < n) store4(y, i, load4(x, i));\n}\n"
    "kernel copy_bytes<WG = 256>(in u32 x[], inout u32 y[], u32 begin, u32 end, u32 ahead, u32 x_words) {\n"
    "  u32 at = ((group.y * groups.x + group.x) * WG + local.x) * 16, shift = ahead % 4 * 8;\n"
    "  if (at >= end) return;\n"
    "  u32 from = u32(i32(at + ahead) >> 2), last = x_words - 1, held[5], made[4];\n"
    "  unroll for (u32 k = 0; k < 5; k++) held[k] = x[from + k == U32_MAX ? 0 : min(from + k, last)];\n"
    "  unroll for (u32 k = 0; k < 4; k++) {\n"
    "    made[k] = shift == 0 ? held[k] : (held[k] >> shift) | (held[k + 1] << ((32 - shift) % 32));\n"
    "  }\n"
    "  if (at >= begin && at + 16 <= end) {\n"
    "    store4(y, at / 4, u32x4(made[0], made[1], made[2], made[3]));\n"
    "  } else {\n"
    "    unroll for (u32 k = 0; k < 4; k++) {\n"
    "      u32 word = at + k * 4, low = min(max(begin, word) - word, 4), high = min(max(end, word) - word, 4);\n"
    "      if (low < high) {\n"
    "        u32 mask = (high == 4 ? U32_MAX : (1u << (high * 8)) - 1) & ~((1u << (low * 8)) - 1);\n"
    "        atomic_and(y, word / 4, ~mask);\n"
    "        atomic_or(y, word / 4, made[k] & mask);\n"
    "      }\n    }\n  }\n}\n";

// built.program is NULL if the build failed; it is not tried again.
typedef struct copy_kernel {
  tsri_kernel *ir;
  tsri_built built;
} copy_kernel;

struct tsri_copier {
  copy_kernel words, bytes;
};

static tsr_status build(tsr_device *device, const tsri_module *module, const char *name, copy_kernel *kernel) {
  tsr_status status = tsri_lang_specialise(module, name, NULL, 0, NULL, NULL, &kernel->ir);
  return status == TSR_OK ? tsri_built_init(device, kernel->ir, false, &kernel->built) : status;
}

static void build_both(tsr_device *device, struct tsri_copier *copier) {
  tsri_module *module = NULL;
  tsr_status status = tsri_lang_parse("copy_words", text, sizeof text - 1, NULL, &module);
  if (status == TSR_OK) status = build(device, module, "copy_words", &copier->words);
  if (status == TSR_OK) status = build(device, module, "copy_bytes", &copier->bytes);
  if (status != TSR_OK) tsri_log(TSR_LOG_DEBUG, "%s: no kernels for copies", device->backend->name);
  tsri_module_release(module);
}

// The device's copier, built at the first call; NULL when host memory is out.
static struct tsri_copier *copier_of(tsr_device *device) {
  static tsri_mutex making = TSRI_MUTEX_INIT;
  struct tsri_copier *copier = atomic_load_explicit(&device->copier, memory_order_acquire);
  if (copier) return copier;
  tsri_mutex_lock(&making);
  copier = atomic_load_explicit(&device->copier, memory_order_acquire);
  if (!copier) {
    copier = tsri_calloc(1, sizeof *copier);
    if (copier) build_both(device, copier);
  }
  atomic_store_explicit(&device->copier, copier, memory_order_release);
  tsri_mutex_unlock(&making);
  return copier;
}

void tsri_copier_destroy(tsr_device *device) {
  struct tsri_copier *copier = atomic_load(&device->copier);
  if (!copier) return;
  copy_kernel *kernels[] = {&copier->words, &copier->bytes};
  for (int i = 0; i < 2; i++) {
    tsri_built_deinit(device, &kernels[i]->built);
    tsri_kernel_release(kernels[i]->ir);
  }
  tsri_free(copier);
}

// The alignment of the first byte of a binding.
static size_t alignment_of(const tsri_limits *limits) {
  return limits->binding_alignment > UNIT_BYTES ? limits->binding_alignment : limits->buffer_alignment;
}

static bool can_copy(const tsr_buffer *dst, size_t to, const tsr_buffer *src, size_t from, size_t bytes) {
  const tsri_limits *limits = &dst->device->limits;
  size_t least = (to | from | bytes) % 4 == 0 ? LEAST_BYTES : LEAST_ODD_BYTES, alignment = alignment_of(limits);
  if (!limits->copies_slowly || limits->max_group_size < GROUP || bytes < least) return false;
  if (dst->handle != src->handle) return true;
  if (limits->binds_whole_buffers) return false;
  return to + bytes <= from / alignment * alignment || from + bytes <= to / alignment * alignment;
}

// The words of one side of a copy. `*out_lead`: bytes of the binding before the first that is copied.
static tsri_argument bind_words(tsr_buffer *buffer, size_t offset, size_t bytes, size_t *out_lead) {
  size_t lead = (buffer->offset + offset) % alignment_of(&buffer->device->limits);
  *out_lead = lead < offset ? lead : offset;
  return (tsri_argument){buffer, offset - *out_lead, (*out_lead + bytes + 3) / 4};
}

static tsr_status launch(const struct tsri_copier *copier, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src,
                         size_t src_offset, size_t bytes) {
  size_t from = 0, to = 0;
  tsri_argument x = bind_words(src, src_offset, bytes, &from), y = bind_words(dst, dst_offset, bytes, &to);
  bool is_whole = from == 0 && to == 0 && bytes % UNIT_BYTES == 0;
  uint64_t groups = (to + bytes + UNIT_BYTES * GROUP - 1) / (UNIT_BYTES * GROUP);
  uint64_t most = dst->device->limits.max_groups[0], rows = (groups + most - 1) / most;
  uint32_t folded[3] = {(uint32_t)((groups + rows - 1) / rows), (uint32_t)rows, 1};
  uint32_t words = (uint32_t)(bytes / 4);
  uint32_t range[] = {(uint32_t)to, (uint32_t)(to + bytes), (uint32_t)(from - to), (uint32_t)x.element_count};
  return tsri_built_launch(dst->device, is_whole ? &copier->words.built : &copier->bytes.built, folded,
                           (const tsri_argument[]){x, y}, is_whole ? &words : range);
}

// Most bytes of a launch: a power of two, and at most half of what can be bound, since bindings may begin before the copied bytes.
static size_t most_bytes(const tsri_limits *limits) {
  size_t most = MOST_BYTES;
  while (limits->max_binding_bytes && most * 2 > limits->max_binding_bytes) most /= 2;
  return most;
}

tsr_status tsri_copier_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                            bool *out_done) {
  *out_done = false;
  if (!can_copy(dst, dst->offset + dst_offset, src, src->offset + src_offset, bytes)) return TSR_OK;
  const struct tsri_copier *copier = copier_of(dst->device);
  if (!copier || !copier->bytes.built.program) return TSR_OK;
  size_t most = most_bytes(&dst->device->limits);
  tsr_status status = TSR_OK;
  for (size_t at = 0; at < bytes && status == TSR_OK; at += most) {
    status = launch(copier, dst, dst_offset + at, src, src_offset + at, bytes - at < most ? bytes - at : most);
  }
  *out_done = true;
  return status;
}
