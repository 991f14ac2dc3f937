// SPDX-License-Identifier: MIT
// The properties of each element type, all taken from the list in <tessera/dtype.h>.
#include <tessera/dtype.h>

#include <string.h>

#include "core/error.h"

typedef struct dtype_facts {
  const char *name;
  const char *text;
  size_t bytes;
  tsr_dtype_kind kind;
} dtype_facts;

static const dtype_facts facts[TSR_DTYPE_COUNT] = {
#define TSRI_X(name, lower, bytes, kind, text) {#lower, text, bytes, TSR_KIND_##kind},
    TSR_DTYPES(TSRI_X)
#undef TSRI_X
};

// All names, for the message of tsr_dtype_parse, which skips the first ", ".
static const char all_names[] =
#define TSRI_X(name, lower, bytes, kind, text) ", " #lower
    TSR_DTYPES(TSRI_X)
#undef TSRI_X
    ;

static bool is_dtype(tsr_dtype dtype) { return (unsigned)dtype < TSR_DTYPE_COUNT; }

const char *tsr_dtype_name(tsr_dtype dtype) { return is_dtype(dtype) ? facts[dtype].name : "?"; }

const char *tsr_dtype_text(tsr_dtype dtype) {
  return is_dtype(dtype) ? facts[dtype].text : "a number that is no dtype";
}

size_t tsr_dtype_bytes(tsr_dtype dtype) { return is_dtype(dtype) ? facts[dtype].bytes : 0; }

tsr_dtype_kind tsr_dtype_kind_of(tsr_dtype dtype) { return is_dtype(dtype) ? facts[dtype].kind : TSR_KIND_BOOL; }

tsr_status tsr_dtype_parse(const char *name, tsr_dtype *out_dtype) {
  if (!name || !out_dtype) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "dtype: %s is NULL", name ? "out_dtype" : "name");
  }
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    if (strcmp(name, facts[i].name) == 0) {
      *out_dtype = (tsr_dtype)i;
      return TSR_OK;
    }
  }
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "dtype: \"%s\" is none of %s", name, all_names + strlen(", "));
}
