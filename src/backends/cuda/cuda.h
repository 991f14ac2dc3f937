// SPDX-License-Identifier: MIT
// Declarations shared by the files of the CUDA backend, most of which serve AMD's GPUs as well: backends/rocm brings its
// own entry points, compiler and descriptions (cuda_vendor).
//
// Every open device uses the GPU's primary context, which other CUDA code in the process (the runtime API, PyTorch)
// uses as well. Each call makes it current if it is not, restores the previous context afterwards, and never resets
// it.
#ifndef TSRI_CUDA_H
#define TSRI_CUDA_H

#include <stdatomic.h>

#include "backends/common/driver.h"
#include "backends/cuda/loader.h"
#include "core/error.h"
#include "platform/platform.h"

typedef struct cuda_blas cuda_blas;      // blas.c
typedef struct cuda_solver cuda_solver;  // solver.c
typedef struct cuda_steps cuda_steps;    // graph_steps.c
typedef struct cuda_dnn cuda_dnn;        // dnn.c

// What differs between the vendors whose drivers have this interface: NVIDIA's CUDA, and AMD's HIP under other names
// (backends/rocm). The files of this folder that say so serve both, through a device's `vendor` and `cu`.
typedef struct cuda_vendor {
  const char *name;            // of the backend, "cuda": names files of the disk cache, and log lines
  const char *title;           // "CUDA": stands before its codes in messages
  const char *compiler;        // name of the run-time compiler: "NVRTC"
  const char *target_option;   // the compiler's option in front of the target: "--gpu-architecture="
  const char *newer_compiler;  // advice in the message if the driver refuses an image that the compiler made
  tsri_cuda_api *cu;
  tsri_nvrtc_api *rtc;
  const struct lt_library *blas;  // for matrix products (blas_api.h)
  size_t copied_at_once;          // an upload of pageable memory of up to this size is copied before the call returns
  bool reads_image;               // a module's image must stay in memory for as long as the module is loaded
  int memory_kind;                // what DLPack calls the memory of these devices: 2 is CUDA's, 10 ROCm's
} cuda_vendor;

extern const cuda_vendor tsri_cuda_vendor;  // device.c

typedef struct cuda_device {
  const cuda_vendor *vendor;
  const tsri_cuda_api *cu;  // vendor->cu
  cu_device id;
  cu_context context;  // the retained primary context
  char name[TSR_NAME_BYTES];
  tsr_device_info info;
  char target
      [32];  // the compiler's target: "sm_90" for a cubin, "compute_90" for PTX, which the driver compiles further, "gfx90a"
  int architecture;  // the number in it: 90; 0 for AMD's
  char toolset[64];  // target and version of the compiler; part of the keys of the disk cache
  uint64_t timeout_ns;
  bool has_times;     // opened for profiling
  bool allows_tf32;   // f32 products may round their inputs to TF32
  bool allows_blas;   // the setting `native` permits vendor->blas
  bool allows_units;  // the setting `native` permits our own kernels for matrix units (units.h, halves.h, heads.h)
  bool allows_dnn;    // the setting `native` permits cuDNN
  atomic_bool is_lost;
  atomic_int pinned_count;       // number of pinned host allocations that the core holds (host.c)
  bool allows_timing;            // proposals of these libraries may be timed
  struct tsri_choices *choices;  // the fastest proposals found by timing (settle.c); NULL until it is needed
  tsri_mutex library_lock;       // held while cuBLASLt, cuSOLVER, cuDNN or the choices are being opened
  cuda_blas *blas;               // NULL until the first product
  bool blas_has_failed;          // opening vendor->blas failed; the reason was logged
  bool units_have_failed;  // a product that only our own kernel computes could not be queued; the reason was logged
  bool allows_solver;      // the setting `native` permits cuSOLVER
  cuda_solver *solver;     // NULL until the first matrix that is large enough for it
  bool solver_has_failed;
  cuda_dnn *dnn;  // NULL until the first convolution that is large enough
  bool dnn_has_failed;
  struct cuda_join *joins;   // NULL until the first join (join.h)
  struct cuda_heads *heads;  // NULL until the first attention that they take (heads.h)
} cuda_device;

typedef struct cuda_buffer {
  cu_address address;
  size_t bytes;
  bool is_adopted;  // another library's memory, which it frees
} cuda_buffer;

// --- Staging memory (stage.c) ---

enum {
  CUDA_COPY_THREADS = 8,          // most threads that copy between the caller's memory and pinned chunks
  CUDA_CHUNKS_PER_THREAD = 2,     // one is filled while the other is being transferred
  CUDA_CHUNK_BYTES = 2 << 20,     // small enough for the CPU's cache, large enough for full bandwidth
  CUDA_READBACK_BYTES = 1 << 20,  // size of the chunk for small copies to the host
  CUDA_READBACKS = 64
};

// Pinned host memory. If is_busy, the device may use it until the event `done` has happened.
typedef struct cuda_chunk {
  char *host;
  cu_event done;
  bool is_busy;
} cuda_chunk;

// A small copy to the host: `bytes` at `offset` of the readback chunk, to be copied to `to` once the stream is done.
typedef struct cuda_readback {
  void *to;
  size_t offset, bytes;
} cuda_readback;

// CUDA_WORKSPACE_BYTES: of a queue's workspace. CUDA_LARGE_WORKSPACES: how many larger ones it may have.
enum { CUDA_WORKSPACE_BYTES = 64 << 20, CUDA_LARGE_WORKSPACES = 3 };

typedef struct cuda_queue {
  cuda_device *device;
  const tsri_cuda_api *cu;  // device->cu
  cu_stream stream;
  bool has_work;      // work was queued since the last successful wait
  bool is_recording;  // a graph is being recorded: nothing runs, and nothing may wait
  cuda_steps *steps;  // the dependencies of that graph's steps (graph_steps.c); NULL: the steps run in order
  cuda_chunk chunks[CUDA_COPY_THREADS * CUDA_CHUNKS_PER_THREAD];
  char *readback_host;
  size_t readback_used;
  int readback_count;
  cuda_readback readbacks[CUDA_READBACKS];
  cu_address workspace;  // scratch memory for cuBLASLt and cuDNN; 0 until it is needed
  cu_address large_workspaces
      [CUDA_LARGE_WORKSPACES];  // as `workspace`, of twice its size, four times …; each 0 until it is needed
  cu_address solver_work;       // and for cuSOLVER
  size_t solver_bytes;
} cuda_queue;

static inline cuda_device *cuda_device_of(tsri_device *device) { return (cuda_device *)device; }
static inline cuda_queue *cuda_queue_of(tsri_queue *queue) { return (cuda_queue *)queue; }
static inline cu_address cuda_address_of(const tsri_buffer *buffer, size_t offset) {
  return ((const cuda_buffer *)buffer)->address + offset;
}

// --- device.c ---

// Makes the device's context current on this thread if it is not. Pass the result to tsri_cuda_leave afterwards.
bool tsri_cuda_enter(const cuda_device *device);
void tsri_cuda_leave(const cuda_device *device, bool was_pushed);

// As tsri_cuda_enter, but cheaper for frequent launches: if the thread has no context and the device is GPU 0, its
// context stays current until the device is closed.
bool tsri_cuda_enter_to_stay(const cuda_device *device);

// Allocates `bytes` for a cuda_device, or for a record that begins with one, and fills in what the options say. NULL:
// host memory is out, and the message is set. tsri_cuda_device_close frees it.
cuda_device *tsri_cuda_device_create(const cuda_vendor *vendor, size_t bytes, int index, const tsr_device_info *info,
                                     const tsri_open_options *options);

// Retains the primary context and checks that it works.
tsr_status tsri_cuda_open_context(cuda_device *device);

// The limits that all devices of these drivers have in common. Members that are 0 are left for the caller to fill in.
tsri_limits tsri_cuda_common_limits(uint64_t total_bytes);

// Formats the UUID as 8-4-4-4-12 hexadecimal digits.
void tsri_cuda_uuid_text(const cu_uuid *uuid, char *text, size_t text_bytes);

// --- error.c ---

// Formats a code of `vendor` as "CUDA 700 CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered". Returns `text`.
const char *tsri_cuda_code_text(const cuda_vendor *vendor, cu_result code, char *text, size_t text_bytes);

// Converts `code`, which is not CU_SUCCESS, to a status and sets the message: the device, what was tried (printf
// style) and CUDA's description. Codes for exhausted memory and a lost device have their own statuses; all others
// become `otherwise`.
tsr_status tsri_cuda_fail(cuda_device *device, cu_result code, tsr_status otherwise, const char *place,
                          const char *format, ...) TSRI_PRINTF(5, 6);
#define CUDA_FAIL(device, code, otherwise, ...) tsri_cuda_fail((device), (code), (otherwise), TSRI_PLACE, __VA_ARGS__)

// Whether no call in the context can succeed after this code.
bool tsri_cuda_means_loss(cu_result code);

// Returns TSR_ERR_DEVICE_LOST if an earlier call found the device lost.
tsr_status tsri_cuda_check(const cuda_device *device);

// --- queue.c ---

// Call before queuing a command. Returns TSR_ERR_DEVICE_LOST, or marks the queue as having work.
tsr_status tsri_cuda_begin(cuda_queue *queue);

// Allocates queue->workspace if there is none yet. The context must be current.
// NVIDIA recommends 32 MiB for cuBLASLt on Hopper; cuDNN wants up to 54 MiB for the first layers of networks for images.
cu_result tsri_cuda_workspace(cuda_queue *queue);

// The largest workspace that a queue of the device may have: at most a 64th of the device's memory, but at least CUDA_WORKSPACE_BYTES.
int64_t tsri_cuda_most_workspace(const cuda_device *device);

// As tsri_cuda_workspace, for one of at least `bytes`, which are more than CUDA_WORKSPACE_BYTES. 0: there is no memory for it.
cu_address tsri_cuda_large_workspace(cuda_queue *queue, size_t bytes);

// Waits for the stream, without finishing readbacks. TSR_ERR_TIMEOUT after `timeout_ns`. The context must be current.
tsr_status tsri_cuda_stream_wait(cuda_queue *queue, uint64_t timeout_ns);

// --- stage.c: pageable host memory, through pinned chunks. The context is current. ---

cu_result tsri_cuda_stage_in(cuda_queue *queue, cu_address to, const void *from, size_t bytes);
// The bytes have arrived when it returns. Wait for the stream first: this call has no time-out.
cu_result tsri_cuda_stage_out(cuda_queue *queue, void *to, cu_address from, size_t bytes);

// tsri_cuda_readback queues a copy of at most CUDA_READBACK_BYTES. readback_fits: false if there is no room until the
// queue was waited for and tsri_cuda_readback_finish was called.
bool tsri_cuda_readback_fits(const cuda_queue *queue, size_t bytes);
cu_result tsri_cuda_readback(cuda_queue *queue, void *to, cu_address from, size_t bytes);
// Copies all readbacks to their destinations. Call it when the stream is done.
void tsri_cuda_readback_finish(cuda_queue *queue);

void tsri_cuda_stage_deinit(cuda_queue *queue);

// --- compile.c ---

// Compiles text for `target`, such as device->target, to an image that the driver loads, or loads it from the disk cache. The caller frees *out_image with
// tsri_free. *out_is_fresh: it was compiled now. Errors: TSR_ERR_BUILD with the compiler's log, TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cuda_compile(const cuda_device *device, const char *target, const tsri_code *code, bool use_cache,
                             void **out_image, bool *out_is_fresh);

// --- nvrtc.c ---

// Chooses device->target for a GPU of this compute capability. Errors: TSR_ERR_UNSUPPORTED (NVRTC is too new or too
// old for it).
tsr_status tsri_cuda_choose_target(cuda_device *device, int major, int minor);

// --- start.c ---

typedef struct cuda_kernel_start {
  cu_function function;
  uint32_t groups[3], items[3];  // items of a group
  uint32_t shared_bytes;         // beside those that the kernel declares
  bool waits;                    // the kernel begins by waiting for those that it depends on
} cuda_kernel_start;

// Queues a kernel, or records it. The context must be current.
cu_result tsri_cuda_start_kernel(const cuda_queue *queue, const cuda_kernel_start *start, void **arguments);

// --- graph.c ---

tsr_status tsri_cuda_graph_begin(tsri_queue *queue);
tsr_status tsri_cuda_graph_end(tsri_queue *queue, tsri_graph **out_graph);
tsr_status tsri_cuda_graph_launch(tsri_queue *queue, tsri_graph *graph);
void tsri_cuda_graph_destroy(tsri_device *device, tsri_graph *graph);

// --- graph_steps.c ---

tsr_status tsri_cuda_graph_step(tsri_queue *queue, const int *after, int count);

// Frees queue->steps when the recording of a graph ends. False: a dependency could not be recorded, and the graph must not be used.
bool tsri_cuda_steps_end(cuda_queue *queue);

// Returns the address of `bytes` of the queue's workspace for the command that is queued next, at most tsri_cuda_most_workspace. While a graph with steps is
// recorded, each step gets a different part of the workspace. More than CUDA_WORKSPACE_BYTES are in memory of their own, which the queue keeps because recorded
// graphs may use it; 0: there is no memory for it.
cu_address tsri_cuda_take_workspace(cuda_queue *queue, size_t bytes);

// Call before queueing a command that uses scratch memory of the queue other than tsri_cuda_take_workspace's. In a recorded graph the command then waits for earlier
// steps that use the same memory.
void tsri_cuda_use_scratch(cuda_queue *queue, cu_address at, size_t bytes);

// --- blas.c, solver.c and native.c ---

void tsri_cuda_blas_close(cuda_device *device);
void tsri_cuda_solver_close(cuda_device *device);

TSRI_DECLARE_DRIVER(cuda);

// Entries that TSRI_DECLARE_DRIVER does not declare.
void tsri_cuda_stop(void);
tsr_status tsri_cuda_copy_peer(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_device *src_device,
                               tsri_buffer *src, size_t src_offset, size_t bytes);
tsr_status tsri_cuda_host_alloc(tsri_device *device, size_t bytes, void **out_memory);
void tsri_cuda_host_free(tsri_device *device, void *memory);
tsr_status tsri_cuda_host_register(tsri_device *device, void *memory, size_t bytes);
void tsri_cuda_host_unregister(tsri_device *device, void *memory);

// Initialisers for the table of a backend whose devices begin with a cuda_device.
#define CUDA_WORK_ENTRIES                                                                                             \
  TSRI_WORK_ENTRIES(cuda),                                                                                            \
      .graph_begin = tsri_cuda_graph_begin, .graph_end = tsri_cuda_graph_end, .graph_launch = tsri_cuda_graph_launch, \
      .graph_destroy = tsri_cuda_graph_destroy, .copy_peer = tsri_cuda_copy_peer, .host_alloc = tsri_cuda_host_alloc, \
      .host_free = tsri_cuda_host_free, .host_register = tsri_cuda_host_register,                                     \
      .host_unregister = tsri_cuda_host_unregister, .graph_step = tsri_cuda_graph_step, .sharing = &tsri_cuda_sharing

extern const tsri_device_sharing tsri_cuda_sharing;  // share.c

extern const tsri_native_offer tsri_cuda_native_ops[];
bool tsri_cuda_has_op(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_cuda_run_op(tsri_queue *queue, const tsri_native_op *op);
tsri_op_group tsri_cuda_group_of(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_cuda_run_ops(tsri_queue *queue, const tsri_native_op *const *ops, int count);

#endif
