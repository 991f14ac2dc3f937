// SPDX-License-Identifier: MIT
// Programs: compute pipelines built from SPIR-V, and their launches.
#include "backends/vulkan/robustness.h"
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <string.h>

#include "core/alloc.h"

enum { SPIRV_MAGIC = 0x07230203 };

// --- Building -------------------------------------------------------------------------------------------------------

static tsr_status check_code(const vulkan_device *device, const tsri_code *code) {
  const VkPhysicalDeviceLimits *l = &device->physical.properties.limits;
  uint32_t most = l->maxPerStageDescriptorStorageBuffers, first = 0;
  uint32_t bindings = code->buffer_count + (code->params_bytes > VULKAN_PUSH_BYTES);
  if (code->form != TSRI_CODE_WORDS) return TSRI_FAIL(TSR_ERR_BUILD, "%s: Vulkan takes SPIR-V words only", code->name);
  if (code->data_bytes >= sizeof first) memcpy(&first, code->data, sizeof first);
  if (code->data_bytes < 20 || code->data_bytes % 4 != 0 || first != SPIRV_MAGIC) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %zu bytes that are no SPIR-V module", code->name, code->data_bytes);
  }
  if (bindings > most || bindings > VULKAN_MAX_BINDINGS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers, %s allows %u", code->name, bindings, device->name,
                     most < VULKAN_MAX_BINDINGS ? most : VULKAN_MAX_BINDINGS);
  }
  if (code->shared_bytes > l->maxComputeSharedMemorySize) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u bytes of shared memory, %s has %u", code->name, code->shared_bytes,
                     device->name, l->maxComputeSharedMemorySize);
  }
  uint64_t items = (uint64_t)code->local[0] * code->local[1] * code->local[2];
  for (int i = 0; i < 3; i++) {
    if (code->local[i] > l->maxComputeWorkGroupSize[i]) items = UINT64_MAX;
  }
  if (items > l->maxComputeWorkGroupInvocations) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: groups of %ux%ux%u items, %s allows %u in all and %ux%ux%u", code->name,
                     code->local[0], code->local[1], code->local[2], device->name, l->maxComputeWorkGroupInvocations,
                     l->maxComputeWorkGroupSize[0], l->maxComputeWorkGroupSize[1], l->maxComputeWorkGroupSize[2]);
  }
  return TSR_OK;
}

static VkResult create_layouts(vulkan_device *device, vulkan_program *program) {
  VkDescriptorSetLayoutBinding bindings[VULKAN_MAX_BINDINGS];
  uint32_t count = program->buffer_count + program->has_params_buffer;
  for (uint32_t i = 0; i < count; i++) {
    bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                 .descriptorCount = 1,
                                                 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  }
  enum { ALWAYS_PUSHABLE = 32 };  // the smallest limit that the extension allows
  program->pushes_descriptors = device->features.push_descriptors && count <= ALWAYS_PUSHABLE;
  VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .flags = program->pushes_descriptors ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
      .bindingCount = count,
      .pBindings = bindings};
  VkResult result = device->vk.CreateDescriptorSetLayout(device->handle, &set, NULL, &program->set_layout);
  if (result != VK_SUCCESS) return result;
  bool pushes = program->params_bytes > 0 && !program->has_params_buffer;
  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, program->params_bytes};
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &program->set_layout,
                                       .pushConstantRangeCount = pushes,
                                       .pPushConstantRanges = &range};
  return device->vk.CreatePipelineLayout(device->handle, &layout, NULL, &program->layout);
}

// Creates the pipeline. If the device supports several subgroup sizes, the pipeline requests the one that the code was emitted for. Robustness is switched off,
// since kernels check their indices where they have to.
static VkResult create_pipeline(vulkan_device *device, const tsri_code *code, vulkan_program *program) {
  const vulkan_features *f = &device->features;
  VkShaderModuleCreateInfo words = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code->data_bytes, .pCode = code->data};
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = device->vk.CreateShaderModule(device->handle, &words, NULL, &module);
  if (result != VK_SUCCESS) return result;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
      .requiredSubgroupSize = f->subgroup_size};
  bool is_full = f->subgroups && f->full_subgroups && code->local[0] % f->subgroup_size == 0;
  const vulkan_robustness_create_info no_checks = {.sType = VULKAN_ROBUSTNESS_CREATE_INFO,
                                                   .storage_buffers = VULKAN_ROBUSTNESS_DISABLED,
                                                   .uniform_buffers = VULKAN_ROBUSTNESS_DISABLED,
                                                   .vertex_inputs = VULKAN_ROBUSTNESS_DISABLED,
                                                   .images = VULKAN_ROBUSTNESS_DISABLED};
  VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = f->robustness ? &no_checks : NULL,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = f->subgroups && f->fixes_subgroup_size ? &size : NULL,
                .flags = is_full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = code->name},
      .layout = program->layout};
  result = device->vk.CreateComputePipelines(device->handle, device->cache, 1, &info, NULL, &program->pipeline);
  device->vk.DestroyShaderModule(device->handle, module, NULL);
  return result;
}

static void destroy_parts(vulkan_device *device, vulkan_program *program) {
  if (program->pipeline) device->vk.DestroyPipeline(device->handle, program->pipeline, NULL);
  if (program->layout) device->vk.DestroyPipelineLayout(device->handle, program->layout, NULL);
  if (program->set_layout) device->vk.DestroyDescriptorSetLayout(device->handle, program->set_layout, NULL);
  tsri_free(program);
}

tsr_status tsri_vulkan_program_create(tsri_device *opaque, const tsri_code *code, tsri_program **out_program) {
  vulkan_device *device = vulkan_device_of(opaque);
  tsr_status status = check_code(device, code);
  if (status == TSR_OK) status = tsri_vulkan_check_lost(device);
  if (status != TSR_OK) return status;
  vulkan_program *program = tsri_calloc(1, sizeof *program);
  if (!program) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  program->buffer_count = code->buffer_count;
  program->params_bytes = code->params_bytes;
  program->has_params_buffer = code->params_bytes > VULKAN_PUSH_BYTES;
  VkResult result = create_layouts(device, program);
  if (result == VK_SUCCESS) result = create_pipeline(device, code, program);
  if (result != VK_SUCCESS) {
    destroy_parts(device, program);
    return VULKAN_FAIL(device, result, TSR_ERR_BUILD, code->name);
  }
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

void tsri_vulkan_program_destroy(tsri_device *opaque, tsri_program *opaque_program) {
  vulkan_device *device = vulkan_device_of(opaque);
  vulkan_program *program = (vulkan_program *)opaque_program;
  (void)tsri_vulkan_wait(device, &program->marks, UINT64_MAX);
  destroy_parts(device, program);
}

// --- Launching ------------------------------------------------------------------------------------------------------

// The buffers of a launch, and the accesses that the stream must know of.
typedef struct bindings {
  VkDescriptorBufferInfo buffers[VULKAN_MAX_BINDINGS];
  vulkan_access accesses[VULKAN_MAX_BINDINGS];
  uint32_t count;
} bindings;

// Rounds the range up to a multiple of 16, since shaders read whole words and vectors. Buffers are padded accordingly.
static void add_binding(bindings *b, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes, bool is_written) {
  uint32_t i = b->count++;
  VkDeviceSize range = (bytes + 15) & ~(VkDeviceSize)15;
  b->buffers[i] = (VkDescriptorBufferInfo){buffer, offset, range};
  b->accesses[i] = (vulkan_access){buffer, offset, offset + range, is_written};
}

static tsr_status take_set(vulkan_device *device, vulkan_batch *batch, const vulkan_program *program, uint32_t count,
                           VkDescriptorSet *out_set) {
  VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = batch->sets,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &program->set_layout};
  VkResult result = device->vk.AllocateDescriptorSets(device->handle, &info, out_set);
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_LAUNCH, "vkAllocateDescriptorSets");
  batch->set_count++;
  batch->descriptor_count += count;
  return TSR_OK;
}

static tsr_status bind_buffers(vulkan_device *device, vulkan_batch *batch, const vulkan_program *program,
                               const bindings *b) {
  const tsri_vulkan_device_api *vk = &device->vk;
  VkWriteDescriptorSet writes[VULKAN_MAX_BINDINGS];
  VkDescriptorSet set = VK_NULL_HANDLE;
  if (!program->pushes_descriptors) {
    tsr_status status = take_set(device, batch, program, b->count, &set);
    if (status != TSR_OK) return status;
  }
  for (uint32_t i = 0; i < b->count; i++) {
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &b->buffers[i]};
  }
  if (program->pushes_descriptors) {
    vk->CmdPushDescriptorSetKHR(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, program->layout, 0, b->count, writes);
    return TSR_OK;
  }
  vk->UpdateDescriptorSets(device->handle, b->count, writes, 0, NULL);
  vk->CmdBindDescriptorSets(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, program->layout, 0, 1, &set, 0, NULL);
  return TSR_OK;
}

// Binds the pipeline, the buffers and the parameters. Bindings stay valid in a command buffer, so it skips those that the launch before has made.
static tsr_status bind(vulkan_device *device, vulkan_batch *batch, const vulkan_program *program, const bindings *b,
                       const void *params) {
  const tsri_vulkan_device_api *vk = &device->vk;
  struct vulkan_bound *bound = &batch->bound;
  uint32_t pushed_bytes = program->has_params_buffer ? 0 : program->params_bytes;
  size_t buffer_bytes = b->count * sizeof b->buffers[0];
  bool is_bound = bound->program == program;
  if (!is_bound) vk->CmdBindPipeline(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, program->pipeline);
  bound->program = NULL;  // until all is bound
  if (b->count > 0 && !(is_bound && memcmp(bound->buffers, b->buffers, buffer_bytes) == 0)) {
    tsr_status status = bind_buffers(device, batch, program, b);
    if (status != TSR_OK) return status;
    memcpy(bound->buffers, b->buffers, buffer_bytes);
  }
  if (pushed_bytes > 0 && !(is_bound && memcmp(bound->params, params, pushed_bytes) == 0)) {
    vk->CmdPushConstants(batch->commands, program->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, pushed_bytes, params);
    memcpy(bound->params, params, pushed_bytes);
  }
  bound->program = program;
  return TSR_OK;
}

static tsr_status record_launch(vulkan_queue *queue, vulkan_program *program, const tsri_launch *launch,
                                const bindings *b) {
  vulkan_device *device = queue->device;
  vulkan_batch *batch = NULL;
  vulkan_stream *stream = queue->kernels;
  tsr_status status = tsri_vulkan_stream_begin(stream, queue, b->count, &batch);
  if (status == TSR_OK) status = bind(device, batch, program, b, launch->params);
  if (status != TSR_OK) return status;
  tsri_vulkan_stream_touch(stream, b->accesses, b->count);
  device->vk.CmdDispatch(batch->commands, launch->groups[0], launch->groups[1], launch->groups[2]);
  program->marks.of[stream->index] = batch->value;
  return tsri_vulkan_stream_end(stream);
}

// Copies parameters that are too large for push constants into a chunk, at an offset that can be bound.
static tsr_status stage_params(vulkan_device *device, const vulkan_program *program, const void *params,
                               vulkan_chunk **out_chunk, size_t *out_offset) {
  size_t alignment = (size_t)device->physical.properties.limits.minStorageBufferOffsetAlignment;
  if (alignment < 16) alignment = 16;
  tsr_status status = tsri_vulkan_stage(device, program->params_bytes + alignment, out_chunk, out_offset);
  if (status != TSR_OK) return status;
  *out_offset = (*out_offset + alignment - 1) / alignment * alignment;
  memcpy((*out_chunk)->host + *out_offset, params, program->params_bytes);
  return TSR_OK;
}

tsr_status tsri_vulkan_launch(tsri_queue *opaque, tsri_program *opaque_program, const tsri_launch *launch) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  vulkan_device *device = queue->device;
  vulkan_program *program = (vulkan_program *)opaque_program;
  vulkan_chunk *chunk = NULL;
  size_t offset = 0;
  bindings b;
  b.count = 0;
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    const tsri_binding *binding = &launch->buffers[i];
    add_binding(&b, vulkan_buffer_of(binding->buffer)->buffer, binding->offset, binding->bytes, binding->is_written);
  }
  tsri_mutex_lock(&device->lock);
  tsr_status status = TSR_OK;
  if (program->has_params_buffer) status = stage_params(device, program, launch->params, &chunk, &offset);
  if (status == TSR_OK && chunk) add_binding(&b, chunk->buffer, offset, program->params_bytes, false);
  if (status == TSR_OK) status = record_launch(queue, program, launch, &b);
  if (chunk) tsri_vulkan_stage_used(device, chunk, &queue->marks);
  tsri_mutex_unlock(&device->lock);
  return status;
}

#endif
