// SPDX-License-Identifier: MIT
// Devices for tests: one to work with, and all that can be found.
#ifndef TESSERA_TEST_DEVICES_H
#define TESSERA_TEST_DEVICES_H

#include <tessera/tessera.h>

// An open device of the named backend; the test fails if there is none.
tsr_device *test_open(const char *backend);

// The same with a fault list (fault.h).
tsr_device *test_open_with_faults(const char *backend, const char *faults);

// Makes the webgpu backend usable: Dawn as scripts/setup-webgpu gets it, on SwiftShader unless VK_ICD_FILENAMES says
// otherwise. NULL, or a sentence that says what is missing.
const char *test_use_webgpu(void);

// Runs `body` on every device discovery lists, software ones too, on the null backend and on the example plug-in.
void test_on_every_device(void (*body)(tsr_device *device));

// Every device that test_on_every_device visits, for tests that want several at once. Returns how many were opened
// (at most `most`); the caller releases them.
int test_open_all(tsr_device **devices, int most);

#endif
