// SPDX-License-Identifier: MIT
// Copies and fills. Between the host and a buffer that is busy or private, copies go through staging buffers, which their command
// buffer keeps alive, unless the host's memory is pinned (host.c). Metal's own copies take multiples of four bytes, and its fills one byte's value: the rest is done by kernels.
#include <string.h>

#include "backends/metal/metal.h"
#include "core/alloc.h"

// --- Kernels ----------------------------------------------------------------------------------------------------------

enum { GROUP = 256, ITEM_BYTES = 16 };

#define IDS                                                                                  \
  "uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], \n" \
  "    uint3 local [[thread_position_in_threadgroup]]) {\n"

// `at` counts items, which may be more than fit a grid along one axis. A pattern has 8 bytes.
static const char text[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "struct tsr_range { ulong count; uint pattern[2]; };\n"
    "static inline ulong tsr_at(uint3 group, uint3 groups, uint3 local) {\n"
    "  return (ulong(group.y) * groups.x + group.x) * 256ul + local.x;\n}\n"
    "[[kernel, max_total_threads_per_threadgroup(256)]] void tsr_copy_bytes(\n"
    "    device const uchar *from [[buffer(0)]], device uchar *to [[buffer(1)]],\n"
    "    constant tsr_range &p [[buffer(2)]], " IDS
    "  const ulong first = tsr_at(group, groups, local) * 16ul;\n"
    "  for (ulong i = first; i < first + 16ul && i < p.count; i++) to[i] = from[i];\n}\n"
    "[[kernel, max_total_threads_per_threadgroup(256)]] void tsr_fill_bytes(\n"
    "    device uchar *to [[buffer(0)]], constant tsr_range &p [[buffer(1)]], " IDS
    "  const ulong first = tsr_at(group, groups, local) * 16ul;\n"
    "  for (ulong i = first; i < first + 16ul && i < p.count; i++)\n"
    "    to[i] = uchar(p.pattern[(i >> 2) & 1ul] >> (8u * uint(i & 3ul)));\n}\n"
    "[[kernel, max_total_threads_per_threadgroup(256)]] void tsr_fill_words(\n"
    "    device uint *to [[buffer(0)]], constant tsr_range &p [[buffer(1)]], " IDS
    "  const ulong first = tsr_at(group, groups, local) * 4ul;\n"
    "  for (ulong i = first; i < first + 4ul && i < p.count; i++) to[i] = p.pattern[i & 1ul];\n}\n";

typedef struct byte_range {
  uint64_t count;
  uint32_t pattern[2];
} byte_range;

tsr_status tsri_metal_build_copies(metal_device *device) {
  tsr_status status = tsri_metal_build(device, "tsr_copy_bytes", text, &device->copy_bytes);
  if (status == TSR_OK) status = tsri_metal_build(device, "tsr_fill_bytes", text, &device->fill_bytes);
  if (status == TSR_OK) status = tsri_metal_build(device, "tsr_fill_words", text, &device->fill_words);
  return status;
}

static void set_buffer(metal_id encoder, metal_id memory, size_t offset, metal_uint index) {
  METAL_SEND(void, encoder, set_buffer, (metal_id, metal_uint, metal_uint), memory, offset, index);
}

// Launches one of the kernels on `bytes` bytes. `from` NULL: a fill.
static tsr_status run_kernel(metal_queue *queue, metal_id pipeline, metal_id from, size_t from_offset, metal_id to,
                             size_t to_offset, size_t bytes, const byte_range *params) {
  enum { MOST_GROUPS = 1 << 15 };
  metal_id encoder = NULL;
  tsr_status status = tsri_metal_encode(queue, METAL_ENCODER_COMPUTE, &encoder);
  if (status != TSR_OK) return status;
  metal_uint index = 0;
  METAL_SEND(void, encoder, set_pipeline, (metal_id), pipeline);
  if (from) set_buffer(encoder, from, from_offset, index++);
  set_buffer(encoder, to, to_offset, index++);
  METAL_SEND(void, encoder, set_bytes, (const void *, metal_uint, metal_uint), params, sizeof *params, index);
  uint64_t groups = (bytes + GROUP * ITEM_BYTES - 1) / (GROUP * ITEM_BYTES);
  uint32_t rows = (uint32_t)((groups + MOST_GROUPS - 1) / MOST_GROUPS);
  uint32_t across = groups < MOST_GROUPS ? (uint32_t)groups : MOST_GROUPS;
  tsri_metal_dispatch(encoder, (const uint32_t[]){across, rows, 1}, (const uint32_t[]){GROUP, 1, 1});
  return tsri_metal_encoded(queue);
}

// --- Within the device ------------------------------------------------------------------------------------------------

static tsr_status copy_memory(metal_queue *queue, metal_id from, size_t from_offset, metal_id to, size_t to_offset,
                              size_t bytes) {
  if ((from_offset | to_offset | bytes) % 4 != 0) {
    byte_range params = {.count = bytes};
    return run_kernel(queue, queue->device->copy_bytes, from, from_offset, to, to_offset, bytes, &params);
  }
  metal_id encoder = NULL;
  tsr_status status = tsri_metal_encode(queue, METAL_ENCODER_BLIT, &encoder);
  if (status != TSR_OK) return status;
  METAL_SEND(void, encoder, blit_copy, (metal_id, metal_uint, metal_id, metal_uint, metal_uint), from, from_offset, to,
             to_offset, bytes);
  return tsri_metal_encoded(queue);
}

tsr_status tsri_metal_copy(tsri_queue *opaque, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                           size_t bytes) {
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = copy_memory(metal_queue_of(opaque), metal_buffer_of(src)->memory, src_offset,
                                  metal_buffer_of(dst)->memory, dst_offset, bytes);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

tsr_status tsri_metal_fill(tsri_queue *opaque, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                           size_t pattern_bytes) {
  metal_queue *queue = metal_queue_of(opaque);
  unsigned char whole[8];
  byte_range params;
  bool is_words = (offset | bytes) % 4 == 0;
  for (size_t i = 0; i < sizeof whole; i++) whole[i] = ((const unsigned char *)pattern)[i % pattern_bytes];
  params.count = is_words ? bytes / 4 : bytes;
  memcpy(params.pattern, whole, sizeof whole);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  metal_id pipeline = is_words ? queue->device->fill_words : queue->device->fill_bytes;
  tsr_status status = run_kernel(queue, pipeline, NULL, 0, metal_buffer_of(dst)->memory, offset, bytes, &params);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

// --- From and to the host -----------------------------------------------------------------------------------------------

static tsr_status stage_in(metal_queue *queue, const metal_buffer *to, size_t offset, const void *src, size_t bytes) {
  metal_id staging = METAL_SEND(metal_id, queue->device->gpu.device, new_buffer_copy,
                                (const void *, metal_uint, metal_uint), src, bytes, 0);
  if (!staging) return tsri_metal_no_memory(queue->device, bytes);
  tsr_status status = copy_memory(queue, staging, 0, to->memory, offset, bytes);
  tsri_mtl.objc_release(staging);
  if (status == TSR_OK && bytes == METAL_STAGED_BYTES) status = tsri_metal_commit(queue);
  return status;
}

tsr_status tsri_metal_copy_in(tsri_queue *opaque, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  metal_queue *queue = metal_queue_of(opaque);
  const metal_buffer *to = metal_buffer_of(dst);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = tsri_metal_check_lost(queue->device);
  bool is_direct = status == TSR_OK && to->host && tsri_metal_is_idle(queue);
  size_t offset = 0;
  metal_id pinned = is_direct ? NULL : tsri_metal_host_find(queue->device, src, bytes, &offset);
  if (is_direct) memcpy(to->host + dst_offset, src, bytes);
  else if (status == TSR_OK && pinned) status = copy_memory(queue, pinned, offset, to->memory, dst_offset, bytes);
  for (size_t done = 0, part; !is_direct && !pinned && status == TSR_OK && done < bytes; done += part) {
    part = bytes - done < METAL_STAGED_BYTES ? bytes - done : METAL_STAGED_BYTES;
    status = stage_in(queue, to, dst_offset + done, (const char *)src + done, part);
  }
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

static tsr_status stage_out(metal_queue *queue, void *dst, const metal_buffer *from, size_t offset, size_t bytes) {
  metal_readback *readback = tsri_malloc(sizeof *readback);
  if (!readback) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "metal: no host memory for a copy's record");
  metal_id staging = METAL_SEND(metal_id, queue->device->gpu.device, new_buffer, (metal_uint, metal_uint), bytes, 0);
  tsr_status status = staging ? copy_memory(queue, from->memory, offset, staging, 0, bytes)
                              : tsri_metal_no_memory(queue->device, bytes);
  if (status != TSR_OK) {
    metal_release(staging);
    tsri_free(readback);
    return status;
  }
  *readback = (metal_readback){.staging = staging, .bytes = bytes, .to = dst};
  *queue->last_readback = readback;
  queue->last_readback = &readback->next;
  return TSR_OK;
}

// Staging a large copy as a whole would take as much memory again, so this function waits after every eighth part.
static tsr_status stage_all_out(metal_queue *queue, char *dst, const metal_buffer *from, size_t offset, size_t bytes) {
  tsr_status status = TSR_OK;
  for (size_t done = 0, part; status == TSR_OK && done < bytes; done += part) {
    part = bytes - done < METAL_STAGED_BYTES ? bytes - done : METAL_STAGED_BYTES;
    status = stage_out(queue, dst + done, from, offset + done, part);
    if (status != TSR_OK || done / METAL_STAGED_BYTES % 8 != 7) continue;
    status = tsri_metal_wait(queue, queue->device->timeout_ns);
    if (status == TSR_OK) tsri_metal_finish_readbacks(queue, true);
  }
  return status;
}

tsr_status tsri_metal_copy_out(tsri_queue *opaque, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  metal_queue *queue = metal_queue_of(opaque);
  const metal_buffer *from = metal_buffer_of(src);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = tsri_metal_check_lost(queue->device);
  bool is_direct = status == TSR_OK && from->host && tsri_metal_is_idle(queue);
  size_t offset = 0;
  metal_id pinned = is_direct ? NULL : tsri_metal_host_find(queue->device, dst, bytes, &offset);
  if (is_direct) {
    memcpy(dst, from->host + src_offset, bytes);
  } else if (status == TSR_OK && pinned) {
    status = copy_memory(queue, from->memory, src_offset, pinned, offset, bytes);
  } else if (status == TSR_OK) {
    status = stage_all_out(queue, dst, from, src_offset, bytes);
  }
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}
