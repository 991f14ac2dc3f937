// SPDX-License-Identifier: MIT
// Simulates a failing driver: entry points of the table are replaced by functions that return an error.
#include "backends/opencl/fixture.h"

#if TSRI_HAS_OPENCL

static cl_int failing_code;  // the code that the replaced functions return

static cl_mem CL_API_CALL fail_create(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                                      cl_int *out_code) {
  (void)context, (void)flags, (void)bytes, (void)host;
  *out_code = failing_code;
  return NULL;
}

static cl_int CL_API_CALL fail_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                      const size_t *global, const size_t *local, cl_uint count, const cl_event *events,
                                      cl_event *event) {
  (void)queue, (void)kernel, (void)dims, (void)from, (void)global, (void)local, (void)count, (void)events, (void)event;
  return failing_code;
}

static cl_int CL_API_CALL fail_fill(cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_bytes,
                                    size_t offset, size_t bytes, cl_uint count, const cl_event *events,
                                    cl_event *event) {
  (void)queue, (void)memory, (void)pattern, (void)pattern_bytes, (void)offset, (void)bytes, (void)count, (void)events;
  (void)event;
  return failing_code;
}

TEST(codes_have_names) {
  CHECK_STR(tsri_opencl_code_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
  CHECK_STR(tsri_opencl_code_name(-9999), "CL_ILLEGAL_ACCESS_NV");
  CHECK_STR(tsri_opencl_code_name(-12345), "an unknown code");
}

TEST(memory_that_is_not_there_is_a_status) {
  fixture f = fixture_open();
  tsri_opencl_api saved = tsri_cl;
  const cl_int codes[] = {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE};
  tsri_cl.CreateBuffer = fail_create;
  for (int i = 0; i < 3; i++) {
    tsri_buffer *buffer = NULL;
    failing_code = codes[i];
    CHECK_STATUS(f.backend->buffer_create(f.device, 1000, &buffer), TSR_ERR_OUT_OF_MEMORY);
    CHECK_LAST_ERROR_HAS("a buffer of 1000 bytes");
    CHECK_LAST_ERROR_HAS(tsri_opencl_code_name(codes[i]));
    CHECK(buffer == NULL);
  }
  tsri_cl = saved;
  tsri_cl.EnqueueFillBuffer = fail_fill;  // a driver that allocates at first use
  tsri_buffer *buffer = NULL;
  failing_code = CL_OUT_OF_RESOURCES;
  CHECK_STATUS(f.backend->buffer_create(f.device, 1000, &buffer), TSR_ERR_OUT_OF_MEMORY);
  tsri_cl = saved;
  buffer = fixture_buffer(&f, 1000, NULL);  // the device still works
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

static tsr_status launch_nothing(const fixture *f, tsri_program *program, tsri_buffer *buffer) {
  tsri_binding binding = {.buffer = buffer, .bytes = 256, .is_written = true};
  return f->backend->launch(f->queue, program,
                            &(tsri_launch){.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding});
}

TEST(a_launch_that_fails_is_a_status_with_the_drivers_code) {
  fixture f = fixture_open();
  tsri_opencl_api saved = tsri_cl;
  tsri_program *program =
      fixture_build(&f, fixture_code("k", "__kernel void k(__global int *x) { x[0] = 1; }\n", 1, 0, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  tsri_cl.EnqueueNDRangeKernel = fail_launch;
  failing_code = CL_OUT_OF_RESOURCES;  // may mean a lost device, but this device still works
  CHECK_STATUS(launch_nothing(&f, program, buffer), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("launching k, 1 x 1 x 1 groups of 64 x 1 x 1: OpenCL -5 CL_OUT_OF_RESOURCES");
  tsri_cl = saved;
  CHECK_OK(launch_nothing(&f, program, buffer));
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

TEST(a_lost_device_stays_lost_and_can_be_closed) {
  const cl_int codes[] = {CL_OUT_OF_RESOURCES, -9999, CL_DEVICE_NOT_AVAILABLE};
  for (int i = 0; i < 3; i++) {
    fixture f = fixture_open();
    tsri_opencl_api saved = tsri_cl;
    tsri_program *program =
        fixture_build(&f, fixture_code("k", "__kernel void k(__global int *x) { x[0] = 1; }\n", 1, 0, ""));
    tsri_buffer *buffer = fixture_buffer(&f, 256, NULL), *other = NULL;
    tsri_cl.EnqueueNDRangeKernel = fail_launch;
    tsri_cl.EnqueueFillBuffer = fail_fill;  // now no call succeeds any more
    failing_code = codes[i];
    CHECK_STATUS(launch_nothing(&f, program, buffer), TSR_ERR_DEVICE_LOST);
    CHECK_LAST_ERROR_HAS("stopped working");
    CHECK_LAST_ERROR_HAS(tsri_opencl_code_name(codes[i]));
    tsri_cl = saved;
    int value = 0;
    CHECK_STATUS(f.backend->copy_in(f.queue, buffer, 0, &value, 4), TSR_ERR_DEVICE_LOST);
    CHECK_STATUS(f.backend->buffer_create(f.device, 16, &other), TSR_ERR_DEVICE_LOST);
    CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
    f.backend->buffer_destroy(f.device, buffer);
    f.backend->program_destroy(f.device, program);
    fixture_close(&f);
    fixture again = fixture_open();
    fixture_close(&again);
  }
}

#endif
