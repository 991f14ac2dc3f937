// SPDX-License-Identifier: MIT
// Which vendor libraries may be used, by the setting `native`.
#ifndef TSRI_NATIVE_H
#define TSRI_NATIVE_H

#include <stdbool.h>

// Whether a `native` value ("all", "none", "a,b", "-a,-b") lets `library` be used.
bool tsri_native_allows(const char *native, const char *library);

#endif
