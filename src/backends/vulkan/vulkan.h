// SPDX-License-Identifier: MIT
// Declarations shared by the files of the Vulkan backend.
//
// Commands are recorded into streams. A stream is divided into batches, which run on one VkQueue in the order of recording. A device
// has one stream until a second tsri_queue is created; then it has further ones, where the driver offers queues for them: some for
// kernels, which the tsri_queues share, and up to two for copies from and to the host (streams.c). A tsri_queue knows how far
// its commands have got in each stream (vulkan_marks), and a batch waits for those of other streams by timeline semaphores.
#ifndef TSRI_VULKAN_H
#define TSRI_VULKAN_H

#include "backends/common/driver.h"
#include "backends/vulkan/loader.h"

#if TSRI_HAS_VULKAN

#include <stdatomic.h>

#include "core/error.h"
#include "platform/platform.h"

enum {
  VULKAN_BATCHES = 8,
  VULKAN_BATCH_COMMANDS = 64,  // most commands in a batch
  VULKAN_BATCH_SETS = 64,      // descriptor sets per batch
  VULKAN_BATCH_DESCRIPTORS = 640,
  VULKAN_HAZARDS = 48,  // accesses remembered since the last barrier
  VULKAN_MAX_BINDINGS = 40,
  VULKAN_COMPUTE_STREAMS = 4,
  VULKAN_STREAMS = VULKAN_COMPUTE_STREAMS + 2,  // and one for copies to the device, one for copies from it
  VULKAN_PUSH_BYTES = 128  // parameters up to this size are push constants; equal to TSRI_SPV_PUSH_BYTES
};

// What discovery stores about a physical device.
typedef struct vulkan_physical {
  VkPhysicalDevice handle;
  VkPhysicalDeviceProperties properties;
  uint32_t family;          // queue family that runs kernels
  uint32_t queue_count;     // number of its queues
  uint32_t timestamp_bits;  // 0: no time stamps
  // A family that can do nothing but copy, the copy engines of a GPU; copy_queue_count is 0 if there is none.
  uint32_t copy_family, copy_queue_count, copy_timestamp_bits;
} vulkan_physical;

// The driver's queues that a device's streams use.
typedef struct vulkan_plan {
  uint32_t compute_count, copy_count;  // most streams for kernels (at least 1), and for copies
  size_t least_copy;                   // smaller copies stay where their queue's newest command is
  bool has_copy_family;                // the streams for copies use the queues of vulkan_physical.copy_family
  // For tests (TSRI_VULKAN_STREAMS=1): all streams use one VkQueue, and copies of any size go to the copy streams.
  bool shares_queue;
} vulkan_plan;

// Size of a cooperative matrix product: a is m x k, b is k x n. All 0: not supported.
typedef struct vulkan_matrix {
  uint32_t m, n, k;
} vulkan_matrix;

// Optional abilities of a physical device.
enum { VULKAN_NVIDIA = 0x10de };  // vendorID

typedef struct vulkan_features {
  bool f64, i64, i16, i8, f16, storage16, storage8;
  bool subgroups, fixes_subgroup_size, full_subgroups;
  bool memory_budget, push_descriptors, float_controls, driver_properties, subgroup_size_control, float16_int8,
      has_8bit, memory_model, cooperative, bfloat16, timeline, host_query_reset, robustness;
  uint32_t subgroup_size;
  vulkan_matrix f16_matrix, bf16_matrix;  // inputs f16 or bf16, sums in f32
  uint8_t keeps_denormals, keeps_nan, rounds_to_even;
} vulkan_features;

// A range of a buffer that a recorded command reads or writes.
typedef struct vulkan_access {
  VkBuffer buffer;
  VkDeviceSize begin, end;
  bool is_write;
} vulkan_access;

typedef struct vulkan_device vulkan_device;

// A point in the work of a device: for each stream the number of a batch; 0: none.
typedef struct vulkan_marks {
  uint64_t of[VULKAN_STREAMS];
} vulkan_marks;

typedef struct vulkan_batch {
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkFence fence;
  VkDescriptorPool sets;
  VkQueryPool times;  // time stamps of its beginning and end
  uint64_t value;     // its number, counted from 1; batches end in this order
  bool is_submitted;  // submitted, and not yet known to have ended
  int waiters;        // threads that wait for its fence
  uint32_t command_count, set_count, descriptor_count;
  vulkan_marks after;  // batches of other streams that it waits for
  // What the newest launch in it has bound (program.c).
  struct vulkan_bound {
    const struct vulkan_program *program;  // NULL: nothing
    VkDescriptorBufferInfo buffers[VULKAN_MAX_BINDINGS];
    unsigned char params[VULKAN_PUSH_BYTES];
  } bound;
} vulkan_batch;

// A sequence of batches. All members are protected by the device's lock.
typedef struct vulkan_stream {
  vulkan_device *device;
  uint32_t index;    // in vulkan_device.streams
  bool is_open;      // false: not created yet
  bool copies_only;  // its queue family neither runs kernels nor resets queries
  VkQueue queue;
  VkSemaphore
      ended;  // timeline: number of the newest batch that has ended. VK_NULL_HANDLE while the device has one stream
  vulkan_batch batches[VULKAN_BATCHES];
  vulkan_batch *open;              // the batch being recorded, or NULL
  uint64_t last_value, completed;  // numbers of the newest batch, and of the newest one that has ended
  uint64_t submitted;              // number of the newest one that was submitted without an error
  uint32_t batch_limit;            // current limit of commands per batch
  uint32_t enough;                 // commands of a batch that is submitted if the device is idle
  bool has_slow;                   // commands of the newest batch that has ended took more than SLOW_NS each
  vulkan_marks awaited;            // of other streams: batches that its newest batch comes after
  vulkan_access hazards[VULKAN_HAZARDS];
  uint32_t hazard_count;
} vulkan_stream;

// Host-visible memory for staging copies and large parameter blocks.
typedef struct vulkan_chunk {
  struct vulkan_chunk *next;
  VkBuffer buffer;
  VkDeviceMemory memory;
  char *host;
  size_t bytes, used;
  vulkan_marks marks;  // the last batches that use it
  uint64_t turn;       // when it was last used: a larger number is later
  uint32_t pins;       // users that still need it, such as readbacks that were not copied out yet
} vulkan_chunk;

typedef struct vulkan_pinned vulkan_pinned;

struct vulkan_device {
  vulkan_physical physical;
  vulkan_features features;
  vulkan_plan plan;
  tsri_vulkan_device_api vk;
  VkDevice handle;
  VkPipelineCache cache;
  char *cache_path;
  char name[TSR_NAME_BYTES];
  uint32_t memory_type, stage_type;  // indices of memory types
  uint32_t heap;
  bool is_mapped;  // the host can address buffers
  bool has_times;
  uint64_t timeout_ns;  // limit for waits inside calls
  atomic_bool is_lost;

  tsri_mutex lock;                        // protects all members below, and the VkQueues
  vulkan_stream streams[VULKAN_STREAMS];  // those for copies begin at VULKAN_COMPUTE_STREAMS
  uint32_t queue_count;                   // tsri_queues created so far
  vulkan_chunk *chunks, *chunk;           // all chunks; the one that small copies share
  size_t chunk_bytes;
  uint64_t chunk_turn;
  vulkan_pinned *pinned;  // host.c
};

typedef struct vulkan_buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  VkDeviceSize bytes;  // size, rounded up
  char *host;          // NULL: not mapped
} vulkan_buffer;

// A copy from a chunk to host memory, done by queue_wait.
typedef struct vulkan_readback {
  struct vulkan_readback *next;
  vulkan_chunk *chunk;
  size_t offset, bytes;
  void *to;
} vulkan_readback;

typedef struct vulkan_queue {
  vulkan_device *device;
  vulkan_stream *kernels;  // where its kernels, fills and copies within the device are recorded
  vulkan_stream *newest;   // where its newest command is
  bool is_first;           // the device's first queue, whose copies go to the same stream as its kernels
  vulkan_marks marks;      // its next command comes after these batches
  vulkan_readback *readbacks, **last_readback;
} vulkan_queue;

typedef struct vulkan_event {
  VkQueryPool time;    // VK_NULL_HANDLE without profiling
  vulkan_marks marks;  // all 0: never recorded, which counts as done
} vulkan_event;

typedef struct vulkan_program {
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
  uint32_t buffer_count, params_bytes;
  bool has_params_buffer, pushes_descriptors;
  vulkan_marks marks;  // batches that use it
} vulkan_program;

static inline vulkan_device *vulkan_device_of(tsri_device *device) { return (vulkan_device *)device; }
static inline vulkan_queue *vulkan_queue_of(tsri_queue *queue) { return (vulkan_queue *)queue; }
static inline vulkan_buffer *vulkan_buffer_of(tsri_buffer *buffer) { return (vulkan_buffer *)buffer; }

// --- error.c --------------------------------------------------------------------------------------------------------

// Returns a code's name, as "VK_ERROR_DEVICE_LOST", or "an unknown code".
const char *tsri_vulkan_code_name(VkResult code);

// Converts `code` to a status and sets the message: the device, what was tried, the code's number and name. Codes for
// exhausted memory and a lost device have their own statuses; all others become `otherwise`. `device` may be NULL.
#define VULKAN_FAIL(device, code, otherwise, what) \
  tsri_vulkan_fail_at((device), (code), (otherwise), TSRI_PLACE, (what))
tsr_status tsri_vulkan_fail_at(vulkan_device *device, VkResult code, tsr_status otherwise, const char *place,
                               const char *what);
// Returns TSR_ERR_DEVICE_LOST if the device was found lost.
tsr_status tsri_vulkan_check_lost(vulkan_device *device);

// --- device.c, features.c -------------------------------------------------------------------------------------------

TSRI_DECLARE_DRIVER(vulkan);

// Opens the library and an instance and lists the devices, best first. Does nothing if an earlier call succeeded.
tsr_status tsri_vulkan_start(const tsri_host *host);
void tsri_vulkan_stop(void);
PFN_vkVoidFunction tsri_vulkan_instance_function(const char *name);  // NULL: the function does not exist
bool tsri_vulkan_is_software(const vulkan_physical *physical);
bool tsri_vulkan_is_unified(const vulkan_physical *physical);

// Number of messages of the validation layer so far, or -1 if it is off. TSRI_VULKAN_VALIDATION=1 switches it on.
int tsri_vulkan_validation_count(void);

void tsri_vulkan_query_features(const vulkan_physical *physical, vulkan_features *out_features);
// Creates the logical device with every feature in `features` enabled, and the queues of `plan`.
VkResult tsri_vulkan_create_device(const vulkan_physical *physical, const vulkan_features *features,
                                   const vulkan_plan *plan, VkDevice *out_device);
void tsri_vulkan_memory_numbers(const vulkan_physical *physical, const vulkan_features *features, uint32_t *out_heap,
                                uint64_t *out_free, uint64_t *out_total);
uint64_t tsri_vulkan_max_buffer(const vulkan_physical *physical);
// Fills in names, UUID and driver.
void tsri_vulkan_describe(const vulkan_physical *physical, const vulkan_features *features, tsr_device_info *out_info);

// --- buffer.c -------------------------------------------------------------------------------------------------------

bool tsri_vulkan_choose_memory(vulkan_device *device);
tsr_status tsri_vulkan_allocate(vulkan_device *device, VkDeviceSize bytes, uint32_t memory_type, bool maps,
                                vulkan_buffer *out_buffer);
void tsri_vulkan_free(vulkan_device *device, vulkan_buffer *buffer);
void *tsri_vulkan_buffer_host(tsri_device *device, tsri_buffer *buffer);

// --- stream.c: one stream. With the device's lock held ----------------------------------------------------------------

tsr_status tsri_vulkan_stream_init(vulkan_stream *stream, uint32_t family, VkQueue queue);
void tsri_vulkan_stream_deinit(vulkan_stream *stream);  // accepts a partly initialised one; its work must have ended
// Returns the batch to record the queue's next command into, with room for one more command and `descriptors` more descriptors. It
// comes after everything in queue->marks, which then include it. Submits a full batch and opens a new one as needed.
tsr_status tsri_vulkan_stream_begin(vulkan_stream *stream, vulkan_queue *queue, uint32_t descriptors,
                                    vulkan_batch **out_batch);
// Call before recording a command: inserts a barrier if the command accesses what an earlier one wrote, or writes what
// an earlier one reads.
void tsri_vulkan_stream_touch(vulkan_stream *stream, const vulkan_access *accesses, uint32_t count);
// Call after recording a command: counts it, and submits the batch if it is full.
tsr_status tsri_vulkan_stream_end(vulkan_stream *stream);
tsr_status tsri_vulkan_stream_submit(vulkan_stream *stream);  // does nothing if no batch is open
void tsri_vulkan_stream_retire(vulkan_stream *stream);        // finds out which batches have ended
// Waits until batch `value` has ended, after submitting it if necessary. The lock is released during the wait.
tsr_status tsri_vulkan_stream_wait(vulkan_stream *stream, uint64_t value, uint64_t timeout_ns);

// --- streams.c: all streams of a device. With the lock held, unless said otherwise ------------------------------------

// Which streams a device may have. has_times: it will be asked for the times of events.
vulkan_plan tsri_vulkan_streams_plan(const vulkan_physical *physical, const vulkan_features *features, bool has_times);
tsr_status tsri_vulkan_streams_init(vulkan_device *device);  // creates the first stream
void tsri_vulkan_streams_deinit(vulkan_device *device);
// Chooses the streams of a new queue, and creates those that are missing.
tsr_status tsri_vulkan_streams_choose(vulkan_device *device, vulkan_queue *queue);
// The stream for a copy of `bytes` from or to the host.
vulkan_stream *tsri_vulkan_stream_for_copy(const vulkan_queue *queue, bool to_device, size_t bytes);
void tsri_vulkan_streams_retire(vulkan_device *device);
bool tsri_vulkan_streams_are_idle(vulkan_device *device);
// Submits the recorded commands of every stream that is idle, so that the device works while the host continues.
tsr_status tsri_vulkan_streams_feed(vulkan_device *device);

void tsri_vulkan_marks_add(vulkan_marks *marks, const vulkan_marks *more);  // the later ones of both
bool tsri_vulkan_is_past(const vulkan_device *device, const vulkan_marks *marks);
tsr_status tsri_vulkan_submit_up_to(vulkan_device *device, const vulkan_marks *marks);
// Waits until these batches have ended, after submitting them if necessary. Call without the lock.
tsr_status tsri_vulkan_wait(vulkan_device *device, const vulkan_marks *marks, uint64_t timeout_ns);

// --- stage.c: with the lock held ------------------------------------------------------------------------------------

// Reserves `bytes` in a chunk, at a multiple of 16, pinned until tsri_vulkan_stage_used says which batches use them. If
// many copies are under way, it may wait for earlier ones.
tsr_status tsri_vulkan_stage(vulkan_device *device, size_t bytes, vulkan_chunk **out_chunk, size_t *out_offset);
void tsri_vulkan_stage_used(vulkan_device *device, vulkan_chunk *chunk, const vulkan_marks *marks);
void tsri_vulkan_stage_trim(vulkan_device *device, bool all);

// --- host.c -----------------------------------------------------------------------------------------------------------

tsr_status tsri_vulkan_host_alloc(tsri_device *opaque, size_t bytes, void **out_memory);
void tsri_vulkan_host_free(tsri_device *opaque, void *memory);

// Returns the pinned buffer that contains these bytes of host memory, and their offset in it; VK_NULL_HANDLE: no buffer does. With the lock held.
VkBuffer tsri_vulkan_host_find(const vulkan_device *device, const void *memory, size_t bytes, size_t *out_offset);

// --- queue.c, copy.c ------------------------------------------------------------------------------------------------

// Copies the readbacks from their chunks to their destinations, or drops them if `copies` is false.
void tsri_vulkan_finish_readbacks(vulkan_queue *queue, bool copies);

// --- cooperative.c: cooperative matrices ----------------------------------------------------------------------------

// Fills in f16_matrix and bf16_matrix; the other features must be known already.
void tsri_vulkan_query_matrices(const vulkan_physical *physical, vulkan_features *features);

#endif
#endif
