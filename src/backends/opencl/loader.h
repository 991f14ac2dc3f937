// SPDX-License-Identifier: MIT
// The OpenCL library, opened at run time: a table with one function pointer per entry point used, all from OpenCL 1.2.
//
// TSRI_HAS_OPENCL is 0 if the Khronos headers were missing when Tessera was built; the backend then reports that.
#ifndef TSRI_OPENCL_LOADER_H
#define TSRI_OPENCL_LOADER_H

#if !defined(TSRI_HAS_OPENCL) && defined(__has_include)
#if __has_include(<CL/cl_icd.h>)
#define TSRI_HAS_OPENCL 1
#endif
#endif
#if !defined(TSRI_HAS_OPENCL)
#define TSRI_HAS_OPENCL 0
#endif

#if TSRI_HAS_OPENCL

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>  // cl_api_clCreateBuffer and so on: the type of each entry point; some have void * there

#include <tessera/status.h>

#if defined(__GNUC__)
#define TSRI_CL_TYPE(name) __typeof__(&cl##name)
#else
#define TSRI_CL_TYPE(name) cl_api_cl##name
#endif

typedef struct tsri_opencl_api {
#define TSRI_ENTRY(name) TSRI_CL_TYPE(name) name;
#include "backends/opencl/entry_points.def"
#undef TSRI_ENTRY
} tsri_opencl_api;

// Filled by tsri_opencl_load. Tests replace entries to simulate a failing driver.
extern tsri_opencl_api tsri_cl;

// Library names to try, in order; the list ends with NULL.
extern const char *const tsri_opencl_library_names[];

// Opens the first library of `names` (a list that ends with NULL) that has every entry point, and fills tsri_cl. The
// library stays open until the process ends, because threads of the driver may still run its code.
//
// Errors: TSR_ERR_NOT_FOUND; the message lists each name with what the loader said, and what to install.
tsr_status tsri_opencl_load(const char *const *names);

#endif
#endif
