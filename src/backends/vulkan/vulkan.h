// SPDX-License-Identifier: MIT
// Declarations shared by the files of the Vulkan backend.
//
// All queues of a device record into one stream of commands. It is divided into batches, which run on a single Vulkan
// queue in the order of recording. A tsri_queue is therefore little more than the number of its last batch, and events
// need no semaphores.
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
  VULKAN_PUSH_BYTES = 128  // parameters up to this size are push constants; equal to TSRI_SPV_PUSH_BYTES
};

// What discovery stores about a physical device.
typedef struct vulkan_physical {
  VkPhysicalDevice handle;
  VkPhysicalDeviceProperties properties;
  uint32_t family;  // queue family to use
  uint32_t timestamp_bits;
} vulkan_physical;

// Size of a cooperative matrix product: a is m x k, b is k x n. All 0: not supported.
typedef struct vulkan_matrix {
  uint32_t m, n, k;
} vulkan_matrix;

// Optional abilities of a physical device.
typedef struct vulkan_features {
  bool f64, i64, i16, i8, f16, storage16, storage8;
  bool subgroups, fixes_subgroup_size, full_subgroups;
  bool memory_budget, push_descriptors, float_controls, driver_properties, subgroup_size_control, float16_int8,
      has_8bit, memory_model, cooperative, bfloat16;
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
} vulkan_batch;

// Host-visible memory for staging copies and large parameter blocks.
typedef struct vulkan_chunk {
  struct vulkan_chunk *next;
  VkBuffer buffer;
  VkDeviceMemory memory;
  char *host;
  size_t bytes, used;
  uint64_t value;  // number of the last batch that uses it
  uint32_t pins;   // users that still need it, such as readbacks that were not copied out yet
} vulkan_chunk;

typedef struct vulkan_pinned vulkan_pinned;

typedef struct vulkan_device {
  vulkan_physical physical;
  vulkan_features features;
  tsri_vulkan_device_api vk;
  VkDevice handle;
  VkQueue queue;
  VkPipelineCache cache;
  char *cache_path;
  char name[TSR_NAME_BYTES];
  uint32_t memory_type, stage_type;  // indices of memory types
  uint32_t heap;
  bool is_mapped;  // the host can address buffers
  bool has_times;
  uint64_t timeout_ns;  // limit for waits inside calls
  atomic_bool is_lost;

  tsri_mutex lock;  // protects `queue` and all members below
  vulkan_batch batches[VULKAN_BATCHES];
  vulkan_batch *open;              // the batch being recorded, or NULL
  uint64_t last_value, completed;  // numbers of the newest batch, and of the newest one that has ended
  uint32_t batch_limit;            // current limit of commands per batch
  vulkan_access hazards[VULKAN_HAZARDS];
  uint32_t hazard_count;
  vulkan_chunk *chunks, *chunk;  // all chunks; the one that small copies share
  size_t chunk_bytes;
  vulkan_pinned *pinned;  // host.c
} vulkan_device;

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
  uint64_t last_value;  // number of its newest command's batch
  vulkan_readback *readbacks, **last_readback;
} vulkan_queue;

typedef struct vulkan_event {
  VkQueryPool time;  // VK_NULL_HANDLE without profiling
  uint64_t value;    // number of the batch; 0: never recorded, which counts as done
} vulkan_event;

typedef struct vulkan_program {
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
  uint32_t buffer_count, params_bytes;
  bool has_params_buffer, pushes_descriptors;
  uint64_t last_value;
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
const vulkan_physical *tsri_vulkan_physical(int index);
PFN_vkVoidFunction tsri_vulkan_instance_function(const char *name);  // NULL: the function does not exist
bool tsri_vulkan_is_software(const vulkan_physical *physical);
bool tsri_vulkan_is_unified(const vulkan_physical *physical);

// Number of messages of the validation layer so far, or -1 if it is off. TSRI_VULKAN_VALIDATION=1 switches it on.
int tsri_vulkan_validation_count(void);

void tsri_vulkan_query_features(const vulkan_physical *physical, vulkan_features *out_features);
// Creates the logical device with every feature in `features` enabled.
VkResult tsri_vulkan_create_device(const vulkan_physical *physical, const vulkan_features *features,
                                   VkDevice *out_device);
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

// --- stream.c: with the device's lock held, but for wait ------------------------------------------------------------

tsr_status tsri_vulkan_stream_init(vulkan_device *device);
void tsri_vulkan_stream_deinit(vulkan_device *device);
// Returns the batch to record into, with room for one more command and `descriptors` more descriptors; submits a full
// batch and opens a new one as needed.
tsr_status tsri_vulkan_stream_begin(vulkan_device *device, uint32_t descriptors, vulkan_batch **out_batch);
// Call before recording a command: inserts a barrier if the command accesses what an earlier one wrote, or writes what
// an earlier one reads.
void tsri_vulkan_stream_touch(vulkan_device *device, const vulkan_access *accesses, uint32_t count);
// Call after recording a command: counts it, and submits the batch if it is full.
tsr_status tsri_vulkan_stream_end(vulkan_device *device);
tsr_status tsri_vulkan_stream_submit(vulkan_device *device);  // does nothing if no batch is open
void tsri_vulkan_stream_retire(vulkan_device *device);        // finds out which batches have ended
bool tsri_vulkan_stream_is_idle(vulkan_device *device);
// Waits until batch `value` has ended, after submitting it if necessary. Call without the lock.
tsr_status tsri_vulkan_stream_wait(vulkan_device *device, uint64_t value, uint64_t timeout_ns);

// --- stage.c: with the lock held ------------------------------------------------------------------------------------

// Reserves `bytes` in a chunk, at a multiple of 16, pinned until tsri_vulkan_stage_used says which batch uses them (0:
// none). If many copies are under way, it may wait for earlier ones.
tsr_status tsri_vulkan_stage(vulkan_device *device, size_t bytes, vulkan_chunk **out_chunk, size_t *out_offset);
void tsri_vulkan_stage_used(vulkan_chunk *chunk, uint64_t value);
void tsri_vulkan_stage_trim(vulkan_device *device, bool all);

// --- host.c -----------------------------------------------------------------------------------------------------------

tsr_status tsri_vulkan_host_alloc(tsri_device *device, size_t bytes, void **out_memory);
void tsri_vulkan_host_free(tsri_device *device, void *memory);

// The buffer of pinned memory in which these bytes are, and their offset in it; VK_NULL_HANDLE: they are in none. With the lock held.
VkBuffer tsri_vulkan_host_find(const vulkan_device *device, const void *memory, size_t bytes, size_t *out_offset);

// --- queue.c, copy.c ------------------------------------------------------------------------------------------------

// Copies the readbacks from their chunks to their destinations, or drops them if `copies` is false.
void tsri_vulkan_finish_readbacks(vulkan_queue *queue, bool copies);

// --- cooperative.c: cooperative matrices ----------------------------------------------------------------------------

// Fills in f16_matrix and bf16_matrix; the other features must be known already.
void tsri_vulkan_query_matrices(const vulkan_physical *physical, vulkan_features *features);

#endif
#endif
