// SPDX-License-Identifier: MIT
// Copies and fills. WebGPU itself copies only whole 32-bit words between two different buffers. Other copies use small
// kernels that work on words with bit masks; a copy within one buffer goes through a temporary buffer.
#include <string.h>

#include "backends/webgpu/webgpu.h"
#include "core/alloc.h"

// --- The kernels ----------------------------------------------------------------------------------------------------

enum {
  KERNEL_ITEMS = 256,
  KERNEL_WORDS = 8,
  KERNEL_BYTES = KERNEL_WORDS * 4,
  PIECE_BYTES = 64 << 20,
  WIDE_BYTES = 16,
  LARGE_BYTES = 1 << 20
};

// Parameters of the fill and copy kernels: first word, number of words, masks of the first and the last word; then for
// the fill two words that alternate, for the copy the source's word index and byte shift.
#define PARAMS(binding) "@group(0) @binding(" binding ") var<uniform> p: array<vec4<u32>, 2>;\n"
#define HEAD(name)                                                                            \
  "fn mask(k: u32) -> u32 {\n  return select(0xffffffffu, p[0].z, k == 0u) & "                \
  "select(0xffffffffu, p[0].w, k == p[0].y - 1u);\n}\n"                                       \
  "@compute @workgroup_size(256) fn " name                                                    \
  "(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {\n" \
  "  for (var k = id.x; k < p[0].y; k = k + n.x * 256u) {\n    let m = mask(k);\n    let i = p[0].x + k;\n"

static const char fill_text[] = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n" PARAMS("1")
    HEAD("fill") "    y[i] = (y[i] & ~m) | (select(p[1].x, p[1].y, (k & 1u) != 0u) & m);\n  }\n}\n";

// The source's word index is passed plus one, so that it is never negative.
static const char copy_text[] =
    "@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read> x: array<u32>;\n" PARAMS("2")
    "fn word(i: u32) -> u32 { return x[min(i, arrayLength(&x) - 1u)]; }\n"
    HEAD("copy") "    let s = p[1].y * 8u;\n    let low = word(p[1].x + k - 1u);\n    let high = word(p[1].x + k);\n"
    "    let v = select((low >> s) | (high << ((32u - s) & 31u)), low, s == 0u);\n"
    "    y[i] = (y[i] & ~m) | (v & m);\n  }\n}\n";

// Copies 16 bytes at a time, which is several times as fast as WebGPU's own copies (836 GB/s on an H200).
static const char wide_text[] =
    "@group(0) @binding(0) var<storage, read_write> y: array<vec4<u32>>;\n"
    "@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;\n" PARAMS("2")
    "@compute @workgroup_size(256) fn wide"
    "(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {\n"
    "  for (var k = id.x; k < p[0].y; k = k + n.x * 256u) { y[p[0].x + k] = x[p[1].x + k]; }\n}\n";

static tsr_status build(webgpu_device *device, const char *text, const char *entry, uint32_t storage_count,
                        uint32_t read_only, tsri_wgpu_program **program) {
  if (*program) return TSR_OK;
  tsr_status status = tsri_wgpu.program_create(device->handle, text, strlen(text), entry, storage_count,
                                               (uint32_t[]){read_only, 0}, KERNEL_BYTES, program);
  return status == TSR_OK ? TSR_OK : WEBGPU_FAIL(device, status, "building a kernel for copies");
}

// A range of bytes in 32-bit words. `head` and `tail` are the masks of the bytes to write in the first and the last
// word.
typedef struct word_range {
  size_t first, count;
  uint32_t head, tail;
} word_range;

static word_range words_of(size_t offset, size_t bytes) {
  size_t end = offset + bytes;
  return (word_range){.first = offset / 4,
                      .count = (end + 3) / 4 - offset / 4,
                      .head = UINT32_MAX << (offset % 4 * 8),
                      .tail = UINT32_MAX >> ((4 - end % 4) % 4 * 8)};
}

static tsr_status run_kernel(webgpu_device *device, tsri_wgpu_program *program, const tsri_wgpu_binding *bindings,
                             uint32_t binding_count, const word_range *range, uint32_t a, uint32_t b) {
  uint32_t *params = NULL;
  size_t at = 0;
  tsr_status status = tsri_webgpu_stream_begin(device, KERNEL_BYTES, &params, &at);
  if (status != TSR_OK) return status;
  uint32_t words[KERNEL_WORDS] = {(uint32_t)range->first, (uint32_t)range->count, range->head, range->tail, a, b};
  memcpy(params, words, sizeof words);
  size_t groups = (range->count + KERNEL_ITEMS - 1) / KERNEL_ITEMS, most = device->adapter.max_groups;
  status = tsri_wgpu.dispatch(device->handle, program, bindings, binding_count, device->uniform, at,
                              (uint32_t)(groups < most ? groups : most), 1, 1);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "a kernel for copies");
  return tsri_webgpu_stream_end(device);
}

// Fills the words of `range` with `even` and `odd` in turn.
static tsr_status fill_words(webgpu_device *device, const webgpu_buffer *dst, const word_range *range, uint32_t even,
                             uint32_t odd) {
  tsr_status status = build(device, fill_text, "fill", 1, 0, &device->fill_program);
  tsri_wgpu_binding binding = {dst->handle, 0, dst->bytes};
  return status == TSR_OK ? run_kernel(device, device->fill_program, &binding, 1, range, even, odd) : status;
}

static tsr_status copy_bytes(webgpu_device *device, const webgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                             size_t src_size, size_t src_offset, size_t bytes) {
  tsr_status status = build(device, copy_text, "copy", 2, 2, &device->copy_program);
  if (status != TSR_OK) return status;
  word_range range = words_of(dst_offset, bytes);
  size_t from = src_offset + 4 - dst_offset % 4;
  tsri_wgpu_binding bindings[] = {{dst->handle, 0, dst->bytes}, {src, 0, src_size}};
  return run_kernel(device, device->copy_program, bindings, 2, &range, (uint32_t)(from / 4), (uint32_t)(from % 4));
}

// Copies 16 bytes per step: offsets and size must be multiples of WIDE_BYTES, and the kernel's parameters count in
// that unit.
static tsr_status copy_wide(webgpu_device *device, const webgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                            size_t src_size, size_t src_offset, size_t bytes) {
  tsr_status status = build(device, wide_text, "wide", 2, 2, &device->wide_program);
  if (status != TSR_OK) return status;
  word_range range = {.first = dst_offset / WIDE_BYTES, .count = bytes / WIDE_BYTES};
  tsri_wgpu_binding bindings[] = {{dst->handle, 0, dst->bytes}, {src, 0, src_size}};
  return run_kernel(device, device->wide_program, bindings, 2, &range, (uint32_t)(src_offset / WIDE_BYTES), 0);
}

// --- From the host --------------------------------------------------------------------------------------------------

// Writes some bytes of a single word.
static tsr_status write_part(webgpu_device *device, const webgpu_buffer *dst, size_t offset, const void *src,
                             size_t bytes) {
  unsigned char word[4] = {0};
  uint32_t value = 0;
  memcpy(word + offset % 4, src, bytes);
  for (int i = 0; i < 4; i++) value |= (uint32_t)word[i] << (8 * i);
  word_range range = words_of(offset, bytes);
  return fill_words(device, dst, &range, value, value);
}

static tsr_status write_words(webgpu_device *device, const webgpu_buffer *dst, size_t offset, const char *src,
                              size_t bytes) {
  tsr_status status = tsri_webgpu_stream_submit(device);  // recorded commands must run before this write
  for (size_t done = 0; done < bytes && status == TSR_OK;) {
    size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
    status = tsri_wgpu.write(device->handle, dst->handle, offset + done, src + done, piece);
    if (status != TSR_OK) return WEBGPU_FAIL(device, status, "copying to the device");
    done += piece;
  }
  return status;
}

static tsr_status copy_in(webgpu_device *device, const webgpu_buffer *dst, size_t offset, const char *src,
                          size_t bytes) {
  size_t head = (4 - offset % 4) % 4, middle;
  if (head > bytes) head = bytes;
  middle = (bytes - head) / 4 * 4;
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status == TSR_OK && middle > 0) status = write_words(device, dst, offset + head, src + head, middle);
  if (status == TSR_OK && head > 0) status = write_part(device, dst, offset, src, head);
  size_t done = head + middle;
  if (status == TSR_OK && done < bytes) status = write_part(device, dst, offset + done, src + done, bytes - done);
  return status;
}

tsr_status tsri_webgpu_copy_in(tsri_queue *opaque, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  webgpu_device *device = webgpu_queue_of(opaque)->device;
  tsri_mutex_lock(&device->lock);
  tsr_status status = copy_in(device, webgpu_buffer_of(dst), dst_offset, src, bytes);
  tsri_mutex_unlock(&device->lock);
  return status;
}

// --- To the host ----------------------------------------------------------------------------------------------------

// Takes a spare readback buffer that is large enough, or creates a new one.
static tsr_status find_readback(webgpu_device *device, size_t bytes, webgpu_buffer *out) {
  for (int i = 0; i < WEBGPU_SPARE_READBACKS; i++) {
    webgpu_buffer *spare = &device->spare[i];
    if (!spare->handle || spare->bytes < bytes || spare->bytes / 4 > bytes + 65536) continue;
    *out = *spare;
    *spare = (webgpu_buffer){0};
    return TSR_OK;
  }
  for (int i = 0; i < WEBGPU_SPARE_READBACKS; i++) {  // none fits: the spare buffers have the wrong size for the
                                                      // current copies
    if (device->spare[i].handle) tsri_wgpu.buffer_destroy(device->handle, device->spare[i].handle);
    device->spare[i] = (webgpu_buffer){0};
  }
  return tsri_webgpu_allocate(device, TSRI_WGPU_READBACK, bytes, out);
}

// Copies all words that contain the range; queue_wait then takes only the wanted bytes from them.
static tsr_status start_readback(webgpu_queue *queue, void *to, const webgpu_buffer *src, size_t offset, size_t bytes) {
  webgpu_device *device = queue->device;
  webgpu_readback *r = tsri_calloc(1, sizeof *r);
  if (!r) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for a copy's record");
  size_t first = offset / 4 * 4, end = webgpu_round_up(offset + bytes, 4);
  tsr_status status = find_readback(device, end - first, &r->buffer);
  if (status == TSR_OK) status = tsri_webgpu_stream_begin(device, 0, NULL, NULL);
  if (status == TSR_OK) {
    status = tsri_wgpu.copy(device->handle, r->buffer.handle, 0, src->handle, first, end - first);
    if (status != TSR_OK) status = WEBGPU_FAIL(device, status, "copying from the device");
  }
  if (status == TSR_OK) status = tsri_webgpu_stream_end(device);
  if (status != TSR_OK) {
    if (r->buffer.handle) tsri_wgpu.buffer_destroy(device->handle, r->buffer.handle);
    tsri_free(r);
    return status;
  }
  r->offset = offset - first;
  r->bytes = bytes;
  r->to = to;
  *queue->last_readback = r;
  queue->last_readback = &r->next;
  return TSR_OK;
}

// Large copies are split into pieces, and each is waited for, so that the readback buffer on the device stays small.
tsr_status tsri_webgpu_copy_out(tsri_queue *opaque, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  webgpu_queue *queue = webgpu_queue_of(opaque);
  tsr_status status = TSR_OK;
  for (size_t done = 0; done < bytes && status == TSR_OK;) {
    size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
    tsri_mutex_lock(&queue->device->lock);
    status = start_readback(queue, (char *)dst + done, webgpu_buffer_of(src), src_offset + done, piece);
    tsri_mutex_unlock(&queue->device->lock);
    done += piece;
    if (status == TSR_OK && done < bytes) status = tsri_webgpu_queue_wait(opaque, queue->device->timeout_ns);
  }
  return status;
}

// --- Within the device ----------------------------------------------------------------------------------------------

static tsr_status copy_words(webgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                             size_t src_offset, size_t bytes) {
  tsr_status status = tsri_webgpu_stream_begin(device, 0, NULL, NULL);
  if (status != TSR_OK) return status;
  status = tsri_wgpu.copy(device->handle, dst, dst_offset, src, src_offset, bytes);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "copying within the device");
  return tsri_webgpu_stream_end(device);
}

static tsr_status copy_within(webgpu_device *device, const webgpu_buffer *dst, size_t dst_offset,
                              const webgpu_buffer *src, size_t src_offset, size_t bytes) {
  bool is_whole = (dst_offset | src_offset | bytes) % 4 == 0;
  tsri_wgpu_buffer *from = src->handle;
  size_t from_bytes = src->bytes;
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status == TSR_OK && dst->handle == src->handle) {  // WebGPU cannot copy within one buffer: copy to a temporary
                                                         // buffer first
    size_t first = src_offset / 4 * 4, end = webgpu_round_up(src_offset + bytes, 4);
    from_bytes = webgpu_round_up(end - first, WEBGPU_ROUND_BYTES);
    status = tsri_webgpu_temporary(device, from_bytes, &from);
    if (status == TSR_OK) status = copy_words(device, from, 0, src->handle, first, end - first);
    src_offset -= first;
  }
  if (status != TSR_OK) return status;
  bool is_wide = (dst_offset | src_offset | bytes) % WIDE_BYTES == 0 && bytes >= LARGE_BYTES;
  if (is_wide) return copy_wide(device, dst, dst_offset, from, from_bytes, src_offset, bytes);
  if (is_whole) return copy_words(device, dst->handle, dst_offset, from, src_offset, bytes);
  return copy_bytes(device, dst, dst_offset, from, from_bytes, src_offset, bytes);
}

tsr_status tsri_webgpu_copy(tsri_queue *opaque, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src,
                            size_t src_offset, size_t bytes) {
  webgpu_device *device = webgpu_queue_of(opaque)->device;
  tsri_mutex_lock(&device->lock);
  tsr_status status = copy_within(device, webgpu_buffer_of(dst), dst_offset, webgpu_buffer_of(src), src_offset, bytes);
  tsri_mutex_unlock(&device->lock);
  return status;
}

// --- Fills ----------------------------------------------------------------------------------------------------------

tsr_status tsri_webgpu_fill(tsri_queue *opaque, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                            size_t pattern_bytes) {
  webgpu_device *device = webgpu_queue_of(opaque)->device;
  uint32_t words[2] = {0, 0};
  size_t before = offset % 4;  // bytes of the first word before the filled range
  for (size_t i = 0; i < 8; i++) {
    size_t at = (i + pattern_bytes * 4 - before) % pattern_bytes;
    words[i / 4] |= (uint32_t)((const unsigned char *)pattern)[at] << (i % 4 * 8);
  }
  word_range range = words_of(offset, bytes);
  tsri_mutex_lock(&device->lock);
  tsr_status status = fill_words(device, webgpu_buffer_of(dst), &range, words[0], words[1]);
  tsri_mutex_unlock(&device->lock);
  return status;
}
