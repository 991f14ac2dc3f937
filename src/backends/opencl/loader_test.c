// SPDX-License-Identifier: MIT
#include "backends/opencl/loader.h"

#include "backends/opencl/fixture.h"

#if TSRI_HAS_OPENCL

TEST(a_missing_library_gives_the_search_trail) {
  const char *const names[] = {"libNoSuchOpenCL.so.1", "/nowhere/libOpenCL.so", NULL};
  CHECK_STATUS(tsri_opencl_load(names), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libNoSuchOpenCL.so.1: not found");
  CHECK_LAST_ERROR_HAS("; /nowhere/libOpenCL.so: not found");
  CHECK_LAST_ERROR_HAS("pocl-opencl-icd");
}

TEST(a_library_that_is_no_opencl_is_named_with_what_it_lacks) {
  const char *const names[] = {"libc.so.6", NULL};
  CHECK_STATUS(tsri_opencl_load(names), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libc.so.6: has no clGetPlatformIDs");
}

TEST(the_first_name_that_opens_is_taken) {
  if (tsri_opencl_load(tsri_opencl_library_names) != TSR_OK) SKIP("there is no OpenCL library here");
  const char *const names[] = {"libNoSuchOpenCL.so.1", tsri_opencl_library_names[0], NULL};
  tsri_cl.GetPlatformIDs = NULL;
  CHECK_OK(tsri_opencl_load(names));
  CHECK(tsri_cl.GetPlatformIDs != NULL);
}

#else

TEST(a_build_without_the_headers_says_so) {
  CHECK_STATUS(tsri_opencl_backend.start(NULL), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("opencl-headers");
}

#endif
