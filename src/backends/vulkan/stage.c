// SPDX-License-Identifier: MIT
// Staging memory: chunks that both host and device can access, through which copies go. Chunks stay mapped and are
// reused.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include "core/alloc.h"

enum {
  SMALL_CHUNK = 1 << 20,  // small copies share chunks of this size
  MOST_KEPT = 64 << 20,   // most bytes of idle chunks to keep
  MOST_USED = 256 << 20   // above this, a copy first waits for earlier ones, if that frees chunks
};

static bool is_free(const vulkan_device *device, const vulkan_chunk *chunk) {
  return chunk->pins == 0 && tsri_vulkan_is_past(device, &chunk->marks) && chunk != device->chunk;
}

static void destroy_chunk(vulkan_device *device, vulkan_chunk *chunk) {
  device->chunk_bytes -= chunk->bytes;
  tsri_vulkan_free(device, &(vulkan_buffer){.buffer = chunk->buffer, .memory = chunk->memory});
  tsri_free(chunk);
}

// Frees idle chunks beyond MOST_KEPT, or all chunks when the device closes.
void tsri_vulkan_stage_trim(vulkan_device *device, bool all) {
  if (all) device->chunk = NULL;
  for (vulkan_chunk **link = &device->chunks; *link;) {
    vulkan_chunk *chunk = *link;
    bool goes = all || (is_free(device, chunk) && device->chunk_bytes > MOST_KEPT);
    if (goes) {
      *link = chunk->next;
      destroy_chunk(device, chunk);
    } else {
      link = &chunk->next;
    }
  }
}

static vulkan_chunk *find_chunk(vulkan_device *device, size_t bytes) {
  vulkan_chunk *best = NULL;
  for (vulkan_chunk *chunk = device->chunks; chunk; chunk = chunk->next) {
    if (!is_free(device, chunk) || chunk->bytes < bytes || chunk->bytes / 8 > bytes + SMALL_CHUNK) continue;
    if (!best || chunk->bytes < best->bytes) best = chunk;
  }
  return best;
}

static tsr_status create_chunk(vulkan_device *device, size_t bytes, vulkan_chunk **out_chunk) {
  vulkan_buffer buffer;
  vulkan_chunk *chunk = tsri_calloc(1, sizeof *chunk);
  if (!chunk) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for a record");
  tsr_status status = tsri_vulkan_allocate(device, bytes, device->stage_type, true, &buffer);
  if (status != TSR_OK) {
    tsri_free(chunk);
    return status;
  }
  *chunk = (vulkan_chunk){.next = device->chunks,
                          .buffer = buffer.buffer,
                          .memory = buffer.memory,
                          .host = buffer.host,
                          .bytes = (size_t)buffer.bytes};
  device->chunks = chunk;
  device->chunk_bytes += chunk->bytes;
  *out_chunk = chunk;
  return TSR_OK;
}

// Submits the recorded commands and waits for the oldest chunk that only the device still uses. The lock is released
// during the wait.
static tsr_status wait_for_chunk(vulkan_device *device) {
  const vulkan_chunk *oldest = NULL;
  for (const vulkan_chunk *chunk = device->chunks; chunk; chunk = chunk->next) {
    bool is_used = chunk->pins == 0 && !tsri_vulkan_is_past(device, &chunk->marks);
    if (is_used && (!oldest || chunk->turn < oldest->turn)) oldest = chunk;
  }
  if (!oldest) return TSR_OK;
  vulkan_marks marks = oldest->marks;
  tsri_mutex_unlock(&device->lock);
  tsr_status status = tsri_vulkan_wait(device, &marks, device->timeout_ns);
  tsri_mutex_lock(&device->lock);
  return status;
}

tsr_status tsri_vulkan_stage(vulkan_device *device, size_t bytes, vulkan_chunk **out_chunk, size_t *out_offset) {
  vulkan_chunk *chunk = device->chunk;
  size_t rounded = (bytes + 15) & ~(size_t)15;
  if (chunk && chunk->pins == 0 && tsri_vulkan_is_past(device, &chunk->marks)) chunk->used = 0;
  if (chunk && chunk->bytes - chunk->used >= rounded) {
    *out_chunk = chunk;
    *out_offset = chunk->used;
    chunk->used += rounded;
    chunk->pins++;
    return TSR_OK;
  }
  tsri_vulkan_streams_retire(device);
  bool is_small = rounded <= SMALL_CHUNK / 4;
  chunk = find_chunk(device, is_small ? SMALL_CHUNK : rounded);
  if (!chunk && device->chunk_bytes > MOST_USED) {
    tsr_status status = wait_for_chunk(device);
    if (status != TSR_OK) return status;
    tsri_vulkan_stage_trim(device, false);
    chunk = find_chunk(device, is_small ? SMALL_CHUNK : rounded);
  }
  if (!chunk) {
    tsr_status status = create_chunk(device, is_small ? SMALL_CHUNK : rounded, &chunk);
    if (status != TSR_OK) return status;
  }
  chunk->used = rounded;
  chunk->pins++;
  if (is_small) device->chunk = chunk;
  *out_chunk = chunk;
  *out_offset = 0;
  return TSR_OK;
}

void tsri_vulkan_stage_used(vulkan_device *device, vulkan_chunk *chunk, const vulkan_marks *marks) {
  chunk->pins--;
  chunk->turn = ++device->chunk_turn;
  tsri_vulkan_marks_add(&chunk->marks, marks);
}

#endif
