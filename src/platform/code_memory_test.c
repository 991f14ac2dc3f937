// SPDX-License-Identifier: MIT
// Memory for machine code: it can be executed, it is never writable and executable at once, and a system may forbid it.
#include "platform/code_memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/test.h"

#if defined(__aarch64__)
static const unsigned char return_42[] = {0x40, 5, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6};  // mov w0, #42; ret
#else
static const unsigned char return_42[] = {0xb8, 42, 0, 0, 0, 0xc3};  // x86-64: mov eax, 42; ret
#endif

// Calls `look` with the address range and permissions of every mapping of this process. False if they cannot be read.
static bool each_mapping(void (*look)(uintptr_t first, uintptr_t last, const char *access, void *user), void *user) {
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) return false;
  char line[512];
  while (fgets(line, sizeof line, maps)) {
    unsigned long long first, last;
    char access[8];
    if (sscanf(line, "%llx-%llx %7s", &first, &last, access) == 3) {
      look((uintptr_t)first, (uintptr_t)last, access, user);
    }
  }
  fclose(maps);
  return true;
}

typedef struct finding {
  uintptr_t address;
  char access[8];
  int both;
} finding;

static void look(uintptr_t first, uintptr_t last, const char *access, void *user) {
  finding *found = user;
  if (access[1] == 'w' && access[2] == 'x') found->both++;
  if (found->address >= first && found->address < last) memcpy(found->access, access, sizeof found->access);
}

TEST(code_runs_from_pages_that_are_executable_and_not_writable) {
#if !defined(__x86_64__) && !defined(__aarch64__)
  SKIP("the code of this test is for x86-64 and aarch64");
#endif
  void *memory = tsri_code_memory_create(return_42, sizeof return_42);
  if (!memory) SKIP("this system forbids executable memory");
  int (*run)(void) = NULL;
  memcpy(&run, &memory, sizeof run);
  CHECK_EQ_INT(run(), 42);
  finding found = {.address = (uintptr_t)memory};
  if (each_mapping(look, &found)) {
    CHECK_STR(found.access, "r-xp");
    CHECK_EQ_INT(found.both, 0);
  }
  tsri_code_memory_free(memory, sizeof return_42);
}

TEST(a_system_that_forbids_executable_memory_gives_none) {
  tsri_code_memory_forbid(true);
  CHECK(!tsri_code_memory_create(return_42, sizeof return_42));
  tsri_code_memory_forbid(false);
}

TEST(freeing_nothing_does_nothing) { tsri_code_memory_free(NULL, 16); }
