// SPDX-License-Identifier: MIT
// Bind groups are kept for later dispatches with the same bindings: creating one takes Dawn longer than recording the dispatch.
//
// Each group has one entry in a table, by a hash of its bindings. It stays there until another group needs the entry, or one of its buffers or its program is
// destroyed.
#include <string.h>

#include "backends/webgpu/native.h"
#include "core/alloc.h"

// The bindings of a group, which are its key.
typedef struct wgpu_bound {
  tsri_wgpu_program *program;
  tsri_wgpu_buffer *uniform;
  uint32_t count;
  const tsri_wgpu_binding *storage;
} wgpu_bound;

struct wgpu_group {
  wgpu_object handle;
  wgpu_bound bound;
  tsri_wgpu_binding storage[];  // bound.storage
};

static uint32_t place_of(const wgpu_bound *bound) {
  enum { PLACE_BITS = 11 };
  _Static_assert(1 << PLACE_BITS == WGPU_KEPT_GROUPS, "one place for each value of the hash");
  const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
  uint64_t hash = ((uint64_t)(uintptr_t)bound->program ^ bound->count) * factor;
  for (uint32_t i = 0; i < bound->count; i++) {
    const tsri_wgpu_binding *binding = &bound->storage[i];
    hash = (hash ^ (uint64_t)(uintptr_t)binding->buffer) * factor;
    hash = (hash ^ hash >> 32 ^ (uint64_t)binding->offset ^ (uint64_t)binding->bytes << 32) * factor;
  }
  return (uint32_t)(hash >> (64 - PLACE_BITS));
}

static bool is_same(const wgpu_bound *a, const wgpu_bound *b) {
  if (a->program != b->program || a->uniform != b->uniform || a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    const tsri_wgpu_binding *x = &a->storage[i], *y = &b->storage[i];
    if (x->buffer != y->buffer || x->offset != y->offset || x->bytes != y->bytes) return false;
  }
  return true;
}

static wgpu_object make(const tsri_wgpu_device *device, const wgpu_bound *bound) {
  wgpu_group_entry entries[TSRI_WGPU_MAX_BINDINGS + 1] = {0};
  uint32_t count = bound->count;
  for (uint32_t i = 0; i < count; i++) {
    const tsri_wgpu_binding *binding = &bound->storage[i];
    entries[i] = (wgpu_group_entry){
        .binding = i, .buffer = binding->buffer->handle, .offset = binding->offset, .bytes = binding->bytes};
  }
  entries[count] =
      (wgpu_group_entry){.binding = count, .buffer = bound->uniform->handle, .bytes = bound->program->uniform_bytes};
  wgpu_group_descriptor descriptor = {.layout = bound->program->layout, .count = count + 1, .entries = entries};
  return tsri_wgpu_lib.DeviceCreateBindGroup(device->handle, &descriptor);
}

// Adds `change` (1 or -1) to the use count of everything that the group binds; `place`: the group's entry in the table.
static void count_uses(const wgpu_bound *bound, uint32_t place, int change) {
  wgpu_uses *all[TSRI_WGPU_MAX_BINDINGS + 2] = {&bound->program->uses, &bound->uniform->uses};
  for (uint32_t i = 0; i < bound->count; i++) all[i + 2] = &bound->storage[i].buffer->uses;
  for (uint32_t i = 0; i < bound->count + 2; i++) {
    all[i]->count += (uint32_t)change;
    all[i]->place = place;
  }
}

static void drop(tsri_wgpu_device *device, uint32_t place) {
  struct wgpu_group *group = device->groups[place];
  if (!group) return;
  count_uses(&group->bound, place, -1);
  tsri_wgpu_lib.BindGroupRelease(group->handle);
  tsri_free(group);
  device->groups[place] = NULL;
}

wgpu_object tsri_wgpu_group_of(tsri_wgpu_device *device, tsri_wgpu_program *program, const tsri_wgpu_binding *storage,
                               uint32_t count, tsri_wgpu_buffer *uniform) {
  wgpu_bound bound = {program, uniform, count, storage};
  uint32_t place = place_of(&bound);
  struct wgpu_group *group = device->groups[place];
  if (group && is_same(&group->bound, &bound)) return group->handle;
  drop(device, place);
  group = tsri_malloc(sizeof *group + count * sizeof *storage);
  wgpu_object handle = group ? make(device, &bound) : NULL;
  if (!handle) {
    tsri_free(group);
    return NULL;
  }
  group->handle = handle;
  group->bound = bound;
  group->bound.storage = group->storage;
  if (count > 0) memcpy(group->storage, storage, count * sizeof *storage);
  count_uses(&group->bound, place, 1);
  device->groups[place] = group;
  return handle;
}

static bool has(const struct wgpu_group *group, const wgpu_uses *uses) {
  if (&group->bound.program->uses == uses || &group->bound.uniform->uses == uses) return true;
  for (uint32_t i = 0; i < group->bound.count; i++) {
    if (&group->storage[i].buffer->uses == uses) return true;
  }
  return false;
}

// First tries the newest group, since most temporary buffers are in one group only.
void tsri_wgpu_drop_groups_with(tsri_wgpu_device *device, const wgpu_uses *uses) {
  uint32_t newest = uses->place;
  if (uses->count > 0 && device->groups[newest] && has(device->groups[newest], uses)) drop(device, newest);
  for (uint32_t i = 0; uses->count > 0 && i < WGPU_KEPT_GROUPS; i++) {
    if (device->groups[i] && has(device->groups[i], uses)) drop(device, i);
  }
}

void tsri_wgpu_drop_groups(tsri_wgpu_device *device) {
  for (uint32_t i = 0; i < WGPU_KEPT_GROUPS; i++) drop(device, i);
}
