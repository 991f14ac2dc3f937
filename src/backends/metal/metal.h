// SPDX-License-Identifier: MIT
// Declarations shared by the files of the Metal backend.
//
// A tsri_queue is an MTLCommandQueue. Commands are encoded into its open command buffer, which is committed when it is full, when
// the GPU has nothing to do, and when something waits for it. Metal itself orders commands that use the same buffer, within a
// queue; events order two queues.
#ifndef TSRI_METAL_H
#define TSRI_METAL_H

#include <stdatomic.h>

#include "backends/common/driver.h"
#include "backends/metal/loader.h"
#include "core/error.h"
#include "platform/platform.h"

enum {
  METAL_MOST_SENT = 16,          // command buffers of a queue that may run or wait to run
  METAL_BATCH_COMMANDS = 64,     // most commands in a command buffer
  METAL_MOST_BUFFERS = 31,       // arguments of a kernel, with its parameters
  METAL_INLINE_BYTES = 4096,     // largest parameter block that setBytes takes
  METAL_STAGED_BYTES = 16 << 20  // largest part of a copy that goes through a staging buffer at once
};

// What is known about a GPU without opening it.
typedef struct metal_gpu {
  metal_id device;  // MTLDevice
  char name[TSR_NAME_BYTES];
  bool is_unified;
  bool has_simd;      // operations of SIMD groups and simdgroup_matrix: Apple7 and newer
  bool has_bfloat;    // the language has bfloat: Metal 3.1
  uint32_t language;  // its version: major << 16 | minor
  uint32_t family;    // newest GPU family of Apple's: 7 for Apple7; 0: the GPU is not Apple's
  uint32_t shared_bytes;
  uint64_t max_buffer_bytes;
} metal_gpu;

typedef struct metal_pinned metal_pinned;

typedef struct metal_device {
  metal_gpu gpu;
  metal_id options;                             // MTLCompileOptions
  metal_id fill_words, fill_bytes, copy_bytes;  // pipelines, see copy.c
  metal_id scratch;                             // a buffer of 16 bytes, see event.c
  uint32_t simd_width;                          // 0: SIMD groups are not used
  uint64_t timeout_ns;                          // limit for waits inside calls
  bool has_times;
  bool has_mps;
  atomic_bool is_lost;
  tsri_mutex pinned_lock;
  metal_pinned *pinned;  // host.c
} metal_device;

typedef struct metal_buffer {
  metal_id memory;  // MTLBuffer
  char *host;       // NULL: private memory of the GPU
} metal_buffer;

// A copy from a staging buffer to host memory, done by queue_wait.
typedef struct metal_readback {
  struct metal_readback *next;
  metal_id staging;
  size_t bytes;
  void *to;
} metal_readback;

typedef enum metal_encoder { METAL_ENCODER_NONE, METAL_ENCODER_COMPUTE, METAL_ENCODER_BLIT } metal_encoder;

typedef struct metal_queue {
  metal_device *device;
  metal_id commands;  // MTLCommandQueue
  metal_id open;      // command buffer that is being recorded, or NULL
  metal_id encoder;   // of `open`; NULL: none
  metal_encoder encoder_kind;
  uint32_t command_count, batch_limit;
  metal_id sent[METAL_MOST_SENT];  // committed and not known to have ended, a ring
  uint32_t first_sent, sent_count;
  metal_readback *readbacks, **last_readback;
  tsr_status failed;  // of the first work that failed since the last wait
  char failure[256];
} metal_queue;

typedef struct metal_program {
  metal_id pipeline;  // MTLComputePipelineState
  uint32_t buffer_count, params_bytes, local[3];
  char name[128];
} metal_program;

static inline metal_device *metal_device_of(tsri_device *device) { return (metal_device *)device; }
static inline metal_queue *metal_queue_of(tsri_queue *queue) { return (metal_queue *)queue; }
static inline metal_buffer *metal_buffer_of(tsri_buffer *buffer) { return (metal_buffer *)buffer; }

// Releases an object; NULL is allowed.
static inline void metal_release(metal_id object) {
  if (object) tsri_mtl.objc_release(object);
}

TSRI_DECLARE_DRIVER(metal);
tsr_status tsri_metal_start(const tsri_host *host);
void tsri_metal_stop(void);
void *tsri_metal_buffer_host(tsri_device *device, tsri_buffer *buffer);
tsr_status tsri_metal_buffer_import(tsri_device *opaque, void *host_memory, size_t bytes, tsri_buffer **out_buffer);

// --- error.c --------------------------------------------------------------------------------------------------------

// The text of an NSError, or what stands for none. Valid until the surrounding autorelease pool ends.
const char *tsri_metal_error_text(metal_id error);
// Returns TSR_ERR_DEVICE_LOST if the device was found lost.
tsr_status tsri_metal_check_lost(metal_device *device);
// The status for an MTLCommandBufferError.
tsr_status tsri_metal_status_of(metal_int code);
// The message for memory that the device does not give.
tsr_status tsri_metal_no_memory(const metal_device *device, size_t bytes);

// --- stream.c -------------------------------------------------------------------------------------------------------

// Returns an encoder of this kind in the open command buffer.
tsr_status tsri_metal_encode(metal_queue *queue, metal_encoder kind, metal_id *out_encoder);
// Returns the open command buffer, without an open encoder.
tsr_status tsri_metal_open(metal_queue *queue, metal_id *out_commands);
// Call after each command: commits the command buffer if it is full, or if the GPU would have nothing to do.
tsr_status tsri_metal_encoded(metal_queue *queue);
tsr_status tsri_metal_commit(metal_queue *queue);  // does nothing if no command buffer is open
// Finds out which command buffers have ended, and notes the first failure.
void tsri_metal_retire(metal_queue *queue);
bool tsri_metal_is_idle(metal_queue *queue);
// Waits until everything that was encoded has ended. TSR_ERR_TIMEOUT: it still runs.
tsr_status tsri_metal_wait(metal_queue *queue, uint64_t timeout_ns);

// --- program.c ------------------------------------------------------------------------------------------------------

// Builds one function of `text`. The caller releases the pipeline.
tsr_status tsri_metal_build(metal_device *device, const char *name, const char *text, metal_id *out_pipeline);
void tsri_metal_dispatch(metal_id encoder, const uint32_t groups[3], const uint32_t local[3]);

// --- host.c ---------------------------------------------------------------------------------------------------------

tsr_status tsri_metal_host_alloc(tsri_device *opaque, size_t bytes, void **out_memory);
void tsri_metal_host_free(tsri_device *opaque, void *memory);

// The buffer of pinned memory in which these bytes are, and their offset in it; NULL: they are in none.
metal_id tsri_metal_host_find(metal_device *device, const void *memory, size_t bytes, size_t *out_offset);

// --- copy.c ---------------------------------------------------------------------------------------------------------

tsr_status tsri_metal_build_copies(metal_device *device);
// Copies the readbacks to their destinations, or drops them.
void tsri_metal_finish_readbacks(metal_queue *queue, bool copies);

// --- native.c -------------------------------------------------------------------------------------------------------

extern const tsri_native_offer tsri_metal_offers[];
bool tsri_metal_has_op(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_metal_run_op(tsri_queue *opaque, const tsri_native_op *op);
// Opens MPS if `native` allows it.
void tsri_metal_open_mps(metal_device *device, const char *native);

#endif
