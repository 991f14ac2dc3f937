// SPDX-License-Identifier: MIT
// What is said where there is no Metal: on Apple's systems, and on others.
#include <stdlib.h>

#include "backends/metal/metal.h"
#include "test.h"

extern const tsri_backend tsri_metal_backend;

TEST(every_system_says_who_has_metal) {
#if defined(__APPLE__)
  SKIP("there is Metal here");
#endif
  unsetenv("TSRI_METAL_LIB");
  CHECK_STATUS(tsri_metal_backend.start(NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("there is no Metal on this system; Metal is Apple's");
  CHECK_LAST_ERROR_HAS("use Vulkan, CUDA, ROCm or OpenCL");
  tsri_metal_system = &tsri_metal_systems[METAL_APPLE];
  CHECK_STATUS(tsri_metal_backend.start(NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("no Metal here (/usr/lib/libobjc.A.dylib: not found)");
  CHECK_LAST_ERROR_HAS("macOS 10.15 and iOS 13 and newer: update the system");
}
