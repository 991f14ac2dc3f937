// SPDX-License-Identifier: MIT
// Copies and fills. Copies from and to the host go through staging chunks; directly if the host's memory is pinned, or if the buffer is mapped and
// the stream is idle.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <string.h>

#include "core/alloc.h"

enum {
  PIECE = 16 << 20,       // largest part of a copy that goes through a chunk at once
  SENT_AT_ONCE = 1 << 20  // larger parts are submitted at once: the device copies while the host prepares the
                          // next
};

// Records one copy command. Call with the device's lock held.
static tsr_status record_copy(vulkan_queue *queue, vulkan_stream *stream, VkBuffer from, size_t from_offset,
                              VkBuffer to, size_t to_offset, size_t bytes) {
  vulkan_batch *batch = NULL;
  tsr_status status = tsri_vulkan_stream_begin(stream, queue, 0, &batch);
  if (status != TSR_OK) return status;
  vulkan_access accesses[2] = {{from, from_offset, from_offset + bytes, false},
                               {to, to_offset, to_offset + bytes, true}};
  tsri_vulkan_stream_touch(stream, accesses, 2);
  VkBufferCopy region = {from_offset, to_offset, bytes};
  queue->device->vk.CmdCopyBuffer(batch->commands, from, to, 1, &region);
  return tsri_vulkan_stream_end(stream);
}

// As record_copy, from or to memory that the host sees.
static tsr_status record_transfer(vulkan_queue *queue, vulkan_stream *stream, VkBuffer from, size_t from_offset,
                                  VkBuffer to, size_t to_offset, size_t bytes) {
  tsr_status status = record_copy(queue, stream, from, from_offset, to, to_offset, bytes);
  if (status == TSR_OK && bytes >= SENT_AT_ONCE) status = tsri_vulkan_stream_submit(stream);
  if (status == TSR_OK && stream != queue->kernels) status = tsri_vulkan_streams_feed(queue->device);
  return status;
}

// --- From and to the host -------------------------------------------------------------------------------------------

static tsr_status stage_in(vulkan_queue *queue, vulkan_stream *stream, const vulkan_buffer *dst, size_t dst_offset,
                           const void *src, size_t bytes) {
  vulkan_chunk *chunk = NULL;
  size_t offset = 0;
  tsr_status status = tsri_vulkan_stage(queue->device, bytes, &chunk, &offset);
  if (status != TSR_OK) return status;
  memcpy(chunk->host + offset, src, bytes);
  status = record_transfer(queue, stream, chunk->buffer, offset, dst->buffer, dst_offset, bytes);
  tsri_vulkan_stage_used(queue->device, chunk, &queue->marks);
  return status;
}

tsr_status tsri_vulkan_copy_in(tsri_queue *opaque, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  vulkan_device *device = queue->device;
  const vulkan_buffer *to = vulkan_buffer_of(dst);
  tsr_status status = tsri_vulkan_check_lost(device);
  tsri_mutex_lock(&device->lock);
  size_t offset = 0;
  VkBuffer pinned = tsri_vulkan_host_find(device, src, bytes, &offset);
  vulkan_stream *stream = tsri_vulkan_stream_for_copy(queue, true, bytes);
  bool is_direct = status == TSR_OK && to->host && tsri_vulkan_streams_are_idle(device);
  if (is_direct) memcpy(to->host + dst_offset, src, bytes);
  else if (status == TSR_OK && pinned)
    status = record_transfer(queue, stream, pinned, offset, to->buffer, dst_offset, bytes);
  for (size_t done = 0, part; !is_direct && !pinned && status == TSR_OK && done < bytes; done += part) {
    part = bytes - done < PIECE ? bytes - done : PIECE;
    status = stage_in(queue, stream, to, dst_offset + done, (const char *)src + done, part);
  }
  tsri_mutex_unlock(&device->lock);
  return status;
}

static tsr_status stage_out(vulkan_queue *queue, vulkan_stream *stream, void *dst, const vulkan_buffer *src,
                            size_t src_offset, size_t bytes) {
  vulkan_chunk *chunk = NULL;
  size_t offset = 0;
  vulkan_readback *readback = tsri_malloc(sizeof *readback);
  if (!readback) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for a copy's record");
  tsr_status status = tsri_vulkan_stage(queue->device, bytes, &chunk, &offset);
  if (status == TSR_OK) {
    status = record_transfer(queue, stream, src->buffer, src_offset, chunk->buffer, offset, bytes);
    if (status == TSR_OK) chunk->pins++;  // stays pinned until the readback is done
    tsri_vulkan_stage_used(queue->device, chunk, &queue->marks);
  }
  if (status != TSR_OK) {
    tsri_free(readback);
    return status;
  }
  *readback = (vulkan_readback){.chunk = chunk, .offset = offset, .bytes = bytes, .to = dst};
  *queue->last_readback = readback;
  queue->last_readback = &readback->next;
  return TSR_OK;
}

// A copy larger than the staging memory would wait for chunks that only this queue's own wait frees. copy_out
// therefore waits and finishes the readbacks itself now and then.
static tsr_status drain(vulkan_queue *queue) {
  tsr_status status = tsri_vulkan_wait(queue->device, &queue->marks, queue->device->timeout_ns);
  if (status == TSR_OK) tsri_vulkan_finish_readbacks(queue, true);
  return status;
}

tsr_status tsri_vulkan_copy_out(tsri_queue *opaque, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  vulkan_device *device = queue->device;
  const vulkan_buffer *from = vulkan_buffer_of(src);
  tsr_status status = tsri_vulkan_check_lost(device);
  tsri_mutex_lock(&device->lock);
  size_t offset = 0;
  VkBuffer pinned = tsri_vulkan_host_find(device, dst, bytes, &offset);
  vulkan_stream *stream = tsri_vulkan_stream_for_copy(queue, false, bytes);
  bool is_direct = status == TSR_OK && from->host && tsri_vulkan_streams_are_idle(device);
  if (status == TSR_OK && pinned && !is_direct)
    status = record_transfer(queue, stream, from->buffer, src_offset, pinned, offset, bytes);
  tsri_mutex_unlock(&device->lock);
  if (is_direct) memcpy(dst, from->host + src_offset, bytes);
  if (is_direct || pinned) return status;
  for (size_t done = 0, part; status == TSR_OK && done < bytes; done += part) {
    part = bytes - done < PIECE ? bytes - done : PIECE;
    tsri_mutex_lock(&device->lock);
    status = stage_out(queue, stream, (char *)dst + done, from, src_offset + done, part);
    tsri_mutex_unlock(&device->lock);
    bool is_much = (done / PIECE) % 8 == 7;
    if (status == TSR_OK && is_much) status = drain(queue);
  }
  return status;
}

// --- Within the device ----------------------------------------------------------------------------------------------

tsr_status tsri_vulkan_copy(tsri_queue *opaque, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src,
                            size_t src_offset, size_t bytes) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  const vulkan_buffer *to = vulkan_buffer_of(dst), *from = vulkan_buffer_of(src);
  tsri_mutex_lock(&queue->device->lock);
  tsr_status status = record_copy(queue, queue->kernels, from->buffer, src_offset, to->buffer, dst_offset, bytes);
  tsri_mutex_unlock(&queue->device->lock);
  return status;
}

// --- Fills ----------------------------------------------------------------------------------------------------------

// vkCmdFillBuffer fills whole 32-bit words at multiples of four bytes.
static tsr_status fill_words(vulkan_queue *queue, const vulkan_buffer *dst, size_t offset, size_t bytes,
                             uint32_t word) {
  vulkan_stream *stream = queue->kernels;
  vulkan_batch *batch = NULL;
  tsr_status status = tsri_vulkan_stream_begin(stream, queue, 0, &batch);
  if (status != TSR_OK) return status;
  vulkan_access access = {dst->buffer, offset, offset + bytes, true};
  tsri_vulkan_stream_touch(stream, &access, 1);
  queue->device->vk.CmdFillBuffer(batch->commands, dst->buffer, offset, bytes, word);
  return tsri_vulkan_stream_end(stream);
}

// Fills with any pattern at any offset: writes a stretch of the pattern into a chunk and copies it as often as needed.
// `phase` is the position in the pattern at which the range begins.
static tsr_status fill_by_copies(vulkan_queue *queue, const vulkan_buffer *dst, size_t offset, size_t bytes,
                                 const unsigned char *pattern, size_t pattern_bytes, size_t phase) {
  enum { STRETCH = 1 << 18 };  // a multiple of every pattern size
  vulkan_chunk *chunk = NULL;
  size_t at = 0, stretch = bytes < STRETCH ? bytes : STRETCH;
  tsr_status status = tsri_vulkan_stage(queue->device, stretch, &chunk, &at);
  if (status != TSR_OK) return status;
  for (size_t i = 0; i < stretch; i++) chunk->host[at + i] = (char)pattern[(phase + i) % pattern_bytes];
  for (size_t done = 0, part; status == TSR_OK && done < bytes; done += part) {
    part = bytes - done < stretch ? bytes - done : stretch;
    status = record_copy(queue, queue->kernels, chunk->buffer, at, dst->buffer, offset + done, part);
  }
  tsri_vulkan_stage_used(queue->device, chunk, &queue->marks);
  return status;
}

// A pattern that repeats every four bytes is filled word by word; the bytes before the first and after the last whole
// word are copied. Other patterns are copied entirely.
static tsr_status fill_range(vulkan_queue *queue, const vulkan_buffer *dst, size_t offset, size_t bytes,
                             const unsigned char *pattern, size_t pattern_bytes) {
  bool is_wide = pattern_bytes == 8 && memcmp(pattern, pattern + 4, 4) != 0;
  size_t head = (4 - offset % 4) % 4, whole = head < bytes ? (bytes - head) / 4 * 4 : 0;
  if (is_wide || whole == 0) return fill_by_copies(queue, dst, offset, bytes, pattern, pattern_bytes, 0);
  unsigned char word_bytes[4];
  uint32_t word;
  for (size_t i = 0; i < 4; i++) word_bytes[i] = pattern[(head + i) % pattern_bytes];
  memcpy(&word, word_bytes, sizeof word);
  size_t tail = bytes - head - whole;
  tsr_status status = fill_words(queue, dst, offset + head, whole, word);
  if (status == TSR_OK && head) status = fill_by_copies(queue, dst, offset, head, pattern, pattern_bytes, 0);
  if (status == TSR_OK && tail) {
    status =
        fill_by_copies(queue, dst, offset + head + whole, tail, pattern, pattern_bytes, (head + whole) % pattern_bytes);
  }
  return status;
}

tsr_status tsri_vulkan_fill(tsri_queue *opaque, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                            size_t pattern_bytes) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  tsri_mutex_lock(&queue->device->lock);
  tsr_status status = fill_range(queue, vulkan_buffer_of(dst), offset, bytes, pattern, pattern_bytes);
  tsri_mutex_unlock(&queue->device->lock);
  return status;
}

#endif
