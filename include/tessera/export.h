// SPDX-License-Identifier: MIT
// Symbol visibility and language linkage for every public declaration.
#ifndef TESSERA_EXPORT_H
#define TESSERA_EXPORT_H

#if defined(_WIN32)
#if defined(TSRI_BUILD)
#define TSR_EXPORT __declspec(dllexport)
#else
#define TSR_EXPORT
#endif
#else
#define TSR_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define TSR_API extern "C" TSR_EXPORT
#else
#define TSR_API TSR_EXPORT
#endif

#endif
