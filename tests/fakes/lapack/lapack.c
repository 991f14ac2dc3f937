// SPDX-License-Identifier: MIT
// A stand-in for LAPACK: the functions that the CPU backend looks for, in f32 and f64, by the methods of factors.h. It asks for one element of work space and uses none.
#include <stdlib.h>

#include "fakes/factors.h"

#define EXPORT      __attribute__((visibility("default")))
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#define REAL       float
#define NAME(name) JOIN(s, name)
#include "fakes/lapack/lapack.inc"
#undef REAL
#undef NAME

#define REAL       double
#define NAME(name) JOIN(d, name)
#include "fakes/lapack/lapack.inc"
