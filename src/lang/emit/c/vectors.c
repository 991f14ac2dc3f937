// SPDX-License-Identifier: MIT
// Helpers made on demand: vector types and operations lane by lane, and access to memory.
//
// Vectors are plain structs in every dialect, since CUDA and C have no operators on theirs and the others disagree
// about comparisons. Compilers keep them in registers. Only memory sees the dialect's own vectors.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"

static const char lane_letters[] = "xyzw";

static tsri_c_name named(const char *format, const char *a, const char *b, unsigned lanes) {
  tsri_c_name name;
  snprintf(name.text, sizeof name.text, format, a, b, lanes);
  return name;
}

// Copies a template with its operands put in.
static void put_operands(tsri_builder *out, const tsri_builder *expanded, const char *const operands[3]) {
  if (!expanded->text) return;
  for (const char *p = expanded->text; *p; p++) {
    if (p[0] == '$' && p[1] >= 'a' && p[1] <= 'c') {
      tsri_builder_string(out, operands[p[1] - 'a']);
      p++;
    } else {
      tsri_builder_put(out, p, 1);
    }
  }
}

static void put_pattern(tsri_c_emitter *e, tsri_builder *out, const char *pattern, tsr_dtype dtype,
                        const char *const operands[3]) {
  tsri_builder expanded = {0};
  tsri_c_expand(e, &expanded, pattern, dtype);
  put_operands(out, &expanded, operands);
  out->has_failed |= expanded.has_failed;
  tsri_free(expanded.text);
}

// --- Types ----------------------------------------------------------------------------------------------------------

static const char *vector_type(tsri_ir_type type) {
  static const char *const names[TSR_DTYPE_COUNT][2] = {
      [TSR_BOOL] = {"tsr_boolx2", "tsr_boolx4"}, [TSR_I32] = {"tsr_i32x2", "tsr_i32x4"},
      [TSR_U32] = {"tsr_u32x2", "tsr_u32x4"},    [TSR_I64] = {"tsr_i64x2", "tsr_i64x4"},
      [TSR_F32] = {"tsr_f32x2", "tsr_f32x4"},    [TSR_F64] = {"tsr_f64x2", "tsr_f64x4"},
  };
  return names[type.dtype][type.lanes == 4];
}

const char *tsri_c_type(tsri_c_emitter *e, tsri_ir_type type) {
  const char *lane = tsr_dtype_name((tsr_dtype)type.dtype);
  if (type.lanes == 1) return lane;
  const char *name = vector_type(type);
  if (tsri_c_want(e, name)) {
    tsri_c_define_phrase(e, name, "typedef struct { %s x, y%s; } %s;\n", lane, type.lanes == 4 ? ", z, w" : "", name);
  }
  return name;
}

// --- Vector helpers -------------------------------------------------------------------------------------------------

// Writes the helper `name` with lanes made from a template. Each parameter is a vector of the type given.
static void define_lanes(tsri_c_emitter *e, const tsri_c_name *name, tsri_ir_type result, const tsri_ir_type *params,
                         uint32_t param_count, const char *pattern, tsr_dtype dtype) {
  tsri_builder text = {0};
  tsri_builder_add(&text, "TSR_FN %s %s(", tsri_c_type(e, result), name->text);
  for (uint32_t i = 0; i < param_count; i++) {
    tsri_builder_add(&text, "%s%s %c", i ? ", " : "", tsri_c_type(e, params[i]), "abc"[i]);
  }
  tsri_builder_add(&text, ") {\n  %s r;\n", tsri_c_type(e, result));
  for (uint32_t lane = 0; lane < result.lanes; lane++) {
    char operands[3][4];
    for (int i = 0; i < 3; i++) snprintf(operands[i], sizeof operands[i], "%c.%c", "abc"[i], lane_letters[lane]);
    tsri_builder_add(&text, "  r.%c = ", lane_letters[lane]);
    put_pattern(e, &text, pattern, dtype, (const char *const[3]){operands[0], operands[1], operands[2]});
    tsri_builder_string(&text, ";\n");
  }
  tsri_builder_string(&text, "  return r;\n}\n");
  tsri_c_define(e, name->text, &text);
  tsri_free(text.text);
}

// any and all: the lanes joined.
static void define_joined(tsri_c_emitter *e, const tsri_c_name *name, tsri_ir_type operand, const char *with) {
  bool is_four = operand.lanes == 4;
  tsri_c_define_phrase(e, name->text,
                       is_four ? "TSR_FN bool %s(%s a) { return a.x %s a.y %s a.z %s a.w; }\n"
                               : "TSR_FN bool %s(%s a) { return a.x %s a.y; }\n",
                       name->text, tsri_c_type(e, operand), with, with, with);
}

static void lower_case(char *text) {
  for (; *text; text++) {
    if (*text >= 'A' && *text <= 'Z') *text = (char)(*text - 'A' + 'a');
  }
}

tsri_c_name tsri_c_vector_op(tsri_c_emitter *e, tsri_ir_op op, tsri_ir_type operand, tsri_ir_type result) {
  tsri_c_name name =
      named("tsr_%s_%sx%u", tsri_ir_op_infos[op].name, tsr_dtype_name((tsr_dtype)operand.dtype), operand.lanes);
  lower_case(name.text);
  if (!tsri_c_want(e, name.text)) return name;
  if (op == TSRI_OP_ANY || op == TSRI_OP_ALL) {
    define_joined(e, &name, operand, op == TSRI_OP_ANY ? "||" : "&&");
    return name;
  }
  tsri_ir_type params[3] = {operand, operand, operand};
  if (op == TSRI_OP_SELECT) params[0].dtype = TSR_BOOL;
  if (op == TSRI_OP_SHL || op == TSRI_OP_SHR) params[1].dtype = TSR_U32;
  tsr_dtype dtype = (tsr_dtype)operand.dtype;
  define_lanes(e, &name, result, params, tsri_ir_op_infos[op].arity, tsri_c_op_pattern(e, op, dtype, false), dtype);
  return name;
}

tsri_c_name tsri_c_vector_convert(tsri_c_emitter *e, tsr_dtype to, tsri_ir_type from) {
  tsr_dtype dtype = (tsr_dtype)from.dtype;
  tsri_c_name name = named("tsr_to_%s_%sx%u", tsr_dtype_name(to), tsr_dtype_name(dtype), from.lanes);
  if (!tsri_c_want(e, name.text)) return name;
  tsri_ir_type result = {(uint8_t)tsri_ir_compute_dtype(to), from.lanes};
  define_lanes(e, &name, result, &from, 1, tsri_c_convert_pattern(e, to, dtype, false), dtype);
  return name;
}

tsri_c_name tsri_c_vector_bitcast(tsri_c_emitter *e, tsri_ir_type to, tsri_ir_type from) {
  tsr_dtype to_dtype = (tsr_dtype)to.dtype, from_dtype = (tsr_dtype)from.dtype;
  tsri_c_name name = named("tsr_as_%s_%sx%u", tsr_dtype_name(to_dtype), tsr_dtype_name(from_dtype), from.lanes);
  if (!tsri_c_want(e, name.text)) return name;
  tsr_dtype dtype = tsr_dtype_kind_of(to_dtype) == TSR_KIND_FLOAT ? to_dtype : from_dtype;
  define_lanes(e, &name, to, &from, 1, tsri_c_bitcast_pattern(to_dtype, from_dtype), dtype);
  return name;
}

tsri_c_name tsri_c_vector_make(tsri_c_emitter *e, tsri_ir_type type) {
  const char *lane = tsr_dtype_name((tsr_dtype)type.dtype);
  tsri_c_name name = named("tsr_make%s_%sx%u", "", lane, type.lanes);
  if (!tsri_c_want(e, name.text)) return name;
  const char *vector = tsri_c_type(e, type);
  if (type.lanes == 4) {
    tsri_c_define_phrase(e, name.text,
                         "TSR_FN %s %s(%s x, %s y, %s z, %s w) {\n  %s r;\n  r.x = x;\n  r.y = y;\n  r.z = z;\n"
                         "  r.w = w;\n  return r;\n}\n",
                         vector, name.text, lane, lane, lane, lane, vector);
  } else {
    tsri_c_define_phrase(e, name.text, "TSR_FN %s %s(%s x, %s y) {\n  %s r;\n  r.x = x;\n  r.y = y;\n  return r;\n}\n",
                         vector, name.text, lane, lane, vector);
  }
  return name;
}

tsri_c_name tsri_c_vector_splat(tsri_c_emitter *e, tsri_ir_type type) {
  const char *lane = tsr_dtype_name((tsr_dtype)type.dtype);
  tsri_c_name name = named("tsr_splat%s_%sx%u", "", lane, type.lanes);
  if (!tsri_c_want(e, name.text)) return name;
  const char *vector = tsri_c_type(e, type), *upper = type.lanes == 4 ? "  r.z = a;\n  r.w = a;\n" : "";
  tsri_c_define_phrase(e, name.text, "TSR_FN %s %s(%s a) {\n  %s r;\n  r.x = a;\n  r.y = a;\n%s  return r;\n}\n",
                       vector, name.text, lane, vector, upper);
  return name;
}

tsri_c_name tsri_c_vector_insert(tsri_c_emitter *e, tsri_ir_type type, uint32_t lane) {
  const char *dtype = tsr_dtype_name((tsr_dtype)type.dtype);
  const char letter[2] = {lane_letters[lane & 3], '\0'};
  tsri_c_name name = named("tsr_with_%s_%sx%u", letter, dtype, type.lanes);
  if (!tsri_c_want(e, name.text)) return name;
  const char *vector = tsri_c_type(e, type);
  tsri_c_define_phrase(e, name.text, "TSR_FN %s %s(%s v, %s a) {\n  v.%s = a;\n  return v;\n}\n", vector, name.text,
                       vector, dtype, letter);
  return name;
}

// --- Memory ---------------------------------------------------------------------------------------------------------

bool tsri_c_is_half_pointer(const tsri_c_emitter *e, tsr_dtype storage) {
  return tsri_c_is(e, TSRI_C_OPENCL) && storage == TSR_F16 && !e->options->f16;
}

static const char *space_letter(tsri_ir_space space) {
  return space == TSRI_SPACE_BUFFER ? "b" : space == TSRI_SPACE_SHARED ? "s" : "l";
}

// "tsr_load_b_f16_by4"
static tsri_c_name access_name(const char *what, tsri_ir_space space, tsr_dtype storage, uint32_t lanes) {
  tsri_c_name name;
  snprintf(name.text, sizeof name.text, "tsr_%s_%s_%s_by%u", what, space_letter(space), tsr_dtype_name(storage),
           (unsigned)lanes);
  return name;
}

// Begins a helper that accesses memory: "TSR_FN f32 tsr_load_b_f16(…, i64 i, <extra>…) {".
static void begin_access(tsri_c_emitter *e, tsri_builder *text, const tsri_c_name *name, const char *result,
                         tsri_ir_space space, tsr_dtype storage, bool is_const, const char *extra, uint32_t lanes) {
  tsri_builder_add(text, "TSR_FN %s %s(%s%s%s *p, i64 i%s", result, name->text, is_const ? "const " : "",
                   e->spell->space[space], tsri_c_mem_type(storage), extra);
  tsri_builder_string(text, ") {\n");
  if (lanes > 1) tsri_builder_add(text, "  i &= ~(i64)%u;\n", (unsigned)lanes - 1);
}

// Lanes of one native access; 1: element by element.
static uint32_t native_lanes(const tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes) {
  if (space == TSRI_SPACE_LOCAL || e->spell->max_native_bytes == 0 || lanes == 1) return 1;
  if (e->options->wide_unaligned && space == TSRI_SPACE_BUFFER && !tsri_c_is(e, TSRI_C_OPENCL)) return 1;
  return tsr_dtype_bytes(storage) * lanes > e->spell->max_native_bytes ? 2 : lanes;
}

// OpenCL's vload takes any element's alignment, and some compilers then read elements one by one.
static bool is_vload(const tsri_c_emitter *e, tsri_ir_space space) {
  return tsri_c_is(e, TSRI_C_OPENCL) && e->options->wide_unaligned && space == TSRI_SPACE_BUFFER;
}

// Whether load4_once differs from load4 here. CUDA's instruction is for memory that the kernel does not write.
static bool has_load_once(const tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes) {
  bool is_read_only = tsri_c_is(e, TSRI_C_CUDA) && e->options->no_alias;
  return (is_read_only || tsri_c_is(e, TSRI_C_HIP)) && tsr_dtype_bytes(storage) > 1 &&
         native_lanes(e, space, storage, lanes) > 1 && space == TSRI_SPACE_BUFFER;
}

// As put_native_load, past the first-level cache; GPUs and compilers without the instruction read as usual.
static void put_cuda_load_once(tsri_c_emitter *e, tsri_builder *text, tsr_dtype storage, uint32_t first,
                               uint32_t step) {
  static const char *const words[][2] = {{"h", "b16"}, {"r", "b32"}, {"l", "b64"}}, *const reals[] = {"", "f", "d"};
  const char *element = tsri_c_native_element(e, storage);
  size_t size = tsr_dtype_bytes(storage) / 4;
  bool is_real = storage == TSR_F32 || storage == TSR_F64;
  tsri_builder_add(text,
                   "  %s%u v%u;\n#if __CUDA_ARCH__ >= 700 && __CUDACC_VER_MAJOR__ >= 12\n"
                   "  asm(\"ld.global.nc.L1::no_allocate.v%u.%s {%%0, %%1%s}, [%%%u];\" : ",
                   element, step, first, step, words[size][1], step == 4 ? ", %2, %3" : "", step);
  for (uint32_t i = 0; i < step; i++) {
    tsri_builder_add(text, "%s\"=%s\"(v%u.%c)", i ? ", " : "", is_real ? reals[size] : words[size][0], first,
                     lane_letters[i]);
  }
  tsri_builder_add(text, " : \"l\"(p + i + %u));\n#else\n  v%u = *(const %s%u *)(p + i + %u);\n#endif\n", first, first,
                   element, step, first);
}

// As put_native_load, as data that the caches need not keep. The builtin reads vectors of the compiler's own, not HIP's.
static void put_hip_load_once(tsri_c_emitter *e, tsri_builder *text, uint32_t first, uint32_t step) {
  static const char helper[] =
      "template <class T, int N> struct tsr_once {\n  typedef T lanes __attribute__((ext_vector_type(N)));\n};\n"
      "template <int N, class T> TSR_FN typename tsr_once<T, N>::lanes tsr_read_once(const T *p) {\n"
      "  return __builtin_nontemporal_load((const typename tsr_once<T, N>::lanes *)p);\n}\n";
  if (tsri_c_want(e, "tsr_read_once")) tsri_c_define_phrase(e, "tsr_read_once", "%s", helper);
  tsri_builder_add(text, "  auto v%u = tsr_read_once<%u>(p + i + %u);\n", first, step, first);
}

// Reads `step` elements at i + first into v<first>.
static void put_native_load(tsri_c_emitter *e, tsri_builder *text, tsri_ir_space space, tsr_dtype storage,
                            uint32_t first, uint32_t step) {
  const char *element = tsri_c_native_element(e, storage), *where = e->spell->space[space];
  if (tsri_c_is_half_pointer(e, storage)) {
    tsri_builder_add(text, "  float%u v%u = vload%s_half%u(0, (const %shalf *)(p + i + %u));\n", step, first,
                     is_vload(e, space) ? "" : "a", step, where, first);
  } else if (is_vload(e, space)) {
    tsri_builder_add(text, "  %s%u v%u = vload%u(0, p + i + %u);\n", element, step, first, step, first);
  } else {
    tsri_builder_add(text, "  %s%u v%u = *(const %s%s%u *)(p + i + %u);\n", element, step, first, where, element, step,
                     first);
  }
}

static void put_native_store(tsri_c_emitter *e, tsri_builder *text, tsri_ir_space space, tsr_dtype storage,
                             uint32_t first, uint32_t step) {
  const char *element = tsri_c_native_element(e, storage), *where = e->spell->space[space];
  if (tsri_c_is_half_pointer(e, storage)) {
    tsri_builder_add(text, "  vstore%s_half%u_rte(v%u, 0, (%shalf *)(p + i + %u));\n", is_vload(e, space) ? "" : "a",
                     step, first, where, first);
  } else if (is_vload(e, space)) {
    tsri_builder_add(text, "  vstore%u(v%u, 0, p + i + %u);\n", step, first, first);
  } else {
    tsri_builder_add(text, "  *(%s%s%u *)(p + i + %u) = v%u;\n", where, element, step, first, first);
  }
}

// What stands for the element in memory of lane `lane`, in `operand`.
static void element_text(tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lane, uint32_t step,
                         char operand[64]) {
  if (step > 1) {
    snprintf(operand, 64, "v%u.%c", lane - lane % step, lane_letters[lane % step]);
  } else if (tsri_c_is_half_pointer(e, storage)) {
    snprintf(operand, 64, "vload_half(0, (const %shalf *)(p + i + %u))", e->spell->space[space], lane);
  } else {
    snprintf(operand, 64, "p[i + %u]", lane);
  }
}

tsri_c_name tsri_c_load(tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes, bool is_once) {
  is_once = is_once && has_load_once(e, space, storage, lanes);
  tsri_c_name name = access_name(is_once ? "load_once" : "load", space, storage, lanes);
  if (!tsri_c_want(e, name.text)) return name;
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(storage), (uint8_t)lanes};
  const char *type_name = tsri_c_type(e, type);

  tsri_builder text = {0};
  begin_access(e, &text, &name, type_name, space, storage, true, "", lanes);
  uint32_t step = native_lanes(e, space, storage, lanes);
  for (uint32_t lane = 0; step > 1 && lane < lanes; lane += step) {
    if (is_once && tsri_c_is(e, TSRI_C_HIP)) put_hip_load_once(e, &text, lane, step);
    else if (is_once) put_cuda_load_once(e, &text, storage, lane, step);
    else put_native_load(e, &text, space, storage, lane, step);
  }
  if (lanes == 1) {
    tsri_builder_string(&text, "  return ");
  } else {
    tsri_builder_add(&text, "  return %s(", tsri_c_vector_make(e, type).text);
  }
  bool is_decoded = tsri_c_is_half_pointer(e, storage);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    char operand[64];
    element_text(e, space, storage, lane, step, operand);
    if (lane > 0) tsri_builder_string(&text, ", ");
    put_pattern(e, &text, is_decoded ? "$a" : tsri_c_decode_pattern(storage), TSR_F32,
                (const char *const[3]){operand, "", ""});
  }
  tsri_builder_string(&text, lanes == 1 ? ";\n}\n" : ");\n}\n");
  tsri_c_define(e, name.text, &text);
  tsri_free(text.text);
  return name;
}

tsri_c_name tsri_c_store(tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes) {
  tsri_c_name name = access_name("store", space, storage, lanes);
  if (!tsri_c_want(e, name.text)) return name;
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(storage), (uint8_t)lanes};
  tsr_dtype dtype = (tsr_dtype)type.dtype;
  char extra[48];
  snprintf(extra, sizeof extra, ", %s a", tsri_c_type(e, type));

  tsri_builder text = {0};
  begin_access(e, &text, &name, "void", space, storage, false, extra, lanes);
  uint32_t step = native_lanes(e, space, storage, lanes);
  bool is_half = tsri_c_is_half_pointer(e, storage);
  const char *pattern = is_half ? "$a" : tsri_c_encode_pattern(storage);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    char operand[4] = {'a', lanes > 1 ? '.' : '\0', lane_letters[lane], '\0'}, target[64];
    if (step > 1 && lane % step == 0) {
      tsri_builder_add(&text, "  %s%u v%u;\n", is_half ? "float" : tsri_c_native_element(e, storage), step, lane);
    }
    if (is_half && step == 1) {
      tsri_builder_add(&text, "  vstore_half_rte(%s, 0, (%shalf *)(p + i + %u));\n", operand, e->spell->space[space],
                       lane);
      continue;
    }
    element_text(e, space, storage, lane, step, target);
    tsri_builder_add(&text, "  %s = ", target);
    put_pattern(e, &text, pattern, dtype, (const char *const[3]){operand, "", ""});
    tsri_builder_string(&text, ";\n");
    if (step > 1 && lane % step == step - 1) put_native_store(e, &text, space, storage, lane + 1 - step, step);
  }
  tsri_builder_string(&text, "}\n");
  tsri_c_define(e, name.text, &text);
  tsri_free(text.text);
  return name;
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

static void put_metal_atomic(tsri_builder *text, const char *function, const char *where, const char *dtype) {
  const char *type = dtype[0] == 'i' ? "atomic_int" : "atomic_uint";
  if (function) {
    tsri_builder_add(text, "  return %s_explicit((%s%s *)(p + i), a, memory_order_relaxed);\n", function, where, type);
    return;
  }
  // The weak form may fail for no reason: only another value in memory ends the loop.
  tsri_builder_add(text,
                   "  %s old = c;\n  while (!atomic_compare_exchange_weak_explicit((%s%s *)(p + i), &old, a,\n"
                   "             memory_order_relaxed, memory_order_relaxed)) {\n    if (old != c) break;\n  }\n"
                   "  return old;\n",
                   dtype, where, type);
}

tsri_c_name tsri_c_atomic(tsri_c_emitter *e, tsri_ir_atomic op, tsri_ir_space space, tsr_dtype dtype) {
  const char *type = tsr_dtype_name(dtype);
  tsri_c_name name = access_name(tsri_ir_atomic_infos[op].spelling, space, dtype, 1);
  if (!tsri_c_want(e, name.text)) return name;
  bool has_compare = op == TSRI_ATOMIC_COMPARE_EXCHANGE;
  const atomic_spelling *spelling = &atomics[op];
  char extra[48];
  if (has_compare) {
    snprintf(extra, sizeof extra, ", %s c, %s a", type, type);
  } else {
    snprintf(extra, sizeof extra, ", %s a", type);
  }

  tsri_builder text = {0};
  begin_access(e, &text, &name, type, space, dtype, false, extra, 1);
  if (tsri_c_is(e, TSRI_C_PLAIN)) {
    tsri_builder_add(&text, "  %s old = p[i];\n  p[i] = (%s)(%s);\n  return old;\n", type, type, spelling->plain);
  } else if (tsri_c_is(e, TSRI_C_METAL)) {
    put_metal_atomic(&text, spelling->metal, e->spell->space[space], type);
  } else {
    tsri_builder_add(&text, "  return %s(p + i, %sa);\n",
                     tsri_c_is(e, TSRI_C_OPENCL) ? spelling->opencl : spelling->cuda, has_compare ? "c, " : "");
  }
  tsri_builder_string(&text, "}\n");
  tsri_c_define(e, name.text, &text);
  tsri_free(text.text);
  return name;
}
