// SPDX-License-Identifier: MIT
// What a compiled kernel and the engine share. No header of the C or C++ library is included: that would cost more
// time than compiling a kernel does. -*- c++ -*-
#ifndef TESSERA_STANDIN_ITEM_H
#define TESSERA_STANDIN_ITEM_H

#define STANDIN_SLOT_BYTES 64  // that an item of a wave can show to the others at once

typedef struct standin_item {
  unsigned group[3], groups[3], local[3], size[3];
  unsigned number;  // in its group
  unsigned wave;    // items per wave
  // Waits for all items of the group. `line`: of the kernel text; all must name the same one.
  void (*barrier)(unsigned line);
  // Shows `bytes` bytes to the other items of the wave, and waits for all of them. Returns the wave's slots, of
  // STANDIN_SLOT_BYTES each, which are valid until the item's next exchange but one.
  const unsigned char *(*exchange)(unsigned line, const void *value, unsigned bytes);
} standin_item;

// Calls a kernel for the current item.
typedef void (*standin_call)(void *const *arguments, const standin_item *item);

// A kernel of the module, which exports them as standin_entries; the list ends with a NULL name.
typedef struct standin_entry {
  const char *name;
  standin_call call;
  unsigned argument_count;
} standin_entry;

// Memory of a group, which is filled with a pattern before each group; the address sanitizer wants it unfilled, but with space
// between arrays.
typedef struct standin_shared {
  unsigned char *first, *end;
} standin_shared;

#ifdef __cplusplus

static const standin_item *standin_now;

#if __has_feature(address_sanitizer)
#define STANDIN_SHARED static
#define STANDIN_SHARED_RANGE \
  { nullptr, nullptr }
#else
extern "C" unsigned char __start_standin_shared[] __attribute__((weak, visibility("hidden")));
extern "C" unsigned char __stop_standin_shared[] __attribute__((weak, visibility("hidden")));
#define STANDIN_SHARED static __attribute__((section("standin_shared")))
#define STANDIN_SHARED_RANGE \
  { __start_standin_shared, __stop_standin_shared }
#endif

extern "C" __attribute__((visibility("default"))) standin_shared standin_bind(const standin_item *item) {
  standin_now = item;
  return STANDIN_SHARED_RANGE;
}

#define STANDIN_INLINE static inline __attribute__((always_inline))

// Memory functions of the C library that compilers call by themselves.
extern "C" void *memcpy(void *, const void *, __SIZE_TYPE__);

// --- Types, without <type_traits> ---

template <class T>
struct standin_bare {
  typedef T type;
};
template <class T>
struct standin_bare<T &> {
  typedef T type;
};
template <class T>
struct standin_bare<const T> {
  typedef T type;
};
template <class T, T... I>
struct standin_numbers {};

// --- A wave ---

// The value of another lane; all lanes must call it.
template <class T>
STANDIN_INLINE T standin_lane(unsigned line, T value, unsigned lane) {
  static_assert(sizeof(T) <= STANDIN_SLOT_BYTES, "the value of a lane is too large");
  const unsigned char *slots = standin_now->exchange(line, &value, sizeof value);
  T result;
  __builtin_memcpy(&result, slots + lane % standin_now->wave * STANDIN_SLOT_BYTES, sizeof result);
  return result;
}
template <class T>
STANDIN_INLINE T standin_lane_xor(unsigned line, T value, unsigned mask) {
  return standin_lane(line, value, standin_now->number % standin_now->wave ^ mask);
}

// A bit for each lane of the wave for which the value is true; all lanes must call it.
STANDIN_INLINE unsigned long long standin_ballot(unsigned line, bool value) {
  const unsigned wave = standin_now->wave, items = standin_now->size[0] * standin_now->size[1] * standin_now->size[2];
  const unsigned first = standin_now->number / wave * wave;
  const unsigned char *slots = standin_now->exchange(line, &value, sizeof value);
  unsigned long long bits = 0;
  for (unsigned i = 0; i < wave && first + i < items; i++)
    bits |= (unsigned long long)(slots[i * STANDIN_SLOT_BYTES] != 0) << i;
  return bits;
}

// Adds as a butterfly does: lane i and lane i ^ 16 first, and so on down to neighbours. Lanes that the group does not have
// count as 0. Integers wrap around.
template <class T>
STANDIN_INLINE T standin_add(T a, T b) {
  return a + b;
}
template <>
inline int standin_add(int a, int b) {
  return (int)((unsigned)a + (unsigned)b);
}
template <class T>
T standin_wave_sum(unsigned line, T value) {
  T sums[64] = {};
  const unsigned wave = standin_now->wave, items = standin_now->size[0] * standin_now->size[1] * standin_now->size[2];
  const unsigned first = standin_now->number / wave * wave;
  const unsigned char *slots = standin_now->exchange(line, &value, sizeof value);
  for (unsigned i = 0; i < wave && first + i < items; i++)
    __builtin_memcpy(&sums[i], slots + i * STANDIN_SLOT_BYTES, sizeof value);
  for (unsigned half = wave / 2; half > 0; half /= 2)
    for (unsigned i = 0; i < half; i++) sums[i] = standin_add(sums[i], sums[i + half]);
  return sums[0];
}

#endif
#endif
