// SPDX-License-Identifier: MIT
// Devices for tests: a single one, and all that can be found.
#ifndef TESSERA_TEST_DEVICES_H
#define TESSERA_TEST_DEVICES_H

#include <tessera/tessera.h>

// Opens a device of the named backend; the test fails if there is none.
tsr_device *test_open(const char *backend);

// As test_open, with a fault list (fault.h).
tsr_device *test_open_with_faults(const char *backend, const char *faults);

// Makes the webgpu backend usable: Dawn from scripts/setup-webgpu, on SwiftShader unless VK_ICD_FILENAMES is set.
// Returns NULL, or a sentence that says what is missing.
const char *test_use_webgpu(void);

// Makes the metal backend usable: on a Mac it is; elsewhere the stand-in of tests/standins takes the place of Apple's libraries.
// Returns NULL, or a sentence that says what is missing.
const char *test_use_metal(void);

// Makes the stand-in for AMD's GPUs (tests/standins/hip) the one that ROCm finds. Returns NULL, or a sentence that says what is missing.
const char *test_use_rocm(void);

// Runs `body` on every device that discovery lists, including software ones and stand-ins for GPUs that are not here, on
// the null backend and on the example plug-in.
void test_on_every_device(void (*body)(tsr_device *device));

// Whether the device computes: the null backend and the example plug-in run no kernels.
bool test_device_computes(const tsr_device *device);

// Opens every device that test_on_every_device visits, for tests that need several at once. Returns how many were
// opened (at most `most`); the caller releases them.
int test_open_all(tsr_device **devices, int most);

#endif
