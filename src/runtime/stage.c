// SPDX-License-Identifier: MIT
// Staging memory, with a hidden header that links the pieces that are kept.
#include "runtime/stage.h"

#include "core/alloc.h"

struct tsri_stage {
  struct tsri_stage *next;
  _Alignas(16) unsigned char data[];
};

void *tsri_stage_create(size_t bytes) {
  size_t whole = 0;
  if (!tsri_add_size(sizeof(struct tsri_stage), bytes, &whole)) return NULL;
  struct tsri_stage *stage = tsri_malloc(whole);
  return stage ? stage->data : NULL;
}

void tsri_stage_release(tsr_device *device, void *memory, tsr_status status) {
  if (!memory) return;
  struct tsri_stage *stage = (struct tsri_stage *)((char *)memory - offsetof(struct tsri_stage, data));
  if (status != TSR_ERR_TIMEOUT) {
    tsri_free(stage);
    return;
  }
  tsri_device_lock(device);
  stage->next = device->stages;
  device->stages = stage;
  tsri_device_unlock(device);
}

void tsri_stage_free_kept(tsr_device *device) {
  while (device->stages) {
    struct tsri_stage *next = device->stages->next;
    tsri_free(device->stages);
    device->stages = next;
  }
}
