// SPDX-License-Identifier: MIT
// Shared buffers, and the list of devices that have some.
#include "runtime/sharing.h"

static tsri_mutex lock = TSRI_MUTEX_INIT;
static tsr_device *first_device;  // linked by next_sharing; their shared_count is above 0

static void link_device(tsr_device *device) {
  device->next_sharing = first_device;
  first_device = device;
}

static void unlink_device(const tsr_device *device) {
  tsr_device **at = &first_device;
  while (*at != device) at = &(*at)->next_sharing;
  *at = device->next_sharing;
}

void tsri_sharing_add(tsr_buffer *buffer, void *address) {
  if (buffer->whole) tsri_sharing_add(buffer->whole, (char *)address - (buffer->offset - buffer->whole->offset));
  tsri_mutex_lock(&lock);
  if (!tsri_buffer_is_shared(buffer)) {
    if (buffer->device->shared_count++ == 0) link_device(buffer->device);
    atomic_store_explicit(&buffer->address, address, memory_order_release);
  }
  tsri_mutex_unlock(&lock);
}

void tsri_sharing_remove(tsr_buffer *buffer) {
  if (!tsri_buffer_is_shared(buffer)) return;
  tsri_mutex_lock(&lock);
  if (--buffer->device->shared_count == 0) unlink_device(buffer->device);
  tsri_mutex_unlock(&lock);
}

static const tsr_buffer *whole_of(const tsr_buffer *buffer) { return buffer->whole ? buffer->whole : buffer; }

bool tsri_ranges_overlap(const tsr_buffer *a, size_t a_offset, size_t a_bytes, const tsr_buffer *b, size_t b_offset,
                         size_t b_bytes) {
  if (a_bytes == 0 || b_bytes == 0) return false;
  uintptr_t a_at = a_offset, b_at = b_offset;
  if (a != b && whole_of(a) == whole_of(b)) {
    a_at += a->offset;
    b_at += b->offset;
  } else if (a != b) {
    if (!tsri_buffer_is_shared(a) || !tsri_buffer_is_shared(b)) return false;
    a_at += (uintptr_t)atomic_load(&((tsr_buffer *)(uintptr_t)a)->address);
    b_at += (uintptr_t)atomic_load(&((tsr_buffer *)(uintptr_t)b)->address);
  }
  return a_at < b_at + b_bytes && b_at < a_at + a_bytes;
}

bool tsri_buffers_overlap(const tsr_buffer *a, const tsr_buffer *b) {
  return a == b || tsri_ranges_overlap(a, 0, a->bytes, b, 0, b->bytes);
}

int tsri_sharing_devices(const tsr_device *device, tsr_device **out_devices, int room) {
  int count = 0;
  tsri_mutex_lock(&lock);
  for (tsr_device *other = first_device; other; other = other->next_sharing) {
    if (other == device) continue;
    if (count < room) out_devices[count] = tsr_device_retain(other);
    count++;
  }
  tsri_mutex_unlock(&lock);
  return count;
}
