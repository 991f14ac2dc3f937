// SPDX-License-Identifier: MIT
// What the files of the CUDA backend share.
//
// Every open device uses the GPU's primary context, which is also that of other CUDA code in the process (the runtime
// API, PyTorch): it is made current for the time of a call unless it is, and never reset.
#ifndef TSRI_CUDA_H
#define TSRI_CUDA_H

#include <stdatomic.h>

#include "backends/common/driver.h"
#include "backends/cuda/loader.h"
#include "core/error.h"
#include "platform/platform.h"

typedef struct cuda_blas cuda_blas;  // blas.c

typedef struct cuda_device {
  cu_device id;
  cu_context context;  // retained
  char name[TSR_NAME_BYTES];
  char target[32];   // what NVRTC compiles for: "sm_90", or "compute_90" where the driver compiles on from there
  char toolset[64];  // target and version of NVRTC, for the cache of built programs
  uint64_t timeout_ns;
  bool has_times;    // opened for profiling
  bool allows_tf32;  // f32 products may round their inputs
  bool allows_blas;  // the setting `native` lets cuBLASLt be used
  atomic_bool is_lost;
  tsri_mutex blas_lock;  // of opening it
  cuda_blas *blas;       // NULL until it is first used
  bool blas_has_failed;  // and why was logged
} cuda_device;

typedef struct cuda_buffer {
  cu_address address;
  size_t bytes;
} cuda_buffer;

// --- Staging memory (stage.c) ---

enum {
  CUDA_COPY_THREADS = 8,          // that copy between the caller's memory and pinned chunks
  CUDA_CHUNKS_PER_THREAD = 2,     // one is filled while the other travels
  CUDA_CHUNK_BYTES = 2 << 20,     // small enough to stay in the processor's cache, large enough for full speed
  CUDA_READBACK_BYTES = 1 << 20,  // of the chunk for small copies to the host
  CUDA_READBACKS = 64
};

// Pinned memory. `is_busy`: the device may still use it until `done` has happened.
typedef struct cuda_chunk {
  char *host;
  cu_event done;
  bool is_busy;
} cuda_chunk;

// A small copy to the host that has arrived, or will, in the readback chunk.
typedef struct cuda_readback {
  void *to;
  size_t offset, bytes;
} cuda_readback;

typedef struct cuda_queue {
  cuda_device *device;
  cu_stream stream;
  bool has_work;      // queued since the last wait that succeeded
  bool is_recording;  // a graph: nothing runs, and nothing may wait
  cuda_chunk chunks[CUDA_COPY_THREADS * CUDA_CHUNKS_PER_THREAD];
  char *readback_host;
  size_t readback_used;
  int readback_count;
  cuda_readback readbacks[CUDA_READBACKS];
  cu_address workspace;  // of cuBLASLt
} cuda_queue;

static inline cuda_device *cuda_device_of(tsri_device *device) { return (cuda_device *)device; }
static inline cuda_queue *cuda_queue_of(tsri_queue *queue) { return (cuda_queue *)queue; }
static inline cu_address cuda_address_of(const tsri_buffer *buffer, size_t offset) {
  return ((const cuda_buffer *)buffer)->address + offset;
}

// --- device.c ---

// Makes the device's context current on this thread unless it is. Every enter is followed by a leave with its result.
bool tsri_cuda_enter(const cuda_device *device);
void tsri_cuda_leave(bool was_pushed);

// The same for launches, of which there are many: where the thread has no context at all, GPU 0's stays current until the
// device is closed, so that the next one finds it there.
bool tsri_cuda_enter_to_stay(const cuda_device *device);

// --- error.c ---

// "CUDA 700 CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered". Returns `text`.
const char *tsri_cuda_code_text(cu_result code, char *text, size_t text_bytes);

// The status of a call that answered `code`, which is not CU_SUCCESS, with a message: the device, what was tried
// (printf style), and CUDA's own words. Memory and loss of the device have statuses of their own; the rest is
// `otherwise`. `device` may be NULL.
tsr_status tsri_cuda_fail(cuda_device *device, cu_result code, tsr_status otherwise, const char *place,
                          const char *format, ...) TSRI_PRINTF(5, 6);
#define CUDA_FAIL(device, code, otherwise, ...) tsri_cuda_fail((device), (code), (otherwise), TSRI_PLACE, __VA_ARGS__)

// Codes after which no call in the context succeeds any more.
bool tsri_cuda_means_loss(cu_result code);

// TSR_ERR_DEVICE_LOST if the device was lost in an earlier call.
tsr_status tsri_cuda_check(const cuda_device *device);

// --- queue.c ---

// Before each command: TSR_ERR_DEVICE_LOST, or the next wait has something to wait for.
tsr_status tsri_cuda_begin(cuda_queue *queue);

// Waits for the stream alone. TSR_ERR_TIMEOUT after `timeout_ns`. The context is current.
tsr_status tsri_cuda_stream_wait(cuda_queue *queue, uint64_t timeout_ns);

// --- stage.c: pageable host memory, through pinned chunks. The context is current. ---

cu_result tsri_cuda_stage_in(cuda_queue *queue, cu_address to, const void *from, size_t bytes);
// On return the bytes have arrived. Nothing that takes long must be queued before it.
cu_result tsri_cuda_stage_out(cuda_queue *queue, void *to, cu_address from, size_t bytes);

// Queues a copy of at most CUDA_READBACK_BYTES; false if there is no room until the queue was waited for.
bool tsri_cuda_readback_fits(const cuda_queue *queue, size_t bytes);
cu_result tsri_cuda_readback(cuda_queue *queue, void *to, cu_address from, size_t bytes);
// Once the stream is done: hands over what has arrived.
void tsri_cuda_readback_finish(cuda_queue *queue);

void tsri_cuda_stage_deinit(cuda_queue *queue);

// --- nvrtc.c ---

// Chooses what is compiled for a GPU of this capability. Errors: TSR_ERR_UNSUPPORTED (this NVRTC is too new or too old).
tsr_status tsri_cuda_choose_target(cuda_device *device, int major, int minor);

// Compiles text to a cubin or PTX, or takes it from the cache; the caller frees it with tsri_free. `is_fresh`: not from the
// cache. Errors: TSR_ERR_BUILD with the compiler's log, TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cuda_compile(const cuda_device *device, const tsri_code *code, bool use_cache, void **out_image,
                             bool *out_is_fresh);

// --- graph.c ---

tsr_status tsri_cuda_graph_begin(tsri_queue *queue);
tsr_status tsri_cuda_graph_end(tsri_queue *queue, tsri_graph **out_graph);
tsr_status tsri_cuda_graph_launch(tsri_queue *queue, tsri_graph *graph);
void tsri_cuda_graph_destroy(tsri_device *device, tsri_graph *graph);

// --- blas.c and native.c ---

void tsri_cuda_blas_close(cuda_device *device);

TSRI_DECLARE_DRIVER(cuda);

// Entries of the table that not every driver has.
void tsri_cuda_stop(void);
tsr_status tsri_cuda_copy_peer(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_device *src_device,
                               tsri_buffer *src, size_t src_offset, size_t bytes);
extern const tsri_native_offer tsri_cuda_native_ops[];
bool tsri_cuda_has_op(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_cuda_run_op(tsri_queue *queue, const tsri_native_op *op);

#endif
