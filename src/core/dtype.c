// SPDX-License-Identifier: MIT
// The properties of each element type, all taken from the list in <tessera/dtype.h>.
#include <tessera/dtype.h>

#include <string.h>

#include "core/dtype.h"
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

const uint8_t tsri_dtype_sizes[TSR_DTYPE_COUNT] = {
#define TSRI_X(name, lower, bytes, kind, text) bytes,
    TSR_DTYPES(TSRI_X)
#undef TSRI_X
};

// All names, for the message of tsr_dtype_parse, which skips the first ", ".
static const char all_names[] =
#define TSRI_X(name, lower, bytes, kind, text) ", " #lower
    TSR_DTYPES(TSRI_X)
#undef TSRI_X
    ;

static const dtype_facts i4_facts = {"i4", "packed signed 4-bit integer", 0, TSR_KIND_INT};
static const dtype_facts u4_facts = {"u4", "packed unsigned 4-bit integer", 0, TSR_KIND_UINT};

static bool is_dtype(tsr_dtype dtype) { return (unsigned)dtype < TSR_DTYPE_COUNT; }

static const dtype_facts *facts_of(tsr_dtype dtype) {
  static const dtype_facts none = {"?", "a number that is no dtype", 0, TSR_KIND_BOOL};
  if (is_dtype(dtype)) return &facts[dtype];
  return dtype == TSR_I4 ? &i4_facts : dtype == TSR_U4 ? &u4_facts : &none;
}

const char *tsr_dtype_name(tsr_dtype dtype) { return facts_of(dtype)->name; }

const char *tsr_dtype_text(tsr_dtype dtype) { return facts_of(dtype)->text; }

size_t tsr_dtype_bytes(tsr_dtype dtype) { return is_dtype(dtype) ? facts[dtype].bytes : 0; }

int tsr_dtype_bits(tsr_dtype dtype) { return tsri_dtype_is_packed(dtype) ? 4 : 8 * (int)tsr_dtype_bytes(dtype); }

tsr_dtype_kind tsr_dtype_kind_of(tsr_dtype dtype) { return facts_of(dtype)->kind; }

tsr_status tsri_dtype_check(const char *caller, tsr_dtype dtype) {
  if (is_dtype(dtype)) return TSR_OK;
  if (!tsri_dtype_is_packed(dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %d is no dtype; 0 to %d are, and the packed ones, %d and %d", caller,
                     (int)dtype, (int)TSR_DTYPE_COUNT - 1, (int)TSR_I4, (int)TSR_U4);
  }
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %s is packed, for storage only; make another dtype and cast it with tsr_cast",
                   caller, tsr_dtype_name(dtype));
}

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
  for (tsr_dtype packed = TSR_I4; packed <= TSR_U4; packed++) {
    if (strcmp(name, tsr_dtype_name(packed)) != 0) continue;
    *out_dtype = packed;
    return TSR_OK;
  }
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "dtype: \"%s\" is none of %s, i4, u4", name, all_names + strlen(", "));
}
