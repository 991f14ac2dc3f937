// SPDX-License-Identifier: MIT
// Our own declarations of the part of webgpu.h that native.c uses: layouts, numbers and entry points as in Dawn and
// wgpu-native since they use string views and futures (2025).
//
// native.c has a table of the remaining differences between libraries.
#ifndef TSRI_WEBGPU_ABI_H
#define TSRI_WEBGPU_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct tsri_wgpu_opaque *wgpu_object;  // any handle

#define WGPU_STRLEN SIZE_MAX  // length of a text that ends with a NUL

typedef struct wgpu_text {
  const char *data;
  size_t length;
} wgpu_text;

typedef struct wgpu_chain {
  const struct wgpu_chain *next;
  uint32_t type;
} wgpu_chain;

typedef struct wgpu_future {
  uint64_t id;
} wgpu_future;

enum { WGPU_MODE_PROCESS_EVENTS = 2, WGPU_MODE_SPONTANEOUS = 3 };
enum { WGPU_TYPE_SHADER_WGSL = 2 };
enum { WGPU_SUCCESS = 1 };  // the status that callbacks get on success

enum { WGPU_ERROR_NONE = 1, WGPU_ERROR_VALIDATION = 2, WGPU_ERROR_OUT_OF_MEMORY = 3 };
enum { WGPU_FILTER_VALIDATION = 1, WGPU_FILTER_OUT_OF_MEMORY = 2, WGPU_FILTER_INTERNAL = 3 };

enum { WGPU_BACKEND_NULL = 1, WGPU_BACKEND_D3D12 = 4, WGPU_BACKEND_METAL = 5, WGPU_BACKEND_VULKAN = 6 };
enum { WGPU_ADAPTER_DISCRETE = 1, WGPU_ADAPTER_INTEGRATED = 2, WGPU_ADAPTER_CPU = 3 };
enum { WGPU_LEVEL_CORE = 2, WGPU_POWER_HIGH = 2 };

enum {
  WGPU_USAGE_MAP_READ = 0x1,
  WGPU_USAGE_COPY_SRC = 0x4,
  WGPU_USAGE_COPY_DST = 0x8,
  WGPU_USAGE_UNIFORM = 0x40,
  WGPU_USAGE_STORAGE = 0x80
};
enum { WGPU_MAP_READ = 1 };
enum { WGPU_STAGE_COMPUTE = 4 };
enum { WGPU_BINDING_UNIFORM = 2, WGPU_BINDING_STORAGE = 3, WGPU_BINDING_READ_ONLY = 4 };

// --- Callbacks ------------------------------------------------------------------------------------------------------

// For adapters, devices and pipelines. The object is NULL on failure.
typedef void (*wgpu_object_callback)(uint32_t status, wgpu_object object, wgpu_text message, void *user1, void *user2);
typedef void (*wgpu_status_callback)(uint32_t status, wgpu_text message, void *user1, void *user2);
typedef void (*wgpu_done_callback)(uint32_t status, void *user1, void *user2);  // older libraries pass no message
typedef void (*wgpu_scope_callback)(uint32_t status, uint32_t type, wgpu_text message, void *user1, void *user2);
typedef void (*wgpu_error_callback)(const wgpu_object *device, uint32_t type, wgpu_text message, void *user1,
                                    void *user2);

// How a callback is passed. Its function type depends on the call.
typedef struct wgpu_callback_info {
  const wgpu_chain *next;
  uint32_t mode;
  void (*callback)(void);
  void *user1, *user2;
} wgpu_callback_info;

typedef struct wgpu_error_callback_info {
  const wgpu_chain *next;
  wgpu_error_callback callback;
  void *user1, *user2;
} wgpu_error_callback_info;

// --- Descriptors ----------------------------------------------------------------------------------------------------

typedef struct wgpu_adapter_options {
  const wgpu_chain *next;
  uint32_t level, power, is_fallback, backend;
  wgpu_object surface;
} wgpu_adapter_options;

// Dawn's chained struct of toggles, for an adapter or a device.
typedef struct wgpu_toggles {
  wgpu_chain chain;
  size_t enabled_count;
  const char *const *enabled;
  size_t disabled_count;
  const char *const *disabled;
} wgpu_toggles;

typedef struct wgpu_limits {
  const wgpu_chain *next;
  uint32_t textures[4], bind_groups, bind_groups_and_vertex_buffers, bindings_per_group;
  uint32_t dynamic_uniform_buffers, dynamic_storage_buffers, sampled_textures, samplers;
  uint32_t storage_buffers, storage_textures, uniform_buffers;
  uint64_t uniform_binding_bytes, storage_binding_bytes;
  uint32_t uniform_alignment, storage_alignment, vertex_buffers;
  uint64_t buffer_bytes;
  uint32_t vertex_attributes, vertex_stride, inter_stage, color_attachments, color_bytes;
  uint32_t group_storage_bytes, group_items, group_size[3], groups;
  uint32_t more[32];  // limits of newer libraries, passed back unchanged
} wgpu_limits;

typedef struct wgpu_adapter_info {
  wgpu_chain *next;
  wgpu_text vendor, architecture, device, description;
  uint32_t backend, type, vendor_id, device_id, subgroup_min, subgroup_max;
  uint32_t more[16];
} wgpu_adapter_info;

// Dawn's sizes of subgroup matrices: m x k times k x n. Chained to wgpu_adapter_info.
typedef struct wgpu_matrix_config {
  uint32_t component, result, m, n, k;
} wgpu_matrix_config;

enum { WGPU_MATRIX_F32 = 1, WGPU_MATRIX_F16 = 2 };

typedef struct wgpu_matrix_configs {
  wgpu_chain chain;
  size_t count;
  const wgpu_matrix_config *configs;
} wgpu_matrix_configs;

typedef struct wgpu_device_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  size_t feature_count;
  const uint32_t *features;
  const wgpu_limits *limits;
  struct {
    const wgpu_chain *next;
    wgpu_text label;
  } queue;
  wgpu_callback_info lost;  // callback(const device *, reason, message, …): same registers as a scope callback
  wgpu_error_callback_info error;
} wgpu_device_descriptor;

typedef void (*wgpu_lost_callback)(const wgpu_object *device, uint32_t reason, wgpu_text message, void *user1,
                                   void *user2);

typedef struct wgpu_buffer_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  uint64_t usage, bytes;
  uint32_t is_mapped;
} wgpu_buffer_descriptor;

// The kinds of binding in a layout entry. Samplers and textures are not used, so their parts stay zero.
typedef struct wgpu_layout_kinds {
  struct {
    const wgpu_chain *next;
    uint32_t type, has_dynamic_offset;
    uint64_t min_bytes;
  } buffer;
  struct {
    const wgpu_chain *next;
    uint32_t type;
  } sampler;
  struct {
    const wgpu_chain *next;
    uint32_t type, dimension, is_multisampled;
  } texture;
  struct {
    const wgpu_chain *next;
    uint32_t access, format, dimension;
  } storage_texture;
} wgpu_layout_kinds;

typedef struct wgpu_layout_entry {
  const wgpu_chain *next;
  uint32_t binding;
  uint64_t visibility;
  uint32_t array_size;
  wgpu_layout_kinds kinds;
} wgpu_layout_entry;

// The layout until May 2025.
typedef struct wgpu_old_layout_entry {
  const wgpu_chain *next;
  uint32_t binding;
  uint64_t visibility;
  wgpu_layout_kinds kinds;
} wgpu_old_layout_entry;

typedef struct wgpu_layout_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  size_t count;
  const void *entries;  // wgpu_layout_entry or wgpu_old_layout_entry
} wgpu_layout_descriptor;

typedef struct wgpu_pipeline_layout_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  size_t count;
  const wgpu_object *layouts;
  uint32_t immediate_bytes;
} wgpu_pipeline_layout_descriptor;

typedef struct wgpu_group_entry {
  const wgpu_chain *next;
  uint32_t binding;
  wgpu_object buffer;
  uint64_t offset, bytes;
  wgpu_object sampler, texture;
} wgpu_group_entry;

typedef struct wgpu_group_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  wgpu_object layout;
  size_t count;
  const wgpu_group_entry *entries;
} wgpu_group_descriptor;

typedef struct wgpu_shader_text {
  wgpu_chain chain;
  wgpu_text code;
} wgpu_shader_text;

typedef struct wgpu_labelled {  // shader modules, encoders, command buffers
  const wgpu_chain *next;
  wgpu_text label;
} wgpu_labelled;

typedef struct wgpu_pass_times {
  const wgpu_chain *next;
  wgpu_object set;
  uint32_t beginning, end;  // numbers of the stamps that are written then; UINT32_MAX: none
} wgpu_pass_times;

typedef struct wgpu_pass_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  const wgpu_pass_times *times;
} wgpu_pass_descriptor;

typedef struct wgpu_query_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  uint32_t type, count;
} wgpu_query_descriptor;

typedef struct wgpu_pipeline_descriptor {
  const wgpu_chain *next;
  wgpu_text label;
  wgpu_object layout;
  struct {
    const wgpu_chain *next;
    wgpu_object module;
    wgpu_text entry;
    size_t constant_count;
    const void *constants;
  } compute;
} wgpu_pipeline_descriptor;

// --- Entry points: result, name, arguments --------------------------------------------------------------------------

#define WGPU_ENTRY_POINTS(X)                                                                                       \
  X(wgpu_object, CreateInstance, (const void *descriptor))                                                         \
  X(void, InstanceRelease, (wgpu_object))                                                                          \
  X(void, InstanceProcessEvents, (wgpu_object))                                                                    \
  X(wgpu_future, InstanceRequestAdapter, (wgpu_object, const wgpu_adapter_options *, wgpu_callback_info))          \
  X(uint32_t, AdapterGetInfo, (wgpu_object, wgpu_adapter_info *))                                                  \
  X(void, AdapterInfoFreeMembers, (wgpu_adapter_info))                                                             \
  X(uint32_t, AdapterGetLimits, (wgpu_object, wgpu_limits *))                                                      \
  X(uint32_t, AdapterHasFeature, (wgpu_object, uint32_t))                                                          \
  X(wgpu_future, AdapterRequestDevice, (wgpu_object, const wgpu_device_descriptor *, wgpu_callback_info))          \
  X(void, AdapterRelease, (wgpu_object))                                                                           \
  X(wgpu_object, DeviceGetQueue, (wgpu_object))                                                                    \
  X(wgpu_object, DeviceCreateBuffer, (wgpu_object, const wgpu_buffer_descriptor *))                                \
  X(wgpu_object, DeviceCreateBindGroupLayout, (wgpu_object, const wgpu_layout_descriptor *))                       \
  X(wgpu_object, DeviceCreatePipelineLayout, (wgpu_object, const wgpu_pipeline_layout_descriptor *))               \
  X(wgpu_object, DeviceCreateBindGroup, (wgpu_object, const wgpu_group_descriptor *))                              \
  X(wgpu_object, DeviceCreateShaderModule, (wgpu_object, const wgpu_labelled *))                                   \
  X(wgpu_object, DeviceCreateComputePipeline, (wgpu_object, const wgpu_pipeline_descriptor *))                     \
  X(wgpu_object, DeviceCreateCommandEncoder, (wgpu_object, const wgpu_labelled *))                                 \
  X(wgpu_object, DeviceCreateQuerySet, (wgpu_object, const wgpu_query_descriptor *))                               \
  X(void, DevicePushErrorScope, (wgpu_object, uint32_t))                                                           \
  X(wgpu_future, DevicePopErrorScope, (wgpu_object, wgpu_callback_info))                                           \
  X(void, DeviceDestroy, (wgpu_object))                                                                            \
  X(void, DeviceRelease, (wgpu_object))                                                                            \
  X(void, BufferDestroy, (wgpu_object))                                                                            \
  X(void, BufferRelease, (wgpu_object))                                                                            \
  X(wgpu_future, BufferMapAsync, (wgpu_object, uint64_t, size_t, size_t, wgpu_callback_info))                      \
  X(const void *, BufferGetConstMappedRange, (wgpu_object, size_t, size_t))                                        \
  X(void, BufferUnmap, (wgpu_object))                                                                              \
  X(void, BindGroupLayoutRelease, (wgpu_object))                                                                   \
  X(void, PipelineLayoutRelease, (wgpu_object))                                                                    \
  X(void, BindGroupRelease, (wgpu_object))                                                                         \
  X(void, ShaderModuleRelease, (wgpu_object))                                                                      \
  X(void, ComputePipelineRelease, (wgpu_object))                                                                   \
  X(wgpu_object, CommandEncoderBeginComputePass, (wgpu_object, const wgpu_pass_descriptor *))                      \
  X(void, CommandEncoderCopyBufferToBuffer, (wgpu_object, wgpu_object, uint64_t, wgpu_object, uint64_t, uint64_t)) \
  X(void, CommandEncoderResolveQuerySet, (wgpu_object, wgpu_object, uint32_t, uint32_t, wgpu_object, uint64_t))    \
  X(wgpu_object, CommandEncoderFinish, (wgpu_object, const wgpu_labelled *))                                       \
  X(void, CommandEncoderRelease, (wgpu_object))                                                                    \
  X(void, CommandBufferRelease, (wgpu_object))                                                                     \
  X(void, ComputePassEncoderSetPipeline, (wgpu_object, wgpu_object))                                               \
  X(void, ComputePassEncoderSetBindGroup, (wgpu_object, uint32_t, wgpu_object, size_t, const uint32_t *))          \
  X(void, ComputePassEncoderDispatchWorkgroups, (wgpu_object, uint32_t, uint32_t, uint32_t))                       \
  X(void, ComputePassEncoderEnd, (wgpu_object))                                                                    \
  X(void, ComputePassEncoderRelease, (wgpu_object))                                                                \
  X(void, QuerySetRelease, (wgpu_object))                                                                          \
  X(void, QueueSubmit, (wgpu_object, size_t, const wgpu_object *))                                                 \
  X(void, QueueWriteBuffer, (wgpu_object, wgpu_object, uint64_t, const void *, size_t))                            \
  X(wgpu_future, QueueOnSubmittedWorkDone, (wgpu_object, wgpu_callback_info))                                      \
  X(void, QueueRelease, (wgpu_object))

#endif
