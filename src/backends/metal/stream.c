// SPDX-License-Identifier: MIT
// Command buffers of a queue: recorded, committed, and looked at until they have ended.
#include <stdio.h>

#include "backends/common/poll.h"
#include "backends/metal/metal.h"

enum {
  FIRST_COMMANDS = 8,  // a command buffer of this size is committed at once if the GPU has nothing to do
  STATUS_COMPLETED = 4,
  STATUS_ERROR = 5
};

// A command buffer that ran this long, in seconds, was too large: systems end long ones.
#define LONG_SECONDS  0.5
#define SHORT_SECONDS 0.1

// --- Command buffers that have ended ------------------------------------------------------------------------------------

static void note_failure(metal_queue *queue, metal_id commands) {
  metal_id error = METAL_GET(metal_id, commands, error);
  metal_int code = error ? METAL_GET(metal_int, error, code) : 0;
  tsr_status status = tsri_metal_status_of(code);
  if (status == TSR_ERR_DEVICE_LOST) atomic_store(&queue->device->is_lost, true);
  if (queue->failed != TSR_OK) return;
  queue->failed = status;
  snprintf(queue->failure, sizeof queue->failure, "Metal %ld: %s", (long)code, tsri_metal_error_text(error));
}

// Adapts the limit of commands per command buffer to how long the last one ran.
static void adapt(metal_queue *queue, metal_id commands) {
  double seconds = METAL_GET(double, commands, end_time) - METAL_GET(double, commands, start_time);
  if (seconds > LONG_SECONDS && queue->batch_limit > 1) queue->batch_limit /= 2;
  if (seconds < SHORT_SECONDS && queue->batch_limit < METAL_BATCH_COMMANDS) queue->batch_limit *= 2;
}

static metal_id oldest_sent(const metal_queue *queue) { return queue->sent[queue->first_sent]; }

static void drop_oldest(metal_queue *queue) {
  metal_id commands = oldest_sent(queue);
  if (METAL_GET(metal_uint, commands, status) == STATUS_ERROR) note_failure(queue, commands);
  adapt(queue, commands);
  tsri_mtl.objc_release(commands);
  queue->first_sent = (queue->first_sent + 1) % METAL_MOST_SENT;
  queue->sent_count--;
}

static bool has_ended(metal_id commands) { return METAL_GET(metal_uint, commands, status) >= STATUS_COMPLETED; }

void tsri_metal_retire(metal_queue *queue) {
  while (queue->sent_count > 0 && has_ended(oldest_sent(queue))) drop_oldest(queue);
}

bool tsri_metal_is_idle(metal_queue *queue) {
  tsri_metal_retire(queue);
  return !queue->open && queue->sent_count == 0 && queue->failed == TSR_OK;
}

// --- Waiting ----------------------------------------------------------------------------------------------------------

// Metal has no wait with a time-out: if there is one, the status is polled.
static tsr_status wait_for_oldest(metal_queue *queue, uint64_t timeout_ns) {
  metal_id commands = oldest_sent(queue);
  if (timeout_ns == UINT64_MAX) {
    METAL_GET(void, commands, wait);
  } else {
    tsri_poll poll = tsri_poll_begin(timeout_ns);
    while (!has_ended(commands)) {
      if (tsri_poll_again(&poll)) continue;
      return TSRI_FAIL(TSR_ERR_TIMEOUT, "%s: work did not finish within %.3f ms", queue->device->gpu.name,
                       (double)timeout_ns / 1e6);
    }
  }
  drop_oldest(queue);
  return TSR_OK;
}

tsr_status tsri_metal_wait(metal_queue *queue, uint64_t timeout_ns) {
  uint64_t start = tsri_clock_ns();
  tsr_status status = tsri_metal_commit(queue);
  while (status == TSR_OK && queue->sent_count > 0) {
    uint64_t spent = tsri_clock_ns() - start;
    uint64_t left = timeout_ns == UINT64_MAX ? UINT64_MAX : timeout_ns > spent ? timeout_ns - spent : 0;
    status = wait_for_oldest(queue, left);
  }
  if (status != TSR_OK || queue->failed == TSR_OK) return status;
  status = TSRI_FAIL(queue->failed, "%s: queued work failed: %s", queue->device->gpu.name, queue->failure);
  queue->failed = TSR_OK;
  return status;
}

// --- Recording --------------------------------------------------------------------------------------------------------

static void end_encoder(metal_queue *queue) {
  if (!queue->encoder) return;
  METAL_GET(void, queue->encoder, end_encoding);
  tsri_mtl.objc_release(queue->encoder);
  queue->encoder = NULL;
  queue->encoder_kind = METAL_ENCODER_NONE;
}

tsr_status tsri_metal_commit(metal_queue *queue) {
  if (!queue->open) return TSR_OK;
  tsri_metal_retire(queue);
  if (queue->sent_count == METAL_MOST_SENT) {
    tsr_status status = wait_for_oldest(queue, queue->device->timeout_ns);
    if (status != TSR_OK) return status;
  }
  end_encoder(queue);
  METAL_GET(void, queue->open, commit);
  queue->sent[(queue->first_sent + queue->sent_count++) % METAL_MOST_SENT] = queue->open;
  queue->open = NULL;
  queue->command_count = 0;
  return TSR_OK;
}

// What "commandBuffer" and the encoders' messages return belongs to the autorelease pool.
static tsr_status retained(metal_queue *queue, metal_id object, const char *what, metal_id *out_object) {
  if (!object) return TSRI_FAIL(TSR_ERR_LAUNCH, "%s: Metal gives no %s", queue->device->gpu.name, what);
  *out_object = tsri_mtl.objc_retain(object);
  return TSR_OK;
}

tsr_status tsri_metal_open(metal_queue *queue, metal_id *out_commands) {
  tsr_status status = tsri_metal_check_lost(queue->device);
  if (status == TSR_OK && !queue->open) {
    status = retained(queue, METAL_GET(metal_id, queue->commands, command_buffer), "command buffer", &queue->open);
  }
  end_encoder(queue);
  *out_commands = queue->open;
  return status;
}

tsr_status tsri_metal_encode(metal_queue *queue, metal_encoder kind, metal_id *out_encoder) {
  tsr_status status = tsri_metal_check_lost(queue->device);
  if (status == TSR_OK && queue->encoder_kind != kind) {
    metal_id commands = NULL;
    status = tsri_metal_open(queue, &commands);
    if (status == TSR_OK) {
      metal_id encoder = kind == METAL_ENCODER_BLIT ? METAL_GET(metal_id, commands, blit_encoder)
                                                    : METAL_GET(metal_id, commands, compute_encoder);
      status = retained(queue, encoder, "encoder", &queue->encoder);
    }
    if (status == TSR_OK) queue->encoder_kind = kind;
  }
  *out_encoder = queue->encoder;
  return status;
}

tsr_status tsri_metal_encoded(metal_queue *queue) {
  queue->command_count++;
  bool is_full = queue->command_count >= queue->batch_limit;
  if (!is_full && queue->command_count >= FIRST_COMMANDS) {
    tsri_metal_retire(queue);
    is_full = queue->sent_count == 0;
  }
  return is_full ? tsri_metal_commit(queue) : TSR_OK;
}
