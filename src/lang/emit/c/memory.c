// SPDX-License-Identifier: MIT
// Memory: loads, stores and atomics. An access to several elements is a call of a helper made on demand, which uses the dialect's own vectors if the elements
// are aligned.
#include <stdio.h>
#include <string.h>

#include "lang/emit/c/c.h"

// OpenCL without cl_khr_fp16 reads and writes f16 in memory by vload_half and vstore_half_rte.
static bool is_half_pointer(const tsri_c_emitter *e, tsr_dtype storage) {
  return tsri_c_is(e, TSRI_C_OPENCL) && storage == TSR_F16 && !e->options->f16;
}

// --- Ways to access several elements --------------------------------------------------------------------------------

// Templates of an access. $e$s: the dialect's vector of $s elements; $k: the number of its first element; $S: the address space of the pointer p.
typedef struct access_way {
  const char *load, *store;  // of v$k; or, for one element, its value, and a statement that stores $a
} access_way;

static const access_way one_by_one = {"p[i + $k]", "  p[i + $k] = $a;\n"};
static const access_way halves_one_by_one = {"vload_half(0, (const $Shalf *)(p + i + $k))",
                                             "  vstore_half_rte($a, 0, ($Shalf *)(p + i + $k));\n"};
static const access_way aligned = {"  $e$s v$k = *(const $S$e$s *)(p + i + $k);\n",
                                   "  *($S$e$s *)(p + i + $k) = v$k;\n"};
static const access_way aligned_halves = {"  float$s v$k = vloada_half$s(0, (const $Shalf *)(p + i + $k));\n",
                                          "  vstorea_half$s_rte(v$k, 0, ($Shalf *)(p + i + $k));\n"};
// OpenCL's vload accepts the alignment of an element, but then some compilers read elements one by one.
static const access_way unaligned = {"  $e$s v$k = vload$s(0, p + i + $k);\n", "  vstore$s(v$k, 0, p + i + $k);\n"};
static const access_way unaligned_halves = {"  float$s v$k = vload_half$s(0, (const $Shalf *)(p + i + $k));\n",
                                            "  vstore_half$s_rte(v$k, 0, ($Shalf *)(p + i + $k));\n"};
// For elements that are read only once. CUDA: bypasses the first-level cache; GPUs and compilers without the instruction read as usual. TSR_READ_ONCE is in the
// prelude. $b and $c are the size and the kind of a register. HIP: marked as data that the caches need not keep.
static const access_way once_on_cuda = {
    "  $e$s v$k;\n#ifdef TSR_READ_ONCE\n"
    "  asm volatile(TSR_READ_ONCE \".v$s.$b {%0, %1$more}, [%$s];\" : $[, $:\"=$c\"(v$k.$l)$] : \"l\"(p + i + $k));\n"
    "#else\n  v$k = *(const $e$s *)(p + i + $k);\n#endif\n",
    NULL};
static const access_way once_on_hip = {"  auto v$k = tsr_read_once<$s>(p + i + $k);\n", NULL};

typedef struct c_access {
  tsri_ir_space space;
  tsr_dtype storage;
  uint32_t lanes, step;  // elements, and how many of them one instruction accesses
  bool is_half;          // the device converts f16 in memory
  const access_way *way;
} c_access;

// How many elements one native access has. 1: elements are accessed one by one.
static uint32_t native_lanes(const tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes) {
  if (space == TSRI_SPACE_LOCAL || e->spell->max_native_bytes == 0) return 1;
  if (e->options->wide_unaligned && space == TSRI_SPACE_BUFFER && !tsri_c_is(e, TSRI_C_OPENCL)) return 1;
  return tsr_dtype_bytes(storage) * lanes > e->spell->max_native_bytes ? 2 : lanes;
}

static c_access access_of(const tsri_c_emitter *e, tsri_ir_space space, uint32_t object, uint32_t lanes) {
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(e->kernel, space, object)->storage;
  c_access a = {space, storage, lanes, native_lanes(e, space, storage, lanes), is_half_pointer(e, storage), NULL};
  bool is_unaligned = e->options->wide_unaligned && space == TSRI_SPACE_BUFFER;
  if (a.step == 1) a.way = a.is_half ? &halves_one_by_one : &one_by_one;
  else if (a.is_half) a.way = is_unaligned ? &unaligned_halves : &aligned_halves;
  else a.way = is_unaligned ? &unaligned : &aligned;
  return a;
}

// The templates for elements that are read only once; NULL: use the usual ones. The kernel must not write the buffer, and CUDA's instruction also requires that
// no other buffer overlaps it.
static const access_way *way_once(const tsri_c_emitter *e, const c_access *a, const tsri_ir_expr *load) {
  bool is_once = load->op == TSRI_LOAD_ONCE && !tsri_ir_array_of(e->kernel, a->space, load->object)->is_stored;
  if (!is_once || tsr_dtype_bytes(a->storage) == 1 || a->step == 1 || a->space != TSRI_SPACE_BUFFER) return NULL;
  if (tsri_c_is(e, TSRI_C_HIP)) return &once_on_hip;
  return tsri_c_is(e, TSRI_C_CUDA) && e->options->no_alias ? &once_on_cuda : NULL;
}

// Writes a template of an access for the elements from number `k` on; `value` stands for $a.
static void put_way(tsri_c_emitter *e, tsri_builder *out, const c_access *a, const char *pattern, uint32_t k,
                    const char *value) {
  static const char *const sizes[] = {"b16", "b32", "b64"}, *const words[] = {"h", "r", "l"},
                           *const reals[] = {"", "f", "d"};
  const char *native = a->storage == TSR_I64 ? e->spell->native_i64 : tsri_c_elements[a->storage].native;
  size_t size = tsr_dtype_bytes(a->storage) / 4;
  bool is_real = a->storage == TSR_F32 || a->storage == TSR_F64;
  tsri_c_name step = tsri_c_named("%u", a->step), first = tsri_c_named("%u", k);
  const tsri_hole holes[] = {{"$more", a->step == 4 ? ", %2, %3" : ""},
                             {"$e", native},
                             {"$s", step.text},
                             {"$k", first.text},
                             {"$S", e->spell->space[a->space]},
                             {"$a", value},
                             {"$b", sizes[size]},
                             {"$c", is_real ? reals[size] : words[size]},
                             {NULL, NULL}};
  tsri_c_expand(e, out, pattern, (tsri_ir_type){TSR_F32, (uint8_t)a->step}, holes);
}

// --- Helpers made on demand -----------------------------------------------------------------------------------------

// "tsr_load_b_f16_by4"
static tsri_c_name access_name(const char *what, tsri_ir_space space, tsr_dtype storage, uint32_t lanes) {
  return tsri_c_named("tsr_%s_%c_%s_by%u", what, "bsl"[space], tsr_dtype_name(storage), (unsigned)lanes);
}

// A lane's element in memory: a component of a native vector, or a variable.
static tsri_builder element_text(tsri_c_emitter *e, const c_access *a, uint32_t lane) {
  tsri_builder text = {0};
  if (a->step == 1) put_way(e, &text, a, a->way->load, lane, "");
  else tsri_builder_add(&text, "v%u.%c", lane - lane % a->step, "xyzw"[lane % a->step]);
  return text;
}

// Writes an element decoded or encoded by `pattern`. If the device converts f16 in memory, no pattern is needed.
static void put_coded(tsri_c_emitter *e, tsri_builder *out, const c_access *a, const char *pattern, tsr_dtype dtype,
                      const char *element) {
  tsri_c_pattern coded = {a->is_half ? "$a" : pattern, dtype, NULL, NULL};
  tsri_c_expand_pattern(e, out, coded, (const char *const[3]){element ? element : "", "", ""});
}

static tsri_c_name load_helper(tsri_c_emitter *e, const c_access *a) {
  bool is_once = a->way == &once_on_cuda || a->way == &once_on_hip;
  tsri_c_name name = access_name(is_once ? "load_once" : "load", a->space, a->storage, a->lanes);
  if (!tsri_c_want(e, name.text)) return name;
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(a->storage), (uint8_t)a->lanes};
  tsri_builder text = {0};
  tsri_builder_add(&text, "TSR_FN %s %s(const %s%s *p, i64 i) {\n  i &= ~(i64)%u;\n", tsri_c_type(e, type).text,
                   name.text, e->spell->space[a->space], tsri_c_elements[a->storage].type, (unsigned)a->lanes - 1);
  for (uint32_t k = 0; a->step > 1 && k < a->lanes; k += a->step) put_way(e, &text, a, a->way->load, k, "");
  tsri_c_name make = tsri_c_need(e, tsri_c_named("tsr_make_%s", tsri_ir_type_name(type)));
  tsri_builder_add(&text, "  return %s(", make.text);
  for (uint32_t lane = 0; lane < a->lanes; lane++) {
    tsri_builder element = element_text(e, a, lane);
    if (lane > 0) tsri_builder_string(&text, ", ");
    put_coded(e, &text, a, tsri_c_elements[a->storage].decode, TSR_F32, element.text);
    text.has_failed |= element.has_failed;
    tsri_builder_deinit(&element);
  }
  tsri_builder_string(&text, ");\n}\n");
  tsri_c_define(e, name.text, &text);
  tsri_builder_deinit(&text);
  return name;
}

static tsri_c_name store_helper(tsri_c_emitter *e, const c_access *a) {
  tsri_c_name name = access_name("store", a->space, a->storage, a->lanes);
  if (!tsri_c_want(e, name.text)) return name;
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(a->storage), (uint8_t)a->lanes};
  tsri_builder text = {0};
  tsri_builder_add(&text, "TSR_FN void %s(%s%s *p, i64 i, %s a) {\n  i &= ~(i64)%u;\n", name.text,
                   e->spell->space[a->space], tsri_c_elements[a->storage].type, tsri_c_type(e, type).text,
                   (unsigned)a->lanes - 1);
  for (uint32_t lane = 0; lane < a->lanes; lane++) {
    uint32_t first = lane - lane % a->step;
    tsri_c_name operand = tsri_c_named("a.%c", "xyzw"[lane]);
    tsri_builder coded = {0};
    put_coded(e, &coded, a, tsri_c_elements[a->storage].encode, (tsr_dtype)type.dtype, operand.text);
    const char *value = coded.text ? coded.text : "";
    text.has_failed |= coded.has_failed;
    if (a->step > 1 && lane == first) put_way(e, &text, a, a->is_half ? "  float$s v$k;\n" : "  $e$s v$k;\n", lane, "");
    if (a->step > 1) tsri_builder_add(&text, "  v%u.%c = %s;\n", first, "xyzw"[lane - first], value);
    if (lane == first + a->step - 1) put_way(e, &text, a, a->way->store, first, value);
    tsri_builder_deinit(&coded);
  }
  tsri_builder_string(&text, "}\n");
  tsri_c_define(e, name.text, &text);
  tsri_builder_deinit(&text);
  return name;
}

// --- Loads and stores -----------------------------------------------------------------------------------------------

void tsri_c_put_load(tsri_c_emitter *e, const tsri_ir_expr *x) {
  tsri_ir_space space = (tsri_ir_space)x->space;
  c_access a = access_of(e, space, x->object, x->type.lanes);
  if (a.lanes > 1) {
    const access_way *once = way_once(e, &a, x);
    if (once) a.way = once;
    tsri_c_put(e, "%s(%a, %b)", load_helper(e, &a).text, space, x->object, x->a);
  } else if (a.is_half) {
    tsri_c_put(e, "vload_half(%b, (const %shalf *)%a)", x->a, e->spell->space[space], space, x->object);
  } else {
    // The template contains the operand once; the text before it, the element, and the text after it are written in turn.
    tsri_builder expanded = {0};
    tsri_c_expand(e, &expanded, tsri_c_elements[a.storage].decode, (tsri_ir_type){TSR_F32, 1}, NULL);
    e->body.has_failed |= expanded.has_failed;
    const char *operand = expanded.text ? strstr(expanded.text, "$a") : "$a";
    tsri_builder_put(&e->body, expanded.text, expanded.text ? (size_t)(operand - expanded.text) : 0);
    tsri_c_put(e, "%a[%b]%s", space, x->object, x->a, operand + 2);
    tsri_builder_deinit(&expanded);
  }
}

void tsri_c_put_store(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  c_access a = access_of(e, space, stmt->object, e->kernel->exprs[stmt->value].type.lanes);
  if (a.lanes > 1) {
    tsri_c_put(e, "%s(%a, %b, %b);\n", store_helper(e, &a).text, space, stmt->object, stmt->index, stmt->value);
  } else if (a.is_half) {
    tsri_c_put(e, "vstore_half_rte(%b, %b, (%shalf *)%a);\n", stmt->value, stmt->index, e->spell->space[space], space,
               stmt->object);
  } else {
    tsri_c_put(e, "%a[%b] = ", space, stmt->object, stmt->index);
    tsri_c_put_pattern(e, (tsri_c_pattern){tsri_c_elements[a.storage].encode, TSR_F32, NULL, NULL}, &stmt->value, true);
    tsri_c_put(e, ";\n");
  }
}

// --- Atomics --------------------------------------------------------------------------------------------------------

typedef struct atomic_spelling {
  const char *opencl, *cuda, *metal, *plain;  // OpenCL and CUDA take (pointer, [compare,] value)
} atomic_spelling;

static const atomic_spelling atomics[TSRI_ATOMIC_COUNT] = {
    [TSRI_ATOMIC_ADD] = {"atomic_add", "atomicAdd", "atomic_fetch_add", "(u32)old + (u32)a"},
    [TSRI_ATOMIC_SUB] = {"atomic_sub", "atomicSub", "atomic_fetch_sub", "(u32)old - (u32)a"},
    [TSRI_ATOMIC_MIN] = {"atomic_min", "atomicMin", "atomic_fetch_min", "old < a ? old : a"},
    [TSRI_ATOMIC_MAX] = {"atomic_max", "atomicMax", "atomic_fetch_max", "old > a ? old : a"},
    [TSRI_ATOMIC_AND] = {"atomic_and", "atomicAnd", "atomic_fetch_and", "old & a"},
    [TSRI_ATOMIC_OR] = {"atomic_or", "atomicOr", "atomic_fetch_or", "old | a"},
    [TSRI_ATOMIC_XOR] = {"atomic_xor", "atomicXor", "atomic_fetch_xor", "old ^ a"},
    [TSRI_ATOMIC_EXCHANGE] = {"atomic_xchg", "atomicExch", "atomic_exchange", "a"},
    [TSRI_ATOMIC_COMPARE_EXCHANGE] = {"atomic_cmpxchg", "atomicCAS", NULL, "old == c ? a : old"},
};

#define ATOMIC(body) "TSR_FN $t $name($S$t *p, i64 i, $params) {\n" body "}\n"

static const char atomic_call[] = ATOMIC("  return $op(p + i, $args);\n");
static const char plain_atomic[] = ATOMIC("  $t old = p[i];\n  p[i] = ($t)($op);\n  return old;\n");
static const char metal_atomic[] =
    ATOMIC("  return $op_explicit(($Satomic_$int *)(p + i), a, memory_order_relaxed);\n");
// The weak form may fail spuriously: only another value in memory ends the loop.
static const char metal_exchange[] = ATOMIC(
    "  $t old = c;\n  while (!atomic_compare_exchange_weak_explicit(($Satomic_$int *)(p + i), &old, a,\n"
    "             memory_order_relaxed, memory_order_relaxed)) {\n    if (old != c) break;\n  }\n"
    "  return old;\n");

static tsri_c_name atomic_helper(tsri_c_emitter *e, tsri_ir_atomic op, tsri_ir_space space, tsr_dtype dtype) {
  tsri_c_name name = access_name(tsri_ir_atomic_infos[op].spelling, space, dtype, 1);
  const atomic_spelling *s = &atomics[op];
  bool is_plain = tsri_c_is(e, TSRI_C_PLAIN), has_compare = op == TSRI_ATOMIC_COMPARE_EXCHANGE;
  const char *type = tsr_dtype_name(dtype), *function = tsri_c_is(e, TSRI_C_OPENCL) ? s->opencl : s->cuda;
  const char *pattern = is_plain ? plain_atomic : atomic_call;
  if (tsri_c_is(e, TSRI_C_METAL)) pattern = s->metal ? metal_atomic : metal_exchange;
  tsri_c_name params = tsri_c_named(has_compare ? "%s c, %s a" : "%s a%.0s", type, type);
  const tsri_hole holes[] = {{"$name", name.text},
                             {"$S", e->spell->space[space]},
                             {"$params", params.text},
                             {"$args", has_compare ? "c, a" : "a"},
                             {"$op", pattern == metal_atomic ? s->metal
                                     : is_plain              ? s->plain
                                                             : function},
                             {"$int", dtype == TSR_I32 ? "int" : "uint"},
                             {NULL, NULL}};
  tsri_c_define_once(e, name.text, pattern, (tsri_ir_type){(uint8_t)dtype, 1}, holes);
  return name;
}

void tsri_c_put_atomic(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  tsr_dtype dtype = (tsr_dtype)tsri_ir_array_of(e->kernel, space, stmt->object)->storage;
  tsri_c_name name = atomic_helper(e, (tsri_ir_atomic)stmt->op, space, dtype);
  tsri_c_put(e, stmt->var ? "%v = " : "(void)", stmt->var);
  tsri_c_put(e, "%s(%a, %b", name.text, space, stmt->object, stmt->index);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) tsri_c_put(e, ", %b", stmt->compare);
  tsri_c_put(e, ", %b);\n", stmt->value);
}
